//! Writing `__cuda_array_interface__` (clauses I1 to I11, N2, P3, P4).

use super::config;
use crate::{Interface, Result};
use pyo3::{
    intern,
    prelude::*,
    types::{PyDict, PyInt, PyTuple},
};

/// The dictionary of `interface`, of the version that the configuration names.
///
/// `strides` is `None` only where the array is C-contiguous; the pointer of a zero-size array is 0 (clause I5); `stream` is
/// never 0, and stands there only in version 3.
pub(super) fn dictionary<'py>(py: Python<'py>, interface: &Interface) -> Result<Bound<'py, PyDict>> {
    let layout = interface.layout();
    let version = config::export_version();
    let dict = PyDict::new(py);
    dict.set_item(intern!(py, "shape"), shape(py, interface)?)?;
    dict.set_item(intern!(py, "typestr"), interface.typestr().to_string())?;
    dict.set_item(intern!(py, "data"), (interface.export_data(), interface.is_read_only()))?;
    let contiguous = layout.is_c_contiguous();
    dict.set_item(intern!(py, "strides"), if contiguous { None } else { Some(strides(py, interface)?) })?;
    if let Some(descr) = interface.descr() {
        dict.set_item(intern!(py, "descr"), super::descr::write(py, descr)?)?;
    }
    if version >= 3 {
        let stream = if config::export_stream() { interface.stream().handle() } else { None };
        dict.set_item(intern!(py, "stream"), stream)?;
    }
    dict.set_item(intern!(py, "version"), version)?;
    Ok(dict)
}

/// The shape as a tuple.
pub(super) fn shape<'py>(py: Python<'py>, interface: &Interface) -> PyResult<Bound<'py, PyTuple>> {
    PyTuple::new(py, interface.layout().shape().iter().map(|&len| PyInt::new(py, len)))
}

/// The strides in bytes as a tuple.
pub(super) fn strides<'py>(py: Python<'py>, interface: &Interface) -> PyResult<Bound<'py, PyTuple>> {
    PyTuple::new(py, interface.layout().strides().iter().map(|&step| PyInt::new(py, step)))
}
