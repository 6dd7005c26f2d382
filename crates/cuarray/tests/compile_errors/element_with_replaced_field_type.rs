//! E0308
//! expected `*const u8`, found `*const bool`

cuarray::element! {
    #[attributes::with_only(value: bool)]
    struct Flagged {
        value: u8,
    }
}

fn main() {}
