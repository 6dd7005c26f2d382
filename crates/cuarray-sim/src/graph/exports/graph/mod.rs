//! Whole graphs: creation and destruction, the list of nodes, and their parts.
//!
//! Driver API: [graph management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__GRAPH.html).

mod edges;
mod user_objects;

pub(crate) use edges::*;
pub(crate) use user_objects::*;

use crate::driver::Call;
use crate::execution::outside;
use crate::graph_structure::{self, conditions, dot};
use crate::objects::graph_data::{Action, Edge, Graph, Owner};
use crate::parameters::{In, InOut, Out, Text, unsupported};
use crate::state::State;
use cuarray_abi::*;
use std::ffi::{OsStr, c_uint};
use std::os::unix::ffi::OsStrExt;

const INVALID_VALUE: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

/// Reads edges; without data they are full dependencies.
///
/// # Safety
/// The lists have `count` elements.
pub(crate) unsafe fn edge_list(
    from: In<'_, CUgraphNode>,
    data: In<'_, CUgraphEdgeData>,
    count: usize,
) -> Result<Vec<Edge>, CUresult> {
    // SAFETY: this function's contract.
    let from = unsafe { from.list(count)? };
    if data.is_null() {
        return Ok(from.into_iter().map(Edge::full).collect());
    }
    // SAFETY: this function's contract.
    let data = unsafe { data.list(count)? };
    Ok(from.into_iter().zip(data).map(|(from, data)| Edge { from, data }).collect())
}

/// Returns a list as the manual defines: only its length if there is no array. Otherwise it fills the array, pads it
/// with `nothing`, and returns the number of entries written.
///
/// # Safety
/// The array has `count` elements.
unsafe fn write_list<T: Copy>(
    entries: &[T],
    nothing: T,
    array: Out<'_, T>,
    count: InOut<'_, usize>,
) -> Result<(), CUresult> {
    if array.is_null() {
        return count.put(entries.len());
    }
    let room = count.read()?;
    let padded = entries.iter().copied().chain(std::iter::repeat(nothing));
    // SAFETY: this function's contract.
    unsafe { array.put_all(padded.take(room))? };
    count.put(room.min(entries.len()))
}

pub(crate) fn cuGraphCreate(call: &Call<'_>, p_graph: Out<'_, CUgraph>, flags: c_uint) -> Result<(), CUresult> {
    p_graph.present()?;
    if flags != 0 {
        return Err(INVALID_VALUE);
    }
    let graph = graph_structure::new_graph(&mut call.lock(), Owner::Program);
    p_graph.put(graph)
}

/// Checks that the program may change a graph: it is neither a child graph nor the target of a capture.
fn check_owned(graph: &Graph) -> Result<(), CUresult> {
    if graph.owner == Owner::Program && graph.capture.is_none() { Ok(()) } else { Err(INVALID_VALUE) }
}

pub(crate) fn cuGraphDestroy(call: &Call<'_>, graph: CUgraph) -> Result<(), CUresult> {
    let mut state = call.lock();
    check_owned(state.graph(graph)?)?;
    graph_structure::remove_graph(&mut state, graph);
    drop(outside::bury(call.driver, state));
    Ok(())
}

pub(crate) fn cuGraphClone(call: &Call<'_>, p_clone: Out<'_, CUgraph>, original: CUgraph) -> Result<(), CUresult> {
    p_clone.present()?;
    let mut state = call.lock();
    state.graph(original)?;
    let conditional = !conditions::handles_of(&state, original).is_empty();
    if conditional || graph_structure::has_memory_nodes(&state, original) {
        return unsupported();
    }
    let clone = graph_structure::clone_graph(&mut state, original, Owner::Program)?;
    p_clone.put(clone)
}

