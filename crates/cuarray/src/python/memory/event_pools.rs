//! One pool of events for all extension modules of a process: the pool of the module that first loads a driver.

use super::runtime;
use crate::{
    driver::{Driver, SharedPools},
    python::ffi::shared::Shared,
};
use pyo3::prelude::*;
use std::{mem::MaybeUninit, panic::catch_unwind, sync::OnceLock};

/// The table with the event pools of the process's driver. The function writes them, and returns 0 without a driver. It is called with the GIL held.
#[repr(C)]
pub(in crate::python) struct EventPools {
    event_pools: unsafe extern "C" fn(*mut SharedPools) -> i32,
}

/// The pools that all modules use.
pub(in crate::python) static EVENT_POOLS: Shared<EventPools> =
    Shared::new(c"cuarray.event_pools.v1", &EventPools { event_pools });

/// Makes this module's driver use the events of the module that has published the table.
pub(super) fn share(py: Python<'_>, driver: &Driver) -> PyResult<()> {
    if let Some(table) = EVENT_POOLS.of_another(py)? {
        let mut pools = MaybeUninit::uninit();
        // SAFETY: this thread is attached; `pools` has room for the result.
        if unsafe { (table.event_pools)(pools.as_mut_ptr()) } != 0 {
            // SAFETY: the function has written the pools.
            driver.share_events(unsafe { pools.assume_init() });
        }
    }
    Ok(())
}

/// [`EventPools::event_pools`] of this module.
///
/// # Safety
/// `pools` may be written.
unsafe extern "C" fn event_pools(pools: *mut SharedPools) -> i32 {
    static POOLS: OnceLock<SharedPools> = OnceLock::new();
    let found = catch_unwind(|| {
        let driver = runtime::driver().ok()?;
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
