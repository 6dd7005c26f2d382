//! Memory pools, the source of stream-ordered allocations.
//!
//! A pool only counts bytes: addresses come from the device's address range, and physical memory is freed at once. *Used* is
//! the size of live allocations. *Reserved* is the memory that a real pool would hold. It grows with use, and falls
//! to the release threshold (never below *used*) when a synchronization or a trim lets the pool release memory.

use crate::objects::allocation::DeviceAccess;
use cuarray_abi::*;

/// One pool.
pub(crate) struct Pool {
    pub device: usize,
    /// Whether this is the device's default pool, which cannot be destroyed.
    pub is_default: bool,
    /// The maximum size passed to `cuMemPoolCreate`; 0 for none.
    pub max_size: u64,
    pub release_threshold: u64,
    pub used: u64,
    pub used_high: u64,
    pub reserved: u64,
    pub reserved_high: u64,
    /// The three reuse policies, by attribute; all initially on.
    pub reuse: [i32; 3],
    /// The access of other devices.
    pub access: DeviceAccess,
    /// Whether `cuMemPoolDestroy` was called; the pool then ends with its last allocation.
    pub destroyed: bool,
    /// The handle types that the pool can be exported as.
    pub handle_types: CUmemAllocationHandleType,
    /// For a pool of another process: the process, its start time, and the pool's number there.
    pub imported: Option<(u64, u64, u64)>,
}

impl Pool {
    /// A device's default pool.
    pub(crate) fn of_device(device: usize) -> Pool {
        Pool {
            device,
            is_default: true,
            max_size: 0,
            release_threshold: 0,
            used: 0,
            used_high: 0,
            reserved: 0,
            reserved_high: 0,
            reuse: [1; 3],
            access: DeviceAccess::new(),
            destroyed: false,
            handle_types: CU_MEM_HANDLE_TYPE_NONE,
            imported: None,
        }
    }

    pub(crate) fn hold(&mut self, size: u64) {
        self.used += size;
        self.used_high = self.used_high.max(self.used);
        self.reserved = self.reserved.max(self.used);
        self.reserved_high = self.reserved_high.max(self.reserved);
    }

    /// Releases reserved memory above `keep`.
    pub(crate) fn release_down_to(&mut self, keep: u64) {
        self.reserved = self.used.max(self.reserved.min(keep));
    }
}
