//! Bytes that one operation accesses, and that are stored as a whole.

use super::super::region::Region;

/// A box, or single ranges.
pub(super) enum Area {
    Box(Region),
    /// At least one range, in ascending order. No two share a byte.
    Ranges(Box<[(u64, u64)]>),
}

impl Area {
    /// The first address, and the address after the last.
    pub(super) fn hull(&self) -> (u64, u64) {
        match self {
            Area::Box(region) => (region.start(), region.end()),
            Area::Ranges(ranges) => (ranges[0].0, ranges[ranges.len() - 1].1),
        }
    }

    /// The number of separate runs of bytes.
    pub(super) fn count(&self) -> u64 {
        match self {
            Area::Box(region) => region.row_count(),
            Area::Ranges(ranges) => ranges.len() as u64,
        }
    }

    /// The number of ranges that are listed.
    pub(super) fn ranges(&self) -> usize {
        match self {
            Area::Box(_) => 0,
            Area::Ranges(ranges) => ranges.len(),
        }
    }

    /// Calls `f` with each run of bytes, in the order of a copy.
    pub(super) fn each(&self, mut f: impl FnMut(u64, u64)) {
        match self {
            Area::Box(region) => region.rows().for_each(|(start, end)| f(start, end)),
            Area::Ranges(ranges) => ranges.iter().for_each(|(start, end)| f(*start, *end)),
        }
    }

    /// The bytes between `start` and `end`, if there are any: from the first one to the address after the last. Those of a box may lie in gaps.
    pub(super) fn within(&self, start: u64, end: u64) -> Option<(u64, u64)> {
        match self {
            Area::Box(region) => region.meets(start, end).then(|| (start.max(region.start()), end.min(region.end()))),
            Area::Ranges(ranges) => {
                let first = ranges.get(ranges.partition_point(|range| range.1 <= start))?;
                let last = ranges.get(ranges.partition_point(|range| range.0 < end).checked_sub(1)?)?;
                let (from, to) = (start.max(first.0), end.min(last.1));
                (from < to).then_some((from, to))
            }
        }
    }

    /// The bytes that both have, if there are any: from the first one to the address after the last. Those of two boxes may lie in gaps.
    pub(super) fn shared(&self, other: &Area) -> Option<(u64, u64)> {
        let ((start, end), (first, behind)) = (self.hull(), other.hull());
        let (from, to) = (start.max(first), end.min(behind));
        match (self, other) {
            _ if from >= to => None,
            (Area::Box(one), Area::Box(other)) => one.overlaps(other).then_some((from, to)),
            (Area::Ranges(ones), Area::Ranges(others)) => common(near(ones, from, to), near(others, from, to)),
            (Area::Ranges(ranges), area) | (area, Area::Ranges(ranges)) => {
                let shared = near(ranges, from, to).iter().filter_map(|(start, end)| area.within(*start, *end));
                shared.reduce(|(start, end), (first, behind)| (start.min(first), end.max(behind)))
            }
        }
    }

    /// Whether both have the same bytes.
    pub(super) fn is_same(&self, other: &Area) -> bool {
        match (self, other) {
            (Area::Box(one), Area::Box(other)) => one.hull() == other.hull() && one.row_count() == other.row_count(),
            (Area::Ranges(one), Area::Ranges(other)) => one == other,
            _ => false,
        }
    }
}

/// The ranges of a list in ascending order that have bytes between `start` and `end`.
fn near(ranges: &[(u64, u64)], start: u64, end: u64) -> &[(u64, u64)] {
    let first = ranges.partition_point(|range| range.1 <= start);
    let behind = ranges.partition_point(|range| range.0 < end);
    &ranges[first..behind.max(first)]
}

/// The bytes of two lists of ranges in ascending order, from the first common one to the address after the last.
fn common<'a>(mut ones: &'a [(u64, u64)], mut others: &'a [(u64, u64)]) -> Option<(u64, u64)> {
    let mut found: Option<(u64, u64)> = None;
    while let (Some(one), Some(other)) = (ones.first(), others.first()) {
        let (from, to) = (one.0.max(other.0), one.1.min(other.1));
        if from < to {
            found = Some((found.map_or(from, |(start, _)| start), to));
        }
        let shorter = if one.1 <= other.1 { &mut ones } else { &mut others };
        *shorter = &shorter[1..];
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::detector::region::Extent;

    #[test]
    fn areas_share_the_bytes_that_both_have() {
        let ranges = |starts: &[u64]| Area::Ranges(starts.iter().map(|start| (*start, start + 4)).collect());
        let even = Area::Box(Region::new(0, 16, 0, Extent { width: 8, height: 100, depth: 1 }));
        let some = ranges(&[0, 24, 32, 800]);
        assert_eq!(some.shared(&even), Some((0, 804)));
        assert_eq!(even.shared(&ranges(&[8, 24, 40])), None);
        assert_eq!(some.shared(&ranges(&[26, 790, 802])), Some((26, 804)));
        assert_eq!(ranges(&[26, 790]).shared(&some), Some((26, 28)));
        assert_eq!(some.shared(&ranges(&[4, 28, 36, 804])), None);
        assert_eq!(some.within(25, 36), Some((25, 36)));
        assert_eq!(some.within(36, 800), None);
        assert_eq!(some.within(801, 802), Some((801, 802)));
        assert!(some.is_same(&ranges(&[0, 24, 32, 800])) && !some.is_same(&ranges(&[0, 24, 36, 800])));
    }
}
