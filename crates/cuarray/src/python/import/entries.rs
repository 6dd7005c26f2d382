//! The walk over a dictionary: the keys of an interface, and the values found under them.
//!
//! The walk runs no Python code: a key is recognised by its address (literal keys are interned) or else by its text. With a global lock (GIL),
//! it therefore borrows the values from the dictionary. [`Entries::own`] takes references to them before the first Python code can run, since
//! that may change the dictionary. Without a global lock, another thread may change it at any time. So the walk holds the dictionary's critical
//! section, and takes a reference to each value there.

use crate::{Error, Result};
use pyo3::{
    ffi,
    prelude::*,
    sync::{PyOnceLock, critical_section::with_critical_section},
    types::{PyDict, PyInt, PyString},
};
use std::{
    ffi::CStr,
    sync::atomic::{AtomicU64, Ordering},
};

/// The entries of an interface, in the order in which [`Entries`] holds them. `event` is an extension of this library (clause X2).
pub(in crate::python) const KEYS: [&CStr; 9] =
    [c"shape", c"typestr", c"data", c"version", c"strides", c"stream", c"descr", c"mask", c"event"];

pub(in crate::python) const SHAPE: usize = 0;
pub(in crate::python) const TYPESTR: usize = 1;
pub(in crate::python) const DATA: usize = 2;
pub(in crate::python) const VERSION: usize = 3;
pub(in crate::python) const STRIDES: usize = 4;
const FIRST_OPTIONAL: usize = STRIDES;
pub(in crate::python) const STREAM: usize = 5;
pub(in crate::python) const DESCR: usize = 6;
pub(in crate::python) const MASK: usize = 7;
pub(in crate::python) const EVENT: usize = 8;

/// Python objects that exist once in the interpreter, so that their address identifies them.
pub(in crate::python) struct Interned {
    /// [`KEYS`] as the interned strings that literals are.
    pub(in crate::python) keys: [Py<PyString>; KEYS.len()],
    /// The small int 3, which is the version of nearly all interfaces.
    pub(in crate::python) three: Py<PyInt>,
}

impl Interned {
    #[inline]
    pub(in crate::python) fn get(py: Python<'_>) -> &Interned {
        static INTERNED: PyOnceLock<Interned> = PyOnceLock::new();
        INTERNED.get_or_init(py, || Interned {
            keys: KEYS.map(|key| PyString::intern(py, &key.to_string_lossy()).unbind()),
            three: PyInt::new(py, 3).unbind(),
        })
    }
}

/// The values under [`KEYS`]. With a global lock they are borrowed from the dictionary, and valid until Python code runs.
pub(in crate::python) struct Entries<'a, 'py> {
    #[cfg(not(Py_GIL_DISABLED))]
    values: [Option<Borrowed<'a, 'py, PyAny>>; KEYS.len()],
    #[cfg(Py_GIL_DISABLED)]
    values: [Option<Bound<'py, PyAny>>; KEYS.len()],
    #[cfg(Py_GIL_DISABLED)]
    dict: std::marker::PhantomData<&'a ()>,
}

impl<'a, 'py> Entries<'a, 'py> {
    /// Walks the dictionary once. Unknown keys are ignored.
    #[inline]
    pub(in crate::python) fn read(dict: &'a Bound<'py, PyDict>) -> Entries<'a, 'py> {
        /// The key order of the last dictionary, one index per byte. The next dictionary often comes from the same library.
        static ORDER: AtomicU64 = AtomicU64::new(u64::from_le_bytes([0, 1, 2, 3, 4, 5, 6, 7]));
        let py = dict.py();
        let interned = &Interned::get(py).keys;
        let mut values = [const { None }; KEYS.len()];
        let expected = ORDER.load(Ordering::Relaxed);
        let (mut order, mut turn) = (expected, 0);
        let (mut position, mut key, mut value) = (0, std::ptr::null_mut(), std::ptr::null_mut());
        // Without a global lock, other threads change the dictionary in its critical section only. Nothing in the loop waits, which would
        // suspend the section. With a global lock this is a call of the closure.
        with_critical_section(dict.as_any(), || {
            // The length saves the call that would report the end.
            for _ in 0..dict.len() {
                // SAFETY: `dict` is a dictionary and stays one while this thread holds it; nothing in the loop runs Python code, and the
                // lock keeps other threads out, so it does not change under the walk.
                if unsafe { ffi::PyDict_Next(dict.as_ptr(), &mut position, &mut key, &mut value) } == 0 {
                    break;
                }
                let mut index = usize::from((order >> turn) as u8) % KEYS.len();
                if interned[index].as_ptr() != key {
                    let found = interned.iter().position(|name| name.as_ptr() == key).or_else(|| {
                        // SAFETY: `key` is borrowed from the dictionary, which does not change during the walk.
                        unsafe { index_of_text(key) }
                    });
                    let Some(found) = found else { continue };
                    index = found;
                    order = order & !(0xff << turn) | (index as u64) << turn;
                }
                // Keys beyond the eighth share a byte of the guess, which is then wrong and costs a search.
                turn = (turn + 8) % u64::BITS;
                // SAFETY: the dictionary owns `value`, and does not change before the end of the walk.
                let value = unsafe { Borrowed::from_ptr(py, value) };
                #[cfg(Py_GIL_DISABLED)]
                let value = value.to_owned();
                values[index] = Some(value);
            }
        });
        if order != expected {
            ORDER.store(order, Ordering::Relaxed);
        }
        Entries {
            values,
            #[cfg(Py_GIL_DISABLED)]
            dict: std::marker::PhantomData,
        }
    }

