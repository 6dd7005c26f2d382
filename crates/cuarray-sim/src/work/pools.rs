//! Accounting of memory pools: allocation, return, and release of unused memory.

use crate::state::State;
use crate::work::allocations;
use cuarray_abi::*;

/// Allocates memory from a pool for a stream-ordered allocation; returns its address.
///
/// # Errors
/// `CUDA_ERROR_OUT_OF_MEMORY`; `CUDA_ERROR_INVALID_VALUE` for an invalid pool, and for a pool of another process.
pub(crate) fn take(state: &mut State, handle: CUmemoryPool, size: u64) -> Result<u64, CUresult> {
    let pool = state.pool(handle)?;
    if pool.imported.is_some() {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    let total = pool.used.checked_add(size);
    if total.is_none_or(|total| pool.max_size != 0 && total > pool.max_size) {
        return Err(CUresult::CUDA_ERROR_OUT_OF_MEMORY);
    }
    let device = pool.device;
    let arena = &mut state.devices[device].arena;
    let (address, taken) = arena.take(size).ok_or(CUresult::CUDA_ERROR_OUT_OF_MEMORY)?;
    state.pool(handle)?.hold(size);
    allocations::add(
        state,
        (address, size, taken),
        crate::objects::allocation::Kind::Pool(handle),
        CUcontext::NULL,
        device,
    );
    Ok(address)
}

/// Subtracts a freed allocation from the pool's used memory.
pub(crate) fn return_memory(state: &mut State, handle: CUmemoryPool, size: u64) {
    let Some(pool) = state.pools.get_mut(&handle) else { return };
    pool.used = pool.used.saturating_sub(size);
    if pool.destroyed && pool.used == 0 {
        state.pools.remove(&handle);
    }
}

/// Releases the reserved memory of a device's pools above their threshold, as after a synchronization.
pub(crate) fn settle(state: &mut State, device: usize) {
    for pool in state.pools.values_mut().filter(|pool| pool.device == device) {
        pool.release_down_to(pool.release_threshold);
    }
}

/// The reserved but unused memory of the pools of a device.
pub(crate) fn held(state: &State, device: usize) -> u64 {
    state.pools.values().filter(|pool| pool.device == device).map(|pool| pool.reserved - pool.used).sum()
}
