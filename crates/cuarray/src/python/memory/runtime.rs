//! The one driver of a Python process, loaded when something first needs it.

use super::reach;
use crate::python::extensions::{self, rust_api};
use crate::{
    Error, Result,
    driver::{Context, Driver},
};
use pyo3::prelude::*;
use std::sync::{Mutex, OnceLock, PoisonError};

static DRIVER: OnceLock<Driver> = OnceLock::new();

/// The process's driver. A failure is not remembered: a simulated driver may be installed and the call made again.
pub(in crate::python) fn driver() -> Result<&'static Driver> {
    if let Some(driver) = DRIVER.get() {
        return Ok(driver);
    }
    let driver = Driver::load()?;
    // Before it is used; where it cannot be, as the interpreter is ending, the driver has events of its own.
    let _ = Python::try_attach(|py| rust_api::share_events(py, &driver));
    Ok(DRIVER.get_or_init(|| driver))
}

/// The process's driver, if it is loaded.
pub(in crate::python) fn loaded() -> Option<&'static Driver> {
    DRIVER.get()
}

/// A context of the device whose memory `pointer` is in: the current one if it is of that device, else the primary one; the
/// default one where the driver does not know the memory (clauses I6 and A1: the pointer decides on the device).
pub(in crate::python) fn context_of(pointer: u64) -> Result<Context> {
    context_by(reach::known(pointer)?.and_then(|known| known.device_ordinal))
}

/// The same where it is known already which device the memory is on, or that the driver does not know it.
pub(in crate::python) fn context_by(device: Option<i32>) -> Result<Context> {
    let driver = driver()?;
    let Some(ordinal) = device else { return driver.default_context() };
    current_on(ordinal)?.map_or_else(|| driver.named_device(ordinal).primary_context(), Ok)
}

/// The context to work in on a device that somebody has named: the current one if it is of that device, else the primary one,
/// which is then retained for as long as the process lives, so that it is not made and unmade with each array.
///
/// # Errors
/// An invalid argument: there is no such device.
pub(in crate::python) fn context_on(ordinal: i32) -> Result<Context> {
    static KEPT: Mutex<Vec<(i32, Context)>> = Mutex::new(Vec::new());
    let driver = driver()?;
    let count = driver.device_count()?;
    if !usize::try_from(ordinal).is_ok_and(|ordinal| ordinal < count) {
        return Err(Error::argument(format!("device is {ordinal}; an int from 0 to {} is expected", count.max(1) - 1)));
    }
    if let Some(current) = current_on(ordinal)? {
        return Ok(current);
    }
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, context)) = kept.iter().find(|(known, _)| *known == ordinal) {
        return Ok(context.clone());
    }
    let context = driver.device(ordinal)?.primary_context()?;
    kept.push((ordinal, context.clone()));
    Ok(context)
}

/// The current context, if it is of that device.
fn current_on(ordinal: i32) -> Result<Option<Context>> {
    let Some(current) = driver()?.current_context()? else { return Ok(None) };
    Ok((current.ordinal()? == ordinal).then_some(current))
}

/// Says what a destructor met and could not raise, as Python does for its own: through `sys.unraisablehook`.
pub(in crate::python) fn report_drops(py: Python<'_>) {
    if let Some(error) = DRIVER.get().and_then(Driver::take_drop_error) {
        PyErr::from(error).write_unraisable(py, None);
    }
}

/// Frees memory that was put by; see `reclaim`. For where a program waits anyway.
pub(in crate::python) fn reclaim_what_is_done() {
    if let Some(driver) = DRIVER.get() {
        driver.reclaim(false);
    }
}

/// Frees the memory of arrays that are gone and that had work pending; with `wait`, waits for that work.
///
/// Nothing is freed under pending work, and dropping an array waits for nothing; so its memory may stay a while. cuarray frees
/// it when it allocates next, when a stream or an event is synchronized, and at the end; if there is no room, it waits for it.
/// Call this before another library needs the room. What Rust extensions with cuarray have is freed too.
///
/// >>> cuarray.reclaim()
#[pyfunction]
#[pyo3(signature = (wait=true))]
pub(in crate::python) fn reclaim(py: Python<'_>, wait: bool) -> PyResult<()> {
    reclaim_own(py, wait);
    extensions::reclaim_others(py, wait)
}

/// `reclaim`, of this module alone.
#[pyfunction]
pub(in crate::python) fn reclaim_own(py: Python<'_>, wait: bool) {
    if let Some(driver) = DRIVER.get() {
        py.detach(|| driver.reclaim(wait));
        report_drops(py);
    }
}

/// Has this module's `reclaim_own` called when the interpreter ends.
pub(in crate::python) fn reclaim_at_exit(py: Python<'_>) -> PyResult<()> {
    py.import("atexit")?.call_method1("register", (wrap_pyfunction!(reclaim_own, py)?, true))?;
    Ok(())
}

/// The file of the CUDA driver that is in use; loads it if none is yet.
///
/// None where the driver did not come from a file. Raises CudaError where there is no driver.
///
/// >>> cuarray.driver_path()  # doctest: +SKIP
/// '/usr/lib/x86_64-linux-gnu/libcuda.so.1'
#[pyfunction]
pub(in crate::python) fn driver_path() -> Result<Option<String>> {
    Ok(driver()?.path().map(|path| path.to_string_lossy().into_owned()))
}

/// How many events the package and Rust extensions keep for their next exchanges; what counts events takes these for no leak.
///
/// >>> cuarray._core.idle_events() >= 0
/// True
#[pyfunction]
pub(in crate::python) fn idle_events(py: Python<'_>) -> PyResult<usize> {
    Ok(idle_events_own() + extensions::idle_events_of_others(py)?)
}

/// `idle_events`, of this module alone.
#[pyfunction]
pub(in crate::python) fn idle_events_own() -> usize {
    DRIVER.get().map_or(0, Driver::idle_events)
}
