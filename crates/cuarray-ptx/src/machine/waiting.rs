//! The threads of a launch that did not end, in groups that wait at one instruction.

use super::Machine;
use super::block::Block;
use super::launch::index_in;
use super::warp::{Fragment, Waiting, Warp};
use super::writers::Writer;
use crate::races::span::bits;

/// The form of a read of an observed warp.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Polling {
    Plain,
    Strong,
    /// An exchange or a compare-and-swap operation, which would take the word.
    Takes,
    /// A test of the phase of a barrier object.
    Phase,
}

/// A read of an observed warp.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub warp: u32,
    pub pc: u32,
    pub mask: u32,
    /// The addresses of its lanes.
    pub addresses: [u64; 32],
    pub size: u32,
    pub polling: Polling,
    /// The value that its first lane has read, if it is one word.
    pub value: Option<u64>,
}

impl Seen {
    /// The address of its first lane.
    pub(super) fn address(&self) -> u64 {
        self.addresses[self.mask.trailing_zeros().min(31) as usize]
    }
}

impl Block {
    /// The reads that threads of a fragment repeat. A thread that waits by strong reads reads its arguments plainly.
    pub(super) fn polls<'b>(&'b self, warp: &'b Warp, fragment: &'b Fragment) -> impl Iterator<Item = &'b Seen> {
        let all = || self.seen.iter().filter(|seen| seen.warp == warp.number && seen.mask & fragment.mask != 0);
        let strong = all().any(|seen| seen.polling != Polling::Plain);
        let waits = fragment.waiting == Waiting::Nothing;
        all().filter(move |seen| waits && (seen.polling != Polling::Plain) == strong)
    }
}

/// The reason why threads wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// They read memory again and again.
    Reads {
        /// The address that the first of them reads: a device address, or a generic one.
        address: u64,
        /// The size of the access in bytes.
        size: u32,
        /// Whether they test the phase of a barrier object there.
        phase: bool,
        /// Whether other threads of the group read other addresses.
        several: bool,
    },
    /// They run, as far as is known.
    Runs,
    /// They wait at a barrier of their block.
    Barrier {
        /// The number of the barrier.
        number: u8,
        /// The threads that have arrived in the block of the first of them.
        arrived: u32,
        /// The threads that it needs there.
        expected: u32,
    },
    /// They wait for lanes of their warp that an instruction names.
    Warp {
        /// The lanes of the warp of the first of them that have not arrived and have not exited.
        missing: u32,
    },
    /// They wait at the barrier of the grid.
    Grid,
    /// They wait at the barrier of their cluster.
    Cluster,
}

/// Threads that wait at one instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WaitingThreads {
    /// The number of the instruction.
    pub pc: u32,
    /// The reason of the first of them.
    pub reason: Reason,
    /// The index of the block of the first of them.
    pub block: [u32; 3],
    /// The index of the first thread in that block.
    pub thread: [u32; 3],
    /// The number of these threads.
    pub threads: u64,
    /// The number of blocks that they belong to.
    pub blocks: u64,
    /// The thread of this launch that last wrote what the first of them reads, as far as the search for races knows it.
    pub writer: Option<Writer>,
    /// The nearest word beside what the first of them reads that a thread of this launch has written, as a distance in bytes, if
    /// no thread has written what it reads.
    pub beside: Option<(i64, Writer)>,
    /// The value that the first of them reads, if it is known.
    pub value: Option<u64>,
    /// Whether they poll by an operation that would take the word, as a lock is taken: an exchange, or a compare-and-swap operation.
    pub takes: bool,
}

/// A read of threads of a fragment, as the reason why they wait.
fn reads(seen: &Seen, fragment: &Fragment) -> (u32, u32, Reason) {
    let mask = seen.mask & fragment.mask;
    let address = seen.addresses[mask.trailing_zeros().min(31) as usize];
    let several = bits(mask).any(|lane| seen.addresses[lane as usize] != address);
    (seen.pc, mask, Reason::Reads { address, size: seen.size, phase: seen.polling == Polling::Phase, several })
}

