//! Dropping one ordering call, to test whether it is needed.
//!
//! If an edge is needed, some test must find a race without it. To check that, a tool can drop the *n*-th ordering
//! call. The dropped call returns success, but neither runs work nor orders
//! anything. The count can be limited to the calls of one library, so that a sweep over that library skips the calls
//! of the test itself.

use cuarray_races::site::Site;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

#[derive(Default)]
struct Watch {
    /// The index of the call to drop, counted from 1; 0 for none.
    nth: u64,
    /// The library whose calls count; all if `None`.
    library: Option<String>,
    made: u64,
    dropped: bool,
}

/// The ordering calls of one driver since the counting began.
#[derive(Default)]
pub(crate) struct OrderingCalls {
    watched: AtomicBool,
    watch: Mutex<Watch>,
}

impl OrderingCalls {
    /// Starts counting, and drops call number `nth` (0 for none). `library` limits the count to the calls of one
    /// library, by its name in sites; `None` counts all calls.
    pub(crate) fn drop_nth(&self, nth: u64, library: Option<String>) {
        *self.watch.lock().unwrap_or_else(PoisonError::into_inner) = Watch { nth, library, ..Watch::default() };
        self.watched.store(true, Ordering::Release);
    }

    /// The number of ordering calls since the counting began, including a dropped call, and whether a call was
    /// dropped.
    pub(crate) fn made(&self) -> (u64, bool) {
        let watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner);
        (watch.made, watch.dropped)
    }

    /// Whether to drop the current ordering call.
    pub(crate) fn leaves_out(&self, site: &Site) -> bool {
        if !self.watched.load(Ordering::Acquire) {
            return false;
        }
        let mut watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner);
        if watch.library.is_some() && watch.library != site.library {
            return false;
        }
        watch.made += 1;
        let left_out = watch.made == watch.nth;
        watch.dropped |= left_out;
        left_out
    }
}
