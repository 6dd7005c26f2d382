//! A block: its warps, shared memory and barriers.

use super::Machine;
use super::fault::FaultKind;
use super::undefined::{POISON, Shadow};
use super::waiting::Seen;
use super::warp::{Pause, Warp};
use crate::races::Watched;
use crate::races::order::BARRIERS;
use crate::races::span::bits;
use std::mem::swap;
use std::ops::Range;

/// The number of instructions that a warp executes in one turn.
pub(super) const TURN: u64 = 50_000;

/// The cycles of an instruction of a warp.
pub(crate) const CYCLES: u64 = 4;

/// A round of turns over the warps of a block.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Round {
    /// The instructions of the longest turn of a warp, and the number of executed ones at which the block's turn ends.
    pub longest: u64,
    pub end: u64,
    /// The executed instructions and the changes of memory before the round.
    pub before: u64,
    pub changes: u64,
    /// The warp whose turn it is, and its place in the round.
    pub index: usize,
    pub place: usize,
    /// Whether all warps so far are done, whether all wait, and whether the turn of one has ended by polls.
    pub done: bool,
    pub waits: bool,
    pub ended: bool,
}

impl Round {
    pub(super) fn begin(&mut self, executed: u64, changes: u64) {
        (self.before, self.changes, self.place) = (executed, changes, 0);
        (self.done, self.waits, self.ended) = (true, true, false);
    }
}

/// An arrival at a barrier.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Arrival {
    pub pc: u32,
    /// The number of the thread in the block.
    pub thread: u32,
    /// Whether the barrier has a result for it.
    pub result: bool,
}

/// A barrier of a block.
#[derive(Clone, Default, Debug)]
pub(crate) struct Barrier {
    /// The number of times that the barrier was completed.
    pub turn: u32,
    /// The arrived lanes of each warp, as masks.
    pub arrived_lanes: Vec<u32>,
    pub arrived: u32,
    /// The expected number of threads; `None` means all of the block.
    pub expected: Option<u32>,
    /// The first arrival since the barrier was completed.
    pub first: Arrival,
    /// The number of arrived threads with a true predicate.
    held: u32,
    /// The number of threads that arrived in the last turn, and how many of them had a true predicate.
    pub result: (u32, u32),
}

/// The barrier of a whole grid.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct GridBarrier {
    pub turn: u32,
    pub arrived: u64,
    /// The threads of the grid that have not exited.
    pub live: u64,
}

impl GridBarrier {
    /// Records arriving threads; returns whether they were the last.
    pub(crate) fn arrive(&mut self, threads: u32) -> bool {
        self.arrived += u64::from(threads);
        self.complete_if_all()
    }

    fn complete_if_all(&mut self) -> bool {
        let all = self.arrived > 0 && self.arrived >= self.live;
        if all {
            self.arrived = 0;
            self.turn += 1;
        }
        all
    }

    pub(crate) fn threads_ended(&mut self, threads: u32) {
        self.live = self.live.saturating_sub(u64::from(threads));
        self.complete_if_all();
    }
}

