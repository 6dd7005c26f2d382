//! Accesses of a whole grid, for races between blocks.
//!
//! Blocks are unordered, so the result must not depend on which block ran first. For each piece of memory, the shadow
//! stores the kinds of access and the two blocks with the smallest numbers. Once any block has written, one of the
//! two is a writer. Each core has its own shadow. Merging them gives the same result for any distribution of the
//! blocks.
//!
//! The cost is bounded. A launch that touches more than [`BUDGET`] pages is watched in part. The part depends on page
//! numbers alone, and is halved as often as needed.

use super::cell::{Kind, Origin};
use super::page::{NONE, PAGE, Row, hash};
use std::collections::HashMap;

/// The most pages that are watched.
pub(super) const BUDGET: usize = 32 << 10;

/// An access of a block. The default is no access.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Slot {
    pub block: u32,
    pub origin: Origin,
}

impl Slot {
    /// Whether two accesses are of different groups of blocks: of clusters, whose blocks differ in `ranks` bits.
    fn is_apart(self, other: Slot, ranks: u32) -> bool {
        self.block >> ranks != other.block >> ranks
    }

    /// Ranks accesses by which to keep: writes before reads, then by block, then plain accesses before atomic ones.
    fn order(self) -> u64 {
        u64::from(self.origin.kind() == Kind::Read) << 34 | u64::from(self.block) << 2 | self.origin.kind() as u64
    }

    /// Ranks counterparts of an access; accesses that always conflict with it come first.
    fn against(self, kind: Kind) -> u64 {
        let rank = match (kind, self.origin.kind()) {
            (Kind::Write, Kind::Write) => 1,
            (one, other) if one == other => 2,
            _ => 0,
        };
        rank << 34 | u64::from(self.block) << 2 | self.origin.kind() as u64
    }
}

const READ: u32 = 1;
const WRITE: u32 = 2;
const ATOMIC: u32 = 4;
/// Set if blocks wrote different values.
const VARIES: u32 = 8;

/// The accesses to a piece of memory.
#[derive(Clone, Copy, Default)]
struct Cell {
    /// A writing access, if there is one.
    one: Slot,
    /// The kinds of access, and above them 28 bits of the digest of the written value.
    state: u32,
}

impl Cell {
    /// Records an access if no block, or another block, is recorded.
    #[cold]
    fn insert(&mut self, kept: &mut Slot, slot: Slot, ranks: u32) {
        let all = [self.one, *kept, slot];
        let there = || all.iter().copied().filter(|slot| !slot.origin.is_none());
        let one = there().min_by_key(|slot| slot.order()).unwrap_or_default();
        let others = there().filter(|slot| slot.is_apart(one, ranks));
        *kept = others.min_by_key(|slot| slot.against(one.origin.kind())).unwrap_or_default();
        self.one = one;
    }

    /// Records an access; `value` is the digest of what a write stores. Returns whether the block or the kind of
    /// access is new to the cell.
    #[inline(always)]
    fn touch(&mut self, slot: Slot, value: u32) -> bool {
        let kind = slot.origin.kind();
        match kind {
            Kind::Read => self.state |= READ,
            Kind::Atomic => self.state |= ATOMIC,
            Kind::Write if self.state & WRITE == 0 => self.state |= WRITE | value << 4,
            Kind::Write => self.state |= if self.state >> 4 == value & 0x0fff_ffff { 0 } else { VARIES },
        }
        if self.one.origin.is_none() {
            self.one = slot;
        }
        self.one.block != slot.block || self.one.origin.kind() != kind
    }

    fn merge(&mut self, other: &Cell) {
        let both = self.state & other.state & WRITE != 0;
        let varies = both && self.state >> 4 != other.state >> 4;
        let value = if self.state & WRITE != 0 { self.state >> 4 } else { other.state >> 4 };
        self.state = (self.state | other.state) & 15 | value << 4 | if varies { VARIES } else { 0 };
    }

