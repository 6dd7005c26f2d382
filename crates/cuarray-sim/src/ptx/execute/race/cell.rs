//! Who touched what within one block: a cell for each piece of memory, with the last write and two reads since then.
//!
//! As in FastTrack: of the accesses that come before one another the last is enough. Of reads that nothing orders two
//! are kept, so that a writer meets one that is not its own. Pieces are as large as the accesses that were seen in a page of
//! memory: one of 8 bytes becomes several when a smaller access comes, and all of them were touched alike.

use super::order::Order;

/// Bytes of a page.
pub(crate) const PAGE: u64 = 1024;

/// How memory is accessed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    Read = 1,
    Write = 2,
    Atomic = 3,
}

/// A thread of a block at an instruction, and what it does there: 10 bits, 20 bits, 2 bits. Zero: nobody.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Who(pub u32);

/// The instruction of code that is too long to tell.
const FAR: u32 = (1 << 20) - 1;

impl Who {
    pub(crate) fn new(thread: u32, pc: u32, way: Way) -> Who {
        Who(thread | (way as u32) << 10 | pc.min(FAR) << 12)
    }

    pub(crate) fn thread(self) -> u32 {
        self.0 & 1023
    }

    pub(crate) fn pc(self) -> Option<u32> {
        (self.0 >> 12 != FAR).then_some(self.0 >> 12)
    }

    pub(crate) fn way(self) -> Way {
        match self.0 >> 10 & 3 {
            1 => Way::Read,
            2 => Way::Write,
            _ => Way::Atomic,
        }
    }

    pub(crate) fn nobody(self) -> bool {
        self.0 == 0
    }
}

/// An access: who, and when by the clock of the warp, with 5 bits for another lane of the warp that did the same then.
#[derive(Clone, Copy, Default)]
struct Mark {
    who: Who,
    stamp: u32,
}

impl Mark {
    #[inline(always)]
    fn of(now: &Now) -> Mark {
        Mark { who: now.who, stamp: now.clock << 5 | now.lane }
    }

    /// Whether it was made by the same warp at the same time.
    #[inline(always)]
    fn is_of(self, now: &Now) -> bool {
        self.stamp >> 5 == now.clock && self.who.thread() >> 5 == now.warp
    }

    /// Takes in another lane.
    #[inline(always)]
    fn add(&mut self, now: &Now) {
        if self.stamp & 31 == self.who.thread() & 31 {
            self.stamp = now.clock << 5 | now.lane;
        }
    }

    /// Who made it, if that is another thread than `now`, and nothing orders the two.
    #[cold]
    fn unordered(self, now: &Now, order: &Order) -> Option<Who> {
        let other = Who(self.who.0 & !31 | self.stamp & 31);
        let own = now.who.thread();
        let mut threads = [self.who, other].into_iter().filter(|who| who.thread() != own);
        threads.find(|who| !order.before(who.thread(), self.stamp >> 5, now.warp, now.lane))
    }
}

/// A piece of memory.
#[derive(Clone, Copy, Default)]
pub(crate) struct Cell {
    write: Mark,
    reads: [Mark; 2],
    /// A number made of what was written: memory itself may hold another block's by now.
    value: u32,
}

/// An access as it is compared with others.
#[derive(Clone, Copy)]
pub(crate) struct Now {
    pub who: Who,
    pub clock: u32,
    pub warp: u32,
    pub lane: u32,
    /// Stamps up to this one come before it, whoever made them.
    pub settled: u32,
    /// Stamps before this one are of former blocks.
    pub first: u32,
}

/// What came of an access.
pub(crate) struct Met {
    /// The access that it conflicts with, and that nothing orders with it.
    pub with: Option<Who>,
    /// Whether the block has not touched the piece in this way before, as far as the cell tells.
    pub first: bool,
}

impl Cell {
    /// A read.
    #[inline(always)]
    pub(crate) fn read(&mut self, now: &Now, order: &Order) -> Met {
        let with = if self.write.stamp > now.settled { self.write.unordered(now, order) } else { None };
        let one = &mut self.reads[0];
        let first = one.stamp < now.first;
        if one.stamp <= now.settled {
            *one = Mark::of(now);
        } else if one.is_of(now) {
            one.add(now);
        } else {
            self.read_too(now, order);
        }
        Met { with, first }
    }

    /// A read where another warp's is kept, or one of another time.
    fn read_too(&mut self, now: &Now, order: &Order) {
        let [one, other] = &mut self.reads;
        if other.stamp > now.settled && other.is_of(now) {
            other.add(now);
        } else if one.unordered(now, order).is_none() {
            *one = Mark::of(now);
        } else {
            *other = Mark::of(now);
        }
    }

    /// A write, which does not conflict with one of the same value: whoever comes last leaves the same. Or an atomic operation, which
    /// does not conflict with another one.
    #[inline(always)]
    pub(crate) fn write(&mut self, now: &Now, order: &Order, value: u32) -> Met {
        let old = self.write;
        let mut met = Met { with: None, first: old.stamp < now.first || old.who.way() != now.who.way() };
        if old.stamp.max(self.reads[0].stamp).max(self.reads[1].stamp) > now.settled {
            met.with = self.meet(now, order, value);
        }
        self.value = value;
        self.write = Mark::of(now);
        self.reads = [Mark::default(); 2];
        met
    }

    fn meet(&self, now: &Now, order: &Order, value: u32) -> Option<Who> {
        let old = self.write;
        let harmless = match now.who.way() {
            Way::Write => old.who.way() == Way::Write && value == self.value,
            way => old.who.way() == way,
        };
        let mut marks = self.reads.into_iter().chain((!harmless).then_some(old));
        marks.find_map(|mark| if mark.stamp > now.settled { mark.unordered(now, order) } else { None })
    }
}

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

    /// The pieces of an access that does not leave the page.
    #[inline(always)]
    pub(crate) fn pieces(&self, address: u64, size: u32) -> std::ops::Range<usize> {
        let offset = (address % PAGE) as usize;
        offset >> self.shift..((offset + size as usize - 1) >> self.shift) + 1
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

/// A number made of a value that was written: others have others, as good as always.
pub(crate) fn digest(value: u64) -> u32 {
    ((value ^ value >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32
}

/// Spreads numbers.
pub(crate) fn hash(number: u64) -> u64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20
}
