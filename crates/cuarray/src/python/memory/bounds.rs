//! `bounds=True`: every element lies in the allocation that the driver knows there.
//!
//! An interface may say anything of shape and strides; only the driver knows where an allocation ends. What a library carves
//! out of a pool of its own is one allocation to the driver, so this finds what leaves the pool's block and no more.
//!
//! The driver does not describe all memory that devices reach: not what a graph is yet to allocate, and not host memory that is
//! reached without its knowledge. The check is then skipped, and says so: `interface(obj, bounds=True).notes` has the note, and an
//! import, which has nowhere to put one, warns with it. A user who asked for a check is told that there was none.

use super::reach;
use crate::{Error, Interface, Result};
use pyo3::{exceptions::PyRuntimeWarning, prelude::*};
use std::{ffi::CString, ops::Range};

/// Checks an array, and its mask if it has one. Answers what could not be checked, and why.
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

/// The same, with a warning for each note.
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
    let Some(known) = reach::known(data)? else {
        let context = super::runtime::driver()?.default_context()?;
        if reach::is_host_memory(data) && !reach::reaches_host_memory(&context)? {
            return Err(reach::unreached(data, None));
        }
        return unchecked("the driver does not describe");
    };
    let Some(device_ptr) = reach::of_device(&known, data) else { return Err(reach::unreached(data, Some(&known))) };
    let Some(allocation) = &known.range else { return unchecked("the driver does not say what allocation holds") };
    let moved = |address: u64| address.wrapping_sub(data).wrapping_add(device_ptr);
    within(moved(elements.start)..moved(elements.end), allocation, key)?;
    Ok(None)
}

/// Checks that the bytes of the elements lie in an allocation, both by their device addresses.
///
/// # Errors
/// The key.
pub(in crate::python) fn within(elements: Range<u64>, allocation: &Range<u64>, key: &'static str) -> Result<()> {
    if allocation.start <= elements.start && elements.start <= elements.end && elements.end <= allocation.end {
        return Ok(());
    }
    Err(Error::entry(
        key,
        format!(
            "the elements take the bytes {:#x} to {:#x}, but the allocation there has {:#x} to {:#x} ({} bytes); all elements are \
             expected to lie in one allocation",
            elements.start,
            elements.end,
            allocation.start,
            allocation.end,
            allocation.end - allocation.start
        ),
    ))
}
