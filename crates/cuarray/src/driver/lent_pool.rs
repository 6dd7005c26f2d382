//! This copy's event pools, as other copies of this crate use them ([`SharedPools`]).

use super::{Context, Driver, SharedPools};
use cuarray_abi::{CUcontext, CUevent};
use std::{
    ffi::c_void,
    panic::{AssertUnwindSafe, catch_unwind},
    ptr,
};

impl Driver {
    /// Uses another copy's event pools for contexts that are first used later. Has no effect if the pools belong to
    /// another driver.
    pub(crate) fn share_events(&self, pools: SharedPools) {
        if pools.driver == self.identity() {
            // If pools were set before, they stay.
            let _ = self.0.table.pools.set(pools);
        }
    }

    fn identity(&self) -> usize {
        self.api().cuInit.map_or(0, |function| function as usize)
    }

    /// This driver's pools, for other copies. They live until the process exits.
    pub(crate) fn shared_pools(&self) -> SharedPools {
        let keeper = Box::into_raw(Box::new(self.clone())).cast_const().cast();
        SharedPools { driver: self.identity(), keeper, open, close, take, put }
    }
}

/// # Safety
/// As documented on [`SharedPools`], for `open`.
unsafe extern "C" fn open(keeper: *const c_void, context: CUcontext) -> *mut c_void {
    let opened = catch_unwind(|| {
        // SAFETY: the keeper is a driver that is never dropped.
        let driver = unsafe { &*keeper.cast::<Driver>() };
        Box::into_raw(Box::new(driver.borrow_context(context))).cast()
    });
    opened.unwrap_or(ptr::null_mut())
}

/// # Safety
/// The pool is open, and is not used again.
unsafe extern "C" fn close(pool: *mut c_void) {
    let _ = catch_unwind(|| {
        // SAFETY: the pool came from `open`, and is closed once.
        drop(unsafe { Box::from_raw(pool.cast::<Context>()) });
    });
}

/// # Safety
/// The pool is open.
unsafe extern "C" fn take(pool: *mut c_void) -> CUevent {
    // SAFETY: the pool came from `open`, and is not closed yet.
    let context = unsafe { &*pool.cast::<Context>() };
    let taken = catch_unwind(AssertUnwindSafe(|| context.idle_events().take()));
    taken.ok().flatten().unwrap_or(CUevent::NULL)
}

/// # Safety
/// The pool is open; the caller owns the event, which belongs to the pool's context.
unsafe extern "C" fn put(pool: *mut c_void, event: CUevent) -> i32 {
    // SAFETY: the pool came from `open`, and is not closed yet.
    let context = unsafe { &*pool.cast::<Context>() };
    let put = catch_unwind(AssertUnwindSafe(|| context.idle_events().put(event)));
    i32::from(matches!(put, Ok(Ok(()))))
}
