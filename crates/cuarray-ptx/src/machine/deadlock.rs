//! The proof that the threads of a launch wait forever.
//!
//! Memory that does not change gives a thread the same values again. So if a block comes back to a state in which it was before, and
//! has changed no memory meanwhile, it goes through the same states forever, unless memory is changed from outside. Such a block is
//! *still*. If all blocks of a launch that have started are still, and no other one can start, only the host can end the launch. The
//! state of a block is compared as a whole: its registers, local and shared memory, and barriers. Their [undefined](super::undefined)
//! bits decide nothing that the threads do, and are left out. So a loop that counts its iterations is not still, and neither is one that
//! reads the time.
//!
//! A block is observed in steps: in each, every fragment that can run executes up to its next jump back. That depends on no order, so
//! kernels are observed in every order of turns. Blocks are observed once all have waited without effect, and at growing intervals, because a
//! loop may wait without a poll that [`polls`](super::polls) recognises.

use super::Machine;
use super::access_mode::{LOCAL, SHARED, space};
use super::address_windows::{LOCAL_WINDOW, SHARED_WINDOW};
use super::block::{Block, BlockPause};
use super::fault::{Fault, FaultKind};
use super::launch::Outlook;
use super::waiting::{Polling, Seen};
use super::warp::{Waiting, Warp};
use crate::races::span::bits;
use std::mem::swap;

/// The instructions before the first observation, and the most between two.
const FIRST: u64 = 1 << 16;
const LONGEST: u64 = 1 << 26;
/// The part of the instructions that are observed, as a shift: accesses of an observed block take longer.
const PART: u32 = 6;
/// The instructions of an observation of blocks that have all waited.
const OF_WAITING: u64 = 1 << 20;
/// The instructions between two calls of [`Service::tick`](super::Service::tick).
const TICK: u64 = 10_000;

/// The search for still blocks.
pub(crate) struct Search {
    /// Whether each block that takes its turn is observed.
    pub on: bool,
    /// Whether the running block is observed, so that its reads are noted.
    pub observing: bool,
    /// The events besides changes of memory by which threads get on: reads of the time, output, calls of the host, arrivals at the
    /// barriers of clusters and of the grid.
    pub moved: u64,
    /// A number that grows when a block may have got on. A block is still if it was found so at this number.
    pub stamp: u64,
    /// The instruction count of the next observation, and the distance to the one after it.
    due: u64,
    gap: u64,
    /// The instructions of an observation.
    most: u64,
    /// The instruction count of the next tick.
    pub(super) tick: u64,
}

impl Default for Search {
    fn default() -> Search {
        let (on, observing, moved, stamp, tick) = (false, false, 0, 1, TICK);
        Search { on, observing, moved, stamp, due: FIRST, gap: FIRST, most: 0, tick }
    }
}

impl Search {
    /// The instructions before the next observation, at least 1.
    pub(super) fn until_due(&self, executed: u64) -> u64 {
        self.due.saturating_sub(executed).max(1)
    }

    /// Puts off the next observation, because a block has got on.
    fn put_off(&mut self, executed: u64) {
        self.on = false;
        self.due = executed + self.gap;
        self.gap = (self.gap * 2).min(LONGEST);
    }
}

impl Block {
    /// Whether the block was found still, and no block has got on since then.
    pub(super) fn is_still(&self, search: &Search) -> bool {
        self.still == search.stamp
    }
}

