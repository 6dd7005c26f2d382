//! The state of graph memory: its users, and whether a launch has made it live.
//!
//! Graph memory of the host keeps its pages while its address is reserved. They are closed to the host whenever the
//! memory is not live, so that a host access before the launch or after the release is found.

use crate::memory::new_allocation;
use crate::objects::allocation::{DeviceAccess, GraphBytes, Kind};
use crate::objects::graph_data::GraphMemory;
use crate::objects::pool::Place;
use crate::pages::host_pages::HostPages;
use crate::state::State;
use cuarray_abi::*;

/// Reserves an address at a place for an allocation node of a graph, and returns it. No launch has made it live yet.
///
/// # Errors
/// `CUDA_ERROR_OUT_OF_MEMORY`.
pub(crate) fn reserve(
    state: &mut State,
    graph: CUgraph,
    place: Place,
    size: u64,
    access: DeviceAccess,
) -> Result<u64, CUresult> {
    const NO_MEMORY: CUresult = CUresult::CUDA_ERROR_OUT_OF_MEMORY;
    let (address, taken, bytes) = match place.device() {
        Some(device) => {
            let taken = state.devices.get_mut(device).and_then(|device| device.arena.take(size));
            let (address, taken) = taken.ok_or(NO_MEMORY)?;
            (address, taken, GraphBytes::Device)
        }
        None => {
            let pages = HostPages::new(size, state.host_access.on()).ok_or(NO_MEMORY)?;
            let address = pages.address();
            (address, size, if place.managed { GraphBytes::Managed(pages) } else { GraphBytes::Pinned(pages) })
        }
    };
    let device = if place.location.kind == CU_MEM_LOCATION_TYPE_DEVICE { place.location.id as usize } else { 0 };
    let kind = Kind::Graph { graph, freed_by: None, users: 1, access, bytes };
    new_allocation::add(state, (address, size, taken), kind, CUcontext::NULL, device);
    if let Some(allocation) = state.memory.get_mut(address) {
        allocation.freed = true;
        allocation.advice.preferred = place.preferred();
    }
    state.host_access.shut(address, true);
    Ok(address)
}

/// Marks memory as freed before its release is enqueued, so that no new work may use it. Graph memory is in use until then.
pub(crate) fn mark_freed(state: &mut State, address: u64) {
    let Some(allocation) = state.memory.get_mut(address) else { return };
    let was_live = !std::mem::replace(&mut allocation.freed, true);
    if let Some((memory, size)) = account_of(state, address).filter(|_| was_live) {
        memory.live = memory.live.saturating_sub(size);
    }
}

/// Makes graph memory live at a launch, from which on the device counts it as in use.
pub(crate) fn make_live(state: &mut State, address: u64) {
    retain(state, address);
    let Some(allocation) = state.memory.get_mut(address) else { return };
    allocation.freed = false;
    if let Some((memory, size)) = account_of(state, address) {
        memory.hold(size);
    }
}

/// Adds a user of graph memory: an executable graph, or a launch that made it live.
pub(crate) fn retain(state: &mut State, address: u64) {
    if let Some(Kind::Graph { users, .. }) = state.memory.get_mut(address).map(|allocation| &mut allocation.kind) {
        *users += 1;
    }
}

/// Removes a user of graph memory; without users the address is freed.
pub(crate) fn release(state: &mut State, address: u64) {
    let Some(allocation) = state.memory.get_mut(address) else { return };
    let Kind::Graph { users, .. } = &mut allocation.kind else { return };
    *users = users.saturating_sub(1);
    if *users == 0 {
        let (taken, device, on_device) = (allocation.taken, allocation.device, allocation.kind.on_device());
        // The pages are freed with the allocation. Before that, the host must be able to access them again.
        state.host_access.remove(address);
        state.memory.remove(address);
        if let Some(device) = state.devices.get_mut(device).filter(|_| on_device) {
            device.arena.release(address, taken);
        }
    }
}

/// Whether a launch has allocated graph memory that was not released since.
pub(crate) fn is_live(state: &State, address: u64) -> bool {
    state.memory.starting_at(address).is_some_and(|allocation| !allocation.freed)
}

/// The count of a device's graph memory to which an allocation belongs, and its size.
fn account_of(state: &mut State, address: u64) -> Option<(&mut GraphMemory, u64)> {
    let allocation = state.memory.starting_at(address)?;
    let (device, size) = (allocation.device, allocation.taken);
    // Host memory belongs to no device.
    if !matches!(allocation.kind, Kind::Graph { .. }) || !allocation.kind.on_device() {
        return None;
    }
    Some((&mut state.devices.get_mut(device)?.graph_memory, size))
}
