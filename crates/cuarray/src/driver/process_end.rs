//! Process exit: once the driver has shut down, it is not called any more.
//!
//! A driver registers its shutdown with the C library, which runs exit functions in reverse order of registration. Destructors of
//! libraries that registered earlier run after it and may drop arrays; threads may also still run. The real driver answers their
//! calls with `CUDA_ERROR_DEINITIALIZED`, unless it is in the middle of its shutdown. So this module registers a function as soon as
//! a driver is initialized. It runs before the driver's shutdown, and later calls return that code here.
//!
//! An interpreter's finalization comes before process exit: the driver still frees the interpreter's arrays.

use std::sync::{
    Once,
    atomic::{AtomicBool, Ordering::Relaxed},
};

static ENDED: AtomicBool = AtomicBool::new(false);

/// Registers the exit function, once a driver is initialized. One registration suffices, as a process has one driver.
pub(super) fn watch() {
    extern "C" fn end() {
        ENDED.store(true, Relaxed);
    }
    static WATCHED: Once = Once::new();
    // SAFETY: the C library calls and drops the function if this library is unloaded. If registration fails, calls reach the
    // driver, which answers them itself.
    WATCHED.call_once(|| _ = unsafe { libc::atexit(end) });
}

/// Whether the driver has shut down, or is about to.
#[inline]
pub(crate) fn has_come() -> bool {
    ENDED.load(Relaxed)
}
