//! Accesses of a whole grid, for races between blocks.
//!
//! Each core has its own shadow. Merging them gives the same result for any distribution of the blocks.
//!
//! A limit bounds the memory. A launch that touches more pages is watched in part. The part depends on page numbers
//! alone, and is halved as often as needed.

use super::block_line::{Line, Store};
use super::block_mark::Part;
use super::page::{NONE, PAGE, hash, lines_of, overlapped, shift_of};
use super::span::{Row, bits};
use rustc_hash::FxHashMap;
use std::mem::take;
use std::sync::{Mutex, PoisonError};

pub(crate) use super::record::Slot;

/// A page in pieces of `1 << shift` bytes. A page that is no longer watched has no lines.
pub(super) struct Page {
    number: u64,
    pub shift: u32,
    pub lines: Box<[Line]>,
}

impl Page {
    fn new(number: u64, shift: u32) -> Page {
        Page { number, shift, lines: vec![Line::default(); lines_of(shift)].into() }
    }

    /// Splits the pieces until each has at most `1 << shift` bytes.
    #[cold]
    fn split(&mut self, shift: u32, store: &mut Store) {
        let halvings = self.shift - shift;
        let parts =
            |line: &Line| (0..1 << halvings).map(|index| store.split(line, halvings, index)).collect::<Vec<_>>();
        (self.lines, self.shift) = (self.lines.iter().flat_map(parts).collect(), shift);
    }
}

/// Two conflicting accesses of different blocks.
#[derive(Clone, Copy)]
pub(crate) struct Conflict {
    pub address: u64,
    pub size: u32,
    pub slots: [Slot; 2],
}

/// The accesses of a launch to global memory.
pub(crate) struct Grid {
    pub(super) pages: Vec<Page>,
    places: FxHashMap<u64, usize>,
    pub(super) store: Store,
    /// Whether each block ends before the next one begins.
    pub sequential: bool,
    /// The most pages that are watched.
    limit: usize,
    /// The number of times that the watched part was halved.
    level: u32,
}

/// Lists of ended launches. The system clears each page of memory that it hands out, which took a tenth of the time of a short launch.
static SPARE: Mutex<Vec<Store>> = Mutex::new(Vec::new());
/// The most lists that are kept, and the most bytes of each.
const SPARE_LISTS: usize = 4;
const SPARE_BYTES: usize = 16 << 20;

impl Default for Grid {
    fn default() -> Grid {
        Grid::new(usize::MAX, 0)
    }
}

/// The number of halvings that keep a page in the watched part.
pub(crate) fn rank(number: u64) -> u32 {
    hash(number ^ 0x5bd1_e995).trailing_zeros()
}

impl Grid {
    /// Creates a shadow of at most `limit` pages. Blocks of one cluster differ in the low `ranks` bits of
    /// [`Slot::block`], and do not conflict.
    pub(crate) fn new(limit: usize, ranks: u32) -> Grid {
        let mut store = SPARE.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
        store.ranks = ranks;
        Grid {
            pages: Vec::new(),
            places: FxHashMap::default(),
            store,
            sequential: false,
            limit: limit.max(1),
            level: 0,
        }
    }

    /// The number of low bits of [`Slot::block`] in which blocks of one cluster differ.
    pub(crate) fn ranks(&self) -> u32 {
        self.store.ranks
    }

    /// Returns the index of a page, which may be new; [`NONE`] if the page is not watched.
    pub(crate) fn place(&mut self, number: u64, size: u32) -> usize {
        if rank(number) < self.level {
            return NONE;
        }
        if let Some(place) = self.places.get(&number) {
            return *place;
        }
        if self.places.len() >= self.limit {
            self.halve();
            return self.place(number, size);
        }
        let place = self.pages.len();
        self.pages.push(Page::new(number, shift_of(size)));
        self.places.insert(number, place);
        place
    }

    #[cold]
    fn halve(&mut self) {
        self.level += 1;
        let Grid { pages, places, store, level, .. } = self;
        let empty = Store::new(store.ranks);
        let old = std::mem::replace(store, empty);
        places.retain(|number, place| {
            let page = &mut pages[*place];
            if rank(*number) < *level {
                // Keep the entry: running blocks hold the index.
                page.lines = Box::default();
                return false;
            }
            for line in &mut page.lines {
                let mut kept = Line::default();
                store.merge(&mut kept, &old, line);
                *line = kept;
            }
            true
        });
    }

