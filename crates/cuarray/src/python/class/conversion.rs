//! Other forms of an array: `__array__`, `filled` and `repr`.

use crate::{
    Error, Result,
    protocol::layout::Tuple,
    python::{
        array::{PyDeviceArray, copies, create},
        values::host::HostArray,
    },
};
use pyo3::{intern, prelude::*};

/// A copy of the elements as a NumPy array, of the type `dtype` if it is given.
///
/// # Errors
/// An argument error for `copy=False`. [`Error::is_unsupported`]: the array has a mask.
pub(in crate::python) fn numpy_array<'py>(
    array: &PyDeviceArray,
    py: Python<'py>,
    dtype: Option<&Bound<'py, PyAny>>,
    copy: Option<bool>,
) -> Result<Bound<'py, PyAny>> {
    if copy == Some(false) {
        return Err(Error::argument("a device array cannot become a NumPy array without a copy"));
    }
    if array.mask().is_some() {
        return Err(Error::unsupported(
            "NumPy would drop the mask of the array; copy_to_host() gives a numpy.ma.MaskedArray, and `filled()` an \
             array without a mask",
        ));
    }
    let host = array.copy_to_host(py, None, None)?;
    match dtype {
        Some(dtype) => Ok(host.call_method1(intern!(py, "astype"), (dtype,))?),
        None => Ok(host),
    }
}

/// A new array with `value` in place of the elements that are not valid, copied through the host.
pub(in crate::python) fn filled<'py>(
    array: &PyDeviceArray,
    py: Python<'py>,
    value: Option<&Bound<'py, PyAny>>,
    stream: Option<&Bound<'py, PyAny>>,
) -> Result<Bound<'py, PyDeviceArray>> {
    if copies::captures(py, stream)? {
        return Err(Error::unsupported(
            "cannot fill an array in a stream that is capturing, because its values go through the host; call `filled` \
             before the capture",
        ));
    }
    let mut host = array.copy_to_host(py, None, None)?;
    if array.mask().is_some() {
        host = host.call_method1(intern!(py, "filled"), (value,))?;
    }
    create::copy_of(HostArray::of(&host, None)?, stream, array.device()?)
}

/// The text of `repr`. It has no address if the array was borrowed and the borrow has ended.
pub(in crate::python) fn repr(array: &PyDeviceArray) -> String {
    let layout = array.interface().layout();
    let mut text =
        format!("DeviceArray(shape={}, typestr='{}'", Tuple(layout.shape()), array.interface().typestr().label());
    if !layout.is_c_contiguous() {
        text += &format!(", strides={}", Tuple(layout.strides()));
    }
    if array.interface().is_read_only() {
        text += ", readonly=True";
    }
    if let Some(handle) = array.interface().stream().handle() {
        text += &format!(", stream={handle:#x}");
    }
    if array.mask().is_some() {
        text += ", masked";
    }
    match array.check_borrow() {
        Ok(()) => text + &format!(", ptr={:#x})", array.interface().data()),
        Err(_) => text + ", borrow ended)",
    }
}
