//! The wrong use of barriers: aligned instructions in divergent code, and counts of threads.
//!
//! All lanes of a warp must execute an aligned instruction together. They need not be one fragment: a warp may have diverged for other
//! reasons, and arrives in parts. So lanes that arrive without the others are remembered. Lanes that execute another aligned
//! instruction in place of that one are a misuse. Exited lanes do not count.

use super::Machine;
use super::block::Arrival;
use super::misuse::MisuseKind;
use rustc_hash::FxHasher;
use std::hash::Hasher;

/// Lanes that have executed an aligned instruction without the others.
#[derive(Clone, Copy)]
pub(crate) struct Apart {
    /// The instruction, and a digest of the calls that have led to it.
    pc: u32,
    calls: u64,
    lanes: u32,
}

impl Machine<'_> {
    /// Records that the lanes execute an aligned instruction.
    #[inline(always)]
    pub(super) fn align(&mut self) {
        if self.mask | self.warp.dead != u32::MAX || !self.warp.apart.is_empty() {
            self.align_apart();
        }
    }

    #[cold]
    fn align_apart(&mut self) {
        let (pc, calls, dead) = (self.pc - 1, self.calls(), self.warp.dead);
        let mut all = std::mem::take(&mut self.warp.apart);
        all.retain(|apart| apart.lanes | dead != u32::MAX);
        let known = all.iter().position(|apart| (apart.pc, apart.calls) == (pc, calls));
        // Lanes that come later execute the instructions in the same order.
        let place = known.unwrap_or(all.len());
        let left_out = all[..place].iter().find(|apart| self.mask & !apart.lanes & !dead != 0);
        if let Some(apart) = left_out.copied() {
            let lanes = self.mask & !apart.lanes & !dead;
            let other = Some((apart.pc, Machine::first(apart.lanes)));
            self.misuse_lanes(MisuseKind::DivergentBarrier, Machine::first(lanes), (lanes, apart.lanes), other);
            all.clear();
        } else if let Some(known) = known {
            all[known].lanes |= self.mask;
        } else {
            all.push(Apart { pc, calls, lanes: self.mask });
        }
        self.warp.apart = all;
    }

    /// A digest of the calls that the fragment is in.
    fn calls(&self) -> u64 {
        let mut hasher = FxHasher::default();
        let mut frame = &self.warp.frames[self.frame as usize];
        while let Some(parent) = self.warp.frames.get(frame.parent as usize) {
            hasher.write_u32(frame.return_pc);
            frame = parent;
        }
        hasher.finish()
    }

    /// Records that the lanes arrive at a barrier, with the number of threads that they state, and whether they use its `result`.
    #[inline(always)]
    pub(super) fn check_arrival(&mut self, number: usize, expected: Option<u32>, result: bool) {
        let (pc, thread) = (self.pc - 1, self.warp.number * 32 + Machine::first(self.mask));
        let barrier = &mut self.block.barriers[number];
        if barrier.arrived == 0 {
            barrier.first = Arrival { pc, thread, result };
        } else if barrier.expected != expected || barrier.first.result != result {
            self.check_alike(number, expected, result);
        }
        if let Some(count) = expected {
            self.check_count(number, count);
        }
    }

    /// The number of the block's threads as barriers count them: by whole warps.
    fn whole_count(&self) -> u32 {
        self.launch.block_threads().next_multiple_of(32)
    }

    #[cold]
    fn check_alike(&mut self, number: usize, expected: Option<u32>, result: bool) {
        let (lane, all) = (Machine::first(self.mask), self.whole_count());
        let barrier = &self.block.barriers[number];
        let (one, other) = (expected.unwrap_or(all), barrier.expected.unwrap_or(all));
        let place = Some((barrier.first.pc, barrier.first.thread));
        if one != other {
            self.misuse_threads(MisuseKind::DifferentCounts, lane, (one, other), place);
        } else if barrier.first.result != result {
            self.misuse_threads(MisuseKind::MixedReduction, lane, (number as u32, u32::from(result)), place);
        }
    }

    fn check_count(&mut self, number: usize, count: u32) {
        let all = self.whole_count();
        let arrived = self.block.barriers[number].arrived_lanes.get(self.warp.number as usize);
        let again = arrived.map_or(0, |arrived| arrived & self.mask);
        if count > all {
            self.misuse_threads(MisuseKind::ExcessiveCount, Machine::first(self.mask), (count, all), None);
        } else if again != 0 {
            let first = self.block.barriers[number].first;
            let place = Some((first.pc, first.thread));
            self.misuse_threads(MisuseKind::SecondArrival, Machine::first(again), (number as u32, 0), place);
        }
    }
}
