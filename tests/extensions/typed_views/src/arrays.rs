//! Arrays that functions return, and one that a class holds.

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
    // SAFETY: the guard holds the memory, in order with its stream.
    unsafe { fill_bytes(&context, array.as_device_ptr(), &[byte], array.len(), Some(stream)) }?;
    Ok(())
}

/// A new array whose values are pending in its home stream.
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

/// A new array with values that are pending in a stream which nobody is told of otherwise.
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

/// Memory of a library that knows nothing of arrays.
struct Slab {
    memory: Allocation,
}

impl Drop for Slab {
    fn drop(&mut self) {
        DROPS.fetch_add(1, SeqCst);
    }
}

/// How many slabs are gone.
#[pyfunction]
pub fn drops() -> usize {
    DROPS.load(SeqCst)
}

/// An array over a Rust object's memory.
#[pyfunction]
#[pyo3(signature = (length, stream, home=true))]
pub fn of_object(length: usize, stream: Stream, home: bool) -> PyResult<RawDeviceArray> {
    let context = stream.work_context()?;
    let slab = Arc::new(Slab { memory: Allocation::device(&context, length)? });
    let layout = Layout::c_contiguous(&[length], 1)?;
    let interface = Interface::new(slab.memory.device_ptr(), TypeStr::of::<u8>(), layout)?;
    // SAFETY: the slab has the memory, and is the owner.
    Ok(unsafe { RawDeviceArray::from_owner(&context, interface, Owner::new(slab), home.then_some(&stream)) }?)
}

/// Memory that an object has for as long as it likes, and shows to whoever asks.
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
