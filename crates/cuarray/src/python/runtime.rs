//! The one driver of a Python process, loaded when something first needs it.

use crate::{
    Result,
    driver::{Context, Driver, PointerAttributes},
};
use pyo3::prelude::*;
use std::sync::OnceLock;

static DRIVER: OnceLock<Driver> = OnceLock::new();

/// The process's driver. A failure is not remembered: a simulated driver may be installed and the call made again.
pub(super) fn driver() -> Result<&'static Driver> {
    if let Some(driver) = DRIVER.get() {
        return Ok(driver);
    }
    let driver = Driver::load()?;
    Ok(DRIVER.get_or_init(|| driver))
}

/// A context of the device whose memory `pointer` is in: the current one if it is of that device, else the primary one; the
/// default one where the driver does not know the memory (clauses I6 and A1: the pointer decides on the device).
pub(super) fn context_of(pointer: u64) -> Result<Context> {
    let driver = driver()?;
    match PointerAttributes::query(driver, pointer)?.and_then(|attributes| attributes.device_ordinal) {
        Some(ordinal) => {
            let device = driver.device(ordinal)?;
            match driver.current_context()? {
                Some(current) if current.device()? == device => Ok(current),
                _ => device.primary_context(),
            }
        }
        None => driver.default_context(),
    }
}

/// The file of the CUDA driver that is in use; loads it if none is yet.
///
/// None where the driver did not come from a file. Raises CudaError where there is no driver.
///
/// >>> cuarray.driver_path()  # doctest: +SKIP
/// '/usr/lib/x86_64-linux-gnu/libcuda.so.1'
#[pyfunction]
pub(super) fn driver_path() -> Result<Option<String>> {
    Ok(driver()?.path().map(|path| path.to_string_lossy().into_owned()))
}

/// How many events the package keeps for its next exchange; what counts events takes these for no leak.
///
/// >>> cuarray._core.idle_events() >= 0
/// True
#[pyfunction]
pub(super) fn idle_events() -> usize {
    DRIVER.get().map_or(0, Driver::idle_events)
}
