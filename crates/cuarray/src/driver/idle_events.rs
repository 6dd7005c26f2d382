//! [`IdleEvents`]: what an event pool holds.
//!
//! It is apart from the pool, and takes its lock from its parent module, so that a test can put `loom`'s in its place and try every
//! interleaving of threads (`tests/event_pool_model.rs`).

use super::sync::{Mutex, PoisonError};

/// How many idle events a context keeps: an exchange of arrays needs one per stream that it joins, and few need more
/// than this.
pub(super) const CAPACITY: usize = 64;

/// Events that nobody uses, at most [`CAPACITY`]. They are owned here: whoever takes one has it alone, until it is put back.
pub(super) struct IdleEvents<T>(Mutex<Vec<T>>);

impl<T> Default for IdleEvents<T> {
    fn default() -> IdleEvents<T> {
        IdleEvents(Mutex::new(Vec::new()))
    }
}

impl<T> IdleEvents<T> {
    fn with<R>(&self, work: impl FnOnce(&mut Vec<T>) -> R) -> R {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn len(&self) -> usize {
        self.with(|idle| idle.len())
    }

    pub(super) fn take(&self) -> Option<T> {
        self.with(Vec::pop)
    }

    /// The event again if there is no room; it is then the caller's still.
    pub(super) fn put(&self, event: T) -> Result<(), T> {
        self.with(|idle| {
            if idle.len() == CAPACITY {
                return Err(event);
            }
            idle.push(event);
            Ok(())
        })
    }

    pub(super) fn drain(&self) -> Vec<T> {
        self.with(std::mem::take)
    }
}
