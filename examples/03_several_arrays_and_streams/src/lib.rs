//! A function of several arrays from different producers, which works in the caller's stream.

use pyo3::prelude::*;

/// A module with one function.
#[pymodule]
mod several_arrays {
    use cuarray::{
        Stream,
        kernel::LaunchConfig,
        python::{DeviceView1, DeviceViewMut1},
    };
    use pyo3::{exceptions::PyValueError, prelude::*};

    /// Computes `out = a * x + y` in `stream`, for arrays of any strides. Without `y`, computes `out = a * x + out`. Does not wait.
    ///
    /// `stream` is any library's stream object, or a handle. It waits for the producers of all arrays, and their later work waits for it.
    /// The arrays may be views of the same memory, as long as no element of `out` overlaps an element of another index.
    #[pyfunction]
    #[pyo3(signature = (a, x, out, stream, y=None))]
    fn axpy(
        a: f32,
        x: DeviceView1<'_, f32>,
        mut out: DeviceViewMut1<'_, f32>,
        stream: Stream,
        y: Option<DeviceView1<'_, f32>>,
    ) -> PyResult<()> {
        let [n] = x.shape();
        if out.shape() != [n] || y.as_ref().is_some_and(|y| y.shape() != [n]) {
            return Err(PyValueError::new_err(format!("the arrays are of different lengths; {n} is expected")));
        }
        let threads = u32::try_from(n).map_err(|_| PyValueError::new_err("more than 2**32 elements"))?;
        let kernel = stream.work_context()?.kernel(include_str!("axpy.ptx"), "axpy")?;
        let config = LaunchConfig::for_elements(n, 256)?;

        let x = x.acquire(&stream)?;
        let y = y.as_ref().map(|y| y.acquire(&stream)).transpose()?;
        let mut out = out.acquire_mut(&stream)?;
        let ([x_step], [out_step]) = (x.element_strides()?, out.element_strides()?);
        let (x_step, out_step) = (x_step as i64, out_step as i64);
        match &y {
            Some(y) => {
                let [y_step] = y.element_strides()?;
                let arguments = (a, &x, x_step, y, y_step as i64, &mut out, out_step, threads);
                // SAFETY: the kernel reads `n` elements of `x` and `y` and writes `n` of `out`, with each array's own step.
                unsafe { kernel.launch(&stream, config, arguments) }?;
            }
            None => {
                // The kernel reads and writes `out`, through two of its parameters.
                let out = out.in_place();
                let arguments = (a, &x, x_step, out, out_step, out, out_step, threads);
                // SAFETY: as above; each thread reads the element that it then writes.
                unsafe { kernel.launch(&stream, config, arguments) }?;
            }
        }
        // Dropping the guards makes the producers' streams wait for `stream`.
        Ok(())
    }
}
