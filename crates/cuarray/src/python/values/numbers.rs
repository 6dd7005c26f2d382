//! Arguments that are ints, or tuples of ints.

use crate::{
    Error, MAX_NDIM, Result,
    python::ffi::inspect::{integer, is_bool, shown, type_name},
};
use pyo3::{
    exceptions::PyTypeError,
    prelude::*,
    types::{PyByteArray, PyBytes, PyDict, PyFrozenSet, PyInt, PySet, PyString},
};

/// Reads the argument `name`: an int, or an ordered iterable of ints, in the collection's number type.
///
/// # Errors
/// A TypeError for a value that is not an int, as in NumPy; an invalid argument for an int out of range.
pub(in crate::python) fn numbers<C, N>(value: &Bound<'_, PyAny>, name: &'static str) -> Result<C>
where
    C: FromIterator<N>,
    N: TryFrom<i128>,
{
    let expected = "an int or a tuple of ints";
    let number = |value: &Bound<'_, PyAny>| number(value, name, expected);
    // Tests for iteration first: a NumPy array of several numbers has `__index__` too, and a single number cannot be iterated.
    let is_not_a_tuple = value.is_instance_of::<PyString>()
        || value.is_instance_of::<PyBytes>()
        || value.is_instance_of::<PyByteArray>()
        || value.is_instance_of::<PyDict>()
        || value.is_instance_of::<PySet>()
        || value.is_instance_of::<PyFrozenSet>();
    if is_not_a_tuple {
        return Err(not_an_int(value, name, expected));
    }
    match value.try_iter() {
        // At most one item more than the largest ndim, so that an endless iterator is refused for its length.
        Ok(items) => items.take(MAX_NDIM + 1).map(|item| number(&item?)).collect(),
        Err(error) if error.is_instance_of::<PyTypeError>(value.py()) => [number(value)].into_iter().collect(),
        Err(error) => Err(error.into()),
    }
}

/// Reads the argument `name`, an int; errors say that `expected` is expected.
///
/// # Errors
/// As [`numbers`].
pub(in crate::python) fn number<N: TryFrom<i128>>(
    value: &Bound<'_, PyAny>,
    name: &'static str,
    expected: &str,
) -> Result<N> {
    let out_of_range =
        |number: String| Error::argument(format!("{name}: {number} is out of range; {expected} is expected"));
    let number = integer(value, name, "").map_err(|error| match error.key() {
        Some(_) if is_int(value) => out_of_range(shown(value)),
        Some(_) => not_an_int(value, name, expected),
        None => error,
    })?;
    N::try_from(number).map_err(|_| out_of_range(number.to_string()))
}

/// Reads the argument `device`: the ordinal of a device, or None.
///
/// # Errors
/// As [`numbers`].
pub(in crate::python) fn ordinal(value: &Bound<'_, PyAny>) -> PyResult<Option<i32>> {
    if value.is_none() {
        return Ok(None);
    }
    Ok(Some(number(value, "device", "the ordinal of a device, an int,")?))
}

#[cold]
fn not_an_int(value: &Bound<'_, PyAny>, name: &str, expected: &str) -> Error {
    PyTypeError::new_err(format!("{name}: {} is a {}; {expected} is expected", shown(value), type_name(value))).into()
}

fn is_int(value: &Bound<'_, PyAny>) -> bool {
    value.is_instance_of::<PyInt>() && !is_bool(value)
}
