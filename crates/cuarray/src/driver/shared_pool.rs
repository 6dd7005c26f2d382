//! Event pools shared between copies of this crate, so that the extension modules of a process do not need one each.
//!
//! The copies call each other through C functions only, so they may differ in version and compiler. An event belongs
//! to the driver, and its handle is valid in all copies. A pool belongs to a context. A copy that uses the pool keeps
//! it open, so that it is not destroyed; closing only ends this use.

use super::idle_events::IdleEvents;
use cuarray_abi::{CUcontext, CUevent};
use std::{ffi::c_void, ptr::NonNull};

/// The functions of the copy that owns the pools. They may be called in any thread.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(feature = "python"), allow(dead_code))]
pub(crate) struct SharedPools {
    /// The address of the driver's `cuInit`: events of another driver cannot be used.
    pub(super) driver: usize,
    /// The argument of `open`; valid until the process exits.
    pub(super) keeper: *const c_void,
    /// Opens the pool of a context; null if there is none.
    pub(super) open: unsafe extern "C" fn(keeper: *const c_void, CUcontext) -> *mut c_void,
    /// Closes an open pool.
    pub(super) close: unsafe extern "C" fn(*mut c_void),
    /// Takes an event from an open pool; null if it is empty.
    pub(super) take: unsafe extern "C" fn(*mut c_void) -> CUevent,
    /// Puts an event into an open pool. Returns 0 if the pool is full; the caller then keeps the event.
    pub(super) put: unsafe extern "C" fn(*mut c_void, CUevent) -> i32,
}

// SAFETY: the functions may be called in any thread.
unsafe impl Send for SharedPools {}
// SAFETY: the functions may be called in any thread.
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
// SAFETY: the functions may be called in any thread.
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
