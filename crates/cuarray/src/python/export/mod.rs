//! Arrays for other libraries: as a C structure, and as a DLPack tensor.

pub(in crate::python) mod c_interface;
pub(in crate::python) mod dlpack;
pub(in crate::python) mod managed;
