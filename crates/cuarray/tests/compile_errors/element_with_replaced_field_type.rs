//! E0308
//! expected `*const u8`, found `*const bool`
// The compiler's errors for this program must contain each text above.

cuarray::element! {
    #[attributes::with_only(value: bool)]
    struct Flagged {
        value: u8,
    }
}

fn main() {}
