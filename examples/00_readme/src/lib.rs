// src/lib.rs
use cuarray::{Stream, python::DeviceViewMutDyn};
use pyo3::prelude::*;

/// Multiplies `x` by `factor`, in place.
#[pyfunction]
#[pyo3(signature = (x, factor, stream=None))]
fn scale(mut x: DeviceViewMutDyn<'_, f32>, factor: f32, stream: Option<Stream>) -> PyResult<()> {
    let stream = stream.map_or_else(|| x.stream(), Ok)?; // the caller's stream, or the array's
    let mut x = x.acquire_mut(&stream)?; // ordered after pending work on `x`
    let mut elements = x.copy_to_host()?; // any shape, any strides
    elements.iter_mut().for_each(|element| *element *= factor);
    x.copy_from_host(&elements)?;
    x.release()?; // later work on `x` is ordered after this
    Ok(())
}

#[pymodule]
fn scaled(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(scale, module)?)
}
