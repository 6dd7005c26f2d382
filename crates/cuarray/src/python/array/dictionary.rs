//! Writing `__cuda_array_interface__` (clauses I1 to I11, N2, P3, P4).

use crate::{
    Interface, Result, TypeStr,
    python::{config, ffi::per_number::PerNumber, values::descr},
};
use pyo3::{
    intern,
    prelude::*,
    sync::PyOnceLock,
    types::{PyDict, PyInt, PyString, PyTuple},
};
use std::sync::OnceLock;

/// The constant entries of an array's dictionary, made once and then copied: copying a dictionary is cheaper than making its entries.
///
/// Two threads may both make the dictionary, and the first one is stored. To make it only once, every first export would have to
/// release the GIL.
pub(in crate::python) struct Template(OnceLock<Py<PyDict>>);

impl Template {
    pub(in crate::python) const fn new() -> Template {
        Template(OnceLock::new())
    }

    /// The dictionary of `interface`, in the version of the configuration.
    ///
    /// `strides` is `None` if and only if the array is C-contiguous. The pointer of a zero-size array is 0 (clause I5). `stream`
    /// is never 0, and exists only in version 3.
    pub(in crate::python) fn dictionary<'py>(
        &self,
        py: Python<'py>,
        interface: &Interface,
    ) -> Result<Bound<'py, PyDict>> {
        let template = match self.0.get() {
            Some(template) => template,
            None => {
                let made = constant(py, interface)?;
                self.0.get_or_init(|| made)
            }
        };
        let dict = template.bind(py).copy()?;
        if let Some(descr) = interface.descr() {
            dict.set_item(intern!(py, "descr"), descr::write(py, descr)?)?;
        }
        let version = config::export_version();
        if version < 3 {
            dict.set_item(intern!(py, "version"), version)?;
            dict.del_item(intern!(py, "stream"))?;
        } else if let Some(handle) = interface.stream().handle()
            && config::export_stream()
        {
            dict.set_item(intern!(py, "stream"), handle)?;
        }
        Ok(dict)
    }
}

/// The key for the name of a named type, which no type letter states; only extension modules read it.
pub(in crate::python) const NAMED: &str = "cuarray_named_type";

/// The dictionary of `interface` in version 3, with its stream, regardless of the configuration; only for extension modules.
pub(in crate::python) fn complete<'py>(py: Python<'py>, interface: &Interface) -> Result<Bound<'py, PyDict>> {
    let dict = constant(py, interface)?.into_bound(py);
    if let Some(descr) = interface.descr() {
        dict.set_item(intern!(py, "descr"), descr::write(py, descr)?)?;
    }
    if let Some(handle) = interface.stream().handle() {
        dict.set_item(intern!(py, "stream"), handle)?;
    }
    if interface.typestr().name().is_some() {
        dict.set_item(NAMED, interface.typestr().label())?;
    }
    Ok(dict)
}

fn constant(py: Python<'_>, interface: &Interface) -> Result<Py<PyDict>> {
    let dict = blank(py)?.copy()?;
    dict.set_item(intern!(py, "shape"), shape(py, interface)?)?;
    dict.set_item(intern!(py, "typestr"), typestr(py, interface.typestr()))?;
    dict.set_item(intern!(py, "data"), (interface.export_data(), interface.is_read_only()))?;
    if !interface.layout().is_c_contiguous() {
        let strides = interface.layout().canonical_strides();
        dict.set_item(intern!(py, "strides"), PyTuple::new(py, strides.iter().map(|&step| PyInt::new(py, step)))?)?;
    }
    Ok(dict.unbind())
}

/// All keys in their order, with the most frequent values, so that a copied dictionary need not grow.
fn blank(py: Python<'_>) -> Result<&Bound<'_, PyDict>> {
    static BLANK: PyOnceLock<Py<PyDict>> = PyOnceLock::new();
    let make = || {
        let dict = PyDict::new(py);
        for key in ["shape", "typestr", "data", "strides", "stream"] {
            dict.set_item(PyString::intern(py, key), py.None())?;
        }
        dict.set_item(intern!(py, "version"), 3)?;
        Ok::<_, PyErr>(dict.unbind())
    };
    Ok(BLANK.get_or_try_init(py, make)?.bind(py))
}

/// The type as a string.
fn typestr(py: Python<'_>, typestr: TypeStr) -> Bound<'_, PyString> {
    static MADE: PerNumber<Py<PyString>> = PerNumber::new();
    let write = || PyString::new(py, &typestr.to_string());
    match MADE.of(typestr) {
        Some(made) => made.get_or_init(py, || write().unbind()).bind(py).clone(),
        None => write(),
    }
}

/// The shape as a tuple.
pub(in crate::python) fn shape<'py>(py: Python<'py>, interface: &Interface) -> PyResult<Bound<'py, PyTuple>> {
    PyTuple::new(py, interface.layout().shape().iter().map(|&len| PyInt::new(py, len)))
}

/// The strides in bytes as a tuple.
pub(in crate::python) fn strides<'py>(py: Python<'py>, interface: &Interface) -> PyResult<Bound<'py, PyTuple>> {
    PyTuple::new(py, interface.layout().strides().iter().map(|&step| PyInt::new(py, step)))
}
