//! Functions that return arrays, and a class that holds one.

use cuarray::{
    AcquiredMut, DeviceArray, Interface, Ix1, Layout, Owner, RawDeviceArray, Stream, TypeStr,
    driver::{Allocation, fill::fill_bytes},
    sync::Access,
};
use half::bf16;
use pyo3::prelude::*;
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::SeqCst},
};

fn enqueue(array: &mut AcquiredMut<'_, u8, Ix1>, byte: u8) -> PyResult<()> {
    let stream = array.stream();
    let context = stream.work_context()?;
    // SAFETY: the guard keeps the memory and orders it with its stream.
    unsafe { fill_bytes(&context, array.as_device_ptr(), &[byte], array.len(), Some(stream)) }?;
    Ok(())
}

/// Returns a new array whose values are pending in its home stream.
#[pyfunction]
pub fn make(length: usize, byte: u8, stream: Stream) -> PyResult<DeviceArray<u8, Ix1>> {
    let mut array = DeviceArray::<u8, _>::empty([length], &stream)?;
    enqueue(&mut array.acquire_mut(&stream)?, byte)?;
    Ok(array)
}

#[pyfunction]
pub fn make_bfloat16(stream: Stream) -> PyResult<DeviceArray<bf16, Ix1>> {
    Ok(DeviceArray::from_host(&[bf16::ONE, bf16::NEG_ONE], [2], &stream)?)
}

/// Returns a new array whose values are pending in another stream, as recorded work.
#[pyfunction]
pub fn pending(length: usize, byte: u8, home: Stream, elsewhere: Stream) -> PyResult<DeviceArray<u8, Ix1>> {
    let array = DeviceArray::<u8, _>::empty([length], &home)?;
    let context = elsewhere.work_context()?;
    // SAFETY: the memory is new, and the work is recorded in the next line.
    unsafe { fill_bytes(&context, array.interface().data(), &[byte], length, Some(&elsewhere)) }?;
    array.record_stream(&elsewhere, Access::Write)?;
    Ok(array)
}

static DROPS: AtomicUsize = AtomicUsize::new(0);

/// Memory of a library that does not know cuarray.
struct Slab {
    memory: Allocation,
}

impl Drop for Slab {
    fn drop(&mut self) {
        DROPS.fetch_add(1, SeqCst);
    }
}

/// Returns the number of dropped slabs.
#[pyfunction]
pub fn drops() -> usize {
    DROPS.load(SeqCst)
}

/// Returns an array over the memory of a Rust object.
#[pyfunction]
#[pyo3(signature = (length, stream, home=true))]
pub fn from_object(length: usize, stream: Stream, home: bool) -> PyResult<RawDeviceArray> {
    let context = stream.work_context()?;
    let slab = Arc::new(Slab { memory: Allocation::device(&context, length)? });
    let layout = Layout::c_contiguous(&[length], 1)?;
    let interface = Interface::new(slab.memory.device_ptr(), TypeStr::of::<u8>(), layout)?;
    // SAFETY: the slab owns the memory, and is the array's owner.
    Ok(unsafe { RawDeviceArray::from_owner(&context, interface, Owner::new(slab), home.then_some(&stream)) }?)
}

/// An object that holds device memory and exports it on request.
#[pyclass(frozen)]
pub struct Block {
    array: DeviceArray<u8, Ix1>,
}

#[pymethods]
impl Block {
    #[new]
    fn new(length: usize, stream: Stream) -> PyResult<Block> {
        Ok(Block { array: DeviceArray::from_host(&vec![7u8; length], [length], &stream)? })
    }

    #[getter]
    fn array(&self) -> DeviceArray<u8, Ix1> {
        self.array.clone()
    }

    fn fill(&self, py: Python<'_>, byte: u8, stream: Stream) -> PyResult<()> {
        py.detach(|| {
            let mut array = self.array.clone();
            enqueue(&mut array.acquire_mut(&stream)?, byte)
        })
    }
}