    /// Records accesses to a page. `slot` belongs to the first lane of the warp, `values` has a digest for each lane.
    #[inline(always)]
    pub(crate) fn touch(&mut self, place: usize, row: &Row, slot: Slot, values: &[u32; 32]) {
        let (page, store) = (&mut self.pages[place], &mut self.store);
        if shift_of(row.size) < page.shift {
            page.split(shift_of(row.size), store);
        }
        let lines = &mut page.lines;
        row.parts(page.shift, |line, pieces, lanes| {
            if let Some(line) = lines.get_mut(line) {
                store.touch(line, &Part { slot, pieces, lanes, values });
            }
        });
    }

    /// Merges the accesses that another core has recorded.
    pub(crate) fn merge(&mut self, mut other: Grid) {
        self.level = self.level.max(other.level);
        for mut page in take(&mut other.pages).into_iter().filter(|page| !page.lines.is_empty()) {
            let place = self.place(page.number, 1 << page.shift);
            if place == NONE {
                continue;
            }
            let own = &mut self.pages[place];
            if page.shift < own.shift {
                own.split(page.shift, &mut self.store);
            } else if own.shift < page.shift {
                page.split(own.shift, &mut other.store);
            }
            for (line, with) in own.lines.iter_mut().zip(&page.lines) {
                self.store.merge(line, &other.store, with);
            }
        }
        let Grid { pages, level, .. } = self;
        pages.iter_mut().filter(|page| rank(page.number) < *level).for_each(|page| page.lines = Box::default());
    }

    /// Calls `report` for each pair of instructions whose accesses conflict, with the conflicting range of memory.
    pub(crate) fn conflicts(&self, mut report: impl FnMut(Conflict)) {
        let (mut records, mut open, mut found) = (Vec::new(), Vec::new(), Vec::new());
        for page in &self.pages {
            for (index, line) in page.lines.iter().enumerate().filter(|(_, line)| line.may_conflict()) {
                for piece in bits(self.store.disputed(line)) {
                    self.store.records(line, piece, &mut records);
                    let address = page.number * PAGE + ((index as u64 * 32 + u64::from(piece)) << page.shift);
                    for (index, one) in records.iter().enumerate() {
                        let with = |other| one.conflict_with(other, self.store.ranks);
                        let pairs = one.conflict().into_iter().chain(records[index + 1..].iter().filter_map(with));
                        found.extend(pairs.map(|slots| Conflict { address, size: 1 << page.shift, slots }));
                    }
                    // The pieces of one access are one conflict.
                    for conflict in &mut found {
                        let follows = |open: &Conflict| {
                            open.slots == conflict.slots && open.address + u64::from(open.size) == address
                        };
                        if let Some(at) = open.iter().position(follows) {
                            let open: Conflict = open.swap_remove(at);
                            (conflict.address, conflict.size) = (open.address, open.size + conflict.size);
                        }
                    }
                    std::mem::swap(&mut open, &mut found);
                    found.drain(..).for_each(&mut report);
                }
            }
            open.drain(..).for_each(&mut report);
        }
    }

    /// The number of times that the watched part was halved.
    pub(crate) fn level(&self) -> u32 {
        self.level
    }

    /// Drops all accesses.
    pub(crate) fn clear(&mut self) {
        self.store.clear();
        self.pages.iter_mut().for_each(|page| page.lines.fill(Line::default()));
    }

    /// Drops the accesses to memory that was allocated again.
    pub(crate) fn forget(&mut self, address: u64, size: u64) {
        for number in address / PAGE..=(address + size - 1) / PAGE {
            let Some(place) = self.places.get(&number) else { continue };
            let (page, store) = (&mut self.pages[*place], &mut self.store);
            overlapped(number, page.shift, address, size, |line, pieces| store.forget(&mut page.lines[line], pieces));
        }
    }
}

impl Drop for Grid {
    fn drop(&mut self) {
        let mut store = take(&mut self.store);
        store.clear();
        let mut spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner);
        if (1..=SPARE_BYTES).contains(&store.size()) && spare.len() < SPARE_LISTS {
            spare.push(store);
        }
    }
}
