//! The owner of memory that the package allocated: what a [`PyDeviceArray`](super::device_array::PyDeviceArray) of its own
//! keeps, and every view of one with it.

use crate::driver::{Allocation, MemoryKind};
use pyo3::prelude::*;
use std::mem::ManuallyDrop;

/// Memory that cuarray allocated; freed when the last array that uses it goes.
#[pyclass(frozen, weakref, name = "Memory", module = "cuarray")]
pub struct PyMemory {
    allocation: ManuallyDrop<Allocation>,
}

impl PyMemory {
    pub(super) fn new(allocation: Allocation) -> PyMemory {
        PyMemory { allocation: ManuallyDrop::new(allocation) }
    }
}

impl Drop for PyMemory {
    /// Freeing may wait for work on the memory, and that work may be a host function that needs the GIL.
    fn drop(&mut self) {
        // SAFETY: taken once, here, where `self` ends.
        let allocation = unsafe { ManuallyDrop::take(&mut self.allocation) };
        let mut allocation = Some(allocation);
        Python::try_attach(|py| {
            let allocation = allocation.take();
            py.detach(|| drop(allocation));
        });
    }
}

#[pymethods]
impl PyMemory {
    /// The address, as the device sees it.
    #[getter]
    fn ptr(&self) -> u64 {
        self.allocation.device_ptr()
    }

    /// Bytes.
    #[getter]
    fn nbytes(&self) -> usize {
        self.allocation.len()
    }

    /// 'device', 'pinned', 'mapped', 'managed' or 'stream-ordered'.
    #[getter]
    fn kind(&self) -> &'static str {
        match self.allocation.kind() {
            MemoryKind::Device => "device",
            MemoryKind::Pinned => "pinned",
            MemoryKind::Mapped => "mapped",
            MemoryKind::Managed => "managed",
            MemoryKind::StreamOrdered => "stream-ordered",
        }
    }

    fn __repr__(&self) -> String {
        format!("<cuarray.Memory: {} bytes of {} memory at {:#x}>", self.nbytes(), self.kind(), self.ptr())
    }
}
