//! Memory pools, the source of stream-ordered allocations.
//!
//! A pool only keeps accounts: the device's address range allocates, and physical memory is freed at once. *Used* is
//! the size of live allocations. *Reserved* is what a real pool would keep. It grows with use, and falls to the release
//! threshold (never below *used*) when a synchronization or a trim lets the pool release memory.

use crate::state::State;
use cuarray_abi::*;
use std::collections::BTreeMap;

/// One pool.
pub(crate) struct Pool {
    pub device: usize,
    /// Whether it is the device's default pool, which cannot be destroyed.
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
    pub access: BTreeMap<CUdevice, CUmemAccess_flags>,
    /// Whether `cuMemPoolDestroy` was called; the pool then ends with its last allocation.
    pub destroyed: bool,
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
            access: BTreeMap::new(),
            destroyed: false,
        }
    }

    fn hold(&mut self, size: u64) {
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

impl State {
    /// The pool of a handle that a program passed.
    pub(crate) fn pool(&mut self, handle: CUmemoryPool) -> Result<&mut Pool, CUresult> {
        self.pools.get_mut(&handle).filter(|pool| !pool.destroyed).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)
    }

    /// Allocates memory for a stream-ordered allocation; returns its address.
    ///
    /// # Errors
    /// `CUDA_ERROR_OUT_OF_MEMORY`; `CUDA_ERROR_INVALID_VALUE` for an invalid pool.
    pub(crate) fn take_from_pool(&mut self, handle: CUmemoryPool, size: u64) -> Result<u64, CUresult> {
        let pool = self.pool(handle)?;
        let total = pool.used.checked_add(size);
        if total.is_none_or(|total| pool.max_size != 0 && total > pool.max_size) {
            return Err(CUresult::CUDA_ERROR_OUT_OF_MEMORY);
        }
        let device = pool.device;
        let arena = &mut self.devices[device].arena;
        let (address, taken) = arena.take(size).ok_or(CUresult::CUDA_ERROR_OUT_OF_MEMORY)?;
        self.pool(handle)?.hold(size);
        self.add_allocation((address, size, taken), crate::memory::Kind::Pool(handle), CUcontext::NULL, device);
        Ok(address)
    }

    /// Accounts for the end of an allocation of a pool.
    pub(crate) fn give_back_to_pool(&mut self, handle: CUmemoryPool, size: u64) {
        let Some(pool) = self.pools.get_mut(&handle) else { return };
        pool.used = pool.used.saturating_sub(size);
        if pool.destroyed && pool.used == 0 {
            self.pools.remove(&handle);
        }
    }

    /// Releases the reserved memory of a device's pools above their threshold, as a synchronization allows.
    pub(crate) fn settle_pools(&mut self, device: usize) {
        for pool in self.pools.values_mut().filter(|pool| pool.device == device) {
            pool.release_down_to(pool.release_threshold);
        }
    }

    /// The reserved but unused memory of the pools of a device.
    pub(crate) fn held_by_pools(&self, device: usize) -> u64 {
        self.pools.values().filter(|pool| pool.device == device).map(|pool| pool.reserved - pool.used).sum()
    }
}