    /// Whether several blocks conflict. Writes of equal values do not.
    fn races(&self) -> bool {
        let has = |flags: u32| self.state & flags != 0;
        has(WRITE) && has(READ | ATOMIC | VARIES) || has(ATOMIC) && has(READ)
    }
}

/// A page in pieces of `1 << shift` bytes. A page that is no longer watched has no cells.
struct Page {
    number: u64,
    shift: u32,
    /// The number of low bits of [`Slot::block`] in which blocks of one cluster differ.
    ranks: u32,
    cells: Vec<Cell>,
    /// For each piece, an access of a second block; empty while there is none.
    others: Vec<Slot>,
}

impl Page {
    fn new(number: u64, shift: u32, ranks: u32) -> Page {
        let cells = vec![Cell::default(); (PAGE >> shift) as usize];
        Page { number, shift, ranks, cells, others: Vec::new() }
    }

    fn fit(&mut self, shift: u32) {
        if shift < self.shift && !self.cells.is_empty() {
            let times = 1 << (self.shift - shift);
            self.cells = self.cells.iter().flat_map(|cell| std::iter::repeat_n(*cell, times)).collect();
            self.others = self.others.iter().flat_map(|slot| std::iter::repeat_n(*slot, times)).collect();
            self.shift = shift;
        }
    }

    /// Records an access to a range of pieces.
    #[inline(always)]
    fn touch(&mut self, pieces: std::ops::Range<usize>, slot: Slot, value: u32) {
        for index in pieces {
            let Some(cell) = self.cells.get_mut(index) else { return };
            if cell.touch(slot, value) {
                self.touch_too(index, slot);
            }
        }
    }

    fn touch_too(&mut self, index: usize, slot: Slot) {
        if self.others.is_empty() {
            self.others.resize(self.cells.len(), Slot::default());
        }
        let (cell, other) = (&mut self.cells[index], &mut self.others[index]);
        // A counterpart is seldom better than the recorded one.
        let kind = cell.one.origin.kind();
        let worse = slot.order() >= cell.one.order()
            && (!slot.is_apart(cell.one, self.ranks)
                || !other.origin.is_none() && slot.against(kind) >= other.against(kind));
        if !worse {
            cell.insert(other, slot, self.ranks);
        }
    }

    /// Merges the accesses that another core has recorded, in pieces of equal size.
    fn merge(&mut self, page: &Page) {
        for (index, cell) in page.cells.iter().enumerate() {
            self.cells[index].merge(cell);
            for slot in [Some(&cell.one), page.others.get(index)].into_iter().flatten() {
                if self.cells[index].one.origin.is_none() {
                    self.cells[index].one = *slot;
                } else if !slot.origin.is_none() {
                    self.touch_too(index, *slot);
                }
            }
        }
    }
}

/// Two conflicting accesses of different blocks.
pub(crate) struct Conflict {
    pub address: u64,
    pub size: u32,
    pub slots: [Slot; 2],
}

/// The accesses of a launch to global memory.
#[derive(Default)]
pub(crate) struct Grid {
    pages: Vec<Page>,
    places: HashMap<u64, usize>,
    /// The number of times that the watched part was halved.
    level: u32,
    /// The number of low bits of [`Slot::block`] in which blocks of one cluster differ. Such blocks do not conflict.
    pub ranks: u32,
}

/// The number of halvings that keep a page in the watched part.
pub(crate) fn rank(number: u64) -> u32 {
    hash(number ^ 0x5bd1_e995).trailing_zeros()
}

impl Grid {
    /// Returns the index of a page, which may be new; [`NONE`] if the page is not watched.
    pub(crate) fn place(&mut self, number: u64, size: u32) -> usize {
        if rank(number) < self.level {
            return NONE;
        }
        if let Some(place) = self.places.get(&number) {
            return *place;
        }
        if self.places.len() >= BUDGET {
            self.halve();
            return self.place(number, size);
        }
        let shift = size.trailing_zeros().min(3);
        let place = self.pages.len();
        self.pages.push(Page::new(number, shift, self.ranks));
        self.places.insert(number, place);
        place
    }

