//! Virtual memory management: reserved addresses, physical memory, and mappings between the two.
//!
//! Driver API: [virtual memory management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__VA.html). No call
//! needs a current context. Unmapping, and taking rights away, run the pending work first. The manual says only that
//! these calls synchronize "for most use cases", so they order nothing: a program that does not wait has a finding.

use crate::driver::{Call, Guard};
use crate::execution::drain;
use crate::happens_before::handles;
use crate::memory::exports::memory;
use crate::memory::{mappings, races};
use crate::objects::physical::Physical;
use crate::pages::backing::{self, Backing, Label};
use crate::pages::page_size;
use crate::pages::reservation::{GRANULARITY, Reservation};
use crate::parameters::{In, Out, unsupported};
use crate::state::State;
use cuarray_abi::*;
use std::collections::BTreeSet;
use std::ffi::{c_int, c_void};
use std::os::fd::IntoRawFd;

const INVALID_VALUE: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;
/// The names of the objects in findings.
const HANDLE: &str = "memory handle";
const RESERVATION: &str = "address reservation";
/// `CU_MEM_CREATE_USAGE_TILE_POOL` and `CU_MEM_CREATE_USAGE_HW_DECOMPRESS`.
const USAGES: u16 = 3;

/// Checks that a size is a multiple of the granularity, and not 0.
fn is_granular(size: usize) -> bool {
    size > 0 && (size as u64).is_multiple_of(GRANULARITY)
}

/// Reserves addresses. The memory there is inaccessible until it is mapped and access is set.
pub(crate) fn cuMemAddressReserve(
    call: &Call<'_>,
    ptr: Out<'_, CUdeviceptr>,
    size: usize,
    alignment: usize,
    addr: CUdeviceptr,
    flags: u64,
) -> Result<(), CUresult> {
    ptr.present()?;
    let page = page_size();
    let whole_pages = size > 0 && (size as u64).is_multiple_of(page) && addr.is_multiple_of(page);
    if flags != 0 || !whole_pages || (alignment != 0 && !alignment.is_power_of_two()) {
        return Err(INVALID_VALUE);
    }
    let mut state = call.lock();
    let alignment = (alignment as u64).max(GRANULARITY);
    let reservation = Reservation::new(size as u64, alignment, addr);
    let reservation = reservation.map_err(|_| CUresult::CUDA_ERROR_OUT_OF_MEMORY)?;
    let address = reservation.address;
    state.reservations.insert(address, reservation);
    handles::revived(&mut state, RESERVATION, address);
    ptr.put(address)
}

/// Frees a whole reservation, in which nothing is mapped.
pub(crate) fn cuMemAddressFree(call: &Call<'_>, ptr: CUdeviceptr, size: usize) -> Result<(), CUresult> {
    let mut state = call.lock();
    let known = state.reservations.get(&ptr).is_some_and(|reservation| reservation.size == size as u64);
    if !known || state.memory.overlaps(ptr, size as u64) {
        handles::refused_handle(&mut state, ptr);
        return Err(INVALID_VALUE);
    }
    state.reservations.remove(&ptr);
    handles::destroyed(&mut state, RESERVATION, ptr);
    Ok(())
}

