//! A function that returns a GPU array, which any library takes.

use pyo3::prelude::*;

/// A module of one function.
#[pymodule]
mod return_an_array {
    use cuarray::{
        DeviceArray, Ix1, Stream,
        kernel::{LaunchConfig, Module},
    };
    use pyo3::prelude::*;

    /// The numbers from 0 to `n` - 1, as float32, in a new array whose work is ordered in `stream`. Does not wait.
    ///
    /// The kernel is pending when the array is returned. The array names `stream`, so whoever takes it waits, and its memory is freed
    /// after whatever is enqueued there.
    #[pyfunction]
    fn iota(n: u32, stream: Stream) -> PyResult<DeviceArray> {
        let context = stream.work_context()?;
        // Code that is loaded for one launch goes after it; a library that launches often keeps it, as the other examples do.
        let kernel = Module::load_ptx(&context, include_str!("iota.ptx"))?.function("iota")?;

        let mut array = DeviceArray::empty::<f32>(&[n as usize], &stream)?;
        let mut x = array.acquire_mut::<f32, Ix1>(&stream)?;
        // SAFETY: the kernel writes `n` numbers, as many as the array has.
        unsafe { kernel.launch(&stream, LaunchConfig::for_elements(n as usize, 256)?, (&mut x, n)) }?;
        x.release()?;
        Ok(array)
    }
}
