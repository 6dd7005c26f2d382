//! `from_dlpack` imports tensors of other libraries.
//!
//! There are two ways. A type with `__dlpack_c_exchange_api__` has a table of C functions. They return the tensor and
//! the current stream of the library. They order no work, and that stream becomes the array's home stream. Every
//! other type has `__dlpack__`, which is called with the stream on which the tensor must be ready. The producer
//! orders its work before that stream, which becomes the home stream.
//!
//! Stream numbers are nearly those of the CUDA Array Interface: 1 is the legacy default stream, 2 the per-thread one, any other number a
//! handle, and 0 is disallowed. But `None` means the legacy default stream in DLPack, and "nothing to wait for" in the interface. -1
//! asks for no ordering.

use super::exchange::{self, Cached};
use crate::python::{
    export::dlpack::{self, Number},
    ffi::{
        inspect::{shown, type_name},
        raised::optional_attribute,
    },
    memory::{capsule::Managed, tensor::PyDLPackTensor},
};
use crate::{
    Error, Interface, Result, StreamEntry,
    driver::Context,
    exchange::dlpack::{
        abi::{DLDevice, VERSION},
        tensor,
    },
    python::{
        array::{Place, PyDeviceArray, copies::Elements, create, host_memory::HostMemory, view},
        ffi::{
            fastcall::{self, Arguments, Function},
            vectorcall,
        },
        import,
        memory::{
            array_owner::DropDetached,
            contexts::context_on,
            runtime::driver,
            stream::{self, PyStream},
        },
        values::{numbers::ordinal, options},
    },
};
use pyo3::{
    exceptions::{PyBufferError, PyTypeError},
    intern,
    prelude::*,
    sync::PyOnceLock,
    types::{PyBool, PyCapsule, PyString, PyTuple},
};
use std::ffi::CStr;

pub(in crate::python) struct FromDLPack;

impl Function for FromDLPack {
    type Object = PyDeviceArray;
    const NAME: &CStr = c"from_dlpack";
    const DOC: &CStr = c"from_dlpack(obj, /, *, device=None, stream=None, copy=None)\n--\n
Imports any object with `__dlpack__` as a DeviceArray, without copying; it keeps the tensor alive until its last view ends.

`stream` is the stream in which the tensor is made ready, and becomes the array's home stream. It is any stream argument, None for the
legacy default stream, or -1 for no ordering. Without `stream`, a type with DLPack's C exchange table names its own stream.

`device` is the ordinal of the array's device; the default is the tensor's device. A tensor on another device, or in host memory, is
copied to that device; with `copy=False`, that raises BufferError.

`copy=True` always copies: cuarray makes the copy, so the producer need not support it. `copy=False` never copies, and raises BufferError
if a copy is needed, or if the producer says that it made one. By default a tensor in host memory is refused, unless the driver has
page-locked that memory. Any other tensor is imported without a copy.

bfloat16 and the 8-bit floats keep their names. A read-only tensor stays read-only.

Raises TypeError if `obj` has no `__dlpack__`, BufferError if its tensor cannot be imported (host memory, vectors, elements
without a type string), ValueError if the tensor is wrong.

>>> a = cuarray.to_device([1.0, 2.0])
>>> cuarray.from_dlpack(a).copy_to_host().tolist()
[1.0, 2.0]";

