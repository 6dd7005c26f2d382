//! Parsing of the value under one key. A value that breaks the text is refused with the key, the value and the
//! expected form.

use super::Reading;
use crate::{
    DevicePtr, Dims, Error, MAX_NDIM, Result, Strides, TypeStr,
    python::ffi::inspect::{integer, shown, type_name, unconverted, wrong_type},
};
use pyo3::{
    ffi,
    prelude::*,
    types::{PyBool, PyBytes, PyString, PyTuple},
};
use std::borrow::Cow;

/// The spellings of ml_dtypes for 8-bit floats. They do not name a type, and are read as void.
pub(super) const UNNAMED_FLOAT8: [&str; 2] = ["<f1", "|f1"];

#[inline]
pub(super) fn typestr(value: &Bound<'_, PyAny>, reading: &mut Reading<'_>) -> Result<TypeStr> {
    let text = value.cast::<PyString>().map_err(|_| wrong_type("typestr", value, "a str such as '<f4'"))?;
    let text = text.to_str().map_err(|_| {
        Error::entry("typestr", format!("{} is not text; a str such as '<f4' is expected", shown(value)))
    })?;
    let error = match text.parse() {
        Ok(typestr) => return Ok(typestr),
        Err(error) => error,
    };
    let Ok((typestr, Some(note))) = TypeStr::from_lenient(text) else { return Err(error) };
    // No deviation if the caller names the 8-bit float, because the type string cannot.
    let is_named = reading.element.as_ref().is_some_and(|element| element.typestr.name().is_some());
    if is_named && UNNAMED_FLOAT8.contains(&text) {
        return Ok(typestr);
    }
    reading.deviation("typestr", || note, || error)?;
    Ok(typestr)
}

/// A tuple; a lenient import also accepts any other sequence, as the tuple of its items.
#[inline]
fn tuple<'a, 'py>(
    value: &'a Bound<'py, PyAny>,
    key: &'static str,
    expected: &str,
    reading: &mut Reading<'_>,
) -> Result<Cow<'a, Bound<'py, PyTuple>>> {
    match value.cast::<PyTuple>() {
        Ok(tuple) => Ok(Cow::Borrowed(tuple)),
        Err(_) => sequence(value, key, expected, reading).map(Cow::Owned),
    }
}

#[cold]
fn sequence<'py>(
    value: &Bound<'py, PyAny>,
    key: &'static str,
    expected: &str,
    reading: &mut Reading<'_>,
) -> Result<Bound<'py, PyTuple>> {
    let wrong = || wrong_type(key, value, expected);
    // Text and bytes are values, not sequences; sets and dictionaries have no order.
    // SAFETY: the value is held, and only its type is read.
    let is_sequence = unsafe { ffi::PySequence_Check(value.as_ptr()) } == 1;
    if !is_sequence || value.is_instance_of::<PyString>() || value.is_instance_of::<PyBytes>() {
        return Err(wrong());
    }
    reading.deviation(key, || format!("a {}, read as a tuple", type_name(value)), wrong)?;
    // At most one item more than any shape has, so that an endless iterator is refused for its length.
    let items = value.try_iter().and_then(|items| items.take(MAX_NDIM + 1).collect::<PyResult<Vec<_>>>());
    Ok(PyTuple::new(value.py(), items.map_err(|error| unconverted(value, error, wrong()))?)?)
}

#[inline]
pub(super) fn dims(value: &Bound<'_, PyAny>, reading: &mut Reading<'_>, dims: &mut Dims) -> Result<()> {
    let expected = "a tuple of ints, one for each dimension,";
    let tuple = tuple(value, "shape", expected, reading)?;
    for len in tuple.iter_borrowed() {
        let number = integer(&len, "shape", expected)?;
        dims.push(usize::try_from(number).map_err(|_| {
            Error::entry(
                "shape",
                format!("{number} in {} is not a length; ints of at least 0 are expected", shown(value)),
            )
        })?);
    }
    Ok(())
}

#[inline]
pub(super) fn steps(value: &Bound<'_, PyAny>, ndim: usize, reading: &mut Reading<'_>) -> Result<Strides> {
    let expected = "None or a tuple of ints, the bytes to step in each dimension,";
    let tuple = tuple(value, "strides", expected, reading)?;
    let mut strides = Strides::new();
    for step in tuple.iter_borrowed() {
        let number = integer(&step, "strides", expected)?;
        strides.push(isize::try_from(number).map_err(|_| {
            Error::entry("strides", format!("{number} in {} does not fit the address space", shown(value)))
        })?);
    }
    if strides.len() != ndim {
        return Err(Error::entry(
            "strides",
            format!(
                "{} has {} entries, but 'shape' has {ndim}; one for each dimension is expected",
                shown(value),
                strides.len()
            ),
        ));
    }
    Ok(strides)
}

pub(super) const POINTER_AND_FLAG: &str = "a 2-tuple of a pointer (int) and a read-only flag (bool)";

#[inline]
pub(super) fn data(value: &Bound<'_, PyAny>, reading: &mut Reading<'_>) -> Result<(DevicePtr, bool)> {
    let tuple = tuple(value, "data", POINTER_AND_FLAG, reading)?;
    let wrong_length = || {
        Error::entry("data", format!("{} has {} entries; {POINTER_AND_FLAG} is expected", shown(value), tuple.len()))
    };
    let read_only = match tuple.len() {
        1 => {
            reading.deviation("data", || "no read-only flag; read as writable".to_owned(), wrong_length)?;
            false
        }
        2 => flag(&*tuple.get_borrowed_item(1)?, reading)?,
        _ => return Err(wrong_length()),
    };
    let pointer = tuple.get_borrowed_item(0)?;
    if pointer.is_none() {
        let wrong = || wrong_type("data", &pointer, "a pointer (int)");
        reading.deviation("data", || "the pointer is None; read as 0".to_owned(), wrong)?;
        return Ok((0, read_only));
    }
    let number = integer(&pointer, "data", "a pointer (int)")?;
    let pointer = u64::try_from(number).map_err(|_| {
        Error::entry("data", format!("{number} is not an address; an int from 0 to 2**64 - 1 is expected"))
    })?;
    Ok((pointer, read_only))
}

fn flag(value: &Bound<'_, PyAny>, reading: &mut Reading<'_>) -> Result<bool> {
    if let Ok(flag) = value.cast::<PyBool>() {
        return Ok(flag.is_true());
    }
    let wrong = || wrong_type("data", value, "a read-only flag (bool)");
    reading.deviation("data", || format!("the read-only flag is a {}, read as its truth", type_name(value)), wrong)?;
    value.is_truthy().map_err(|error| unconverted(value, error, wrong()))
}
