//! E0080
//! an attribute of the structure changed the order of its fields
// The compiler's errors for this program must contain each text above.

cuarray::element! {
    #[attributes::with_only(other: u8, value: u8)]
    struct Swapped {
        value: u8,
        other: u8,
    }
}

fn main() {}
