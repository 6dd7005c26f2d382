//! `a[key]`: views and single elements.
//!
//! NumPy's *basic* indexing selects places at regular distances, so its result is a view and costs a little arithmetic
//! ([`Layout::index`](crate::Layout::index)). Its *advanced* indexing, by arrays, lists and truth values, gathers elements from
//! any places. On a device that needs a kernel, and this library launches none. Such keys are refused, with the reason.

use super::{PyDeviceArray, view};
use crate::python::ffi::inspect::{is_bool, type_name};
use crate::{Error, Index, Result, Slice};
use pyo3::{
    exceptions::{PyIndexError, PyTypeError},
    ffi, intern,
    prelude::*,
    types::{PyList, PySlice, PyString, PyTuple},
};
use smallvec::SmallVec;

type Entries = SmallVec<[Index; 6]>;

/// Returns `array[key]`: a view, or a NumPy scalar if the key names one element.
pub(in crate::python) fn get<'py>(array: &PyDeviceArray, key: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
    let py = key.py();
    let (view, is_element) = select(array, key)?;
    if is_element {
        return Ok(view.copy_to_host(py, None, None)?.get_item(PyTuple::empty(py))?);
    }
    Ok(Bound::new(py, view)?.into_any())
}

/// The selected part, and whether the key has an index for every axis and nothing else.
pub(in crate::python) fn select(array: &PyDeviceArray, key: &Bound<'_, PyAny>) -> Result<(PyDeviceArray, bool)> {
    let py = key.py();
    if let Ok(name) = key.cast::<PyString>() {
        return Ok((view::field(array, py, &name.to_string_lossy())?, false));
    }
    let entries: Entries = match key.cast::<PyTuple>() {
        Ok(tuple) => tuple.iter().map(|item| entry(&item)).collect::<Result<_>>()?,
        Err(_) => [entry(key)?].into_iter().collect(),
    };
    let ndim = array.interface().layout().ndim();
    let is_element = entries.len() == ndim && entries.iter().all(|entry| matches!(entry, Index::At(_)));
    Ok((view::derive(array, py, |layout| layout.index(&entries))?, is_element))
}

fn entry(value: &Bound<'_, PyAny>) -> Result<Index> {
    let py = value.py();
    if let Ok(slice) = value.cast::<PySlice>() {
        return Ok(Index::Slice(unpack(slice)?));
    }
    if value.is_none() {
        return Ok(Index::NewAxis);
    }
    if value.is(py.Ellipsis()) {
        return Ok(Index::Ellipsis);
    }
    if is_bool(value) {
        return Err(needs_kernel(value));
    }
    // SAFETY: `value` is an object, and the exception is a class. A result of -1 may be an error, which is then set.
    let at = unsafe { ffi::PyNumber_AsSsize_t(value.as_ptr(), ffi::PyExc_IndexError) };
    match PyErr::take(py) {
        None => Ok(Index::At(at)),
        Some(error) if error.is_instance_of::<PyTypeError>(py) => Err(no_index(value)),
        Some(error) => Err(error.into()),
    }
}

/// The ends and the step of a slice, clamped to the machine's ints; a larger number is out of range for every array.
fn unpack(slice: &Bound<'_, PySlice>) -> Result<Slice> {
    let (mut start, mut stop, mut step) = (0, 0, 0);
    // SAFETY: `slice` is a slice; the three numbers are written unless an error is set, and outlive the call.
    if unsafe { ffi::PySlice_Unpack(slice.as_ptr(), &mut start, &mut stop, &mut step) } < 0 {
        return Err(PyErr::fetch(slice.py()).into());
    }
    Ok(Slice { start: Some(start), stop: Some(stop), step: Some(step) })
}

/// The error for a key that is not an int, a slice, `...` or `None`: advanced indexing, or no index at all.
#[cold]
fn no_index(value: &Bound<'_, PyAny>) -> Error {
    let py = value.py();
    let selects = value.is_instance_of::<PyList>()
        || value.hasattr(intern!(py, "__cuda_array_interface__")).unwrap_or(false)
        || value
            .getattr(intern!(py, "dtype"))
            .and_then(|dtype| dtype.getattr(intern!(py, "kind"))?.extract::<String>())
            .is_ok_and(|kind| matches!(kind.as_str(), "b" | "i" | "u"));
    if selects {
        return needs_kernel(value);
    }
    PyIndexError::new_err(format!(
        "a {} is not an index; an int, a slice, '...', None, a tuple of these, or the name of a field is expected",
        type_name(value)
    ))
    .into()
}

#[cold]
fn needs_kernel(value: &Bound<'_, PyAny>) -> Error {
    PyTypeError::new_err(format!(
        "indexing by a {} selects elements one by one, which needs a kernel, and cuarray launches none: index the host copy, \
         or use a library with kernels on this array",
        type_name(value)
    ))
    .into()
}

/// `iter(array)`: the parts along the first axis, each made on demand. The elements of a 1-d array are fetched at
/// once, in one copy.
pub(in crate::python) fn iterate<'py>(array: &Bound<'py, PyDeviceArray>) -> PyResult<Bound<'py, PyAny>> {
    let py = array.py();
    let length = match array.get().interface().shape() {
        [] => return Err(PyTypeError::new_err("iteration over a 0-d array")),
        [_] => return Ok(array.get().copy_to_host(py, None, None)?.try_iter()?.into_any()),
        [length, ..] => *length,
    };
    let builtins = py.import(intern!(py, "builtins"))?;
    let places = builtins.call_method1(intern!(py, "range"), (length,))?;
    builtins.call_method1(intern!(py, "map"), (array.getattr(intern!(py, "__getitem__"))?, places))
}
