//! pattern requires `..` due to inaccessible fields

cuarray::element! {
    #[cfg_attr(all(), attributes::add_bool)]
    struct Flagged {
        value: u8
    }
}

fn main() {}
