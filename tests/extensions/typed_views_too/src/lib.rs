//! An extension module of another author, with its own copy of cuarray.

use pyo3::prelude::*;

/// Takes and returns arrays.
#[pymodule]
mod typed_views_too {
    use cuarray::{DeviceArray, Ix1, Stream, driver::fill::fill_bytes, python::DeviceViewMut1};
    use pyo3::prelude::*;

    /// Returns a new array filled with `byte`.
    #[pyfunction]
    fn make(length: usize, byte: u8, stream: Stream) -> PyResult<DeviceArray<u8, Ix1>> {
        Ok(DeviceArray::from_host(&vec![byte; length], [length], &stream)?)
    }

    /// Sets every byte.
    #[pyfunction]
    fn fill(mut x: DeviceViewMut1<'_, u8>, byte: u8, stream: Stream) -> PyResult<()> {
        let x = x.acquire_mut(&stream)?;
        let context = stream.work_context()?;
        // SAFETY: the guard keeps the memory and orders it with the stream.
        unsafe { fill_bytes(&context, x.as_device_ptr(), &[byte], x.len(), Some(&stream)) }?;
        x.release()?;
        Ok(())
    }
}
