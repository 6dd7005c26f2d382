//! Numbers out of Python values, and the text that shows a value in a message.

use super::raised::passes_through;
use crate::{Error, Result};
use pyo3::{
    exceptions::PyTypeError,
    ffi,
    prelude::*,
    types::{PyBool, PyInt},
};

/// Reads an int, or the result of `__index__` (a NumPy integer). A bool is neither.
#[inline]
pub(in crate::python) fn integer(value: &Bound<'_, PyAny>, key: &'static str, expected: &str) -> Result<i128> {
    if value.is_exact_instance_of::<PyInt>() {
        let mut overflow = 0;
        // SAFETY: `value` is an int, so the only failure is overflow, which `overflow` reports.
        let number = unsafe { ffi::PyLong_AsLongLongAndOverflow(value.as_ptr(), &mut overflow) };
        if overflow == 0 {
            return Ok(number.into());
        }
    }
    wide_or_index(value, key, expected)
}

/// Whether a value is a bool of Python or NumPy. Both have `__index__` (NumPy's up to 2.2), but are no numbers here.
pub(in crate::python) fn is_bool(value: &Bound<'_, PyAny>) -> bool {
    value.is_instance_of::<PyBool>() || matches!(type_name(value).as_str(), "numpy.bool" | "numpy.bool_")
}

/// Reads an int of more bits, or the result of `__index__`.
#[cold]
fn wide_or_index(value: &Bound<'_, PyAny>, key: &'static str, expected: &str) -> Result<i128> {
    if is_bool(value) {
        return Err(wrong_type(key, value, expected));
    }
    let py = value.py();
    // SAFETY: `value` is an object; the result is an owned int, or null with an error set.
    let number = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyNumber_Index(value.as_ptr())) }
        .map_err(|error| unconverted(value, error, wrong_type(key, value, expected)))?;
    narrow(&number, key, expected)
}

/// The error for a value whose method raised `error`: `wrong`, with the exception as its cause if it says more than that the type is
/// wrong. Exceptions that report on the process pass through.
#[cold]
pub(in crate::python) fn unconverted(value: &Bound<'_, PyAny>, error: PyErr, wrong: Error) -> Error {
    match passes_through(value.py(), &error) {
        true => error.into(),
        false if error.is_instance_of::<PyTypeError>(value.py()) => wrong,
        false => wrong.because(error),
    }
}

/// Narrows an int to 64 bits, of either sign.
fn narrow(number: &Bound<'_, PyAny>, key: &'static str, expected: &str) -> Result<i128> {
    let mut overflow = 0;
    // SAFETY: `number` is an int, so the only failure is overflow, which `overflow` reports.
    let narrow = unsafe { ffi::PyLong_AsLongLongAndOverflow(number.as_ptr(), &mut overflow) };
    if overflow == 0 {
        return Ok(narrow.into());
    }
    number
        .extract::<u64>()
        .map(i128::from)
        .map_err(|_| Error::entry(key, format!("{} does not fit 64 bits; {expected} is expected", shown(number))))
}

/// The error for a value of a wrong type under `key`.
#[cold]
pub(in crate::python) fn wrong_type(key: &'static str, value: &Bound<'_, PyAny>, expected: &str) -> Error {
    Error::entry(key, format!("{} is a {}; {expected} is expected", shown(value), type_name(value)))
}

/// The name of a value's type, for a message.
pub(in crate::python) fn type_name(value: &Bound<'_, PyAny>) -> String {
    value.get_type().fully_qualified_name().map_or_else(|_| "object".to_owned(), |name| name.to_string())
}

/// The `repr` of a value, shortened for a message; "the value" if `repr` raises.
pub(in crate::python) fn shown(value: &Bound<'_, PyAny>) -> String {
    const LONGEST: usize = 80;
    match value.repr().map(|text| text.to_string_lossy().into_owned()) {
        Ok(text) if text.chars().count() <= LONGEST => text,
        Ok(text) => text.chars().take(LONGEST).chain("...".chars()).collect(),
        Err(_) => "the value".to_owned(),
    }
}
