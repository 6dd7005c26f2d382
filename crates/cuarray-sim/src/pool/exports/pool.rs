//! Stream-ordered allocation and memory pools.
//!
//! Driver API: [stream ordered memory
//! allocator](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MALLOC__ASYNC.html). The address is known at
//! the call. The memory is valid from the position of the allocation in the stream to that of the release. When the
//! allocation runs, it overwrites bytes that another stream wrote too early.

use crate::capture;
use crate::driver::Call;
use crate::execution::{drain, submit};
use crate::memory::exports::memory;
use crate::memory::{graph_memory, new_allocation, places, races, unwaited_exports};
use crate::objects::allocation::Kind;
use crate::objects::pool::{Place, Pool};
use crate::objects::work::Work;
use crate::pages::backing::{self, Backing, Label};
use crate::pages::ipc::{Exporter, Handle, Imported};
use crate::pages::shared_file::SharedFile;
use crate::parameters::{In, Out, unsupported};
use crate::pool::accounting;
use crate::stream::lookup;
use cuarray_abi::*;
use std::ffi::{c_char, c_int, c_void};
use std::os::fd::IntoRawFd;

const INVALID_VALUE: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

/// `CU_MEMPOOL_ATTR_LOCALITY_DOMAIN_ID` of a pool with no part of a device's memory.
const NO_LOCALITY_DOMAIN: i32 = -1;

/// Allocates from a pool, or from the current pool of the stream's device. Zero bytes have no address.
fn allocate(call: &Call<'_>, size: u64, pool: Option<CUmemoryPool>, stream: CUstream) -> Result<u64, CUresult> {
    let (mut state, current) = call.current_for(stream)?;
    let stream = lookup::stream_of(&mut state, call, current, stream)?;
    let context = state.streams.get(&stream).map_or(current, |stream| stream.context);
    let device = state.context(context)?.device;
    let pool = pool.unwrap_or_else(|| accounting::of_place(&mut state, Place::of_device(device)).current);
    if capture::captures(&mut state, stream)? {
        return capture::capture_allocation(&mut state, stream, pool, size);
    }
    state.pool(pool)?;
    if size == 0 {
        return Ok(0);
    }
    let mut taken = accounting::take(&mut state, pool, size, device);
    if taken == Err(CUresult::CUDA_ERROR_OUT_OF_MEMORY) {
        // Pending releases may make room.
        state = drain::drain_context(call.driver, state, context);
        taken = accounting::take(&mut state, pool, size, device);
    }
    let address = taken?;
    drop(submit(call, state, stream, Work::Allocate { address, size }, Vec::new())?);
    Ok(address)
}

pub(crate) fn cuMemAllocAsync(
    call: &Call<'_>,
    dptr: Out<'_, CUdeviceptr>,
    bytesize: usize,
    stream: CUstream,
) -> Result<(), CUresult> {
    dptr.present()?;
    dptr.put(allocate(call, bytesize as u64, None, stream)?)
}

pub(crate) fn cuMemAllocFromPoolAsync(
    call: &Call<'_>,
    dptr: Out<'_, CUdeviceptr>,
    bytesize: usize,
    pool: CUmemoryPool,
    stream: CUstream,
) -> Result<(), CUresult> {
    dptr.present()?;
    dptr.put(allocate(call, bytesize as u64, Some(pool), stream)?)
}

/// Enqueues the release. New work that is enqueued later must not use the memory.
pub(crate) fn cuMemFreeAsync(call: &Call<'_>, dptr: CUdeviceptr, stream: CUstream) -> Result<(), CUresult> {
    let (mut state, current) = call.current_for(stream)?;
    let stream = lookup::stream_of(&mut state, call, current, stream)?;
    let captured = capture::captures(&mut state, stream)?;
    if dptr == 0 {
        return Ok(());
    }
    if captured {
        return capture::capture_release(&mut state, stream, dptr);
    }
    let allocation = state.memory.find(dptr).filter(|allocation| allocation.address == dptr);
    let known = allocation.is_some_and(|allocation| match &allocation.kind {
        Kind::Device | Kind::Graph { .. } => true,
        Kind::Imported(imported) => imported.pool.is_some(),
        kind => kind.pool().is_some(),
    });
    if !known {
        return memory::refused_release(state, dptr);
    }
    graph_memory::mark_freed(&mut state, dptr);
    drop(submit(call, state, stream, Work::Release { address: dptr }, Vec::new())?);
    Ok(())
}

/// The addresses of a pool of host memory that other processes may import. Only used pages take memory.
const SHARED_HOST_MEMORY: u64 = 1 << 40;

