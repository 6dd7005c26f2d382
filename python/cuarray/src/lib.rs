//! The extension module `cuarray._core`. It registers the classes and functions of the crate's feature `python`.

use pyo3::prelude::*;

/// The compiled part of the package `cuarray`.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    cuarray::python::register(module)
}
