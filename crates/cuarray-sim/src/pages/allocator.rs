//! A next-fit allocator of device addresses.
//!
//! Next fit reuses a freed address as late as possible, so that a use after free hits unallocated memory instead of
//! another array. For the same reason the address range is wider than the memory that the device claims to have.

use std::collections::BTreeMap;

/// The alignment of every device address.
pub(crate) const ALIGNMENT: u64 = 512;

/// The bytes behind each allocation that belong to no other one, after its size is rounded up to [`ALIGNMENT`]. So an index that
/// is one too large is found, and a pointer to the start of an allocation is no pointer to the end of another one.
pub(crate) const APART: u64 = ALIGNMENT;

/// The free ranges among the offsets `0..length`.
pub(crate) struct FreeRanges {
    /// Start and end of each free range; no two are adjacent.
    ranges: BTreeMap<u64, u64>,
    /// Where the next search starts.
    cursor: u64,
}

impl FreeRanges {
    pub(crate) fn new(length: u64) -> FreeRanges {
        FreeRanges { ranges: BTreeMap::from([(0, length)]), cursor: 0 }
    }

    /// Takes `size` bytes, rounded up to [`ALIGNMENT`], from the first free range at or after the cursor that is large
    /// enough. Returns the offset and the size taken.
    pub(crate) fn take(&mut self, size: u64) -> Option<(u64, u64)> {
        let size = size.checked_next_multiple_of(ALIGNMENT)?;
        // The range around the cursor is taken from the cursor on, so that bytes freed just before it come last.
        let around = self.ranges.range(..self.cursor).next_back().map(|(&start, &end)| (start, self.cursor, end));
        let fits = |&(_, from, end): &(u64, u64, u64)| end.checked_sub(from).is_some_and(|length| length >= size);
        let whole = |(&start, &end): (&u64, &u64)| (start, start, end);
        let (start, from, end) = around
            .filter(fits)
            .or_else(|| self.ranges.range(self.cursor..).map(whole).find(fits))
            .or_else(|| self.ranges.range(..self.cursor).map(whole).find(fits))?;
        self.ranges.remove(&start);
        if start < from {
            self.ranges.insert(start, from);
        }
        if from + size < end {
            self.ranges.insert(from + size, end);
        }
        self.cursor = from + size;
        Some((from, size))
    }

    /// Frees what [`FreeRanges::take`] took, and returns the whole free range that now contains it.
    pub(crate) fn release(&mut self, offset: u64, size: u64) -> (u64, u64) {
        let (mut start, mut end) = (offset, offset + size);
        if let Some((&before, &touching)) = self.ranges.range(..offset).next_back()
            && touching == offset
        {
            self.ranges.remove(&before);
            start = before;
        }
        if let Some(behind) = self.ranges.remove(&end) {
            end = behind;
        }
        self.ranges.insert(start, end);
        (start, end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freed_address_is_reused_last() {
        let mut free = FreeRanges::new(4 * ALIGNMENT);
        assert_eq!(free.take(1), Some((0, ALIGNMENT)));
        assert_eq!(free.release(0, ALIGNMENT), (0, 4 * ALIGNMENT));
        assert_eq!(free.take(1), Some((ALIGNMENT, ALIGNMENT)));
        let mut free = FreeRanges::new(4 * ALIGNMENT);
        let first = free.take(1).unwrap();
        let second = free.take(1).unwrap();
        free.release(first.0, first.1);
        assert_eq!(free.take(1), Some((2 * ALIGNMENT, ALIGNMENT)));
        assert_eq!(free.take(1), Some((3 * ALIGNMENT, ALIGNMENT)));
        assert_eq!(free.take(1), Some((0, ALIGNMENT)));
        assert_eq!(free.take(1), None);
        free.release(second.0, second.1);
        assert_eq!(free.take(ALIGNMENT + 1), None);
        assert_eq!(free.take(ALIGNMENT), Some((ALIGNMENT, ALIGNMENT)));
    }

    #[test]
    fn impossible_size_is_refused() {
        let mut free = FreeRanges::new(1 << 20);
        assert_eq!(free.take(u64::MAX), None);
        assert_eq!(free.take((1 << 20) + 1), None);
        assert_eq!(free.take(1 << 20), Some((0, 1 << 20)));
    }
}
