//! The copies of a cluster that were started and have not run.

use super::in_flight::{Bulk, Copies, Entry, Place};
use crate::races::Wait;
use crate::races::cell::Kind;
use std::collections::HashMap;

/// Bytes of one bit in the maps of shared memory.
const GRAIN: u64 = 4;

/// A copy in flight that an access meets.
#[derive(Clone, Copy)]
pub(super) struct InFlight {
    pub block: u64,
    pub thread: u32,
    pub pc: u32,
    /// Whether the access meets the copy's target, and not its source.
    pub writes: bool,
    pub wait: Wait,
}

/// A range of addresses; empty at first.
#[derive(Clone, Copy)]
struct Hull {
    start: u64,
    end: u64,
}

const EMPTY: Hull = Hull { start: u64::MAX, end: 0 };

impl Hull {
    fn add(&mut self, address: u64, size: u64) {
        self.start = self.start.min(address);
        self.end = self.end.max(address + size);
    }

    fn meets(self, address: u64, size: u64) -> bool {
        address < self.end && self.start < address + size
    }
}

/// A bit for each word of a block's shared memory.
#[derive(Default)]
struct Words(Vec<u64>);

impl Words {
    /// Calls `f` with each word of the map for a range, and with the range's bits, until it returns `true`.
    fn any(&mut self, start: u64, size: u64, mut f: impl FnMut(&mut u64, u64) -> bool) -> bool {
        let (mut at, end) = (start / GRAIN, (start + size).div_ceil(GRAIN));
        while at < end {
            let (bit, count) = (at % 64, (64 - at % 64).min(end - at));
            let ones = u64::MAX >> (64 - count) << bit;
            if let Some(word) = self.0.get_mut((at / 64) as usize)
                && f(word, ones)
            {
                return true;
            }
            at += count;
        }
        false
    }

    fn set(&mut self, start: u64, size: u64) {
        let words = ((start + size).div_ceil(GRAIN * 64)) as usize;
        if self.0.len() < words {
            self.0.resize(words, 0);
        }
        self.any(start, size, |word, ones| {
            *word |= ones;
            false
        });
    }

    fn clear(&mut self, start: u64, size: u64) {
        self.any(start, size, |word, ones| {
            *word &= !ones;
            false
        });
    }

    fn has(&self, start: u64, size: u64) -> bool {
        let (first, last) = (start / GRAIN, (start + size - 1) / GRAIN);
        (first / 64..=last / 64).any(|index| {
            let low = if index == first / 64 { u64::MAX << (first % 64) } else { u64::MAX };
            let high = if index == last / 64 { u64::MAX >> (63 - last % 64) } else { u64::MAX };
            self.0.get(index as usize).is_some_and(|word| word & low & high != 0)
        })
    }
}

/// The copies of one block.
#[derive(Default)]
pub(super) struct OfBlock {
    /// The number of the block in the grid.
    pub number: u64,
    /// The `cp.async` copies of each warp.
    pub warps: Vec<Copies>,
    /// Shared memory that copies will write.
    targets: Words,
    /// Shared memory that copies will read.
    sources: Words,
}

/// The copies of a cluster that were started and have not run.
pub(crate) struct Pending {
    /// The number of copies, and of arrivals that wait for copies.
    pub count: usize,
    /// By the rank of the block that starts the copies.
    pub(super) blocks: Vec<OfBlock>,
    pub(super) bulk: Vec<Bulk>,
    /// The number of bulk groups that a thread has committed, by rank and thread.
    pub(super) groups: HashMap<(u32, u32), u32>,
    /// The number of copies so far.
    started: u64,
    /// The hulls of the global memory that copies will read and write.
    sources: Hull,
    targets: Hull,
}

impl Default for Pending {
    fn default() -> Pending {
        Pending {
            count: 0,
            blocks: Vec::new(),
            bulk: Vec::new(),
            groups: HashMap::new(),
            started: 0,
            sources: EMPTY,
            targets: EMPTY,
        }
    }
}

impl Pending {
    /// Starts a cluster.
    pub(crate) fn clear(&mut self) {
        if self.started > 0 {
            *self = Pending::default();
        }
    }

