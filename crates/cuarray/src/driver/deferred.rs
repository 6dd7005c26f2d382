//! Deferred releases, which wait for pending work. A list of the process keeps them until they are tried again.
//!
//! A release holds its context, which holds its driver. A list in the driver would be a cycle: if the program dropped the driver, no
//! code could reach the list any more, and the memory would never be freed. A list of the process stays reachable, and a driver that
//! is loaded later from the same library tries its releases.

use super::{Driver, deferred_list::DeferredList, lock};
use crate::{interpreter, lock::Lock};
use std::{cell::Cell, collections::VecDeque, sync::atomic::AtomicBool};

static DEFERRED: DeferredList<Library, Box<dyn DeferredRelease>> =
    DeferredList { entries: Lock::new(VecDeque::new()), any: AtomicBool::new(false) };

/// A loaded library, by its address space and the address of its `cuInit`. All drivers loaded from one library share their objects.
pub(crate) type Library = (usize, usize);

/// The number of rounds of a reclaim that waits. A release may defer another one: a graph defers its arrays, an array its leaked guard,
/// and a leaked guard its memory.
const CHAIN: usize = 3;

/// The number of releases that a call tries again. Each call defers at most one, so a list whose work gets done becomes shorter.
const BATCH: usize = 2;

/// The release of a resource whose work may still be pending.
pub(crate) trait DeferredRelease: Send {
    /// Tries the release, and defers it again if work is pending; with `wait`, waits for that work first.
    fn attempt(self: Box<Self>, wait: bool);
}

impl Driver {
    /// Keeps a release until [`Driver::reclaim`] tries it again.
    pub(crate) fn defer(&self, release: Box<dyn DeferredRelease>) {
        DEFERRED.add(self.library(), release);
    }

    /// The library that the driver was loaded from. Handles mean the same objects in all drivers of one library.
    #[inline]
    pub(crate) fn library(&self) -> Library {
        (self.address_space(), self.api().cuInit.map_or(0, |function| function as usize))
    }

    /// Frees memory whose release was deferred: work on it was pending, or the driver permitted no call where it was dropped.
    /// With `wait`, waits for the pending work; without it, such releases stay deferred. Returns whether the list had any release.
    ///
    /// Allocating memory calls this first. Call it where a program waits anyway, and before it ends.
    pub fn reclaim(&self, wait: bool) -> bool {
        let mut any = false;
        for _ in 0..if wait { CHAIN } else { 1 } {
            let deferred = DEFERRED.take(&self.library(), usize::MAX);
            any |= !deferred.is_empty();
            interpreter::detached(|| deferred.into_iter().for_each(|release| release.attempt(wait)));
        }
        any
    }
}

impl Driver {
    /// Tries a few of the oldest releases again, without a wait. A program that only receives arrays, and so never calls
    /// [`Driver::reclaim`] by an allocation, keeps no more of them than have pending work.
    #[inline]
    pub(crate) fn reclaim_some(&self) {
        if !DEFERRED.is_empty() {
            self.reclaim_oldest();
        }
    }

    #[cold]
    fn reclaim_oldest(&self) {
        thread_local! {
            /// Whether this thread tries releases. A release drops an owner, whose drop would try further ones, to any depth.
            static TRYING: Cell<bool> = const { Cell::new(false) };
        }
        struct Tried;
        impl Drop for Tried {
            fn drop(&mut self) {
                TRYING.set(false);
            }
        }
        if TRYING.replace(true) {
            return;
        }
        let _tried = Tried;
        let oldest = DEFERRED.take(&self.library(), BATCH);
        interpreter::detached(|| oldest.into_iter().for_each(|release| release.attempt(false)));
    }
}

/// Keeps a resource until the process ends, because the end of its work cannot be observed.
pub(crate) fn never_release(resource: Box<dyn Send>) {
    static KEPT: Lock<Vec<Box<dyn Send>>> = Lock::new(Vec::new());
    lock(&KEPT).push(resource);
}
