//! Memory that the program allocates itself, and that devices access. The driver sees no allocation of it, so it has a history from its
//! first access on.

use super::{Segment, Shadow};

/// The unit in which such memory gets a history. A unit of less than a page makes more segments, and has no other effect.
const UNIT: u64 = 4096;

/// The ranges in which all memory is the driver's, in no order.
pub(super) struct Pageable(Vec<(u64, u64)>);

impl Shadow {
    /// Gives a history to memory outside of these ranges when it is accessed. Otherwise only allocations have one.
    pub(in super::super) fn admit_outside(&mut self, ranges: Vec<(u64, u64)>) {
        self.pageable = Some(Pageable(ranges));
    }

    /// Whether an address without an allocation may be memory of the program.
    pub(in super::super) fn admits(&self, address: u64) -> bool {
        let of_driver =
            |Pageable(ranges): &Pageable| ranges.iter().any(|(start, end)| (*start..*end).contains(&address));
        self.pageable.as_ref().is_some_and(|pageable| !of_driver(pageable))
    }

    /// Gives a history to the units around bytes, where they have none.
    pub(super) fn admit(&mut self, start: u64, end: u64) {
        if start >= end || !self.admits(start) {
            return;
        }
        let (mut next, end) = (start - start % UNIT, end.checked_next_multiple_of(UNIT).unwrap_or(end));
        if let Some((_, before)) = self.segments.range(..next).next_back() {
            next = next.max(before.end);
        }
        while next < end {
            let following = self.segments.range(next..end).next().map(|(start, segment)| (*start, segment.end));
            let (until, behind) = following.unwrap_or((end, end));
            if next < until {
                self.segments
                    .insert(next, Segment { end: until, write: None, since: Vec::new(), first: true, last: true });
            }
            next = behind;
        }
    }

    /// Ends the history of bytes of the program, because the driver allocates them.
    pub(super) fn forget(&mut self, start: u64, end: u64) {
        self.split(start, end);
        let keys: Vec<u64> = self.segments.range(start..end).map(|(key, _)| *key).collect();
        keys.iter().for_each(|key| drop(self.segments.remove(key)));
    }
}
