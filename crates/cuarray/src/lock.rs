//! [`Lock`] and [`SharedLock`]: locks that never hang a child of `fork`.
//!
//! A child of `fork` has one thread. A lock that another thread of the parent held at that moment stays locked in the child for ever. No
//! driver works in such a child, so its calls fail, and the error names the fork. Locks must not hang before that error, or in a
//! destructor. So a lock that stays locked in a child is replaced by a lock over an empty value. The held value is leaked: its thread may
//! have changed half of it.
//!
//! | lock | in |
//! |---|---|
//! | the table of regions, and each region | `array::regions` |
//! | the work of each array | `sync::pending` |
//! | the contexts, the default context, the data of borrowed contexts | `driver::loaded`, `driver::context_state` |
//! | the first error of a drop, deferred releases, what is never released | `driver::table`, `driver::deferred` |
//! | idle events of each context | `driver::idle_events` |
//! | the kernels of each context | `kernel::cache` |
//! | retained contexts of Python | `python::memory::contexts` |
//!
//! The other locks of the folder `python` are held by attached threads only, for a few instructions without a driver call. Python's `fork`
//! runs in an attached thread, so with a GIL no other thread holds one. Without a GIL, `fork` first stops the other attached threads, and none of them
//! stops in these instructions. A `OnceLock` waits only while its value is stored.

use std::{
    process,
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};
use std::sync::{Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};

pub(crate) use std::sync::MutexGuard as LockGuard;

/// The time for which a child of `fork` waits for a lock, which another thread of the child may hold.
const PATIENCE: Duration = Duration::from_millis(200);

/// A mutual exclusion lock. A panic of a holder does not poison it.
#[derive(Debug, Default)]
pub(crate) struct Lock<T> {
    mutex: Mutex<T>,
    in_child: OnceLock<Box<Mutex<T>>>,
}

/// A lock for one writer or several readers. A panic of a holder does not poison it.
#[derive(Debug, Default)]
pub(crate) struct SharedLock<T> {
    lock: RwLock<T>,
    in_child: OnceLock<Box<RwLock<T>>>,
}

impl<T> Lock<T> {
    pub(crate) const fn new(value: T) -> Lock<T> {
        Lock { mutex: Mutex::new(value), in_child: OnceLock::new() }
    }

    /// Locks without a wait. `None` if the lock is held.
    #[inline]
    pub(crate) fn try_lock(&self) -> Option<LockGuard<'_, T>> {
        free(self.mutex.try_lock())
    }
}

impl<T: Default> Lock<T> {
    #[inline]
    pub(crate) fn lock(&self) -> LockGuard<'_, T> {
        self.try_lock().unwrap_or_else(|| wait(&self.mutex, &self.in_child, Mutex::try_lock, Mutex::lock))
    }
}

impl<T> SharedLock<T> {
    pub(crate) const fn new(value: T) -> SharedLock<T> {
        SharedLock { lock: RwLock::new(value), in_child: OnceLock::new() }
    }
}

impl<T: Default> SharedLock<T> {
    #[inline]
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, T> {
        free(self.lock.try_read()).unwrap_or_else(|| wait(&self.lock, &self.in_child, RwLock::try_read, RwLock::read))
    }

    #[inline]
    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, T> {
        free(self.lock.try_write())
            .unwrap_or_else(|| wait(&self.lock, &self.in_child, RwLock::try_write, RwLock::write))
    }
}

/// Waits for a lock that was not free. In a child of `fork`, the wait ends with the lock that replaces it.
#[cold]
fn wait<'l, L: Default, G>(
    lock: &'l L,
    in_child: &'l OnceLock<Box<L>>,
    attempt: fn(&'l L) -> TryLockResult<G>,
    wait: fn(&'l L) -> LockResult<G>,
) -> G {
    let wait = |lock| wait(lock).unwrap_or_else(PoisonError::into_inner);
    if forked_from().is_none() {
        return wait(lock);
    }
    held(in_child, || free(attempt(lock))).unwrap_or_else(|| wait(in_child.get_or_init(Box::default)))
}

/// The guard of a lock that was free.
#[inline]
fn free<G>(tried: TryLockResult<G>) -> Option<G> {
    match tried {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(guard)) => Some(guard.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// Tries a lock for a while, unless it has been replaced already.
fn held<G, L>(replaced: &OnceLock<L>, mut attempt: impl FnMut() -> Option<G>) -> Option<G> {
    let end = Instant::now() + PATIENCE;
    while replaced.get().is_none() && Instant::now() < end {
        if let Some(guard) = attempt() {
            return Some(guard);
        }
        std::thread::yield_now();
    }
    None
}

/// The process that initialized a driver; 0 before. A child of `fork` inherits it.
static INITIALIZED_IN: AtomicU32 = AtomicU32::new(0);

/// Remembers this process, once a driver is initialized.
pub(crate) fn watch_forks() {
    // A child of `fork` stays one, also if it initializes a driver that permits that.
    _ = INITIALIZED_IN.compare_exchange(0, process::id(), Relaxed, Relaxed);
}

/// The process that initialized a driver and that this one was forked from; `None` if it was not.
#[cold]
pub(crate) fn forked_from() -> Option<u32> {
    let parent = INITIALIZED_IN.load(Relaxed);
    (parent != 0 && parent != process::id()).then_some(parent)
}

/// The locks of model tests.
#[cfg(all(test, loom))]
pub(crate) mod model {
    use loom::sync::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};

    #[derive(Debug, Default)]
    pub(crate) struct Lock<T>(Mutex<T>);

    impl<T> Lock<T> {
        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().unwrap()
        }

        pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
            self.0.try_lock().ok()
        }
    }

    #[derive(Debug, Default)]
    pub(crate) struct SharedLock<T>(RwLock<T>);

    impl<T> SharedLock<T> {
        pub(crate) fn new(value: T) -> SharedLock<T> {
            SharedLock(RwLock::new(value))
        }

        pub(crate) fn read(&self) -> RwLockReadGuard<'_, T> {
            self.0.read().unwrap()
        }

        pub(crate) fn write(&self) -> RwLockWriteGuard<'_, T> {
            self.0.write().unwrap()
        }
    }
}
