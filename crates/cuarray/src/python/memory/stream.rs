//! The Python class `Stream`: this library's own streams, the default streams, and foreign ones.

use super::{contexts, event::PyEvent, runtime};
use crate::python::{
    ffi::{
        inspect::{shown, type_name},
        raised::optional_attribute,
    },
    values::numbers::ordinal,
};
use crate::{Error, Owner, Result, driver::Stream, owner::chain::Link};
use pyo3::{
    PyTraverseError, PyVisit, intern,
    prelude::*,
    types::{PyBool, PyInt, PyTuple},
};

/// A CUDA stream.
///
/// Made by `stream()`, `default_stream()`, `legacy_default_stream()`, `per_thread_default_stream()` and
/// `external_stream(handle)`. Two are equal if their handles are.
///
/// >>> s = cuarray.stream()
/// >>> with s.auto_synchronize():
/// ...     a = cuarray.to_device([1, 2, 3], stream=s)
/// >>> s.query()
/// True
#[pyclass(frozen, weakref, name = "Stream", module = "cuarray")]
pub struct PyStream {
    pub(in crate::python) stream: Stream,
    /// The owner of a foreign stream. It is held here and not in `stream`, so that the garbage collector sees it: an object that
    /// provides a stream and has arrays on it is a cycle.
    owner: Option<Link<Py<PyAny>>>,
}

impl PyStream {
    pub(in crate::python) fn new(stream: Stream, owner: Option<Py<PyAny>>) -> PyStream {
        PyStream { stream, owner: owner.map(Link::new) }
    }
}

#[pymethods]
impl PyStream {
    /// The `cudaStream_t` as an int: 1 is the legacy default stream, 2 the per-thread one (clause I11).
    #[getter]
    fn handle(&self) -> usize {
        self.stream.handle()
    }

    /// Waits until all work in the stream is done. Driver call: cuStreamSynchronize.
    fn synchronize(&self, py: Python<'_>) -> Result<()> {
        py.detach(|| {
            self.stream.synchronize()?;
            runtime::reclaim_finished();
            Ok::<_, Error>(())
        })?;
        runtime::report_drops(py);
        Ok(())
    }

    /// Whether all work in the stream is done; never waits. Driver call: cuStreamQuery.
    fn query(&self, py: Python<'_>) -> Result<bool> {
        py.detach(|| self.stream.is_done())
    }

    /// Makes work that is enqueued later wait for `event`; the host does not wait. Driver call: cuStreamWaitEvent.
    fn wait(&self, py: Python<'_>, event: &PyEvent) -> Result<()> {
        py.detach(|| self.stream.wait(&event.event))
    }

    /// A context manager that synchronizes the stream on leaving, also after an exception.
    fn auto_synchronize(slf: Py<Self>) -> PyAutoSynchronize {
        PyAutoSynchronize { stream: slf }
    }

    /// The stream protocol of cuda.core: (version, handle).
    fn __cuda_stream__(&self) -> (u32, usize) {
        (0, self.stream.handle())
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<PyStream>().is_ok_and(|other| other.get().stream.handle() == self.stream.handle())
    }

    fn __hash__(&self) -> usize {
        self.stream.handle()
    }

    fn __repr__(&self) -> String {
        match self.stream.handle() {
            1 => "<cuarray.Stream: legacy default>".to_owned(),
            2 => "<cuarray.Stream: per-thread default>".to_owned(),
            handle => {
                format!("<cuarray.Stream {handle:#x}{}>", if self.stream.is_owned() { "" } else { ", external" })
            }
        }
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.owner.as_ref().map_or(Ok(()), |owner| visit.call(&**owner))
    }
}

/// The context manager of `Stream.auto_synchronize()`.
///
/// >>> s = cuarray.stream()
/// >>> with s.auto_synchronize():  # which waits at its end
/// ...     a = cuarray.to_device([1, 2, 3], stream=s)
#[pyclass(frozen, name = "AutoSynchronize", module = "cuarray")]
pub struct PyAutoSynchronize {
    stream: Py<PyStream>,
}

#[pymethods]
impl PyAutoSynchronize {
    fn __enter__(&self, py: Python<'_>) -> Py<PyStream> {
        self.stream.clone_ref(py)
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) -> Result<()> {
        self.stream.get().synchronize(py)
    }
}

/// Reads an argument that is a stream of this library, an object with `__cuda_stream__`, or a handle. The argument must stay alive while
/// the stream is used; [`object`] ensures that.
///
/// # Errors
/// `TypeError` for any other value; `ValueError` for a number that is no handle.
pub(in crate::python) fn argument(value: &Bound<'_, PyAny>) -> Result<Stream> {
    match value.cast::<PyStream>() {
        Ok(stream) => Ok(stream.get().stream.clone()),
        Err(_) => external(foreign_handle(value)?),
    }
}

/// Whether the value is a handle, which keeps nothing alive.
fn is_number(value: &Bound<'_, PyAny>) -> bool {
    value.is_instance_of::<PyInt>() && !value.is_instance_of::<PyBool>()
}

