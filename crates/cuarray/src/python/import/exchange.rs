//! The C exchange table: DLPack without a call into Python.
//!
//! A type offers a table of C functions in its attribute `__dlpack_c_exchange_api__`, which a consumer reads once for each type.
//! After that, an exchange is two C calls: one for the tensor, one for the stream on which the library works.
//!
//! A library such as PyTorch has one current stream for each device. An array here has its own home stream. So this table first makes a tensor ready on the legacy default stream, and
//! names that stream.

use crate::python::{
    export::managed,
    ffi::{inspect::type_name, raised::optional_attribute},
    memory::capsule::Managed,
};
use crate::{
    Dims, Error, Layout, Result, StreamEntry,
    driver::MemoryKind,
    exchange::dlpack::{
        abi::{DLManagedTensorVersioned, DLPackExchangeAPI, DLPackExchangeAPIHeader, DLTensor, SetError, VERSION},
        dtype, tensor,
    },
    python::{
        array::{Place, PyDeviceArray, create},
        import,
        memory::array_owner::DropDetached,
        values::dtype::Element,
    },
};
use pyo3::{
    ffi, intern,
    prelude::*,
    sync::PyOnceLock,
    types::{PyCFunction, PyCapsule, PyDict, PyType, PyWeakrefMethods, PyWeakrefReference},
};
use std::{
    ffi::{CStr, CString, c_int, c_void},
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    ptr::NonNull,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

const NAME: &CStr = c"dlpack_exchange_api";

/// The table of this library.
static TABLE: DLPackExchangeAPI = DLPackExchangeAPI {
    header: DLPackExchangeAPIHeader { version: VERSION, prev_api: std::ptr::null_mut() },
    managed_tensor_allocator: Some(allocate),
    managed_tensor_from_py_object_no_sync: Some(from_object),
    managed_tensor_to_py_object_no_sync: Some(to_object),
    dltensor_from_py_object_no_sync: Some(borrow),
    current_work_stream: Some(work_stream),
};

/// The capsule with this library's table, for the class.
pub(in crate::python) fn capsule(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    // SAFETY: the table and its name are static; the result is an owned capsule, or null with an error set.
    unsafe {
        let capsule = ffi::PyCapsule_New((&raw const TABLE).cast_mut().cast(), NAME.as_ptr(), None);
        Bound::from_owned_ptr_or_err(py, capsule)
    }
}

/// The table of another library.
#[derive(Clone, Copy)]
pub(in crate::python) struct Table {
    functions: NonNull<DLPackExchangeAPI>,
    /// Whether it is PyTorch's table. Its tensors must be checked for marks that the table ignores.
    is_torchs: bool,
}

// SAFETY: a table is constant, and its functions may be called in any thread that holds the GIL.
unsafe impl Send for Table {}

/// The most recently used type with a table. Nearly every import has the type of the previous one.
struct Latest {
    /// The address of the type; the weak reference keeps it from being reused.
    address: usize,
    kind: Py<PyWeakrefReference>,
    table: Table,
}

static LATEST: Mutex<Option<Latest>> = Mutex::new(None);

/// The address of the most recently used type without a table.
static WITHOUT: AtomicUsize = AtomicUsize::new(0);

/// The results for all live types, by address.
static CACHE: PyOnceLock<Py<PyDict>> = PyOnceLock::new();

/// The longest chain of table versions; a longer chain is treated as endless.
const MOST_TABLES: usize = 64;

/// The cached result for a type.
#[derive(Clone, Copy)]
pub(in crate::python) enum Cached {
    Table(Table),
    NoTable,
    Unknown,
}

/// The cached result for a type. A PyTorch type is never [`Cached::NoTable`], because its tensors must be checked for marks.
#[inline]
pub(in crate::python) fn cached(kind: &Bound<'_, PyType>) -> Cached {
    let address = kind.as_ptr() as usize;
    if WITHOUT.load(Relaxed) == address {
        return Cached::NoTable;
    }
    // If another thread holds the lock, this one works without the cache.
    match LATEST.try_lock().as_deref() {
        Ok(Some(latest))
            if latest.address == address && latest.kind.bind(kind.py()).upgrade().is_some_and(|of| of.is(kind)) =>
        {
            Cached::Table(latest.table)
        }
        _ => Cached::Unknown,
    }
}

/// The table of a type in a supported version. Each type is queried once.
pub(in crate::python) fn of_type(kind: &Bound<'_, PyType>) -> Result<Option<Table>> {
    match cached(kind) {
        Cached::Table(table) => return Ok(Some(table)),
        Cached::NoTable => return Ok(None),
        Cached::Unknown => {}
    }
    let address = kind.as_ptr() as usize;
    let (table, is_torchs) = lookup(kind)?;
    let Some(table) = table else {
        if !is_torchs {
            WITHOUT.store(address, Relaxed);
        }
        return Ok(None);
    };
    let latest = Latest { address, kind: PyWeakrefReference::new(kind)?.unbind(), table };
    // The old entry is dropped outside the lock.
    let replaced = LATEST.try_lock().ok().and_then(|mut entry| entry.replace(latest));
    drop(replaced);
    Ok(Some(table))
}

/// As [`of_type`], without the cache, because the type may have got a table since. Called before an object is refused.
#[cold]
pub(in crate::python) fn of_type_now(kind: &Bound<'_, PyType>) -> Result<Option<Table>> {
    forget(kind.py(), kind.as_ptr() as usize);
    of_type(kind)
}

/// Looks up the table of a type, and whether the type is PyTorch's.
fn lookup<'py>(kind: &Bound<'py, PyType>) -> Result<(Option<Table>, bool)> {
    let py = kind.py();
    // By address; a weak reference tells whether the type is still the same.
    let cache = CACHE.get_or_init(py, || PyDict::new(py).unbind()).bind(py);
    let key = kind.as_ptr() as usize;
    if let Some(found) = cache.get_item(key)? {
        let (of, address, is_torchs): (Bound<'py, PyWeakrefReference>, usize, bool) = found.extract()?;
        if of.upgrade().is_some_and(|of| of.is(kind)) {
            let functions = NonNull::new(address as *mut DLPackExchangeAPI);
            return Ok((functions.map(|functions| Table { functions, is_torchs }), is_torchs));
        }
    }
    let (functions, is_torchs) = (offered(kind)?, import::are_tensors(kind)?);
    let address = functions.map_or(0, |functions| functions.as_ptr() as usize);
    let forget = PyCFunction::new_closure(py, None, None, move |reference, _| forget(reference.py(), key))?;
    cache.set_item(key, (PyWeakrefReference::new_with(kind, forget)?, address, is_torchs))?;
    Ok((functions.map(|functions| Table { functions, is_torchs }), is_torchs))
}

/// Forgets a type that is being deleted, because a new type may get its address.
fn forget(py: Python<'_>, key: usize) {
    let _ = WITHOUT.compare_exchange(key, 0, Relaxed, Relaxed);
    if let Some(cache) = CACHE.get(py) {
        // A new type at that address may have replaced the entry.
        let _ = cache.bind(py).del_item(key);
    }
}

fn offered(kind: &Bound<'_, PyType>) -> Result<Option<NonNull<DLPackExchangeAPI>>> {
    let name = intern!(kind.py(), "__dlpack_c_exchange_api__");
    let Some(capsule) = optional_attribute("not a CUDA array", kind.as_any(), name, "a capsule")? else {
        return Ok(None);
    };
    let Ok(capsule) = capsule.cast_into::<PyCapsule>() else { return Ok(None) };
    // SAFETY: `capsule` is a capsule, and its pointer is read by the capsule's own name.
    let mut table = unsafe {
        if ffi::PyCapsule_IsValid(capsule.as_ptr(), NAME.as_ptr()) == 0 {
            return Ok(None);
        }
        ffi::PyCapsule_GetPointer(capsule.as_ptr(), NAME.as_ptr()).cast::<DLPackExchangeAPIHeader>()
    };
    for _ in 0..MOST_TABLES {
        let Some(header) = NonNull::new(table) else { return Ok(None) };
        // SAFETY: the capsule holds a table that lives as long as the process, whose header is the same in every version.
        let header = unsafe { header.as_ptr().read_unaligned() };
        if header.version.major == VERSION.major {
            return Ok(NonNull::new(table.cast()));
        }
        table = header.prev_api;
    }
    Ok(None)
}

impl Table {
    /// Imports `object`; if `is_ordered`, the home stream is the one on which its library works.
    ///
    /// # Errors
    /// The library raises. Otherwise as [`Managed::refuse_copy`] and [`Managed::interface`].
    pub(in crate::python) fn import<'py>(
        self,
        object: &Bound<'py, PyAny>,
        is_ordered: bool,
        copy: Option<bool>,
    ) -> Result<Bound<'py, PyDeviceArray>> {
        let py = object.py();
        // SAFETY: the table lives as long as the process, and its version has the layout of this struct.
        let table = unsafe { self.functions.as_ptr().read_unaligned() };
        let (Some(export), Some(stream)) = (table.managed_tensor_from_py_object_no_sync, table.current_work_stream)
        else {
            return Err(Error::unsupported(format!(
                "the exchange table of a {} lacks a function that DLPack requires",
                type_name(object)
            )));
        };
        let mut managed = std::ptr::null_mut();
        // SAFETY: the table belongs to the object's type, and this thread is attached.
        if unsafe { export(object.as_ptr().cast(), &mut managed) } != 0 {
            return Err(failed(object));
        }
        let managed =
            NonNull::new(managed).ok_or_else(|| Error::unsupported("the exchange table returned a null tensor"))?;
        let managed = DropDetached::new(Managed::Versioned(managed));
        managed.refuse_copy(object, copy)?;
        let mut interface = managed.interface()?;
        if self.is_torchs {
            import::refuse_gradient_or_mark(object, &interface)?;
        }
        let device = managed.tensor()?.0.device;
        if is_ordered {
            let mut raw = std::ptr::null_mut();
            // SAFETY: the table belongs to the object's type, and this thread is attached. The function writes one pointer, which outlives the call.
            if unsafe { stream(device.device_type, device.device_id, &mut raw) } != 0 {
                return Err(failed(object));
            }
            // The null stream is the legacy default stream, whose handle is 1 here.
            interface.set_stream(match raw as usize {
                0 => StreamEntry::LegacyDefault,
                handle => StreamEntry::try_from(handle as i128)?,
            });
        }
        Ok(Bound::new(py, PyDeviceArray::with_stream(interface, managed, None).at(Some(Place::of_tensor(device))))?)
    }
}

