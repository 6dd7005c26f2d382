//! Leaving out one ordering call, to see whether anything needs it.
//!
//! Whoever writes ordering code wants to know of each edge that it matters: without it, some test must find a race. So a tool
//! may ask for the *n*-th ordering call from now on to do nothing and answer success. It then has no effect on when work runs and
//! puts nothing before anything. The calls of one library alone can be meant, so that a sweep over a library's calls
//! passes over those of the test around it.

use cuarray_races::site::Site;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

#[derive(Default)]
struct Watch {
    /// Which call is left out, counted from 1; 0 for none.
    nth: u64,
    /// Whose calls are meant; everybody's if `None`.
    library: Option<String>,
    made: u64,
    dropped: bool,
}

/// The ordering calls of one driver, from when somebody asked for them.
#[derive(Default)]
pub(crate) struct OrderingCalls {
    watched: AtomicBool,
    watch: Mutex<Watch>,
}

impl OrderingCalls {
    /// Counts from now on, and leaves out the `nth` call (none for 0) among those of a library, by the name that sites give it, or all.
    pub(crate) fn drop_nth(&self, nth: u64, library: Option<String>) {
        *self.watch.lock().unwrap_or_else(PoisonError::into_inner) = Watch { nth, library, ..Watch::default() };
        self.watched.store(true, Ordering::Release);
    }

    /// How many were made since, the one left out included, and whether one was left out.
    pub(crate) fn made(&self) -> (u64, bool) {
        let watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner);
        (watch.made, watch.dropped)
    }

    /// Whether the ordering call that is being made is to be left out.
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
