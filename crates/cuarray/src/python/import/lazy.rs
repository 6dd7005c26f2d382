//! Tensors whose memory does not hold their values.

use super::type_name;
use crate::{Error, Interface, Kind, Result, Version};
use pyo3::{exceptions::PyException, intern, prelude::*, sync::PyOnceLock, types::PyDict};

/// Refuses a tensor of PyTorch whose memory does not hold its values: `conj()`, and the imaginary part of that, only set a mark
/// on it, which its interface does not show. Its interfaces are of version 2; those of version 3 are spared the question, and so
/// is every program that has not imported PyTorch.
#[inline]
pub(in crate::python) fn refuse_lazy(object: &Bound<'_, PyAny>, interface: &Interface) -> Result<()> {
    if interface.version() >= Version::V3 || !matches!(interface.typestr().kind(), Kind::Complex | Kind::Float) {
        return Ok(());
    }
    refuse_lazy_tensor(object)
}

fn refuse_lazy_tensor(object: &Bound<'_, PyAny>) -> Result<()> {
    static MODULES: PyOnceLock<Py<PyDict>> = PyOnceLock::new();
    let py = object.py();
    let modules = MODULES.get_or_try_init(py, || -> PyResult<_> {
        Ok(py.import(intern!(py, "sys"))?.getattr(intern!(py, "modules"))?.cast_into::<PyDict>()?.unbind())
    })?;
    let Some(torch) = modules.bind(py).get_item(intern!(py, "torch"))? else { return Ok(()) };
    // A module that is still being imported has no tensors yet.
    let Some(tensor) = torch.getattr_opt(intern!(py, "Tensor"))? else { return Ok(()) };
    if !object.is_instance(&tensor)? {
        return Ok(());
    }
    for (mark, name, remedy) in
        [(intern!(py, "is_conj"), "is_conj", "resolve_conj()"), (intern!(py, "is_neg"), "is_neg", "resolve_neg()")]
    {
        let marked = object.call_method0(mark).and_then(|answer| answer.is_truthy());
        if marked.map_err(|error| unanswered(object, name, error))? {
            return Err(Error::unsupported(format!(
                "{name}() of the {} is true: its memory does not hold its values; pass its {remedy}",
                type_name(object)
            )));
        }
    }
    Ok(())
}

/// What asking for a mark raised, as the reason why the tensor cannot be read.
fn unanswered(object: &Bound<'_, PyAny>, name: &str, error: PyErr) -> Error {
    if !error.is_instance_of::<PyException>(object.py()) {
        return error.into();
    }
    let of = type_name(object);
    let what =
        format!("cannot tell whether the memory of a {of} holds its values: {name}() raised; a bool is expected");
    Error::unreadable(what, error)
}
