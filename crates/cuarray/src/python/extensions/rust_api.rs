//! Shared parts of the extension modules in a process: one class of arrays, one class of errors, one pool of events.
//!
//! Each extension module contains this crate, and so its own class `DeviceArray`, its own exception `CudaError` and its own driver.
//! That works, because modules exchange arrays through the interface. But users would see several classes of one name, and an
//! `except` would miss errors. So the first module that needs it publishes a table of C functions, and later modules make their
//! arrays through that table. The package `cuarray` is imported before, if possible. If it is installed, all modules return its
//! `cuarray.DeviceArray` and raise its `cuarray.CudaError`.
//!
//! The table is a capsule in the interpreter's own dictionary (`PyInterpreterState_GetDict`), under a key that contains the table's
//! version ([`KEY`]). The layout of the table never changes under one key. It contains only types that are stable between builds
//! with different compilers and versions of this crate: C functions, the driver's handles, Python objects, and the interface's
//! dictionary. Rust types do not cross. An extension of another version finds no table under its key, and uses or publishes its own.
//! Then the modules share nothing, and still work.
//!
//! Three values cross when an array is returned: its dictionary, whose stream orders all pending work; the object that keeps its
//! memory; and its home stream, as an object with `__cuda_stream__`. The module that makes the array records later work, and keeps the
//! memory's object until that work is done.

use crate::python::{
    array::{PyDeviceArray, dictionary},
    extensions,
    import::{self, Reading},
    memory::{
        owner::PyMemory,
        runtime::{self, context_of},
        stream::{self, PyStream},
    },
    values::dtype::Element,
};
use crate::{
    DeviceArray, Dimension, Error, Owner, RawDeviceArray, Result, StreamEntry,
    array::raw::Held,
    driver::{Driver, SharedPools},
    python::ffi::error::CudaError,
    sync::Access,
};
use pyo3::{
    ffi, intern,
    panic::PanicException,
    prelude::*,
    sync::PyOnceLock,
    types::{PyCapsule, PyDict},
};
use std::{ffi::CStr, mem::MaybeUninit, panic::catch_unwind, ptr::NonNull, sync::OnceLock};

/// The key of the table in the interpreter's dictionary, and the name of its capsule.
const KEY: &CStr = c"cuarray.rust_api.v1";

/// Version 1 of the shared table. Its functions are called attached.
#[repr(C)]
#[derive(Clone, Copy)]
struct RustApi {
    /// The class of the driver's errors: a new reference, or null with an exception.
    cuda_error: unsafe extern "C" fn() -> *mut ffi::PyObject,
    /// Writes the event pools of the process's driver; returns 0 without a driver.
    event_pools: unsafe extern "C" fn(*mut SharedPools) -> i32,
    /// Makes a `DeviceArray` over the memory that the dictionary `interface` describes and `owner` keeps, with the home stream
    /// `stream`, an object with `__cuda_stream__` or `None`. Returns a new reference, or null with an exception.
    new_array: unsafe extern "C" fn(
        interface: *mut ffi::PyObject,
        owner: *mut ffi::PyObject,
        stream: *mut ffi::PyObject,
    ) -> *mut ffi::PyObject,
}

/// The table of this module.
static OWN: RustApi = RustApi { cuda_error, event_pools, new_array };

/// A pointer to a module's table, which lives as long as the process.
struct Published(NonNull<RustApi>);

// SAFETY: a table is never written, and its functions are called attached.
unsafe impl Send for Published {}
// SAFETY: as above.
unsafe impl Sync for Published {}

/// Publishes this module's table if there is none.
pub(in crate::python) fn publish(py: Python<'_>) -> PyResult<()> {
    published(py).map(|_| ())
}

