//! A module whose tests call each function with every awkward array, and with illegal dictionaries.

use pyo3::prelude::*;

/// A module with a function that reads an array, and one that writes it.
#[pymodule]
pub mod test_an_extension {
    use cuarray::{CContiguous, IxDyn, python::DeviceView, python::DeviceViewMut};
    use pyo3::prelude::*;

    /// Returns the sum of `x`, of any layout. Waits for the work on `x`.
    #[pyfunction]
    fn total(x: DeviceView<'_, f32, IxDyn>) -> PyResult<f32> {
        let stream = x.stream()?;
        let values = x.acquire(&stream)?.copy_to_host()?;
        Ok(values.iter().sum())
    }

    /// Writes `value` into each element of `out`, which is C-contiguous. Waits for the work.
    #[pyfunction]
    fn assign(mut out: DeviceViewMut<'_, f32, IxDyn, CContiguous>, value: f32) -> PyResult<()> {
        let stream = out.stream()?;
        let mut out = out.acquire_mut(&stream)?;
        let values = vec![value; out.len()];
        out.copy_from_host(&values)?;
        out.release()?;
        Ok(())
    }
}
