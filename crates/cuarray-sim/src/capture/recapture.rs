//! Captures that repeat the capture of their graph, for new parameters.
//!
//! Each captured node must be the next one of the graph: of its kind, with its edges. A node of memory must have the same
//! parameters too. Another node with other parameters is reported to the program, which may accept them; the graph gets them
//! then.
//!
//! Driver API: `cuStreamBeginRecaptureToGraph` in [stream
//! management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html).

use super::capture_of;
use crate::graph_structure::{self, changes};
use crate::objects::capturing::{Capture, Recaptured};
use crate::objects::graph_data::{Action, AllocateNode, Edge};
use crate::state::State;
use cuarray_abi::*;
use std::sync::atomic::Ordering;

const FAILURE: CUresult = CUresult::CUDA_ERROR_GRAPH_RECAPTURE_FAILURE;

/// Whether a stream captures its graph again.
pub(super) fn is_recapturing(state: &State, stream: CUstream) -> bool {
    let capture = capture_of(state, stream).and_then(|id| state.captures.get(&id));
    capture.is_some_and(|capture| capture.recapture.is_some())
}

/// Whether a capture has captured all nodes of its graph again, if it must.
pub(super) fn is_complete(state: &State, capture: &Capture) -> bool {
    let nodes = state.graphs.get(&capture.graph).map_or(0, |graph| graph.nodes.len());
    capture.recapture.is_none_or(|recapture| recapture.done == nodes)
}

/// Ends a recapture that has failed. Its graph is in an undefined state, by the manual.
pub(crate) fn fail(state: &mut State, capture: u64) -> CUresult {
    if let Some(capture) = state.captures.get_mut(&capture) {
        capture.invalidated = true;
    }
    FAILURE
}

/// The next node of the graph, if the node that a stream captures has its kind and its edges.
fn next(state: &State, stream: CUstream, kind: CUgraphNodeType) -> Option<CUgraphNode> {
    let capturing = state.streams.get(&stream)?.capturing.as_ref()?;
    let capture = state.captures.get(&capturing.id)?;
    let handle = *state.graphs.get(&capture.graph)?.nodes.get(capture.recapture?.done)?;
    let node = state.graph_nodes.get(&handle)?;
    let has = |edge: &Edge| node.after.contains(edge);
    let same_edges = node.after.len() == capturing.after.len() && capturing.after.iter().all(has);
    (node.action.kind() == kind && same_edges).then_some(handle)
}

/// Moves a stream's capture behind a node.
fn advance(state: &mut State, stream: CUstream, node: CUgraphNode, is_launch: bool) {
    let Some(capturing) = state.streams.get_mut(&stream).and_then(|stream| stream.capturing.as_mut()) else { return };
    capturing.follow(node, is_launch);
    let id = capturing.id;
    if let Some(recapture) = state.captures.get_mut(&id).and_then(|capture| capture.recapture.as_mut()) {
        recapture.done += 1;
    }
}

/// Captures a node again that neither allocates nor frees memory.
///
/// # Errors
/// `CUDA_ERROR_GRAPH_RECAPTURE_FAILURE` if the graph's next node has another kind or other edges.
pub(super) fn node(state: &mut State, stream: CUstream, action: Action) -> Result<CUgraphNode, CUresult> {
    let id = capture_of(state, stream).ok_or(CUresult::CUDA_ERROR_ILLEGAL_STATE)?;
    let progress = state.captures.get(&id).and_then(|capture| capture.recapture);
    let progress = progress.ok_or(CUresult::CUDA_ERROR_ILLEGAL_STATE)?;
    let Some(node) = next(state, stream, action.kind()) else { return Err(fail(state, id)) };
    let is_launch = matches!(action, Action::Launch(_));
    let old = &state.node(node)?.action;
    if changes::are_same(state, old, &action) {
        if let Action::Child(child) = action {
            graph_structure::remove_graph(state, child);
        }
    } else {
        let status = match changes::may_become(state, old, &action) {
            Ok(()) => CU_GRAPH_RECAPTURE_ELIGIBLE_FOR_UPDATE,
            Err(_) => CU_GRAPH_RECAPTURE_INELIGIBLE_FOR_UPDATE,
        };
        state.recaptured.push(Recaptured { capture: id, node, action, status, progress });
        state.has_recaptured.store(true, Ordering::Relaxed);
    }
    advance(state, stream, node, is_launch);
    Ok(node)
}

/// Captures an allocation again; returns its address.
///
/// # Errors
/// `CUDA_ERROR_GRAPH_RECAPTURE_FAILURE` if the graph's next node is no allocation with these parameters and edges.
pub(super) fn allocation(state: &mut State, stream: CUstream, new: &AllocateNode) -> Result<u64, CUresult> {
    let id = capture_of(state, stream).ok_or(CUresult::CUDA_ERROR_ILLEGAL_STATE)?;
    let node = next(state, stream, CU_GRAPH_NODE_TYPE_MEM_ALLOC);
    let address = node.and_then(|node| match &state.graph_nodes.get(&node)?.action {
        Action::Allocate(old) if old.allocates_like(new) => Some((node, old.address)),
        _ => None,
    });
    let Some((node, address)) = address else { return Err(fail(state, id)) };
    advance(state, stream, node, false);
    Ok(address)
}

/// Captures a release again.
///
/// # Errors
/// `CUDA_ERROR_GRAPH_RECAPTURE_FAILURE` if the graph's next node is no release of this memory with these edges.
pub(super) fn release(state: &mut State, stream: CUstream, address: u64) -> Result<(), CUresult> {
    let id = capture_of(state, stream).ok_or(CUresult::CUDA_ERROR_ILLEGAL_STATE)?;
    let node = next(state, stream, CU_GRAPH_NODE_TYPE_MEM_FREE);
    let is_same = |node: &CUgraphNode| matches!(state.graph_nodes.get(node).map(|node| &node.action), Some(Action::Free(freed)) if *freed == address);
    let Some(node) = node.filter(is_same) else { return Err(fail(state, id)) };
    advance(state, stream, node, false);
    Ok(())
}