/// The interpreter's own dictionary.
pub(in crate::python) fn interpreter_dict(py: Python<'_>) -> Option<Bound<'_, PyDict>> {
    // SAFETY: this thread is attached, so there is an interpreter.
    let dict = unsafe { ffi::PyInterpreterState_GetDict(ffi::PyInterpreterState_Get()) };
    // SAFETY: a borrowed reference, or null if the interpreter cannot make the dictionary.
    unsafe { Bound::from_borrowed_ptr_or_opt(py, dict) }?.cast_into::<PyDict>().ok()
}

/// The table in use: the published one, or this module's, which is then published.
fn published(py: Python<'_>) -> PyResult<NonNull<RustApi>> {
    let own = NonNull::from(&OWN);
    let Some(dict) = interpreter_dict(py) else { return Ok(own) };
    let key = KEY.to_string_lossy();
    if let Some(found) = dict.get_item(&*key)? {
        let capsule = found.cast_into::<PyCapsule>()?;
        return Ok(capsule.pointer_checked(Some(KEY))?.cast());
    }
    // SAFETY: the table is static, and this module is never unloaded.
    let capsule = unsafe { PyCapsule::new_with_pointer(py, own.cast(), KEY) }?;
    dict.set_item(&*key, capsule)?;
    Ok(own)
}

/// The table that makes this module's arrays. Imports the package first, so that its table is the first.
fn shared(py: Python<'_>) -> PyResult<NonNull<RustApi>> {
    static SHARED: PyOnceLock<Published> = PyOnceLock::new();
    let find = || {
        // Without the package, or if its version cannot be imported, there is no class that users know.
        let _ = py.import(intern!(py, "cuarray"));
        // An interpreter that is ending refuses exit functions; arrays are made all the same.
        let _ = runtime::reclaim_at_exit(py);
        extensions::join(py)?;
        published(py).map(Published)
    };
    Ok(SHARED.get_or_try_init(py, find)?.0)
}

/// The package's protocol of imports. From now on this module receives its changes.
pub(in crate::python) fn protocol_of_package(py: Python<'_>) -> PyResult<String> {
    shared(py)?;
    py.import(intern!(py, "cuarray"))?.getattr(intern!(py, "config"))?.getattr(intern!(py, "protocol"))?.extract()
}

/// The class of driver errors that users know.
pub(crate) fn cuda_error_class(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let table = shared(py)?;
    // SAFETY: a table lives as long as the process, and this thread is attached.
    unsafe { Bound::from_owned_ptr_or_err(py, (table.as_ref().cuda_error)()) }
}

/// Makes this module's driver use the events of the module that has published the table.
pub(in crate::python) fn share_events(py: Python<'_>, driver: &Driver) -> PyResult<()> {
    let table = shared(py)?;
    if table != NonNull::from(&OWN) {
        let mut pools = MaybeUninit::uninit();
        // SAFETY: a table lives as long as the process, and this thread is attached; `pools` has room for the result.
        if unsafe { (table.as_ref().event_pools)(pools.as_mut_ptr()) } != 0 {
            // SAFETY: the function has written the pools.
            driver.share_events(unsafe { pools.assume_init() });
        }
    }
    Ok(())
}

/// [`RustApi::cuda_error`] of this module.
///
/// # Safety
/// The thread is attached.
unsafe extern "C" fn cuda_error() -> *mut ffi::PyObject {
    // SAFETY: this function's contract.
    let py = unsafe { Python::assume_attached() };
    py.get_type::<CudaError>().into_any().into_ptr()
}

/// [`RustApi::event_pools`] of this module.
///
/// # Safety
/// `pools` may be written.
unsafe extern "C" fn event_pools(pools: *mut SharedPools) -> i32 {
    static POOLS: OnceLock<SharedPools> = OnceLock::new();
    let known = catch_unwind(|| {
        let driver = runtime::driver().ok()?;
        Some(*POOLS.get_or_init(|| driver.shared_pools()))
    });
    match known {
        Ok(Some(known)) => {
            // SAFETY: this function's contract.
            unsafe { pools.write(known) };
            1
        }
        _ => 0,
    }
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
        let table = shared(py)?;
        if table == NonNull::from(&OWN) {
            return Ok(Bound::new(py, PyDeviceArray::returned(py, &self)?)?.into_any());
        }
        let access = if self.interface().is_read_only() { Access::Read } else { Access::Write };
        let ordering = self.ordering();
        let ready = py.detach(|| ordering.map_or(Ok(None), |ordering| ordering.export(access)))?;
        let entry =
            ready.as_ref().map_or(Ok(StreamEntry::None), |ready| StreamEntry::try_from(ready.handle() as i128))?;
        let interface = self.interface().clone().with_stream(entry);
        let dict = dictionary::complete(py, &interface)?;
        let owner = Bound::new(py, PyMemory::holding(self.held().clone()))?;
        let stream = ready.map(|ready| Bound::new(py, PyStream::new(ready, None))).transpose()?;
        let stream = stream.map_or_else(|| py.None().into_bound(py), Bound::into_any);
        // SAFETY: a table lives as long as the process; the function has the signature of this version.
        let array = unsafe { (table.as_ref().new_array)(dict.as_ptr(), owner.as_ptr(), stream.as_ptr()) };
        // SAFETY: a new reference, or null with an exception.
        Ok(unsafe { Bound::from_owned_ptr_or_err(py, array) }?)
    }
}

/// [`RustApi::new_array`] of this module.
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

/// Makes the array that another extension returns.
fn adopt<'py>(
    interface: &Bound<'py, PyAny>,
    owner: Bound<'py, PyAny>,
    stream: &Bound<'py, PyAny>,
) -> Result<Bound<'py, PyDeviceArray>> {
    let py = interface.py();
    let dict = interface.cast::<PyDict>().map_err(PyErr::from)?;
    // The name of a type for which the interface has no letter is in an entry of its own.
    let named = dict.get_item(dictionary::NAMED)?;
    let element = named.map(|named| Element::of(py, Some(&named))).transpose()?;
    let interface = import::interface(dict, &mut Reading::new(true).with_element(element))?;
    let stream = if stream.is_none() { None } else { Some(stream::kept(stream)?.unbind()) };
    let context = match &stream {
        Some(stream) => stream.get().stream.work_context()?,
        None => context_of(interface.data())?,
    };
    let held = Held::owner(&context, interface.byte_range(), Owner::from_python(owner.unbind()));
    let memory = Py::new(py, PyMemory::holding(held))?;
    Ok(Bound::new(py, PyDeviceArray::over(*interface, memory, stream))?)
}
