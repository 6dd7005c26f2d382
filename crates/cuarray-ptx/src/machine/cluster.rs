//! Clusters: blocks that share a barrier, and that access each other's shared memory.
//!
//! The blocks of a cluster run in turns in one host thread. An address of shared memory names a block by its rank, in
//! eight bits above an offset of 24 bits. These bits hold the rank plus one; zero names the block of the thread.
//!
//! Race detection compares the blocks of a cluster between its barriers. A thread that has arrived at a barrier and has
//! not waited yet is ordered with neither phase, so its accesses belong to both.

use super::address_windows::SHARED_WINDOW;
use super::asynchronous::Pending;
use super::block::{Block, GridBarrier};
use super::branching::ALIGNED;
use super::fault::FaultKind;
use super::pattern::Run;
use super::program::Instruction;
use super::warp::Waiting;
use super::{Flow, Machine};
use crate::races::blocks::{Grid, Slot};
use crate::races::cell::{Kind, Origin};
use crate::races::page::{NONE, PAGE};
use crate::races::span::Row;

/// The first bit of the rank in an address of shared memory.
pub const RANK_SHIFT: u32 = 24;
/// The bits of an address of shared memory that hold a rank.
const RANKS: u64 = 0xff << RANK_SHIFT;
/// The bits of an address of shared memory that hold an offset.
pub(crate) const OFFSETS: u64 = (1 << RANK_SHIFT) - 1;

/// A cluster in execution.
#[derive(Default)]
pub(crate) struct Cluster {
    /// The number of the cluster in the grid.
    pub number: u64,
    /// The index of the cluster in the grid.
    pub index: [u32; 3],
    pub barrier: GridBarrier,
    /// Whether a thread has waited for the prerequisite grids.
    pub waited: bool,
    /// The blocks that have not ended.
    pub live_blocks: u32,
    /// The start of each block's shared memory, by rank; null for a block that has ended.
    shared: Vec<*mut u8>,
    /// The accesses before the last barrier, since then, and after the next one.
    phases: [Grid; 3],
    /// The asynchronous copies of its blocks that have not run.
    pub pending: Pending,
}

impl Cluster {
    /// Starts a cluster of `blocks` blocks with `threads` threads each.
    pub(crate) fn start(&mut self, number: u64, index: [u32; 3], blocks: u32, threads: u32) {
        (self.number, self.index, self.live_blocks) = (number, index, blocks);
        self.barrier = GridBarrier { live: u64::from(blocks) * u64::from(threads), ..GridBarrier::default() };
        self.waited = false;
        self.shared.clear();
        self.shared.resize(blocks as usize, std::ptr::null_mut());
        self.pending.clear();
    }

    /// Whether the block with a rank has ended.
    pub(crate) fn has_ended(&self, rank: u32) -> bool {
        self.shared.get(rank as usize).is_none_or(|shared| shared.is_null())
    }

    /// Sets the start of a block's shared memory.
    pub(crate) fn block_starts(&mut self, rank: u32, shared: *mut u8) {
        self.shared[rank as usize] = shared;
    }

    /// Records that a block has ended, with its shared memory; returns whether it was the last of the cluster.
    pub(crate) fn block_ends(&mut self, rank: u32) -> bool {
        self.shared[rank as usize] = std::ptr::null_mut();
        self.live_blocks -= 1;
        self.live_blocks == 0
    }
}

