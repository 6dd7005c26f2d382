//! One operation as the checks know it, and the bytes that operations touch.

use super::clock::LaneNumber;
use crate::copy::{Extent, Place};
use crate::finding::{Access, Deed, Range};
use crate::site::Site;
use std::sync::{Arc, OnceLock};

/// One operation of a lane. Whatever remembers it shares it.
#[derive(Debug)]
pub(crate) struct Operation {
    pub ordinal: u64,
    pub lane: LaneNumber,
    /// The number of the thread that made the call.
    pub thread: u64,
    pub call: &'static str,
    pub detail: Option<Arc<str>>,
    /// For a node of a graph: the operation with which the launch began.
    pub launch: Option<u64>,
    pub site: Arc<Site>,
    /// What it comes after in other lanes because of this call.
    pub after: Box<[u64]>,
    /// What it touched: known when it is enqueued, or, for what computes its addresses, when it has run.
    pub accesses: OnceLock<Box<[Access]>>,
}

/// How a kernel has touched bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Touch {
    Read,
    Write,
    /// It read them before it had written them, and wrote them: what is said of bytes that are said to be written, too.
    Update,
}

/// Bytes that a kernel has touched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Touched {
    pub start: u64,
    /// Behind the last of them.
    pub end: u64,
    pub touch: Touch,
}

/// Boxes for ranges that are in ascending order in each kind: ranges of one length at one distance are one box.
pub(crate) fn boxes(ranges: &[Touched]) -> Vec<(Region, Touch)> {
    let mut boxes = Vec::new();
    let mut rest = ranges;
    while let [first, others @ ..] = rest {
        let width = first.end - first.start;
        let behind = others.first().filter(|next| next.start >= first.end);
        let step = behind.map_or(0, |next| next.start - first.start);
        let alike = |(index, next): (u64, &Touched)| {
            step > 0
                && next.touch == first.touch
                && next.end - next.start == width
                && Some(next.start) == step.checked_mul(index).map(|distance| first.start + distance)
        };
        let count = 1 + (1..).zip(others).take_while(|pair| alike(*pair)).count();
        let place = Place { address: first.start, pitch: step, slice: 0 };
        let extent = Extent { width, height: count as u64, depth: 1 };
        boxes.push((Region::new(place, extent), first.touch));
        rest = &rest[count..];
    }
    boxes
}

/// A box of bytes: rows and slices at regular distances.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Region {
    place: Place,
    extent: Extent,
}

impl Region {
    /// A box that is not empty and whose span was checked. What lies without gaps becomes one row.
    pub(crate) fn new(place: Place, extent: Extent) -> Region {
        let (mut place, mut extent) = (place, extent);
        if extent.height > 1 && place.pitch == extent.width {
            extent.width *= extent.height;
            extent.height = 1;
        }
        if extent.depth > 1 && extent.height == 1 {
            // One row to a slice: slices are rows.
            (extent.height, extent.depth, place.pitch) = (extent.depth, 1, place.slice);
            if place.pitch == extent.width {
                extent.width *= extent.height;
                extent.height = 1;
            }
        }
        Region { place, extent }
    }

    pub(crate) fn row(address: u64, length: u64) -> Region {
        Region { place: Place::row(address), extent: Extent::row(length) }
    }

    pub(crate) fn start(&self) -> u64 {
        self.place.address
    }

    pub(crate) fn end(&self) -> u64 {
        let Region { place, extent } = self;
        place.address + (extent.height - 1) * place.pitch + (extent.depth - 1) * place.slice + extent.width
    }

    /// From the first byte to the last.
    pub(crate) fn hull(&self) -> Range {
        Range { address: self.start(), length: self.end() - self.start() }
    }

    /// How many separate runs of bytes there are.
    pub(crate) fn row_count(&self) -> u64 {
        self.extent.height.saturating_mul(self.extent.depth)
    }

