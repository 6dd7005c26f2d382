//! An imported structure as an object: the owner of the arrays over it.

use super::array_owner::{DropDetached, Place};
use crate::CArray;
use pyo3::prelude::*;
use std::ffi::CStr;

/// The name of a capsule whose structure has not been taken.
pub(in crate::python) static UNTAKEN: &CStr = c"cuda_array_c_interface";
/// The name of a capsule whose structure was taken.
pub(in crate::python) static TAKEN: &CStr = c"used_cuda_array_c_interface";

/// A C structure of another library; released with the last array over it.
#[pyclass(frozen, weakref, name = "CArray", module = "cuarray")]
pub struct PyCArray(Place<CArray>);

impl PyCArray {
    pub(in crate::python) fn empty() -> PyCArray {
        PyCArray(Place::new())
    }

    pub(in crate::python) fn fill(&self, array: DropDetached<CArray>) {
        let _ = self.0.set(array);
    }
}

#[pymethods]
impl PyCArray {
    fn __repr__(&self) -> &'static str {
        "<cuarray.CArray>"
    }
}