/// A block in execution.
#[derive(Default)]
pub(crate) struct Block {
    pub index: [u32; 3],
    /// The number of the block in the grid.
    pub number: u64,
    /// Shared memory in words of 16 bytes.
    shared: Vec<u128>,
    shared_bytes: u64,
    /// A bit for each byte of shared memory: whether a thread of the block has written it.
    shared_written: Vec<u64>,
    /// A range of shared memory all of whose bytes were found to be written.
    written: (u64, u64),
    /// The undefined bits of shared memory that threads have written.
    pub undefined: Shadow,
    /// Each is in a box, so that a turn exchanges two pointers.
    #[expect(clippy::vec_box)]
    pub warps: Vec<Box<Warp>>,
    /// The warps that have not started, as bits. Between the turns of the block, it has none.
    pub unstarted: u32,
    pub barriers: [Barrier; BARRIERS],
    /// The barriers that threads have arrived at, as bits.
    begun: u32,
    /// The threads that have not exited.
    pub live: u32,
    /// The slot of its cluster in the machine, and its rank there.
    pub cluster: usize,
    pub rank: u32,
    /// The number of the cluster and the rank, in as many low bits as the ranks of a cluster need.
    pub slot: u32,
    pub rank_bits: u32,
    /// The instructions of its earlier turns.
    pub ran: u64,
    /// The cycles for which its warps have slept: the longest time.
    pub slept: u64,
    /// Whether a thread has waited for the prerequisite grids, and whether a barrier orders all threads after such a wait.
    pub waited: bool,
    pub all_waited: bool,
    /// The number of writes of memory, without those that poll and leave it as it is.
    pub changes: u64,
    /// The [stamp](super::deadlock::Search::stamp) at which the block was found still, and what it read then.
    pub still: u64,
    pub seen: Vec<Seen>,
    pub printed: Vec<u8>,
    /// The records for race detection, if it is on.
    pub watched: Option<Box<Watched>>,
}

impl Block {
    pub(crate) fn shared_bytes(&self) -> u64 {
        self.shared_bytes
    }

    /// The cycles of the block at the end of its last turn: four for each instruction of a warp.
    pub(crate) fn cycles(&self) -> u64 {
        self.ran * CYCLES + self.slept
    }

    /// Calls `f` with each word of [`Block::shared_written`] for a range of offsets, and with the range's bits.
    #[inline(always)]
    fn written_words(&mut self, start: u64, end: u64, mut f: impl FnMut(&mut u64, u64) -> bool) -> bool {
        let mut at = start;
        while at < end {
            let (bit, count) = (at % 64, (64 - at % 64).min(end - at));
            let ones = if count == 64 { u64::MAX } else { ((1 << count) - 1) << bit };
            if let Some(word) = self.shared_written.get_mut((at / 64) as usize)
                && !f(word, ones)
            {
                return false;
            }
            at += count;
        }
        true
    }

    /// Marks bytes of shared memory as written.
    #[inline(always)]
    pub(crate) fn set_written(&mut self, start: u64, end: u64) {
        self.written_words(start, end, |word, ones| {
            *word |= ones;
            true
        });
    }

    /// Whether all bytes of a range of shared memory were written.
    #[inline(always)]
    pub(crate) fn is_written(&mut self, start: u64, end: u64) -> bool {
        self.written_words(start, end, |word, ones| *word & ones == ones)
    }

