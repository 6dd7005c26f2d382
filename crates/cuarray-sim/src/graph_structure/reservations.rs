//! Graph memory: allocations whose address belongs to a graph, and whose bytes exist from launch to release.
//!
//! An allocation node reserves its address when it is added; pointer queries do not find the address before a launch.
//! A launch makes the memory live from its node on. The memory ends with a free node of the same or another graph, or
//! with a stream-ordered release after the launch. Then the address stays reserved for the next launch, until the
//! graph and its executable graph are destroyed.
//!
//! Driver API: [`cuGraphAddMemAllocNode`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__GRAPH.html).

use super::add_node;
use crate::memory::{graph_memory, places};
use crate::objects::allocation::{DeviceAccess, Kind};
use crate::objects::graph_data::{Action, AllocateNode, Edge, INVALID_VALUE};
use crate::objects::pool::Place;
use crate::state::State;
use cuarray_abi::*;

/// Adds an allocation node after others, and reserves its memory. Returns the node and the address.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for zero bytes, for [properties](place_of) that no pool can have, for handle types, and for
/// access that takes away what a device has anyway; `CUDA_ERROR_NOT_SUPPORTED` for a part of a device's memory;
/// `CUDA_ERROR_OUT_OF_MEMORY`. Also those of [`add_node`].
pub(crate) fn add_allocation(
    state: &mut State,
    graph: CUgraph,
    after: Vec<Edge>,
    mut node: AllocateNode,
) -> Result<(CUgraphNode, u64), CUresult> {
    let address = reserve(state, graph, &node.props.0, node.size, node.device_access())?;
    node.address = address;
    let added = add_node(state, graph, after, Action::Allocate(Box::new(node)));
    added.map(|node| (node, address)).inspect_err(|_| graph_memory::release(state, address))
}

/// Reserves memory for an allocation node of a graph, accessible from the devices in `access` and from its own device, or
/// from all of them if it is managed. Returns its address.
fn reserve(
    state: &mut State,
    graph: CUgraph,
    props: &CUmemPoolProps,
    size: u64,
    access: DeviceAccess,
) -> Result<u64, CUresult> {
    let place = place_of(state, props)?;
    let closes = |(device, flags): (&CUdevice, &CUmemAccess_flags)| {
        place.is_open_to(*device) && *flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE
    };
    if size == 0 || props.handleTypes != CU_MEM_HANDLE_TYPE_NONE || access.iter().any(closes) {
        return Err(INVALID_VALUE);
    }
    graph_memory::reserve(state, graph, place, size, access)
}

/// The place of memory with these properties, which follow the rules of `cuMemPoolCreate`.
fn place_of(state: &State, props: &CUmemPoolProps) -> Result<Place, CUresult> {
    let place = places::place(state, props.location, props.allocType).map_err(|code| match code {
        CUresult::CUDA_ERROR_INVALID_DEVICE => INVALID_VALUE,
        code => code,
    })?;
    if place.managed && (props.maxSize != 0 || props.usage != 0) {
        return Err(INVALID_VALUE);
    }
    Ok(place)
}

/// Adds a free node after others, for the memory of an allocation node.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for an address that no allocation node returned, and for memory that already has a
/// free node, in this graph or in the only other graph that may free it. Also those of [`add_node`].
pub(crate) fn add_free(
    state: &mut State,
    graph: CUgraph,
    after: Vec<Edge>,
    address: u64,
) -> Result<CUgraphNode, CUresult> {
    let (owner, freed_by) = owner(state, address)?;
    match *freed_by {
        Some(other) if other == graph || other == owner || graph == owner => return Err(INVALID_VALUE),
        _ => {}
    }
    let node = add_node(state, graph, after, Action::Free(address))?;
    *self::owner(state, address)?.1 = Some(graph);
    Ok(node)
}

/// The graph that allocates memory, and the graph whose free node releases it.
fn owner(state: &mut State, address: u64) -> Result<(CUgraph, &mut Option<CUgraph>), CUresult> {
    match state.memory.get_mut(address).map(|allocation| &mut allocation.kind) {
        Some(Kind::Graph { graph, freed_by, .. }) => Ok((*graph, freed_by)),
        _ => Err(INVALID_VALUE),
    }
}

/// The addresses that the executable graph of a graph allocates.
pub(crate) fn allocations_of(state: &State, graph: CUgraph) -> Vec<u64> {
    let nodes = state.graphs.get(&graph).map(|graph| graph.nodes.as_slice()).unwrap_or_default();
    let mut addresses = Vec::new();
    for node in nodes.iter().filter_map(|node| state.graph_nodes.get(node)) {
        match &node.action {
            Action::Allocate(node) => addresses.push(node.address),
            Action::Child(child) => addresses.extend(allocations_of(state, *child)),
            _ => {}
        }
    }
    addresses
}
