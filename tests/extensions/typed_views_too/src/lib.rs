//! Another author's extension module, with a copy of cuarray of its own.

use pyo3::prelude::*;

/// Arrays in and out, once more.
#[pymodule]
mod typed_views_too {
    use cuarray::{DeviceArray, Ix1, Stream, driver::fill::fill_bytes, python::DeviceViewMut1};
    use pyo3::prelude::*;

    /// A new array of such bytes.
    #[pyfunction]
    fn make(length: usize, byte: u8, stream: Stream) -> PyResult<DeviceArray<u8, Ix1>> {
        Ok(DeviceArray::from_host(&vec![byte; length], [length], &stream)?)
    }

    /// Sets every byte.
    #[pyfunction]
    fn fill(mut x: DeviceViewMut1<'_, u8>, byte: u8, stream: Stream) -> PyResult<()> {
        let x = x.acquire_mut(&stream)?;
        let context = stream.work_context()?;
        // SAFETY: the guard holds the memory, in order with the stream.
        unsafe { fill_bytes(&context, x.as_device_ptr(), &[byte], x.len(), Some(&stream)) }?;
        x.release()?;
        Ok(())
    }
}
