//! Allocations: device, pinned, registered and managed memory, and memory of other processes.
//!
//! Driver API: [memory management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html). Every free
//! first runs the pending work of its context. Real drivers synchronize there, and pending work must not access freed
//! memory.

use crate::driver::{Call, Guard};
use crate::memory::device_memory::{allocate, free};
use crate::memory::{new_allocation, races, unwaited_exports};
use crate::objects::allocation::Kind;
use crate::objects::pool;
use crate::pages::host_pages::HostPages;
use crate::pages::ipc::{Exporter, Handle, Imported};
use crate::parameters::Out;
use cuarray_abi::*;
use std::ffi::{c_uint, c_void};

pub(crate) fn cuMemGetInfo_v2(call: &Call<'_>, free: Out<'_, usize>, total: Out<'_, usize>) -> Result<(), CUresult> {
    total.present()?;
    let (state, handle) = call.current()?;
    let device = state.context(handle)?.device;
    let arena = &state.devices[device].arena;
    let left = arena.capacity.saturating_sub(arena.used).saturating_sub(pool::held(&state.pools, device));
    free.put(left as usize)?;
    total.put(arena.capacity as usize)
}

pub(crate) fn cuMemAlloc_v2(call: &Call<'_>, dptr: Out<'_, CUdeviceptr>, bytesize: usize) -> Result<(), CUresult> {
    dptr.present()?;
    dptr.put(allocate(call, bytesize as u64, Kind::Device)?)
}

pub(crate) fn cuMemAllocPitch_v2(
    call: &Call<'_>,
    dptr: Out<'_, CUdeviceptr>,
    p_pitch: Out<'_, usize>,
    width_in_bytes: usize,
    height: usize,
    element_size_bytes: c_uint,
) -> Result<(), CUresult> {
    dptr.present()?;
    p_pitch.present()?;
    let pitch = width_in_bytes.checked_next_multiple_of(crate::pages::allocator::ALIGNMENT as usize);
    let size = pitch.and_then(|pitch| pitch.checked_mul(height));
    let (Some(pitch), Some(size), 4 | 8 | 16) = (pitch, size, element_size_bytes) else {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    };
    let address = allocate(call, size as u64, Kind::Device)?;
    dptr.put(address)?;
    p_pitch.put(pitch)
}

/// Refuses to release an address that is no allocation; reports a double free if it was one.
pub(crate) fn refused_release(mut state: Guard<'_>, address: u64) -> Result<(), CUresult> {
    races::released_again(&mut state, address);
    Err(CUresult::CUDA_ERROR_INVALID_VALUE)
}

pub(crate) fn cuMemFree_v2(call: &Call<'_>, dptr: CUdeviceptr) -> Result<(), CUresult> {
    let (state, current) = call.current()?;
    if dptr == 0 {
        return Ok(());
    }
    let allocation = state.memory.starting_at(dptr).filter(|allocation| !allocation.freed);
    match allocation.map(|allocation| &allocation.kind) {
        Some(Kind::Device | Kind::Pool(_) | Kind::PinnedPool { .. } | Kind::Graph { .. } | Kind::Managed { .. }) => {
            free(call, state, dptr, current)
        }
        Some(Kind::Imported(imported)) if imported.pool.is_some() => free(call, state, dptr, current),
        _ => return refused_release(state, dptr),
    }
    Ok(())
}

pub(crate) fn cuMemGetAddressRange_v2(
    call: &Call<'_>,
    pbase: Out<'_, CUdeviceptr>,
    psize: Out<'_, usize>,
    dptr: CUdeviceptr,
) -> Result<(), CUresult> {
    let state = call.lock();
    let allocation = state.memory.visible(dptr).ok_or(CUresult::CUDA_ERROR_NOT_FOUND)?;
    pbase.put_if_present(allocation.address);
    psize.put_if_present(allocation.size as usize);
    Ok(())
}

pub(crate) fn cuMemAllocHost_v2(call: &Call<'_>, pp: Out<'_, *mut c_void>, bytesize: usize) -> Result<(), CUresult> {
    cuMemHostAlloc(call, pp, bytesize, 0)
}

