//! What keeps an imported tensor alive: the owner of the array over it.

use super::capsule::Managed;
use crate::{
    Interface, Result,
    dlpack::{
        abi::{DLDevice, IS_COPIED, READ_ONLY},
        tensor,
    },
};
use pyo3::prelude::*;
use std::mem::ManuallyDrop;

/// A DLPack tensor of another library; its deleter is called when the last array over it goes.
#[pyclass(frozen, weakref, name = "DLPackTensor", module = "cuarray")]
pub struct PyDLPackTensor {
    tensor: ManuallyDrop<Managed>,
}

impl PyDLPackTensor {
    pub(super) fn new(tensor: Managed) -> PyDLPackTensor {
        PyDLPackTensor { tensor: ManuallyDrop::new(tensor) }
    }

    /// Where the memory is.
    pub(super) fn device(&self) -> Result<DLDevice> {
        Ok(self.tensor.tensor()?.0.device)
    }

    /// What the tensor describes, without a stream.
    ///
    /// # Errors
    /// As [`tensor::read`], and of a version that is not known.
    pub(super) fn interface(&self) -> Result<Box<Interface>> {
        let (tensor, flags) = self.tensor.tensor()?;
        // SAFETY: whoever hands out a tensor gives it as many lengths and strides as it has dimensions.
        let mut interface = unsafe { tensor::read(&tensor) }?;
        interface.set_read_only(flags & READ_ONLY != 0);
        Ok(interface)
    }
}

impl Drop for PyDLPackTensor {
    /// The deleter is another library's, and may wait for a thread that wants the GIL.
    fn drop(&mut self) {
        // SAFETY: taken once, here, where `self` ends.
        let mut tensor = Some(unsafe { ManuallyDrop::take(&mut self.tensor) });
        Python::try_attach(|py| {
            let tensor = tensor.take();
            py.detach(|| drop(tensor));
        });
    }
}

#[pymethods]
impl PyDLPackTensor {
    /// Whether the producer said that it made a copy for us.
    #[getter]
    fn is_copy(&self) -> bool {
        self.tensor.tensor().is_ok_and(|(_, flags)| flags & IS_COPIED != 0)
    }

    fn __repr__(&self) -> &'static str {
        if self.is_copy() { "<cuarray.DLPackTensor: a copy>" } else { "<cuarray.DLPackTensor>" }
    }
}
