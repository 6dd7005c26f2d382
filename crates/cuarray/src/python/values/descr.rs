//! Conversion of `descr` between Python's list and a [`Descr`] (clause I9).
//!
//! The list may come from any library, so its depth is limited while it is walked.

use crate::python::ffi::inspect::{shown, type_name};
use crate::{Descr, Dims, Error, Field, FieldType, Result, TypeStr};
use pyo3::{
    IntoPyObjectExt,
    prelude::*,
    types::{PyInt, PyList, PyString, PyTuple},
};

/// Reads the fields of a `descr` list.
///
/// # Errors
/// Key `descr`: it is not a list of `(name, type)` or `(name, type, shape)`, or it describes an impossible type.
pub(in crate::python) fn read(descr: &Bound<'_, PyAny>) -> Result<Descr> {
    read_nested(descr, 0)
}

fn read_nested(descr: &Bound<'_, PyAny>, depth: usize) -> Result<Descr> {
    let list = descr.cast::<PyList>().map_err(|_| expected("a list of fields", descr))?;
    Descr::new(list.iter().map(|entry| field(&entry, depth)).collect::<Result<_>>()?)
}

fn field(entry: &Bound<'_, PyAny>, depth: usize) -> Result<Field> {
    let wrong = || expected("a field, (name, type) or (name, type, shape),", entry);
    let entry = entry.cast::<PyTuple>().map_err(|_| wrong())?;
    if !matches!(entry.len(), 2 | 3) {
        return Err(wrong());
    }
    let (name, ty) = (entry.get_item(0)?, entry.get_item(1)?);
    let (title, name) = match name.cast::<PyTuple>() {
        Ok(pair) if pair.len() == 2 => (Some(text(&pair.get_item(0)?)?), text(&pair.get_item(1)?)?),
        Ok(_) => return Err(expected("a name or (title, name)", &name)),
        Err(_) => (None, text(&name)?),
    };
    let mut shape = if entry.len() == 3 { sub_array(&entry.get_item(2)?)? } else { Dims::new() };
    let ty = field_type(&ty, &mut shape, depth)?;
    Ok(Field { name, title, ty, shape })
}

/// Reads a type string, a list of fields, or NumPy's form of a nested sub-array: a type and the shape of the inner one.
fn field_type(ty: &Bound<'_, PyAny>, shape: &mut Dims, depth: usize) -> Result<FieldType> {
    // Deeper lists are refused: no real type is nested so deeply, and a list may contain itself.
    if depth >= Descr::MAX_DEPTH {
        return Err(Error::entry("descr", format!("nested more than {} deep", Descr::MAX_DEPTH)));
    }
    if let Ok(typestr) = ty.cast::<PyString>() {
        let typestr = typestr.to_str().map_err(|_| expected("a type string", typestr))?;
        return Ok(typestr.parse::<TypeStr>().map_err(|error| Error::entry("descr", error.to_string()))?.into());
    }
    match ty.cast::<PyTuple>() {
        Ok(pair) if pair.len() == 2 => {
            shape.extend_from_slice(&sub_array(&pair.get_item(1)?)?);
            field_type(&pair.get_item(0)?, shape, depth + 1)
        }
        _ => Ok(read_nested(ty, depth + 1)?.into()),
    }
}

fn text(value: &Bound<'_, PyAny>) -> Result<String> {
    let text = value.cast::<PyString>().map_err(|_| expected("a name (str)", value))?;
    Ok(text.to_str().map_err(|_| expected("a name (str)", value))?.to_owned())
}

/// Reads the shape of a sub-array: an int or a tuple of ints.
fn sub_array(value: &Bound<'_, PyAny>) -> Result<Dims> {
    let length = |value: &Bound<'_, PyAny>| -> Result<usize> {
        value
            .cast::<PyInt>()
            .ok()
            .and_then(|len| len.extract().ok())
            .ok_or_else(|| expected("the shape of a sub-array, an int or a tuple of ints,", value))
    };
    match value.cast::<PyTuple>() {
        Ok(shape) => shape.iter().map(|len| length(&len)).collect(),
        Err(_) => [length(value)].into_iter().collect(),
    }
}

fn expected(what: &str, value: &Bound<'_, PyAny>) -> Error {
    Error::entry("descr", format!("{} is a {}; {what} is expected", shown(value), type_name(value)))
}

/// Writes `descr` as a list in NumPy's form.
pub(in crate::python) fn write<'py>(py: Python<'py>, descr: &Descr) -> Result<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for field in descr.fields() {
        let name = match &field.title {
            Some(title) => (title, &field.name).into_bound_py_any(py)?,
            None => (&field.name).into_bound_py_any(py)?,
        };
        let ty = match &field.ty {
            FieldType::TypeStr(typestr) => typestr.to_string().into_bound_py_any(py)?,
            FieldType::Struct(descr) => write(py, descr)?.into_any(),
        };
        list.append(match field.shape.is_empty() {
            true => (name, ty).into_bound_py_any(py)?,
            false => (name, ty, PyTuple::new(py, &field.shape)?).into_bound_py_any(py)?,
        })?;
    }
    Ok(list)
}
