//! The state of a thread: its last error, its device, and whether it has a context.

use crate::result::cudaError_t;
use std::cell::Cell;

/// The state of the calling thread. It needs no destructor, so calls work while the thread ends.
pub(crate) struct Thread {
    /// The error that `cudaGetLastError` returns.
    pub(crate) last: Cell<cudaError_t>,
    /// The device that `cudaSetDevice` chose.
    pub(crate) device: Cell<i32>,
    /// The [generation](crate::context) of contexts in which a context was current; 0 if none was yet.
    pub(crate) bound: Cell<u64>,
}

thread_local! {
    static THREAD: Thread = const { Thread { last: Cell::new(cudaError_t::cudaSuccess), device: Cell::new(0), bound: Cell::new(0) } };
}

/// Calls `f` with the state of the calling thread.
#[inline]
pub(crate) fn with<T>(f: impl FnOnce(&Thread) -> T) -> T {
    THREAD.with(f)
}

/// Makes an error the last error of the thread, and returns it.
///
/// `cudaErrorNotReady` is a result and no error: a program that polls a stream must not find it in an unrelated check.
#[inline]
pub(crate) fn remember(error: cudaError_t) -> cudaError_t {
    if error != cudaError_t::cudaSuccess && error != cudaError_t::cudaErrorNotReady {
        with(|thread| thread.last.set(error));
    }
    error
}