/// The exception that a table function of `object`'s type raised.
#[cold]
fn failed(object: &Bound<'_, PyAny>) -> Error {
    PyErr::take(object.py()).map_or_else(
        || {
            Error::unsupported(format!(
                "the exchange table of a {} failed and set no exception, which DLPack requires",
                type_name(object)
            ))
        },
        Error::from,
    )
}

/// Runs the body of a table function; returns 0, or -1 with a Python exception set.
///
/// # Safety
/// Called with the GIL held, as consumers call all functions of the table but the allocator.
unsafe fn status_of(body: impl FnOnce(Python<'_>) -> Result<()>) -> c_int {
    Python::attach(|py| {
        let error = match catch_unwind(AssertUnwindSafe(|| body(py))) {
            Ok(Ok(())) => return 0,
            Ok(Err(error)) => error.into(),
            Err(_) => pyo3::panic::PanicException::new_err(("the exchange table panicked",)),
        };
        error.restore(py);
        -1
    })
}

/// Returns the array if later work in the legacy default stream needs no edge. No Python object is dropped here, so this thread need not be
/// attached again, which would take half of the time.
///
/// # Safety
/// Called with the GIL held, with an object that the caller holds.
#[inline]
unsafe fn ready_array<'a>(object: *mut c_void) -> Option<Borrowed<'a, 'a, PyDeviceArray>> {
    // SAFETY: this function's contract.
    let object = unsafe { Borrowed::from_ptr(Python::assume_attached(), object.cast()) };
    let array = object.cast_exact::<PyDeviceArray>().ok()?;
    array.get().is_ready_on_legacy().then_some(array)
}

