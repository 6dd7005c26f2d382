//! The Python class `Memory`: the owner of memory that the package allocated, shared by all views of an array.

use super::runtime;
use crate::{
    DevicePtr, Stream,
    array::held::Held,
    driver::{Context, MemoryKind},
    interpreter,
    sync::{Memory, Pending},
};
use pyo3::prelude::*;
use std::{mem::ManuallyDrop, sync::Arc};

/// Memory that cuarray or an extension module allocated. It is freed with the last array over it, after its pending work.
#[pyclass(frozen, weakref, name = "Memory", module = "cuarray")]
pub struct PyMemory {
    memory: ManuallyDrop<Held>,
}

impl PyMemory {
    pub(in crate::python) fn new(memory: Memory) -> PyMemory {
        PyMemory::holding(Held::Memory(Arc::new(memory)))
    }

    pub(in crate::python) fn holding(held: Held) -> PyMemory {
        PyMemory { memory: ManuallyDrop::new(held) }
    }

    /// The pending work on the memory.
    pub(in crate::python) fn pending(&self) -> &Arc<Pending> {
        self.memory.pending()
    }

    /// The context of the allocation, if it is device memory of the package that contains `address`.
    pub(in crate::python) fn context_of(&self, address: DevicePtr) -> Option<&Context> {
        match &*self.memory {
            Held::Memory(memory) if memory.allocation().kind() == MemoryKind::Device => {
                self.memory.bytes().contains(&address).then(|| memory.allocation().context())
            }
            _ => None,
        }
    }

    /// The device and the kind of memory that the package allocated.
    pub(in crate::python) fn place(&self) -> Option<(Option<i32>, MemoryKind)> {
        let Held::Memory(memory) = &*self.memory else { return None };
        Some((memory.allocation().context().ordinal().ok(), memory.allocation().kind()))
    }

    /// Registers the home stream of an array over the memory.
    pub(in crate::python) fn used_in(&self, stream: &Stream) {
        self.memory.add_home(stream);
    }
}

impl Drop for PyMemory {
    /// Drops without the GIL, because the driver may run a host function that needs it.
    fn drop(&mut self) {
        // SAFETY: the only take, in the destructor of `self`.
        let memory = unsafe { ManuallyDrop::take(&mut self.memory) };
        interpreter::detached(move || drop(memory));
        Python::try_attach(runtime::report_drops);
    }
}

#[pymethods]
impl PyMemory {
    /// The address on the device.
    #[getter]
    fn ptr(&self) -> DevicePtr {
        self.memory.bytes().start
    }

    /// The size in bytes.
    #[getter]
    fn nbytes(&self) -> u64 {
        self.memory.bytes().end - self.memory.bytes().start
    }

    /// 'device', 'pinned', 'mapped', 'managed' or 'stream-ordered'; 'foreign' for memory of an extension module.
    #[getter]
    fn kind(&self) -> &'static str {
        let Held::Memory(memory) = &*self.memory else { return "foreign" };
        match memory.allocation().kind() {
            MemoryKind::Device | MemoryKind::Other(_) => "device",
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
