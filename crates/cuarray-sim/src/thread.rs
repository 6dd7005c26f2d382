//! What belongs to one host thread: its contexts, its number, and whether it is inside a host function.
//!
//! The driver's manual gives every host thread a stack of contexts and a default stream of its own. They are there until the very
//! end of the thread: what other libraries keep in a thread's own storage may call the driver when it goes, and that is in no
//! order that anybody chooses. So they are let go of by a key of the system's, whose turn comes after all destructors of the
//! languages; in the main thread, by nobody. Where something calls later still, [`with`] answers `None`, and the call ends with
//! `CUDA_ERROR_DEINITIALIZED`.

use crate::driver::Driver;
use cuarray_abi::{CUcontext, CUstreamCaptureMode};
use cuarray_races::Caller;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::panic::catch_unwind;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

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
    /// The thread's own, once it has called; no destructor of Rust's has to do with it.
    static OWN: Cell<*const Thread> = const { Cell::new(ptr::null()) };
}

/// In the place of a thread that is at its end.
const OVER: *const Thread = ptr::without_provenance(usize::MAX);

/// Begins with the calling thread.
fn begin() -> *const Thread {
    static KEY: OnceLock<Option<libc::pthread_key_t>> = OnceLock::new();
    let thread = Box::into_raw(Box::new(Thread {
        number: new_number(),
        entered: RefCell::default(),
        in_host_function: Cell::new(false),
        capture_mode: Cell::new(cuarray_abi::CU_STREAM_CAPTURE_MODE_GLOBAL),
        caller: RefCell::default(),
        stacks: RefCell::default(),
    }));
    OWN.set(thread);
    let new_key = || {
        let mut key = 0;
        // SAFETY: the key is written; the function is one of this library, which stays loaded.
        (unsafe { libc::pthread_key_create(&mut key, Some(end)) } == 0).then_some(key)
    };
    if let Some(key) = KEY.get_or_init(new_key) {
        // SAFETY: the key is one that was made. Where there is no room for the value, the thread is never let go of.
        unsafe { libc::pthread_setspecific(*key, thread.cast()) };
    }
    thread
}

/// Lets go of the calling thread, at its end.
extern "C" fn end(thread: *mut c_void) {
    OWN.set(OVER);
    // What goes with the thread may be a driver that a test has entered; nothing unwinds into the system.
    // SAFETY: the pointer is what `begin` has made, and nobody has it any more.
    let _ = catch_unwind(|| drop(unsafe { Box::from_raw(thread.cast::<Thread>()) }));
}

/// Calls `f` with the calling thread; `None` where it is at its end.
pub(crate) fn with<R>(f: impl FnOnce(&Thread) -> R) -> Option<R> {
    let mut own = OWN.get();
    if own.is_null() {
        own = begin();
    } else if own == OVER {
        return None;
    }
    // SAFETY: it lives until `end`, which no call of this thread's is in the middle of.
    Some(f(unsafe { &*own }))
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
