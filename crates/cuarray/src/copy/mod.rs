//! Plans of copies between layouts: pure arithmetic, carried out elsewhere.

#[cfg_attr(not(feature = "python"), allow(dead_code))]
pub(crate) mod repeat;
pub mod strided_copy;