    /// The records of the block with a rank, whose number in the grid is given.
    pub(super) fn block(&mut self, rank: u32, number: u64) -> &mut OfBlock {
        if self.blocks.len() <= rank as usize {
            self.blocks.resize_with(rank as usize + 1, OfBlock::default);
        }
        let block = &mut self.blocks[rank as usize];
        block.number = number;
        block
    }

    /// The `cp.async` copies of a warp.
    pub(super) fn copies(&mut self, rank: u32, number: u64, warp: u32) -> &mut Copies {
        let block = self.block(rank, number);
        if block.warps.len() <= warp as usize {
            block.warps.resize_with(warp as usize + 1, Copies::default);
        }
        &mut block.warps[warp as usize]
    }

    /// The number of copies so far.
    pub(crate) fn started(&self) -> u64 {
        self.started
    }

    /// Counts a copy, and returns its number.
    pub(super) fn starts(&mut self) -> u64 {
        self.count += 1;
        self.started += 1;
        self.started
    }

    /// Counts copies that have run.
    pub(super) fn ends(&mut self, count: usize) {
        self.count -= count;
        if self.count == 0 {
            (self.sources, self.targets) = (EMPTY, EMPTY);
        }
    }

    /// Marks the bytes of a copy as in flight; `writes` for its target.
    pub(super) fn mark(&mut self, place: Place, size: u64, writes: bool) {
        match place {
            Place::Global(address) if writes => self.targets.add(address, size),
            Place::Global(address) => self.sources.add(address, size),
            Place::Shared(rank, offset) => {
                if self.blocks.len() <= rank as usize {
                    self.blocks.resize_with(rank as usize + 1, OfBlock::default);
                }
                let block = &mut self.blocks[rank as usize];
                if writes { &mut block.targets } else { &mut block.sources }.set(offset, size);
            }
        }
    }

    /// Removes the mark of a copy that has run.
    pub(super) fn unmark(&mut self, place: Place, size: u64, writes: bool) {
        if let Place::Shared(rank, offset) = place
            && let Some(block) = self.blocks.get_mut(rank as usize)
        {
            if writes { &mut block.targets } else { &mut block.sources }.clear(offset, size);
        }
    }

    /// Whether an access may meet a copy in flight.
    #[inline(always)]
    pub(super) fn may_meet(&self, place: Place, size: u64, writes: bool) -> bool {
        match place {
            Place::Global(address) => self.targets.meets(address, size) || writes && self.sources.meets(address, size),
            Place::Shared(rank, offset) => self
                .blocks
                .get(rank as usize)
                .is_some_and(|block| block.targets.has(offset, size) || writes && block.sources.has(offset, size)),
        }
    }

    /// The first copy that an access meets, and whose source `kept` accepts.
    pub(super) fn find(
        &self,
        place: Place,
        size: u64,
        kind: Kind,
        kept: impl Fn(Option<u64>) -> bool,
    ) -> Option<InFlight> {
        let writes = kind != Kind::Read;
        for (rank, block) in self.blocks.iter().enumerate() {
            for (warp, copies) in block.warps.iter().enumerate() {
                for entry in &copies.list {
                    let Entry::Copy(copy) = entry else { continue };
                    let Some((lane, meets_target)) = copy.meets(rank as u32, place, size, writes, &kept) else {
                        continue;
                    };
                    return Some(InFlight {
                        block: block.number,
                        thread: warp as u32 * 32 + lane,
                        pc: copy.pc,
                        writes: meets_target,
                        wait: Wait::Group,
                    });
                }
            }
        }
        let bulk = self.bulk.iter().find_map(|bulk| Some((bulk, bulk.meets(place, size, kind, &kept)?)));
        bulk.map(|(bulk, meets_target)| InFlight {
            block: bulk.block,
            thread: bulk.thread,
            pc: bulk.pc,
            writes: meets_target,
            wait: if bulk.group.is_some() { Wait::BulkGroup } else { Wait::Barrier },
        })
    }

    /// Drops the `cp.async` copies of a block that has ended: nothing can read their targets.
    pub(super) fn block_ends(&mut self, rank: u32) {
        if let Some(block) = self.blocks.get_mut(rank as usize) {
            let dropped = block.warps.iter().map(|copies| copies.list.len()).sum();
            *block = OfBlock::default();
            self.ends(dropped);
        }
    }
}
