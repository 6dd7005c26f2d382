//! Bytes that operations access: boxes of rows and slices at regular distances, and lists of rows.

use crate::finding::{Access, AccessKind, Range};
use std::sync::Arc;

/// The shape of a [`Region`]: rows of `width` bytes, `height` rows in a slice, `depth` slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Bytes in a row.
    pub width: u64,
    /// Rows in a slice.
    pub height: u64,
    /// Slices.
    pub depth: u64,
}

/// Bytes that an operation accesses: a box, or listed rows.
#[derive(Clone, Debug)]
pub struct Region(Bytes);

#[derive(Clone, Debug)]
enum Bytes {
    Pitched(Pitched),
    /// At least one row, in ascending order. No two share a byte.
    Listed(Arc<[(u64, u64)]>),
}

#[derive(Clone, Copy, Debug)]
struct Pitched {
    address: u64,
    /// Bytes from one row to the next, and from one slice to the next.
    pitch: u64,
    slice: u64,
    extent: Extent,
}

impl Region {
    /// A box of at least one byte whose last address does not overflow. A box without gaps becomes one row.
    #[inline]
    pub fn new(address: u64, pitch: u64, slice: u64, extent: Extent) -> Region {
        let (mut pitch, mut extent) = (pitch, extent);
        if extent.height > 1 && pitch == extent.width {
            extent.width *= extent.height;
            extent.height = 1;
        }
        if extent.depth > 1 && extent.height == 1 {
            // A slice of one row is a row.
            (extent.height, extent.depth, pitch) = (extent.depth, 1, slice);
            if pitch == extent.width {
                extent.width *= extent.height;
                extent.height = 1;
            }
        }
        Region(Bytes::Pitched(Pitched { address, pitch, slice, extent }))
    }

    /// One row of `length` bytes.
    #[inline]
    pub fn row(address: u64, length: u64) -> Region {
        Region::new(address, 0, 0, Extent { width: length, height: 1, depth: 1 })
    }

    /// Single rows, each from its first address to the address after its last. There is at least one, they are in ascending order, and no two
    /// share a byte.
    pub fn listed(rows: Arc<[(u64, u64)]>) -> Region {
        debug_assert!(!rows.is_empty() && rows.is_sorted_by(|one, next| one.1 <= next.0));
        Region(Bytes::Listed(rows))
    }

    /// The first address.
    #[inline]
    pub fn start(&self) -> u64 {
        match &self.0 {
            Bytes::Pitched(bytes) => bytes.address,
            Bytes::Listed(rows) => rows[0].0,
        }
    }

    /// The address after the last byte.
    #[inline]
    pub fn end(&self) -> u64 {
        match &self.0 {
            Bytes::Pitched(Pitched { address, pitch, slice, extent: Extent { width, height, depth } }) => {
                address + (height - 1) * pitch + (depth - 1) * slice + width
            }
            Bytes::Listed(rows) => rows[rows.len() - 1].1,
        }
    }

    /// The bytes from the first to the last, gaps included.
    #[inline]
    pub fn hull(&self) -> Range {
        Range { address: self.start(), length: self.end() - self.start() }
    }

    /// The number of separate runs of bytes.
    #[inline]
    pub fn row_count(&self) -> u64 {
        match &self.0 {
            Bytes::Pitched(bytes) => bytes.row_count(),
            Bytes::Listed(rows) => rows.len() as u64,
        }
    }

    /// The number of rows that are listed.
    pub(super) fn listed_rows(&self) -> usize {
        match &self.0 {
            Bytes::Pitched(_) => 0,
            Bytes::Listed(rows) => rows.len(),
        }
    }

    /// The runs of bytes in the order of a copy: each from its first address to the address after its last.
    pub fn rows(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let (boxes, listed) = match &self.0 {
            Bytes::Pitched(bytes) => (Some(bytes.rows()), &[][..]),
            Bytes::Listed(rows) => (None, &rows[..]),
        };
        boxes.into_iter().flatten().chain(listed.iter().copied())
    }

    /// Whether any byte lies in `start..end`.
    pub fn meets(&self, start: u64, end: u64) -> bool {
        self.within(start, end).is_some()
    }

    /// The bytes between `start` and `end`, if there are any: from the first one to the address after the last. Those of a box may lie in gaps.
    pub(super) fn within(&self, start: u64, end: u64) -> Option<(u64, u64)> {
        match &self.0 {
            Bytes::Pitched(bytes) => bytes.meets(start, end).then(|| (start.max(self.start()), end.min(self.end()))),
            Bytes::Listed(rows) => {
                let rows = near(rows, start, end);
                Some((start.max(rows.first()?.0), end.min(rows.last()?.1)))
            }
        }
    }