/// # Safety
/// `object` is a `DeviceArray`, `out` may be written.
unsafe extern "C" fn borrow(object: *mut c_void, out: *mut DLTensor) -> c_int {
    // SAFETY: this function's contract.
    unsafe {
        if let Some(tensor) = ready_array(object).and_then(|array| array.get().prepared_tensor()) {
            *out = tensor;
            return 0;
        }
        status_of(|py| {
            let object = Bound::from_borrowed_ptr(py, object.cast());
            let array = object.cast::<PyDeviceArray>().map_err(PyErr::from)?.get();
            let tensor = array.tensor()?;
            array.ready_on_legacy(py)?;
            *out = tensor;
            Ok(())
        })
    }
}

/// # Safety
/// `object` is a `DeviceArray`, `out` may be written.
unsafe extern "C" fn from_object(object: *mut c_void, out: *mut *mut DLManagedTensorVersioned) -> c_int {
    // SAFETY: this function's contract.
    unsafe {
        if let Some(array) = ready_array(object)
            && array.get().prepared_tensor().is_some()
            && let Ok(Managed::Versioned(tensor)) =
                managed::versioned(&array, false).map(std::mem::ManuallyDrop::new).as_deref()
        {
            *out = tensor.as_ptr();
            return 0;
        }
        status_of(|py| {
            let object = Bound::from_borrowed_ptr(py, object.cast());
            let array = object.cast::<PyDeviceArray>().map_err(PyErr::from)?;
            let managed = managed::versioned(array, false)?;
            array.get().ready_on_legacy(py)?;
            *out = managed.into_versioned().map_or(std::ptr::null_mut(), NonNull::as_ptr);
            Ok(())
        })
    }
}