/// Reads properties.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for contradictory properties, `CUDA_ERROR_INVALID_DEVICE` for an unknown device, and
/// `CUDA_ERROR_NOT_SUPPORTED` for managed memory, for handle types other than file descriptors, and for memory that
/// backs sparse arrays or is decompressed by hardware.
fn checked(state: &State, prop: In<'_, CUmemAllocationProp>) -> Result<CUmemAllocationProp, CUresult> {
    let prop = prop.read()?;
    let fits = match prop.location.kind {
        CU_MEM_LOCATION_TYPE_DEVICE => state.device(prop.location.id).map(|_| true)?,
        CU_MEM_LOCATION_TYPE_HOST => prop.requestedHandleTypes == CU_MEM_HANDLE_TYPE_NONE,
        // The simulated host has one NUMA node.
        CU_MEM_LOCATION_TYPE_HOST_NUMA => prop.location.id == 0,
        _ => false,
    };
    if !fits || !prop.win32HandleMetaData.is_null() {
        return Err(INVALID_VALUE);
    }
    match prop.kind {
        CU_MEM_ALLOCATION_TYPE_PINNED => {}
        CU_MEM_ALLOCATION_TYPE_MANAGED => return Err(CUresult::CUDA_ERROR_NOT_SUPPORTED),
        _ => return Err(INVALID_VALUE),
    }
    let all = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
        | CU_MEM_HANDLE_TYPE_WIN32
        | CU_MEM_HANDLE_TYPE_WIN32_KMT
        | CU_MEM_HANDLE_TYPE_FABRIC;
    match prop.requestedHandleTypes {
        CU_MEM_HANDLE_TYPE_NONE | CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR => {}
        types if types & !all == 0 => return Err(CUresult::CUDA_ERROR_NOT_SUPPORTED),
        _ => return Err(INVALID_VALUE),
    }
    if prop.usage & USAGES != 0 {
        return Err(CUresult::CUDA_ERROR_NOT_SUPPORTED);
    }
    Ok(prop)
}

/// Creates physical memory, which counts as used memory of its device.
pub(crate) fn cuMemCreate(
    call: &Call<'_>,
    handle: Out<'_, CUmemGenericAllocationHandle>,
    size: usize,
    prop: In<'_, CUmemAllocationProp>,
    flags: u64,
) -> Result<(), CUresult> {
    handle.present()?;
    if flags != 0 || !is_granular(size) {
        return Err(INVALID_VALUE);
    }
    let mut state = call.lock();
    let prop = checked(&state, prop)?;
    let new = crate::handle::fresh() as u64;
    let on_device = prop.location.kind == CU_MEM_LOCATION_TYPE_DEVICE;
    let (size, device) = (size as u64, if on_device { prop.location.id as usize } else { 0 });
    if on_device && !state.devices[device].arena.charge(size) {
        // Pending releases may make room.
        let contexts = state.contexts.iter().filter(|(_, context)| context.device == device);
        let contexts: Vec<CUcontext> = contexts.map(|(handle, _)| *handle).collect();
        state = drain::exhaust(call.driver, state, &contexts);
        if !state.devices[device].arena.charge(size) {
            return Err(CUresult::CUDA_ERROR_OUT_OF_MEMORY);
        }
    }
    let place = if on_device { state.devices[device].physical } else { 0 };
    let label = Label {
        size,
        origin: backing::origin(new),
        location: (prop.location.kind, place),
        handle_types: prop.requestedHandleTypes,
        rdma: prop.gpuDirectRDMACapable != 0,
        pool: false,
    };
    let Ok(backing) = Backing::new(label) else {
        if on_device {
            state.devices[device].arena.discharge(size);
        }
        return Err(CUresult::CUDA_ERROR_OUT_OF_MEMORY);
    };
    let location = CUmemLocation { kind: prop.location.kind, id: if on_device { prop.location.id } else { 0 } };
    let (mappings, charged) = (BTreeSet::new(), on_device);
    state.physical.insert(new, Physical { backing, location, references: 1, mappings, charged, written: false });
    handles::created(&mut state, HANDLE, new);
    handle.put(new)
}

/// The physical memory of a handle that the program has not released.
fn physical(state: &mut State, handle: CUmemGenericAllocationHandle) -> Result<&mut Physical, CUresult> {
    if state.physical.get(&handle).is_none_or(|physical| physical.references == 0) {
        handles::refused_handle(state, handle);
        return Err(INVALID_VALUE);
    }
    state.physical.get_mut(&handle).ok_or(INVALID_VALUE)
}