impl Machine<'_> {
    /// The groups of threads of blocks that have not ended.
    pub(super) fn waiting_threads<'b>(&self, blocks: impl Iterator<Item = &'b Block>) -> Vec<WaitingThreads> {
        let mut blocks: Vec<&Block> = blocks.collect();
        blocks.sort_by_key(|block| block.number);
        let mut groups: Vec<(WaitingThreads, u64)> = Vec::new();
        for block in &blocks {
            for warp in &block.warps {
                for fragment in &warp.fragments {
                    self.add_fragment(&mut groups, &blocks, (block, warp, fragment));
                }
            }
        }
        groups.into_iter().map(|(group, _)| group).collect()
    }

    fn add_fragment(
        &self,
        groups: &mut Vec<(WaitingThreads, u64)>,
        blocks: &[&Block],
        (block, warp, fragment): (&Block, &Warp, &Fragment),
    ) {
        let found: Vec<(u32, u32, Reason)> = match fragment.waiting {
            Waiting::Nothing => block.polls(warp, fragment).map(|seen| reads(seen, fragment)).collect(),
            Waiting::Barrier { number, result, .. } => {
                let (arrived, expected) = block.barriers[usize::from(number)].waits_for(block.live);
                let pc = if result { fragment.pc } else { fragment.pc.saturating_sub(1) };
                vec![(pc, fragment.mask, Reason::Barrier { number, arrived, expected })]
            }
            Waiting::Warp(_) => {
                let missing = !fragment.mask & !warp.dead;
                vec![(fragment.pc, fragment.mask, Reason::Warp { missing })]
            }
            Waiting::Grid(_) => vec![(fragment.pc.saturating_sub(1), fragment.mask, Reason::Grid)],
            Waiting::Cluster(_) => vec![(fragment.pc, fragment.mask, Reason::Cluster)],
        };
        let found = if found.is_empty() { vec![(fragment.pc, fragment.mask, Reason::Runs)] } else { found };
        for (pc, mask, reason) in found {
            let threads = u64::from(mask.count_ones());
            let known = groups.iter_mut().find(|(group, _)| {
                group.pc == pc && std::mem::discriminant(&group.reason) == std::mem::discriminant(&reason)
            });
            if let Some((group, last)) = known {
                group.threads += threads;
                group.blocks += u64::from(*last != block.number);
                *last = block.number;
                if let (
                    Reason::Reads { address: one, several, .. },
                    Reason::Reads { address: other, several: others, .. },
                ) = (&mut group.reason, reason)
                {
                    *several |= others || *one != other;
                }
                continue;
            }
            let lane = bits(mask).next().unwrap_or(0);
            let thread = index_in(self.launch.threads, u64::from(warp.number * 32 + lane));
            let seen = match reason {
                Reason::Reads { address, size, .. } => {
                    block.polls(warp, fragment).find(|seen| seen.pc == pc).map(|seen| (seen, address, size))
                }
                _ => None,
            };
            let reader = (block.number, warp.number * 32 + lane);
            let writer = seen.and_then(|(_, address, _)| self.writer(blocks, block, reader, address));
            let unwritten = seen.filter(|(seen, ..)| writer.is_none() && seen.polling != Polling::Phase);
            let beside =
                unwritten.and_then(|(_, address, size)| self.writer_beside(blocks, block, reader, (address, size)));
            let value = seen.and_then(|(seen, ..)| seen.value);
            let takes = seen.is_some_and(|(seen, ..)| seen.polling == Polling::Takes);
            let group = WaitingThreads {
                pc,
                reason,
                block: block.index,
                thread,
                threads,
                blocks: 1,
                writer,
                beside,
                value,
                takes,
            };
            groups.push((group, block.number));
        }
    }
}
