//! Accesses that do not end a launch, although their values are undefined.

use super::{Machine, region};
use crate::races::span::bits;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// The kind of a [`Misuse`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum MisuseKind {
    /// An access to the [slack](crate::Region::slack) behind a region.
    BeyondRegion,
    /// A store to a region that no parameter for the addresses of stores points to.
    OtherRegion,
    /// An access to shared memory between two variables.
    BetweenShared,
    /// A value of shared memory that no thread of the block has written.
    UnwrittenShared,
    /// A value of local memory that its thread has not written.
    UnwrittenLocal,
    /// A value of global memory that nothing has written.
    UnwrittenGlobal,
    /// A value of a block of the heap that the launch has allocated, and that nothing has written.
    UnwrittenHeap,
    /// The result of a shuffle from a lane that does not take part.
    AbsentLane,
    /// A matrix instruction without all lanes of its warp.
    PartialWarp,
    /// A lane that executes an instruction whose member mask does not name it.
    OutsideMask,
    /// Lanes of a member mask that execute the instruction with another mask.
    DifferentMasks,
    /// Lanes of a member mask that do not execute the instruction, although they have not exited.
    AbsentMember,
    /// An aligned barrier that only some lanes of a warp execute, while others execute another one.
    DivergentBarrier,
    /// A number of threads at a barrier that is no multiple of 32.
    PartialCount,
    /// A number of threads at a barrier that the block does not have.
    ExcessiveCount,
    /// Threads that state different numbers for one barrier.
    DifferentCounts,
    /// A barrier with a reduction that other threads use without one.
    MixedReduction,
    /// A thread that arrives at a barrier again, before the barrier is complete.
    SecondArrival,
    /// A bulk copy that has not read the shared memory of its block when the block ends.
    SourceOfEndedBlock,
    /// An access to a block of the heap that the launch has freed.
    FreedBlock,
    /// A read outside of all regions, behind which the launch goes on.
    StrayRead,
}

/// An access with an undefined value, or outside of its variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Misuse {
    /// The kind.
    pub kind: MisuseKind,
    /// The number of the instruction.
    pub pc: u32,
    /// The linear number of the block in the grid.
    pub block: u64,
    /// The linear number of the thread in the block.
    pub thread: u32,
    /// The first byte: a device address, or an offset in shared memory. For a shuffle, the number of the absent lane. For an
    /// instruction with a member mask or an aligned one, the mask, and the lanes in question in the upper 32 bits. For a barrier
    /// with a count, the count, and the one that it is compared with in the upper 32 bits.
    pub address: u64,
    /// The number of bytes.
    pub size: u32,
    /// The instruction at which another thread in question is, with the linear number of this thread in the block.
    pub other: Option<(u32, u32)>,
    /// Whether the access writes.
    pub write: bool,
    /// For an undefined value that was used: the instruction that has read it, and its use by `pc`.
    pub undefined: Option<(u32, Used)>,
}

/// The use of an undefined value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Used {
    /// It decides a branch.
    Branch,
    /// It is an address.
    Address,
    /// It decides whether an instruction with an effect is executed.
    Guard,
    /// It is an operand of an instruction with an effect, such as a barrier.
    Operand,
    /// It is stored for other blocks or the host.
    Store,
}

/// The source of an undefined value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Origin {
    /// The kind of the value.
    pub kind: MisuseKind,
    /// The instruction that has read it.
    pub pc: u32,
    /// As [`Misuse::address`] and [`Misuse::size`].
    pub address: u64,
    pub size: u32,
}

/// The first misuse of each instruction in each region, by block and thread.
#[derive(Default)]
pub(crate) struct Misuses(BTreeMap<(MisuseKind, u32, usize), Misuse>);

impl Misuses {
    fn keep(&mut self, key: (MisuseKind, u32, usize), misuse: Misuse) {
        match self.0.entry(key) {
            Entry::Vacant(entry) => drop(entry.insert(misuse)),
            Entry::Occupied(mut entry) => {
                let place = |misuse: &Misuse| (misuse.block, misuse.thread);
                if place(&misuse) < place(entry.get()) {
                    entry.insert(misuse);
                }
            }
        }
    }