/// Creates a pool of the memory of a device or of the host, or of managed memory. By the manual, other processes import pools of
/// a device and of a node of the host, but none of the host as a whole.
pub(crate) fn cuMemPoolCreate(
    call: &Call<'_>,
    pool: Out<'_, CUmemoryPool>,
    pool_props: In<'_, CUmemPoolProps>,
) -> Result<(), CUresult> {
    pool.present()?;
    let props = pool_props.read()?;
    let mut state = call.lock();
    let place = places::place(&state, props.location, props.allocType)?;
    match props.handleTypes {
        CU_MEM_HANDLE_TYPE_NONE => {}
        16.. => return Err(INVALID_VALUE),
        _ if place.managed || place.location.kind == CU_MEM_LOCATION_TYPE_HOST => return Err(INVALID_VALUE),
        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR => {}
        _ => return unsupported(),
    }
    if place.managed && (props.maxSize != 0 || props.usage != 0) {
        return Err(INVALID_VALUE);
    }
    let (max_size, handle_types) = (props.maxSize as u64, props.handleTypes);
    let shares_host = place.device().is_none() && handle_types != CU_MEM_HANDLE_TYPE_NONE;
    let file = shares_host.then(|| SharedFile::new(SHARED_HOST_MEMORY)).transpose();
    let file = file.map_err(|_| CUresult::CUDA_ERROR_OUT_OF_MEMORY)?;
    let handle = CUmemoryPool(crate::handle::fresh());
    state.pools.insert(handle, Pool { max_size, handle_types, file, ..Pool::new(place) });
    pool.put(handle)
}

pub(crate) fn cuMemPoolDestroy(call: &Call<'_>, pool: CUmemoryPool) -> Result<(), CUresult> {
    accounting::destroy(&mut call.lock(), pool)
}

pub(crate) fn cuMemPoolTrimTo(call: &Call<'_>, pool: CUmemoryPool, min_bytes_to_keep: usize) -> Result<(), CUresult> {
    call.lock().pool(pool)?.release_down_to(min_bytes_to_keep as u64);
    Ok(())
}

pub(crate) fn cuMemPoolSetAttribute(
    call: &Call<'_>,
    pool: CUmemoryPool,
    attr: CUmemPool_attribute,
    value: In<'_, c_void>,
) -> Result<(), CUresult> {
    value.present()?;
    let mut state = call.lock();
    let pool = state.pool(pool)?;
    let is_policy = matches!(attr, 1..=3);
    // SAFETY: by the manual, the reuse policies are ints.
    let policy = if is_policy { unsafe { value.cast::<i32>() }.read()? } else { 0 };
    // SAFETY: by the manual, all other values have 64 bits.
    let bytes = if is_policy { 0 } else { unsafe { value.cast::<u64>() }.read()? };
    match attr {
        1..=3 => pool.reuse[attr as usize - 1] = i32::from(policy != 0),
        CU_MEMPOOL_ATTR_RELEASE_THRESHOLD => pool.release_threshold = bytes,
        // High watermarks can only be reset.
        CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH if bytes == 0 => pool.reserved_high = pool.reserved,
        CU_MEMPOOL_ATTR_USED_MEM_HIGH if bytes == 0 => pool.used_high = pool.used,
        _ => return Err(INVALID_VALUE),
    }
    Ok(())
}

pub(crate) fn cuMemPoolGetAttribute(
    call: &Call<'_>,
    pool: CUmemoryPool,
    attr: CUmemPool_attribute,
    value: Out<'_, c_void>,
) -> Result<(), CUresult> {
    let mut state = call.lock();
    let pool = state.pool(pool)?;
    let bytes = match attr {
        1..=3 => {
            // SAFETY: by the manual, these values are ints.
            return unsafe { value.cast::<i32>() }.put(pool.reuse[attr as usize - 1]);
        }
        9..=12 | CU_MEMPOOL_ATTR_HW_DECOMPRESS_ENABLED | CU_MEMPOOL_ATTR_LOCALITY_DOMAIN_ID => {
            let number = match attr {
                CU_MEMPOOL_ATTR_ALLOCATION_TYPE => pool.place.allocation_type() as i32,
                // An imported pool cannot be exported again.
                CU_MEMPOOL_ATTR_EXPORT_HANDLE_TYPES if pool.imported.is_some() => CU_MEM_HANDLE_TYPE_NONE as i32,
                CU_MEMPOOL_ATTR_EXPORT_HANDLE_TYPES => pool.handle_types as i32,
                CU_MEMPOOL_ATTR_LOCATION_ID => pool.place.location.id,
                CU_MEMPOOL_ATTR_LOCATION_TYPE => pool.place.location.kind as i32,
                CU_MEMPOOL_ATTR_LOCALITY_DOMAIN_ID => NO_LOCALITY_DOMAIN,
                _ => 0,
            };
            // SAFETY: by the manual, these values are ints and enumerations.
            return unsafe { value.cast::<i32>() }.put(number);
        }
        CU_MEMPOOL_ATTR_MAX_POOL_SIZE => pool.max_size,
        CU_MEMPOOL_ATTR_RELEASE_THRESHOLD => pool.release_threshold,
        CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT => pool.reserved,
        CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH => pool.reserved_high,
        CU_MEMPOOL_ATTR_USED_MEM_CURRENT => pool.used,
        CU_MEMPOOL_ATTR_USED_MEM_HIGH => pool.used_high,
        _ => return Err(INVALID_VALUE),
    };
    // SAFETY: by the manual, all other values have 64 bits.
    unsafe { value.cast::<u64>() }.put(bytes)
}

