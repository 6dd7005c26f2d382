//! E0277
//! `bool` cannot be part of an element of a device array
//! `Bool8`
// The compiler's errors for this program must contain each text above.

cuarray::element! {
    struct Flagged {
        flag: bool,
    }
}

fn main() {}
