//! The turns that begin within generated code: of the next warp where one waits at a barrier or ends, and of the next block where one ends.
//!
//! Each does what the loops over warps and blocks would do, whose state is in the machine. Where anything else is due, the code returns to
//! these loops.

use super::Machine;
use super::block::{Round, TURN};
use super::launch::Launch;
use super::warp::{Fragment, Waiting, Warp};
use std::mem::swap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// The clusters of a launch that workers share, and what they have done.
pub(crate) struct Supply {
    pub next: AtomicU64,
    /// The first failed cluster.
    pub failed: AtomicU64,
    pub executed: AtomicU64,
    /// The number of blocks that have ended.
    pub finished: AtomicU64,
}

/// The turn of a warp.
pub(crate) struct NextTurn {
    /// Its place in a round, whether that is a new round, and the warp.
    place: usize,
    again: bool,
    warp: usize,
    /// Whether the running warp has ended.
    has_ended: bool,
}

/// The least parts of the clusters that each worker takes, and the most clusters of a part.
const PARTS: u64 = 32;
const MOST: u64 = 16;

impl Default for Supply {
    fn default() -> Supply {
        let [next, executed, finished] = std::array::from_fn(|_| AtomicU64::new(0));
        Supply { next, failed: AtomicU64::new(u64::MAX), executed, finished }
    }
}

impl Supply {
    /// The number of the next cluster to run, if there is one. A worker takes several at once if there are many: they are in `taken`. Clusters after
    /// a failed one need not run. A cluster before it may still fail earlier.
    pub(super) fn take(&self, launch: &Launch<'_>, taken: &mut Range<u64>) -> Option<u64> {
        let total = launch.cluster_count();
        let number = taken.next().unwrap_or_else(|| {
            let count = (total / (PARTS * launch.workers.max(1) as u64)).clamp(1, MOST);
            let first = self.next.fetch_add(count, Ordering::Relaxed);
            *taken = first + 1..first + count;
            first
        });
        (number < total && number <= self.failed.load(Ordering::Relaxed)).then_some(number)
    }
}