    /// Whether both share a byte.
    pub fn overlaps(&self, other: &Region) -> bool {
        self.shared(other).is_some()
    }

    /// The bytes that both have, if there are any: from the first one to the address after the last. Those of two boxes may lie in gaps.
    pub(super) fn shared(&self, other: &Region) -> Option<(u64, u64)> {
        let (from, to) = (self.start().max(other.start()), self.end().min(other.end()));
        match (&self.0, &other.0) {
            _ if from >= to => None,
            (Bytes::Listed(ones), Bytes::Listed(others)) => common(near(ones, from, to), near(others, from, to)),
            (Bytes::Listed(rows), Bytes::Pitched(bytes)) | (Bytes::Pitched(bytes), Bytes::Listed(rows)) => {
                let met = |(start, end): &&(u64, u64)| bytes.meets(*start, *end);
                let shared =
                    near(rows, from, to).iter().filter(met).map(|(start, end)| (from.max(*start), to.min(*end)));
                shared.reduce(|(start, end), (first, behind)| (start.min(first), end.max(behind)))
            }
            (Bytes::Pitched(one), Bytes::Pitched(other)) => one.overlaps(other).then_some((from, to)),
        }
    }

    /// Whether both have the same bytes, as far as their shapes tell.
    pub(super) fn is_same(&self, other: &Region) -> bool {
        match (&self.0, &other.0) {
            (Bytes::Pitched(_), Bytes::Pitched(_)) => {
                self.hull() == other.hull() && self.row_count() == other.row_count()
            }
            (Bytes::Listed(ones), Bytes::Listed(others)) => Arc::ptr_eq(ones, others) || ones == others,
            _ => false,
        }
    }

    pub(super) fn access(&self, kind: AccessKind) -> Access {
        Access { kind, bytes: self.hull() }
    }
}

impl Pitched {
    fn row_count(&self) -> u64 {
        self.extent.height.saturating_mul(self.extent.depth)
    }

    fn rows(self) -> impl Iterator<Item = (u64, u64)> {
        let Pitched { address, pitch, slice, extent } = self;
        (0..extent.depth).flat_map(move |index| {
            (0..extent.height).map(move |row| {
                let start = address + index * slice + row * pitch;
                (start, start + extent.width)
            })
        })
    }

    /// Whether any byte of the box lies in `start..end`.
    fn meets(&self, start: u64, end: u64) -> bool {
        let Pitched { address, pitch, slice, extent } = *self;
        let plane = (extent.height - 1) * pitch + extent.width;
        meets(start, end, address, (slice, extent.depth), plane, |start, end, base| {
            meets(start, end, base, (pitch, extent.height), extent.width, |_, _, _| true)
        })
    }

    /// Whether both boxes share a byte.
    fn overlaps(&self, other: &Pitched) -> bool {
        let (few, many) = if self.row_count() <= other.row_count() { (self, other) } else { (other, self) };
        few.rows().any(|(start, end)| many.meets(start, end))
    }
}

/// The rows of a list in ascending order that have bytes between `start` and `end`.
fn near(rows: &[(u64, u64)], start: u64, end: u64) -> &[(u64, u64)] {
    let first = rows.partition_point(|row| row.1 <= start);
    let behind = rows.partition_point(|row| row.0 < end);
    &rows[first..behind.max(first)]
}

/// The bytes of two lists of rows in ascending order, from the first common one to the address after the last.
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

/// Whether `start..end` has a byte of one of `count` pieces of `length` bytes. The pieces start at `base` and are `step`
/// bytes apart. A piece may have gaps. So for a piece that the range covers in part, `inside` decides: its arguments are the range and
/// the start of the piece.
fn meets(
    start: u64,
    end: u64,
    base: u64,
    (step, count): (u64, u64),
    length: u64,
    inside: impl Fn(u64, u64, u64) -> bool,
) -> bool {
    let last = base + (count - 1) * step;
    if start >= end || end <= base || start >= last + length {
        return false;
    }
    if step == 0 {
        return inside(start, end, base);
    }
    // The first and the last piece that may share bytes with the range. An earlier piece reaches the range only if pieces overlap
    // each other, and then the result need not be exact.
    let first = start.saturating_sub(base) / step;
    let behind = ((end - 1 - base) / step).min(count - 1);
    let first = first.min(count - 1);
    // If there is a piece between these two, the range covers it.
    let covers_one = behind > first + 1;
    covers_one
        || (first..=behind).any(|index| {
            let piece = base + index * step;
            start < piece + length && end > piece && inside(start, end, piece)
        })
}

/// The kind of an access by work that has run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Touch {
    /// The work read the bytes.
    Read,
    /// The work wrote the bytes.
    Write,
    /// The work read the bytes before it wrote them. The same bytes are also listed as written.
    Update,
}