pub(crate) fn cuGraphNodeFindInClone(
    call: &Call<'_>,
    p_node: Out<'_, CUgraphNode>,
    original: CUgraphNode,
    clone: CUgraph,
) -> Result<(), CUresult> {
    p_node.present()?;
    let state = call.lock();
    let found = state.graph(clone)?.clones.get(&original).filter(|node| state.graph_nodes.contains_key(node));
    p_node.put(*found.ok_or(INVALID_VALUE)?)
}

pub(crate) fn cuGraphGetId(call: &Call<'_>, graph: CUgraph, graph_id: Out<'_, c_uint>) -> Result<(), CUresult> {
    graph_id.put(call.lock().graph(graph)?.id)
}

pub(crate) fn cuGraphGetNodes(
    call: &Call<'_>,
    graph: CUgraph,
    nodes: Out<'_, CUgraphNode>,
    num_nodes: InOut<'_, usize>,
) -> Result<(), CUresult> {
    let found = call.lock().graph(graph)?.nodes.clone();
    // SAFETY: the manual gives the list this length.
    unsafe { write_list(&found, CUgraphNode::NULL, nodes, num_nodes) }
}

pub(crate) fn cuGraphGetRootNodes(
    call: &Call<'_>,
    graph: CUgraph,
    nodes: Out<'_, CUgraphNode>,
    num_nodes: InOut<'_, usize>,
) -> Result<(), CUresult> {
    let state = call.lock();
    let is_root = |node: &CUgraphNode| state.graph_nodes.get(node).is_some_and(|node| node.after.is_empty());
    let roots: Vec<CUgraphNode> = state.graph(graph)?.nodes.iter().copied().filter(is_root).collect();
    // SAFETY: the manual gives the list this length.
    unsafe { write_list(&roots, CUgraphNode::NULL, nodes, num_nodes) }
}

pub(crate) fn cuGraphDestroyNode(call: &Call<'_>, node: CUgraphNode) -> Result<(), CUresult> {
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

pub(crate) fn cuGraphNodeGetType(
    call: &Call<'_>,
    node: CUgraphNode,
    kind: Out<'_, CUgraphNodeType>,
) -> Result<(), CUresult> {
    kind.put(call.lock().node(node)?.action.kind())
}

pub(crate) fn cuGraphNodeGetContainingGraph(
    call: &Call<'_>,
    node: CUgraphNode,
    p_graph: Out<'_, CUgraph>,
) -> Result<(), CUresult> {
    p_graph.put(call.lock().node(node)?.graph)
}

pub(crate) fn cuGraphNodeGetLocalId(
    call: &Call<'_>,
    node: CUgraphNode,
    node_id: Out<'_, c_uint>,
) -> Result<(), CUresult> {
    node_id.put(call.lock().node(node)?.number)
}

/// The numbers of the graph and of the node in it, which no two nodes of a process have in common.
pub(crate) fn cuGraphNodeGetToolsId(
    call: &Call<'_>,
    node: CUgraphNode,
    tools_node_id: Out<'_, u64>,
) -> Result<(), CUresult> {
    let state = call.lock();
    let found = state.node(node)?;
    let id = u64::from(state.graph(found.graph)?.id) << 32 | u64::from(found.number);
    tools_node_id.put(id)
}

/// Writes a DOT file. The flags select its content; only those for handles have an effect.
pub(crate) fn cuGraphDebugDotPrint(
    call: &Call<'_>,
    graph: CUgraph,
    path: Text<'_>,
    flags: c_uint,
) -> Result<(), CUresult> {
    let path = OsStr::from_bytes(path.read()?.to_bytes());
    let handles = flags & (CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE | CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES) != 0;
    let state = call.lock();
    state.graph(graph)?;
    let text = dot::dot(&state, graph, handles);
    drop(state);
    std::fs::write(path, text).map_err(|_| CUresult::CUDA_ERROR_OPERATING_SYSTEM)
}

/// The child graph of a node.
pub(super) fn child_of(state: &State, node: CUgraphNode) -> Result<CUgraph, CUresult> {
    match state.node(node)?.action {
        Action::Child(child) => Ok(child),
        _ => Err(INVALID_VALUE),
    }
}
