//! E0277
//! `bool` cannot be part of an element of a device array
//! `Bool8`

cuarray::element! {
    struct Flagged {
        flag: bool,
    }
}

fn main() {}
