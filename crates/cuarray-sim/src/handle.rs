//! Handles: what the driver gives out for its objects.
//!
//! A handle is a number that is never used twice in a process, not even by two drivers in it, so that a handle kept past
//! its object's end is always recognised. They start far above the stream handles 0, 1 and 2, which mean the default
//! streams, and look like addresses, because programs print and sometimes compare them as such.

use std::sync::atomic::{AtomicUsize, Ordering};

static NEXT: AtomicUsize = AtomicUsize::new(0x5c00_0000_1000);

/// A number that no other object of this process has had.
pub(crate) fn fresh() -> usize {
    NEXT.fetch_add(0x40, Ordering::Relaxed)
}
