//! Reading the dictionaries that nearly all producers write, at the least cost.
//!
//! An entry that is exactly a `tuple`, an `int`, a `bool` or a `str` is *inert*: looking at it runs no Python code. While all
//! entries are, nothing can change the dictionary, so its values need not be owned one by one; and where every value is also
//! what the text wants there is no sentence to write. That is the common case, and the only one that is handled here:
//! whatever is not so (a NumPy integer, a mask, a key that is no interned string, anything wrong) ends in `None`, and
//! [`crate::python::import`] reads the dictionary again with all its care. So this file decides nothing: what it reads, the
//! other reads the same.

use super::{DATA, DESCR, KEYS, Known, MASK, SHAPE, STREAM, STRIDES, TYPESTR, VERSION};
use crate::{Axes, Dims, Error, Interface, Kind, StreamEntry, Strides, TypeStr, Version};
use pyo3::{
    ffi,
    prelude::*,
    types::{PyDict, PyString},
};
use std::sync::atomic::{AtomicU64, Ordering};

/// The interface that a dictionary describes, where all its entries are inert and right.
pub(in crate::python) fn interface(dict: &Bound<'_, PyDict>) -> Option<Box<Interface>> {
    let known = Known::get(dict.py());
    let entries = Entries::read(dict, &known.keys)?;
    // Version 2 has no stream, and version 3 has all keys; older ones are rare.
    let version = match entries.values[VERSION]? {
        version if version.as_ptr() == known.three.as_ptr() => Version::V3,
        version if integer(version.as_ptr())? == 2 => Version::V2,
        _ => return None,
    };
    let typestr: TypeStr = entries.text(TYPESTR)?.parse().ok()?;
    if typestr.kind() == Kind::Void && entries.has(DESCR) || entries.has(MASK) {
        return None;
    }
    let (data, read_only) = entries.data()?;
    let interface = Interface::in_place(data, typestr, |layout| {
        let shape = |into: &mut Dims| entries.integers(SHAPE, into).ok_or(Unread);
        let strides = |into: &mut Strides, _: &Dims| entries.integers(STRIDES, into).ok_or(Unread);
        layout.fill(typestr.itemsize(), shape, entries.has(STRIDES).then_some(strides))
    });
    let mut interface = interface.ok()?;
    interface.set_read_only(read_only);
    interface.set_version(version);
    if version >= Version::V3 && entries.has(STREAM) {
        interface.set_stream(StreamEntry::try_from(i128::from(entries.integer(STREAM)?)).ok()?);
    }
    Some(interface)
}

/// What is not handled here; no sentence says why.
struct Unread;

impl From<Error> for Unread {
    fn from(_: Error) -> Unread {
        Unread
    }
}

/// The values found under [`KEYS`], which the dictionary owns.
struct Entries<'a, 'py> {
    values: [Option<Borrowed<'a, 'py, PyAny>>; KEYS.len()],
}

/// The order in which the last dictionary had its keys, as an index in a byte each: the next one is likely of the same library.
static ORDER: AtomicU64 = AtomicU64::new(u64::from_le_bytes([0, 1, 2, 3, 4, 5, 6, 7]));

impl<'a, 'py> Entries<'a, 'py> {
    /// The entries of `dict`; `None` where a key is not one of the interned strings.
    #[inline]
    fn read(dict: &'a Bound<'py, PyDict>, interned: &[Py<PyString>; KEYS.len()]) -> Option<Entries<'a, 'py>> {
        let py = dict.py();
        let mut values = [None; KEYS.len()];
        let expected = ORDER.load(Ordering::Relaxed);
        let (mut order, mut turn) = (expected, 0);
        let (mut position, mut key, mut value) = (0, std::ptr::null_mut(), std::ptr::null_mut());
        for _ in 0..dict.len() {
            // SAFETY: `dict` is a dictionary and stays one while we hold it; nothing in the loop runs Python code, so it does
            // not change under the walk.
            if unsafe { ffi::PyDict_Next(dict.as_ptr(), &mut position, &mut key, &mut value) } == 0 {
                break;
            }
            let mut index = usize::from((order >> turn) as u8) % KEYS.len();
            if interned[index].as_ptr() != key {
                index = interned.iter().position(|known| known.as_ptr() == key)?;
                order = order & !(0xff << turn) | (index as u64) << turn;
            }
            // A dictionary has a key once, so there are no more turns than keys.
            turn = (turn + 8) % u64::BITS;
            // SAFETY: the dictionary owns `value`, is not changed while `Entries` exists (no Python code runs), and
            // outlives it.
            values[index] = Some(unsafe { Borrowed::from_ptr(py, value) });
        }
        if order != expected {
            ORDER.store(order, Ordering::Relaxed);
        }
        Some(Entries { values })
    }

