//! Method calls with keyword arguments that build no dictionary. Building one takes longer than most of the called
//! methods run.
//!
//! `PyObject_VectorcallMethod` exists since Python 3.9, and in the stable ABI since 3.12. One wheel serves 3.11 too, so the function is looked up
//! on first use. Its signature is the same everywhere.

use crate::interpreter::find;
use pyo3::{
    ffi,
    prelude::*,
    types::{PyDict, PyString, PyTuple},
};
use std::{ffi::c_void, sync::OnceLock};

type VectorcallMethod = unsafe extern "C" fn(
    name: *mut ffi::PyObject,
    args: *const *mut ffi::PyObject,
    nargsf: usize,
    kwnames: *mut ffi::PyObject,
) -> *mut ffi::PyObject;

/// The interpreter's `PyObject_VectorcallMethod`, if it exports this function.
fn vectorcall_method() -> Option<VectorcallMethod> {
    static FOUND: OnceLock<Option<VectorcallMethod>> = OnceLock::new();
    *FOUND.get_or_init(|| {
        // SAFETY: the interpreter documents this type for the function of that name.
        find(c"PyObject_VectorcallMethod")
            .map(|found| unsafe { std::mem::transmute::<*mut c_void, VectorcallMethod>(found) })
    })
}

/// Calls `object.name(**keywords)`. `values` are the values of `keywords`, in their order.
///
/// # Errors
/// The attribute or the method raises.
pub(in crate::python) fn call_method<'py, const N: usize>(
    object: &Bound<'py, PyAny>,
    name: &Bound<'py, PyString>,
    keywords: &Bound<'py, PyTuple>,
    values: [&Bound<'py, PyAny>; N],
) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    if let Some(call) = vectorcall_method()
        && keywords.len() == N
    {
        const { assert!(N < 4) };
        let mut arguments = [object.as_ptr(); 4];
        for (argument, value) in arguments[1..].iter_mut().zip(values) {
            *argument = value.as_ptr();
        }
        // SAFETY: the arguments are one positional argument, the object, and one value for each keyword, all held by the caller. The
        // result is an owned object, or null with an error set.
        return unsafe {
            let result = call(name.as_ptr(), arguments.as_ptr(), 1, keywords.as_ptr());
            Bound::from_owned_ptr_or_err(py, result)
        };
    }
    let kwargs = PyDict::new(py);
    for (keyword, value) in keywords.iter().zip(values) {
        kwargs.set_item(keyword, value)?;
    }
    object.call_method(name, (), Some(&kwargs))
}
