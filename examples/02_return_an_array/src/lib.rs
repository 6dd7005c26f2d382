//! A function that returns a GPU array for any library.

use pyo3::prelude::*;

/// A module with one function.
#[pymodule]
mod return_an_array {
    use cuarray::{DeviceArray, Ix1, Stream, kernel::LaunchConfig};
    use pyo3::prelude::*;

    /// Returns the numbers from 0 to `n` - 1 as float32, in a new array whose home stream is `stream`. Does not wait.
    ///
    /// The kernel is pending when the array is returned. The array exports `stream`, so consumers wait for it. The memory is freed after
    /// the work in `stream`.
    #[pyfunction]
    fn iota(n: u32, stream: Stream) -> PyResult<DeviceArray<f32, Ix1>> {
        let kernel = stream.work_context()?.kernel(include_str!("iota.ptx"), "iota")?;

        let mut array = DeviceArray::empty([n as usize], &stream)?;
        let mut x = array.acquire_mut(&stream)?;
        // SAFETY: the kernel writes `n` numbers, and the array has `n`.
        unsafe { kernel.launch(&stream, LaunchConfig::for_elements(n as usize, 256)?, (&mut x, n)) }?;
        x.release()?;
        Ok(array)
    }
}
