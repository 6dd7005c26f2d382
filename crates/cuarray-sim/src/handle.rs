//! Handles of the driver's objects.
//!
//! A handle is a number that is unique in its process, even among several drivers, so that a stale handle is always
//! recognised. Handles start far above the default stream handles 0, 1 and 2. They look like addresses, because
//! programs print and sometimes compare them as such.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicUsize, Ordering};

static NEXT: AtomicUsize = AtomicUsize::new(0x5c00_0000_1000);

/// A number that no other object of this process has.
pub(crate) fn fresh() -> usize {
    NEXT.fetch_add(0x40, Ordering::Relaxed)
}

/// A table keyed by a handle, or another number of the driver; every call looks up several of these.
pub(crate) type Table<K, V> = HashMap<K, V, BuildHasherDefault<Mixer>>;

/// A hasher for one number. The driver creates the handles, so it need not resist chosen collisions.
#[derive(Default)]
pub(crate) struct Mixer(u64);

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u64(&mut self, number: u64) {
        // The top bits of the product depend on the whole number, and the fold copies them to the low bits.
        let product = (self.0.rotate_left(5) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = product ^ (product >> 32);
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::hash::{BuildHasher, Hash};

    #[test]
    fn consecutive_handles_spread_over_a_table() {
        let build = BuildHasherDefault::<Mixer>::default();
        let hash = |handle: usize| build.hash_one(handle);
        let low: HashSet<u64> = (0..1024).map(|index| hash(0x5c00_0000_1000 + 0x40 * index) % 1024).collect();
        let high: HashSet<u64> = (0..1024).map(|index| hash(0x5c00_0000_1000 + 0x40 * index) >> 57).collect();
        assert!(low.len() > 500 && high.len() > 100, "{} {}", low.len(), high.len());
        let mut text = Mixer::default();
        "ab".hash(&mut text);
        assert_ne!(text.finish(), build.hash_one("ba"));
    }
}
