//! Plans of copies between layouts: pure arithmetic. Other modules make the driver calls of a plan.

#[cfg_attr(not(feature = "python"), allow(dead_code))]
pub(crate) mod repeat;
pub mod strided_copy;
