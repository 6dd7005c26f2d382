//! Noticing `fork`: a CUDA driver does not survive one.
//!
//! The child has the parent's memory but none of its threads, and perhaps a lock that nobody will ever release. Real
//! drivers answer `CUDA_ERROR_NOT_INITIALIZED` to everything there. So a handler that the C library runs in the child
//! advances a generation, and a driver that was initialized in an earlier generation answers nothing else. A program
//! that forks first and initializes afterwards is unharmed.

use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};

static GENERATION: AtomicU64 = AtomicU64::new(1);
static WATCHED: Once = Once::new();

extern "C" fn in_the_child() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
}

/// The generation of this process; never 0.
pub(crate) fn generation() -> u64 {
    GENERATION.load(Ordering::Relaxed)
}

/// Starts to notice forks.
pub(crate) fn watch() {
    WATCHED.call_once(|| {
        // SAFETY: the handler is a function of this library, which stays loaded while the process lives (a Rust
        // library with thread-locals is never unloaded), and does nothing but an atomic addition.
        unsafe { libc::pthread_atfork(None, None, Some(in_the_child)) };
    });
}