/// The handle of a foreign stream.
fn foreign_handle(value: &Bound<'_, PyAny>) -> Result<usize> {
    if is_number(value) {
        return handle(value);
    }
    let py = value.py();
    if let Some(method) = optional_attribute("stream", value, intern!(py, "__cuda_stream__"), "a method")? {
        let returned = method.call0()?;
        let (version, number) = returned
            .cast::<PyTuple>()
            .ok()
            .filter(|pair| pair.len() == 2)
            .and_then(|pair| Some((pair.get_item(0).ok()?, pair.get_item(1).ok()?)))
            .ok_or_else(|| {
                Error::argument(format!(
                    "stream: __cuda_stream__ of a {} returned {}; a tuple (version, handle) is expected",
                    type_name(value),
                    shown(&returned)
                ))
            })?;
        if version.extract::<i64>().ok() != Some(0) {
            return Err(Error::argument(format!(
                "stream: __cuda_stream__ of a {} returned version {}; version 0 is expected",
                type_name(value),
                shown(&version)
            )));
        }
        return handle(&number);
    }
    Err(Error::not_an_array(format!(
        "stream: {} is a {}; a cuarray stream, an object with __cuda_stream__, or a handle (int) is expected",
        shown(value),
        type_name(value)
    )))
}

/// A stream argument of a Rust function: a `Stream` of this package, an object with `__cuda_stream__` (of cuda.core, say), or a handle as an int.
/// The stream keeps the object alive (clause L4).
impl<'py> FromPyObject<'_, 'py> for Stream {
    type Error = Error;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> Result<Stream> {
        let handle = match object.cast::<PyStream>() {
            Ok(stream) if stream.get().owner.is_none() => return Ok(stream.get().stream.clone()),
            Ok(stream) => stream.get().stream.handle(),
            Err(_) => foreign_handle(&object)?,
        };
        let owner = (!is_number(&object)).then(|| Owner::from_python(object.to_owned().unbind()));
        // SAFETY: the caller's object promises a live stream, and the result keeps the object alive.
        Ok(unsafe { Stream::from_raw(runtime::driver()?, handle, owner) })
    }
}

fn handle(value: &Bound<'_, PyAny>) -> Result<usize> {
    value.extract::<usize>().map_err(|_| {
        Error::argument(format!("stream: {} is not a handle; an int from 0 to 2**64 - 1 is expected", shown(value)))
    })
}

/// Reads a stream argument as an object that keeps the argument alive (clause L4).
pub(in crate::python) fn object<'py>(value: &Bound<'py, PyAny>) -> Result<Bound<'py, PyStream>> {
    if let Ok(stream) = value.cast::<PyStream>() {
        return Ok(stream.clone());
    }
    Ok(Bound::new(value.py(), PyStream::new(argument(value)?, Some(value.clone().unbind())))?)
}

/// A foreign stream. Its owner keeps it alive while it is used.
pub(in crate::python) fn external(handle: usize) -> Result<Stream> {
    // SAFETY: the caller promises that the handle is a live stream, as in the driver's interface.
    Ok(unsafe { Stream::from_raw(runtime::driver()?, handle, None) })
}

/// A new stream of the device with that ordinal; by default, in the current context (or the first device's). It is a blocking stream: it
/// and the legacy default stream wait for each other.
///
/// Raises ValueError if there is no such device.
///
/// >>> s = cuarray.stream()
/// >>> s.query()
/// True
#[pyfunction]
#[pyo3(signature = (*, device=None))]
pub(in crate::python) fn stream(
    py: Python<'_>,
    #[pyo3(from_py_with = ordinal)] device: Option<i32>,
) -> Result<PyStream> {
    py.detach(|| {
        let context = device.map_or_else(|| runtime::driver()?.default_context(), contexts::context_on)?;
        Ok(PyStream::new(Stream::new(&context)?, None))
    })
}

/// The default stream, which is the legacy one.
#[pyfunction]
pub(in crate::python) fn default_stream() -> Result<PyStream> {
    legacy_default_stream()
}

/// The legacy default stream, handle 1. It and every blocking stream of its context wait for each other.
#[pyfunction]
pub(in crate::python) fn legacy_default_stream() -> Result<PyStream> {
    Ok(PyStream::new(Stream::legacy_default(&runtime::driver()?.default_context()?), None))
}

/// The calling thread's own default stream, handle 2.
#[pyfunction]
pub(in crate::python) fn per_thread_default_stream() -> Result<PyStream> {
    Ok(PyStream::new(Stream::per_thread_default(&runtime::driver()?.default_context()?), None))
}

/// A foreign stream by its handle, which the caller keeps alive (clause L5), or by an object with `__cuda_stream__`, which is kept
/// alive.
#[pyfunction]
pub(in crate::python) fn external_stream<'py>(handle: &Bound<'py, PyAny>) -> Result<Bound<'py, PyStream>> {
    object(handle)
}