impl Machine<'_> {
    /// The cluster of the current block.
    pub(crate) fn cluster(&self) -> &Cluster {
        &self.clusters[self.block.cluster]
    }

    /// Whether the launch has clusters of several blocks.
    #[inline(always)]
    pub(crate) fn has_clusters(&self) -> bool {
        self.block.rank_bits > 0
    }

    /// Resolves an offset in the shared memory of another block of the cluster.
    pub(crate) fn locate_remote(&self, offset: u64, size: u64) -> Result<u64, FaultKind> {
        let rank = (offset >> RANK_SHIFT).checked_sub(1).ok_or(FaultKind::IllegalAddress)?;
        let start = usize::try_from(rank).ok().and_then(|rank| self.cluster().shared.get(rank));
        let start = *start.ok_or(FaultKind::IllegalAddress)?;
        if (offset & OFFSETS) + size > self.block.shared_bytes() {
            return Err(FaultKind::IllegalAddress);
        }
        if start.is_null() {
            return Err(FaultKind::BlockEnded);
        }
        Ok(start as u64 + (offset & OFFSETS))
    }

    /// The lanes that arrived at a barrier of the cluster which is not complete.
    fn arrived_now(&self) -> u32 {
        let odd = (self.cluster().barrier.turn & 1).wrapping_neg();
        self.warp.cluster_arrived & !(self.warp.cluster_odd ^ odd)
    }

    /// Records that threads have exited, which counts as an arrival at every barrier of the cluster.
    pub(crate) fn cluster_threads_ended(&mut self, lanes: u32) {
        self.watch_cluster_exit();
        let withdrawn = (self.arrived_now() & lanes).count_ones();
        let barrier = &mut self.clusters[self.block.cluster].barrier;
        barrier.arrived -= u64::from(withdrawn);
        let turn = barrier.turn;
        barrier.threads_ended(lanes.count_ones());
        if barrier.turn != turn {
            self.cluster_barrier_completed();
        }
    }

    /// Compares the accesses that no later access of the cluster can race with, and starts a new phase.
    fn cluster_barrier_completed(&mut self) {
        if self.races.on && self.has_clusters() {
            let phases = &mut self.clusters[self.block.cluster].phases;
            phases.rotate_left(1);
            let finished = std::mem::take(&mut phases[2]);
            self.races.compare_cluster(finished, self.launch);
        }
    }

    /// Compares all accesses of a cluster, at its end or at a barrier of the grid.
    pub(crate) fn compare_cluster(&mut self, slot: usize) {
        for phase in std::mem::take(&mut self.clusters[slot].phases) {
            self.races.compare_cluster(phase, self.launch);
        }
    }

    /// Drops accesses to memory that was allocated anew.
    pub(crate) fn forget_cluster_accesses(&mut self, address: u64, size: u64) {
        for phase in self.clusters.iter_mut().flat_map(|cluster| &mut cluster.phases) {
            phase.forget(address, size);
        }
    }

    /// The lanes of a mask that access the shared memory of the own block, after their ranks were removed.
    pub(crate) fn own_shared(&mut self, mask: u32) -> u32 {
        let own = u64::from(self.block.rank + 1) << RANK_SHIFT;
        let mut lanes = 0;
        for lane in (0..32).filter(|lane| mask >> lane & 1 == 1) {
            let address = &mut self.addresses[lane];
            if *address & RANKS == own {
                *address &= !RANKS;
            }
            lanes |= u32::from(*address & RANKS == 0) << lane;
        }
        lanes
    }

    /// Records accesses for the comparison of the cluster's blocks. `shared` are the lanes that access shared memory.
    pub(crate) fn touch_cluster(
        &mut self,
        mask: u32,
        shared: u32,
        (size, at): (u32, u32),
        kind: Kind,
        digests: &[u32; 32],
    ) {
        if self.block.watched.is_none() {
            return;
        }
        let (arrived, now) = (self.warp.cluster_arrived, self.arrived_now());
        let slot = Slot { block: self.block.slot, origin: Origin::new(self.warp.number * 32, self.pc - 1, kind) };
        let own = SHARED_WINDOW | u64::from(self.block.rank + 1) << RANK_SHIFT;
        let phases = &mut self.clusters[self.block.cluster].phases;
        for (phase, members) in [(0, mask & arrived & !now), (1, mask), (2, mask & now)] {
            let grid = &mut phases[phase];
            for (lanes, of_shared) in [(members & !shared, false), (members & shared, true)] {
                let mut rest = lanes;
                while rest != 0 {
                    let run;
                    (run, rest) = self.chains.run(rest);
                    let Run { mut lane, count: mut left, step } = run;
                    if step == 0 && kind == Kind::Write && left > 1 {
                        // The lanes may write different values.
                        rest |= u32::MAX >> (32 - (left - 1)) << (lane + 1);
                        left = 1;
                    }
                    let mut address = self.addresses[lane as usize & 31].wrapping_add(at.into());
                    if of_shared {
                        let ranked = address & RANKS != 0;
                        address = if ranked { address | SHARED_WINDOW } else { address & OFFSETS | own };
                    }
                    while left > 0 {
                        let offset = (address % PAGE) as u32;
                        let count = if step == 0 { left } else { left.min((PAGE as u32 - offset).div_ceil(step)) };
                        let place = grid.place(address / PAGE, size);
                        if place != NONE {
                            let lanes = u32::MAX >> (32 - count) << lane;
                            grid.touch(place, &Row { offset, size, step, lane, lanes }, slot, digests);
                        }
                        lane += count;
                        left -= count;
                        address += u64::from(count * step);
                    }
                }
            }
        }
    }

    /// Starts the blocks of a cluster, in the order of their ranks.
    pub(crate) fn start_cluster(&mut self, slot: usize, number: u64, blocks: &mut Vec<Block>) {
        let (count, threads) = (self.launch.cluster_blocks(), self.launch.block_threads());
        self.clusters[slot].start(number, super::launch::index_in(self.launch.clusters(), number), count, threads);
        blocks.resize_with(count as usize, Block::default);
        for (rank, block) in blocks.iter_mut().enumerate() {
            std::mem::swap(&mut self.block, block);
            self.start_block(slot, rank as u32);
            std::mem::swap(&mut self.block, block);
        }
    }

    /// Ends the current block.
    pub(crate) fn end_block(&mut self) {
        self.finish_pending();
        let slot = self.block.cluster;
        self.nanoseconds = self.nanoseconds.max(self.launch.nanoseconds(self.block.cycles()));
        let last = self.clusters[slot].block_ends(self.block.rank);
        self.watch_block_end(last);
        if last && self.has_clusters() {
            self.compare_cluster(slot);
        }
    }
}