    /// The runs of bytes, first and behind last, in the order of a copy.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (u64, u64)> + use<> {
        let Region { place, extent } = *self;
        (0..extent.depth).flat_map(move |slice| {
            (0..extent.height).map(move |row| {
                let start = place.address + slice * place.slice + row * place.pitch;
                (start, start + extent.width)
            })
        })
    }

    /// Whether any of its bytes lies in `start..end`.
    pub(crate) fn meets(&self, start: u64, end: u64) -> bool {
        let Region { place, extent } = self;
        let plane = (extent.height - 1) * place.pitch + extent.width;
        meets(start, end, place.address, (place.slice, extent.depth), plane, |start, end, base| {
            meets(start, end, base, (place.pitch, extent.height), extent.width, |_, _, _| true)
        })
    }

    /// Whether both have a byte in common.
    pub(crate) fn overlaps(&self, other: &Region) -> bool {
        if self.end() <= other.start() || other.end() <= self.start() {
            return false;
        }
        let (few, many) = if self.row_count() <= other.row_count() { (self, other) } else { (other, self) };
        few.rows().any(|(start, end)| many.meets(start, end))
    }

    pub(crate) fn access(&self, deed: Deed) -> Access {
        Access { deed, bytes: self.hull() }
    }
}

/// Whether `start..end` meets one of `count` pieces of `length` bytes at distances of `step` from `base`; at the edges of
/// the range `inside` decides for the piece that begins at its argument.
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
    // Pieces may overlap each other only where nobody asks for exactness, so the two next to each end are enough.
    let first = start.saturating_sub(base) / step;
    let behind = ((end - 1 - base) / step).min(count - 1);
    let first = first.min(count - 1);
    let wholly = behind > first + 1;
    wholly
        || (first..=behind).any(|index| {
            let piece = base + index * step;
            start < piece + length && end > piece && inside(start, end, piece)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(address: u64, pitch: u64, slice: u64, width: u64, height: u64, depth: u64) -> Region {
        Region::new(Place { address, pitch, slice }, Extent { width, height, depth })
    }

    #[test]
    fn what_has_no_gaps_is_one_row() {
        assert_eq!(region(100, 8, 0, 8, 4, 1).row_count(), 1);
        assert_eq!(region(100, 8, 32, 8, 4, 3).row_count(), 1);
        assert_eq!(region(100, 8, 40, 8, 4, 3).row_count(), 3);
        assert_eq!(region(100, 16, 64, 8, 4, 3).row_count(), 12);
        assert_eq!(region(100, 16, 64, 8, 4, 3).hull(), Range { address: 100, length: 2 * 64 + 3 * 16 + 8 });
    }

    #[test]
    fn meeting_is_what_the_rows_say() {
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
    fn regular_ranges_are_one_box() {
        let touched = |start, end, touch| Touched { start, end, touch };
        let (read, write, update) = (Touch::Read, Touch::Write, Touch::Update);
        let mut ranges: Vec<Touched> = (0..100).map(|index| touched(index * 16, index * 16 + 4, read)).collect();
        ranges.extend([
            touched(1600, 1700, read),
            touched(5, 9, write),
            touched(90, 100, write),
            touched(100, 110, update),
        ]);
        let boxes = boxes(&ranges);
        let told: Vec<_> = boxes.iter().map(|(region, touch)| (region.start(), region.row_count(), *touch)).collect();
        assert_eq!(told, [(0, 100, read), (1600, 1, read), (5, 1, write), (90, 1, write), (100, 1, update)]);
        assert_eq!(boxes[0].0.end(), 99 * 16 + 4);
    }

    #[test]
    fn interleaved_rows_do_not_overlap() {
        let (even, odd) = (region(0, 16, 0, 8, 100, 1), region(8, 16, 0, 8, 100, 1));
        assert!(!even.overlaps(&odd));
        assert!(even.overlaps(&region(7, 16, 0, 2, 100, 1)));
        assert!(!even.overlaps(&region(1600, 16, 0, 8, 100, 1)));
    }
}
