//! Accounting of memory pools: allocation, return, and release of unused memory.

use crate::objects::pool::Pool;
use crate::state::State;
use cuarray_abi::*;

impl State {
    /// The pool of a handle that a program passed.
    pub(crate) fn pool(&mut self, handle: CUmemoryPool) -> Result<&mut Pool, CUresult> {
        self.pools.get_mut(&handle).filter(|pool| !pool.destroyed).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)
    }

    /// Allocates memory from a pool for a stream-ordered allocation; returns its address.
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
        self.add_allocation(
            (address, size, taken),
            crate::objects::allocation::Kind::Pool(handle),
            CUcontext::NULL,
            device,
        );
        Ok(address)
    }

    /// Subtracts a freed allocation from the pool's used memory.
    pub(crate) fn return_to_pool(&mut self, handle: CUmemoryPool, size: u64) {
        let Some(pool) = self.pools.get_mut(&handle) else { return };
        pool.used = pool.used.saturating_sub(size);
        if pool.destroyed && pool.used == 0 {
            self.pools.remove(&handle);
        }
    }

    /// Releases the reserved memory of a device's pools above their threshold, as after a synchronization.
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
