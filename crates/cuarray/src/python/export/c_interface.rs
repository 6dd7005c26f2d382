//! The attribute `__cuda_array_c_interface__` of `DeviceArray`.

use crate::python::memory::c_array::UNTAKEN;
use crate::{
    CArray, Result, StreamEntry,
    exchange::c_interface::{Body, RawCArray, export, into_owner},
    python::{
        array::{ExportedStream, PyDeviceArray},
        export::managed::KeptArray,
    },
};
use pyo3::{ffi, prelude::*};

/// A capsule with the array's structure. The structure keeps the array alive, and the array keeps its memory, stream
/// and event alive.
///
/// # Errors
/// [`Error::is_unsupported`](crate::Error::is_unsupported): the array was borrowed and the borrow has ended, a stream captures,
/// or C cannot express the name of a field.
pub(in crate::python) fn capsule<'py>(array: &Bound<'py, PyDeviceArray>) -> Result<Bound<'py, PyAny>> {
    into_capsule(array.py(), structure(array)?)
}

/// The structure without a capsule.
pub(in crate::python) fn structure(array: &Bound<'_, PyDeviceArray>) -> Result<CArray> {
    let py = array.py();
    array.get().check_borrow()?;
    let fill = |owner: &KeptArray| {
        let array = owner.get();
        let body = body(array, py)?;
        let Some(mask) = array.mask() else { return Ok(body) };
        Ok(body.masked(Some(self::body(mask.array(py)?.get(), py)?)))
    };
    // SAFETY: the interfaces of an array and of its mask are boxes that live as long as the array, and the owner keeps the array.
    unsafe { export(KeptArray::new(array), fill) }
}

fn body(array: &PyDeviceArray, py: Python<'_>) -> Result<Body> {
    let ExportedStream { stream, event } = array.export_stream(py)?;
    Ok(array.structure()?.naming(stream.unwrap_or(StreamEntry::None), event))
}

fn into_capsule(py: Python<'_>, array: CArray) -> Result<Bound<'_, PyAny>> {
    let raw = array.into_raw();
    // SAFETY: the pointer is not null and the name is static; the result is an owned capsule, or null with an error set.
    unsafe {
        let capsule = ffi::PyCapsule_New(raw.cast(), UNTAKEN.as_ptr(), Some(release_untaken));
        if capsule.is_null() {
            drop(CArray::from_raw(raw));
        }
        Ok(Bound::from_owned_ptr_or_err(py, capsule)?)
    }
}

/// The destructor of this module's capsules.
///
/// # Safety
/// Called by Python with a capsule.
unsafe extern "C" fn release_untaken(capsule: *mut ffi::PyObject) {
    // SAFETY: this module created `capsule`, and its name identifies its content. Python calls destructors attached.
    unsafe {
        // A consumer renames the capsule when it takes the structure.
        if ffi::PyCapsule_GetName(capsule) == UNTAKEN.as_ptr()
            && let Ok(array) =
                CArray::from_raw(ffi::PyCapsule_GetPointer(capsule, UNTAKEN.as_ptr()).cast::<RawCArray>())
        {
            into_owner::<KeptArray>(array).release(Python::assume_attached());
        }
    }
}
