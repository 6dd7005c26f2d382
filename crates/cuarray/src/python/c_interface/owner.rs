//! An imported structure as an object: the owner of the arrays over it.

use crate::{
    CArray,
    python::array_owner::{LetGo, Place},
};
use pyo3::prelude::*;

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
