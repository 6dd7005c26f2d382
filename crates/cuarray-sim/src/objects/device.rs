//! One device: its address range, its primary context, its pools.

use crate::memory::arena::Arena;
use crate::objects::graph::GraphMemory;
use cuarray_abi::*;

/// One device.
pub(crate) struct Device {
    pub ordinal: CUdevice,
    /// The device's number in the machine, independent of visibility; it determines UUID and PCI address.
    pub physical: i32,
    pub arena: Arena,
    /// The device's primary context: one handle for the driver's lifetime, active while it is retained.
    pub primary: CUcontext,
    pub primary_retained: usize,
    pub primary_flags: u32,
    pub default_pool: CUmemoryPool,
    /// The pool from which `cuMemAllocAsync` allocates.
    pub current_pool: CUmemoryPool,
    pub graph_memory: GraphMemory,
}
