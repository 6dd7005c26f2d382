//! Releases that wait for pending work. The driver keeps them until they are tried again.

use super::{Driver, lock};
use std::{mem, sync::atomic::Ordering::Relaxed};

/// The length of a chain of releases, each of which may be deferred: of a graph's arrays, of a leaked guard, of its memory.
const CHAIN: usize = 3;

/// The release of a resource whose work may still be pending.
pub(crate) trait DeferredRelease: Send {
    /// Tries the release, and defers it again where work is pending; with `wait`, waits for that work.
    fn attempt(self: Box<Self>, wait: bool);
}

impl Driver {
    /// Keeps a release until [`Driver::reclaim`] tries it again.
    pub(crate) fn defer(&self, release: Box<dyn DeferredRelease>) {
        lock(&self.0.deferred).push(release);
        self.0.reclaimable.store(true, Relaxed);
    }

    /// Frees memory whose release was deferred, because work on it was pending or because no call was permitted where it was dropped;
    /// see [`sync::Memory`](crate::sync::Memory). With `wait`, waits for that work; without, releases with pending work stay deferred.
    /// Returns whether any release was deferred.
    ///
    /// Allocating memory calls this first. Call it where a program waits anyway, and before it ends.
    pub fn reclaim(&self, wait: bool) -> bool {
        // Asked at each allocation: without deferred releases, no lock is taken.
        if !self.0.reclaimable.swap(false, Relaxed) {
            return false;
        }
        let mut any = false;
        for _ in 0..if wait { CHAIN } else { 1 } {
            let deferred = mem::take(&mut *lock(&self.0.deferred));
            any |= !deferred.is_empty();
            deferred.into_iter().for_each(|release| release.attempt(wait));
        }
        any
    }
}
