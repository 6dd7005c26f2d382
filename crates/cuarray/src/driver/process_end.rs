//! Process exit: after the driver has shut down, this crate does not call it.
//!
//! A driver registers its shutdown with the C library, which runs exit functions in reverse order of registration.
//! Destructors of libraries that registered earlier run after the shutdown and may drop arrays; threads may also
//! still run. The real driver returns `CUDA_ERROR_DEINITIALIZED` to them, unless it is in the middle of its shutdown.
//! So this module registers a function as soon as a driver is initialized. The function runs before the driver's
//! shutdown, and later calls return that code without a driver call.
//!
//! An interpreter's finalization comes before process exit: the driver still frees the interpreter's arrays.

use std::sync::{
    Once,
    atomic::{AtomicBool, Ordering::Relaxed},
};

static ENDED: AtomicBool = AtomicBool::new(false);

/// Registers the exit function, once a driver is initialized. One registration suffices, because a process has one
/// driver.
pub(super) fn watch() {
    extern "C" fn end() {
        ENDED.store(true, Relaxed);
    }
    static WATCHED: Once = Once::new();
    // SAFETY: the C library calls and drops the function if this library is unloaded. If registration fails, calls reach the
    // driver, which returns its own code.
    WATCHED.call_once(|| _ = unsafe { libc::atexit(end) });
}

/// Whether the driver has shut down, or is about to.
#[inline]
pub(crate) fn has_come() -> bool {
    ENDED.load(Relaxed)
}
