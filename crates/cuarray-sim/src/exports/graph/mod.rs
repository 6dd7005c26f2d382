//! Whole graphs: creation and destruction, the list of nodes, and their parts.
//!
//! Driver API: [graph management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__GRAPH.html).

mod edges;
mod user_objects;

pub(super) use edges::*;
pub(super) use user_objects::*;

use super::{present, put, unsupported};
use crate::driver::Call;
use crate::execution::outside;
use crate::graph_structure::{self, conditions, dot};
use crate::objects::graph_data::{Action, Edge, Graph, Owner};
use crate::state::State;
use cuarray_abi::*;
use std::ffi::{CStr, OsStr, c_char, c_uint};
use std::os::unix::ffi::OsStrExt;

const INVALID_VALUE: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

/// Reads an array of the program.
///
/// # Safety
/// `entries` is null or points to `count` entries.
pub(super) unsafe fn list<T: Copy>(entries: *const T, count: usize) -> Result<Vec<T>, CUresult> {
    if count == 0 {
        return Ok(Vec::new());
    }
    present(entries)?;
    // SAFETY: by this function's contract; entries may be unaligned.
    Ok((0..count).map(|index| unsafe { entries.add(index).read_unaligned() }).collect())
}

/// Reads edges; without data they are full dependencies.
///
/// # Safety
/// Both pointers are null or point to `count` entries.
pub(super) unsafe fn edge_list(
    from: *const CUgraphNode,
    data: *const CUgraphEdgeData,
    count: usize,
) -> Result<Vec<Edge>, CUresult> {
    // SAFETY: both functions have the same contract.
    let from = unsafe { list(from, count)? };
    if data.is_null() {
        return Ok(from.into_iter().map(Edge::full).collect());
    }
    // SAFETY: both functions have the same contract.
    let data = unsafe { list(data, count)? };
    Ok(from.into_iter().zip(data).map(|(from, data)| Edge { from, data }).collect())
}

/// Returns a list as the manual defines: only its length if there is no array. Otherwise it fills the array, pads it
/// with `nothing`, and returns the number of entries written.
///
/// # Safety
/// `count` is null or readable and writable; `array` is null or has room for `*count` entries.
unsafe fn write_list<T: Copy>(entries: &[T], nothing: T, array: *mut T, count: *mut usize) -> Result<(), CUresult> {
    present(count)?;
    // SAFETY: by this function's contract.
    unsafe {
        if array.is_null() {
            return put(count, entries.len());
        }
        let room = count.read_unaligned();
        for index in 0..room {
            put(array.add(index), entries.get(index).copied().unwrap_or(nothing))?;
        }
        put(count, room.min(entries.len()))
    }
}

pub(super) unsafe fn cuGraphCreate(call: &Call<'_>, p_graph: *mut CUgraph, flags: c_uint) -> Result<(), CUresult> {
    present(p_graph)?;
    if flags != 0 {
        return Err(INVALID_VALUE);
    }
    let graph = graph_structure::new_graph(&mut call.lock(), Owner::Program);
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(p_graph, graph) }
}

/// Checks that the program may change a graph: it is neither a child graph nor the target of a capture.
fn check_owned(graph: &Graph) -> Result<(), CUresult> {
    if graph.owner == Owner::Program && graph.capture.is_none() { Ok(()) } else { Err(INVALID_VALUE) }
}

pub(super) unsafe fn cuGraphDestroy(call: &Call<'_>, graph: CUgraph) -> Result<(), CUresult> {
    let mut state = call.lock();
    check_owned(state.graph(graph)?)?;
    graph_structure::remove_graph(&mut state, graph);
    drop(outside::bury(call.driver, state));
    Ok(())
}

pub(super) unsafe fn cuGraphClone(call: &Call<'_>, p_clone: *mut CUgraph, original: CUgraph) -> Result<(), CUresult> {
    present(p_clone)?;
    let mut state = call.lock();
    state.graph(original)?;
    let conditional = !conditions::handles_of(&state, original).is_empty();
    if conditional || graph_structure::has_memory_nodes(&state, original) {
        return unsupported();
    }
    let clone = graph_structure::clone_graph(&mut state, original, Owner::Program)?;
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(p_clone, clone) }
}

