//! What the extension modules of a process share: one class of arrays, one class of errors, one pool of events.
//!
//! Each extension module has this crate in itself, and with it a class `DeviceArray`, an exception `CudaError` and a driver of its own.
//! That works: the interface is the border between them, and says all that matters. But users would see several classes of one
//! name, and an `except` would miss what it names. So the first module that needs it publishes a table of C functions, and those
//! that come later have their arrays made by it. The package `cuarray` is imported before that, if it can be; so where it is
//! installed, arrays are its `cuarray.DeviceArray` and errors its `cuarray.CudaError`, whoever returns and raises them.
//!
//! The table is a capsule in the interpreter's own dictionary (`PyInterpreterState_GetDict`), which exists for such things, under a key
//! that has the version of the table in it, [`KEY`]. What stands in the table never changes under one key. It is made of what is
//! stable between any two builds, whatever compilers and versions of this crate made them: C functions, the driver's handles,
//! Python objects, and the interface's dictionary as its text has it. Rust types do not cross. An extension whose version is another
//! one finds no table under its key, and uses, or publishes, its own: nothing is shared then, and nothing breaks.
//!
//! What crosses when an array is returned is its dictionary, in whose stream all pending work has been ordered; the object that keeps
//! its memory; and its home stream, as an object with `__cuda_stream__`. The maker of the array remembers what work it is told of, and
//! keeps the memory's object until that is done.

use crate::python::{
    array::PyDeviceArray,
    export, extensions,
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

/// The name of the table, in the interpreter's dictionary and as the capsule's.
const KEY: &CStr = c"cuarray.rust_api.v1";

/// Version 1 of what the extensions of a process share. The functions are called attached.
#[repr(C)]
#[derive(Clone, Copy)]
struct RustApi {
    /// The class of the driver's errors: a new reference, or null with an exception.
    cuda_error: unsafe extern "C" fn() -> *mut ffi::PyObject,
    /// Writes the pools of events of the process's driver; 0 if there is no driver.
    event_pools: unsafe extern "C" fn(*mut SharedPools) -> i32,
    /// A new `DeviceArray` over the memory that the dictionary `interface` describes, and `owner` keeps, with the home stream
    /// `stream`, an object with `__cuda_stream__` or `None`. A new reference, or null with an exception.
    new_array: unsafe extern "C" fn(
        interface: *mut ffi::PyObject,
        owner: *mut ffi::PyObject,
        stream: *mut ffi::PyObject,
    ) -> *mut ffi::PyObject,
}

/// This module's own.
static OWN: RustApi = RustApi { cuda_error, event_pools, new_array };

/// A pointer to somebody's table, which lives as long as the process.
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
    // SAFETY: a borrowed reference, or null where there is no room for such a dictionary.
    unsafe { Bound::from_borrowed_ptr_or_opt(py, dict) }?.cast_into::<PyDict>().ok()
}

/// The table in use: what the interpreter's dictionary has, or ours from now on.
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

/// The table that this module's arrays are made by. The package is given the chance to be the first.
fn shared(py: Python<'_>) -> PyResult<NonNull<RustApi>> {
    static SHARED: PyOnceLock<Published> = PyOnceLock::new();
    let find = || {
        // Absent, or of a version that cannot be imported here: then there is no class that users know.
        let _ = py.import(intern!(py, "cuarray"));
        // It cannot be said to an interpreter that is ending, where nothing can be imported; arrays are made there all the same.
        let _ = runtime::reclaim_at_exit(py);
        extensions::join(py)?;
        published(py).map(Published)
    };
    Ok(SHARED.get_or_try_init(py, find)?.0)
}

/// By which protocol the package reads objects. From here on this module is told when that changes.
pub(in crate::python) fn protocol_of_package(py: Python<'_>) -> PyResult<String> {
    shared(py)?;
    py.import(intern!(py, "cuarray"))?.getattr(intern!(py, "config"))?.getattr(intern!(py, "protocol"))?.extract()
}

/// The class of the driver's errors that users know.
pub(crate) fn cuda_error_class(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let table = shared(py)?;
    // SAFETY: a table lives as long as the process, and this thread is attached.
    unsafe { Bound::from_owned_ptr_or_err(py, (table.as_ref().cuda_error)()) }
}

/// Lets this module's driver use the events of whoever has published the table, unless that is this module.
pub(in crate::python) fn share_events(py: Python<'_>, driver: &Driver) -> PyResult<()> {
    let table = shared(py)?;
    if table != NonNull::from(&OWN) {
        let mut pools = MaybeUninit::uninit();
        // SAFETY: a table lives as long as the process, and this thread is attached; there is room for the answer.
        if unsafe { (table.as_ref().event_pools)(pools.as_mut_ptr()) } != 0 {
            // SAFETY: the function has written them.
            driver.share_events(unsafe { pools.assume_init() });
        }
    }
    Ok(())
}

/// [`RustApi::cuda_error`] of this module.
///
/// # Safety
/// Attached.
unsafe extern "C" fn cuda_error() -> *mut ffi::PyObject {
    // SAFETY: this function's contract.
    let py = unsafe { Python::assume_attached() };
    py.get_type::<CudaError>().into_any().into_ptr()
}

/// [`RustApi::event_pools`] of this module.
///
/// # Safety
/// There is room for the answer.
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
        let dict = export::complete(py, &interface)?;
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
/// Attached, with three objects.
unsafe extern "C" fn new_array(
    interface: *mut ffi::PyObject,
    owner: *mut ffi::PyObject,
    stream: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    let called = catch_unwind(|| {
        Python::attach(|py| {
            // SAFETY: this function's contract; they are the caller's for the length of the call.
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

/// An array that another extension returns.
fn adopt<'py>(
    interface: &Bound<'py, PyAny>,
    owner: Bound<'py, PyAny>,
    stream: &Bound<'py, PyAny>,
) -> Result<Bound<'py, PyDeviceArray>> {
    let py = interface.py();
    let dict = interface.cast::<PyDict>().map_err(PyErr::from)?;
    // A type that the interface has no letter for comes by its name.
    let named = dict.get_item(export::NAMED)?;
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