    #[inline]
    fn call<'py>(arguments: &Arguments<'py>) -> Result<Bound<'py, PyDeviceArray>> {
        let [object] = arguments.positional()?;
        let (mut stream, mut device, mut copy) = (None, None, None);
        for (name, value) in arguments.named() {
            if fastcall::is(&name, intern!(name.py(), "stream")) {
                stream = (!value.is_none()).then_some(value);
            } else if fastcall::is(&name, intern!(name.py(), "device")) {
                device = ordinal(&value)?;
            } else if fastcall::is(&name, intern!(name.py(), "copy")) {
                copy = if value.is_none() { None } else { Some(options::flag("copy", &value)?) };
            } else {
                return Err(arguments.refused(format_args!("got an unexpected keyword argument '{}'", &*name)).into());
            }
        }
        let object = object
            .ok_or_else(|| arguments.refused(format_args!("is missing 1 required positional argument: 'obj'")))?;
        if stream.is_none() && device.is_none() && copy.is_none() {
            match exchange::cached(&object.get_type()) {
                Cached::Table(table) => return table.import(&object, true, None),
                Cached::NoTable => {
                    return match ask(&object, &Ready::Default, None) {
                        Ok(capsule) => adopt(object.py(), taken(&capsule)?, &Ready::Default),
                        Err(error) => Python::attach(|_| again(&object, error)),
                    };
                }
                Cached::Unknown => {}
            }
        }
        Python::attach(|_| match device {
            Some(device) => on_device(&object, stream.as_deref(), copy, device),
            None => from_dlpack(&object, stream.as_deref(), copy),
        })
    }
}

/// Implements `from_dlpack(obj, stream=stream, copy=copy)`.
///
/// # Errors
/// As the Python function.
pub(in crate::python) fn from_dlpack<'py>(
    obj: &Bound<'py, PyAny>,
    stream: Option<&Bound<'py, PyAny>>,
    copy: Option<bool>,
) -> Result<Bound<'py, PyDeviceArray>> {
    let py = obj.py();
    let ready = Ready::of(stream)?;
    if matches!(ready, Ready::Default) && copy.is_none() {
        // Reading the device from the tensor is faster than calling `__dlpack_device__`.
        return match exchange::of_type(&obj.get_type())? {
            Some(table) => table.import(obj, true, None),
            None => match ask(obj, &ready, copy) {
                Ok(capsule) => checked(obj, &capsule, &ready),
                Err(error) => again(obj, error),
            },
        };
    }
    let device = device_of(obj)?;
    let in_host = device.is_some_and(|device| device.device_type == tensor::CPU);
    if in_host && copy == Some(true) {
        return copy_from_host(obj, &ready, None);
    }
    // Host memory has no streams.
    let asked = if in_host { &Ready::Default } else { &ready };
    let given = match asked_in(elsewhere(device)?, || ask(obj, asked, copy.filter(|copy| !copy))) {
        Ok(capsule) => {
            let tensor = taken(&capsule)?;
            tensor.refuse_copy(obj, copy)?;
            unmarked(obj, adopt(py, tensor, &ready)?)?
        }
        Err(error) => by_table(obj, &ready, copy, error)?,
    };
    match copy {
        Some(true) => copied(&given, &ready, given.get().device()?),
        _ => Ok(given),
    }
}

/// Copies an imported array to a device.
fn copied<'py>(
    array: &Bound<'py, PyDeviceArray>,
    ready: &Ready<'py>,
    device: Option<i32>,
) -> Result<Bound<'py, PyDeviceArray>> {
    let (source, stream) = (array.get(), ready.argument());
    filled_at_once(array.py(), source.interface(), Elements::Device(source), stream.as_ref(), device)
}

/// Implements `from_dlpack(obj, stream=stream, copy=copy, device=device)`.
///
/// # Errors
/// As the Python function.
fn on_device<'py>(
    obj: &Bound<'py, PyAny>,
    stream: Option<&Bound<'py, PyAny>>,
    copy: Option<bool>,
    device: i32,
) -> Result<Bound<'py, PyDeviceArray>> {
    context_on(device)?;
    let ready = Ready::of(stream)?;
    let forbidden = |place: &str| {
        Error::unsupported(format!("the tensor is {place}, and copy=False forbids a copy to device {device}"))
    };
    if device_of(obj)?.is_some_and(|place| place.device_type == tensor::CPU) {
        return if copy == Some(false) {
            Err(forbidden("in host memory"))
        } else {
            copy_from_host(obj, &ready, Some(device))
        };
    }
    // A copy is made once, on the wanted device.
    let array = from_dlpack(obj, stream, copy.filter(|copy| !copy))?;
    match array.get().device()? {
        Some(place) if place != device && copy == Some(false) => Err(forbidden(&format!("on device {place}"))),
        place if copy == Some(true) || place.is_some_and(|place| place != device) => {
            copied(&array, &ready, Some(device))
        }
        _ => Ok(array),
    }
}