    #[cold]
    fn halve(&mut self) {
        self.level += 1;
        let Grid { pages, places, level, .. } = self;
        places.retain(|number, place| {
            let stays = rank(*number) >= *level;
            if !stays {
                // Keep the entry: running blocks hold the index.
                pages[*place].cells = Vec::new();
            }
            stays
        });
    }

    /// Records accesses of `lanes` to a page. `slot` belongs to the first lane of the warp, `values` has
    /// a digest for each lane.
    #[inline(always)]
    pub(crate) fn touch(&mut self, place: usize, row: Row, lanes: u32, slot: Slot, values: &[u32; 32]) {
        let page = &mut self.pages[place];
        let shift = row.size.trailing_zeros().min(3);
        if shift < page.shift {
            page.fit(shift);
        }
        let mut rest = lanes;
        while rest != 0 {
            let lane = rest.trailing_zeros();
            rest &= rest - 1;
            let offset = row.offset + (lane - row.lane) * row.step;
            let pieces = (offset >> page.shift) as usize..((offset + row.size - 1) >> page.shift) as usize + 1;
            page.touch(pieces, Slot { origin: Origin(slot.origin.0 + lane), ..slot }, values[lane as usize & 31]);
        }
    }

    /// Merges the accesses that another core has recorded.
    pub(crate) fn merge(&mut self, other: Grid) {
        self.level = self.level.max(other.level);
        for page in other.pages.into_iter().filter(|page| !page.cells.is_empty()) {
            let place = self.place(page.number, 1 << page.shift);
            if place == NONE {
                continue;
            }
            let own = &mut self.pages[place];
            let mut page = page;
            own.fit(page.shift);
            page.fit(own.shift);
            own.merge(&page);
        }
        self.level = self.level.max(other.level);
        let Grid { pages, level, .. } = self;
        pages.iter_mut().filter(|page| rank(page.number) < *level).for_each(|page| page.cells = Vec::new());
    }

    /// Calls `report` for each range of memory in which two accesses of blocks conflict.
    pub(crate) fn conflicts(&self, mut report: impl FnMut(Conflict)) {
        for page in &self.pages {
            let mut open: Option<Conflict> = None;
            for (index, (cell, other)) in page.cells.iter().zip(&page.others).enumerate() {
                if cell.races() && !other.origin.is_none() {
                    let address = page.number * PAGE + ((index as u64) << page.shift);
                    let (size, slots) = (1 << page.shift, [cell.one, *other]);
                    match open.as_mut() {
                        // The pieces of one access are one conflict.
                        Some(open) if open.slots == slots && open.address + u64::from(open.size) == address => {
                            open.size += size;
                        }
                        _ => open.replace(Conflict { address, size, slots }).into_iter().for_each(&mut report),
                    }
                }
            }
            open.into_iter().for_each(&mut report);
        }
    }

    /// The number of times that the watched part was halved.
    pub(crate) fn level(&self) -> u32 {
        self.level
    }

    /// Drops all accesses.
    pub(crate) fn clear(&mut self) {
        for page in &mut self.pages {
            page.cells.fill(Cell::default());
            page.others.clear();
        }
    }

