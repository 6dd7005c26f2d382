//! Functions with Python's fast calling convention (`METH_FASTCALL | METH_KEYWORDS`).
//!
//! Argument handling dominates the cost of a short call. Functions that every exchange calls read their parameters in
//! place, recognise a keyword by its address, and parse options only if there are any.
//!
//! PyO3 does not count the thread of such a call as attached, because the counter alone costs as much as reading a small
//! structure. So code that drops a [`Py`], whose release would be delayed, must run inside [`Python::attach`]. A
//! [`Bound`] is released at once.

use crate::Result;
use pyo3::{
    exceptions::PyTypeError,
    ffi,
    panic::PanicException,
    prelude::*,
    types::{PyCFunction, PyString},
};
use std::{
    ffi::CStr,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
};

/// A module function that creates an object, such as an array.
pub(in crate::python) trait Function {
    /// The class of the result.
    type Object;
    const NAME: &'static CStr;
    /// The signature for Python's `inspect`, and the documentation.
    const DOC: &'static CStr;

    /// Calls the function.
    ///
    /// # Errors
    /// As the Python function.
    fn call<'py>(arguments: &Arguments<'py>) -> Result<Bound<'py, Self::Object>>;
}

/// The function as an object of the module.
pub(in crate::python) fn function<'py, F: Function>(
    module: &Bound<'py, PyModule>,
) -> PyResult<Bound<'py, PyCFunction>> {
    // Python keeps a pointer to the definition, so it is never freed.
    let definition = Box::leak(Box::new(ffi::PyMethodDef {
        ml_name: F::NAME.as_ptr(),
        ml_meth: ffi::PyMethodDefPointer { PyCFunctionFastWithKeywords: entrance::<F> },
        ml_flags: ffi::METH_FASTCALL | ffi::METH_KEYWORDS,
        ml_doc: F::DOC.as_ptr(),
    }));
    let name = module.name()?;
    // SAFETY: the definition is leaked, and its function has the signature of its flags. The result is an owned function, or
    // null with an error set.
    unsafe {
        let function = ffi::PyCFunction_NewEx(definition, std::ptr::null_mut(), name.as_ptr());
        Ok(Bound::from_owned_ptr_or_err(module.py(), function)?.cast_into_unchecked())
    }
}

/// The C function that Python calls.
///
/// # Safety
/// Called by Python with its fast convention: the thread is attached. `args` holds `positional` objects, and then one object for each name
/// in the tuple `names`, which may be null.
unsafe extern "C" fn entrance<F: Function>(
    _: *mut ffi::PyObject,
    args: *const *mut ffi::PyObject,
    positional: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: Python calls functions attached, and the thread stays attached until this one returns.
    let py = unsafe { Python::assume_attached() };
    let arguments = Arguments { py, function: F::NAME, args, positional: positional as usize, names };
    let called = catch_unwind(AssertUnwindSafe(|| Ok(F::call(&arguments)?.into_ptr())));
    let outcome = called.unwrap_or_else(|_| Err(arguments.panicked()));
    outcome.unwrap_or_else(|error: PyErr| {
        error.restore(py);
        std::ptr::null_mut()
    })
}

/// The arguments of a call, as [`entrance`] receives them.
pub(in crate::python) struct Arguments<'py> {
    py: Python<'py>,
    function: &'static CStr,
    args: *const *mut ffi::PyObject,
    positional: usize,
    names: *mut ffi::PyObject,
}

impl<'py> Arguments<'py> {
    /// The positional arguments, at most `N`.
    ///
    /// # Errors
    /// TypeError: there are more.
    #[inline]
    pub(in crate::python) fn positional<const N: usize>(&self) -> PyResult<[Option<Borrowed<'_, 'py, PyAny>>; N]> {
        if self.positional > N {
            let (count, plural) = (self.positional, if N == 1 { "" } else { "s" });
            return Err(
                self.refused(format_args!("takes at most {N} positional argument{plural}, but {count} were given"))
            );
        }
        Ok(std::array::from_fn(|index| (index < self.positional).then(|| self.argument(index))))
    }

    /// The keyword arguments, by name.
    #[inline]
    pub(in crate::python) fn named(
        &self,
    ) -> impl Iterator<Item = (Borrowed<'_, 'py, PyAny>, Borrowed<'_, 'py, PyAny>)> {
        // SAFETY: `names` is null or a tuple.
        let count = if self.names.is_null() { 0 } else { unsafe { ffi::Py_SIZE(self.names) } };
        (0..count).map(|index| {
            // SAFETY: the tuple has more than `index` items, and the caller holds it.
            let name = unsafe { Borrowed::from_ptr(self.py, ffi::PyTuple_GetItem(self.names, index)) };
            (name, self.argument(self.positional + index as usize))
        })
    }

    #[inline]
    fn argument(&self, index: usize) -> Borrowed<'_, 'py, PyAny> {
        // SAFETY: `index` is below the number of arguments, which the caller of the function holds.
        unsafe { Borrowed::from_ptr(self.py, *self.args.add(index)) }
    }

    /// The TypeError for wrong arguments.
    #[cold]
    pub(in crate::python) fn refused(&self, why: fmt::Arguments<'_>) -> PyErr {
        PyTypeError::new_err(format!("{}() {why}", self.function.to_string_lossy()))
    }

    #[cold]
    fn panicked(&self) -> PyErr {
        PanicException::new_err((format!("{}() panicked", self.function.to_string_lossy()),))
    }
}

/// Whether `name` equals `expected`. Nearly always, both are the same string object.
#[inline]
pub(in crate::python) fn is(name: &Bound<'_, PyAny>, expected: &Bound<'_, PyString>) -> bool {
    name.is(expected) || name.eq(expected).unwrap_or(false)
}
