//! Noticing `fork`: a CUDA driver does not survive one.
//!
//! The child has the parent's memory but none of its threads, and perhaps a lock that nobody will ever release. Real
//! drivers answer `CUDA_ERROR_NOT_INITIALIZED` to everything there. So a handler that the C library runs in the child
//! advances a generation, and a driver that was initialized in an earlier generation answers nothing else. A program
//! that forks first and initializes afterwards is unharmed.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

static GENERATION: AtomicU64 = AtomicU64::new(1);
static WATCHED: AtomicBool = AtomicBool::new(false);

extern "C" fn in_the_child() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
}

/// The generation of this process; never 0.
pub(crate) fn generation() -> u64 {
    GENERATION.load(Ordering::Relaxed)
}

/// Starts to notice forks.
///
/// No lock decides who registers the handler: a thread may fork while another is here, and its child would wait for a
/// thread that it does not have. Two handlers instead of one do no harm.
pub(crate) fn watch() {
    if !WATCHED.load(Ordering::Acquire) {
        // SAFETY: the handler is a function of this library, which stays loaded while the process lives (a Rust
        // library with thread-locals is never unloaded), and does nothing but an atomic addition.
        unsafe { libc::pthread_atfork(None, None, Some(in_the_child)) };
        WATCHED.store(true, Ordering::Release);
    }
}
