//! The heap from which the kernels of a context allocate.

use crate::pages::allocator::FreeRanges;
use std::collections::BTreeMap;
use std::sync::Mutex;

/// Memory for `malloc` in kernels.
pub(crate) struct Heap {
    pub base: u64,
    pub size: u64,
    pub inner: Mutex<Inner>,
}

/// The free ranges and the live blocks, at offsets in the heap.
pub(crate) struct Inner {
    pub free: FreeRanges,
    pub blocks: BTreeMap<u64, HeapBlock>,
}

/// A live block.
#[derive(Clone, Copy)]
pub(crate) struct HeapBlock {
    /// The bytes that the kernel asked for.
    pub size: u64,
    /// The bytes that the block takes.
    pub taken: u64,
}

impl Heap {
    pub(crate) fn new(base: u64, size: u64) -> Heap {
        Heap { base, size, inner: Mutex::new(Inner { free: FreeRanges::new(size), blocks: BTreeMap::new() }) }
    }

    pub(crate) fn holds(&self, address: u64) -> bool {
        (self.base..self.base + self.size).contains(&address)
    }
}
