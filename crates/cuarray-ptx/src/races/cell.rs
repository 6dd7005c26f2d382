//! Accesses within one block: a cell for each piece of memory, with the last write and two reads since then.
//!
//! As in FastTrack, the last of several ordered accesses is enough. Two unordered reads are kept, so that a writer
//! meets a read of another thread.

use super::order::Order;

/// The kind of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    Read = 1,
    Write = 2,
    Atomic = 3,
}

/// A thread of a block, an instruction, and a kind of access in 10, 20 and 2 bits. Zero means none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Who(pub u32);

/// Stands for all instructions with a number that does not fit.
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

/// An access: who made it, and the clock of its warp. The low 5 bits of the stamp may name a second lane that did the
/// same.
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

    /// Whether the mark was made by the same warp at the same time.
    #[inline(always)]
    fn is_of(self, now: &Now) -> bool {
        self.stamp >> 5 == now.clock && self.who.thread() >> 5 == now.warp
    }

    /// Whether the mark stands for two lanes.
    #[inline(always)]
    fn is_of_two(self) -> bool {
        self.stamp & 31 != self.who.thread() & 31
    }

    /// Adds a second lane.
    #[inline(always)]
    fn add(&mut self, now: &Now) {
        if !self.is_of_two() {
            self.stamp = now.clock << 5 | now.lane;
        }
    }

    /// Returns the maker of the mark if it is another thread than `now`, and is unordered with it.
    #[cold]
    fn unordered(self, now: &Now, order: &Order) -> Option<Who> {
        let other = Who(self.who.0 & !31 | self.stamp & 31);
        let own = now.who.thread();
        let mut threads = [self.who, other].into_iter().filter(|who| who.thread() != own);
        threads.find(|who| !order.before(who.thread(), self.stamp >> 5, now.warp, now.lane))
    }
}

/// The accesses to a piece of memory.
#[derive(Clone, Copy, Default)]
pub(crate) struct Cell {
    write: Mark,
    reads: [Mark; 2],
    /// The digest of the last write. Memory itself may hold a value of another block.
    value: u32,
}

/// An access that is compared with recorded ones.
#[derive(Clone, Copy)]
pub(crate) struct Now {
    pub who: Who,
    pub clock: u32,
    pub warp: u32,
    pub lane: u32,
    /// Stamps up to this one are ordered before the access, for all warps.
    pub settled: u32,
    /// Stamps before this one belong to earlier blocks.
    pub first: u32,
}

impl Now {
    /// Creates the access of the first lane of a warp.
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

    /// The same access by a lane of the warp.
    #[inline(always)]
    pub(crate) fn of(self, lane: u32) -> Now {
        Now { who: Who(self.who.0 & !31 | lane), lane, ..self }
    }
}

/// The result of recording an access.
pub(crate) struct Met {
    /// An unordered, conflicting access.
    pub with: Option<Who>,
    /// Whether this is the block's first access of its kind to the piece, as far as the cell shows.
    pub first: bool,
}

impl Cell {
    /// Records a read.
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

    /// Records a read while a read of another warp or another time is recorded.
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

    /// Records a read by two lanes, and returns [`Met::first`] for the first one. `None` means that nothing was
    /// recorded, and each lane must be recorded alone.
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

    /// Records a write or an atomic operation. Writes of equal values do not conflict, because the result is the same
    /// in either order. Atomic operations do not conflict with each other.
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

/// A digest of a written value; different values nearly always have different digests.
#[inline(always)]
pub(crate) fn digest(value: u64) -> u32 {
    ((value ^ value >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32
}
