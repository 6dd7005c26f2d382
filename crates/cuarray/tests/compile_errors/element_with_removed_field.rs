//! E0026
//! does not have a field named `other`

cuarray::element! {
    #[attributes::with_only(value: u8)]
    struct Short {
        value: u8,
        other: u8,
    }
}

fn main() {}