    /// Merges the misuses that another core has recorded.
    pub(crate) fn merge(&mut self, other: Misuses) {
        other.0.into_iter().for_each(|(key, misuse)| self.keep(key, misuse));
    }

    /// The misuses. After a failure, only those of clusters up to the failed one count; `cluster_of` returns the number
    /// of a block's cluster.
    pub(crate) fn finish(self, failed: Option<u64>, cluster_of: impl Fn(u64) -> u64) -> Vec<Misuse> {
        let sure = |misuse: &Misuse| failed.is_none_or(|failed| cluster_of(misuse.block) <= failed);
        self.0.into_values().filter(sure).collect()
    }
}

impl Machine<'_> {
    /// Records a misuse by the running instruction. `object` is the number of the region.
    #[cold]
    pub(crate) fn misuse(
        &mut self,
        kind: MisuseKind,
        lane: u32,
        (address, size): (u64, u32),
        write: bool,
        object: usize,
    ) {
        if !self.recorder.enabled {
            return;
        }
        let pc = self.pc - 1;
        let (block, thread) = (self.block.number, self.warp.number * 32 + lane);
        let misuse = Misuse { kind, pc, block, thread, address, size, other: None, write, undefined: None };
        self.misuses.keep((kind, pc, object), misuse);
    }

    /// Records the use of an undefined value by the running instruction.
    #[cold]
    pub(crate) fn uses_undefined(&mut self, used: Used, lane: u32, origin: Origin) {
        let Origin { kind, pc: from, address, size } = origin;
        let (pc, block, thread) = (self.pc - 1, self.block.number, self.warp.number * 32 + lane);
        let undefined = Some((from, used));
        let misuse = Misuse { kind, pc, block, thread, address, size, other: None, write: false, undefined };
        self.misuses.keep((kind, from, pc as usize), misuse);
    }

    /// Records a misuse of synchronization by lanes of the warp. `numbers` has a mask and the lanes in question. `other` is the place of
    /// another lane.
    #[cold]
    pub(crate) fn misuse_lanes(&mut self, kind: MisuseKind, lane: u32, numbers: (u32, u32), other: Option<(u32, u32)>) {
        let first = self.warp.number * 32;
        self.misuse_threads(kind, lane, numbers, other.map(|(pc, lane)| (pc, first + lane)));
    }

    /// Records a misuse of synchronization by a lane. `other` is the place of another thread of the block.
    #[cold]
    pub(crate) fn misuse_threads(
        &mut self,
        kind: MisuseKind,
        lane: u32,
        (low, high): (u32, u32),
        other: Option<(u32, u32)>,
    ) {
        if !self.recorder.enabled {
            return;
        }
        let (pc, address) = (self.pc - 1, u64::from(low) | u64::from(high) << 32);
        let (block, thread) = (self.block.number, self.warp.number * 32 + lane);
        let misuse = Misuse { kind, pc, block, thread, address, size: 0, other, write: false, undefined: None };
        self.misuses.keep((kind, pc, 0), misuse);
    }

    /// Records the accesses of lanes to blocks of the heap that the launch has freed.
    #[cold]
    pub(crate) fn note_freed(&mut self, lanes: u32, size: u32, write: bool) {
        for lane in (0..32).filter(|lane| lanes >> lane & 1 == 1) {
            self.note_freed_lane(lane, (self.addresses[lane as usize], size), write);
        }
    }

    /// Records the access of one lane to a block of the heap that the launch has freed.
    #[cold]
    pub(crate) fn note_freed_lane(&mut self, lane: u32, (address, size): (u64, u32), write: bool) {
        let before = self.freed.range(..address.saturating_add(u64::from(size))).next_back();
        if let Some((start, end)) = before.map(|(start, end)| (*start, *end))
            && address < end
        {
            self.misuse(MisuseKind::FreedBlock, lane, (address, size), write, start as usize);
        }
    }

    /// Records that `free` has freed a block of the heap.
    pub(crate) fn block_is_freed(&mut self, address: u64, size: u64) {
        self.freed.insert(address, address.saturating_add(size));
        self.allocated.remove(&address);
    }

    /// Records that `malloc` has allocated a block of the heap, where freed ones may have been.
    pub(crate) fn block_is_allocated(&mut self, address: u64, size: u64) {
        let end = address.saturating_add(size.max(1));
        self.freed.retain(|start, freed_end| *freed_end <= address || end <= *start);
        if let Some(index) = region::find(self.launch.regions, address, end) {
            let start = self.launch.regions[index].start;
            self.allocated.insert(address, end);
            self.recorder.forget_unwritten(index, (address - start, end - start));
        }
    }

    /// Records an access to shared memory: offsets of the lanes from `start`, and the least and the greatest address.
    pub(crate) fn note_shared(&mut self, start: u64, (low, high): (u64, u64), size: u32, write: bool) {
        /// The most bytes that are looked at together.
        const NEAR: u64 = 2048;
        let (size, step_apart) = (size - self.unused, self.unused > 0);
        if size == 0 {
            return;
        }
        let (first, end) = (low - start, high - start + u64::from(size));
        let is_usual = end - first <= NEAR && (!write || self.block.undefined.is_empty());
        let in_variables = !self.is_between_shared(first, end);
        if is_usual && in_variables && self.block.is_written(first, end) {
            return;
        }
        // The columns of a tile have padding between them, which nothing writes.
        if in_variables && !write && self.has_written_each(start, size) {
            return;
        }
        let (mut rest, chains) = (self.mask, self.chains.without_gaps(size));
        while rest != 0 {
            let run;
            (run, rest) = chains.run(rest);
            let first = self.addresses[run.lane as usize & 31] - start;
            let last = first + u64::from(run.step * (run.count - 1));
            if self.is_between_shared(first, last + u64::from(size)) {
                for lane in run.lane..run.lane + run.count {
                    self.note_shared_lane(lane, self.addresses[lane as usize & 31] - start, size, write);
                }
                continue;
            }
            if write && !self.recorder.updates {
                self.block.set_written(first, last + u64::from(size));
                self.block.undefined.define(first, last + u64::from(size));
                continue;
            }
            if !step_apart && self.block.is_written(first, last + u64::from(size)) {
                continue;
            }
            for lane in run.lane..run.lane + run.count {
                self.note_shared_lane(lane, self.addresses[lane as usize & 31] - start, size, write);
            }
        }
    }

    /// Whether each lane reads bytes of shared memory, which begins at `start`, that were written.
    fn has_written_each(&mut self, start: u64, size: u32) -> bool {
        bits(self.mask).all(|lane| {
            let first = self.addresses[lane as usize] - start;
            self.block.is_written(first, first + u64::from(size))
        })
    }

    /// Whether some bytes of shared memory from `start` to `end` belong to no variable.
    #[inline(always)]
    fn is_between_shared(&mut self, start: u64, end: u64) -> bool {
        let holds = |(first, last): (u64, u64)| first <= start && end <= last;
        if holds(self.without_gaps) {
            return false;
        }
        self.without_gaps = self.program.shared_without_gaps(start);
        !holds(self.without_gaps)
    }

    /// Records an access of one lane to shared memory.
    pub(crate) fn note_shared_lane(&mut self, lane: u32, offset: u64, size: u32, write: bool) {
        let end = offset + u64::from(size);
        if self.is_between_shared(offset, end) {
            return self.misuse(MisuseKind::BetweenShared, lane, (offset, size), write, 0);
        }
        let reads = !write || self.recorder.updates;
        if reads && !self.block.is_written(offset, end) {
            // No value that is added to an undefined one is of use.
            let is_use = write && self.block.is_unwritten(offset, end);
            if !is_use && self.follows_accesses() {
                self.begin_undefined();
            } else if is_use || self.block.is_unwritten(offset, end) {
                self.misuse(MisuseKind::UnwrittenShared, lane, (offset, size), write, 0);
            }
        }
        // A followed update of undefined bytes may leave them undefined.
        if write
            && !(reads && self.undefined.is_some() && self.follows_accesses() && !self.block.is_unwritten(offset, end))
        {
            self.block.set_written(offset, end);
            self.block.undefined.define(offset, end);
        }
    }
}
