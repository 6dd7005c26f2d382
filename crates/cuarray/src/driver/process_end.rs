//! When the process ends, the driver goes before much else does, and is not called from then on.
//!
//! A driver has its own end among the functions that the C library runs at exit, the last registered first. What was registered
//! before it runs after it: destructors of other libraries, which may drop arrays; and threads that nobody has stopped are at
//! work all the while. The real driver answers such calls `CUDA_ERROR_DEINITIALIZED`, if it is not in the middle of its end. So a
//! function is registered as soon as a driver is initialized, which runs before the driver's own, and whatever comes later is
//! answered here.
//!
//! An interpreter that finalizes is no such end: it does so before the process exits, and its arrays are freed by the driver.

use std::sync::{
    Once,
    atomic::{AtomicBool, Ordering::Relaxed},
};

static ENDED: AtomicBool = AtomicBool::new(false);

/// Has the end noticed, of a driver that has just been initialized. The first one's is that of all: a process has one driver.
pub(super) fn watch() {
    extern "C" fn end() {
        ENDED.store(true, Relaxed);
    }
    static WATCHED: Once = Once::new();
    // SAFETY: the C library forgets the function should this library be unloaded, after it has called it. Where there is no room for
    // it, the driver's own answer is all there is.
    WATCHED.call_once(|| _ = unsafe { libc::atexit(end) });
}

/// Whether the driver has gone, or is about to.
#[inline]
pub(crate) fn has_come() -> bool {
    ENDED.load(Relaxed)
}
