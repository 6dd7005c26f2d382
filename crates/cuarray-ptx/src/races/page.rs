//! The cells of the memory that a block touches, in pages.
//!
//! Pieces are as large as the accesses that were seen in a page: one of 8 bytes becomes several when a smaller access comes, and all
//! of them were touched alike. Lanes that access neighbouring pieces are compared with others in one go.

use super::cell::{Cell, Met, Now, Who};
use super::order::Order;

/// Bytes of a page.
pub(crate) const PAGE: u64 = 1024;

/// A page's pieces of `1 << shift` bytes each.
#[derive(Default)]
pub(crate) struct Page {
    pub shift: u32,
    pub cells: Vec<Cell>,
    /// Where the page is in the grid's shadow; [`NONE`] for shared memory, and for what is not watched.
    pub grid: usize,
}

impl Page {
    /// Makes it one for accesses of so many bytes; marks of former blocks may stay, since their clocks tell.
    pub(crate) fn start(&mut self, size: u32, grid: usize) {
        self.shift = size.trailing_zeros().min(3);
        let count = (PAGE >> self.shift) as usize;
        if self.cells.len() < count {
            self.cells.resize(count, Cell::default());
        }
        self.grid = grid;
    }

    /// Makes its pieces small enough for accesses of so many bytes.
    #[inline(always)]
    pub(crate) fn fit(&mut self, size: u32) {
        if 1 << self.shift > size {
            self.split(size);
        }
    }

    #[cold]
    fn split(&mut self, size: u32) {
        let shift = size.trailing_zeros();
        let times = 1 << (self.shift - shift);
        let old = (PAGE >> self.shift) as usize;
        self.cells = self.cells[..old].iter().flat_map(|cell| std::iter::repeat_n(*cell, times)).collect();
        self.shift = shift;
    }

    /// The pieces of an access at an offset in the page, which it does not leave.
    #[inline(always)]
    pub(crate) fn pieces(&self, offset: u32, size: u32) -> std::ops::Range<usize> {
        (offset >> self.shift) as usize..((offset + size - 1) >> self.shift) as usize + 1
    }
}

/// Accesses of lanes one after another to one page.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    /// Where in the page the first of them accesses.
    pub offset: u32,
    /// Of how many bytes the accesses are, and how far apart.
    pub size: u32,
    pub step: u32,
    /// The first lane, and how many.
    pub lane: u32,
    pub count: u32,
}

/// What came of accesses of several lanes.
#[derive(Default)]
pub(crate) struct RowMet {
    /// The lanes that [`Met::first`] holds for.
    pub first: u32,
    /// The first lane whose access conflicts with another one, and that access.
    pub with: Option<(u32, Who)>,
}

impl RowMet {
    #[inline(always)]
    fn add(&mut self, met: &Met, lane: u32) {
        self.first |= u32::from(met.first) << lane;
        if let Some(with) = met.with {
            self.with.get_or_insert((lane, with));
        }
    }
}

impl Page {
    /// Accesses of lanes: reads, or what writes. `now` is the warp's first lane's; `values` are as for [`Cell::write`].
    #[inline(always)]
    pub(crate) fn touch<const READ: bool>(&mut self, row: Row, now: Now, order: &Order, values: &[u32; 32]) -> RowMet {
        self.fit(row.size);
        let mut all = RowMet::default();
        let one_each = row.step == row.size && row.size == 1 << self.shift;
        let mut pieces = self.pieces(row.offset, row.size);
        for lane in row.lane..row.lane + row.count {
            let now = now.of(lane);
            let value = values[lane as usize & 31];
            for cell in self.cells.get_mut(pieces.clone()).unwrap_or_default() {
                all.add(&if READ { cell.read(&now, order) } else { cell.write(&now, order, value) }, lane);
            }
            pieces = if one_each {
                pieces.start + 1..pieces.end + 1
            } else {
                self.pieces(row.offset + (lane + 1 - row.lane) * row.step, row.size)
            };
        }
        all
    }

