//! Import of an array's mask.

use super::Reading;
use crate::{
    Error, Interface, Layout, Result,
    python::{array::mask::ArrayMask, import},
};
use pyo3::prelude::*;

/// The mask that `reading` has found for an array of layout `array`, if there is one.
///
/// # Errors
/// Key `mask`: the object is no CUDA array, has a mask itself, has no truth value, or does not fit the array's shape.
#[inline]
pub(in crate::python) fn read(reading: &mut Reading<'_>, array: &Layout, bits: bool) -> Result<Option<ArrayMask>> {
    let Some(object) = reading.mask.take() else { return Ok(None) };
    of_object(object, reading, array, bits).map(Some)
}

/// Not inlined, which keeps the code for arrays without a mask small.
#[inline(never)]
fn of_object<'py>(
    object: Bound<'py, PyAny>,
    reading: &mut Reading<'py>,
    array: &Layout,
    bits: bool,
) -> Result<ArrayMask> {
    let interface = described(&object, reading)?;
    ArrayMask::foreign(interface, object, array, bits)
}

/// The interface of a mask object; its errors become errors of the entry `mask`.
fn described<'py>(object: &Bound<'py, PyAny>, array: &mut Reading<'py>) -> Result<Box<Interface>> {
    let mut reading = array.of_mask();
    let read = import::attribute(object).and_then(|dict| import::interface(&dict, &mut reading));
    let interface = read.map_err(|error| match error.is_invalid_interface() || error.is_not_an_array() {
        true => error.within("mask"),
        false => error,
    })?;
    if reading.mask.is_some() {
        return Err(Error::entry("mask", "has a mask itself; an array without a mask is expected"));
    }
    array.add_mask_deviations(reading);
    Ok(interface)
}
