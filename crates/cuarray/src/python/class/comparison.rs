//! `==`, `hash`, truth, `float` and `pickle` of arrays.
//!
//! Python's default results would be misleading: `a == 3` would be `False`, and `if a:` would test the length. So
//! each method returns NumPy's result if the host can compute it. Otherwise it raises an error that says what to do.

use crate::python::array::PyDeviceArray;
use crate::{Error, Result, protocol::layout::Tuple};
use pyo3::{
    exceptions::PyTypeError,
    intern,
    prelude::*,
    types::{PyBool, PyComplex, PyFloat, PyInt, PyList, PyNotImplemented, PyTuple, PyType},
};

/// `array == other` and `!=`. Elements are not compared. The result is `NotImplemented`, so that Python asks `other`, for
/// example a NumPy array. If `other` does not compare either, the two are unequal.
///
/// # Errors
/// A TypeError if `other` is a `DeviceArray`, a number, a list or a tuple.
pub(in crate::python) fn compared<'py>(other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let is_number = other.is_exact_instance_of::<PyInt>()
        || other.is_exact_instance_of::<PyFloat>()
        || other.is_exact_instance_of::<PyBool>()
        || other.is_exact_instance_of::<PyComplex>();
    let has_elements = other.is_instance_of::<PyDeviceArray>()
        || other.is_instance_of::<PyList>()
        || other.is_instance_of::<PyTuple>();
    if is_number || has_elements {
        return Err(PyTypeError::new_err(
            "comparing elements needs a kernel, and cuarray launches none: compare copy_to_host(), or use a library with kernels \
             on the array; `is` compares identity",
        ));
    }
    Ok(PyNotImplemented::get(other.py()).to_owned().into_any())
}

/// The hash of the object's identity, because the elements may change.
pub(in crate::python) fn hash(array: &Bound<'_, PyDeviceArray>) -> isize {
    // The lowest 4 bits of an object's address are 0, so they are rotated to the top.
    array.as_ptr().addr().rotate_right(4).cast_signed()
}

/// `bool(array)`: the truth of the only element, which is copied to the host, as in NumPy.
///
/// # Errors
/// An argument error if the array does not have exactly one element.
pub(in crate::python) fn truth(array: &PyDeviceArray, py: Python<'_>) -> Result<bool> {
    let layout = array.interface().layout();
    if layout.len() != 1 {
        return Err(Error::argument(format!(
            "an array of shape {} has no truth value; use its `size`, or any() or all() of copy_to_host()",
            Tuple(layout.shape())
        )));
    }
    Ok(scalar(array, py)?.is_truthy()?)
}

/// Converts a 0-d array to `kind`, which is `float`, `int` or `complex`: copies its element to the host. NumPy calls this
/// for a 0-d array in a list.
///
/// # Errors
/// A TypeError for an array with axes, as in NumPy.
pub(in crate::python) fn number<'py>(array: &PyDeviceArray, kind: Bound<'py, PyType>) -> Result<Bound<'py, PyAny>> {
    let layout = array.interface().layout();
    if layout.ndim() != 0 {
        let why = format!(
            "an array of shape {} cannot become a number; select one element by its indices",
            Tuple(layout.shape())
        );
        return Err(PyTypeError::new_err(why).into());
    }
    Ok(kind.call1((scalar(array, kind.py())?,))?)
}

/// The only element as a NumPy scalar; `numpy.ma.masked`, which is false, if the element is not valid.
fn scalar<'py>(array: &PyDeviceArray, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
    let none = PyTuple::empty(py);
    Ok(array.copy_to_host(py, None, None)?.call_method1(intern!(py, "reshape"), (&none,))?.get_item(&none)?)
}

/// The error for `pickle` and `copy`.
#[cold]
pub(in crate::python) fn not_pickled() -> PyErr {
    PyTypeError::new_err(
        "a DeviceArray cannot be pickled, or copied by the module `copy`: use cuarray.to_device(a) for a copy, get_ipc_handle() for \
         other processes of this machine, and copy_to_host() for processes elsewhere",
    )
}