pub(crate) fn cuMemHostAlloc(
    call: &Call<'_>,
    pp: Out<'_, *mut c_void>,
    bytesize: usize,
    flags: c_uint,
) -> Result<(), CUresult> {
    pp.present()?;
    let known = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
    if bytesize == 0 || flags & !known != 0 {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    let (mut state, handle) = call.current()?;
    let device = state.context(handle)?.device;
    let size = bytesize as u64;
    let pages = HostPages::new(size, state.host_access.on()).ok_or(CUresult::CUDA_ERROR_OUT_OF_MEMORY)?;
    let address = pages.address();
    if call.is_of_library() {
        new_allocation::add(&mut state, (address, size, size), Kind::Library(pages), handle, device);
    } else {
        new_allocation::add(&mut state, (address, size, size), Kind::Pinned { flags, pages }, handle, device);
        races::allocated(&mut state, address);
    }
    pp.put(address as *mut c_void)
}

/// Frees host memory also in a thread without a current context, because Apache Arrow's destructors do.
pub(crate) fn cuMemFreeHost(call: &Call<'_>, p: *mut c_void) -> Result<(), CUresult> {
    if p.is_null() {
        return Ok(());
    }
    let has_context = call.top_context().is_some_and(|handle| !handle.is_null());
    let (state, current) = match has_context {
        true => call.current()?,
        false => {
            let state = call.lock();
            let owner = state.memory.starting_at(p as u64).map(|allocation| allocation.context);
            (state, owner.unwrap_or_default())
        }
    };
    match state.memory.starting_at(p as u64).map(|allocation| &allocation.kind) {
        Some(Kind::Pinned { .. } | Kind::Library(_)) => free(call, state, p as u64, current),
        _ => return refused_release(state, p as u64),
    }
    Ok(())
}

pub(crate) fn cuMemHostGetDevicePointer_v2(
    call: &Call<'_>,
    pdptr: Out<'_, CUdeviceptr>,
    p: *mut c_void,
    flags: c_uint,
) -> Result<(), CUresult> {
    pdptr.present()?;
    let (state, _) = call.current()?;
    let found = state.memory.find(p as u64).map(|allocation| &allocation.kind);
    if flags != 0 || !matches!(found, Some(Kind::Pinned { .. } | Kind::Registered { .. })) {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    pdptr.put(p as u64)
}

/// Reports all pinned memory as mapped, because of unified addressing.
pub(crate) fn cuMemHostGetFlags(call: &Call<'_>, p_flags: Out<'_, c_uint>, p: *mut c_void) -> Result<(), CUresult> {
    p_flags.present()?;
    let (state, _) = call.current()?;
    let flags = match state.memory.find(p as u64).map(|allocation| &allocation.kind) {
        Some(Kind::Pinned { flags, .. } | Kind::Registered { flags }) => *flags | CU_MEMHOSTALLOC_DEVICEMAP,
        _ => return Err(CUresult::CUDA_ERROR_INVALID_VALUE),
    };
    p_flags.put(flags)
}

pub(crate) fn cuMemAllocManaged(
    call: &Call<'_>,
    dptr: Out<'_, CUdeviceptr>,
    bytesize: usize,
    flags: c_uint,
) -> Result<(), CUresult> {
    dptr.present()?;
    if bytesize == 0 || !matches!(flags, CU_MEM_ATTACH_GLOBAL | CU_MEM_ATTACH_HOST) {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    let (mut state, handle) = call.current()?;
    let device = state.context(handle)?.device;
    let size = bytesize as u64;
    let pages = HostPages::new(size, state.host_access.on()).ok_or(CUresult::CUDA_ERROR_OUT_OF_MEMORY)?;
    let address = pages.address();
    new_allocation::add(&mut state, (address, size, size), Kind::Managed { pages, pool: None }, handle, device);
    races::allocated(&mut state, address);
    dptr.put(address)
}

pub(crate) fn cuMemHostRegister_v2(
    call: &Call<'_>,
    p: *mut c_void,
    bytesize: usize,
    flags: c_uint,
) -> Result<(), CUresult> {
    let known = CU_MEMHOSTREGISTER_PORTABLE
        | CU_MEMHOSTREGISTER_DEVICEMAP
        | CU_MEMHOSTREGISTER_IOMEMORY
        | CU_MEMHOSTREGISTER_READ_ONLY;
    let (address, size) = (p as u64, bytesize as u64);
    if p.is_null() || bytesize == 0 || flags & !known != 0 || address.checked_add(size).is_none() {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    let (mut state, handle) = call.current()?;
    if state.arena_of(address).is_some() || state.reservation_of(address).is_some() {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    if state.memory.overlaps(address, size) {
        return Err(CUresult::CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    }
    let device = state.context(handle)?.device;
    new_allocation::add(&mut state, (address, size, size), Kind::Registered { flags }, handle, device);
    races::allocated(&mut state, address);
    Ok(())
}

pub(crate) fn cuMemHostUnregister(call: &Call<'_>, p: *mut c_void) -> Result<(), CUresult> {
    let (state, current) = call.current()?;
    if p.is_null() {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    let registered = state.memory.find(p as u64).filter(|found| matches!(found.kind, Kind::Registered { .. }));
    match registered.map(|found| found.address) {
        Some(start) if start == p as u64 => free(call, state, start, current),
        Some(_) => return Err(CUresult::CUDA_ERROR_INVALID_VALUE),
        None => return Err(CUresult::CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED),
    }
    Ok(())
}

/// Returns the handle of the whole allocation, for any of its addresses.
pub(crate) fn cuIpcGetMemHandle(
    call: &Call<'_>,
    p_handle: Out<'_, CUipcMemHandle>,
    dptr: CUdeviceptr,
) -> Result<(), CUresult> {
    p_handle.present()?;
    let (mut state, _) = call.current()?;
    let allocation = state.memory.find(dptr).filter(|allocation| matches!(allocation.kind, Kind::Device));
    let allocation = allocation.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
    let (address, size, id, device) = (allocation.address, allocation.size, allocation.id, allocation.device);
    let device = state.devices.get_mut(device).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
    let offset = device.arena.export(address, id, size).map_err(|_| CUresult::CUDA_ERROR_OUT_OF_MEMORY)?;
    let (exporter, device) = (Exporter::here(device.arena.file())?, device.physical);
    unwaited_exports::exported(&mut state, address);
    p_handle.put(Handle { exporter, device, offset, id, pool: 0 }.to_bytes())
}

/// `CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS`, the only valid flag.
const LAZY_ENABLE_PEER_ACCESS: c_uint = 1;

pub(crate) fn cuIpcOpenMemHandle_v2(
    call: &Call<'_>,
    pdptr: Out<'_, CUdeviceptr>,
    handle: CUipcMemHandle,
    flags: c_uint,
) -> Result<(), CUresult> {
    pdptr.present()?;
    if flags != LAZY_ENABLE_PEER_ACCESS {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    let (mut state, current) = call.current()?;
    let handle = Handle::from_bytes(&handle).filter(|handle| handle.pool == 0);
    let handle = handle.ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)?;
    if state.devices.iter().any(|device| Exporter::here(device.arena.file()) == Ok(handle.exporter)) {
        return Err(CUresult::CUDA_ERROR_INVALID_CONTEXT);
    }
    let device = state.devices.iter().position(|device| device.physical == handle.device);
    let device = device.ok_or(CUresult::CUDA_ERROR_MAP_FAILED)?;
    let own_device = state.context(current)?.device;
    // A process's memory on one device can be open in only one context of each device here.
    let mut known = None;
    for allocation in state.memory.iter() {
        let Kind::Imported(imported) = &allocation.kind else { continue };
        if allocation.context == current && imported.handle == handle && imported.is_live() {
            known = Some(allocation.address);
        } else if imported.handle.exporter == handle.exporter
            && allocation.context != current
            && state.context(allocation.context).is_ok_and(|context| context.device == own_device)
        {
            return Err(CUresult::CUDA_ERROR_INVALID_CONTEXT);
        }
    }
    let address = match known {
        Some(address) => address,
        None => {
            let imported = Imported::open(handle, call.driver.settings().host_readable)?;
            let (address, size) = (imported.address(), imported.size);
            new_allocation::add(&mut state, (address, size, 0), Kind::Imported(Box::new(imported)), current, device);
            races::allocated(&mut state, address);
            address
        }
    };
    if let (Some(_), Some(Kind::Imported(imported))) = (known, state.memory.find_mut(address).map(|a| &mut a.kind)) {
        imported.opened += 1;
    }
    pdptr.put(address)
}

/// Closes imported memory; like a free, the last close first runs the work that may still use it.
pub(crate) fn cuIpcCloseMemHandle(call: &Call<'_>, dptr: CUdeviceptr) -> Result<(), CUresult> {
    let (mut state, current) = call.current()?;
    let allocation = state.memory.find_mut(dptr).filter(|allocation| allocation.address == dptr);
    match allocation.map(|allocation| &mut allocation.kind) {
        Some(Kind::Imported(imported)) if imported.pool.is_some() => return Err(CUresult::CUDA_ERROR_INVALID_VALUE),
        Some(Kind::Imported(imported)) if imported.opened > 1 => imported.opened -= 1,
        Some(Kind::Imported(_)) => free(call, state, dptr, current),
        _ => return Err(CUresult::CUDA_ERROR_INVALID_VALUE),
    }
    Ok(())
}

// Older symbols with the same signature.
pub(crate) use self::cuIpcOpenMemHandle_v2 as cuIpcOpenMemHandle;
pub(crate) use self::cuMemHostRegister_v2 as cuMemHostRegister;

/// The form of CUDA 3.1 and earlier, with sizes of 32 bits; larger sizes are returned as the largest number.
pub(crate) fn cuMemGetInfo(call: &Call<'_>, free: Out<'_, c_uint>, total: Out<'_, c_uint>) -> Result<(), CUresult> {
    free.present()?;
    let (mut left, mut capacity) = (0, 0);
    cuMemGetInfo_v2(call, Out::of(&mut left), Out::of(&mut capacity))?;
    free.put(c_uint::try_from(left).unwrap_or(c_uint::MAX))?;
    total.put(c_uint::try_from(capacity).unwrap_or(c_uint::MAX))
}

/// The form of CUDA 3.1 and earlier, with a size of 32 bits.
pub(crate) fn cuMemAllocHost(call: &Call<'_>, pp: Out<'_, *mut c_void>, bytesize: c_uint) -> Result<(), CUresult> {
    cuMemAllocHost_v2(call, pp, bytesize as usize)
}
