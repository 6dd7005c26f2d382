//! The state of a host thread: its contexts, its number, and whether it runs a host function.
//!
//! According to the driver's manual, every host thread has its own stack of contexts and its own default stream. They must exist
//! until the very end of the thread, because destructors of other libraries' thread-local data may call the driver, in
//! any order. So the destructor of a pthread key frees them, after the destructors of `thread_local` data; in the main
//! thread they are never freed. After that, [`with`] returns `None`, and a call returns `CUDA_ERROR_DEINITIALIZED`.

use cuarray_abi::{CUcontext, CUstreamCaptureMode};
use cuarray_races::Caller;
use cuarray_races::site::Site;
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::panic::catch_unwind;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// One host thread.
pub(crate) struct Thread {
    /// A number that is unique among the threads of this process.
    pub number: u64,
    /// The drivers entered with [`crate::Sim::enter`], the innermost last. They are `dyn Any` because this module
    /// does not depend on the driver.
    pub entered: RefCell<Vec<Arc<dyn Any + Send + Sync>>>,
    /// Whether a host function is running in this thread.
    pub in_host_function: Cell<bool>,
    /// The thread's mode for unsafe calls during captures (`cuThreadExchangeStreamCaptureMode`).
    pub capture_mode: Cell<CUstreamCaptureMode>,
    /// The current call of this thread, while findings are on or a timeline is written.
    pub caller: RefCell<Option<Caller>>,
    /// The call of a library whose calls of the driver this thread makes.
    pub library_call: RefCell<Option<LibraryCall>>,
    /// The name of the runtime's function whose calls of the driver this thread makes, as an address and a length; the name lives during
    /// that function.
    pub runtime_call: Cell<Option<(*const u8, usize)>>,
    /// The number by which the work that the current call enqueued names it in the timeline.
    pub flow: Cell<Option<u64>>,
    /// The context stack for each driver (by its number) that this thread has used.
    stacks: RefCell<Vec<(u64, Vec<CUcontext>)>>,
}

/// A call of a library that a stand-in implements by calls of the driver. Findings name it in place of those.
#[derive(Clone)]
pub(crate) struct LibraryCall {
    /// The library's function.
    pub name: &'static str,
    /// The call site of the function.
    pub site: Arc<Site>,
    /// The function's argument that the present call of the driver reads or writes.
    pub argument: Option<Arc<str>>,
    /// Whether the function may not use the bytes that it reads, so that unwritten ones are no finding.
    pub may_ignore: bool,
}

static NEXT: AtomicU64 = AtomicU64::new(1);

/// The threads by the ids of the operating system; entries of ended threads stay until the id is reused.
static NUMBERS: Mutex<BTreeMap<i32, u64>> = Mutex::new(BTreeMap::new());

/// The number of the thread that has, or last had, the operating system's id `tid`.
pub(crate) fn number_of(tid: i32) -> u64 {
    let mut numbers = NUMBERS.lock().unwrap_or_else(PoisonError::into_inner);
    *numbers.entry(tid).or_insert_with(|| NEXT.fetch_add(1, Ordering::Relaxed))
}

/// A number for the calling thread.
fn new_number() -> u64 {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    // SAFETY: the call has no preconditions.
    let tid = unsafe { libc::gettid() };
    NUMBERS.lock().unwrap_or_else(PoisonError::into_inner).insert(tid, number);
    number
}

thread_local! {
    /// The thread's state after its first call; not dropped by a Rust destructor.
    static OWN: Cell<*const Thread> = const { Cell::new(ptr::null()) };
}

/// The value of `OWN` after the thread's end.
const OVER: *const Thread = ptr::without_provenance(usize::MAX);

/// Creates the state of the calling thread.
#[cold]
fn begin() -> *const Thread {
    static KEY: OnceLock<Option<libc::pthread_key_t>> = OnceLock::new();
    let thread = Box::into_raw(Box::new(Thread {
        number: new_number(),
        entered: RefCell::default(),
        in_host_function: Cell::new(false),
        capture_mode: Cell::new(cuarray_abi::CU_STREAM_CAPTURE_MODE_GLOBAL),
        caller: RefCell::default(),
        library_call: RefCell::default(),
        runtime_call: Cell::default(),
        flow: Cell::default(),
        stacks: RefCell::default(),
    }));
    OWN.set(thread);
    let new_key = || {
        let mut key = 0;
        // SAFETY: the key is written; the function belongs to this library, which stays loaded.
        (unsafe { libc::pthread_key_create(&mut key, Some(end)) } == 0).then_some(key)
    };
    if let Some(key) = KEY.get_or_init(new_key) {
        // SAFETY: the key was created. If the value cannot be stored, the state is never freed.
        unsafe { libc::pthread_setspecific(*key, thread.cast()) };
    }
    thread
}

/// Frees the state of the calling thread, at its end.
extern "C" fn end(thread: *mut c_void) {
    OWN.set(OVER);
    // This may drop a driver that a test has entered. No panic may unwind into the C library.
    // SAFETY: `begin` created the pointer, and nothing else holds it any more.
    let _ = catch_unwind(|| drop(unsafe { Box::from_raw(thread.cast::<Thread>()) }));
}

/// Calls `f` with the calling thread's state; `None` after its end.
pub(crate) fn with<R>(f: impl FnOnce(&Thread) -> R) -> Option<R> {
    let mut state = OWN.get();
    if state.is_null() {
        state = begin();
    } else if state == OVER {
        return None;
    }
    // SAFETY: the state lives until `end`, which does not run during a call of this thread.
    Some(f(unsafe { &*state }))
}

/// The current call of this thread; `None` outside of calls, and while findings are off.
pub(crate) fn caller() -> Option<Caller> {
    with(|thread| thread.caller.borrow().clone()).flatten()
}

/// The library call that this thread is in.
pub(crate) fn library_call() -> Option<LibraryCall> {
    with(|thread| thread.library_call.borrow().clone()).flatten()
}

/// Whether this thread is in a library call.
pub(crate) fn is_in_library_call() -> bool {
    with(|thread| thread.library_call.borrow().is_some()).unwrap_or(false)
}

/// Calls `f` with `caller` as this thread's current call.
pub(crate) fn while_calling<R>(caller: Option<Caller>, f: impl FnOnce() -> R) -> R {
    let replace = |caller| with(|thread| thread.caller.replace(caller)).flatten();
    let previous = replace(caller);
    let result = f();
    replace(previous);
    result
}

/// Calls `f` with the calling thread's context stack for the driver with this number.
pub(crate) fn with_contexts<R>(driver: u64, f: impl FnOnce(&mut Vec<CUcontext>) -> R) -> Option<R> {
    with(|thread| {
        let mut stacks = thread.stacks.borrow_mut();
        let index = match stacks.iter().position(|(owner, _)| *owner == driver) {
            Some(index) => index,
            None => {
                // Most of these drivers no longer exist, and each call searches the list.
                stacks.retain(|(_, stack)| !stack.is_empty());
                stacks.push((driver, Vec::new()));
                stacks.len() - 1
            }
        };
        f(&mut stacks[index].1)
    })
}