/// Whether an object has a tensor that may be on a CUDA device. An object that reports no device counts.
pub(in crate::python) fn is_reachable(obj: &Bound<'_, PyAny>) -> Result<bool> {
    if optional_attribute("not a CUDA array", obj, intern!(obj.py(), "__dlpack__"), "a method")?.is_none() {
        return Ok(false);
    }
    Ok(device_of(obj)?.is_none_or(|device| tensor::check_device(device).is_ok()))
}

/// The stream on which a tensor must be ready.
enum Ready<'py> {
    /// No stream: the caller orders.
    Never,
    /// The legacy default stream.
    Default,
    On(Bound<'py, PyStream>),
}

impl<'py> Ready<'py> {
    fn of(argument: Option<&Bound<'py, PyAny>>) -> Result<Ready<'py>> {
        let Some(argument) = argument else { return Ok(Ready::Default) };
        match dlpack::number(argument)? {
            Number::NoOrdering => Ok(Ready::Never),
            Number::Stream => stream::object(argument).map(Ready::On),
        }
    }

    /// The number to pass to `__dlpack__`.
    fn number(&self) -> Option<i64> {
        match self {
            Ready::Never => Some(-1),
            Ready::Default => None,
            Ready::On(stream) => Some(stream.get().stream.handle() as i64),
        }
    }

    /// The stream as an argument for the functions that create arrays.
    fn argument(&self) -> Option<Bound<'py, PyAny>> {
        match self {
            Ready::On(stream) => Some(stream.clone().into_any()),
            Ready::Never | Ready::Default => None,
        }
    }
}

/// Calls `__dlpack__` with the newest keywords.
fn ask<'py>(obj: &Bound<'py, PyAny>, ready: &Ready<'py>, copy: Option<bool>) -> PyResult<Bound<'py, PyAny>> {
    let py = obj.py();
    let name = intern!(py, "__dlpack__");
    let stream = ready.number().into_pyobject(py).map_err(PyErr::from)?;
    let Asking { version, plain, copying, .. } = Asking::get(py)?;
    let result = match copy {
        None => vectorcall::call_method(obj, name, plain.bind(py), [&stream, version.bind(py)]),
        Some(copy) => {
            let copy = PyBool::new(py, copy);
            vectorcall::call_method(obj, name, copying.bind(py), [&stream, version.bind(py), copy.as_any()])
        }
    };
    result.or_else(|error| Python::attach(|_| ask_again(obj, &stream, error)))
}

/// Calls `__dlpack__` with the oldest keywords after `error`, if the producer may be that old.
#[cold]
fn ask_again<'py>(obj: &Bound<'py, PyAny>, stream: &Bound<'py, PyAny>, error: PyErr) -> PyResult<Bound<'py, PyAny>> {
    let py = obj.py();
    let name = intern!(py, "__dlpack__");
    if optional_attribute("not a CUDA array", obj, name, "a method")?.is_none() {
        let why = match obj.is_instance_of::<PyCapsule>() {
            true => {
                "a PyCapsule was passed; the array that made it is expected, as its __dlpack__ is called with a stream"
                    .to_owned()
            }
            false => format!("a {} has no __dlpack__, and is no DLPack tensor", type_name(obj)),
        };
        return Err(Error::not_an_array(why).into());
    }
    // Producers before version 1 know only the keyword `stream`.
    if error.is_instance_of::<PyTypeError>(py) {
        return vectorcall::call_method(obj, name, Asking::get(py)?.oldest.bind(py), [stream]).inspect_err(|second| {
            // As Python does for nested exceptions: with a newer producer, the first one may be the reason.
            let _ = second.value(py).setattr(intern!(py, "__context__"), error.value(py));
        });
    }
    Err(error)
}