/// Releases one reference to physical memory. The memory stays while it is mapped.
pub(crate) fn cuMemRelease(call: &Call<'_>, handle: CUmemGenericAllocationHandle) -> Result<(), CUresult> {
    let mut state = call.lock();
    let physical = physical(&mut state, handle)?;
    physical.references -= 1;
    if physical.references == 0 {
        handles::destroyed(&mut state, HANDLE, handle);
        mappings::free_if_unused(&mut state, handle);
    }
    Ok(())
}

/// Maps physical memory from its first byte on. No device may access it yet.
pub(crate) fn cuMemMap(
    call: &Call<'_>,
    ptr: CUdeviceptr,
    size: usize,
    offset: usize,
    handle: CUmemGenericAllocationHandle,
    flags: u64,
) -> Result<(), CUresult> {
    let mut state = call.lock();
    let whole = physical(&mut state, handle)?.size();
    let bytes = size as u64;
    // By the manual, the offset must be 0 for now.
    if flags != 0 || offset != 0 || !is_granular(size) || bytes > whole || !ptr.is_multiple_of(GRANULARITY) {
        return Err(INVALID_VALUE);
    }
    let fits = |reservation: &Reservation| bytes <= reservation.size - (ptr - reservation.address);
    if !state.reservation_of(ptr).is_some_and(fits) || state.memory.overlaps(ptr, bytes) {
        return Err(INVALID_VALUE);
    }
    mappings::map(&mut state, ptr, bytes, handle)
}

/// The addresses of the mappings that make up a range, from end to end.
fn exactly(state: &State, ptr: CUdeviceptr, size: usize) -> Option<Vec<u64>> {
    let found = mappings::covering(state, ptr, size as u64).filter(|_| size > 0)?;
    let (first, last) = (found.first()?.0, found.last()?.0);
    let exact = first.address == ptr && last.address + last.size == ptr + size as u64;
    exact.then(|| found.iter().map(|(allocation, _)| allocation.address).collect())
}

/// Runs the work of all contexts, because each may reach mapped memory.
fn drained<'a>(call: &Call<'a>, state: Guard<'a>) -> Guard<'a> {
    let contexts: Vec<CUcontext> = state.contexts.keys().copied().collect();
    drain::exhaust(call.driver, state, &contexts)
}

/// Removes mappings, after the pending work.
pub(crate) fn cuMemUnmap(call: &Call<'_>, ptr: CUdeviceptr, size: usize) -> Result<(), CUresult> {
    let mut state = call.lock();
    if exactly(&state, ptr, size).is_none() {
        return memory::refused_release(state, ptr);
    }
    state = drained(call, state);
    // A host function of the pending work may have changed the mappings.
    let Some(addresses) = exactly(&state, ptr, size) else { return Err(INVALID_VALUE) };
    addresses.into_iter().for_each(|address| mappings::unmap(&mut state, address));
    Ok(())
}

/// Checks descriptions of access, and returns them with the number of a location of the host left out.
fn checked_access(state: &State, descriptions: Vec<CUmemAccessDesc>) -> Result<Vec<CUmemAccessDesc>, CUresult> {
    let checked = |CUmemAccessDesc { mut location, flags }| {
        if !matches!(
            flags,
            CU_MEM_ACCESS_FLAGS_PROT_NONE | CU_MEM_ACCESS_FLAGS_PROT_READ | CU_MEM_ACCESS_FLAGS_PROT_READWRITE
        ) {
            return Err(INVALID_VALUE);
        }
        match location.kind {
            CU_MEM_LOCATION_TYPE_DEVICE => drop(state.device(location.id)?),
            CU_MEM_LOCATION_TYPE_HOST | CU_MEM_LOCATION_TYPE_HOST_NUMA => location.id = 0,
            _ => return Err(INVALID_VALUE),
        }
        Ok(CUmemAccessDesc { location, flags })
    };
    descriptions.into_iter().map(checked).collect()
}

