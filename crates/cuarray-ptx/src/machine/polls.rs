//! Polls: strong reads and atomic operations by which a warp waits for a change of memory.
//!
//! A turn is long, and a warp that polls would use all of it. So its turn ends once a loop of a poll has read the same values from
//! the same addresses several times, and the block has changed no memory meanwhile. If all warps of a block wait, the turn of the
//! block ends. A loop that reads other values or changes memory keeps its turn. The end of a turn depends on the executed accesses
//! alone, so it is the same in each run, with and without the search for races.

use super::Machine;
use super::access_mode::{COMPARES, STRONG, UPDATES};
use super::memory::Cell;
use super::pattern::Pattern;
use super::program::Instruction;
use super::waiting::Polling;
use crate::races::span::bits;
use rustc_hash::FxHasher;
use std::hash::Hasher;

/// The equal iterations after which a turn ends.
const ENOUGH: u32 = 16;
/// The most other accesses in an iteration.
const BETWEEN: u32 = 64;

/// The last poll of a warp.
#[derive(Default)]
pub(crate) struct Poll {
    pc: u32,
    /// The digest of its addresses and values.
    digest: u64,
    /// The digests of the accesses since then, of those in the iteration before, and their number.
    since: u64,
    before: u64,
    between: u32,
    /// The value of [`Block::changes`](super::block::Block::changes).
    changes: u64,
    /// Whether the next accesses can be those of the same loop.
    pub(super) armed: bool,
    /// The number of times that it was repeated.
    repeats: u32,
    /// The number of turns of fragments that have ended by polls while no memory was changed, and the most other fragments that
    /// could run.
    ended: usize,
    others: usize,
}

/// The polls of a launch.
#[derive(Default)]
pub(crate) struct Polls {
    /// Whether no turn of the launch ends by polls, and none of the running block.
    never: bool,
    off: bool,
    /// The number of consecutive turns of blocks that have ended by polls, while no memory was changed.
    vain: usize,
    /// The changes of the block before its turn.
    before: u64,
    /// Whether the running warp has polled, so that its other accesses count too.
    pub live: bool,
    /// Whether the turn of the warp has ended by a poll.
    pub ended: bool,
}

impl Polls {
    /// The polls of a launch whose turns end by polls, if `end` is set.
    pub(super) fn new(ends: bool) -> Polls {
        Polls { never: !ends, ..Polls::default() }
    }

    /// Whether all of the `blocks` that take turns have waited without effect.
    pub(super) fn are_vain(&self, blocks: usize) -> bool {
        self.vain >= blocks
    }

    /// Begins the turn of one of the `blocks` that take turns. `changes` counts what other threads could wait for.
    pub(super) fn begin_turn(&mut self, blocks: usize, changes: u64) {
        // If all poll, and are not still, only the host or the time can end the wait, and a turn is long again.
        (self.off, self.before) = (self.never || self.are_vain(blocks), changes);
    }

    /// Ends the turn of a block, which may wait for others.
    pub(super) fn end_turn(&mut self, waits: bool, changes: u64) {
        self.vain = if waits && changes == self.before { self.vain + 1 } else { 0 };
    }
}

fn join(one: u64, other: u64) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write_u64(one);
    hasher.write_u64(other);
    hasher.finish()
}

