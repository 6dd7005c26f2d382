//! Pools by their place, and the memory that they hand out.

use crate::memory::new_allocation;
use crate::objects::allocation::Kind;
use crate::objects::pool::{Place, PlacePools, Pool};
use crate::state::State;
use cuarray_abi::*;

/// The pools of a place; its default pool is made when it is first asked for.
pub(crate) fn of_place(state: &mut State, place: Place) -> PlacePools {
    let State { place_pools, pools, .. } = state;
    *place_pools.entry(place).or_insert_with(|| {
        let default = CUmemoryPool(crate::handle::fresh());
        pools.insert(default, Pool { is_default: true, ..Pool::new(place) });
        PlacePools { default, current: default }
    })
}

/// Makes a pool the current one of a place.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for an invalid pool, a pool of another place, and a pool of another process, which allocates
/// nothing.
pub(crate) fn set_current(state: &mut State, place: Place, handle: CUmemoryPool) -> Result<(), CUresult> {
    let pool = state.pool(handle)?;
    if pool.place != place || pool.imported.is_some() {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    let default = of_place(state, place).default;
    state.place_pools.insert(place, PlacePools { default, current: handle });
    Ok(())
}

/// Destroys a pool once its last allocation is freed. Its place returns to the default pool at once.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for an invalid pool, and for a default pool.
pub(crate) fn destroy(state: &mut State, handle: CUmemoryPool) -> Result<(), CUresult> {
    let pool = state.pool(handle)?;
    if pool.is_default {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    pool.destroyed = true;
    let (place, unused) = (pool.place, pool.used == 0);
    if unused {
        state.pools.remove(&handle);
    }
    if let Some(pools) = state.place_pools.get_mut(&place).filter(|pools| pools.current == handle) {
        pools.current = pools.default;
    }
    Ok(())
}

/// Allocates memory from a pool for a stream-ordered allocation in a stream of a device; returns its address.
///
/// # Errors
/// `CUDA_ERROR_OUT_OF_MEMORY`; `CUDA_ERROR_INVALID_VALUE` for an invalid pool, and for a pool of another process.
pub(crate) fn take(state: &mut State, handle: CUmemoryPool, size: u64, stream_device: usize) -> Result<u64, CUresult> {
    let pool = state.pool(handle)?;
    if pool.imported.is_some() {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    let total = pool.used.checked_add(size);
    if total.is_none_or(|total| pool.max_size != 0 && total > pool.max_size) {
        return Err(CUresult::CUDA_ERROR_OUT_OF_MEMORY);
    }
    let place = pool.place;
    let (address, taken, kind) = match place.device() {
        Some(device) => {
            let taken = state.devices[device].arena.take(size);
            let (address, taken) = taken.ok_or(CUresult::CUDA_ERROR_OUT_OF_MEMORY)?;
            (address, taken, Kind::Pool(handle))
        }
        None => {
            let twofold = state.host_access.on();
            let pages = state.pool(handle)?.pages(size, twofold).ok_or(CUresult::CUDA_ERROR_OUT_OF_MEMORY)?;
            let (address, pool) = (pages.address(), handle);
            let managed = place.managed;
            let kind =
                if managed { Kind::Managed { pages, pool: Some(pool) } } else { Kind::PinnedPool { pages, pool } };
            (address, size, kind)
        }
    };
    state.pool(handle)?.hold(size);
    let device = place.device().unwrap_or(stream_device);
    new_allocation::add(state, (address, size, taken), kind, CUcontext::NULL, device);
    if let Some(allocation) = state.memory.get_mut(address) {
        allocation.advice.preferred = place.preferred();
    }
    Ok(address)
}

/// Checks descriptions of the access of devices.
pub(crate) fn checked_access(
    state: &State,
    descriptions: Vec<CUmemAccessDesc>,
) -> Result<Vec<(CUdevice, CUmemAccess_flags)>, CUresult> {
    let checked = |CUmemAccessDesc { location, flags }| {
        let known = matches!(
            flags,
            CU_MEM_ACCESS_FLAGS_PROT_NONE | CU_MEM_ACCESS_FLAGS_PROT_READ | CU_MEM_ACCESS_FLAGS_PROT_READWRITE
        );
        if location.kind != CU_MEM_LOCATION_TYPE_DEVICE || !known {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        Ok((state.device(location.id)?.ordinal, flags))
    };
    descriptions.into_iter().map(checked).collect()
}