/// Sets the access of devices, and of the host to memory of the host, for whole mappings.
pub(crate) fn cuMemSetAccess(
    call: &Call<'_>,
    ptr: CUdeviceptr,
    size: usize,
    desc: In<'_, CUmemAccessDesc>,
    count: usize,
) -> Result<(), CUresult> {
    desc.present()?;
    if count == 0 {
        return Err(INVALID_VALUE);
    }
    let mut state = call.lock();
    // SAFETY: the manual gives the list this length.
    let descriptions = checked_access(&state, unsafe { desc.list(count)? })?;
    if exactly(&state, ptr, size).is_none() {
        // An end within a mapping is no access to unmapped memory.
        if mappings::covering(&state, ptr, size as u64).is_none() {
            races::refused(&mut state, cuarray_races::finding::AccessKind::Use, ptr, size as u64);
        }
        return Err(INVALID_VALUE);
    }
    let found = mappings::covering(&state, ptr, size as u64).unwrap_or_default();
    let mut reduces = false;
    for (_, mapping) in &found {
        let kind = state.physical.get(&mapping.handle).map(|physical| physical.location.kind);
        for CUmemAccessDesc { location, flags } in &descriptions {
            let before = match location.kind {
                CU_MEM_LOCATION_TYPE_DEVICE => mapping.access_of(location.id),
                CU_MEM_LOCATION_TYPE_HOST if mapping.on_host => mapping.host_access,
                other if Some(other) == kind => mapping.host_access,
                _ => return Err(INVALID_VALUE),
            };
            reduces |= *flags < before;
        }
    }
    if reduces {
        state = drained(call, state);
    }
    let host_readable = call.driver.settings().host_readable;
    for address in exactly(&state, ptr, size).ok_or(INVALID_VALUE)? {
        for CUmemAccessDesc { location, flags } in &descriptions {
            mappings::set_access(&mut state, address, *location, *flags, host_readable)?;
        }
    }
    Ok(())
}

pub(crate) fn cuMemGetAccess(
    call: &Call<'_>,
    flags: Out<'_, u64>,
    location: In<'_, CUmemLocation>,
    ptr: CUdeviceptr,
) -> Result<(), CUresult> {
    flags.present()?;
    let location = location.read()?;
    let state = call.lock();
    let found = mappings::covering(&state, ptr, 1).ok_or(INVALID_VALUE)?;
    let (_, mapping) = found.first().ok_or(INVALID_VALUE)?;
    let access = match location.kind {
        CU_MEM_LOCATION_TYPE_DEVICE => mapping.access_of(state.device(location.id)?.ordinal),
        CU_MEM_LOCATION_TYPE_HOST | CU_MEM_LOCATION_TYPE_HOST_NUMA => mapping.host_access,
        _ => return Err(INVALID_VALUE),
    };
    flags.put(access.into())
}

/// Exports physical memory as a file descriptor, which the program closes.
pub(crate) fn cuMemExportToShareableHandle(
    call: &Call<'_>,
    shareable_handle: Out<'_, c_void>,
    handle: CUmemGenericAllocationHandle,
    handle_type: CUmemAllocationHandleType,
    flags: u64,
) -> Result<(), CUresult> {
    shareable_handle.present()?;
    let mut state = call.lock();
    let physical = physical(&mut state, handle)?;
    let is_allowed = physical.backing.label.handle_types & handle_type != 0;
    if flags != 0 || !is_allowed || handle_type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR {
        return Err(INVALID_VALUE);
    }
    // The importer may write the memory unseen.
    physical.written = true;
    let file = physical.backing.export().map_err(|_| CUresult::CUDA_ERROR_OUT_OF_MEMORY)?;
    // SAFETY: by the manual, a handle of this type is an int.
    unsafe { shareable_handle.cast::<c_int>() }.put(file.into_raw_fd())
}

