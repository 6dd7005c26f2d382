//! Plans of copies between layouts: pure arithmetic. `driver` and the host copies carry them out.

#[cfg_attr(not(feature = "python"), allow(dead_code))]
pub(crate) mod repeat;
pub mod strided_copy;
