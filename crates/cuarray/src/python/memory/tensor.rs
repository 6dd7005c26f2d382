//! The Python class of an imported tensor: the owner of the arrays over it.

use super::array_owner::{DropDetached, Place};
use super::capsule::Managed;
use crate::exchange::dlpack::abi::IS_COPIED;
use pyo3::prelude::*;

/// A DLPack tensor of another library. Its deleter is called when the last array over it is released.
#[pyclass(frozen, weakref, name = "DLPackTensor", module = "cuarray")]
pub struct PyDLPackTensor(Place<Managed>);

impl PyDLPackTensor {
    pub(in crate::python) fn empty() -> PyDLPackTensor {
        PyDLPackTensor(Place::new())
    }

    pub(in crate::python) fn fill(&self, tensor: DropDetached<Managed>) {
        let _ = self.0.set(tensor);
    }
}

#[pymethods]
impl PyDLPackTensor {
    /// Whether the producer reported that the tensor is a copy.
    #[getter]
    fn is_copy(&self) -> bool {
        let flags = self.0.get().and_then(|tensor| tensor.tensor().ok()).map_or(0, |(_, flags)| flags);
        flags & IS_COPIED != 0
    }

    fn __repr__(&self) -> &'static str {
        if self.is_copy() { "<cuarray.DLPackTensor: a copy>" } else { "<cuarray.DLPackTensor>" }
    }
}
