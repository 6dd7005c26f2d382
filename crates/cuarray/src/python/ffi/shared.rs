//! Shared parts of the extension modules in a process.
//!
//! Each extension module contains this crate, and so its own class `DeviceArray`, its own exception `CudaError` and its own driver.
//! That works, because modules exchange arrays through the interface. But users would see several classes of one name, and an
//! `except` would miss errors. So the first module that needs such a part publishes a table of C functions, and later modules use
//! that table. The package `cuarray` is imported before, if possible. If it is installed, all modules return its
//! `cuarray.DeviceArray` and raise its `cuarray.CudaError`.
//!
//! A table is a capsule in the interpreter's own dictionary (`PyInterpreterState_GetDict`), under a key that contains the table's
//! version. The layout of a table never changes under one key. It contains only types that are stable between builds with different
//! compilers and versions of this crate: C functions, the driver's handles, Python objects, and the interface's dictionary. Rust
//! types do not cross. An extension of another version finds no table under its key, and uses or publishes its own. Then the modules
//! share nothing, and still work.
//!
//! Other functions belong to every module, such as the release of its own deferred memory. Each module adds a tuple of them to a
//! list in that dictionary, so that one call of the user reaches all modules.

use pyo3::{
    ffi, intern,
    prelude::*,
    sync::PyOnceLock,
    types::{PyCapsule, PyDict, PyList, PyTuple},
};
use std::{ffi::CStr, ptr::NonNull};

/// The interpreter's own dictionary.
fn interpreter_dict(py: Python<'_>) -> Option<Bound<'_, PyDict>> {
    // SAFETY: this thread is attached, so there is an interpreter.
    let dict = unsafe { ffi::PyInterpreterState_GetDict(ffi::PyInterpreterState_Get()) };
    // SAFETY: a borrowed reference, or null if the interpreter cannot make the dictionary.
    unsafe { Bound::from_borrowed_ptr_or_opt(py, dict) }?.cast_into::<PyDict>().ok()
}

/// The value under a key: the value of the first module that sets one. Other modules may be imported at the same time.
fn set_default<'py>(
    dict: &Bound<'py, PyDict>,
    key: &str,
    value: impl IntoPyObject<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    dict.call_method1(intern!(dict.py(), "setdefault"), (key, value))
}

/// A table of C functions that all modules of the process use: the table of the first module that published one.
pub(in crate::python) struct Shared<T: Sync + 'static> {
    /// The key of the table in the interpreter's dictionary, and the name of its capsule.
    key: &'static CStr,
    own: &'static T,
    found: PyOnceLock<Published<T>>,
}

/// A pointer to a module's table, which lives as long as the process.
struct Published<T>(NonNull<T>);

// SAFETY: a table is never written, and its functions are called attached.
unsafe impl<T: Sync> Send for Published<T> {}
// SAFETY: a table is never written, and its functions are called attached.
unsafe impl<T: Sync> Sync for Published<T> {}

impl<T: Sync + 'static> Shared<T> {
    /// A table with the layout that belongs to `key`; `own` is the table of this module.
    pub(in crate::python) const fn new(key: &'static CStr, own: &'static T) -> Shared<T> {
        Shared { key, own, found: PyOnceLock::new() }
    }

    /// Publishes this module's table if there is none.
    pub(in crate::python) fn publish(&self, py: Python<'_>) -> PyResult<()> {
        self.published(py).map(|_| ())
    }

    /// The table in use: the published one, or this module's, which is then published.
    fn published(&self, py: Python<'_>) -> PyResult<NonNull<T>> {
        let own = NonNull::from(self.own);
        let Some(dict) = interpreter_dict(py) else { return Ok(own) };
        // SAFETY: the table is static, and this module is never unloaded.
        let capsule = unsafe { PyCapsule::new_with_pointer(py, own.cast(), self.key) }?;
        let first = set_default(&dict, &self.key.to_string_lossy(), capsule)?.cast_into::<PyCapsule>()?;
        Ok(first.pointer_checked(Some(self.key))?.cast())
    }

    /// The table in use. Imports the package first, so that its table is the first.
    pub(in crate::python) fn get(&self, py: Python<'_>) -> PyResult<&T> {
        let find = || {
            // Without the package, or if its version cannot be imported, users know no such class.
            let _ = py.import(intern!(py, "cuarray"));
            self.published(py).map(Published)
        };
        let table = self.found.get_or_try_init(py, find)?.0;
        // SAFETY: a table lives as long as the process and is never written. Its layout is the one of its key.
        Ok(unsafe { table.as_ref() })
    }

    /// The table in use, unless it is this module's.
    pub(in crate::python) fn of_another(&self, py: Python<'_>) -> PyResult<Option<&T>> {
        let table = self.get(py)?;
        Ok((!std::ptr::eq(table, self.own)).then_some(table))
    }
}

/// A list with one tuple of Python functions for each module of the process.
pub(in crate::python) struct Joined {
    /// The key of the list in the interpreter's dictionary.
    key: &'static str,
    /// This module's functions.
    own: PyOnceLock<Py<PyTuple>>,
}

impl Joined {
    pub(in crate::python) const fn new(key: &'static str) -> Joined {
        Joined { key, own: PyOnceLock::new() }
    }

    /// Adds this module's functions to the list, once.
    pub(in crate::python) fn join<'py>(
        &self,
        py: Python<'py>,
        functions: impl FnOnce() -> PyResult<Bound<'py, PyTuple>>,
    ) -> PyResult<()> {
        let Some(dict) = interpreter_dict(py) else { return Ok(()) };
        self.own.get_or_try_init(py, || {
            let functions = functions()?;
            set_default(&dict, self.key, PyList::empty(py))?.cast_into::<PyList>()?.append(&functions)?;
            PyResult::Ok(functions.unbind())
        })?;
        Ok(())
    }

    /// The functions of the other modules.
    pub(in crate::python) fn others<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        let list = match interpreter_dict(py) {
            Some(dict) => dict.get_item(self.key)?,
            None => None,
        };
        let Some(list) = list else { return Ok(Vec::new()) };
        let own = self.own.get(py);
        let all = list.cast_into::<PyList>()?.iter().map(|functions| functions.cast_into::<PyTuple>());
        let others =
            all.filter(|functions| !matches!((functions, own), (Ok(functions), Some(own)) if functions.is(own)));
        Ok(others.collect::<Result<_, _>>()?)
    }
}