/// Sets which devices' kernels may access the memory of a pool; `cuCtxEnablePeerAccess` has no effect on it. A pool's own
/// device always has access, and managed memory is open to all.
pub(crate) fn cuMemPoolSetAccess(
    call: &Call<'_>,
    pool: CUmemoryPool,
    map: In<'_, CUmemAccessDesc>,
    count: usize,
) -> Result<(), CUresult> {
    let mut state = call.lock();
    let place = state.pool(pool)?.place;
    // SAFETY: the manual gives the list this length.
    let changes = accounting::checked_access(&state, unsafe { map.list(count)? })?;
    let closes = |(device, flags): &(CUdevice, CUmemAccess_flags)| {
        place.is_open_to(*device) && *flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE
    };
    if changes.iter().any(closes) {
        return Err(INVALID_VALUE);
    }
    state.pool(pool)?.access.extend(changes);
    state.memory.access_changes();
    Ok(())
}

pub(crate) fn cuMemPoolGetAccess(
    call: &Call<'_>,
    flags: Out<'_, CUmemAccess_flags>,
    mem_pool: CUmemoryPool,
    location: In<'_, CUmemLocation>,
) -> Result<(), CUresult> {
    flags.present()?;
    let location = location.read()?;
    let mut state = call.lock();
    let access = match location.kind {
        CU_MEM_LOCATION_TYPE_DEVICE => {
            let device = state.device(location.id)?.ordinal;
            state.pool(mem_pool)?.access_of(device)
        }
        CU_MEM_LOCATION_TYPE_HOST if state.pool(mem_pool)?.place.device().is_none() => {
            CU_MEM_ACCESS_FLAGS_PROT_READWRITE
        }
        CU_MEM_LOCATION_TYPE_HOST => CU_MEM_ACCESS_FLAGS_PROT_NONE,
        _ => return Err(INVALID_VALUE),
    };
    flags.put(access)
}

/// Exports a pool as a file descriptor, which the program closes.
pub(crate) fn cuMemPoolExportToShareableHandle(
    call: &Call<'_>,
    handle_out: Out<'_, c_void>,
    pool: CUmemoryPool,
    handle_type: CUmemAllocationHandleType,
    flags: u64,
) -> Result<(), CUresult> {
    handle_out.present()?;
    let mut state = call.lock();
    let Pool { place, handle_types, imported, .. } = *state.pool(pool)?;
    let is_allowed = handle_types & handle_type != 0 && imported.is_none();
    if flags != 0 || !is_allowed || handle_type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR {
        return Err(INVALID_VALUE);
    }
    let location = match place.device() {
        Some(device) => (CU_MEM_LOCATION_TYPE_DEVICE, state.devices[device].physical),
        None => (place.location.kind, place.location.id),
    };
    let label =
        Label { size: 0, origin: backing::origin(pool.0 as u64), location, handle_types, rdma: false, pool: true };
    let file = Backing::new(label).and_then(|backing| backing.export());
    let file = file.map_err(|_| CUresult::CUDA_ERROR_OUT_OF_MEMORY)?;
    // SAFETY: by the manual, a handle of this type is an int.
    unsafe { handle_out.cast::<c_int>() }.put(file.into_raw_fd())
}