    #[inline]
    fn has(&self, index: usize) -> bool {
        self.values[index].is_some_and(|value| !value.is_none())
    }

    #[inline]
    fn integer(&self, index: usize) -> Option<i64> {
        integer(self.values[index]?.as_ptr())
    }

    #[inline]
    fn text(&self, index: usize) -> Option<&'a str> {
        let value = self.values[index]?.as_ptr();
        // SAFETY: `value` is an object.
        if unsafe { ffi::Py_TYPE(value) } != &raw mut ffi::PyUnicode_Type {
            return None;
        }
        let mut length = 0;
        // SAFETY: `value` is a str; null is returned where it is no text, with an error set.
        let text = unsafe { ffi::PyUnicode_AsUTF8AndSize(value, &mut length) };
        if text.is_null() {
            // SAFETY: this thread is attached.
            unsafe { ffi::PyErr_Clear() };
            return None;
        }
        // SAFETY: the str, which the dictionary owns, keeps its UTF-8 form of `length` bytes.
        Some(unsafe { std::str::from_utf8_unchecked(std::slice::from_raw_parts(text.cast(), length as usize)) })
    }

    /// The items of a tuple of ints, each of which fits.
    #[inline]
    fn integers<T: Copy + Default + TryFrom<i64>>(&self, index: usize, numbers: &mut Axes<T>) -> Option<()> {
        let tuple = self.values[index]?.as_ptr();
        *numbers = Axes::repeat(T::default(), length(tuple)? as usize);
        for (item, number) in numbers.iter_mut().enumerate() {
            // SAFETY: `tuple` is a tuple with more than `item` items.
            *number = integer(unsafe { ffi::PyTuple_GetItem(tuple, item as isize) })?.try_into().ok()?;
        }
        Some(())
    }

    #[inline]
    fn data(&self) -> Option<(u64, bool)> {
        let tuple = self.values[DATA]?.as_ptr();
        if length(tuple)? != 2 {
            return None;
        }
        // SAFETY: `tuple` is a tuple of two items.
        let (pointer, flag) = unsafe { (ffi::PyTuple_GetItem(tuple, 0), ffi::PyTuple_GetItem(tuple, 1)) };
        // SAFETY: both are objects that exist as long as the interpreter.
        let (no, yes) = unsafe { (ffi::Py_False(), ffi::Py_True()) };
        if flag != no && flag != yes {
            return None;
        }
        Some((u64::try_from(integer(pointer)?).ok()?, flag == yes))
    }
}

/// The length of what is exactly a tuple.
#[inline]
fn length(value: *mut ffi::PyObject) -> Option<ffi::Py_ssize_t> {
    // SAFETY: `value` is an object, as all values of a dictionary are; the length is asked of a tuple.
    unsafe { (ffi::Py_TYPE(value) == &raw mut ffi::PyTuple_Type).then(|| ffi::Py_SIZE(value)) }
}

/// What is exactly an int, and fits.
#[inline]
fn integer(value: *mut ffi::PyObject) -> Option<i64> {
    // SAFETY: `value` is an object, as all values of a dictionary and all items of a tuple are.
    if unsafe { ffi::Py_TYPE(value) } != &raw mut ffi::PyLong_Type {
        return None;
    }
    let mut overflow = 0;
    // SAFETY: `value` is an int, so the only failure is overflow, and that is reported apart.
    let number = unsafe { ffi::PyLong_AsLongLongAndOverflow(value, &mut overflow) };
    (overflow == 0).then_some(number)
}
