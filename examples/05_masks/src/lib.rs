//! Arrays with a mask, which says which elements are valid.

use pyo3::prelude::*;

/// A module with three functions.
#[pymodule]
mod masked_arrays {
    use cuarray::{
        DeviceArray, Ix1,
        python::{DeviceView1, MaskedView},
    };
    use pyo3::prelude::*;

    /// Returns the mean of the valid elements, or `None` if there are none. Waits.
    ///
    /// The mask is a separate view with the array's shape. A producer's mask of fewer elements is broadcast to it.
    #[pyfunction]
    fn mean(x: MaskedView<'_, f32, Ix1>) -> PyResult<Option<f64>> {
        let stream = x.data.stream()?;
        let elements = x.data.acquire(&stream)?.copy_to_host()?;
        let valid = match &x.mask {
            Some(mask) => mask.acquire(&stream)?.copy_to_host()?,
            None => vec![true.into(); elements.len()],
        };
        let valid: Vec<f64> = elements
            .iter()
            .zip(&valid)
            .filter(|(_, valid)| valid.get())
            .map(|(element, _)| f64::from(*element))
            .collect();
        Ok((!valid.is_empty()).then(|| valid.iter().sum::<f64>() / valid.len() as f64))
    }

    /// Returns a copy without a mask, with `value` in place of each invalid element. Waits.
    #[pyfunction]
    fn filled(x: MaskedView<'_, f32, Ix1>, value: f32) -> PyResult<DeviceArray<f32, Ix1>> {
        let stream = x.data.stream()?;
        let mut elements = x.data.acquire(&stream)?.copy_to_host()?;
        if let Some(mask) = &x.mask {
            let valid = mask.acquire(&stream)?.copy_to_host()?;
            elements.iter_mut().zip(valid).filter(|(_, valid)| !valid.get()).for_each(|(element, _)| *element = value);
        }
        Ok(DeviceArray::from_host(&elements, [elements.len()], &stream)?)
    }

    /// Returns the sum of all elements. Waits.
    ///
    /// `DeviceView1` accepts no array with a mask, since a sum over invalid elements would be wrong.
    #[pyfunction]
    fn sum(x: DeviceView1<'_, f32>) -> PyResult<f64> {
        let stream = x.stream()?;
        Ok(x.acquire(&stream)?.copy_to_host()?.into_iter().map(f64::from).sum())
    }
}
