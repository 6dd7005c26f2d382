//! Import of a dictionary: reads it, checks it, and waits for the producer's work.

use super::{Entries, Reading, careful, entries::OwnedEntries, inert, mask, refuse_lazy};
use crate::{
    Error, Interface, Result, StreamEntry,
    driver::Event,
    python::{
        array::mask::ArrayMask,
        config,
        memory::{bounds, event, reach::context_of, runtime::driver, stream},
        values::options::Options,
    },
};
use pyo3::{prelude::*, types::PyDict};

/// An interface that was read and checked with the options.
pub(in crate::python) struct Adopted {
    pub(in crate::python) interface: Box<Interface>,
    pub(in crate::python) mask: Option<ArrayMask>,
    /// The event after the work in the interface's stream (clause X2).
    pub(in crate::python) event: Option<event::Handle>,
}

/// Reads the dictionary of `object` in one walk. With `sync`, the host waits for the producer (clauses S2 and N1).
///
/// # Errors
/// The interface is wrong, the options do not allow it, or a driver call fails.
#[inline]
pub(in crate::python) fn adopt<'py>(
    dict: &Bound<'py, PyDict>,
    object: Option<&Bound<'py, PyAny>>,
    sync: bool,
    options: Options,
) -> Result<Adopted> {
    let entries = Entries::read(dict);
    if options.are_default()
        && let Some(interface) = inert::interface(&entries, dict.py())
    {
        if let Some(object) = object {
            refuse_lazy(object, &interface)?;
        }
        if sync && interface.stream() != StreamEntry::None {
            Python::attach(|py| wait_for_producer(py, &interface, None))?;
        }
        return Ok(Adopted { interface, mask: None, event: None });
    }
    // Takes references before attaching: that may run deferred destructors, which may change the dictionary.
    let entries = entries.own();
    Python::attach(|_| adopt_carefully(dict, &entries, object, sync, options))
}

/// As [`adopt`], for entries of any kind, and with options.
#[cold]
fn adopt_carefully<'py>(
    dict: &Bound<'py, PyDict>,
    entries: &OwnedEntries<'py>,
    object: Option<&Bound<'py, PyAny>>,
    sync: bool,
    options: Options,
) -> Result<Adopted> {
    let py = dict.py();
    let mut reading = Reading::new(options.strict).with_masks(options.masks).with_element(options.element);
    let interface = careful(entries, &mut reading)?;
    if let Some(object) = object {
        refuse_lazy(object, &interface)?;
    }
    let mask = mask::read(&mut reading, interface.layout(), options.bits)?;
    if options.bounds {
        bounds::verify(py, &interface, mask.as_ref().map(ArrayMask::interface))?;
    }
    if sync {
        wait_for_producer(py, &interface, reading.event)?;
        if let Some(mask) = &mask {
            wait_for_producer(py, mask.interface(), None)?;
        }
    }
    Ok(Adopted { interface, mask, event: reading.event })
}

/// Waits on the host for the producer's stream, or for the event in its place. The configuration can switch this off (clause N3).
pub(in crate::python) fn wait_for_producer(
    py: Python<'_>,
    interface: &Interface,
    event: Option<event::Handle>,
) -> Result<()> {
    let handle = interface.stream().handle();
    if !config::sync() || handle.is_none() && event.is_none() {
        return Ok(());
    }
    let named = |error: Error| match handle {
        Some(handle) => error.with_log(format!("the stream is {handle:#x}, of __cuda_array_interface__['stream']")),
        None => error,
    };
    let waited = py.detach(|| {
        let _remembered = driver()?.remember_current();
        let stream = handle.map(stream::external).transpose()?;
        // A default stream and an event name no context, so the memory determines the device.
        let context = match &stream {
            Some(stream) if stream.handle() > 2 && event.is_none() => stream.work_context()?,
            _ => context_of(interface.data())?,
        };
        let _current = context.push()?;
        let Some(event) = event else { return stream.as_ref().map_or(Ok(()), crate::sync::synchronize) };
        stream.as_ref().map_or(Ok(()), crate::sync::may_wait)?;
        // SAFETY: the producer promises a live event, as it promises a live stream.
        unsafe { Event::from_raw(&context, event.0) }.synchronize()
    });
    waited.map_err(named)
}
