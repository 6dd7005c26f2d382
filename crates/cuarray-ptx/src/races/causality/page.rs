//! A page of the memory of the grid: the accesses to its pieces, and its locations.

use super::location::Location;
use super::mark::{Cell, Mark};
use super::row::Row;
use super::word::{WORD, Words};

/// The size of a page in bytes.
pub(super) const PAGE: u64 = 256;
/// The size of the largest pieces, as a power of two.
const LARGEST: u32 = 3;
/// The size of the largest location.
const WIDEST: u32 = 16;

/// A location with its place, which a search reads without the location.
pub(super) struct Placed {
    offset: u32,
    size: u32,
    pub location: Box<Location>,
}

impl Placed {
    #[inline]
    pub(super) fn overlaps(&self, offset: u32, size: u32) -> bool {
        self.offset < offset + size && offset < self.offset + self.size
    }

    pub(super) fn is(&self, offset: u32, size: u32) -> bool {
        (self.offset, self.size) == (offset, size)
    }
}

/// Locations without records. Later ones use their memory.
pub(super) type Spare = Vec<Box<Location>>;

/// A page in pieces of `1 << shift` bytes.
pub(super) struct Page {
    shift: u32,
    pub cells: Vec<Cell>,
    /// They do not overlap each other, and the cells below them are empty.
    rows: Vec<Row>,
    /// In the order of their offsets and sizes.
    pub locations: Vec<Placed>,
    /// Strong operations on shared memory that hand nothing over. No location overlaps their words.
    pub words: Words,
}

impl Page {
    pub(super) fn new() -> Page {
        let (cells, rows, locations, words) = Default::default();
        Page { shift: LARGEST, cells, rows, locations, words }
    }

    /// Drops the accesses. The next ones are like them mostly, so the cells stay, with their memory.
    pub(super) fn clear(&mut self, spare: &mut Spare) {
        self.cells.iter_mut().for_each(Cell::clear);
        self.rows.clear();
        self.words.clear();
        spare.extend(self.locations.drain(..).map(|placed| placed.location));
    }

    /// Drops the locations of a range of their list that have no records.
    pub(super) fn drop_empty(&mut self, range: std::ops::Range<usize>, spare: &mut Spare) {
        for index in range.rev() {
            if self.locations[index].location.is_empty() {
                spare.push(self.locations.remove(index).location);
            }
        }
    }

    /// Drops the accesses to pieces and locations whose offsets are `inside` a range.
    pub(super) fn forget(&mut self, inside: impl Fn(u64) -> bool + Copy) {
        self.split(0, PAGE as u32);
        let cells = self.cells.iter_mut().enumerate().filter(|(index, _)| inside((*index as u64) << self.shift));
        cells.for_each(|(_, cell)| cell.clear());
        self.locations.retain(|placed| !inside(placed.offset.into()));
        self.words.forget(inside);
    }

    /// The row with exactly these pieces, which may be new; `None` if there is another access to one of them.
    pub(super) fn row(&mut self, (offset, size): (u32, u32), lanes: u32) -> Option<&mut Row> {
        if let Some(index) = self.rows.iter().position(|row| row.has((offset, size), lanes)) {
            return Some(&mut self.rows[index]);
        }
        let all = size * lanes.count_ones();
        let is_vacant = self.cells[self.cells_of(offset, all)].iter().all(Cell::is_empty);
        if !is_vacant || self.rows.iter().any(|row| row.overlaps(offset, all)) {
            return None;
        }
        self.rows.push(Row::new((offset, size), lanes));
        self.rows.last_mut()
    }

    /// Makes cells of the rows that overlap an access.
    #[inline]
    pub(super) fn split(&mut self, offset: u32, size: u32) {
        if !self.rows.is_empty() {
            self.split_rows(offset, size);
        }
    }

