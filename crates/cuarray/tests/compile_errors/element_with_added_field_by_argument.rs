//! pattern requires `..` due to inaccessible fields

cuarray::element! {
    #[attributes::with_only(value: u8, flag: bool)]
    struct Flagged {
        value: u8,
    }
}

fn main() {}