/// # Safety
/// The caller owns `tensor` and gives up the ownership; `out` may be written.
unsafe extern "C" fn to_object(tensor: *mut DLManagedTensorVersioned, out: *mut *mut c_void) -> c_int {
    let made = catch_unwind(|| {
        // SAFETY: consumers call with the GIL held. No Python object is dropped here, so PyO3 need not know it.
        let py = unsafe { Python::assume_attached() };
        let tensor = NonNull::new(tensor).ok_or_else(|| Error::argument("the tensor is null; a tensor is expected"))?;
        let managed = DropDetached::new(Managed::Versioned(tensor));
        let (interface, place) = (managed.interface()?, Place::of_tensor(managed.tensor()?.0.device));
        let array = Bound::new(py, PyDeviceArray::with_stream(interface, managed, None).at(Some(place)))?;
        Ok::<_, Error>(array.into_ptr())
    });
    match made {
        Ok(Ok(array)) => {
            // SAFETY: this function's contract.
            unsafe { *out = array.cast() };
            0
        }
        // SAFETY: the GIL is held.
        Ok(Err(error)) => unsafe { status_of(|_| Err(error)) },
        // SAFETY: the GIL is held; `status_of` catches the resumed panic and reports it.
        Err(panic) => unsafe { status_of(|_| resume_unwind(panic)) },
    }
}

/// # Safety
/// `prototype` describes a tensor, or is null, `out` may be written; called from any thread.
unsafe extern "C" fn allocate(
    prototype: *mut DLTensor,
    out: *mut *mut DLManagedTensorVersioned,
    context: *mut c_void,
    set_error: Option<SetError>,
) -> c_int {
    let made = catch_unwind(AssertUnwindSafe(|| {
        Python::attach(|py| {
            if prototype.is_null() {
                return Err(Error::argument("the prototype is null; a tensor is expected"));
            }
            // SAFETY: this function's contract.
            let prototype = unsafe { prototype.read_unaligned() };
            let mut shape = Dims::new();
            // SAFETY: this function's contract; strides are not read.
            unsafe { tensor::shape(&prototype, &mut shape) }?;
            let array = empty(py, shape, &prototype)?;
            let managed = managed::versioned(&array, false)?;
            Ok(managed.into_versioned().map_or(std::ptr::null_mut(), NonNull::as_ptr))
        })
    }));
    let (kind, message) = match made {
        Ok(Ok(tensor)) => {
            // SAFETY: this function's contract.
            unsafe { *out = tensor };
            return 0;
        }
        Ok(Err(error)) => (kind_of(&error), error.to_string()),
        Err(_) => (c"RuntimeError", "the exchange table panicked".to_owned()),
    };
    if let Some(set_error) = set_error {
        let message = CString::new(message.replace('\0', " ")).unwrap_or_default();
        // SAFETY: the caller supplied the function with its context; both texts live until it returns.
        unsafe { set_error(context, kind.as_ptr(), message.as_ptr()) };
    }
    -1
}

/// Allocates an array like a prototype.
fn empty<'py>(py: Python<'py>, shape: Dims, prototype: &DLTensor) -> Result<Bound<'py, PyDeviceArray>> {
    let element = Element { typestr: dtype::read(prototype.dtype)?, descr: None };
    let layout = Layout::from_parts(shape, None, element.typestr.itemsize())?;
    tensor::check_device(prototype.device)?;
    let (kind, device) = match prototype.device.device_type {
        tensor::CUDA => (MemoryKind::Device, Some(prototype.device.device_id)),
        tensor::CUDA_MANAGED => (MemoryKind::Managed, None),
        _ => (MemoryKind::Mapped, None),
    };
    create::allocate(py, kind, element, layout, None, device)
}

/// The name of the Python exception for an error.
fn kind_of(error: &Error) -> &'static CStr {
    if error.is_unsupported() {
        c"BufferError"
    } else if error.is_not_an_array() {
        c"TypeError"
    } else if error.is_driver() {
        c"RuntimeError"
    } else {
        c"ValueError"
    }
}

/// # Safety
/// `out` may be written.
unsafe extern "C" fn work_stream(_device_type: i32, _device_id: i32, out: *mut *mut c_void) -> c_int {
    // The handle means the current context's legacy default stream; consumers have made the device's context current.
    // SAFETY: this function's contract.
    unsafe { *out = std::ptr::without_provenance_mut(1) };
    0
}
