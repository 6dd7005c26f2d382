//! What a `DeviceArray` answers for `__cuda_array_c_interface__`.

use crate::python::memory::c_array::UNTAKEN;
use crate::{
    CArray, Result, StreamEntry,
    exchange::c_interface::{Body, RawCArray, export, kept},
    python::{
        array::{Announced, PyDeviceArray},
        ffi::kept::KeptArray,
    },
};
use pyo3::{ffi, prelude::*};

/// A capsule with the structure of an array. The structure keeps the array, and the array its memory, its stream and its event.
///
/// # Errors
/// [`Error::is_unsupported`](crate::Error::is_unsupported): the array was borrowed and given back, a stream captures, or a
/// field's name cannot be said in C.
pub(in crate::python) fn capsule<'py>(array: &Bound<'py, PyDeviceArray>) -> Result<Bound<'py, PyAny>> {
    into_capsule(array.py(), structure(array)?)
}

/// The structure alone.
pub(in crate::python) fn structure(array: &Bound<'_, PyDeviceArray>) -> Result<CArray> {
    let py = array.py();
    array.get().check_borrow()?;
    let fill = |kept: &KeptArray| {
        let array = kept.array();
        let body = body(array, py)?;
        let Some(mask) = array.mask() else { return Ok(body) };
        Ok(body.masked(Some(self::body(mask.array(py)?.get(), py)?)))
    };
    // SAFETY: the interfaces of an array and of its mask are boxes that it has as long as it lives, and `kept` keeps it.
    unsafe { export(KeptArray::new(array), fill) }
}

fn body(array: &PyDeviceArray, py: Python<'_>) -> Result<Body> {
    let Announced { stream, event } = array.announced(py)?;
    Ok(array.structure()?.naming(stream.unwrap_or(StreamEntry::None), event))
}

fn into_capsule(py: Python<'_>, array: CArray) -> Result<Bound<'_, PyAny>> {
    let raw = array.into_raw();
    // SAFETY: the pointer is not null and the name lives forever; the result is null with an error set, or a capsule that we own.
    unsafe {
        let capsule = ffi::PyCapsule_New(raw.cast(), UNTAKEN.as_ptr(), Some(release_untaken));
        if capsule.is_null() {
            drop(CArray::from_raw(raw));
        }
        Ok(Bound::from_owned_ptr_or_err(py, capsule)?)
    }
}

/// The destructor of our capsules.
///
/// # Safety
/// Called by Python with a capsule.
unsafe extern "C" fn release_untaken(capsule: *mut ffi::PyObject) {
    // SAFETY: `capsule` is a capsule of ours, whose content is what its name says; destructors are called attached.
    unsafe {
        // Who takes the structure gives the capsule a name of its own.
        if ffi::PyCapsule_GetName(capsule) == UNTAKEN.as_ptr()
            && let Ok(array) =
                CArray::from_raw(ffi::PyCapsule_GetPointer(capsule, UNTAKEN.as_ptr()).cast::<RawCArray>())
        {
            kept::<KeptArray>(array).let_go(Python::assume_attached());
        }
    }
}
