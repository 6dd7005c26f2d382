//! pattern requires `..` due to inaccessible fields
// The compiler's errors for this program must contain each text above.

cuarray::element! {
    #[attributes::with_only(value: u8, flag: bool)]
    struct Flagged {
        value: u8,
    }
}

fn main() {}