impl Machine<'_> {
    /// Begins the turn of the running warp.
    pub(super) fn begin_polls(&mut self) {
        (self.polls.live, self.polls.ended) = (self.warp.poll.armed && !self.polls.off, false);
    }

    /// Records a load of `count` elements, whose addresses are resolved.
    ///
    /// # Safety
    /// The pointers of the lanes are valid for the elements.
    #[inline(always)]
    pub(super) unsafe fn note_read<M: Cell>(&mut self, instruction: &Instruction, count: u32) {
        if instruction.c & STRONG != 0 && !self.polls.off || self.polls.live {
            // SAFETY: this function's contract.
            let digest = unsafe { self.digest::<M>(count) };
            if self.search.observing {
                let size = count * size_of::<M>() as u32;
                // SAFETY: this function's contract.
                let value = (count == 1).then(|| unsafe { M::get(self.pointers[Self::first(self.mask) as usize]) });
                let poll = if instruction.c & STRONG != 0 { Polling::Strong } else { Polling::Plain };
                return self.note_seen(instruction.c, size, poll, value);
            }
            if instruction.c & STRONG != 0 { self.note_poll(digest) } else { self.note_between(digest) }
        }
        self.note_grid_poll(instruction);
    }

    /// Records an atomic operation on words of `size` bytes, with its mode. `digest` has the old words, and `changed` tells whether it has changed memory.
    pub(super) fn note_operation(&mut self, (mode, size): (u32, u32), digest: u64, changed: bool, result: bool) {
        if changed {
            return self.disarm();
        }
        // The operation is no change, as which it was counted.
        self.block.changes -= 1;
        if self.search.observing {
            let takes = mode & COMPARES != 0 || mode & UPDATES == 0;
            let poll = match (result, takes) {
                (true, true) => Polling::Takes,
                (true, false) => Polling::Strong,
                (false, _) => Polling::Plain,
            };
            // The digest of one lane is its old word.
            let value = self.mask.is_power_of_two().then_some(digest);
            return self.note_seen(mode, size, poll, value);
        }
        if result && !self.polls.off || self.polls.live {
            let digest = bits(self.mask).fold(digest, |digest, lane| join(digest, self.addresses[lane as usize]));
            if result { self.note_poll(digest) } else { self.note_between(digest) }
        }
    }

    /// Takes back that a store of a warp that polls is a change, if it leaves the memory as it is.
    pub(super) fn note_store(&mut self, changed: bool, digest: u64) {
        if changed {
            self.disarm();
        } else {
            self.block.changes -= 1;
            if !self.search.observing {
                self.note_between(digest);
            }
        }
    }

    /// A digest of the addresses and the values of a load.
    ///
    /// # Safety
    /// As for [`Machine::note_read`].
    #[inline(never)]
    unsafe fn digest<M: Cell>(&self, count: u32) -> u64 {
        let lanes = if self.pattern == Pattern::Same { self.mask & self.mask.wrapping_neg() } else { self.mask };
        let mut hasher = FxHasher::default();
        hasher.write_u32(self.mask);
        for lane in bits(lanes).map(|lane| lane as usize) {
            hasher.write_u64(self.addresses[lane]);
            for index in 0..count {
                // SAFETY: this function's contract.
                hasher.write_u64(unsafe {
                    M::get(self.pointers[lane].add(self.element(lane, index * size_of::<M>() as u32)))
                });
            }
        }
        hasher.finish()
    }

    /// Records an access between two polls.
    fn note_between(&mut self, digest: u64) {
        let poll = &mut self.warp.poll;
        poll.since = join(poll.since, digest);
        poll.between += 1;
        if poll.between > BETWEEN {
            poll.repeats = 0;
            self.disarm();
        }
    }

    /// Leaves the accesses that follow to themselves: they are not those of a loop that polls.
    fn disarm(&mut self) {
        (self.warp.poll.armed, self.polls.live) = (false, false);
    }

    /// Records a poll, which may end the turn.
    fn note_poll(&mut self, digest: u64) {
        let (pc, changes) = (self.pc, self.block.changes);
        let poll = &mut self.warp.poll;
        if poll.changes != changes {
            (poll.repeats, poll.ended, poll.others) = (0, 0, 0);
        } else if poll.pc != pc && poll.armed {
            // A loop may have several polls.
            return self.note_between(digest);
        }
        let first = poll.repeats < 2;
        let equal =
            (poll.pc, poll.digest, poll.changes) == (pc, digest, changes) && (first || poll.since == poll.before);
        poll.repeats = if equal { poll.repeats + 1 } else { 0 };
        (poll.pc, poll.digest, poll.changes) = (pc, digest, changes);
        (poll.before, poll.since, poll.between) = (poll.since, 0, 0);
        (poll.armed, self.polls.live) = (true, true);
        if poll.repeats < ENOUGH {
            return;
        }
        self.turn_end = self.executed;
        // Each fragment that can run has its turn first.
        let others = self.warp.fragments.iter().filter(|fragment| self.can_run(fragment)).count();
        let poll = &mut self.warp.poll;
        (poll.ended, poll.others) = (poll.ended + 1, poll.others.max(others));
        if poll.ended > poll.others {
            self.end_waiting_warp();
        }
    }

    /// Ends the turn of the running warp, which waits for another one.
    pub(super) fn end_waiting_warp(&mut self) {
        (self.turn_end, self.warp_end) = (self.executed, self.executed);
        self.polls.ended = !self.polls.off;
    }
}
