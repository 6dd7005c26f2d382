//! Accesses within one block: a cell for each piece of memory, with the last write and two reads since then.
//!
//! As in FastTrack, the last of several ordered accesses is enough. A cell keeps two unordered reads, so that a write
//! is always compared with a read of another thread.

use super::order::Order;

/// The kind of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Read = 1,
    Write = 2,
    Atomic = 3,
}

/// A thread of a block, an instruction, and a kind of access in 10, 20 and 2 bits. Zero means none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Origin(pub u32);

/// The instruction number in place of all numbers that do not fit into 20 bits.
const FAR: u32 = (1 << 20) - 1;

impl Origin {
    #[inline(always)]
    pub(crate) fn new(thread: u32, pc: u32, kind: Kind) -> Origin {
        Origin(thread | (kind as u32) << 10 | pc.min(FAR) << 12)
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
    pub(crate) fn kind(self) -> Kind {
        match self.0 >> 10 & 3 {
            1 => Kind::Read,
            2 => Kind::Write,
            _ => Kind::Atomic,
        }
    }

    #[inline(always)]
    pub(crate) fn is_none(self) -> bool {
        self.0 == 0
    }
}

/// A recorded access: its origin, and the clock of its warp. The low 5 bits of the stamp may name a second lane with
/// the same access.
#[derive(Clone, Copy, Default)]
struct Mark {
    origin: Origin,
    stamp: u32,
}

impl Mark {
    #[inline(always)]
    fn of(now: &Now) -> Mark {
        Mark { origin: now.origin, stamp: now.clock << 5 | now.lane }
    }

    /// Whether the mark was made by the same warp at the same time.
    #[inline(always)]
    fn is_of(self, now: &Now) -> bool {
        self.stamp >> 5 == now.clock && self.origin.thread() >> 5 == now.warp
    }

    /// Whether the mark is of two lanes.
    #[inline(always)]
    fn is_of_two(self) -> bool {
        self.stamp & 31 != self.origin.thread() & 31
    }

    /// Adds a second lane.
    #[inline(always)]
    fn add(&mut self, now: &Now) {
        if !self.is_of_two() {
            self.stamp = now.clock << 5 | now.lane;
        }
    }

    /// Returns the origin of the mark if it is of another thread than `now` and the two accesses are unordered.
    #[cold]
    fn unordered(self, now: &Now, order: &Order) -> Option<Origin> {
        let other = Origin(self.origin.0 & !31 | self.stamp & 31);
        let own = now.origin.thread();
        let mut threads = [self.origin, other].into_iter().filter(|origin| origin.thread() != own);
        threads.find(|origin| !order.before(origin.thread(), self.stamp >> 5, now.warp, now.lane))
    }
}

/// The accesses to a piece of memory.
#[derive(Clone, Copy, Default)]
pub(crate) struct Cell {
    write: Mark,
    /// Reads since the last plain write. The second one may be that write, if an atomic operation follows it.
    reads: [Mark; 2],
    /// The digest of the last write. Memory itself may hold a value of another block.
    value: u32,
}

/// An access that is compared with recorded ones.
#[derive(Clone, Copy)]
pub(crate) struct Now {
    pub origin: Origin,
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
    pub(crate) fn new(order: &Order, warp: u32, pc: u32, kind: Kind) -> Now {
        Now {
            origin: Origin::new(warp * 32, pc, kind),
            clock: order.now(warp),
            warp,
            lane: 0,
            settled: order.settled(warp) << 5 | 31,
            first: order.first() << 5,
        }
    }

    /// Moves the access to another lane of the warp.
    #[inline(always)]
    pub(crate) fn of(self, lane: u32) -> Now {
        Now { origin: Origin(self.origin.0 & !31 | lane), lane, ..self }
    }
}

/// The result of recording an access.
pub(crate) struct Recorded {
    /// An unordered, conflicting access.
    pub with: Option<Origin>,
    /// Whether this is the block's first access of its kind to the piece, as far as the cell shows.
    pub first: bool,
}

impl Cell {
    /// Records a read.
    #[inline(always)]
    pub(crate) fn read(&mut self, now: &Now, order: &Order) -> Recorded {
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
        Recorded { with, first }
    }

    /// Records a read while a read of another warp or another time is recorded.
    #[inline(always)]
    fn read_too(&mut self, now: &Now, order: &Order) {
        let [one, other] = &mut self.reads;
        if other.stamp > now.settled && other.is_of(now) {
            other.add(now);
            return;
        }
        let warp = one.origin.thread() >> 5;
        let ordered = if warp == now.warp {
            one.unordered(now, order).is_none()
        } else {
            order.knows(now.warp, warp, one.stamp >> 5)
        };
        *(if ordered { one } else { other }) = Mark::of(now);
    }

    /// Records a read by two lanes, and returns [`Recorded::first`] for the first one. `None` means that nothing was
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
            let warp = one.origin.thread() >> 5;
            if warp == now.warp {
                return None;
            }
            if order.knows(now.warp, warp, one.stamp >> 5) { one } else { other }
        };
        *kept = Mark { origin: now.origin, stamp: now.clock << 5 | second };
        Some(first)
    }

    /// Records a write or an atomic operation. Writes of equal values do not conflict, because the result is the same
    /// in either order. Atomic operations do not conflict with each other.
    #[inline(always)]
    pub(crate) fn write(&mut self, now: &Now, order: &Order, value: u32) -> Recorded {
        let old = self.write;
        let mut recorded =
            Recorded { with: None, first: old.stamp < now.first || old.origin.kind() != now.origin.kind() };
        if old.stamp.max(self.reads[0].stamp).max(self.reads[1].stamp) > now.settled {
            recorded.with = self.meet(now, order, value);
        }
        self.value = value;
        self.write = Mark::of(now);
        if now.origin.kind() != Kind::Atomic {
            self.reads = [Mark::default(); 2];
        } else if old.origin.kind() == Kind::Write && old.stamp > now.settled {
            // Atomic operations of other threads conflict with the plain write, but not with this operation.
            self.reads[1] = old;
        }
        recorded
    }

    /// Returns the recorded reads that conflict with a write. [`Cell::write`] returns only the first one.
    #[cold]
    pub(crate) fn unordered_reads(&self, now: &Now, order: &Order) -> impl Iterator<Item = Origin> {
        let reads = self.reads.into_iter().filter(|mark| mark.stamp > now.settled);
        reads.filter_map(|mark| mark.unordered(now, order)).filter(|origin| origin.kind() == Kind::Read)
    }

    fn meet(&self, now: &Now, order: &Order, value: u32) -> Option<Origin> {
        let old = self.write;
        let harmless = match now.origin.kind() {
            Kind::Write => old.origin.kind() == Kind::Write && value == self.value,
            kind => old.origin.kind() == kind,
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
