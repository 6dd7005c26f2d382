//! Handles of the driver's objects.
//!
//! A handle is a number that is unique in its process, even among several drivers, so that a stale handle is always
//! recognised. Handles start far above the default stream handles 0, 1 and 2. They look like addresses, because
//! programs print and sometimes compare them as such.

use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

static NEXT: AtomicUsize = AtomicUsize::new(0x5c00_0000_1000);

/// A number that no other object of this process has.
pub(crate) fn fresh() -> usize {
    NEXT.fetch_add(0x40, Ordering::Relaxed)
}

/// A table keyed by a handle, or another number of the driver; every call looks up several of these.
pub(crate) type Table<K, V> = FxHashMap<K, V>;
