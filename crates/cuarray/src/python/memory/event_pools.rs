//! One pool of events for all extension modules of a process: the pool of the module that first loads a driver.

use crate::{
    driver::{Driver, SharedPools},
    python::ffi::shared::Shared,
};
use pyo3::prelude::*;
use std::{
    mem::MaybeUninit,
    panic::{UnwindSafe, catch_unwind},
    sync::OnceLock,
};

/// The table with the event pools of the process's driver. The function writes them, and returns 0 without a driver. It is called with the GIL held.
#[repr(C)]
pub(in crate::python) struct EventPools {
    pub(super) event_pools: unsafe extern "C" fn(*mut SharedPools) -> i32,
}

/// Makes this module's driver use the events of the module that has published the table.
pub(super) fn share(py: Python<'_>, shared: &Shared<EventPools>, driver: &Driver) -> PyResult<()> {
    if let Some(table) = shared.of_another(py)? {
        let mut pools = MaybeUninit::uninit();
        // SAFETY: this thread is attached; `pools` has room for the result.
        if unsafe { (table.event_pools)(pools.as_mut_ptr()) } != 0 {
            // SAFETY: the function has written the pools.
            driver.share_events(unsafe { pools.assume_init() });
        }
    }
    Ok(())
}

/// Writes the pools of this module's driver; returns 0 without a driver.
///
/// # Safety
/// `pools` may be written.
pub(super) unsafe fn give(
    pools: *mut SharedPools,
    driver: impl FnOnce() -> Option<&'static Driver> + UnwindSafe,
) -> i32 {
    static POOLS: OnceLock<SharedPools> = OnceLock::new();
    let found = catch_unwind(|| {
        let driver = driver()?;
        Some(*POOLS.get_or_init(|| driver.shared_pools()))
    });
    match found {
        Ok(Some(shared)) => {
            // SAFETY: this function's contract.
            unsafe { pools.write(shared) };
            1
        }
        _ => 0,
    }
}
