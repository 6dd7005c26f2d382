//! Physical memory at reserved addresses: mapping, access rights, and removal.
//!
//! Memory that is mapped side by side in one reservation is contiguous: an access may span several mappings.

use crate::memory::{new_allocation, races};
use crate::objects::allocation::{Allocation, Declared, DeviceAccess, Kind, Mapping, Side};
use crate::pages::reservation::HostAccess;
use crate::state::State;
use cuarray_abi::*;
use cuarray_races::finding::AccessKind;

/// The mappings that hold `length` bytes at `address`; `None` if a byte is not mapped in the reservation.
pub(crate) fn covering(state: &State, address: u64, length: u64) -> Option<Vec<(&Allocation, &Mapping)>> {
    let reservation = state.reservation_of(address)?;
    let end = address.checked_add(length)?;
    let first = state.memory.holding(address)?.address;
    let (mut reached, mut found) = (first, Vec::new());
    for allocation in state.memory.from(first) {
        let Kind::Mapped(mapping) = &allocation.kind else { break };
        if allocation.address != reached || mapping.reservation != reservation.address {
            break;
        }
        reached += allocation.size;
        found.push((allocation, mapping));
        if reached >= end {
            return Some(found);
        }
    }
    None
}

/// The access that a copy or fill needs.
pub(crate) fn needed(access: AccessKind) -> CUmemAccess_flags {
    match access {
        AccessKind::Read => CU_MEM_ACCESS_FLAGS_PROT_READ,
        _ => CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
    }
}

/// Checks an access of a copy or fill to mapped memory, for whichever device has the most rights; see [`is_open_to`].
pub(crate) fn side(
    state: &State,
    address: u64,
    length: u64,
    declared: Declared,
    access: AccessKind,
) -> Result<Side, CUresult> {
    const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;
    let mappings = covering(state, address, length).ok_or(INVALID)?;
    let most = |mapping: &Mapping| mapping.access.values().copied().chain([mapping.host_access]).max();
    if mappings.iter().any(|(_, mapping)| most(mapping) < Some(needed(access))) {
        return Err(INVALID);
    }
    match mappings.iter().all(|(_, mapping)| mapping.on_host) {
        true => Ok(Side::Pinned),
        false if declared == Declared::Host => Err(INVALID),
        false => Ok(Side::Device),
    }
}

/// Whether a copy or fill of a context may access memory, as far as mappings decide it.
///
/// A copy between devices is staged: the device of the memory may access it on behalf of the other one.
pub(crate) fn is_open_to(state: &State, context: CUcontext, address: u64, length: u64, access: AccessKind) -> bool {
    let Some(mappings) = covering(state, address, length) else { return true };
    let device = state.contexts.get(&context).map_or(CU_DEVICE_INVALID, |context| context.device as CUdevice);
    mappings.iter().all(|(allocation, mapping)| {
        let home = if mapping.on_host { mapping.host_access } else { mapping.access_of(allocation.device as CUdevice) };
        mapping.access_of(device).max(home) >= needed(access)
    })
}

/// Maps the first `size` bytes of physical memory at an address of a reservation.
///
/// # Errors
/// `CUDA_ERROR_OUT_OF_MEMORY` if the system refuses the pages.
pub(crate) fn map(
    state: &mut State,
    address: u64,
    size: u64,
    handle: CUmemGenericAllocationHandle,
) -> Result<(), CUresult> {
    const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;
    let reservation = state.reservation_of(address).ok_or(INVALID)?;
    let physical = state.physical.get(&handle).ok_or(INVALID)?;
    reservation.map(address, size, &physical.backing).map_err(|_| CUresult::CUDA_ERROR_OUT_OF_MEMORY)?;
    let mapping = Mapping {
        reservation: reservation.address,
        handle,
        on_host: physical.on_host(),
        shadow: reservation.shadow_of(address),
        access: DeviceAccess::new(),
        host_access: CU_MEM_ACCESS_FLAGS_PROT_NONE,
    };
    let device = physical.device();
    new_allocation::add(state, (address, size, size), Kind::Mapped(mapping), CUcontext::NULL, device);
    races::mapped(state, address, handle);
    if let Some(physical) = state.physical.get_mut(&handle) {
        physical.mappings.insert(address);
        physical.written = true;
    }
    Ok(())
}

/// Removes a mapping that no pending work uses.
pub(crate) fn unmap(state: &mut State, address: u64) {
    races::released(state, address);
    let Some(allocation) = state.memory.remove(address) else { return };
    let Kind::Mapped(mapping) = &allocation.kind else { return };
    if let Some(reservation) = state.reservation_of(address) {
        reservation.unmap(address, allocation.size);
    }
    if let Some(physical) = state.physical.get_mut(&mapping.handle) {
        physical.mappings.remove(&address);
    }
    free_if_unused(state, mapping.handle);
}

/// Frees physical memory without handles and mappings.
pub(crate) fn free_if_unused(state: &mut State, handle: CUmemGenericAllocationHandle) {
    let unused =
        |physical: &crate::objects::physical::Physical| physical.references == 0 && physical.mappings.is_empty();
    if !state.physical.get(&handle).is_some_and(unused) {
        return;
    }
    let Some(physical) = state.physical.remove(&handle) else { return };
    if physical.charged
        && let Some(device) = state.devices.get_mut(physical.device())
    {
        device.arena.discharge(physical.size());
    }
}

/// Sets the access of a location to a mapping.
///
/// # Errors
/// `CUDA_ERROR_OUT_OF_MEMORY` if the system refuses the pages.
pub(crate) fn set_access(
    state: &mut State,
    address: u64,
    location: CUmemLocation,
    flags: CUmemAccess_flags,
    host_readable: bool,
) -> Result<(), CUresult> {
    let Some(Allocation { size, kind: Kind::Mapped(mapping), .. }) = state.memory.get_mut(address) else {
        return Ok(());
    };
    if location.kind == CU_MEM_LOCATION_TYPE_DEVICE {
        mapping.access.insert(location.id, flags);
    } else {
        mapping.host_access = flags;
    }
    let access = match mapping.host_access {
        _ if host_readable && !mapping.on_host => HostAccess::ReadWrite,
        CU_MEM_ACCESS_FLAGS_PROT_READ => HostAccess::Read,
        CU_MEM_ACCESS_FLAGS_PROT_READWRITE => HostAccess::ReadWrite,
        _ => HostAccess::None,
    };
    let (size, handle) = (*size, mapping.handle);
    if let (Some(reservation), Some(physical)) = (state.reservation_of(address), state.physical.get(&handle)) {
        let opened = reservation.open(address, size, &physical.backing, access);
        opened.map_err(|_| CUresult::CUDA_ERROR_OUT_OF_MEMORY)?;
    }
    Ok(())
}
