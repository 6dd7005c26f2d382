//! The heap of a launch's kernel: `malloc` and `free`, and what findings need to know of them.

use crate::objects::heap::{Heap, HeapBlock};
use crate::state::State;
use cuarray_ptx::TouchedRange;
use cuarray_races::{Block, Ticket};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The heap during a launch.
pub(super) struct LaunchHeap {
    heap: Arc<Heap>,
    changes: Mutex<Changes>,
}

/// The blocks that a launch has allocated or freed, by address.
#[derive(Default)]
struct Changes {
    made: BTreeMap<u64, u64>,
    /// Blocks of earlier launches: the address, and the address after the last byte.
    freed: BTreeMap<u64, u64>,
    /// Blocks that were allocated and freed in this launch, as in `freed`.
    within: BTreeMap<u64, u64>,
    /// Freed addresses at which no block is.
    wrong: Vec<u64>,
}

impl LaunchHeap {
    pub(super) fn new(heap: Arc<Heap>) -> LaunchHeap {
        LaunchHeap { heap, changes: Mutex::default() }
    }

    /// Allocates for `malloc`; returns 0 if the heap is exhausted.
    pub(super) fn allocate(&self, size: u64) -> u64 {
        let mut inner = self.heap.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((offset, taken)) = inner.free.take(size) else { return 0 };
        inner.blocks.insert(offset, HeapBlock { size, taken });
        let address = self.heap.base + offset;
        self.changes().made.insert(address, address + size);
        address
    }

    /// Frees for `free`, and returns the bytes of the block. An address without a block changes nothing, and has 0 bytes.
    pub(super) fn free(&self, address: u64) -> u64 {
        let mut inner = self.heap.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let offset = address.wrapping_sub(self.heap.base);
        let block = inner.blocks.remove(&offset);
        let mut changes = self.changes();
        match block {
            Some(HeapBlock { size, taken }) => {
                inner.free.release(offset, taken);
                match changes.made.remove(&address) {
                    Some(end) => changes.within.insert(address, end),
                    None => changes.freed.insert(address, address + size),
                };
                return size;
            }
            None if address != 0 => changes.wrong.push(address),
            None => {}
        }
        0
    }

    fn changes(&self) -> std::sync::MutexGuard<'_, Changes> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reports the blocks that outlive the launch, the freed blocks of earlier launches, and wrong frees.
    pub(super) fn report(&self, state: &mut State, ticket: &Ticket, device: i32) {
        let changes = self.changes();
        let made = changes.made.iter().map(|(start, end)| Block::new(*start, end - start, "heap", device)).collect();
        let freed: Vec<u64> = changes.freed.keys().copied().collect();
        state.detector.heap_changed(ticket, made, &freed, changes.wrong.clone());
    }

    /// Adds the parts of a touched range that other launches may touch too. A block that lives within the launch is
    /// left out, and a range over several blocks is split.
    pub(super) fn split(&self, range: TouchedRange, parts: &mut Vec<TouchedRange>) {
        if !self.heap.holds(range.start) {
            return parts.push(range);
        }
        range.pieces().for_each(|(start, end)| self.split_piece(&range.piece(start, end), parts));
    }

    fn split_piece(&self, range: &TouchedRange, parts: &mut Vec<TouchedRange>) {
        let inner = self.heap.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let changes = self.changes();
        let base = self.heap.base;
        let live = inner.blocks.iter().map(|(offset, block)| (base + offset, base + offset + block.size));
        let freed = changes.freed.iter().map(|(start, end)| (*start, *end));
        let within = changes.within.iter().map(|(start, end)| (*start, *end));
        let meets = |(start, end): &(u64, u64)| *start < range.end && *end > range.start;
        let mut cuts = vec![range.start, range.end];
        for (start, end) in live.chain(freed).chain(within.clone()).filter(meets) {
            cuts.extend([start.max(range.start), end.min(range.end)]);
        }
        cuts.sort_unstable();
        cuts.dedup();
        let own: Vec<(u64, u64)> = within.filter(meets).collect();
        for piece in cuts.windows(2) {
            let is_own = own.iter().any(|(start, end)| *start <= piece[0] && piece[0] < *end);
            if !is_own {
                parts.push(range.piece(piece[0], piece[1]));
            }
        }
    }
}