    /// The value under a key, `None` where the key is missing.
    #[inline]
    pub(in crate::python) fn get(&self, index: usize) -> Option<Borrowed<'_, 'py, PyAny>> {
        #[cfg(not(Py_GIL_DISABLED))]
        return self.values[index];
        #[cfg(Py_GIL_DISABLED)]
        return self.values[index].as_ref().map(Bound::as_borrowed);
    }

    /// Whether a key is present with a value other than `None`.
    #[inline]
    pub(in crate::python) fn has(&self, index: usize) -> bool {
        self.get(index).is_some_and(|value| !value.is_none())
    }

    /// Takes a reference to each value.
    #[cold]
    pub(in crate::python) fn own(&self) -> OwnedEntries<'py> {
        OwnedEntries { values: std::array::from_fn(|index| self.get(index).map(Borrowed::to_owned)) }
    }
}

/// The values under [`KEYS`], with a reference to each: Python code may run while they are read.
pub(in crate::python) struct OwnedEntries<'py> {
    values: [Option<Bound<'py, PyAny>>; KEYS.len()],
}

impl<'py> OwnedEntries<'py> {
    /// The value under an optional key, `None` where the key is missing or its value is `None`.
    #[inline]
    pub(super) fn optional(&self, index: usize) -> Option<&Bound<'py, PyAny>> {
        debug_assert!(index >= FIRST_OPTIONAL);
        self.values[index].as_ref().filter(|value| !value.is_none())
    }

    /// The value under a key that every interface has.
    ///
    /// # Errors
    /// The key is missing.
    #[inline]
    pub(super) fn required(&self, index: usize, expected: &str) -> Result<&Bound<'py, PyAny>> {
        self.values[index].as_ref().ok_or_else(|| missing(index, expected))
    }
}

#[cold]
fn missing(index: usize, expected: &str) -> Error {
    Error::entry(KEYS[index].to_string_lossy(), format!("the key is missing; {expected} is expected"))
}

/// The index in [`KEYS`] of a key whose string is not interned.
///
/// # Safety
/// `key` is an object, and the GIL is held.
#[cold]
unsafe fn index_of_text(key: *mut ffi::PyObject) -> Option<usize> {
    // SAFETY: `key` is an object.
    if unsafe { ffi::PyUnicode_Check(key) } == 0 {
        return None;
    }
    // SAFETY: `key` is a str, and each name is a nul-terminated ASCII string.
    KEYS.iter().position(|name| unsafe { ffi::PyUnicode_CompareWithASCIIString(key, name.as_ptr()) } == 0)
}