/// Imports physical memory. Memory that this process already knows keeps its handle.
pub(crate) fn cuMemImportFromShareableHandle(
    call: &Call<'_>,
    handle: Out<'_, CUmemGenericAllocationHandle>,
    os_handle: *mut c_void,
    handle_type: CUmemAllocationHandleType,
) -> Result<(), CUresult> {
    handle.present()?;
    match handle_type {
        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR => {}
        CU_MEM_HANDLE_TYPE_WIN32 | CU_MEM_HANDLE_TYPE_WIN32_KMT | CU_MEM_HANDLE_TYPE_FABRIC => return unsupported(),
        _ => return Err(INVALID_VALUE),
    }
    let descriptor = c_int::try_from(os_handle as usize).map_err(|_| INVALID_VALUE)?;
    let backing = Backing::open(descriptor).filter(|backing| !backing.label.pool).ok_or(INVALID_VALUE)?;
    let mut state = call.lock();
    let (kind, place) = backing.label.location;
    let id = match kind {
        CU_MEM_LOCATION_TYPE_DEVICE => {
            let device = state.devices.iter().find(|device| device.physical == place);
            device.ok_or(CUresult::CUDA_ERROR_NOT_SUPPORTED)?.ordinal
        }
        _ => 0,
    };
    let known = state.physical.iter().find(|(_, known)| known.backing.label.origin == backing.label.origin);
    let known = known.map(|(known, _)| *known);
    let new = known.unwrap_or_else(|| crate::handle::fresh() as u64);
    let location = CUmemLocation { kind, id };
    let (mappings, charged) = (BTreeSet::new(), false);
    let physical = state.physical.entry(new).or_insert(Physical {
        backing,
        location,
        references: 0,
        mappings,
        charged,
        written: true,
    });
    physical.references += 1;
    if physical.references == 1 {
        handles::revived(&mut state, HANDLE, new);
    }
    handle.put(new)
}

/// Returns one granularity for every kind of memory: 2 MiB.
pub(crate) fn cuMemGetAllocationGranularity(
    call: &Call<'_>,
    granularity: Out<'_, usize>,
    prop: In<'_, CUmemAllocationProp>,
    option: CUmemAllocationGranularity_flags,
) -> Result<(), CUresult> {
    granularity.present()?;
    if !matches!(option, CU_MEM_ALLOC_GRANULARITY_MINIMUM | CU_MEM_ALLOC_GRANULARITY_RECOMMENDED) {
        return Err(INVALID_VALUE);
    }
    checked(&call.lock(), prop)?;
    granularity.put(GRANULARITY as usize)
}

pub(crate) fn cuMemGetAllocationPropertiesFromHandle(
    call: &Call<'_>,
    prop: Out<'_, CUmemAllocationProp>,
    handle: CUmemGenericAllocationHandle,
) -> Result<(), CUresult> {
    prop.present()?;
    let mut state = call.lock();
    let Physical { backing, location, .. } = physical(&mut state, handle)?;
    let value = CUmemAllocationProp {
        kind: CU_MEM_ALLOCATION_TYPE_PINNED,
        requestedHandleTypes: backing.label.handle_types,
        location: *location,
        win32HandleMetaData: std::ptr::null_mut(),
        compressionType: 0,
        gpuDirectRDMACapable: backing.label.rdma.into(),
        usage: 0,
        reserved: [0; 4],
    };
    prop.put(value)
}

/// Returns the handle of the memory that is mapped at an address, even if the program has released it.
pub(crate) fn cuMemRetainAllocationHandle(
    call: &Call<'_>,
    handle: Out<'_, CUmemGenericAllocationHandle>,
    addr: *mut c_void,
) -> Result<(), CUresult> {
    handle.present()?;
    let mut state = call.lock();
    let found = mappings::covering(&state, addr as u64, 1).ok_or(INVALID_VALUE)?;
    let own = found.first().ok_or(INVALID_VALUE)?.1.handle;
    let physical = state.physical.get_mut(&own).ok_or(INVALID_VALUE)?;
    physical.references += 1;
    if physical.references == 1 {
        handles::revived(&mut state, HANDLE, own);
    }
    handle.put(own)
}
