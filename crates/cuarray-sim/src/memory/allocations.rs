//! Look-up, checks and release of allocations.

use crate::memory::{graph_memory, mappings, races};
use crate::objects::allocation::{Allocation, Declared, DeviceAccess, GraphBytes, Kind, Side};
use crate::objects::pool;
use crate::pages::probe;
use crate::state::State;
use cuarray_abi::*;
use cuarray_races::finding::AccessKind;

/// Checks an access of `length` bytes at `address` and returns its side.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for a null or unknown device address, an access outside its allocation, device memory
/// declared as host memory, host memory that is unmapped or, for writes, read-only, and freed memory.
pub(crate) fn side(
    state: &State,
    address: u64,
    length: u64,
    declared: Declared,
    access: AccessKind,
) -> Result<Side, CUresult> {
    let Some(allocation) = state.memory.find(address) else {
        let of_driver = state.arena_of(address).is_some() || state.memory.holding(address).is_some();
        let is_device_only = declared == Declared::Device && !state.pageable_memory;
        if address == 0 || is_device_only || of_driver {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        // Memory of the program that the driver did not allocate may be any number. Its pages may be closed to the host.
        if state.pageable_memory {
            state.host_access.open_program_memory();
        }
        let accessible = match access {
            AccessKind::Write => probe::is_range_writable(address, length),
            _ => probe::is_range_readable(address, length),
        };
        return if accessible { Ok(Side::Pageable) } else { Err(CUresult::CUDA_ERROR_INVALID_VALUE) };
    };
    // Only a copy that names an array reaches its memory.
    let array = match declared {
        Declared::Array(corner) => Some(corner.array),
        _ => None,
    };
    if array.is_some() != matches!(allocation.kind, Kind::Array)
        || array.is_some_and(|array| !state.arrays.arrays.contains_key(&array))
    {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    if let Kind::Mapped(_) = allocation.kind {
        return mappings::side(state, address, length, declared, access);
    }
    if length > allocation.size - (address - allocation.address) {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    match &allocation.kind {
        kind if kind.on_device() && declared == Declared::Host => Err(CUresult::CUDA_ERROR_INVALID_VALUE),
        Kind::Imported(imported) if !imported.is_live() => Err(CUresult::CUDA_ERROR_INVALID_VALUE),
        kind => Ok(side_of(kind)),
    }
}

/// The side of memory of a kind.
pub(crate) fn side_of(kind: &Kind) -> Side {
    if kind.is_managed() {
        return Side::Managed;
    }
    // A library reads and writes by kernels, for which no copy to its staging memory may wait.
    if kind.on_device() || matches!(kind, Kind::Library(_)) { Side::Device } else { Side::Pinned }
}

/// The access that kernels of a context have to an allocation.
///
/// By the manual on [unified addressing](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__UNIFIED.html), host
/// and managed memory outside of pools and graphs of host memory is accessible from all devices. Memory of another device is accessible after
/// `cuCtxEnablePeerAccess` for the context that allocated it. Memory of pools and graphs follows `cuMemPoolSetAccess`
/// and the node's parameters instead, and mapped memory `cuMemSetAccess`. For copies and fills see [`is_open_to`].
pub(crate) fn kernel_access(state: &State, context: CUcontext, allocation: &Allocation) -> CUmemAccess_flags {
    let own = state.contexts.get(&context);
    let device_of = |context: &CUcontext| state.contexts.get(context).map(|context| context.device);
    let shared = |access: &DeviceAccess| {
        let device = own.and_then(|own| CUdevice::try_from(own.device).ok());
        device.and_then(|device| access.get(&device)).copied().unwrap_or(CU_MEM_ACCESS_FLAGS_PROT_NONE)
    };
    let home = match &allocation.kind {
        Kind::Mapped(mapping) => return shared(&mapping.access),
        Kind::Pinned { .. } | Kind::Registered { .. } | Kind::Library(_) => return CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
        kind if kind.is_managed() => return CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
        // Host memory of a pool or a graph has no device of its own.
        Kind::PinnedPool { .. } | Kind::Graph { bytes: GraphBytes::Pinned(_), .. } => None,
        Kind::Imported(imported) if imported.on_host() => None,
        // Memory of another process is accessible where it was opened, or as its imported pool is.
        Kind::Imported(imported) if imported.pool.is_none() => device_of(&allocation.context),
        _ => Some(allocation.device),
    };
    if own.is_some_and(|own| Some(own.device) == home) {
        return CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    }
    match &allocation.kind {
        Kind::Pool(pool) | Kind::PinnedPool { pool, .. } => {
            state.pools.get(pool).map_or(CU_MEM_ACCESS_FLAGS_PROT_NONE, |pool| shared(&pool.access))
        }
        Kind::Graph { access, .. } => shared(access),
        Kind::Imported(imported) if imported.pool.is_some() => {
            let pool = imported.pool.and_then(|pool| state.pools.get(&pool));
            pool.map_or(CU_MEM_ACCESS_FLAGS_PROT_NONE, |pool| shared(&pool.access))
        }
        _ if own.is_some_and(|own| own.peers.contains(&allocation.context)) => CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
        _ => CU_MEM_ACCESS_FLAGS_PROT_NONE,
    }
}

/// The advice for an access of a device to memory that is closed to it.
pub(crate) fn missing_access(device: usize, allocation: &Allocation) -> cuarray_races::Advice {
    let of_pool = match &allocation.kind {
        Kind::Imported(imported) => imported.pool.is_some(),
        kind => matches!(kind, Kind::Pool(_) | Kind::PinnedPool { .. }),
    };
    match allocation.kind {
        _ if of_pool => cuarray_races::Advice::OpenPool { device },
        Kind::Graph { .. } => cuarray_races::Advice::OpenGraphMemory { device },
        Kind::Mapped(_) => cuarray_races::Advice::OpenMapping { device },
        _ => cuarray_races::Advice::OpenPeer { device, other: allocation.device },
    }
}

/// Whether a copy or fill of a context may access memory, as far as mappings, pools and graphs decide it.
///
/// Memory of another device's pool needs the access of the pool, by cuda.core's tests. A copy between contexts names a context of
/// that device, so it needs none: the programming guide recommends it for staged copies of such memory. Graph memory is
/// allocated as pool memory is.
pub(crate) fn is_open_to(state: &State, context: CUcontext, address: u64, length: u64, access: AccessKind) -> bool {
    let Some(allocation) = state.memory.holding(address) else { return true };
    let is_shared = match &allocation.kind {
        Kind::Mapped(_) => return mappings::is_open_to(state, context, address, length, access),
        Kind::Pool(_) => !allocation.freed,
        Kind::Imported(imported) => imported.pool.is_some() && !imported.on_host() && !allocation.freed,
        kind => matches!(kind, Kind::Graph { bytes: GraphBytes::Device, .. }),
    };
    !is_shared || kernel_access(state, context, allocation) >= mappings::needed(access)
}

/// Records a copy or fill of memory that [`is_open_to`] closes to its context.
pub(crate) fn refuse_closed(state: &mut State, context: CUcontext, access: AccessKind, address: u64, length: u64) {
    let device = state.contexts.get(&context).map_or(0, |context| context.device);
    let Some(allocation) = state.memory.holding(address) else { return };
    let missing = missing_access(device, allocation);
    races::closed(state, access, address, length, missing);
}

/// Removes an allocation that no pending work needs, and frees its memory.
pub(crate) fn release(state: &mut State, address: u64) {
    if let Some(Kind::Graph { .. }) = state.memory.starting_at(address).map(|allocation| &allocation.kind) {
        state.host_access.shut(address, true);
        graph_memory::release(state, address);
        return;
    }
    // The pages are freed with the allocation. Before that, the host must be able to access them again.
    state.host_access.remove(address);
    let Some(allocation) = state.memory.remove(address) else { return };
    state.publications.forget(address, address.saturating_add(allocation.size));
    if allocation.kind.is_of_code() {
        races::unloaded(state, address, address + allocation.size);
    }
    let pool = allocation.kind.pool();
    match allocation.kind {
        Kind::Device | Kind::Array | Kind::Pool(_) | Kind::Code => {
            if let Some(device) = state.devices.get_mut(allocation.device) {
                device.arena.release(address, allocation.taken);
            }
        }
        // The file of the pages ends with their pool, so they leave it first.
        Kind::PinnedPool { pages, pool } => {
            if let Some(file) = state.pools.get_mut(&pool).and_then(|pool| pool.file.as_mut()) {
                pages.give_back(file);
            }
        }
        _ => {}
    }
    if let Some(pool) = pool {
        pool::return_memory(&mut state.pools, pool, allocation.size);
    }
}