    /// As [`Block::is_written`], for a range that is asked for again.
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "only code for AVX2 uses it"))]
    pub(crate) fn is_written_throughout(&mut self, start: u64, end: u64) -> bool {
        let known = self.written.0 <= start && end <= self.written.1;
        let all = known || self.is_written(start, end);
        if all && !known {
            self.written = (start, end);
        }
        all
    }

    /// The bits of up to 8 bytes of shared memory that were not written.
    pub(crate) fn unwritten_bits(&mut self, start: u64, size: u32) -> u64 {
        if self.is_written(start, start + u64::from(size)) {
            return 0;
        }
        let mut is_written = |byte: &u64| self.is_written(start + byte, start + byte + 1);
        (0..u64::from(size)).filter(|byte| !is_written(byte)).fold(0, |bits, byte| bits | 0xff << (8 * byte))
    }

    /// Whether no byte of a range of shared memory was written.
    pub(crate) fn is_unwritten(&mut self, start: u64, end: u64) -> bool {
        self.written_words(start, end, |word, ones| *word & ones == 0)
    }

    /// Adds the shared memory and the barriers to a list.
    pub(super) fn write_shared(&self, state: &mut Vec<u64>) {
        state.extend(self.shared.iter().flat_map(|word| [*word as u64, (*word >> 64) as u64]));
        for barrier in &self.barriers {
            let Barrier { arrived, expected, held, result: (came, counted), ref arrived_lanes, turn: _, first: _ } =
                *barrier;
            let expected = expected.map_or(u64::MAX, u64::from);
            state.extend([arrived.into(), expected, held.into(), came.into(), counted.into()]);
            state.extend(arrived_lanes.iter().map(|lanes| u64::from(*lanes)));
        }
    }

    pub(crate) fn shared_base(&mut self) -> *mut u8 {
        self.shared.as_mut_ptr().cast()
    }

    /// Whether threads have arrived at a barrier.
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "only code for AVX2 uses it"))]
    pub(crate) fn has_barriers(&self) -> bool {
        self.begun != 0
    }

    /// Records that threads of a warp arrive at a barrier, and wait there if `waits`. `expected` is the number of
    /// threads, or `None` for all. Returns whether they were the last.
    #[inline]
    pub(crate) fn arrive(
        &mut self,
        number: usize,
        expected: Option<u32>,
        (warp, mask, dead): (u32, u32, u32),
        held: u32,
        waits: bool,
    ) -> bool {
        if let Some(watched) = self.watched.as_mut() {
            watched.arrive(number, warp, mask, waits);
        }
        self.begun |= 1 << number;
        let barrier = &mut self.barriers[number];
        if barrier.arrived_lanes.len() <= warp as usize {
            barrier.arrived_lanes.resize(warp as usize + 1, 0);
        }
        let arrived_lanes = &mut barrier.arrived_lanes[warp as usize];
        let weight = |arrived_lanes: u32| match expected {
            // Expected counts are of whole warps, so a warp counts 32 once all its threads have arrived.
            Some(_) if arrived_lanes | dead == u32::MAX && arrived_lanes != 0 => 32,
            _ => count(arrived_lanes),
        };
        let before = weight(*arrived_lanes);
        *arrived_lanes |= mask;
        barrier.arrived += weight(*arrived_lanes) - before;
        barrier.held += count(held);
        barrier.expected = expected;
        let all = barrier.complete_if_all(self.live);
        if all {
            self.join_clocks();
            self.completed(number, expected.is_none(), (warp, dead));
        }
        all
    }

    /// Records that threads of a warp have exited.
    pub(crate) fn threads_ended(&mut self, threads: u32, (warp, dead): (u32, u32)) {
        self.live -= threads;
        if let Some(watched) = self.watched.as_mut() {
            watched.exit(warp, dead);
        }
        for number in bits(self.begun).map(|number| number as usize) {
            let barrier = &mut self.barriers[number];
            if barrier.expected.is_none() && barrier.complete_if_all(self.live) {
                self.completed(number, true, (warp, dead));
            }
        }
    }

    /// Lets all warps but the running one continue from the latest of their clocks.
    fn join_clocks(&mut self) {
        if self.slept > 0 {
            self.warps.iter_mut().for_each(|warp| warp.slept = self.slept);
        }
    }

    /// Completes a barrier on behalf of the running warp, which is not in `warps` during its turn.
    pub(super) fn completed(&mut self, number: usize, whole: bool, (warp, dead): (u32, u32)) {
        self.all_waited |= self.waited;
        if let Some(watched) = self.watched.as_mut() {
            let warps = &self.warps;
            let dead = |other: usize| if other == warp as usize { dead } else { warps[other].dead };
            watched.complete(number, whole, dead);
        }
    }
}

/// The number of lanes of a mask. Not every processor has an instruction for it, and mostly all or none take part.
#[inline(always)]
fn count(mask: u32) -> u32 {
    match mask {
        0 => 0,
        u32::MAX => 32,
        _ => mask.count_ones(),
    }
}

impl Barrier {
    /// Prepares the barrier for a new block.
    fn reset(&mut self) {
        (self.turn, self.arrived, self.expected, self.held, self.result) = (0, 0, None, 0, (0, 0));
        self.arrived_lanes.fill(0);
    }

    /// The threads that have arrived, and those that the barrier needs in a block with `live` threads.
    pub(super) fn waits_for(&self, live: u32) -> (u32, u32) {
        (self.arrived, self.expected.unwrap_or(live))
    }