impl Machine<'_> {
    /// Observes the running block if that is due, or if all blocks have `waited` without effect. Returns nothing if it has an ordinary turn.
    pub(super) fn observe_if_due(&mut self, waited: bool) -> Option<BlockPause> {
        if !self.search.on && !waited && self.executed < self.search.due {
            return None;
        }
        if self.block.is_still(&self.search) {
            return Some(BlockPause::Still);
        }
        self.start_warps();
        if !self.search.on {
            self.search.most = if waited { OF_WAITING } else { self.search.gap >> PART };
        }
        self.search.on = true;
        (self.search.observing, self.polls.live) = (true, true);
        self.block.warps.iter_mut().for_each(|warp| warp.write_deferred());
        let pause = self.observe();
        (self.search.observing, self.polls.live) = (false, false);
        if pause == Some(BlockPause::Still) {
            self.block.still = self.search.stamp;
        } else {
            self.search.stamp += 1;
            self.search.put_off(self.executed);
        }
        pause
    }

    /// Executes steps of the block until it has a state again, or gets on. Returns nothing if it can go on.
    fn observe(&mut self) -> Option<BlockPause> {
        let got_on = |machine: &Self| {
            // A copy that lands changes memory, also that of other blocks.
            let pending = &machine.cluster().pending;
            let copies = (pending.count, pending.started());
            (machine.block.changes, machine.search.moved, machine.block.live, copies)
        };
        let before = got_on(self);
        // The state of one warp, and of the block, when the number of steps was last a power of two.
        let (mut of_warp, mut of_block, mut now) = (Vec::new(), Vec::new(), Vec::new());
        let end = self.executed + self.search.most;
        for step in 0_u32.. {
            if step == 0 || step.is_power_of_two() {
                self.block.write_warp(&mut of_warp);
                self.write_block(&mut of_block);
                self.block.seen.clear();
            }
            let executed = self.executed;
            if let Some(pause) = self.step() {
                return Some(pause);
            }
            if got_on(self) != before || self.executed >= end {
                return None;
            }
            if self.executed == executed {
                return Some(BlockPause::Still);
            }
            self.block.write_warp(&mut now);
            if now == of_warp {
                self.write_block(&mut now);
                if now == of_block {
                    return Some(BlockPause::Still);
                }
            }
        }
        None
    }

    /// Lets each fragment of the block that can run execute up to its next jump back. Returns the pause if the block is done or has
    /// failed.
    fn step(&mut self) -> Option<BlockPause> {
        let mut done = true;
        for index in 0..self.block.warps.len() {
            if self.block.warps[index].fragments.is_empty() {
                continue;
            }
            swap(&mut self.warp, &mut self.block.warps[index]);
            self.step_warp();
            let ended = self.warp.fragments.is_empty();
            swap(&mut self.warp, &mut self.block.warps[index]);
            done &= ended;
            if self.fault.is_some() || self.tick(index) {
                return Some(BlockPause::Failed);
            }
        }
        done.then_some(BlockPause::Done)
    }

    fn step_warp(&mut self) {
        self.active = 0;
        self.wake();
        // Fragments meet and part meanwhile, so there may be fewer or more.
        for _ in 0..self.warp.fragments.len() {
            if !self.choose_longest_waiting() {
                return;
            }
            (self.turn_end, self.warp_end) = (self.executed, self.executed);
            self.interpret();
            if self.fault.is_some() {
                return;
            }
            self.leave(Waiting::Nothing);
        }
    }

    /// Calls the service now and then; returns whether it ends the launch.
    pub(super) fn tick(&mut self, warp: usize) -> bool {
        if self.executed < self.search.tick {
            return false;
        }
        self.search.tick = self.executed + TICK;
        let fragments = &self.block.warps[warp].fragments;
        let pc = fragments.iter().map(|fragment| fragment.pc).min().unwrap_or(0);
        let finished = self.finished.load(std::sync::atomic::Ordering::Relaxed) + self.ended;
        let ended = self.launch.service.tick(pc, finished);
        if let Some(kind) = ended {
            self.fail_block(kind);
        }
        ended.is_some()
    }

    /// Ends the launch if neither the host nor other work can change the memory that its still blocks read: `others` and the running one. Returns whether it
    /// has.
    pub(super) fn end_deadlock<'b>(&mut self, others: impl Iterator<Item = &'b Block>) -> bool {
        let read = |block: &Block| block.seen.clone().into_iter().map(|seen| seen.address());
        let mut addresses: Vec<u64> = others.flat_map(read).collect();
        addresses.extend(read(&self.block));
        addresses.sort_unstable();
        addresses.dedup();
        let kind = match self.launch.service.outlook(&addresses) {
            Outlook::Never => FaultKind::Deadlock,
            Outlook::OtherWork => FaultKind::OtherWork,
            Outlook::Again => {
                self.search.stamp += 1;
                // The wait may be long, and few instructions run meanwhile.
                self.search.tick = 0;
                return false;
            }
        };
        self.fail_block(kind);
        true
    }

    /// Notes a read of the observed block.
    #[cold]
    pub(super) fn note_seen(&mut self, mode: u32, size: u32, polling: Polling, value: Option<u64>) {
        let (warp, pc) = (self.warp.number, self.pc - 1);
        let window = match space(mode) {
            SHARED => SHARED_WINDOW,
            LOCAL => LOCAL_WINDOW,
            _ => 0,
        };
        let addresses = self.addresses.map(|address| window | address);
        match self.block.seen.iter_mut().find(|seen| (seen.warp, seen.pc) == (warp, pc)) {
            Some(seen) => {
                bits(self.mask & !seen.mask).for_each(|lane| seen.addresses[lane as usize] = addresses[lane as usize]);
                seen.mask |= self.mask;
            }
            None => self.block.seen.push(Seen { warp, pc, mask: self.mask, addresses, size, polling, value }),
        }
    }

    /// Writes the state of the running block, without its number of changes, into a list.
    fn write_block(&self, state: &mut Vec<u64>) {
        state.clear();
        let block = &self.block;
        block.warps.iter().for_each(|warp| warp.write_state(state));
        for warp in &block.warps {
            // Barriers count on, so only what a fragment may do is part of the state.
            state.extend(warp.fragments.iter().map(|fragment| u64::from(self.can_run(fragment))));
        }
        block.write_shared(state);
    }
}

impl Block {
    /// Writes the state of the first warp with threads into a list.
    fn write_warp(&self, state: &mut Vec<u64>) {
        state.clear();
        if let Some(warp) = self.warps.iter().find(|warp| !warp.fragments.is_empty()) {
            warp.write_state(state);
        }
    }
}

impl Warp {
    /// Adds the state of the warp to a list. Fragments are in the order in which they are chosen next.
    fn write_state(&self, state: &mut Vec<u64>) {
        let mut order: Vec<_> = self.fragments.iter().collect();
        order.sort_by_key(|fragment| fragment.ran);
        let mut frames: Vec<u32> = Vec::new();
        state.extend([u64::from(self.dead), u64::from(self.cluster_arrived), order.len() as u64]);
        for fragment in order {
            state.extend([u64::from(fragment.pc), u64::from(fragment.mask), fragment.waiting.code()]);
            let mut number = fragment.frame;
            while let Some(frame) = self.frames.get(number as usize) {
                // A frame that is in the list is named by its place.
                if let Some(place) = frames.iter().position(|known| *known == number) {
                    state.push(place as u64);
                    break;
                }
                frames.push(number);
                state.extend([u64::from(frame.function), u64::from(frame.return_pc), u64::from(frame.local_base)]);
                frame.write_registers(state);
                number = frame.parent;
            }
        }
        state.extend(&self.local);
    }
}

impl Fault {
    /// Whether the launch failed because it did not end.
    pub fn is_hang(&self) -> bool {
        matches!(
            self.kind,
            FaultKind::Deadlock
                | FaultKind::OtherWork
                | FaultKind::Budget
                | FaultKind::TimeLimit
                | FaultKind::Interrupted
        )
    }
}