    /// Drops the accesses to memory that was allocated again.
    pub(crate) fn forget(&mut self, address: u64, size: u64) {
        for number in address / PAGE..=(address + size - 1) / PAGE {
            let Some(place) = self.places.get(&number) else { continue };
            let page = &mut self.pages[*place];
            for (index, cell) in page.cells.iter_mut().enumerate() {
                let start = number * PAGE + ((index as u64) << page.shift);
                if start < address + size && start + (1 << page.shift) > address {
                    *cell = Cell::default();
                    if let Some(other) = page.others.get_mut(index) {
                        *other = Slot::default();
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(block: u32, kind: Kind) -> Slot {
        Slot { block, origin: Origin::new(1, 2, kind) }
    }

    /// Records the accesses in one shadow, and in two merged shadows in both orders.
    fn outcomes(accesses: &[(u32, Kind, u32)]) -> Vec<(bool, Slot, Slot)> {
        let mut outcomes = Vec::new();
        for spread in 0..1 << accesses.len() {
            for swapped in [0, 1] {
                let mut cores = [Page::new(0, 3, 0), Page::new(0, 3, 0)];
                for (index, (block, kind, value)) in accesses.iter().enumerate() {
                    cores[(spread >> index & 1) ^ swapped].touch(0..1, slot(*block, *kind), *value);
                }
                let [mut page, other] = cores;
                page.merge(&other);
                let other = page.others.first().copied().unwrap_or_default();
                outcomes.push((page.cells[0].races() && !other.origin.is_none(), page.cells[0].one, other));
            }
        }
        outcomes
    }

    #[test]
    fn races_do_not_depend_on_the_number_of_cores() {
        use Kind::{Atomic, Read, Write};
        for (accesses, races) in [
            (&[(0, Read, 0), (1, Read, 0), (2, Read, 0)][..], false),
            (&[(3, Read, 0), (1, Read, 0), (2, Write, 5)], true),
            (&[(3, Write, 5), (1, Write, 5), (2, Write, 5)], false),
            (&[(3, Write, 5), (1, Write, 5), (2, Write, 6)], true),
            (&[(3, Write, 5), (4, Write, 5), (2, Read, 0)], true),
            (&[(3, Atomic, 0), (4, Atomic, 0), (2, Atomic, 0)], false),
            (&[(3, Atomic, 0), (4, Atomic, 0), (2, Read, 0)], true),
            (&[(3, Atomic, 0), (4, Write, 1), (2, Atomic, 0)], true),
        ] {
            let outcomes = outcomes(accesses);
            assert!(outcomes.iter().all(|outcome| *outcome == outcomes[0]), "{accesses:?}: {outcomes:?}");
            assert_eq!(outcomes[0].0, races, "{accesses:?}");
        }
        // A block does not conflict with itself.
        let mut page = Page::new(0, 2, 0);
        [Read, Write, Atomic].into_iter().for_each(|kind| page.touch(0..1, slot(7, kind), 1));
        assert!(page.others[0].origin.is_none());
    }

    #[test]
    fn the_reported_pair_conflicts() {
        use Kind::{Atomic, Read, Write};
        for accesses in [
            &[(1, Atomic, 0), (2, Atomic, 0), (9, Read, 0)][..],
            &[(4, Write, 1), (5, Write, 1), (3, Read, 0)],
            &[(4, Read, 1), (5, Read, 1), (6, Write, 0)],
        ] {
            let (_, one, other) = outcomes(accesses)[0];
            assert_ne!(one.block, other.block);
            assert_ne!(one.origin.kind(), other.origin.kind(), "{accesses:?}");
        }
    }

    #[test]
    fn all_cores_watch_the_same_part_of_too_many_pages() {
        let (mut whole, mut parts) = (Grid::default(), [Grid::default(), Grid::default()]);
        let pages = BUDGET as u64 * 3;
        for number in 0..pages {
            for grid in [&mut whole, &mut parts[number as usize % 2]] {
                let place = grid.place(number, 8);
                if place != NONE {
                    let row = Row { offset: 0, size: 8, step: 0, lane: 0, count: 1 };
                    grid.touch(place, row, 1, slot(number as u32, Kind::Write), &[0; 32]);
                }
            }
        }
        let [mut one, other] = parts;
        one.merge(other);
        let watched = |grid: &Grid| {
            let mut numbers: Vec<u64> = grid.places.keys().copied().collect();
            numbers.retain(|number| rank(*number) >= grid.level);
            numbers.sort_unstable();
            numbers
        };
        assert_eq!(one.level, whole.level);
        assert_eq!(watched(&one), watched(&whole));
        assert!(watched(&whole).len() <= BUDGET && watched(&whole).len() > BUDGET / 8);
    }
}
