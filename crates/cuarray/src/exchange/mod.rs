//! Arrays as C structures: DLPack's structures and this project's own.

pub mod c_interface;
#[cfg_attr(not(feature = "python"), allow(dead_code))]
pub(crate) mod dlpack;
