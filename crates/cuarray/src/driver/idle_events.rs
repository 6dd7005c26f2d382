//! [`IdleEvents`]: the contents of an event pool.
//!
//! The type is separate from the pool and takes its lock from the parent module. So a test can substitute `loom`'s
//! lock and try every interleaving of threads (`tests/event_pool_model.rs`).

use super::sync::Lock;

/// The maximum number of idle events of a context. An exchange of arrays needs one for each stream that it joins.
pub(super) const CAPACITY: usize = 64;

/// Events that are not in use, at most [`CAPACITY`]. This list owns them; `take` transfers an event to the caller
/// until `put`.
pub(super) struct IdleEvents<T>(Lock<Vec<T>>);

impl<T> Default for IdleEvents<T> {
    fn default() -> IdleEvents<T> {
        IdleEvents(Lock::new(Vec::new()))
    }
}

impl<T> IdleEvents<T> {
    fn with<R>(&self, work: impl FnOnce(&mut Vec<T>) -> R) -> R {
        work(&mut self.0.lock())
    }

    pub(super) fn len(&self) -> usize {
        self.with(|idle| idle.len())
    }

    pub(super) fn take(&self) -> Option<T> {
        self.with(Vec::pop)
    }

    /// Returns an event to the pool. If the pool is full, the event is the error value.
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
