//! compiles

cuarray::element! {
    /// Documented.
    #[attributes::unchanged]
    #[derive(Debug, PartialEq, Default)]
    #[allow(dead_code)]
    #[must_use]
    #[repr(packed)]
    pub struct Kept {
        /// Documented.
        #[allow(dead_code)]
        pub value: u32,
        #[cfg(all())]
        pub(crate) other: [[u8; 3]; 2],
        r#type: cuarray::Complex<f32>,
    }
}

fn main() {
    let _ = Kept::default();
}
