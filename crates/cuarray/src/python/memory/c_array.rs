//! An imported structure as an object: the owner of the arrays over it.

use super::array_owner::{LetGo, Place};
use crate::CArray;
use pyo3::prelude::*;
use std::ffi::CStr;

/// The name of a capsule whose structure is there for the taking.
pub(in crate::python) static UNTAKEN: &CStr = c"cuda_array_c_interface";
/// The name of a capsule whose structure somebody else releases.
pub(in crate::python) static TAKEN: &CStr = c"used_cuda_array_c_interface";

/// An array of another library's, as a structure of C; it is released when the last array over it goes.
#[pyclass(frozen, weakref, name = "CArray", module = "cuarray")]
pub struct PyCArray(Place<CArray>);

impl PyCArray {
    pub(in crate::python) fn empty() -> PyCArray {
        PyCArray(Place::new())
    }

    pub(in crate::python) fn fill(&self, array: LetGo<CArray>) {
        let _ = self.0.set(array);
    }
}

#[pymethods]
impl PyCArray {
    fn __repr__(&self) -> &'static str {
        "<cuarray.CArray>"
    }
}
