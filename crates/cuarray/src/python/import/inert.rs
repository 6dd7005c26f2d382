//! Reading the entries that nearly all producers write, at the least cost.
//!
//! An entry that is exactly a `tuple`, an `int`, a `bool` or a `str` is *inert*: reading it runs no Python code. While all entries are inert,
//! nothing in this thread can change the dictionary, so with a global lock its values are borrowed and not owned one by one. Only this common case is read here. Everything else
//! (a NumPy integer, a mask, an event, anything wrong) returns `None`, and [`super::interface`] reads the same entries with full checks. This
//! file is only a shortcut: the full reader gives the same interface.

use super::{DATA, DESCR, EVENT, Entries, Interned, MASK, SHAPE, STREAM, STRIDES, TYPESTR, VERSION};
use crate::{Axes, DevicePtr, Dims, Error, Interface, Kind, StreamEntry, Strides, TypeStr, Version};
use pyo3::{ffi, prelude::*};

/// The interface that inert and correct entries describe.
#[inline]
pub(super) fn interface(entries: &Entries<'_, '_>, py: Python<'_>) -> Option<Box<Interface>> {
    let interned = Interned::get(py);
    // Version 2 has no stream, and version 3 has all keys; older ones are rare.
    let version = match entries.get(VERSION)? {
        version if version.as_ptr() == interned.three.as_ptr() => Version::V3,
        version if integer(version.as_ptr())? == 2 => Version::V2,
        _ => return None,
    };
    let typestr: TypeStr = text(entries, TYPESTR)?.parse().ok()?;
    if typestr.kind() == Kind::Void && entries.has(DESCR) || entries.has(MASK) || entries.has(EVENT) {
        return None;
    }
    let (data, read_only) = data(entries)?;
    let interface = Interface::in_place(data, typestr, |layout| {
        let shape = |into: &mut Dims| integers(entries, SHAPE, into).ok_or(Unread);
        let strides = |into: &mut Strides, _: &Dims| integers(entries, STRIDES, into).ok_or(Unread);
        layout.fill(typestr.itemsize(), shape, entries.has(STRIDES).then_some(strides))
    });
    let mut interface = interface.ok()?;
    interface.set_read_only(read_only);
    interface.set_version(version);
    if version >= Version::V3 && entries.has(STREAM) {
        let number = integer(entries.get(STREAM)?.as_ptr())?;
        interface.set_stream(StreamEntry::try_from(i128::from(number)).ok()?);
    }
    Some(interface)
}

/// An error without a message, which becomes `None`: the full reader writes the message.
struct Unread;

impl From<Error> for Unread {
    fn from(_: Error) -> Unread {
        Unread
    }
}

#[inline]
fn text<'a>(entries: &'a Entries<'_, '_>, index: usize) -> Option<&'a str> {
    let value = entries.get(index)?.as_ptr();
    // SAFETY: `value` is an object.
    if unsafe { ffi::Py_TYPE(value) } != &raw mut ffi::PyUnicode_Type {
        return None;
    }
    let mut length = 0;
    // SAFETY: `value` is a str; the result is null with an error set if it is not valid Unicode.
    let text = unsafe { ffi::PyUnicode_AsUTF8AndSize(value, &mut length) };
    if text.is_null() {
        // SAFETY: this thread is attached.
        unsafe { ffi::PyErr_Clear() };
        return None;
    }
    // SAFETY: the dictionary or the entries own the str, which owns its UTF-8 form of `length` bytes.
    Some(unsafe { std::str::from_utf8_unchecked(std::slice::from_raw_parts(text.cast(), length as usize)) })
}

/// Reads a tuple of ints; `None` if an int does not fit the number type.
#[inline]
fn integers<T: Copy + Default + TryFrom<i64>>(
    entries: &Entries<'_, '_>,
    index: usize,
    numbers: &mut Axes<T>,
) -> Option<()> {
    let tuple = entries.get(index)?.as_ptr();
    *numbers = Axes::repeat(T::default(), length(tuple)? as usize);
    for (item, number) in numbers.iter_mut().enumerate() {
        // SAFETY: `tuple` is a tuple with more than `item` items.
        *number = integer(unsafe { ffi::PyTuple_GetItem(tuple, item as isize) })?.try_into().ok()?;
    }
    Some(())
}

#[inline]
fn data(entries: &Entries<'_, '_>) -> Option<(DevicePtr, bool)> {
    let tuple = entries.get(DATA)?.as_ptr();
    if length(tuple)? != 2 {
        return None;
    }
    // SAFETY: `tuple` is a tuple of two items.
    let (pointer, flag) = unsafe { (ffi::PyTuple_GetItem(tuple, 0), ffi::PyTuple_GetItem(tuple, 1)) };
    // SAFETY: both objects live as long as the interpreter.
    let (no, yes) = unsafe { (ffi::Py_False(), ffi::Py_True()) };
    if flag != no && flag != yes {
        return None;
    }
    Some((u64::try_from(integer(pointer)?).ok()?, flag == yes))
}

/// The length of an exact tuple.
#[inline]
fn length(value: *mut ffi::PyObject) -> Option<ffi::Py_ssize_t> {
    // SAFETY: `value` is an object, as all values of a dictionary are; only a tuple's length is read.
    unsafe { (ffi::Py_TYPE(value) == &raw mut ffi::PyTuple_Type).then(|| ffi::Py_SIZE(value)) }
}

/// The value of an exact int; `None` if it does not fit.
#[inline]
fn integer(value: *mut ffi::PyObject) -> Option<i64> {
    // SAFETY: `value` is an object, as all values of a dictionary and all items of a tuple are.
    if unsafe { ffi::Py_TYPE(value) } != &raw mut ffi::PyLong_Type {
        return None;
    }
    let mut overflow = 0;
    // SAFETY: `value` is an int, so the only failure is overflow, which `overflow` reports.
    let number = unsafe { ffi::PyLong_AsLongLongAndOverflow(value, &mut overflow) };
    (overflow == 0).then_some(number)
}