    fn split_rows(&mut self, offset: u32, size: u32) {
        while let Some(index) = self.rows.iter().position(|row| row.overlaps(offset, size)) {
            let row = self.rows.swap_remove(index);
            for (lane, offset) in row.pieces() {
                self.fit(offset, row.size);
                let pieces = self.cells_of(offset, row.size);
                self.cells[pieces].iter_mut().for_each(|cell| cell.extend(row.of_lane(lane)));
            }
        }
    }

    /// Splits the cells until an access covers whole ones.
    #[inline]
    pub(super) fn fit(&mut self, offset: u32, size: u32) {
        let shift = (offset | size).trailing_zeros();
        if self.cells.is_empty() || shift < self.shift {
            self.make_cells(shift.min(LARGEST));
        }
    }

    fn make_cells(&mut self, shift: u32) {
        if self.cells.is_empty() {
            self.shift = self.shift.min(shift);
            self.cells.resize_with((PAGE >> self.shift) as usize, Cell::new);
        } else {
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

    /// Whether a row or a location overlaps an access, or the page has rows.
    #[inline(always)]
    pub(super) fn has_other_records(&self, offset: u32, size: u32) -> bool {
        !self.rows.is_empty() || !self.locations.is_empty() && !self.overlapped(offset, size).is_empty()
    }

    /// The cells of an access that covers whole ones, unless other records overlap it.
    #[inline(always)]
    pub(super) fn only_cells(&mut self, offset: u32, size: u32) -> Option<&mut [Cell]> {
        if (offset | size).trailing_zeros() < self.shift || self.has_other_records(offset, size) {
            return None;
        }
        self.cells.get_mut((offset >> self.shift) as usize..((offset + size) >> self.shift) as usize)
    }

    /// The locations that overlap an access.
    #[inline]
    pub(super) fn overlapped(&self, offset: u32, size: u32) -> std::ops::Range<usize> {
        if self.locations.is_empty() {
            return 0..0;
        }
        let first = self.locations.partition_point(|placed| placed.offset + WIDEST <= offset);
        let near = self.locations[first..].iter();
        let last = first + near.take_while(|placed| placed.offset < offset + size).count();
        let overlaps = |index: &usize| self.locations[*index].overlaps(offset, size);
        (first..last).find(overlaps).map_or(0..0, |first| first..last)
    }

    /// Makes locations of the words that an access overlaps.
    #[inline]
    pub(super) fn make_locations(&mut self, offset: u32, size: u32, spare: &mut Spare) {
        if !self.words.is_empty() {
            self.move_words(offset, size, spare);
        }
    }

    fn move_words(&mut self, offset: u32, size: u32, spare: &mut Spare) {
        let mut words = std::mem::take(&mut self.words);
        words
            .used(offset, size)
            .for_each(|index| words.move_to(index, self.location((index * WORD, WORD), true, spare)));
        self.words = words;
    }

    /// The location with exactly these bytes, which may be new.
    pub(super) fn location(&mut self, (offset, size): (u32, u32), shared: bool, spare: &mut Spare) -> &mut Location {
        let place = self.locations.binary_search_by_key(&(offset, size), |one| (one.offset, one.size));
        let index = place.unwrap_or_else(|index| {
            let mut location = spare.pop().unwrap_or_default();
            location.begin((offset, size), shared);
            self.locations.insert(index, Placed { offset, size, location });
            index
        });
        &mut self.locations[index].location
    }

    /// The recorded accesses to a range, plain and strong.
    pub(super) fn accesses(&self, offset: u32, size: u32) -> impl Iterator<Item = Mark> {
        let plain = self.cells[self.cells_of(offset, size)].iter().flatten().copied();
        let rows = self.rows.iter().flat_map(move |row| row.accesses(offset, size));
        let locations = self.locations[self.overlapped(offset, size)].iter();
        let locations = locations.filter(move |placed| placed.overlaps(offset, size));
        let strong = locations.flat_map(|placed| placed.location.accesses()).copied();
        plain.chain(rows).chain(strong).chain(self.words.accesses(offset, size))
    }
}
