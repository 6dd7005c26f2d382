//! Who touched what within one block: a cell for each piece of memory, with the last write and two reads since then.
//!
//! As in FastTrack: of the accesses that come before one another the last is enough. Of reads that nothing orders two
//! are kept, so that a writer meets one that is not its own.

use super::order::Order;

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
    #[inline(always)]
    pub(crate) fn new(thread: u32, pc: u32, way: Way) -> Who {
        Who(thread | (way as u32) << 10 | pc.min(FAR) << 12)
    }

    #[inline(always)]
    pub(crate) fn thread(self) -> u32 {
        self.0 & 1023
    }

    #[inline(always)]
    pub(crate) fn pc(self) -> Option<u32> {
        (self.0 >> 12 != FAR).then_some(self.0 >> 12)
    }

    #[inline(always)]
    pub(crate) fn way(self) -> Way {
        match self.0 >> 10 & 3 {
            1 => Way::Read,
            2 => Way::Write,
            _ => Way::Atomic,
        }
    }

    #[inline(always)]
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

    /// Whether it stands for two lanes.
    #[inline(always)]
    fn is_of_two(self) -> bool {
        self.stamp & 31 != self.who.thread() & 31
    }

    /// Takes in another lane.
    #[inline(always)]
    fn add(&mut self, now: &Now) {
        if !self.is_of_two() {
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

impl Now {
    /// Of the first lane of a warp.
    #[inline(always)]
    pub(crate) fn new(order: &Order, warp: u32, pc: u32, way: Way) -> Now {
        Now {
            who: Who::new(warp * 32, pc, way),
            clock: order.now(warp),
            warp,
            lane: 0,
            settled: order.settled(warp) << 5 | 31,
            first: order.first() << 5,
        }
    }

    /// Of a lane of the warp.
    #[inline(always)]
    pub(crate) fn of(self, lane: u32) -> Now {
        Now { who: Who(self.who.0 & !31 | lane), lane, ..self }
    }
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
    #[inline(always)]
    fn read_too(&mut self, now: &Now, order: &Order) {
        let [one, other] = &mut self.reads;
        if other.stamp > now.settled && other.is_of(now) {
            other.add(now);
            return;
        }
        let warp = one.who.thread() >> 5;
        let ordered = if warp == now.warp {
            one.unordered(now, order).is_none()
        } else {
            order.knows(now.warp, warp, one.stamp >> 5)
        };
        *(if ordered { one } else { other }) = Mark::of(now);
    }

    /// A read of two lanes at once, of which the second is given: what [`Met::first`] says of the first one. `None` if each has to be
    /// looked at for itself, which may be done then as if this had not been tried.
    #[inline(always)]
    pub(crate) fn read_by_two(&mut self, now: &Now, second: u32, order: &Order) -> Option<bool> {
        if self.write.stamp > now.settled {
            return None;
        }
        let [one, other] = &mut self.reads;
        let first = one.stamp < now.first;
        let kept = if one.stamp <= now.settled {
            one
        } else if one.is_of(now) {
            return one.is_of_two().then_some(first);
        } else if other.stamp > now.settled && other.is_of(now) {
            return other.is_of_two().then_some(first);
        } else {
            let warp = one.who.thread() >> 5;
            if warp == now.warp {
                return None;
            }
            if order.knows(now.warp, warp, one.stamp >> 5) { one } else { other }
        };
        *kept = Mark { who: now.who, stamp: now.clock << 5 | second };
        Some(first)
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

/// A number made of a value that was written: others have others, as good as always.
#[inline(always)]
pub(crate) fn digest(value: u64) -> u32 {
    ((value ^ value >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32
}
