//! Whole graphs: creation and destruction, nodes and edges, and the user objects that they keep alive.
//!
//! Driver API: [graph management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__GRAPH.html). All edges are
//! full dependencies, so edge data must be zero.

use super::*;
use crate::objects::graph::{Action, Graph, Owner, UserObject};
use crate::objects::work::HostFunction;
use crate::state::State;
use std::collections::BTreeMap;
use std::ffi::{CStr, OsStr};
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

/// Checks that all edges are full dependencies.
///
/// # Safety
/// `data` is null or points to `count` entries.
pub(super) unsafe fn check_edge_data(data: *const CUgraphEdgeData, count: usize) -> Result<(), CUresult> {
    // SAFETY: both functions have the same contract.
    let data = if data.is_null() { Vec::new() } else { unsafe { list(data, count)? } };
    if data.iter().all(|edge| *edge == CUgraphEdgeData::default()) { Ok(()) } else { unsupported() }
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
    let graph = call.lock().new_graph(Owner::Program);
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
    state.remove_graph(graph);
    drop(call.driver.bury(state));
    Ok(())
}

pub(super) unsafe fn cuGraphClone(call: &Call<'_>, p_clone: *mut CUgraph, original: CUgraph) -> Result<(), CUresult> {
    present(p_clone)?;
    let mut state = call.lock();
    state.graph(original)?;
    if state.has_memory_nodes(original) {
        return unsupported();
    }
    let clone = state.clone_graph(original, Owner::Program)?;
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

pub(super) unsafe fn cuGraphGetEdges(
    call: &Call<'_>,
    graph: CUgraph,
    from: *mut CUgraphNode,
    to: *mut CUgraphNode,
    num_edges: *mut usize,
) -> Result<(), CUresult> {
    // SAFETY: both functions have the same contract; null edge data is not written.
    unsafe { cuGraphGetEdges_v2(call, graph, from, to, std::ptr::null_mut(), num_edges) }
}

pub(super) unsafe fn cuGraphGetEdges_v2(
    call: &Call<'_>,
    graph: CUgraph,
    from: *mut CUgraphNode,
    to: *mut CUgraphNode,
    edge_data: *mut CUgraphEdgeData,
    num_edges: *mut usize,
) -> Result<(), CUresult> {
    if from.is_null() != to.is_null() || (from.is_null() && !edge_data.is_null()) {
        return Err(INVALID_VALUE);
    }
    let state = call.lock();
    let (first, second): (Vec<_>, Vec<_>) = state.edges(state.graph(graph)?).into_iter().unzip();
    present(num_edges)?;
    // SAFETY: the caller's arrays, by the driver's contract; each call reads the room left.
    unsafe {
        let mut room = num_edges.read_unaligned();
        write_list(&first, CUgraphNode::NULL, from, &mut { room })?;
        if !edge_data.is_null() {
            let data = vec![CUgraphEdgeData::default(); first.len()];
            write_list(&data, CUgraphEdgeData::default(), edge_data, &mut { room })?;
        }
        write_list(&second, CUgraphNode::NULL, to, &mut room)?;
        put(num_edges, room)
    }
}

/// Reads pairs of nodes of one graph.
///
/// # Safety
/// Both pointers are null or point to `count` entries.
unsafe fn pairs(
    state: &State,
    graph: CUgraph,
    (from, to): (*const CUgraphNode, *const CUgraphNode),
    count: usize,
) -> Result<Vec<(CUgraphNode, CUgraphNode)>, CUresult> {
    state.graph(graph)?;
    // SAFETY: both functions have the same contract.
    let (from, to) = unsafe { (list(from, count)?, list(to, count)?) };
    let all = from.iter().chain(&to).all(|node| state.is_in(*node, graph));
    if all { Ok(from.into_iter().zip(to).collect()) } else { Err(INVALID_VALUE) }
}

pub(super) unsafe fn cuGraphAddDependencies(
    call: &Call<'_>,
    graph: CUgraph,
    from: *const CUgraphNode,
    to: *const CUgraphNode,
    num_dependencies: usize,
) -> Result<(), CUresult> {
    // SAFETY: both functions have the same contract.
    unsafe { cuGraphAddDependencies_v2(call, graph, from, to, std::ptr::null(), num_dependencies) }
}

/// Refuses an existing edge; a cycle is an error at instantiation.
pub(super) unsafe fn cuGraphAddDependencies_v2(
    call: &Call<'_>,
    graph: CUgraph,
    from: *const CUgraphNode,
    to: *const CUgraphNode,
    edge_data: *const CUgraphEdgeData,
    num_dependencies: usize,
) -> Result<(), CUresult> {
    let mut state = call.lock();
    // SAFETY: arrays of that many entries, by the driver's contract.
    let pairs = unsafe {
        check_edge_data(edge_data, num_dependencies)?;
        pairs(&state, graph, (from, to), num_dependencies)?
    };
    for (index, (from, to)) in pairs.iter().enumerate() {
        if from == to || state.node(*to)?.after.contains(from) || pairs[..index].contains(&(*from, *to)) {
            return Err(INVALID_VALUE);
        }
    }
    for (from, to) in pairs {
        if let Some(node) = state.graph_nodes.get_mut(&to) {
            node.after.push(from);
        }
    }
    Ok(())
}

pub(super) unsafe fn cuGraphRemoveDependencies(
    call: &Call<'_>,
    graph: CUgraph,
    from: *const CUgraphNode,
    to: *const CUgraphNode,
    num_dependencies: usize,
) -> Result<(), CUresult> {
    // SAFETY: both functions have the same contract.
    unsafe { cuGraphRemoveDependencies_v2(call, graph, from, to, std::ptr::null(), num_dependencies) }
}

pub(super) unsafe fn cuGraphRemoveDependencies_v2(
    call: &Call<'_>,
    graph: CUgraph,
    from: *const CUgraphNode,
    to: *const CUgraphNode,
    edge_data: *const CUgraphEdgeData,
    num_dependencies: usize,
) -> Result<(), CUresult> {
    let mut state = call.lock();
    // SAFETY: arrays of that many entries, by the driver's contract.
    let pairs = unsafe {
        check_edge_data(edge_data, num_dependencies)?;
        pairs(&state, graph, (from, to), num_dependencies)?
    };
    if state.has_memory_nodes(graph) {
        return unsupported();
    }
    for (from, to) in &pairs {
        if !state.node(*to)?.after.contains(from) {
            return Err(INVALID_VALUE);
        }
    }
    for (from, to) in pairs {
        if let Some(node) = state.graph_nodes.get_mut(&to) {
            node.after.retain(|before| *before != from);
        }
    }
    Ok(())
}

pub(super) unsafe fn cuGraphDestroyNode(call: &Call<'_>, node: CUgraphNode) -> Result<(), CUresult> {
    let mut state = call.lock();
    let graph = state.node(node)?.graph;
    if state.graph(graph)?.capture.is_some() {
        return Err(INVALID_VALUE);
    }
    if state.has_memory_nodes(graph) {
        return unsupported();
    }
    state.remove_node(node)?;
    drop(call.driver.bury(state));
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

/// Returns nodes, and zero edge data for each edge.
///
/// # Safety
/// As for [`write_list`], for both arrays.
unsafe fn write_nodes(
    found: &[CUgraphNode],
    nodes: *mut CUgraphNode,
    edge_data: *mut CUgraphEdgeData,
    count: *mut usize,
) -> Result<(), CUresult> {
    present(count)?;
    if nodes.is_null() && !edge_data.is_null() {
        return Err(INVALID_VALUE);
    }
    // SAFETY: both functions have the same contract.
    unsafe {
        if !edge_data.is_null() {
            let data = vec![CUgraphEdgeData::default(); found.len()];
            write_list(&data, CUgraphEdgeData::default(), edge_data, &mut { count.read_unaligned() })?;
        }
        write_list(found, CUgraphNode::NULL, nodes, count)
    }
}

pub(super) unsafe fn cuGraphNodeGetDependencies(
    call: &Call<'_>,
    node: CUgraphNode,
    dependencies: *mut CUgraphNode,
    num_dependencies: *mut usize,
) -> Result<(), CUresult> {
    // SAFETY: both functions have the same contract; null edge data is not written.
    unsafe { cuGraphNodeGetDependencies_v2(call, node, dependencies, std::ptr::null_mut(), num_dependencies) }
}

pub(super) unsafe fn cuGraphNodeGetDependencies_v2(
    call: &Call<'_>,
    node: CUgraphNode,
    dependencies: *mut CUgraphNode,
    edge_data: *mut CUgraphEdgeData,
    num_dependencies: *mut usize,
) -> Result<(), CUresult> {
    let found = call.lock().node(node)?.after.clone();
    // SAFETY: the caller's arrays, by the driver's contract.
    unsafe { write_nodes(&found, dependencies, edge_data, num_dependencies) }
}

pub(super) unsafe fn cuGraphNodeGetDependentNodes(
    call: &Call<'_>,
    node: CUgraphNode,
    dependents: *mut CUgraphNode,
    num_dependents: *mut usize,
) -> Result<(), CUresult> {
    // SAFETY: both functions have the same contract; null edge data is not written.
    unsafe { cuGraphNodeGetDependentNodes_v2(call, node, dependents, std::ptr::null_mut(), num_dependents) }
}

pub(super) unsafe fn cuGraphNodeGetDependentNodes_v2(
    call: &Call<'_>,
    node: CUgraphNode,
    dependents: *mut CUgraphNode,
    edge_data: *mut CUgraphEdgeData,
    num_dependents: *mut usize,
) -> Result<(), CUresult> {
    let state = call.lock();
    let graph = state.graph(state.node(node)?.graph)?;
    let comes_after = |(from, to): (CUgraphNode, CUgraphNode)| (from == node).then_some(to);
    let found: Vec<CUgraphNode> = state.edges(graph).into_iter().filter_map(comes_after).collect();
    // SAFETY: the caller's arrays, by the driver's contract.
    unsafe { write_nodes(&found, dependents, edge_data, num_dependents) }
}

/// Writes a DOT file. Of the flags that select its content only handles have an effect.
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
    let text = state.dot(graph, handles);
    drop(state);
    // SAFETY: a nul-terminated string, by the driver's contract.
    let path = OsStr::from_bytes(unsafe { CStr::from_ptr(path) }.to_bytes());
    std::fs::write(path, text).map_err(|_| CUresult::CUDA_ERROR_OPERATING_SYSTEM)
}

pub(super) unsafe fn cuUserObjectCreate(
    call: &Call<'_>,
    object_out: *mut CUuserObject,
    ptr: *mut c_void,
    destroy: CUhostFn,
    initial_refcount: c_uint,
    flags: c_uint,
) -> Result<(), CUresult> {
    present(object_out)?;
    let (Some(function), CU_USER_OBJECT_NO_DESTRUCTOR_SYNC) = (destroy, flags) else { return Err(INVALID_VALUE) };
    check_count(initial_refcount)?;
    let object = CUuserObject(crate::handle::fresh());
    let destroy = HostFunction::Launched { function, data: ptr };
    call.lock().user_objects.insert(object, UserObject { destroy, references: u64::from(initial_refcount) });
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(object_out, object) }
}