/// `barrier.cluster.arrive`: `imm` is 1 if it is relaxed, with [`ALIGNED`].
pub(crate) unsafe fn arrive(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    let lanes = machine.mask;
    let twice = machine.warp.cluster_arrived & lanes;
    if twice != 0 {
        return machine.fail(FaultKind::IllegalInstruction, Machine::first(twice), 0, 0, false);
    }
    if instruction.imm & ALIGNED != 0 {
        machine.align();
    }
    let odd = (machine.cluster().barrier.turn & 1).wrapping_neg();
    let warp = &mut machine.warp;
    warp.cluster_arrived |= lanes;
    warp.cluster_odd = warp.cluster_odd & !lanes | odd & lanes;
    machine.watch_cluster_arrival(lanes, instruction.imm & 1 == 1);
    machine.search.moved += 1;
    if machine.clusters[machine.block.cluster].barrier.arrive(lanes.count_ones()) {
        machine.cluster_barrier_completed();
    }
    Flow::Next
}

/// `barrier.cluster.wait`.
pub(crate) unsafe fn wait(machine: &mut Machine<'_>, _: &Instruction) -> Flow {
    let lanes = machine.mask;
    let without = lanes & !machine.warp.cluster_arrived;
    if without != 0 {
        return machine.fail(FaultKind::IllegalInstruction, Machine::first(without), 0, 0, false);
    }
    let pending = machine.arrived_now() & lanes;
    let turn = machine.cluster().barrier.turn;
    if pending == lanes {
        machine.leave_rest();
        // The instruction runs again once the barrier is complete.
        machine.pc -= 1;
        machine.leave(Waiting::Cluster(turn));
        return Flow::Stop;
    }
    if pending != 0 {
        machine.part(machine.pc - 1, pending, Waiting::Cluster(turn));
        machine.active &= !pending;
        machine.mask &= !pending;
    }
    machine.warp.cluster_arrived &= !machine.mask;
    machine.watch_cluster_wait(turn, machine.mask);
    Flow::Next
}

/// `mapa`: the address of `a` in the shared memory of the block with the rank `b`.
pub(crate) fn mapped(address: u64, rank: u32) -> u64 {
    // A rank that is too large names no block.
    address & !RANKS | u64::from(rank.min(0xfe) + 1) << RANK_SHIFT
}

/// `getctarank`: `d` is the rank of the block that holds the address `a`, of 64 bits if `imm` is 1.
pub(crate) unsafe fn rank(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    // SAFETY: the resolver checked the widths.
    unsafe {
        let addresses = match instruction.imm {
            1 => machine.slots::<[u64; 32]>(instruction.a).read(),
            _ => machine.slots::<[u32; 32]>(instruction.a).read().map(u64::from),
        };
        let target = machine.slots::<u32>(instruction.d);
        for lane in (0..32).filter(|lane| machine.mask >> lane & 1 == 1) {
            let rank = (addresses[lane] & RANKS) >> RANK_SHIFT;
            target.add(lane).write(rank.checked_sub(1).map_or(machine.block.rank, |rank| rank as u32));
        }
    }
    Flow::Next
}

/// `isspacep.shared::cta`: the predicate `d` holds where the generic address `a` is in the shared memory of the block.
pub(crate) unsafe fn is_own_shared(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    let own = u64::from(machine.block.rank + 1) << RANK_SHIFT;
    // SAFETY: `a` is a register of 64 bits, and `d` a predicate.
    unsafe {
        let addresses = machine.slots::<[u64; 32]>(instruction.a).read();
        let holds = |address: u64| {
            address >> 56 == SHARED_WINDOW >> 56 && matches!(address & RANKS, rank if rank == 0 || rank == own)
        };
        let lanes = (0..32).fold(0, |lanes, lane| lanes | u32::from(holds(addresses[lane])) << lane);
        machine.set_predicate(instruction.d, lanes);
    }
    Flow::Next
}

/// `%is_explicit_cluster` as a predicate.
pub(crate) unsafe fn is_explicit(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    let holds = u32::from(machine.launch.cluster.is_some()).wrapping_neg();
    // SAFETY: `d` is a predicate.
    unsafe { machine.set_predicate(instruction.d, holds) };
    Flow::Next
}
