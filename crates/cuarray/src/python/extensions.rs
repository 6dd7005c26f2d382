//! Arrays that extension modules return: all of one class, the package's `DeviceArray` if it is installed.
//!
//! An extension passes three values to return an array: its dictionary, whose stream orders all pending work; the
//! object that keeps its memory alive; and its home stream, as an object with `__cuda_stream__`. The module that
//! makes the array records later work, and keeps that object alive until the work is done.

use crate::python::{
    array::{PyDeviceArray, dictionary},
    config,
    ffi::{error::ERROR_CLASS, shared::Shared},
    import::{self, Reading},
    memory::{
        owner::PyMemory,
        reach::context_of,
        runtime::{self, EVENT_POOLS},
        stream::{self, PyStream},
    },
    values::dtype::Element,
};
use crate::{
    DeviceArray, Dimension, Error, Owner, RawDeviceArray, Result, StreamEntry, array::held::Held, sync::Access,
};
use pyo3::{ffi, panic::PanicException, prelude::*, types::PyDict};
use std::panic::catch_unwind;

/// The table with the function that makes arrays. The thread must be attached.
#[repr(C)]
struct NewArray {
    /// Makes a `DeviceArray` over the memory that the dictionary `interface` describes and `owner` keeps, with the home stream
    /// `stream`, an object with `__cuda_stream__` or `None`. Returns a new reference, or null with an exception.
    new_array: unsafe extern "C" fn(
        interface: *mut ffi::PyObject,
        owner: *mut ffi::PyObject,
        stream: *mut ffi::PyObject,
    ) -> *mut ffi::PyObject,
}

/// The function that all modules use.
static NEW_ARRAY: Shared<NewArray> = Shared::new(c"cuarray.new_array.v1", &NewArray { new_array });

/// Publishes this module's tables if no module has done so, and adds its functions to the lists of all modules.
pub(in crate::python) fn join(py: Python<'_>) -> PyResult<()> {
    ERROR_CLASS.publish(py)?;
    EVENT_POOLS.publish(py)?;
    NEW_ARRAY.publish(py)?;
    runtime::join(py)?;
    config::join(py)
}

impl<'py, T, D: Dimension> IntoPyObject<'py> for DeviceArray<T, D> {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = Error;

    fn into_pyobject(self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        self.into_raw().into_pyobject(py)
    }
}

impl<'py> IntoPyObject<'py> for RawDeviceArray {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = Error;

    fn into_pyobject(self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        let Some(table) = NEW_ARRAY.of_another(py)? else {
            return Ok(Bound::new(py, PyDeviceArray::returned(py, &self)?)?.into_any());
        };
        let access = if self.interface().is_read_only() { Access::Read } else { Access::Write };
        let state = self.sync_state();
        let ready = py.detach(|| state.map_or(Ok(None), |state| state.export(access)))?;
        let entry =
            ready.as_ref().map_or(Ok(StreamEntry::None), |ready| StreamEntry::try_from(ready.handle() as i128))?;
        let interface = self.interface().clone().with_stream(entry);
        let dict = dictionary::complete(py, &interface)?;
        let owner = Bound::new(py, PyMemory::holding(self.held().clone()))?;
        let stream = ready.map(|ready| Bound::new(py, PyStream::new(ready, None))).transpose()?;
        let stream = stream.map_or_else(|| py.None().into_bound(py), Bound::into_any);
        // SAFETY: this thread is attached; the function has the signature of this version.
        let array = unsafe { (table.new_array)(dict.as_ptr(), owner.as_ptr(), stream.as_ptr()) };
        // SAFETY: a new reference, or null with an exception.
        Ok(unsafe { Bound::from_owned_ptr_or_err(py, array) }?)
    }
}

/// [`NewArray::new_array`] of this module.
///
/// # Safety
/// The thread is attached, and the arguments are objects.
unsafe extern "C" fn new_array(
    interface: *mut ffi::PyObject,
    owner: *mut ffi::PyObject,
    stream: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    let called = catch_unwind(|| {
        Python::attach(|py| {
            // SAFETY: this function's contract; the caller keeps the objects during the call.
            let [interface, owner, stream] =
                [interface, owner, stream].map(|object| unsafe { Bound::from_borrowed_ptr(py, object) });
            match adopt(&interface, owner, &stream) {
                Ok(array) => array.into_ptr(),
                Err(error) => {
                    PyErr::from(error).restore(py);
                    std::ptr::null_mut()
                }
            }
        })
    });
    called.unwrap_or_else(|_| {
        Python::attach(|py| PanicException::new_err(("making a DeviceArray panicked",)).restore(py));
        std::ptr::null_mut()
    })
}

/// Creates the array that another extension returns.
fn adopt<'py>(
    interface: &Bound<'py, PyAny>,
    owner: Bound<'py, PyAny>,
    stream: &Bound<'py, PyAny>,
) -> Result<Bound<'py, PyDeviceArray>> {
    let py = interface.py();
    let dict = interface.cast::<PyDict>().map_err(PyErr::from)?;
    // The name of a type without a letter in the interface is in a separate entry.
    let named = dict.get_item(dictionary::NAMED)?;
    let element = named.map(|named| Element::of(py, Some(&named))).transpose()?;
    let interface = import::interface(dict, &mut Reading::new(true).with_element(element))?;
    let stream = if stream.is_none() { None } else { Some(stream::object(stream)?.unbind()) };
    let context = match &stream {
        Some(stream) => stream.get().stream.work_context()?,
        None => context_of(interface.data())?,
    };
    let held = Held::owner(&context, interface.byte_range(), Owner::from_python(owner.unbind()));
    let memory = Py::new(py, PyMemory::holding(held))?;
    Ok(Bound::new(py, PyDeviceArray::over(*interface, memory, stream))?)
}
