//! Capsules whose name says whether their content can still be taken.

use pyo3::{ffi, prelude::*, sync::critical_section::with_critical_section, types::PyCapsule};
use std::{
    ffi::{CStr, c_void},
    ptr::NonNull,
};

/// The content of a capsule with that name.
pub(in crate::python) fn content(capsule: &Bound<'_, PyCapsule>, name: &CStr) -> Option<NonNull<c_void>> {
    // SAFETY: `capsule` is a capsule. Its pointer is read if the name matches, which sets no error.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule.as_ptr(), name.as_ptr()) == 0 {
            return None;
        }
        NonNull::new(ffi::PyCapsule_GetPointer(capsule.as_ptr(), name.as_ptr()))
    }
}

/// Takes the content of a capsule named `unused`, and renames it to `used`, by which no later call takes it.
///
/// Without a global lock, several threads may take at the same time. The capsule's critical section lets one of them in. Nothing in it waits.
pub(in crate::python) fn take(
    capsule: &Bound<'_, PyCapsule>,
    unused: &CStr,
    used: &'static CStr,
) -> PyResult<Option<NonNull<c_void>>> {
    with_critical_section(capsule.as_any(), || {
        let Some(content) = content(capsule, unused) else { return Ok(None) };
        // SAFETY: `capsule` is a capsule, and the name is static.
        if unsafe { ffi::PyCapsule_SetName(capsule.as_ptr(), used.as_ptr()) } != 0 {
            return Err(PyErr::fetch(capsule.py()));
        }
        Ok(Some(content))
    })
}
