//! A page of the memory of the grid: the accesses to its pieces, and its locations.

use super::location::Location;
use super::mark::Mark;
use smallvec::SmallVec;

/// The size of a page in bytes.
pub(super) const PAGE: u64 = 256;
/// The size of the largest pieces, as a power of two.
const LARGEST: u32 = 3;
/// The size of the largest location.
const WIDEST: u32 = 16;

/// The plain accesses to a piece of a page: mostly a write, or a write and a read.
pub(super) type Cell = SmallVec<[Mark; 2]>;

/// A page in pieces of `1 << shift` bytes.
pub(super) struct Page {
    shift: u32,
    pub cells: Vec<Cell>,
    /// In the order of their offsets.
    #[expect(clippy::vec_box, reason = "an insertion moves the others")]
    pub locations: Vec<Box<Location>>,
    /// Locations of a block that has ended. The next block uses their memory.
    #[expect(clippy::vec_box, reason = "they move between the lists")]
    spare: Vec<Box<Location>>,
}

impl Page {
    pub(super) fn new() -> Page {
        Page { shift: LARGEST, cells: Vec::new(), locations: Vec::new(), spare: Vec::new() }
    }

    /// Drops the accesses. The next ones have the same sizes mostly, so the pieces stay as small.
    pub(super) fn clear(&mut self) {
        self.cells.clear();
        self.spare.append(&mut self.locations);
    }

    /// Drops the locations of a range of their list that have no records.
    pub(super) fn drop_empty(&mut self, range: std::ops::Range<usize>) {
        for index in range.rev() {
            if self.locations[index].is_empty() {
                self.locations.remove(index);
            }
        }
    }

    /// Drops the accesses to pieces and locations whose offsets are `inside` a range.
    pub(super) fn forget(&mut self, inside: impl Fn(u64) -> bool) {
        let cells = self.cells.iter_mut().enumerate().filter(|(index, _)| inside((*index as u64) << self.shift));
        cells.for_each(|(_, cell)| cell.clear());
        self.locations.retain(|location| !inside(location.offset.into()));
    }

    /// Splits the cells until an access covers whole ones.
    pub(super) fn fit(&mut self, offset: u32, size: u32) {
        let shift = (offset | size).trailing_zeros().min(LARGEST);
        if self.cells.is_empty() {
            self.shift = self.shift.min(shift);
            self.cells.resize_with((PAGE >> self.shift) as usize, Cell::new);
        } else if shift < self.shift {
            let times = 1 << (self.shift - shift);
            self.cells = self.cells.iter().flat_map(|cell| std::iter::repeat_n(cell.clone(), times)).collect();
            self.shift = shift;
        }
    }

    /// The cells of an access, which may be finer than it.
    pub(super) fn cells_of(&self, offset: u32, size: u32) -> std::ops::Range<usize> {
        match self.cells.is_empty() {
            true => 0..0,
            false => (offset >> self.shift) as usize..((offset + size - 1) >> self.shift) as usize + 1,
        }
    }

    /// The locations that overlap an access.
    #[inline]
    pub(super) fn overlapped(&self, offset: u32, size: u32) -> std::ops::Range<usize> {
        if self.locations.is_empty() {
            return 0..0;
        }
        let first = self.locations.partition_point(|location| location.offset + WIDEST <= offset);
        let near = self.locations[first..].iter();
        let last = first + near.take_while(|location| location.offset < offset + size).count();
        let overlaps = |index: &usize| self.locations[*index].overlaps(offset, size);
        (first..last).find(overlaps).map_or(0..0, |first| first..last)
    }

    /// The location with exactly these bytes, which may be new.
    pub(super) fn location(&mut self, (offset, size): (u32, u32), shared: bool) -> &mut Location {
        let place = self.locations.binary_search_by_key(&(offset, size), |one| (one.offset, one.size));
        let index = place.unwrap_or_else(|index| {
            let mut location = self.spare.pop().unwrap_or_default();
            location.begin((offset, size), shared);
            self.locations.insert(index, location);
            index
        });
        &mut self.locations[index]
    }

    /// The recorded accesses to a range, plain and strong.
    pub(super) fn accesses(&self, offset: u32, size: u32) -> impl Iterator<Item = &Mark> {
        let plain = self.cells[self.cells_of(offset, size)].iter().flatten();
        let locations = self.locations[self.overlapped(offset, size)].iter();
        let locations = locations.filter(move |location| location.overlaps(offset, size));
        plain.chain(locations.flat_map(|location| location.accesses()))
    }
}
