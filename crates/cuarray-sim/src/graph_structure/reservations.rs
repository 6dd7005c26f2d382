//! Graph memory: allocations whose address belongs to a graph, and whose bytes exist from launch to release.
//!
//! An allocation node reserves its address when it is added; pointer queries do not find the address before a launch.
//! A launch makes the memory live from its node on. The memory ends with a free node of the same or another graph, or
//! with a stream-ordered release after the launch. Then the address stays reserved for the next launch, until the
//! graph and its executable graph are destroyed.
//!
//! Driver API: [`cuGraphAddMemAllocNode`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__GRAPH.html).

use crate::objects::allocation::{DeviceAccess, Kind};
use crate::objects::graph_data::{Action, INVALID_VALUE};
use crate::state::State;
use crate::work::{allocations, graph_memory};
use cuarray_abi::*;

/// Reserves memory for an allocation node of `graph`, accessible from its device and from those in `access`. Returns
/// its address.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for zero bytes, `CUDA_ERROR_NOT_SUPPORTED` for memory that is not on a device, and
/// `CUDA_ERROR_OUT_OF_MEMORY`.
pub(crate) fn reserve_graph_memory(
    state: &mut State,
    graph: CUgraph,
    props: &CUmemPoolProps,
    size: u64,
    access: DeviceAccess,
) -> Result<u64, CUresult> {
    match (props.allocType, props.location.kind) {
        (CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_LOCATION_TYPE_DEVICE) => {}
        (CU_MEM_ALLOCATION_TYPE_PINNED | CU_MEM_ALLOCATION_TYPE_MANAGED, 1..=4) => {
            return Err(CUresult::CUDA_ERROR_NOT_SUPPORTED);
        }
        _ => return Err(INVALID_VALUE),
    }
    if size == 0 || props.handleTypes != CU_MEM_HANDLE_TYPE_NONE {
        return Err(INVALID_VALUE);
    }
    let device = state.device(props.location.id).map_err(|_| INVALID_VALUE)?.ordinal as usize;
    let taken = state.devices.get_mut(device).and_then(|device| device.arena.take(size));
    let (address, taken) = taken.ok_or(CUresult::CUDA_ERROR_OUT_OF_MEMORY)?;
    let kind = Kind::Graph { graph, freed_by: None, users: 1, access };
    allocations::add(state, (address, size, taken), kind, CUcontext::NULL, device);
    if let Some(allocation) = state.memory.get_mut(address) {
        allocation.freed = true;
    }
    Ok(address)
}

/// Undoes [`reserve_graph_memory`] for a node that was refused.
pub(crate) fn unreserve(state: &mut State, address: u64) {
    graph_memory::release(state, address);
}

/// Checks that a free node for `address` may be added to `graph`, and records it. Returns the graph of the free node so far, for
/// [`restore_free`].
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for an address that no allocation node returned, and for memory that already has a
/// free node, in this graph or in the only other graph that may free it.
pub(crate) fn claim_free(state: &mut State, graph: CUgraph, address: u64) -> Result<Option<CUgraph>, CUresult> {
    match state.memory.get_mut(address).map(|allocation| &mut allocation.kind) {
        Some(Kind::Graph { graph: owner, freed_by, .. }) => match *freed_by {
            Some(other) if other == graph || other == *owner || graph == *owner => Err(INVALID_VALUE),
            _ => Ok(freed_by.replace(graph)),
        },
        _ => Err(INVALID_VALUE),
    }
}

/// Undoes [`claim_free`] for a node that was refused.
pub(crate) fn restore_free(state: &mut State, address: u64, before: Option<CUgraph>) {
    if let Some(Kind::Graph { freed_by, .. }) = state.memory.get_mut(address).map(|allocation| &mut allocation.kind) {
        *freed_by = before;
    }
}

/// The addresses that the executable graph of a graph allocates.
pub(crate) fn allocations_of(state: &State, graph: CUgraph) -> Vec<u64> {
    let nodes = state.graphs.get(&graph).map(|graph| graph.nodes.as_slice()).unwrap_or_default();
    let mut addresses = Vec::new();
    for node in nodes.iter().filter_map(|node| state.graph_nodes.get(node)) {
        match &node.action {
            Action::Allocate(params) => addresses.push(params.0.dptr),
            Action::Child(child) => addresses.extend(allocations_of(state, *child)),
            _ => {}
        }
    }
    addresses
}
