//! Event pools shared between copies of this crate, so that the extension modules of a process do not need one each.
//!
//! The copies call each other through C functions only, so they may differ in version and compiler. An event belongs
//! to the driver, and its handle is valid in all copies. A pool belongs to a context. A copy that uses the pool keeps
//! it open, so that it is not destroyed; closing only ends this use.

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

/// The functions of the copy that owns the pools. They may be called in any thread.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(feature = "python"), allow(dead_code))]
pub(crate) struct SharedPools {
    /// The address of the driver's `cuInit`: events of another driver cannot be used.
    driver: usize,
    /// The argument of `open`; valid until the process exits.
    keeper: *const c_void,
    /// Opens the pool of a context; null if there is none.
    open: unsafe extern "C" fn(keeper: *const c_void, CUcontext) -> *mut c_void,
    /// Closes an open pool.
    close: unsafe extern "C" fn(*mut c_void),
    /// Takes an event from an open pool; null if it is empty.
    take: unsafe extern "C" fn(*mut c_void) -> CUevent,
    /// Puts an event into an open pool. Returns 0 if the pool is full; the caller then keeps the event.
    put: unsafe extern "C" fn(*mut c_void, CUevent) -> i32,
}

// SAFETY: the functions may be called in any thread.
unsafe impl Send for SharedPools {}
// SAFETY: as above.
unsafe impl Sync for SharedPools {}

/// The idle events of a context: its own, or a shared pool's.
pub(super) enum Idle {
    Own(IdleEvents<CUevent>),
    Shared(SharedPool),
}

/// An open shared pool.
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
            // SAFETY: the functions come from a table that another copy of this crate published for this use.
            let pool = NonNull::new(unsafe { (functions.open)(functions.keeper, context) })?;
            Some(Idle::Shared(SharedPool { functions: *functions, pool }))
        };
        functions.and_then(open).unwrap_or_else(|| Idle::Own(IdleEvents::default()))
    }

    /// The number of idle events in an own pool. The copy that owns a shared pool counts its events.
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

    /// Returns an event to the pool. If the pool is full, the event is the error value.
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
        // SAFETY: this object opened the pool, and closes it once.
        unsafe { (self.functions.close)(self.pool.as_ptr()) };
    }
}

#[cfg(feature = "python")]
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
        // SAFETY: the pool came from `open`, and is closed once.
        drop(unsafe { Box::from_raw(pool.cast::<Context>()) });
    });
}

/// # Safety
/// The pool is open.
#[cfg(feature = "python")]
unsafe extern "C" fn take(pool: *mut c_void) -> CUevent {
    // SAFETY: the pool came from `open`, and is not closed yet.
    let context = unsafe { &*pool.cast::<Context>() };
    let taken = catch_unwind(AssertUnwindSafe(|| context.idle_events().take()));
    taken.ok().flatten().unwrap_or(CUevent::NULL)
}

/// # Safety
/// The pool is open; the caller owns the event, which belongs to the pool's context.
#[cfg(feature = "python")]
unsafe extern "C" fn put(pool: *mut c_void, event: CUevent) -> i32 {
    // SAFETY: the pool came from `open`, and is not closed yet.
    let context = unsafe { &*pool.cast::<Context>() };
    let put = catch_unwind(AssertUnwindSafe(|| context.idle_events().put(event)));
    i32::from(matches!(put, Ok(Ok(()))))
}