/// The strength of an access. Two strong accesses never race if each is in the other's scope, as with atomic
/// operations.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Strength {
    /// A plain access.
    #[default]
    Weak,
    /// A synchronizing access or an atomic operation, with respect to the lane's device.
    Device,
    /// A synchronizing access or an atomic operation, with respect to all devices and the host.
    System,
    /// An access by the host, which may or may not be atomic.
    Host,
}

impl Strength {
    /// Whether two accesses of these strengths are in each other's scope.
    pub(super) fn meets(self, other: Strength, same_device: bool) -> bool {
        use Strength::{Device, Host, System};
        match (self, other) {
            (System, System | Host) | (Host, System) => true,
            (Device, Device | System) | (System, Device) => same_device,
            _ => false,
        }
    }
}

/// How an access synchronizes with other work.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Manner {
    /// The strength of the access.
    pub strength: Strength,
    /// Whether a release of the work followed the access.
    pub released: bool,
    /// Whether an acquire of the work preceded the access.
    pub acquired: bool,
}

impl Manner {
    /// An access by the host, whose accesses are ordered among themselves.
    pub(super) const HOST: Manner = Manner { strength: Strength::Host, released: true, acquired: true };
}

/// Bytes that work has accessed.
#[derive(Clone, Debug)]
pub struct Touched {
    /// The bytes, in one mapped range of memory.
    pub region: Region,
    /// The kind of the access.
    pub touch: Touch,
    /// How the access synchronizes.
    pub manner: Manner,
}

impl Touched {
    /// Plain accesses to `start..end`.
    pub fn new(start: u64, end: u64, touch: Touch) -> Touched {
        Touched { region: Region::row(start, end - start), touch, manner: Manner::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(address: u64, pitch: u64, slice: u64, width: u64, height: u64, depth: u64) -> Region {
        Region::new(address, pitch, slice, Extent { width, height, depth })
    }

    #[test]
    fn box_without_gaps_is_one_row() {
        assert_eq!(region(100, 8, 0, 8, 4, 1).row_count(), 1);
        assert_eq!(region(100, 8, 32, 8, 4, 3).row_count(), 1);
        assert_eq!(region(100, 8, 40, 8, 4, 3).row_count(), 3);
        assert_eq!(region(100, 16, 64, 8, 4, 3).row_count(), 12);
        assert_eq!(region(100, 16, 64, 8, 4, 3).hull(), Range { address: 100, length: 2 * 64 + 3 * 16 + 8 });
    }

    #[test]
    fn meets_agrees_with_comparison_row_by_row() {
        for shape in [region(100, 16, 64, 8, 4, 3), region(100, 16, 80, 3, 4, 3), region(100, 10, 0, 4, 7, 1)] {
            let rows: Vec<_> = shape.rows().collect();
            for start in 90..320 {
                for length in [1, 2, 5, 9, 17, 70] {
                    let end = start + length;
                    let expected = rows.iter().any(|(first, behind)| start < *behind && end > *first);
                    assert_eq!(shape.meets(start, end), expected, "{shape:?} {start}..{end}");
                }
            }
        }
    }

    #[test]
    fn interleaved_rows_do_not_overlap() {
        let (even, odd) = (region(0, 16, 0, 8, 100, 1), region(8, 16, 0, 8, 100, 1));
        assert!(!even.overlaps(&odd));
        assert!(even.overlaps(&region(7, 16, 0, 2, 100, 1)));
        assert!(!even.overlaps(&region(1600, 16, 0, 8, 100, 1)));
    }

    #[test]
    fn regions_share_the_bytes_that_both_have() {
        let listed = |starts: &[u64]| Region::listed(starts.iter().map(|start| (*start, start + 4)).collect());
        let even = region(0, 16, 0, 8, 100, 1);
        let some = listed(&[0, 24, 32, 800]);
        assert_eq!(some.shared(&even), Some((0, 804)));
        assert_eq!(even.shared(&listed(&[8, 24, 40])), None);
        assert_eq!(some.shared(&listed(&[26, 790, 802])), Some((26, 804)));
        assert_eq!(listed(&[26, 790]).shared(&some), Some((26, 28)));
        assert_eq!(some.shared(&listed(&[4, 28, 36, 804])), None);
        assert_eq!(some.within(25, 36), Some((25, 36)));
        assert_eq!(some.within(36, 800), None);
        assert_eq!(some.within(801, 802), Some((801, 802)));
        assert!(some.is_same(&listed(&[0, 24, 32, 800])) && !some.is_same(&listed(&[0, 24, 36, 800])));
        assert!(some.rows().eq([0, 24, 32, 800].map(|start| (start, start + 4))));
    }
}
