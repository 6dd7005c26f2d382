//! What belongs to one host thread: its contexts, its number, and whether it is inside a host function.
//!
//! The driver's manual gives every host thread a stack of contexts and a default stream of its own. Late in a thread's
//! end, and at the process's exit, its thread-local storage is gone while some finalizer still calls; [`with`] then
//! answers `None`, and the call ends with `CUDA_ERROR_DEINITIALIZED` instead of a crash.

use crate::check::Caller;
use crate::driver::Driver;
use cuarray_abi::{CUcontext, CUstreamCaptureMode};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// One host thread.
pub(crate) struct Thread {
    /// A number that no other thread of this process has had.
    pub number: u64,
    /// The drivers that [`crate::Sim::enter`] has put before the process's own, the innermost last.
    pub entered: RefCell<Vec<Arc<Driver>>>,
    /// Whether a host function is running in this thread.
    pub in_host_function: Cell<bool>,
    /// How much captures keep this thread from (`cuThreadExchangeStreamCaptureMode`).
    pub capture_mode: Cell<CUstreamCaptureMode>,
    /// The call that this thread is in, while findings are on.
    pub caller: RefCell<Option<Caller>>,
    /// The context stack for each driver (by its number) that this thread has used.
    stacks: RefCell<Vec<(u64, Vec<CUcontext>)>>,
}

static NEXT: AtomicU64 = AtomicU64::new(1);

/// The threads by the system's numbers; those of threads that have ended stay until they are used again.
static NUMBERS: Mutex<BTreeMap<i32, u64>> = Mutex::new(BTreeMap::new());

/// The number of the thread to which the system has given `own`, now or last.
pub(crate) fn number_of(own: i32) -> u64 {
    let mut numbers = NUMBERS.lock().unwrap_or_else(PoisonError::into_inner);
    *numbers.entry(own).or_insert_with(|| NEXT.fetch_add(1, Ordering::Relaxed))
}

/// A number for the calling thread.
fn new_number() -> u64 {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    // SAFETY: the call has no preconditions.
    let own = unsafe { libc::gettid() };
    NUMBERS.lock().unwrap_or_else(PoisonError::into_inner).insert(own, number);
    number
}

thread_local! {
    static THREAD: Thread = Thread {
        number: new_number(),
        entered: RefCell::default(),
        in_host_function: Cell::new(false),
        capture_mode: Cell::new(cuarray_abi::CU_STREAM_CAPTURE_MODE_GLOBAL),
        caller: RefCell::default(),
        stacks: RefCell::default(),
    };
}

/// Calls `f` with the calling thread; `None` where the thread's storage is gone already.
pub(crate) fn with<R>(f: impl FnOnce(&Thread) -> R) -> Option<R> {
    THREAD.try_with(f).ok()
}

/// The call that this thread is in; `None` outside of any, and while findings are off.
pub(crate) fn caller() -> Option<Caller> {
    with(|thread| thread.caller.borrow().clone()).flatten()
}

/// Calls `f` while this thread's call seems to be another one: that which `caller` says.
pub(crate) fn while_calling<R>(caller: Option<Caller>, f: impl FnOnce() -> R) -> R {
    let replace = |caller| with(|thread| thread.caller.replace(caller)).flatten();
    let own = replace(caller);
    let result = f();
    replace(own);
    result
}

/// Calls `f` with the calling thread's context stack for the driver of this number.
pub(crate) fn with_contexts<R>(driver: u64, f: impl FnOnce(&mut Vec<CUcontext>) -> R) -> Option<R> {
    with(|thread| {
        let mut stacks = thread.stacks.borrow_mut();
        let index = match stacks.iter().position(|(owner, _)| *owner == driver) {
            Some(index) => index,
            None => {
                stacks.push((driver, Vec::new()));
                stacks.len() - 1
            }
        };
        f(&mut stacks[index].1)
    })
}
