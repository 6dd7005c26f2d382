//! [`DeferredList`]: the deferred releases of all drivers of the process.
//!
//! The type takes its lock and its flag from the parent module. So a test can substitute `loom`'s and try every interleaving of
//! threads (`tests/deferred_model.rs`).

use super::sync::{AtomicBool, Lock, Relaxed};
use std::collections::VecDeque;

/// The deferred releases, of type `T`, each with the key `K` of its driver's library. `take` moves them to the caller.
pub(super) struct DeferredList<K, T> {
    pub(super) entries: Lock<VecDeque<(K, T)>>,
    /// Whether there are entries. It changes under the lock only.
    pub(super) any: AtomicBool,
}

impl<K, T> Default for DeferredList<K, T> {
    fn default() -> DeferredList<K, T> {
        DeferredList { entries: Lock::new(VecDeque::new()), any: AtomicBool::new(false) }
    }
}

impl<K: PartialEq, T> DeferredList<K, T> {
    pub(super) fn add(&self, driver: K, release: T) {
        let mut entries = self.entries.lock();
        entries.push_back((driver, release));
        self.any.store(true, Relaxed);
    }

    /// Whether there are no releases. Takes no lock.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        !self.any.load(Relaxed)
    }

    /// Takes at most `most` releases of a driver, oldest first.
    pub(super) fn take(&self, driver: &K, most: usize) -> Vec<T> {
        if self.is_empty() {
            return Vec::new();
        }
        let mut entries = self.entries.lock();
        let (mut taken, mut index) = (Vec::new(), 0);
        while taken.len() < most
            && let Some((of, _)) = entries.get(index)
        {
            if of == driver {
                taken.extend(entries.remove(index).map(|(_, release)| release));
            } else {
                index += 1;
            }
        }
        self.any.store(!entries.is_empty(), Relaxed);
        taken
    }
}
