//! Nodes that capturing streams add to their graph.

use super::{captures, recapture};
use crate::graph_structure::{self, reservations};
use crate::objects::capturing::Capturing;
use crate::objects::graph_data::{Action, AllocateNode, Edge};
use crate::objects::launch::Launch;
use crate::state::State;
use cuarray_abi::*;
use std::sync::Arc;

/// Captures work if the stream captures; otherwise returns `false`, and the caller enqueues the work.
///
/// # Errors
/// As [`captures`].
pub(crate) fn capture(state: &mut State, stream: CUstream, action: impl FnOnce() -> Action) -> Result<bool, CUresult> {
    if !captures(state, stream)? {
        return Ok(false);
    }
    capture_node(state, stream, action())?;
    Ok(true)
}

/// Captures a launch if the stream captures; a dependent one gets a programmatic edge from the launch before it.
///
/// # Errors
/// As [`captures`].
pub(crate) fn capture_launch(state: &mut State, stream: CUstream, launch: &mut Arc<Launch>) -> Result<bool, CUresult> {
    if !captures(state, stream)? {
        return Ok(false);
    }
    let Some(found) = state.streams.get_mut(&stream) else { return Ok(false) };
    let dependent = std::mem::take(&mut Arc::make_mut(launch).dependent);
    Arc::make_mut(launch).inherit_priority(found.priority);
    if let Some(Capturing { after, launch: Some(last), .. }) = &mut found.capturing
        && dependent
        && *after == [Edge::full(*last)]
    {
        *after = vec![Edge::programmatic(*last)];
    }
    capture_node(state, stream, Action::Launch(launch.clone()))?;
    Ok(true)
}

/// Appends a node to a capturing stream.
pub(crate) fn capture_node(state: &mut State, stream: CUstream, action: Action) -> Result<CUgraphNode, CUresult> {
    if recapture::is_recapturing(state, stream) {
        return recapture::node(state, stream, action);
    }
    let is_launch = matches!(action, Action::Launch(_));
    append(state, stream, is_launch, |state, graph, after| graph_structure::add_node(state, graph, after, action))
}

/// Appends a node to a capturing stream, which `add` adds to the graph after the stream's dependencies.
fn append(
    state: &mut State,
    stream: CUstream,
    is_launch: bool,
    add: impl FnOnce(&mut State, CUgraph, Vec<Edge>) -> Result<CUgraphNode, CUresult>,
) -> Result<CUgraphNode, CUresult> {
    let unknown = CUresult::CUDA_ERROR_ILLEGAL_STATE;
    let capturing = state.streams.get(&stream).and_then(|stream| stream.capturing.as_ref()).ok_or(unknown)?;
    let graph = state.captures.get(&capturing.id).ok_or(unknown)?.graph;
    let node = add(state, graph, capturing.after.clone())?;
    if let Some(capturing) = state.streams.get_mut(&stream).and_then(|stream| stream.capturing.as_mut()) {
        capturing.follow(node, is_launch);
    }
    Ok(node)
}

/// Captures an allocation from a pool as graph memory with the pool's properties. Zero bytes have no address and no
/// node.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for an invalid pool, and for a pool of another process; `CUDA_ERROR_OUT_OF_MEMORY`.
pub(crate) fn capture_allocation(
    state: &mut State,
    stream: CUstream,
    pool: CUmemoryPool,
    size: u64,
) -> Result<u64, CUresult> {
    let pool = state.pool(pool)?;
    if size == 0 {
        return Ok(0);
    }
    // The node has the properties of the pool, by the manual of `cuMemAllocAsync`.
    let (place, access) = (pool.place, pool.access.clone());
    if pool.imported.is_some() {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    let props = CUmemPoolProps {
        allocType: place.allocation_type(),
        handleTypes: CU_MEM_HANDLE_TYPE_NONE,
        location: place.location,
        win32SecurityAttributes: std::ptr::null_mut(),
        maxSize: 0,
        usage: 0,
        reserved: [0; 54],
    };
    let node = AllocateNode::new(props, &access, size);
    if recapture::is_recapturing(state, stream) {
        return recapture::allocation(state, stream, &node);
    }
    let mut address = 0;
    append(state, stream, false, |state, graph, after| {
        let (node, of_node) = reservations::add_allocation(state, graph, after, node)?;
        address = of_node;
        Ok(node)
    })?;
    Ok(address)
}

/// Captures a release, which must be of graph memory.
pub(crate) fn capture_release(state: &mut State, stream: CUstream, address: u64) -> Result<(), CUresult> {
    if recapture::is_recapturing(state, stream) {
        return recapture::release(state, stream, address);
    }
    append(state, stream, false, |state, graph, after| reservations::add_free(state, graph, after, address)).map(|_| ())
}