/// Imports a pool. By the programming guide, only its own device may access it, whatever the exporter has set; a pool of host
/// memory has none.
pub(crate) fn cuMemPoolImportFromShareableHandle(
    call: &Call<'_>,
    pool_out: Out<'_, CUmemoryPool>,
    handle: *mut c_void,
    handle_type: CUmemAllocationHandleType,
    flags: u64,
) -> Result<(), CUresult> {
    pool_out.present()?;
    if flags != 0 || handle_type == CU_MEM_HANDLE_TYPE_NONE || handle_type >= 16 {
        return Err(INVALID_VALUE);
    }
    if handle_type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR {
        return unsupported();
    }
    let descriptor = c_int::try_from(handle as usize).map_err(|_| INVALID_VALUE)?;
    let label = Backing::open(descriptor).map(|backing| backing.label).filter(|label| label.pool);
    let Label { origin, location: (kind, id), handle_types, .. } = label.ok_or(INVALID_VALUE)?;
    let mut state = call.lock();
    let place = match kind {
        CU_MEM_LOCATION_TYPE_DEVICE => {
            let device = state.devices.iter().position(|device| device.physical == id);
            Place::of_device(device.ok_or(INVALID_VALUE)?)
        }
        _ => places::place(&state, CUmemLocation { kind, id }, CU_MEM_ALLOCATION_TYPE_PINNED)?,
    };
    let (new, imported) = (CUmemoryPool(crate::handle::fresh()), Some(origin));
    state.pools.insert(new, Pool { imported, handle_types, ..Pool::new(place) });
    pool_out.put(new)
}

/// The lower half of a pool's number, which the data of its pointers has.
fn number_of(pool: u64) -> u32 {
    pool as u32
}

/// Describes an allocation of a pool for other processes, for any of its addresses.
pub(crate) fn cuMemPoolExportPointer(
    call: &Call<'_>,
    share_data_out: Out<'_, CUmemPoolPtrExportData>,
    ptr: CUdeviceptr,
) -> Result<(), CUresult> {
    share_data_out.present()?;
    let mut state = call.lock();
    let allocation = state.memory.find(ptr).ok_or(INVALID_VALUE)?;
    let (address, size, id, device) = (allocation.address, allocation.size, allocation.id, allocation.device);
    let (pool, offset) = match &allocation.kind {
        Kind::Pool(pool) => (*pool, None),
        Kind::PinnedPool { pages, pool } => (*pool, Some(pages.offset().ok_or(INVALID_VALUE)?)),
        _ => return Err(INVALID_VALUE),
    };
    let shared = state.pools.get_mut(&pool).filter(|pool| pool.handle_types != CU_MEM_HANDLE_TYPE_NONE);
    let shared = shared.ok_or(INVALID_VALUE)?;
    let (offset, file, device) = match (offset, &mut shared.file) {
        (Some(offset), Some(file)) => {
            (file.export(offset, id, size).map(|()| offset), file.descriptor(), CU_DEVICE_CPU)
        }
        _ => {
            let device = state.devices.get_mut(device).ok_or(INVALID_VALUE)?;
            (device.arena.export(address, id, size), device.arena.file(), device.physical)
        }
    };
    let offset = offset.map_err(|_| CUresult::CUDA_ERROR_OUT_OF_MEMORY)?;
    let handle = Handle { exporter: Exporter::here(file)?, device, offset, id, pool: number_of(pool.0 as u64) };
    unwaited_exports::exported(&mut state, address);
    let reserved = handle.to_bytes().reserved.map(|byte| byte as u8);
    share_data_out.put(CUmemPoolPtrExportData { reserved })
}

/// Imports an allocation of a pool, which is freed like one of this process.
pub(crate) fn cuMemPoolImportPointer(
    call: &Call<'_>,
    ptr_out: Out<'_, CUdeviceptr>,
    pool: CUmemoryPool,
    share_data: In<'_, CUmemPoolPtrExportData>,
) -> Result<(), CUresult> {
    ptr_out.present()?;
    let data = share_data.read()?;
    let handle = Handle::from_bytes(&CUipcMemHandle { reserved: data.reserved.map(|byte| byte as c_char) });
    let mut state = call.lock();
    let Pool { imported, place, .. } = *state.pool(pool)?;
    // Host memory has the device on which the call is made, as an allocation has that of its stream.
    let current = call.top_context().and_then(|current| state.context(current).ok()).map(|current| current.device);
    let device = place.device().or(current).unwrap_or_default();
    let (process, started, number) = imported.ok_or(INVALID_VALUE)?;
    let of_pool = |handle: &Handle| handle.pool == number_of(number) && handle.exporter.is_process(process, started);
    let handle = handle.filter(of_pool).ok_or(INVALID_VALUE)?;
    let mut imported = Imported::open(handle, call.driver.settings().host_readable).map_err(|_| INVALID_VALUE)?;
    imported.pool = Some(pool);
    let (address, size) = (imported.address(), imported.size);
    new_allocation::add(&mut state, (address, size, 0), Kind::Imported(Box::new(imported)), CUcontext::NULL, device);
    races::allocated(&mut state, address);
    ptr_out.put(address)
}