pub(super) unsafe fn cuGraphNodeFindInClone(
    call: &Call<'_>,
    p_node: *mut CUgraphNode,
    original: CUgraphNode,
    clone: CUgraph,
) -> Result<(), CUresult> {
    present(p_node)?;
    let state = call.lock();
    let found = state.graph(clone)?.clones.get(&original).filter(|node| state.graph_nodes.contains_key(node));
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(p_node, *found.ok_or(INVALID_VALUE)?) }
}

pub(super) unsafe fn cuGraphGetId(call: &Call<'_>, graph: CUgraph, graph_id: *mut c_uint) -> Result<(), CUresult> {
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(graph_id, call.lock().graph(graph)?.id) }
}

pub(super) unsafe fn cuGraphGetNodes(
    call: &Call<'_>,
    graph: CUgraph,
    nodes: *mut CUgraphNode,
    num_nodes: *mut usize,
) -> Result<(), CUresult> {
    let found = call.lock().graph(graph)?.nodes.clone();
    // SAFETY: the caller's array, by the driver's contract.
    unsafe { write_list(&found, CUgraphNode::NULL, nodes, num_nodes) }
}

pub(super) unsafe fn cuGraphGetRootNodes(
    call: &Call<'_>,
    graph: CUgraph,
    nodes: *mut CUgraphNode,
    num_nodes: *mut usize,
) -> Result<(), CUresult> {
    let state = call.lock();
    let is_root = |node: &CUgraphNode| state.graph_nodes.get(node).is_some_and(|node| node.after.is_empty());
    let roots: Vec<CUgraphNode> = state.graph(graph)?.nodes.iter().copied().filter(is_root).collect();
    // SAFETY: the caller's array, by the driver's contract.
    unsafe { write_list(&roots, CUgraphNode::NULL, nodes, num_nodes) }
}

pub(super) unsafe fn cuGraphDestroyNode(call: &Call<'_>, node: CUgraphNode) -> Result<(), CUresult> {
    let mut state = call.lock();
    let graph = state.node(node)?.graph;
    if state.graph(graph)?.capture.is_some() {
        return Err(INVALID_VALUE);
    }
    if graph_structure::has_memory_nodes(&state, graph) {
        return unsupported();
    }
    graph_structure::remove_node(&mut state, node)?;
    drop(outside::bury(call.driver, state));
    Ok(())
}

pub(super) unsafe fn cuGraphNodeGetType(
    call: &Call<'_>,
    node: CUgraphNode,
    kind: *mut CUgraphNodeType,
) -> Result<(), CUresult> {
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(kind, call.lock().node(node)?.action.kind()) }
}

pub(super) unsafe fn cuGraphNodeGetContainingGraph(
    call: &Call<'_>,
    node: CUgraphNode,
    p_graph: *mut CUgraph,
) -> Result<(), CUresult> {
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(p_graph, call.lock().node(node)?.graph) }
}

pub(super) unsafe fn cuGraphNodeGetLocalId(
    call: &Call<'_>,
    node: CUgraphNode,
    node_id: *mut c_uint,
) -> Result<(), CUresult> {
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(node_id, call.lock().node(node)?.number) }
}

/// The numbers of the graph and of the node in it, which no two nodes of a process have in common.
pub(super) unsafe fn cuGraphNodeGetToolsId(
    call: &Call<'_>,
    node: CUgraphNode,
    tools_node_id: *mut u64,
) -> Result<(), CUresult> {
    let state = call.lock();
    let found = state.node(node)?;
    let id = u64::from(state.graph(found.graph)?.id) << 32 | u64::from(found.number);
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(tools_node_id, id) }
}

/// Writes a DOT file. The flags select its content; only those for handles have an effect.
pub(super) unsafe fn cuGraphDebugDotPrint(
    call: &Call<'_>,
    graph: CUgraph,
    path: *const c_char,
    flags: c_uint,
) -> Result<(), CUresult> {
    present(path)?;
    let handles = flags & (CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE | CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES) != 0;
    let state = call.lock();
    state.graph(graph)?;
    let text = dot::dot(&state, graph, handles);
    drop(state);
    // SAFETY: a nul-terminated string, by the driver's contract.
    let path = OsStr::from_bytes(unsafe { CStr::from_ptr(path) }.to_bytes());
    std::fs::write(path, text).map_err(|_| CUresult::CUDA_ERROR_OPERATING_SYSTEM)
}

/// The child graph of a node.
pub(super) fn child_of(state: &State, node: CUgraphNode) -> Result<CUgraph, CUresult> {
    match state.node(node)?.action {
        Action::Child(child) => Ok(child),
        _ => Err(INVALID_VALUE),
    }
}
