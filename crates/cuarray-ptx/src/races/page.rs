//! The accesses of a block, in pages of memory.
//!
//! All pieces of a page have the size of the smallest access to it so far. A smaller access splits each piece into
//! equal ones.

use super::cell::{Kind, Now};
use super::line::Line;
use super::mark::{Part, Sink};
use super::order::Order;
use super::span::{Row, bits};

/// The size of a page in bytes.
pub(crate) const PAGE: u64 = 1024;
/// The largest piece, as a power of two.
const LARGEST: u32 = 4;

/// The size of the pieces for accesses of a size, as a power of two.
#[inline(always)]
pub(crate) fn shift_of(size: u32) -> u32 {
    size.trailing_zeros().min(LARGEST)
}

/// The number of lines of a page.
#[inline(always)]
pub(crate) fn lines_of(shift: u32) -> usize {
    (PAGE as usize / 32) >> shift
}

/// Calls `f` with the number of each line of a page that a range of memory overlaps, and the pieces in it.
pub(crate) fn overlapped(number: u64, shift: u32, address: u64, size: u64, mut f: impl FnMut(usize, u32)) {
    for line in 0..lines_of(shift) {
        let start = |piece: u64| number * PAGE + ((line as u64 * 32 + piece) << shift);
        let overlaps = |piece: u64| start(piece) < address + size && start(piece + 1) > address;
        let pieces = (0..32).fold(0, |all, piece| all | u32::from(overlaps(piece)) << piece);
        if pieces != 0 {
            f(line, pieces);
        }
    }
}

/// A page in pieces of `1 << shift` bytes.
#[derive(Default)]
pub(crate) struct Page {
    pub shift: u32,
    lines: Vec<Line>,
    /// The index of the page in the grid's shadow; [`NONE`] for shared memory and for unwatched pages.
    pub grid: usize,
    /// Atomic operations that the lines do not have yet. They do not conflict with each other.
    listed: Vec<(Row, Now)>,
    /// The time of the last of them, and of the last other access.
    listed_until: u32,
    others_until: u32,
}

/// The most atomic operations that a page lists.
const LISTED: usize = 512;

impl Page {
    /// Prepares the page for accesses of a size. Lines may still hold accesses of earlier blocks, whose clocks are
    /// smaller.
    fn start(&mut self, size: u32, grid: usize) {
        self.shift = shift_of(size);
        if self.lines.len() < lines_of(self.shift) {
            self.lines.resize_with(lines_of(self.shift), Line::default);
        }
        self.grid = grid;
        self.listed.clear();
    }

    /// As [`Page::touch`], for global memory. Atomic operations are only listed while no other access is unordered with them. Another
    /// access lets the lines have the listed ones first.
    #[inline(always)]
    pub(crate) fn touch_or_list(
        &mut self,
        row: &Row,
        now: &Now,
        order: &Order,
        values: &[u32; 32],
        sink: &mut Sink<'_>,
    ) {
        if self.listed_until <= now.settled {
            // All of them are ordered before all later accesses.
            self.listed.clear();
        }
        let lists = now.kind == Kind::Atomic && self.others_until <= now.settled;
        if !self.listed.is_empty() && (!lists || self.listed.len() == LISTED) {
            self.touch_listed(order);
        }
        if lists {
            self.listed_until = self.listed_until.max(now.clock);
            return self.listed.push((*row, *now));
        }
        if now.kind != Kind::Atomic {
            self.others_until = self.others_until.max(now.clock);
        }
        self.touch(row, now, order, values, sink);
    }

    /// Lets the lines have the listed operations, which have no races with earlier accesses.
    #[cold]
    fn touch_listed(&mut self, order: &Order) {
        for (row, now) in std::mem::take(&mut self.listed) {
            self.touch(&row, &now, order, &[0; 32], &mut |_, _| false);
        }
    }

    /// Drops the accesses to memory that was allocated again.
    fn forget(&mut self, number: u64, (address, size): (u64, u64)) {
        for (row, _) in &mut self.listed {
            let place = |lane: u32| number * PAGE + u64::from(row.offset + (lane - row.lane) * row.step);
            let overlaps = |lane: &u32| place(*lane) < address + size && place(*lane) + u64::from(row.size) > address;
            let forgotten = bits(row.lanes).filter(overlaps).fold(0, |all, lane| all | 1 << lane);
            match row.lanes & !forgotten {
                0 => row.lanes = 0,
                lanes => *row = row.of(lanes),
            }
        }
        self.listed.retain(|(row, _)| row.lanes != 0);
        let lines = &mut self.lines;
        overlapped(number, self.shift, address, size, |line, pieces| lines[line].forget(pieces));
    }

    /// Splits the pieces until an access of `size` bytes covers whole pieces.
    #[cold]
    fn split(&mut self, size: u32) {
        let (old, shift) = (lines_of(self.shift), shift_of(size));
        let mut lines = Vec::with_capacity(lines_of(shift));
        self.lines[..old].iter().for_each(|line| line.split_into(self.shift - shift, &mut lines));
        (self.lines, self.shift) = (lines, shift);
    }

    /// Compares accesses of lanes with the recorded ones, and records them. `sink` receives the races. If several lanes
    /// write the same bytes, they write one value.
    #[inline(always)]
    pub(crate) fn touch(&mut self, row: &Row, now: &Now, order: &Order, values: &[u32; 32], sink: &mut Sink<'_>) {
        if self.shift > shift_of(row.size) {
            self.split(row.size);
        }
        let lines = &mut self.lines;
        row.parts(self.shift, |line, pieces, lanes| {
            if let Some(line) = lines.get_mut(line) {
                line.touch(&Part { now, pieces, lanes, values }, order, sink);
            }
        });
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
        if page.lines.is_empty() {
            page.start(size, NONE);
        }
        page
    }

    /// Returns the place of a page of global memory. For a page that is new to the block, `grid` returns its index in the
    /// grid's shadow, or [`NONE`].
    #[inline(always)]
    pub(crate) fn global_place(&mut self, number: u64, size: u32, grid: impl FnOnce(u64) -> usize) -> usize {
        let place = self.find(number);
        if place == NONE { self.add(number, size, grid(number)) } else { place }
    }

    /// Returns the page of global memory at a place.
    #[inline(always)]
    pub(crate) fn global_page(&mut self, place: usize) -> &mut Page {
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
            let Some(page) = self.pages.get_mut(place).filter(|page| page.grid != NONE) else { continue };
            page.forget(number, (address, size));
        }
    }
}

/// A hash of a page number.
#[inline(always)]
pub(crate) fn hash(number: u64) -> u64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20
}