    /// Reads of one piece by two lanes, as [`Cell::read_by_two`].
    #[inline(always)]
    pub(crate) fn read_by_two(&mut self, row: Row, now: Now, order: &Order) -> Option<RowMet> {
        self.fit(row.size);
        let now = now.of(row.lane);
        let pieces = self.pieces(row.offset, row.size);
        let mut first = false;
        for cell in self.cells.get_mut(pieces)? {
            first |= cell.read_by_two(&now, row.lane + 1, order)?;
        }
        Some(RowMet { first: u32::from(first) << row.lane, with: None })
    }
}

/// No page.
pub(crate) const NONE: usize = usize::MAX;

/// The pages that a block touches.
#[derive(Default)]
pub(crate) struct Shadow {
    /// Of shared memory, in order.
    pub shared: Vec<Page>,
    pages: Vec<Page>,
    used: usize,
    /// Where the pages of global memory are, by their number: the number plus one, the block, the place.
    table: Vec<(u64, u64, usize)>,
    block: u64,
}

impl Shadow {
    /// Begins with a new block.
    pub(crate) fn start(&mut self) {
        self.block += 1;
        self.used = 0;
    }

    /// Forgets all marks.
    pub(crate) fn clear(&mut self) {
        self.pages.clear();
        self.shared.clear();
    }

    /// A page of shared memory, of which there are so many bytes.
    #[inline(always)]
    pub(crate) fn shared_page(&mut self, number: u64, size: u32, bytes: u64) -> &mut Page {
        if self.shared.len() as u64 <= number {
            self.shared.resize_with(bytes.div_ceil(PAGE) as usize, Page::default);
        }
        let page = &mut self.shared[number as usize];
        if page.cells.is_empty() {
            page.start(size, NONE);
        }
        page
    }

    /// A page of global memory; its place in the grid's shadow is [`NONE`] if it is left out. `grid` gives that place to a page that
    /// is new to the block.
    #[inline(always)]
    pub(crate) fn global_page(&mut self, number: u64, size: u32, grid: impl FnOnce(u64) -> usize) -> &mut Page {
        let place = self.find(number);
        let place = if place == NONE { self.add(number, size, grid(number)) } else { place };
        &mut self.pages[place]
    }

    #[inline(always)]
    fn find(&self, number: u64) -> usize {
        if self.table.is_empty() {
            return NONE;
        }
        let mask = self.table.len() - 1;
        let mut at = hash(number) as usize & mask;
        loop {
            let (known, block, place) = self.table[at];
            if block != self.block {
                return NONE;
            }
            if known == number {
                return place;
            }
            at = (at + 1) & mask;
        }
    }

    fn add(&mut self, number: u64, size: u32, grid: usize) -> usize {
        // At most half of the table is in use.
        if (self.used + 1) * 2 > self.table.len() {
            let entries: Vec<_> = self.table.iter().filter(|entry| entry.1 == self.block).copied().collect();
            self.table = vec![(0, 0, 0); (self.table.len() * 2).max(16)];
            entries.into_iter().for_each(|(number, _, place)| self.enter(number, place));
        }
        let place = self.used;
        self.used += 1;
        if self.pages.len() <= place {
            self.pages.push(Page::default());
        }
        match grid {
            NONE => self.pages[place].grid = NONE,
            grid => self.pages[place].start(size, grid),
        }
        self.enter(number, place);
        place
    }

    fn enter(&mut self, number: u64, place: usize) {
        let mask = self.table.len() - 1;
        let mut at = hash(number) as usize & mask;
        while self.table[at].1 == self.block {
            at = (at + 1) & mask;
        }
        self.table[at] = (number, self.block, place);
    }

    /// Memory has become somebody else's: who touched it before does not matter.
    pub(crate) fn forget(&mut self, address: u64, size: u64) {
        for number in address / PAGE..=(address + size - 1) / PAGE {
            let place = self.find(number);
            let Some(page) = self.pages.get_mut(place) else { continue };
            for (index, cell) in page.cells.iter_mut().enumerate() {
                let start = number * PAGE + ((index as u64) << page.shift);
                if start < address + size && start + (1 << page.shift) > address {
                    *cell = Cell::default();
                }
            }
        }
    }
}

/// Spreads numbers.
#[inline(always)]
pub(crate) fn hash(number: u64) -> u64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20
}
