//! Arguments without a lifetime: arrays and views of Rust code that does not know Python.

use cuarray::{CContiguous, DeviceArray, Element, Ix1, Ix2, Stream, TypedView, driver::fill::fill_bytes};
use pyo3::prelude::*;

fn to_host<T: Element>(x: &DeviceArray<T, Ix1>) -> cuarray::Result<Vec<T>> {
    x.to_host()
}

fn enqueue_fill(x: &mut DeviceArray<u8, Ix1>, byte: u8, stream: &Stream) -> cuarray::Result<()> {
    let x = x.acquire_mut(stream)?;
    // SAFETY: the guard keeps the memory and orders it with its stream.
    unsafe { fill_bytes(&stream.work_context()?, x.as_device_ptr(), &[byte], x.len(), Some(stream)) }?;
    x.release()
}

#[pyfunction]
pub fn array_to_host(x: DeviceArray<u8, Ix1>) -> PyResult<Vec<u8>> {
    Ok(to_host(&x)?)
}

#[pyfunction]
pub fn array_fill(mut x: DeviceArray<u8, Ix1>, byte: u8, stream: Stream) -> PyResult<()> {
    Ok(enqueue_fill(&mut x, byte, &stream)?)
}

/// Returns the array that it gets, and its home stream.
#[pyfunction]
pub fn array_again(x: DeviceArray<u8, Ix1>) -> (DeviceArray<u8, Ix1>, Option<usize>) {
    let home = x.home_stream().map(Stream::handle);
    (x, home)
}

/// Acquires two arrays at once, the second one for writing.
#[pyfunction]
pub fn array_and_output(
    x: DeviceArray<u8, Ix1>,
    mut out: DeviceArray<u8, Ix1>,
    stream: Stream,
) -> PyResult<(usize, usize)> {
    let (x, out) = (x.acquire(&stream)?, out.acquire_mut(&stream)?);
    Ok((x.len(), out.len()))
}

#[pyfunction]
pub fn typed_view_to_host(x: TypedView<f32, Ix2, CContiguous>, stream: Stream) -> PyResult<([usize; 2], Vec<f32>)> {
    Ok((x.shape(), x.acquire(&stream)?.copy_to_host()?))
}

#[pyfunction]
pub fn typed_view_fill(mut x: TypedView<u8, Ix1>, byte: u8, stream: Stream) -> PyResult<()> {
    let x = x.acquire_mut(&stream)?;
    // SAFETY: the guard keeps the memory and orders it with its stream.
    unsafe { fill_bytes(&stream.work_context()?, x.as_device_ptr(), &[byte], x.len(), Some(&stream)) }?;
    Ok(x.release()?)
}
