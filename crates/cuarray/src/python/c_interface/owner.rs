//! What keeps an imported structure: the owner of the array over it.

use crate::{CArray, Result, c_interface::Read};
use pyo3::prelude::*;
use std::mem::ManuallyDrop;

/// An array of another library's, as a structure of C; it is released when the last array over it goes.
#[pyclass(frozen, weakref, name = "CArray", module = "cuarray")]
pub struct PyCArray {
    array: ManuallyDrop<CArray>,
}

impl PyCArray {
    pub(super) fn new(array: CArray) -> PyCArray {
        PyCArray { array: ManuallyDrop::new(array) }
    }

    /// What it says.
    ///
    /// # Errors
    /// As [`CArray::describe`].
    pub(super) fn read(&self) -> Result<Read> {
        self.array.read()
    }
}

impl Drop for PyCArray {
    /// The release is another library's, and may wait for a thread that wants the GIL.
    fn drop(&mut self) {
        // SAFETY: taken once, here, where `self` ends.
        let mut array = Some(unsafe { ManuallyDrop::take(&mut self.array) });
        Python::try_attach(|py| {
            let array = array.take();
            py.detach(|| drop(array));
        });
    }
}

#[pymethods]
impl PyCArray {
    fn __repr__(&self) -> &'static str {
        "<cuarray.CArray>"
    }
}
