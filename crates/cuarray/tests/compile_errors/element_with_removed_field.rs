//! E0026
//! does not have a field named `other`
// The compiler's errors for this program must contain each text above.

cuarray::element! {
    #[attributes::with_only(value: u8)]
    struct Short {
        value: u8,
        other: u8,
    }
}

fn main() {}