fn check_count(count: c_uint) -> Result<(), CUresult> {
    if (1..=c_int::MAX as c_uint).contains(&count) { Ok(()) } else { Err(INVALID_VALUE) }
}

pub(super) unsafe fn cuUserObjectRetain(call: &Call<'_>, object: CUuserObject, count: c_uint) -> Result<(), CUresult> {
    check_count(count)?;
    call.lock().user_objects.get_mut(&object).ok_or(INVALID_VALUE)?.references += u64::from(count);
    Ok(())
}

pub(super) unsafe fn cuUserObjectRelease(call: &Call<'_>, object: CUuserObject, count: c_uint) -> Result<(), CUresult> {
    check_count(count)?;
    let mut state = call.lock();
    if state.user_objects.get(&object).ok_or(INVALID_VALUE)?.references < u64::from(count) {
        return Err(INVALID_VALUE);
    }
    state.drop_references(BTreeMap::from([(object, u64::from(count))]));
    drop(call.driver.bury(state));
    Ok(())
}

/// Adds references. With the move flag, the caller's references are transferred instead.
pub(super) unsafe fn cuGraphRetainUserObject(
    call: &Call<'_>,
    graph: CUgraph,
    object: CUuserObject,
    count: c_uint,
    flags: c_uint,
) -> Result<(), CUresult> {
    check_count(count)?;
    if flags & !CU_GRAPH_USER_OBJECT_MOVE != 0 {
        return Err(INVALID_VALUE);
    }
    let mut state = call.lock();
    state.graph(graph)?;
    let known = state.user_objects.get_mut(&object).ok_or(INVALID_VALUE)?;
    if flags != CU_GRAPH_USER_OBJECT_MOVE {
        known.references += u64::from(count);
    }
    *state.graph_mut(graph)?.references.entry(object).or_default() += u64::from(count);
    Ok(())
}

pub(super) unsafe fn cuGraphReleaseUserObject(
    call: &Call<'_>,
    graph: CUgraph,
    object: CUuserObject,
    count: c_uint,
) -> Result<(), CUresult> {
    check_count(count)?;
    let mut state = call.lock();
    let held = state.graph_mut(graph)?.references.get_mut(&object).filter(|held| **held >= u64::from(count));
    *held.ok_or(INVALID_VALUE)? -= u64::from(count);
    state.drop_references(BTreeMap::from([(object, u64::from(count))]));
    drop(call.driver.bury(state));
    Ok(())
}

/// The child graph of a node.
pub(super) fn child_of(state: &State, node: CUgraphNode) -> Result<CUgraph, CUresult> {
    match state.node(node)?.action {
        Action::Child(child) => Ok(child),
        _ => Err(INVALID_VALUE),
    }
}
