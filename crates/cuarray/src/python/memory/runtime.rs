//! The one driver of a Python process, loaded on first use.

use super::event_pools::{self, EventPools};
use crate::python::ffi::shared::{Joined, Shared};
use crate::{
    Result,
    driver::{Driver, SharedPools},
};
use pyo3::{prelude::*, types::PyTuple};
use std::sync::OnceLock;

static DRIVER: OnceLock<Driver> = OnceLock::new();

/// The driver of the process. A failure is not cached: a simulated driver may be installed before the next call.
pub(in crate::python) fn driver() -> Result<&'static Driver> {
    if let Some(driver) = DRIVER.get() {
        return Ok(driver);
    }
    let driver = Driver::load()?;
    // The driver is joined to other modules before its first use. An interpreter that is ending permits no attachment; the driver
    // then keeps its events to itself.
    let _ = Python::try_attach(|py| {
        let shared = event_pools::share(py, &EVENT_POOLS, &driver);
        // An interpreter that is ending refuses exit functions; the driver works all the same.
        let _ = reclaim_at_exit(py);
        join(py)?;
        shared
    });
    Ok(DRIVER.get_or_init(|| driver))
}

/// The driver of the process, if it is loaded.
pub(in crate::python) fn loaded() -> Option<&'static Driver> {
    DRIVER.get()
}

/// The pools that all modules use.
pub(in crate::python) static EVENT_POOLS: Shared<EventPools> =
    Shared::new(c"cuarray.event_pools.v1", &EventPools { event_pools });

/// [`EventPools::event_pools`] of this module.
///
/// # Safety
/// `pools` may be written.
unsafe extern "C" fn event_pools(pools: *mut SharedPools) -> i32 {
    // SAFETY: this function's contract.
    unsafe { event_pools::give(pools, || driver().ok()) }
}

/// Reports an error of a destructor through `sys.unraisablehook`, as Python does for its own.
pub(in crate::python) fn report_drops(py: Python<'_>) {
    if let Some(error) = DRIVER.get().and_then(Driver::take_drop_error) {
        PyErr::from(error).write_unraisable(py, None);
    }
}

/// Frees memory whose release was deferred, as `reclaim(wait=False)`. For calls that wait anyway.
pub(in crate::python) fn reclaim_finished() {
    if let Some(driver) = DRIVER.get() {
        driver.reclaim(false);
    }
}

/// Frees memory whose release was deferred because work was pending. With `wait`, waits for that work.
///
/// Dropping an array does not wait, and memory is never freed under pending work. So memory may stay allocated after its array is
/// dropped. cuarray frees it at its next allocation, at the synchronization of a stream or an event, and at exit. If an allocation
/// runs out of memory, cuarray waits for the pending work. Call this before another library needs the memory. Memory of Rust extension modules with cuarray is freed too.
///
/// >>> cuarray.reclaim()
#[pyfunction]
#[pyo3(signature = (wait=true))]
pub(in crate::python) fn reclaim(py: Python<'_>, wait: bool) -> PyResult<()> {
    reclaim_own(py, wait);
    MODULES.others(py)?.iter().try_for_each(|functions| functions.get_item(0)?.call1((wait,)).map(drop))
}

/// `reclaim` for this module alone.
#[pyfunction]
pub(in crate::python) fn reclaim_own(py: Python<'_>, wait: bool) {
    if let Some(driver) = DRIVER.get() {
        py.detach(|| driver.reclaim(wait));
        report_drops(py);
    }
}

/// Every module's `(reclaim(wait), idle_events())`, because each releases its own memory and counts its own events.
static MODULES: Joined = Joined::new("cuarray.memory.v1");

/// Lets `reclaim` and `idle_events` of other modules reach this one.
pub(in crate::python) fn join(py: Python<'_>) -> PyResult<()> {
    MODULES.join(py, || {
        let functions =
            [wrap_pyfunction!(reclaim_own, py)?.into_any(), wrap_pyfunction!(idle_events_own, py)?.into_any()];
        PyTuple::new(py, functions)
    })
}

/// Registers this module's `reclaim_own` to run at interpreter exit.
pub(in crate::python) fn reclaim_at_exit(py: Python<'_>) -> PyResult<()> {
    py.import("atexit")?.call_method1("register", (wrap_pyfunction!(reclaim_own, py)?, true))?;
    Ok(())
}

/// The file of the CUDA driver in use; loads the driver if necessary.
///
/// None if the driver did not come from a file. Raises CudaError if there is no driver.
///
/// >>> cuarray.driver_path()  # doctest: +SKIP
/// '/usr/lib/x86_64-linux-gnu/libcuda.so.1'
#[pyfunction]
pub(in crate::python) fn driver_path() -> Result<Option<String>> {
    Ok(driver()?.path().map(|path| path.to_string_lossy().into_owned()))
}

/// The number of events that the package and Rust extensions keep to use again. They are no leak.
///
/// >>> cuarray._core.idle_events() >= 0
/// True
#[pyfunction]
pub(in crate::python) fn idle_events(py: Python<'_>) -> PyResult<usize> {
    let others: PyResult<usize> =
        MODULES.others(py)?.iter().map(|functions| functions.get_item(1)?.call0()?.extract::<usize>()).sum();
    Ok(idle_events_own() + others?)
}

/// `idle_events` for this module alone.
#[pyfunction]
pub(in crate::python) fn idle_events_own() -> usize {
    DRIVER.get().map_or(0, Driver::idle_events)
}