    fn complete_if_all(&mut self, live: u32) -> bool {
        let all = self.arrived > 0 && self.arrived >= self.expected.unwrap_or(live);
        if all {
            let came = match self.expected {
                Some(_) => self.arrived_lanes.iter().map(|mask| mask.count_ones()).sum(),
                None => self.arrived,
            };
            self.result = (came, self.held);
            self.turn += 1;
            self.arrived_lanes.fill(0);
            (self.arrived, self.held, self.expected) = (0, 0, None);
        }
        all
    }
}

/// The result of a block's turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BlockPause {
    Done,
    /// No thread of the block can run.
    Blocked,
    Turn,
    /// All threads of the block wait for others by polls.
    Waits,
    /// The block repeats a state, and changes no memory.
    Still,
    Failed,
}

impl Machine<'_> {
    /// Replaces the machine's block by a new one of a cluster.
    pub(crate) fn start_block(&mut self, slot: usize, rank: u32) {
        let number = self.clusters[slot].number;
        self.block.index = self.launch.block_index(number, rank);
        self.block.number = self.launch.block_number(self.block.index);
        (self.block.cluster, self.block.rank, self.block.rank_bits) = (slot, rank, self.races.grid.ranks());
        self.block.slot = (number as u32) << self.block.rank_bits | rank;
        (self.block.ran, self.block.slept) = (0, 0);
        (self.block.waited, self.block.all_waited, self.block.still) = (false, false, 0);
        self.block.seen.clear();
        let threads = self.launch.block_threads();
        self.block.live = threads;
        let begun = std::mem::take(&mut self.block.begun);
        bits(begun).for_each(|number| self.block.barriers[number as usize].reset());
        let bytes = self.program.shared + u64::from(self.launch.dynamic_shared);
        self.block.shared_bytes = bytes;
        let poison = u128::from(POISON) << 64 | u128::from(POISON);
        self.block.shared.resize(bytes.div_ceil(16) as usize, poison);
        // The variables of other kernels of the program stay as they are.
        for Range { start, end } in [self.shared.clone(), self.program.shared..bytes] {
            self.block.shared[(start / 16) as usize..end.div_ceil(16) as usize].fill(poison);
        }
        self.block.undefined.clear();
        let shared = self.block.shared_base();
        let reserved = self.program.reserved_shared();
        if !reserved.is_empty() {
            let bytes = (reserved.end - reserved.start) as usize;
            // SAFETY: the reserved area is a part of the static shared memory, which was just allocated.
            unsafe { shared.add(reserved.start as usize).write_bytes(0, bytes) };
        }
        self.clusters[slot].block_starts(rank, shared);
        if self.races.on && self.recorder.enabled {
            // Other blocks of a cluster write shared memory too, so there all of it counts as written.
            let written = if self.block.rank_bits > 0 { u64::MAX } else { 0 };
            self.block.written = (0, 0);
            self.block.shared_written.clear();
            self.block.shared_written.resize(bytes.div_ceil(64) as usize, written);
            self.block.set_written(reserved.start, reserved.end);
        }
        self.block.printed.clear();
        let warps = threads.div_ceil(32);
        self.watch_block(number, warps as usize);
        self.block.warps.resize_with(warps as usize, Warp::ended);
        self.block.unstarted = u32::MAX.checked_shr(32 - warps).unwrap_or(0);
        if self.has_clusters() {
            // Blocks of a cluster look at each other before their first turns.
            self.start_warps();
        }
    }

    /// Starts the warps that have not started.
    pub(super) fn start_warps(&mut self) {
        bits(self.block.unstarted).for_each(|index| self.start_warp(index as usize));
    }

    pub(super) fn start_warp(&mut self, index: usize) {
        self.block.unstarted &= !(1 << index);
        let function = &self.program.functions[self.launch.kernel as usize];
        let warp = &mut self.block.warps[index];
        warp.start(index as u32, self.launch.block_threads() - index as u32 * 32, function, self.launch.kernel);
        warp.plain = self.native.as_ref().is_some_and(|native| native.on);
    }

    /// Executes the block's warps in turns, until the block is done, `turn` instructions have run, or all warps wait for one of
    /// the other `blocks` that take turns. Calls `between` after each warp's turn.
    pub(crate) fn run_block(&mut self, blocks: usize, turn: u64, between: impl FnMut()) -> BlockPause {
        self.begin_block_turn(blocks);
        let observed = self.observe_if_due(self.polls.are_vain(blocks));
        let pause = observed.unwrap_or_else(|| {
            let pause = self.run_warps(turn, between);
            self.search.stamp += 1;
            let waits = matches!(pause, BlockPause::Waits | BlockPause::Blocked);
            self.polls.end_turn(waits, self.block.changes + self.search.moved);
            pause
        });
        if pause != BlockPause::Done {
            self.start_warps();
        }
        self.end_block_turn();
        pause
    }

    pub(super) fn begin_block_turn(&mut self, blocks: usize) {
        self.block_turn = self.executed;
        self.polls.begin_turn(blocks, self.block.changes + self.search.moved);
    }

    pub(super) fn end_block_turn(&mut self) {
        self.block.ran += self.executed - self.block_turn;
        self.block_turn = self.executed;
    }

    fn run_warps(&mut self, turn: u64, mut between: impl FnMut()) -> BlockPause {
        (self.round.longest, self.round.end) = (turn.min(TURN), self.executed.saturating_add(turn));
        loop {
            self.round.begin(self.executed, self.block.changes);
            let count = self.block.warps.len();
            let round = self.turns.round(count);
            while self.round.place < count {
                let index = self.turns.warp(self.round.place, round, count);
                self.round.index = index;
                self.round.place += 1;
                if self.is_unstarted(index) {
                    self.start_warp(index);
                } else if self.block.warps[index].fragments.is_empty() {
                    continue;
                }
                swap(&mut self.warp, &mut self.block.warps[index]);
                let started = self.executed;
                let longest = self.turns.length(self.round.longest);
                let pause = self.run_warp(longest);
                // The turn may have passed on to another warp; see `pass_on`.
                let index = self.round.index;
                self.round.waits &= self.polls.ended || pause == Pause::Blocked || self.executed == started;
                self.round.ended |= self.polls.ended;
                swap(&mut self.warp, &mut self.block.warps[index]);
                between();
                if self.tick(index) {
                    return BlockPause::Failed;
                }
                match pause {
                    Pause::Failed => return BlockPause::Failed,
                    Pause::Done => {}
                    Pause::Blocked | Pause::Turn => self.round.done = false,
                }
            }
            let Round { end, before, changes, done, waits, ended, .. } = self.round;
            if done {
                return BlockPause::Done;
            }
            if self.executed == before {
                return BlockPause::Blocked;
            }
            if waits && ended && self.block.changes == changes {
                return BlockPause::Waits;
            }
            if self.executed >= end {
                return BlockPause::Turn;
            }
        }
    }

    pub(super) fn is_unstarted(&self, index: usize) -> bool {
        self.block.unstarted >> index & 1 == 1
    }

    /// Ends the launch with a fault of the whole block.
    pub(crate) fn fail_block(&mut self, kind: FaultKind) {
        self.start_warps();
        // The fault names the first remaining thread.
        let waiting = self.block.warps.iter().find_map(|warp| Some((warp.number, *warp.fragments.first()?)));
        let (warp, fragment) = match waiting {
            Some((warp, fragment)) => (warp, Some(fragment)),
            None => (0, None),
        };
        self.warp.number = warp;
        self.pc = fragment.map_or(0, |fragment| fragment.pc);
        let lane = fragment.map_or(0, |fragment| Self::first(fragment.mask));
        self.fail(kind, lane, 0, 0, false);
    }
}
