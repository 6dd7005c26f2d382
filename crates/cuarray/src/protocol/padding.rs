//! Padding of structures: the bytes of a value that no field covers.
//!
//! A copy of a value leaves its padding uninitialized. Device memory can be read as bytes, so every value that goes there first gets
//! zeros as padding. Types without padding are not copied for this.

use super::element::{Element, Member};
use crate::{Error, Result};
use std::mem::MaybeUninit;

/// A field of a structure, for [`clear`].
#[derive(Clone, Copy)]
pub struct Place {
    offset: usize,
    size: usize,
    /// Clears the padding inside the field, if the field's type has some.
    clear: Option<unsafe fn(*mut u8)>,
}

impl Place {
    /// The place of a field of type `T`.
    pub const fn of<T: Member>(offset: usize) -> Place {
        Place { offset, size: size_of::<T>(), clear: if T::HAS_PADDING { Some(T::clear_padding) } else { None } }
    }
}

/// Whether a structure of `size` bytes has padding beside or inside these fields.
///
/// # Panics
/// The fields are not in the order of their declaration, at compile time.
pub const fn exists(size: usize, fields: &[Place]) -> bool {
    let (mut covered, mut index) = (0, 0);
    while index < fields.len() {
        assert!(
            index == 0 || fields[index - 1].offset <= fields[index].offset,
            "an attribute of the structure changed the order of its fields; cuarray::element! needs the declared order"
        );
        if fields[index].clear.is_some() {
            return true;
        }
        covered += fields[index].size;
        index += 1;
    }
    covered != size
}

/// Writes zeros over the padding of a structure.
///
/// # Safety
/// `at` is valid for writes of `size` bytes. The fields are those of the structure, in the order of their offsets.
pub unsafe fn clear(at: *mut u8, size: usize, fields: &[Place]) {
    let mut end = 0;
    for field in fields {
        // SAFETY: this function's contract; the fields and the gaps between them lie within the structure.
        unsafe {
            at.add(end).write_bytes(0, field.offset.saturating_sub(end));
            if let Some(clear) = field.clear {
                clear(at.add(field.offset));
            }
        }
        end = end.max(field.offset + field.size);
    }
    // SAFETY: this function's contract; the fields and the gaps between them lie within the structure.
    unsafe { at.add(end).write_bytes(0, size - end) };
}

/// Values whose bytes are all initialized: the caller's, or a copy with zeros as padding.
pub(crate) enum Initialized<'a, T> {
    Given(&'a [T]),
    Copied(Vec<MaybeUninit<T>>),
}

impl<T: Element> Initialized<'_, T> {
    /// Copies the values only if their type has padding.
    ///
    /// # Errors
    /// [`Error::is_invalid_argument`]: the host has no memory for the copy.
    pub fn new(values: &[T]) -> Result<Initialized<'_, T>> {
        if !T::HAS_PADDING {
            return Ok(Initialized::Given(values));
        }
        let mut copied: Vec<MaybeUninit<T>> = Vec::new();
        if copied.try_reserve_exact(values.len()).is_err() {
            return Err(Error::argument(format!("cannot allocate {} bytes on the host", size_of_val(values))));
        }
        // SAFETY: `MaybeUninit<T>` has the layout of `T` and accepts any bytes.
        copied.extend_from_slice(unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), values.len()) });
        copied.iter_mut().for_each(clear_value);
        Ok(Initialized::Copied(copied))
    }

    pub fn as_ptr(&self) -> *const u8 {
        match self {
            Initialized::Given(values) => values.as_ptr().cast(),
            Initialized::Copied(values) => values.as_ptr().cast(),
        }
    }
}

/// Writes zeros over the padding of a value, which must not be moved or copied as a `T` afterwards.
pub(crate) fn clear_value<T: Element>(value: &mut MaybeUninit<T>) {
    if T::HAS_PADDING {
        // SAFETY: the reference is valid for writes of the value's size.
        unsafe { T::clear_padding(value.as_mut_ptr().cast()) };
    }
}
