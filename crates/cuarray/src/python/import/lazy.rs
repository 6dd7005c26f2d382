//! Tensors of PyTorch whose memory does not hold their values, or not everything they carry.
//!
//! `conj()` returns a tensor over the same memory with a conjugate mark, and the imaginary part of that tensor has a negative mark. The
//! dictionary does not show the marks. `__dlpack__` refuses the conjugate mark and ignores the negative one.
//!
//! A tensor may also have a gradient, which `__dlpack__` and the dictionary refuse to lose. The functions of the exchange table
//! ignore the gradient and both marks.

use crate::python::ffi::{inspect::type_name, raised::passes_through};
use crate::{Error, Interface, Kind, Result, Version};
use pyo3::{
    intern,
    prelude::*,
    sync::PyOnceLock,
    types::{PyDict, PyType},
};

/// Refuses a marked tensor that has a dictionary. PyTorch's dictionaries have version 2, so version 3 needs no check. Neither does a
/// program that has not imported PyTorch.
#[inline]
pub(in crate::python) fn refuse_lazy(object: &Bound<'_, PyAny>, interface: &Interface) -> Result<()> {
    if interface.version() >= Version::V3 { Ok(()) } else { refuse_lazy_tensor(object, interface) }
}

/// Refuses a marked tensor of any protocol.
///
/// # Errors
/// [`Error::is_unsupported`]: it is marked. [`Error::is_not_an_array`]: its methods raise.
#[inline]
pub(in crate::python) fn refuse_lazy_tensor(object: &Bound<'_, PyAny>, interface: &Interface) -> Result<()> {
    if !matches!(interface.typestr().kind(), Kind::Complex | Kind::Float) {
        return Ok(());
    }
    match class(object.py())? {
        Some(tensor) if object.is_instance(&tensor)? => refuse_marked(object),
        _ => Ok(()),
    }
}

/// Refuses a tensor of PyTorch that is marked, or has a gradient.
///
/// # Errors
/// As [`refuse_lazy_tensor`].
#[cold]
pub(in crate::python) fn refuse_gradient_or_mark(object: &Bound<'_, PyAny>, interface: &Interface) -> Result<()> {
    // Only floats have gradients: numbers of those kinds, and named types such as bfloat16.
    if matches!(interface.typestr().kind(), Kind::Int | Kind::UInt | Kind::Bool) {
        return Ok(());
    }
    let has_gradient = object.getattr(intern!(object.py(), "requires_grad")).and_then(|answer| answer.is_truthy());
    if has_gradient.map_err(|error| unanswered(object, "requires_grad", error))? {
        return Err(Error::unsupported(format!(
            "requires_grad of the {} is true, which a DeviceArray cannot carry; pass its detach()",
            type_name(object)
        )));
    }
    refuse_marked(object)
}

/// Whether a type is a tensor type of PyTorch.
pub(in crate::python) fn are_tensors(kind: &Bound<'_, PyType>) -> Result<bool> {
    match class(kind.py())? {
        Some(tensor) => Ok(kind.is_subclass(&tensor)?),
        None => Ok(false),
    }
}

/// `torch.Tensor`, if PyTorch is imported.
fn class(py: Python<'_>) -> Result<Option<Bound<'_, PyAny>>> {
    static MODULES: PyOnceLock<Py<PyDict>> = PyOnceLock::new();
    let modules = MODULES.get_or_try_init(py, || -> PyResult<_> {
        Ok(py.import(intern!(py, "sys"))?.getattr(intern!(py, "modules"))?.cast_into::<PyDict>()?.unbind())
    })?;
    let Some(torch) = modules.bind(py).get_item(intern!(py, "torch"))? else { return Ok(None) };
    // A module that is being imported has no tensors yet.
    Ok(torch.getattr_opt(intern!(py, "Tensor"))?)
}

fn refuse_marked(object: &Bound<'_, PyAny>) -> Result<()> {
    let py = object.py();
    for (mark, name, remedy) in
        [(intern!(py, "is_conj"), "is_conj()", "resolve_conj()"), (intern!(py, "is_neg"), "is_neg()", "resolve_neg()")]
    {
        let marked = object.call_method0(mark).and_then(|answer| answer.is_truthy());
        if marked.map_err(|error| unanswered(object, name, error))? {
            return Err(Error::unsupported(format!(
                "{name} of the {} is true: its memory does not hold its values; pass its {remedy}",
                type_name(object)
            )));
        }
    }
    Ok(())
}

/// The error for a tensor whose mark cannot be read.
fn unanswered(object: &Bound<'_, PyAny>, name: &str, error: PyErr) -> Error {
    if passes_through(object.py(), &error) {
        return error.into();
    }
    let of = type_name(object);
    let what = format!("cannot tell whether the memory of a {of} holds its values: {name} raised; a bool is expected");
    Error::unreadable(what, error)
}