#[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "only code for AVX2 uses it"))]
impl Machine<'_> {
    /// Whether something is due when the turn of the running warp ends, besides the turn of the next one.
    #[inline(always)]
    fn is_turn_due(&self) -> bool {
        let (executed, Round { end, ended, .. }) = (self.executed, self.round);
        let due = executed >= self.warp_end || executed >= end || executed >= self.search.tick;
        due || ended || self.polls.ended || self.turns.is_random() || self.undefined.is_some()
    }

    /// The next turn behind that of the running warp, whose only fragment waits at a barrier, or that has ended, as [`Machine::run_block`] chooses it.
    /// `None` if anything else is due between the turns.
    #[inline]
    pub(crate) fn next_turn(&self) -> Option<NextTurn> {
        let Round { index, place, .. } = self.round;
        let count = self.block.warps.len();
        if self.is_turn_due() {
            return None;
        }
        let has_ended = match *self.warp.fragments.as_slice() {
            [] => true,
            [Fragment { waiting: Waiting::Barrier { result: false, .. }, .. }] => false,
            _ => return None,
        };
        // The running warp is not in the list during its turn. Warps without threads have no turns.
        let at = |place: usize| self.turns.warp(place, 0, count);
        let has_turn = |place: usize| {
            let other = at(place);
            other != index && (!self.block.warps[other].fragments.is_empty() || self.is_unstarted(other))
        };
        // The places behind that of the running warp, and then those before it.
        let mut next = (place, false);
        while next.0 == count || !has_turn(next.0) {
            next = match next {
                (at, again) if at < count => (at + 1, again),
                (_, false) => (0, true),
                (_, true) => return None,
            };
        }
        Some(NextTurn { place: next.0, again: next.1, warp: at(next.0), has_ended })
    }

    /// Ends the turn of the running warp, and begins the next one.
    #[inline]
    fn take_turn(&mut self, turn: &NextTurn) {
        swap(&mut self.warp, &mut self.block.warps[self.round.index]);
        if turn.again {
            self.round.begin(self.executed, self.block.changes);
        }
        self.round.done &= turn.has_ended;
        self.round.waits &= !turn.has_ended;
        (self.round.index, self.round.place) = (turn.warp, turn.place + 1);
        swap(&mut self.warp, &mut self.block.warps[turn.warp]);
        self.warp_end = self.executed + self.turns.length(self.round.longest);
        self.begin_polls();
        self.take_up_alone();
    }

    /// Ends the turn of the running warp, and begins the [next one](Machine::next_turn), if `f` holds for its warp and the warp's only fragment,
    /// which can run. Otherwise, changes nothing, and returns `false`.
    #[inline]
    pub(crate) fn pass_on(&mut self, turn: &NextTurn, f: impl FnOnce(&Warp, &Fragment) -> bool) -> bool {
        let warp = &self.block.warps[turn.warp];
        let [fragment] = *warp.fragments.as_slice() else { return false };
        let waited = matches!(fragment.waiting, Waiting::Barrier { result: false, .. });
        let passes = waited && !warp.poll.armed && self.can_run(&fragment) && f(warp, &fragment);
        if passes {
            self.take_turn(turn);
        }
        passes
    }

    /// As [`Machine::pass_on`], for a next warp that has not started, and whose lanes all have threads.
    #[inline]
    pub(crate) fn start_next(&mut self, turn: &NextTurn) -> bool {
        if !self.is_unstarted(turn.warp) || self.launch.block_threads() < (turn.warp as u32 + 1) * 32 {
            return false;
        }
        self.start_warp(turn.warp);
        // The running code goes on.
        self.block.warps[turn.warp].plain = true;
        self.take_turn(turn);
        true
    }

    /// Ends the running warp, all of whose threads exit, and begins the next one in its place, with its frame, or the first one of the next block.
    /// Does so only if that one has not started, all its lanes have threads, and nothing else is due between the turns. Otherwise,
    /// changes nothing, and returns `false`.
    #[inline]
    pub(crate) fn replace_ended(&mut self) -> bool {
        let (frame, count) = (self.frame as usize, self.block.warps.len());
        let of_kernel = self.warp.frames[frame].parent == u32::MAX;
        if self.active != u32::MAX || !of_kernel || !self.races.early.is_empty() || self.is_turn_due() {
            return false;
        }
        let is_last = self.block.live == u32::BITS;
        let place = if is_last { 0 } else { self.round.place };
        if place >= count {
            return false;
        }
        let to = self.turns.warp(place, 0, count);
        if self.launch.block_threads() < (to as u32 + 1) * 32 {
            return false;
        }
        if is_last {
            if !self.replace_block() {
                return false;
            }
        } else {
            if !self.is_unstarted(to) {
                return false;
            }
            self.mask = self.active;
            self.warp.dead = u32::MAX;
            self.threads_end();
        }
        self.block.unstarted &= !(1 << to);
        (self.round.waits, self.round.index, self.round.place) = (false, to, place + 1);
        let function = &self.program.functions[self.launch.kernel as usize];
        self.warp.restart(to as u32, frame, function);
        self.warp_end = self.executed + self.turns.length(self.round.longest);
        self.begin_polls();
        self.begin_fragment(&Fragment::start(function, self.active, self.frame));
        true
    }

    /// Ends the block, whose other warps have ended, and begins the next one.
    fn replace_block(&mut self) -> bool {
        let Some((supply, _)) = self.supply.filter(|(_, until)| self.executed < *until) else { return false };
        // Turns are shorter if the block is looked at soon.
        if self.round.longest < TURN || self.search.until_due(self.executed) < TURN {
            return false;
        }
        if !self.block.printed.is_empty() || self.cluster().pending.count > 0 || self.search.on {
            return false;
        }
        let Some(number) = supply.take(self.launch, &mut self.taken) else { return false };
        self.search.stamp += 1;
        self.polls.end_turn(false, 0);
        self.end_block_turn();
        self.end_block();
        self.ended += 1;
        self.settle_updates(None);
        self.start_alone(number);
        self.begin_block_turn(1);
        self.round.begin(self.executed, self.block.changes);
        true
    }
}
