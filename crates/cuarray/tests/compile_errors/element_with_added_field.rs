//! pattern requires `..` due to inaccessible fields

cuarray::element! {
    #[attributes::add_bool]
    struct Flagged {
        value: u8
    }
}

fn main() {}
