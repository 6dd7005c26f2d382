//! Detection of `fork`, after which a CUDA driver cannot be used.
//!
//! The child has the parent's memory but not its threads, and perhaps a lock that is never released. In the child,
//! real drivers return `CUDA_ERROR_NOT_INITIALIZED` from every call. So a handler that the C library runs in the
//! child increments a generation, and a driver that was initialized in an earlier generation returns that error. A
//! program that forks first and initializes afterwards is not affected.

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

/// Starts to detect forks.
///
/// Registration takes no lock. A thread may fork while another thread holds such a lock, and the child would wait
/// forever. Registering two handlers does no harm.
pub(crate) fn watch() {
    if !WATCHED.load(Ordering::Acquire) {
        // SAFETY: the handler is a function of this library, which stays loaded while the process lives (a Rust library
        // with thread-locals is never unloaded), and only makes an atomic addition.
        unsafe { libc::pthread_atfork(None, None, Some(in_the_child)) };
        WATCHED.store(true, Ordering::Release);
    }
}
