//! The walk over a dictionary: which keys an interface has, and what stands under them.

use crate::{Error, Result};
use pyo3::{
    ffi,
    prelude::*,
    sync::PyOnceLock,
    types::{PyDict, PyInt, PyString},
};
use std::ffi::CStr;

/// The entries of an interface, in the order in which [`Entries`] holds them.
pub(in crate::python) const KEYS: [&CStr; 8] =
    [c"shape", c"typestr", c"data", c"version", c"strides", c"stream", c"descr", c"mask"];

pub(in crate::python) const SHAPE: usize = 0;
pub(in crate::python) const TYPESTR: usize = 1;
pub(in crate::python) const DATA: usize = 2;
pub(in crate::python) const VERSION: usize = 3;
pub(in crate::python) const STRIDES: usize = 4;
const FIRST_OPTIONAL: usize = STRIDES;
pub(in crate::python) const STREAM: usize = 5;
pub(in crate::python) const DESCR: usize = 6;
pub(in crate::python) const MASK: usize = 7;

/// Objects of which Python has one each, so that they are recognised by their address.
pub(in crate::python) struct Known {
    /// [`KEYS`] as the interned strings that literals are.
    pub(in crate::python) keys: [Py<PyString>; KEYS.len()],
    /// The small int 3, which is the version of nearly all interfaces.
    pub(in crate::python) three: Py<PyInt>,
}

impl Known {
    #[inline]
    pub(in crate::python) fn get(py: Python<'_>) -> &Known {
        static KNOWN: PyOnceLock<Known> = PyOnceLock::new();
        KNOWN.get_or_init(py, || Known {
            keys: KEYS.map(|key| PyString::intern(py, &key.to_string_lossy()).unbind()),
            three: PyInt::new(py, 3).unbind(),
        })
    }
}

/// The values found under [`KEYS`].
#[derive(Default)]
pub(super) struct Entries<'py> {
    values: [Option<Bound<'py, PyAny>>; KEYS.len()],
}

impl<'py> Entries<'py> {
    /// Adds the entries of `dict`, in place: to copy what was just written, piece by piece, would wait for the writes.
    #[inline]
    pub(super) fn read(&mut self, dict: &Bound<'py, PyDict>) {
        let py = dict.py();
        let interned = &Known::get(py).keys;
        let (mut position, mut key, mut value) = (0, std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: `dict` is a dictionary and stays one while we hold it; nothing in the loop runs Python code, so it does
        // not change under the walk.
        while unsafe { ffi::PyDict_Next(dict.as_ptr(), &mut position, &mut key, &mut value) } != 0 {
            let index = interned.iter().position(|known| known.as_ptr() == key).or_else(|| {
                // SAFETY: `key` is borrowed from the dictionary, which holds it for the length of this turn.
                unsafe { index_of_text(key) }
            });
            if let Some(index) = index {
                // SAFETY: `value` is borrowed from the dictionary, which holds it for the length of this turn.
                let value = unsafe { Borrowed::from_ptr(py, value) };
                let absent = index >= FIRST_OPTIONAL && value.is_none();
                self.values[index] = (!absent).then(|| value.to_owned());
            }
        }
    }

    /// What stands under an optional key, `None` where it is absent or `None`.
    #[inline]
    pub(super) fn optional(&self, index: usize) -> Option<&Bound<'py, PyAny>> {
        self.values[index].as_ref()
    }

    #[inline]
    pub(super) fn required(&self, index: usize, expected: &str) -> Result<&Bound<'py, PyAny>> {
        self.values[index].as_ref().ok_or_else(|| missing(index, expected))
    }
}

#[cold]
fn missing(index: usize, expected: &str) -> Error {
    Error::entry(KEYS[index].to_string_lossy(), format!("the key is missing; {expected} is expected"))
}

/// The index in [`KEYS`] of a key that is none of the interned strings.
///
/// # Safety
/// `key` is an object, and the GIL is held.
#[cold]
unsafe fn index_of_text(key: *mut ffi::PyObject) -> Option<usize> {
    // SAFETY: `key` is an object.
    if unsafe { ffi::PyUnicode_Check(key) } == 0 {
        return None;
    }
    // SAFETY: `key` is a str, and each name is an ASCII string that ends in nul.
    KEYS.iter().position(|name| unsafe { ffi::PyUnicode_CompareWithASCIIString(key, name.as_ptr()) } == 0)
}
