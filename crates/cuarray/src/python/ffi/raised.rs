//! The handling of exceptions that reading an attribute raises.
//!
//! A property of a real library may raise anything: RuntimeError where a tensor needs a gradient, KeyError for a type that it cannot name. For the
//! importer that means one thing: the object gives no array. So the exception becomes the cause of a `TypeError`, whichever protocol the
//! attribute belongs to. Exceptions that report on the process and not on the object pass through: `MemoryError`, `RecursionError`,
//! and all that are no `Exception` (`KeyboardInterrupt`, `SystemExit`). A *method* that raises reports in its protocol's own way and is not changed.

use super::inspect::type_name;
use crate::{Error, Result};
use pyo3::{
    exceptions::{PyException, PyMemoryError, PyRecursionError},
    prelude::*,
    types::PyString,
};

/// Whether an exception reports on the process, so that it must pass through.
pub(in crate::python) fn passes_through(py: Python<'_>, error: &PyErr) -> bool {
    !error.is_instance_of::<PyException>(py)
        || error.is_instance_of::<PyMemoryError>(py)
        || error.is_instance_of::<PyRecursionError>(py)
}

/// The error for the attribute `name` of `object`, which raised `error`. The message begins with `subject` and ends with `expected`.
#[cold]
pub(in crate::python) fn unreadable(
    subject: &str,
    object: &Bound<'_, PyAny>,
    name: &str,
    expected: &str,
    error: PyErr,
) -> Error {
    let py = object.py();
    if passes_through(py, &error) {
        return error.into();
    }
    let raised = error.get_type(py).name().map_or_else(|_| "an exception".to_owned(), |name| name.to_string());
    let of = type_name(object);
    Error::unreadable(format!("{subject}: reading {name} of a {of} raised {raised}; {expected}"), error)
}

/// The attribute of `object`, `None` where it has none.
///
/// # Errors
/// [`unreadable`], where the attribute raises anything but `AttributeError`.
pub(in crate::python) fn optional_attribute<'py>(
    subject: &str,
    object: &Bound<'py, PyAny>,
    name: &Bound<'py, PyString>,
    expected: &str,
) -> Result<Option<Bound<'py, PyAny>>> {
    object.getattr_opt(name).map_err(|error| {
        unreadable(subject, object, &name.to_string_lossy(), &format!("{expected} is expected"), error)
    })
}
