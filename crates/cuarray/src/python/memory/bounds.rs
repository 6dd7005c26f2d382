//! `bounds=True` checks that every element lies in an allocation of the driver.
//!
//! An interface may claim any shape and strides. Only the driver knows where an allocation ends. To the driver, a
//! pool is one allocation. So the check finds elements outside a pool, but not elements outside a block within the
//! pool.
//!
//! The driver cannot describe all memory that devices reach: memory that a graph has yet to allocate, and host memory that devices reach without
//! registration. Then the check is skipped with a note. `interface(obj, bounds=True).notes` has the note, and an import issues it as a warning.

use super::reach;
use crate::{DevicePtr, Error, Interface, Result};
use pyo3::{exceptions::PyRuntimeWarning, prelude::*};
use std::{ffi::CString, ops::Range};

/// Checks an array, and its mask if it has one. Returns the checks that were impossible, with reasons.
///
/// # Errors
/// Key `data`, or `mask`: elements outside the allocation. [`Error::is_unsupported`]: devices do not reach the memory.
pub(in crate::python) fn notes(array: &Interface, mask: Option<&Interface>) -> Result<Vec<String>> {
    let mut notes = Vec::new();
    notes.extend(check(array, "data")?);
    if let Some(mask) = mask {
        notes.extend(check(mask, "mask")?);
    }
    Ok(notes)
}

/// Checks an array as [`notes`] does, and issues each note as a warning.
pub(in crate::python) fn verify(py: Python<'_>, array: &Interface, mask: Option<&Interface>) -> Result<()> {
    for note in notes(array, mask)? {
        let note = CString::new(note).unwrap_or_default();
        PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &note, 1)?;
    }
    Ok(())
}

fn check(interface: &Interface, key: &'static str) -> Result<Option<String>> {
    let (data, elements) = (interface.data(), interface.byte_range());
    if elements.is_empty() {
        return Ok(None);
    }
    let unchecked = |why: &str| Ok(Some(format!("'{key}': bounds were not checked: {why} the memory at {data:#x}")));
    let Some(attributes) = reach::attributes(data)? else {
        let context = super::runtime::driver()?.default_context()?;
        if reach::is_host_memory(data) && !reach::reaches_host_memory(&context)? {
            return Err(reach::unreached(data, None));
        }
        return unchecked("the driver does not describe");
    };
    let Some(device_ptr) = reach::of_device(&attributes, data) else {
        return Err(reach::unreached(data, Some(&attributes)));
    };
    let Some(allocation) = &attributes.range else {
        return unchecked("the driver does not name the allocation that holds");
    };
    let moved = |address: DevicePtr| address.wrapping_sub(data).wrapping_add(device_ptr);
    within(moved(elements.start)..moved(elements.end), allocation, key)?;
    Ok(None)
}

/// Checks that the bytes of the elements lie in an allocation, both by their device addresses.
///
/// # Errors
/// An error of the entry `key`.
pub(in crate::python) fn within(
    elements: Range<DevicePtr>,
    allocation: &Range<DevicePtr>,
    key: &'static str,
) -> Result<()> {
    if allocation.start <= elements.start && elements.start <= elements.end && elements.end <= allocation.end {
        return Ok(());
    }
    Err(Error::entry(
        key,
        format!(
            "the elements take the bytes {:#x} to {:#x}, but the allocation at that address has {:#x} to {:#x} ({} bytes); all elements are \
             expected to lie in one allocation",
            elements.start,
            elements.end,
            allocation.start,
            allocation.end,
            allocation.end - allocation.start
        ),
    ))
}
