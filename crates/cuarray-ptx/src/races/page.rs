//! The cells of the memory that a block accesses, in pages.
//!
//! All pieces of a page have the size of the smallest access to it so far. A smaller access splits each piece into
//! equal ones. Adjacent accesses of lanes are compared in one pass.

use super::cell::{Cell, Now, Origin, Recorded};
use super::order::Order;

/// The size of a page in bytes.
pub(crate) const PAGE: u64 = 1024;

/// A page in pieces of `1 << shift` bytes.
#[derive(Default)]
pub(crate) struct Page {
    pub shift: u32,
    pub cells: Vec<Cell>,
    /// The index of the page in the grid's shadow; [`NONE`] for shared memory and for unwatched pages.
    pub grid: usize,
}

impl Page {
    /// Prepares the page for accesses of a size. Cells may still hold accesses of earlier blocks,
    /// whose clocks are smaller.
    pub(crate) fn start(&mut self, size: u32, grid: usize) {
        self.shift = size.trailing_zeros().min(3);
        let count = (PAGE >> self.shift) as usize;
        if self.cells.len() < count {
            self.cells.resize(count, Cell::default());
        }
        self.grid = grid;
    }

    /// Splits the pieces until an access of `size` bytes covers whole pieces.
    #[inline(always)]
    pub(crate) fn fit(&mut self, size: u32) {
        if self.shift > size.trailing_zeros() {
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

    /// The pieces of an access at an offset in the page.
    #[inline(always)]
    pub(crate) fn pieces(&self, offset: u32, size: u32) -> std::ops::Range<usize> {
        (offset >> self.shift) as usize..((offset + size - 1) >> self.shift) as usize + 1
    }
}

/// Adjacent accesses of consecutive lanes to one page.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    /// The offset of the first access in the page.
    pub offset: u32,
    /// The size of an access in bytes.
    pub size: u32,
    /// The distance between accesses in bytes.
    pub step: u32,
    /// The first lane.
    pub lane: u32,
    /// The number of lanes.
    pub count: u32,
}

/// The result of recording the accesses of several lanes.
#[derive(Default)]
pub(crate) struct RowResult {
    /// The lanes for which [`Recorded::first`] holds.
    pub first: u32,
    /// The first lane with an unordered conflict, and the other access. A conflict with another warp goes first, because its
    /// synchronization orders the threads of a warp too.
    pub with: Option<(u32, Origin)>,
}

impl RowResult {
    #[inline(always)]
    fn add(&mut self, recorded: &Recorded, now: &Now) {
        self.first |= u32::from(recorded.first) << now.lane;
        if let Some(with) = recorded.with {
            self.keep(with, now);
        }
    }

    #[cold]
    fn keep(&mut self, with: Origin, now: &Now) {
        let within = |other: Origin| other.thread() >> 5 == now.warp;
        if self.with.is_none_or(|(_, first)| within(first) && !within(with)) {
            self.with = Some((now.lane, with));
        }
    }
}

impl Page {
    /// Records reads, writes or atomic operations of lanes. `now` belongs to the first lane of the warp; `values` are
    /// the digests for [`Cell::write`].
    #[inline(always)]
    pub(crate) fn touch<const READ: bool>(
        &mut self,
        row: Row,
        now: Now,
        order: &Order,
        values: &[u32; 32],
    ) -> RowResult {
        self.fit(row.size);
        let mut all = RowResult::default();
        let one_each = row.step == row.size && row.size == 1 << self.shift;
        let mut pieces = self.pieces(row.offset, row.size);
        for lane in row.lane..row.lane + row.count {
            let now = now.of(lane);
            let value = values[lane as usize & 31];
            for cell in self.cells.get_mut(pieces.clone()).unwrap_or_default() {
                all.add(&if READ { cell.read(&now, order) } else { cell.write(&now, order, value) }, &now);
            }
            pieces = if one_each {
                pieces.start + 1..pieces.end + 1
            } else {
                self.pieces(row.offset + (lane + 1 - row.lane) * row.step, row.size)
            };
        }
        all
    }

    /// Returns the recorded reads that conflict with the write of the row's first lane, at its first bytes.
    #[cold]
    pub(crate) fn unordered_reads(&self, row: Row, now: Now, order: &Order) -> Vec<Origin> {
        let (now, cell) = (now.of(row.lane), self.cells.get((row.offset >> self.shift) as usize));
        cell.map_or(Vec::new(), |cell| cell.unordered_reads(&now, order).collect())
    }

    /// Records reads of one piece by two lanes, as [`Cell::read_by_two`] does.
    #[inline(always)]
    pub(crate) fn read_by_two(&mut self, row: Row, now: Now, order: &Order) -> Option<RowResult> {
        self.fit(row.size);
        let now = now.of(row.lane);
        let pieces = self.pieces(row.offset, row.size);
        let mut first = false;
        for cell in self.cells.get_mut(pieces)? {
            first |= cell.read_by_two(&now, row.lane + 1, order)?;
        }
        Some(RowResult { first: u32::from(first) << row.lane, with: None })
    }
}

/// Replaces the index of a page that is not watched.
pub(crate) const NONE: usize = usize::MAX;

/// The pages that a block accesses.
#[derive(Default)]
pub(crate) struct Shadow {
    /// The pages of shared memory.
    pub shared: Vec<Page>,
    pages: Vec<Page>,
    used: usize,
    /// A hash table of the pages of global memory: the page number, the block, the index.
    table: Vec<(u64, u64, usize)>,
    block: u64,
}

impl Shadow {
    /// Starts a new block.
    pub(crate) fn start(&mut self) {
        self.block += 1;
        self.used = 0;
    }

    /// Drops all recorded accesses.
    pub(crate) fn clear(&mut self) {
        self.pages.clear();
        self.shared.clear();
    }

    /// Returns a page of shared memory, which has `bytes` bytes.
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

    /// Returns a page of global memory. For a page that is new to the block, `grid` returns its index in the grid's
    /// shadow, or [`NONE`].
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
            let (stored, block, place) = self.table[at];
            if block != self.block {
                return NONE;
            }
            if stored == number {
                return place;
            }
            at = (at + 1) & mask;
        }
    }

    fn add(&mut self, number: u64, size: u32, grid: usize) -> usize {
        // At most half of the table is used.
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

    /// Drops the accesses to memory that was allocated again.
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

/// A hash of a page number.
#[inline(always)]
pub(crate) fn hash(number: u64) -> u64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20
}
