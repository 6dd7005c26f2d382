//! The Python class `Event`.

use super::{runtime, stream};
use crate::python::ffi::{
    inspect::{integer, shown, type_name},
    raised::optional_attribute,
};
use crate::{Error, Result, driver::Event};
use pyo3::{
    intern,
    prelude::*,
    types::{PyBool, PyInt},
};

/// A CUDA event: a point in a stream's work.
///
/// >>> done = cuarray.event()
/// >>> done.record(cuarray.stream())
/// >>> done.synchronize()
/// >>> done.query()
/// True
#[pyclass(frozen, weakref, name = "Event", module = "cuarray")]
pub struct PyEvent {
    pub(in crate::python) event: Event,
}

#[pymethods]
impl PyEvent {
    /// The `cudaEvent_t` as an int.
    #[getter]
    fn handle(&self) -> usize {
        self.event.handle()
    }

    /// Marks the work in `stream` (default: the default stream) at this time. Driver call: cuEventRecord.
    #[pyo3(signature = (stream=None))]
    fn record(&self, py: Python<'_>, stream: Option<&Bound<'_, PyAny>>) -> Result<()> {
        let stream = or_default(stream)?;
        py.detach(|| self.event.record(&stream))
    }

    /// Makes work that is later enqueued in `stream` (default: the default stream) wait for the event's latest record. The
    /// host does not wait. Driver call: cuStreamWaitEvent.
    #[pyo3(signature = (stream=None))]
    fn wait(&self, py: Python<'_>, stream: Option<&Bound<'_, PyAny>>) -> Result<()> {
        let stream = or_default(stream)?;
        py.detach(|| stream.wait(&self.event))
    }

    /// Waits until the work that the event marks is done. Driver call: cuEventSynchronize.
    fn synchronize(&self, py: Python<'_>) -> Result<()> {
        py.detach(|| {
            self.event.synchronize()?;
            runtime::reclaim_finished();
            Ok::<_, Error>(())
        })?;
        runtime::report_drops(py);
        Ok(())
    }

    /// Whether the work that the event marks is done; never waits. Driver call: cuEventQuery.
    fn query(&self, py: Python<'_>) -> Result<bool> {
        py.detach(|| self.event.is_done())
    }

    /// Milliseconds from this event to `end`, both recorded and done. Driver call: cuEventElapsedTime.
    fn elapsed_time(&self, py: Python<'_>, end: &PyEvent) -> Result<f32> {
        py.detach(|| self.event.elapsed_time(&end.event))
    }

    fn __repr__(&self) -> String {
        format!("<cuarray.Event {:#x}>", self.event.handle())
    }
}

fn or_default(stream: Option<&Bound<'_, PyAny>>) -> Result<crate::driver::Stream> {
    match stream {
        Some(stream) => stream::argument(stream),
        None => stream::external(1),
    }
}

/// A new event in the current context (or the first device's); `timing=False` makes a cheaper one without a time stamp.
#[pyfunction]
#[pyo3(signature = (timing=true))]
pub(in crate::python) fn event(py: Python<'_>, timing: bool) -> Result<PyEvent> {
    py.detach(|| Ok(PyEvent { event: Event::new(&runtime::driver()?.default_context()?, timing)? }))
}

/// A foreign `cudaEvent_t`; never 0.
#[derive(Clone, Copy, Debug)]
pub(in crate::python) struct Handle(pub(in crate::python) usize);

/// Reads an argument that is an event of this library, a handle, or an object with an attribute `handle`.
///
/// # Errors
/// `TypeError` for any other value; `ValueError` for a number that is no handle.
pub(in crate::python) fn argument(value: &Bound<'_, PyAny>) -> Result<Handle> {
    if let Ok(event) = value.cast::<PyEvent>() {
        return Ok(Handle(event.get().event.handle()));
    }
    let py = value.py();
    let number = match optional_attribute("event", value, intern!(py, "handle"), "an event handle")? {
        // The handle may be a ctypes number, or an object of a binding that converts to an int.
        Some(handle) => match optional_attribute("event", &handle, intern!(py, "value"), "an event handle")? {
            Some(number) => number,
            None => handle,
        },
        None => value.clone(),
    };
    let is_number = number.is_instance_of::<PyInt>() && !number.is_instance_of::<PyBool>();
    let number = match is_number || value.is(&number) {
        true => number,
        false => number.call_method0(intern!(py, "__int__"))?,
    };
    if !number.is_instance_of::<PyInt>() || number.is_instance_of::<PyBool>() {
        return Err(Error::not_an_array(format!(
            "event: {} is a {}; a cuarray event, an object with a handle, or a handle (int) is expected",
            shown(value),
            type_name(value)
        )));
    }
    match number.extract::<usize>() {
        Ok(handle) if handle != 0 => Ok(Handle(handle)),
        _ => Err(Error::argument(format!(
            "event: {} is not a handle; an int from 1 to 2**64 - 1 is expected",
            shown(&number)
        ))),
    }
}

/// Reads the entry `event` of an interface (clause X2, an extension of this library). The event follows all work on
/// the data that was pending when the interface was made, in the stream under `stream`. A consumer waits for the
/// event instead of that stream.
///
/// # Errors
/// Key `event`: the value is not an event handle.
pub(in crate::python) fn entry(value: &Bound<'_, PyAny>) -> Result<Handle> {
    let expected = "None or a cudaEvent_t (int)";
    let number = integer(value, "event", expected)?;
    match usize::try_from(number) {
        Ok(handle) if handle != 0 => Ok(Handle(handle)),
        _ => Err(Error::entry("event", format!("{number} is not an event; {expected} is expected"))),
    }
}
