//! Host arrays: NumPy's, which is the one thing that the package asks for, and only when data goes to or from the host.

use super::{dtype::Element, import};
use crate::{Error, Interface, Result};
use pyo3::{intern, prelude::*, sync::PyOnceLock, types::PyDict};

/// A NumPy array and the memory it describes.
pub(super) struct HostArray<'py> {
    pub(super) array: Bound<'py, PyAny>,
    pub(super) interface: Interface,
}

impl<'py> HostArray<'py> {
    /// `numpy.asarray(value, dtype)`.
    pub(super) fn of(value: &Bound<'py, PyAny>, dtype: Option<&Bound<'py, PyAny>>) -> Result<HostArray<'py>> {
        let py = value.py();
        HostArray::new(numpy(py)?.call_method1(intern!(py, "asarray"), (value, dtype))?)
    }

    /// The same elements in C order, copied only if they are not so already.
    pub(super) fn contiguous(&self) -> Result<HostArray<'py>> {
        let py = self.array.py();
        HostArray::new(numpy(py)?.call_method1(intern!(py, "ascontiguousarray"), (&self.array,))?)
    }

    /// An uninitialized array of `shape` and `dtype`.
    pub(super) fn empty(shape: &Bound<'py, PyAny>, dtype: &Bound<'py, PyAny>, order: &str) -> Result<HostArray<'py>> {
        let py = shape.py();
        HostArray::new(numpy(py)?.call_method1(intern!(py, "empty"), (shape, dtype, order))?)
    }

    /// A NumPy array as it is.
    pub(super) fn new(array: Bound<'py, PyAny>) -> Result<HostArray<'py>> {
        let py = array.py();
        let dict = array.getattr(intern!(py, "__array_interface__"))?;
        let dict = dict.cast::<PyDict>().map_err(|_| Error::not_an_array("__array_interface__ is not a dict"))?;
        let dtype = || Element::of_dtype(&array.getattr(intern!(py, "dtype"))?);
        let interface = *import::host_interface(dict, dtype)?;
        Ok(HostArray { array, interface })
    }
}

/// The module `numpy`.
pub(super) fn numpy(py: Python<'_>) -> Result<&Bound<'_, PyModule>> {
    static NUMPY: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    Ok(NUMPY.get_or_try_init(py, || py.import("numpy").map(Bound::unbind))?.bind(py))
}
