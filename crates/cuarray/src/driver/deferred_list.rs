//! [`DeferredList`]: the deferred releases of all drivers of the process.
//!
//! The type takes its lock and its flag from the parent module. So a test can substitute `loom`'s and try every interleaving of
//! threads (`tests/deferred_model.rs`).

use super::sync::{AtomicBool, Mutex, PoisonError, Relaxed};

/// The deferred releases, of type `T`, each with the key `K` of its driver's library. `take` moves them to the caller.
pub(super) struct DeferredList<K, T> {
    entries: Mutex<Vec<(K, T)>>,
    /// Whether there are entries. It changes under the lock only.
    any: AtomicBool,
}

impl<K, T> Default for DeferredList<K, T> {
    fn default() -> DeferredList<K, T> {
        DeferredList { entries: Mutex::new(Vec::new()), any: AtomicBool::new(false) }
    }
}

impl<K: PartialEq, T> DeferredList<K, T> {
    pub(super) fn add(&self, driver: K, release: T) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.push((driver, release));
        self.any.store(true, Relaxed);
    }

    /// Takes the releases of a driver, oldest first. Without entries, it takes no lock, as each allocation calls it.
    pub(super) fn take(&self, driver: &K) -> Vec<T> {
        if !self.any.load(Relaxed) {
            return Vec::new();
        }
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = entries.extract_if(.., |(of, _)| of == driver).map(|(_, release)| release).collect();
        self.any.store(!entries.is_empty(), Relaxed);
        taken
    }
}
