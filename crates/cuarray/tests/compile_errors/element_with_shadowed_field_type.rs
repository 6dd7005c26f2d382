//! E0308
//! mismatched types
// The compiler's errors for this program must contain each text above.

cuarray::element! {
    #[attributes::in_a_module_with(#[allow(non_camel_case_types)] type u8 = bool;)]
    pub struct Flagged {
        pub value: u8,
    }
}

fn main() {}
