//! The heap from which the kernels of a context allocate.

use crate::memory::allocator::FreeRanges;
use std::collections::HashMap;
use std::sync::Mutex;

/// Memory for `malloc` in kernels.
pub(crate) struct Heap {
    pub base: u64,
    pub inner: Mutex<(FreeRanges, HashMap<u64, u64>)>,
}

impl Heap {
    pub(crate) fn new(base: u64, size: u64) -> Heap {
        Heap { base, inner: Mutex::new((FreeRanges::new(size), HashMap::new())) }
    }
}
