//! Pools of events that another copy of this crate keeps: extension modules of one process need not have one each.
//!
//! Each copy knows the other by C functions alone, so that they may be of different versions and compilers. An event is the driver's, and
//! a handle to all of them. A pool belongs to a context and is held open by whoever uses it, so that it is not destroyed under
//! them; to close it is no more than to let go.

use super::idle_events::IdleEvents;
#[cfg(feature = "python")]
use super::{Context, Driver};
use cuarray_abi::{CUcontext, CUevent};
use std::{ffi::c_void, ptr::NonNull};
#[cfg(feature = "python")]
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    ptr,
};

/// The functions of whoever keeps the pools. They may be called in any thread.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(feature = "python"), allow(dead_code))]
pub(crate) struct SharedPools {
    /// The address of the driver's `cuInit`: events of another driver are of no use.
    driver: usize,
    /// Whatever `open` needs; it lives as long as the process.
    keeper: *const c_void,
    /// The pool of a context, which is then open; null if there is none.
    open: unsafe extern "C" fn(keeper: *const c_void, CUcontext) -> *mut c_void,
    /// Closes an open pool.
    close: unsafe extern "C" fn(*mut c_void),
    /// Takes an event out of an open pool; null if it is empty.
    take: unsafe extern "C" fn(*mut c_void) -> CUevent,
    /// Puts an event into an open pool; 0 if there is no room, and the event is the caller's still.
    put: unsafe extern "C" fn(*mut c_void, CUevent) -> i32,
}

// SAFETY: the functions may be called in any thread.
unsafe impl Send for SharedPools {}
// SAFETY: as above.
unsafe impl Sync for SharedPools {}

/// The idle events of a context: its own, or those of a pool that somebody else keeps.
pub(super) enum Idle {
    Own(IdleEvents<CUevent>),
    Shared(SharedPool),
}

/// A pool that is open.
pub(super) struct SharedPool {
    functions: SharedPools,
    pool: NonNull<c_void>,
}

// SAFETY: the functions may be called in any thread.
unsafe impl Send for SharedPool {}
// SAFETY: as above.
unsafe impl Sync for SharedPool {}

impl Idle {
    pub(super) fn of(functions: Option<&SharedPools>, context: CUcontext) -> Idle {
        let open = |functions: &SharedPools| {
            // SAFETY: the functions are those of a table that somebody published for this.
            let pool = NonNull::new(unsafe { (functions.open)(functions.keeper, context) })?;
            Some(Idle::Shared(SharedPool { functions: *functions, pool }))
        };
        functions.and_then(open).unwrap_or_else(|| Idle::Own(IdleEvents::default()))
    }

    /// How many there are; those of somebody else are counted there.
    pub(super) fn len(&self) -> usize {
        match self {
            Idle::Own(events) => events.len(),
            Idle::Shared(_) => 0,
        }
    }

    pub(super) fn take(&self) -> Option<CUevent> {
        match self {
            Idle::Own(events) => events.take(),
            Idle::Shared(SharedPool { functions, pool }) => {
                // SAFETY: the pool is open.
                let event = unsafe { (functions.take)(pool.as_ptr()) };
                (!event.is_null()).then_some(event)
            }
        }
    }

    /// The event again if there is no room; it is then the caller's still.
    pub(super) fn put(&self, event: CUevent) -> Result<(), CUevent> {
        match self {
            Idle::Own(events) => events.put(event),
            Idle::Shared(SharedPool { functions, pool }) => {
                // SAFETY: the pool is open.
                let taken = unsafe { (functions.put)(pool.as_ptr(), event) };
                if taken == 0 { Err(event) } else { Ok(()) }
            }
        }
    }

    pub(super) fn drain(&self) -> Vec<CUevent> {
        match self {
            Idle::Own(events) => events.drain(),
            Idle::Shared(_) => Vec::new(),
        }
    }
}

impl Drop for SharedPool {
    fn drop(&mut self) {
        // SAFETY: the pool is open, and this is the one who opened it.
        unsafe { (self.functions.close)(self.pool.as_ptr()) };
    }
}

#[cfg(feature = "python")]
impl Driver {
    /// From now on the events of contexts that are met for the first time come from somebody else's pools; where they are of another
    /// driver, nothing changes.
    pub(crate) fn share_events(&self, pools: SharedPools) {
        if pools.driver == self.identity() {
            // Whoever came first stays.
            let _ = self.0.table.pools.set(pools);
        }
    }

    fn identity(&self) -> usize {
        self.api().cuInit.map_or(0, |function| function as usize)
    }

    /// This driver's pools, for others. They are kept for as long as the process lives.
    pub(crate) fn shared_pools(&self) -> SharedPools {
        let keeper = Box::into_raw(Box::new(self.clone())).cast_const().cast();
        SharedPools { driver: self.identity(), keeper, open, close, take, put }
    }
}

/// # Safety
/// As [`SharedPools`] says of `open`.
#[cfg(feature = "python")]
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
#[cfg(feature = "python")]
unsafe extern "C" fn close(pool: *mut c_void) {
    let _ = catch_unwind(|| {
        // SAFETY: it came from `open`, and this is its end.
        drop(unsafe { Box::from_raw(pool.cast::<Context>()) });
    });
}

/// # Safety
/// The pool is open.
#[cfg(feature = "python")]
unsafe extern "C" fn take(pool: *mut c_void) -> CUevent {
    // SAFETY: it came from `open`, and nobody has closed it.
    let context = unsafe { &*pool.cast::<Context>() };
    let taken = catch_unwind(AssertUnwindSafe(|| context.idle_events().take()));
    taken.ok().flatten().unwrap_or(CUevent::NULL)
}

/// # Safety
/// The pool is open, and the event is the caller's and of its context.
#[cfg(feature = "python")]
unsafe extern "C" fn put(pool: *mut c_void, event: CUevent) -> i32 {
    // SAFETY: it came from `open`, and nobody has closed it.
    let context = unsafe { &*pool.cast::<Context>() };
    let put = catch_unwind(AssertUnwindSafe(|| context.idle_events().put(event)));
    i32::from(matches!(put, Ok(Ok(()))))
}