/// Imports an object whose `__dlpack__` gave `error`. If the object lacks that method, its type may have
/// got an exchange table since it was queried. If it has the method, its device may have to be current.
#[cold]
fn again<'py>(obj: &Bound<'py, PyAny>, error: PyErr) -> Result<Bound<'py, PyDeviceArray>> {
    let has_method = !matches!(obj.getattr_opt(intern!(obj.py(), "__dlpack__")), Ok(None));
    if !has_method {
        return match exchange::of_type_now(&obj.get_type())? {
            Some(table) => table.import(obj, true, None),
            None => Err(error.into()),
        };
    }
    let device = if error.is_instance_of::<PyBufferError>(obj.py()) { device_of(obj).ok().flatten() } else { None };
    match elsewhere(device)? {
        None => Err(error.into()),
        context => checked(obj, &asked_in(context, || ask(obj, &Ready::Default, None))?, &Ready::Default),
    }
}

/// Imports an object whose `__dlpack__` gave `error`, by its table: PyTorch's method refuses a tensor if PyTorch works on another device, and its
/// table does not.
#[cold]
fn by_table<'py>(
    obj: &Bound<'py, PyAny>,
    ready: &Ready<'py>,
    copy: Option<bool>,
    error: PyErr,
) -> Result<Bound<'py, PyDeviceArray>> {
    let table =
        if error.is_instance_of::<PyBufferError>(obj.py()) { exchange::of_type(&obj.get_type())? } else { None };
    let Some(table) = table else { return Err(error.into()) };
    let array = table.import(obj, !matches!(ready, Ready::Never), copy)?;
    match ready {
        Ready::On(stream) => view::bind(array.get(), obj.py(), Some(stream.as_any())),
        Ready::Never | Ready::Default => Ok(array),
    }
}

/// A context of a tensor's device, if that device is not current.
fn elsewhere(device: Option<DLDevice>) -> Result<Option<Context>> {
    let Some(device) = device.filter(|device| device.device_type == tensor::CUDA) else { return Ok(None) };
    let driver = match driver() {
        Err(error) if error.is_no_driver() => return Ok(None),
        driver => driver?,
    };
    if driver.current_context()?.map(|current| current.ordinal()).transpose()? == Some(device.device_id) {
        return Ok(None);
    }
    match context_on(device.device_id) {
        // There is no such device, which is the producer's concern.
        Err(error) if error.is_invalid_argument() => Ok(None),
        context => context.map(Some),
    }
}

/// Calls a producer with a context of its tensor's device current: PyTorch refuses to export a tensor of another device.
fn asked_in<T>(context: Option<Context>, ask: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    let _current = context.as_ref().map(Context::push).transpose()?;
    ask()
}

/// Makes an array with the elements of a tensor. The copy is complete on return, because the tensor is then released.
fn filled_at_once<'py>(
    py: Python<'py>,
    described: &Interface,
    source: Elements<'_, 'py>,
    stream: Option<&Bound<'py, PyAny>>,
    device: Option<i32>,
) -> Result<Bound<'py, PyDeviceArray>> {
    let array = create::packed_like(py, described, stream, device)?;
    array.get().fill(py, source, None)?;
    Ok(array)
}

