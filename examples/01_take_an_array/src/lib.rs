//! A function that takes any library's GPU array and works on it in place.

use pyo3::prelude::*;

/// A module with one function.
#[pymodule]
mod take_an_array {
    use cuarray::{CContiguous, IxDyn, kernel::LaunchConfig, python::DeviceViewMut};
    use pyo3::{exceptions::PyValueError, prelude::*};

    /// Multiplies every element of `x` by `factor`, in place. Does not wait.
    ///
    /// The argument's type is the check: `f32` elements, any number of dimensions, C-contiguous (the kernel takes no strides), writable.
    /// Any other argument is a TypeError, ValueError or BufferError with the reason.
    #[pyfunction]
    fn scale(mut x: DeviceViewMut<'_, f32, IxDyn, CContiguous>, factor: f32) -> PyResult<()> {
        // In the array's own stream no other stream has to wait.
        let stream = x.stream()?;
        let kernel = stream.work_context()?.kernel(include_str!("scale.ptx"), "scale")?;
        let n = u32::try_from(x.len()).map_err(|_| PyValueError::new_err("more than 2**32 elements"))?;

        let mut x = x.acquire_mut(&stream)?;
        // SAFETY: the kernel reads and writes `n` contiguous numbers, and `x` has `n`.
        unsafe { kernel.launch(&stream, LaunchConfig::for_elements(x.len(), 256)?, (&mut x, factor, n)) }?;
        x.release()?;
        Ok(())
    }
}
