//! Pools by their place, and their accounting: allocation, return, and release of unused memory.

use crate::objects::allocation::Kind;
use crate::objects::pool::{Place, PlacePools, Pool};
use crate::pages::host_pages::HostPages;
use crate::state::State;
use crate::work::new_allocation;
use cuarray_abi::*;

/// The place that a program means by a location and a type of allocation. The host has one NUMA node, with number 0.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for an unknown type, and a location that has no pools of this type;
/// `CUDA_ERROR_INVALID_DEVICE`; `CUDA_ERROR_NOT_SUPPORTED` for a part of a device's memory.
pub(crate) fn place(state: &State, location: CUmemLocation, kind: CUmemAllocationType) -> Result<Place, CUresult> {
    let managed = match kind {
        CU_MEM_ALLOCATION_TYPE_PINNED => false,
        CU_MEM_ALLOCATION_TYPE_MANAGED => true,
        _ => return Err(CUresult::CUDA_ERROR_INVALID_VALUE),
    };
    let id = match location.kind {
        CU_MEM_LOCATION_TYPE_DEVICE => state.device(location.id)?.ordinal,
        CU_MEM_LOCATION_TYPE_HOST => 0,
        CU_MEM_LOCATION_TYPE_HOST_NUMA if location.id == 0 => 0,
        CU_MEM_LOCATION_TYPE_NONE if managed => 0,
        CU_MEM_LOCATION_TYPE_DEVICE_LOCALITY_DOMAIN if !managed => {
            return Err(CUresult::CUDA_ERROR_NOT_SUPPORTED);
        }
        _ => return Err(CUresult::CUDA_ERROR_INVALID_VALUE),
    };
    Ok(Place { managed, location: CUmemLocation { kind: location.kind, id } })
}

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
            let pages = HostPages::new(size, state.host_access.on()).ok_or(CUresult::CUDA_ERROR_OUT_OF_MEMORY)?;
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
        allocation.advice.preferred = preferred(place);
    }
    Ok(address)
}

/// The preferred location of memory at a place; only managed memory has one.
pub(crate) fn preferred(place: Place) -> Option<CUmemLocation> {
    (place.managed && place.location.kind != CU_MEM_LOCATION_TYPE_NONE).then_some(place.location)
}

/// Subtracts a freed allocation from the pool's used memory.
pub(crate) fn return_memory(state: &mut State, handle: CUmemoryPool, size: u64) {
    let Some(pool) = state.pools.get_mut(&handle) else { return };
    pool.used = pool.used.saturating_sub(size);
    if pool.destroyed && pool.used == 0 {
        state.pools.remove(&handle);
    }
}

/// Releases reserved memory above the threshold, as after a synchronization with a device: of its pools, and of those of host
/// and managed memory.
pub(crate) fn settle(state: &mut State, device: usize) {
    let settled = |pool: &&mut Pool| pool.place.device().is_none_or(|own| own == device);
    for pool in state.pools.values_mut().filter(settled) {
        pool.release_down_to(pool.release_threshold);
    }
}

/// The reserved but unused memory of the pools of a device.
pub(crate) fn held(state: &State, device: usize) -> u64 {
    let own = state.pools.values().filter(|pool| pool.place.device() == Some(device));
    own.map(|pool| pool.reserved - pool.used).sum()
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