/// Copies a tensor from host memory.
fn copy_from_host<'py>(
    obj: &Bound<'py, PyAny>,
    ready: &Ready<'py>,
    device: Option<i32>,
) -> Result<Bound<'py, PyDeviceArray>> {
    let py = obj.py();
    // Host memory has no streams.
    let tensor = taken(&ask(obj, &Ready::Default, None)?)?;
    let interface = tensor.host_interface()?;
    import::refuse_lazy_tensor(obj, &interface)?;
    let owner = Bound::new(py, PyDLPackTensor::empty())?;
    owner.get().fill(tensor);
    let host = HostMemory::array(py, interface.data(), &interface, Some(owner.into_any().unbind()))?;
    filled_at_once(py, &interface, Elements::Host(&host), ready.argument().as_ref(), device)
}

/// Objects that every call of `__dlpack__` uses.
struct Asking {
    version: Py<PyAny>,
    /// Keyword names: of most calls, of calls with `copy`, and for producers before version 1.
    plain: Py<PyTuple>,
    copying: Py<PyTuple>,
    oldest: Py<PyTuple>,
}

impl Asking {
    fn get(py: Python<'_>) -> PyResult<&Asking> {
        static ASKING: PyOnceLock<Asking> = PyOnceLock::new();
        let keywords = |names: &[&str]| {
            let names = names.iter().map(|name| PyString::intern(py, name));
            PyTuple::new(py, names.collect::<Vec<_>>()).map(Bound::unbind)
        };
        ASKING.get_or_try_init(py, || {
            Ok(Asking {
                version: (VERSION.major, VERSION.minor).into_pyobject(py)?.into_any().unbind(),
                plain: keywords(&["stream", "max_version"])?,
                copying: keywords(&["stream", "max_version", "copy"])?,
                oldest: keywords(&["stream"])?,
            })
        })
    }
}

fn taken(capsule: &Bound<'_, PyAny>) -> Result<DropDetached<Managed>> {
    Managed::take(capsule).map(DropDetached::new)
}

/// Makes the array over the tensor in a capsule of `obj`.
fn checked<'py>(
    obj: &Bound<'py, PyAny>,
    capsule: &Bound<'py, PyAny>,
    ready: &Ready<'py>,
) -> Result<Bound<'py, PyDeviceArray>> {
    unmarked(obj, adopt(obj.py(), taken(capsule)?, ready)?)
}

/// Refuses PyTorch tensors with a conjugate or negative mark, which DLPack loses.
fn unmarked<'py>(obj: &Bound<'py, PyAny>, array: Bound<'py, PyDeviceArray>) -> Result<Bound<'py, PyDeviceArray>> {
    import::refuse_lazy_tensor(obj, array.get().interface())?;
    Ok(array)
}

/// Makes the array over a tensor.
fn adopt<'py>(py: Python<'py>, tensor: DropDetached<Managed>, ready: &Ready<'py>) -> Result<Bound<'py, PyDeviceArray>> {
    let mut interface = tensor.interface()?;
    let (entry, stream) = match ready {
        Ready::Never => (StreamEntry::None, None),
        Ready::Default => (StreamEntry::LegacyDefault, None),
        Ready::On(stream) => {
            (StreamEntry::try_from(stream.get().stream.handle() as i128)?, Some(stream.clone().unbind()))
        }
    };
    interface.set_stream(entry);
    let place = Place::of_tensor(tensor.tensor()?.0.device);
    Ok(Bound::new(py, PyDeviceArray::with_stream(interface, tensor, stream).at(Some(place)))?)
}

/// The device that an object reports; `None` if it reports none.
fn device_of(obj: &Bound<'_, PyAny>) -> Result<Option<DLDevice>> {
    let py = obj.py();
    let name = intern!(py, "__dlpack_device__");
    let Some(method) = optional_attribute("not a CUDA array", obj, name, "a method")? else { return Ok(None) };
    let result = method.call0()?;
    match result.extract() {
        Ok((device_type, device_id)) => Ok(Some(DLDevice { device_type, device_id })),
        Err(_) => Err(Error::argument(format!(
            "__dlpack_device__ of a {} returned {}; a tuple (device type, device id) is expected",
            type_name(obj),
            shown(&result)
        ))),
    }
}
