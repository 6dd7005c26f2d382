//! Events as Python sees them.

use super::{runtime, stream};
use crate::{Result, driver::Event};
use pyo3::prelude::*;

/// A CUDA event: a point in a stream's work.
///
/// >>> done = cuarray.event()
/// >>> done.record(cuarray.stream())
/// >>> done.synchronize()
/// >>> done.query()
/// True
#[pyclass(frozen, weakref, name = "Event", module = "cuarray")]
pub struct PyEvent {
    pub(super) event: Event,
}

#[pymethods]
impl PyEvent {
    /// The `cudaEvent_t` as an int.
    #[getter]
    fn handle(&self) -> usize {
        self.event.handle()
    }

    /// Marks the work that is in `stream` (default: the default stream) by now. Driver call: cuEventRecord.
    #[pyo3(signature = (stream=None))]
    fn record(&self, py: Python<'_>, stream: Option<&Bound<'_, PyAny>>) -> Result<()> {
        let stream = or_default(stream)?;
        py.detach(|| self.event.record(&stream))
    }

    /// Lets work enqueued in `stream` (default: the default stream) from now on wait for the event's latest record; the
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
            runtime::reclaim_what_is_done();
            Ok(())
        })
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
pub(super) fn event(py: Python<'_>, timing: bool) -> Result<PyEvent> {
    py.detach(|| Ok(PyEvent { event: Event::new(&runtime::driver()?.default_context()?, timing)? }))
}
