//! The edges of graphs.

use super::{INVALID_VALUE, edge_list, write_list};
use crate::driver::Call;
use crate::graph_structure;
use crate::objects::graph_data::{Edge, EdgeOrder};
use crate::parameters::{In, InOut, Out, unsupported};
use crate::state::State;
use cuarray_abi::*;

pub(crate) fn cuGraphGetEdges(
    call: &Call<'_>,
    graph: CUgraph,
    from: Out<'_, CUgraphNode>,
    to: Out<'_, CUgraphNode>,
    num_edges: InOut<'_, usize>,
) -> Result<(), CUresult> {
    cuGraphGetEdges_v2(call, graph, from, to, Out::NULL, num_edges)
}

pub(crate) fn cuGraphGetEdges_v2(
    call: &Call<'_>,
    graph: CUgraph,
    from: Out<'_, CUgraphNode>,
    to: Out<'_, CUgraphNode>,
    edge_data: Out<'_, CUgraphEdgeData>,
    num_edges: InOut<'_, usize>,
) -> Result<(), CUresult> {
    if from.is_null() != to.is_null() || (from.is_null() && !edge_data.is_null()) {
        return Err(INVALID_VALUE);
    }
    let state = call.lock();
    let (found, second): (Vec<_>, Vec<_>) = graph_structure::edges(&state, state.graph(graph)?).into_iter().unzip();
    let (first, data) = split(&found);
    num_edges.present()?;
    if !from.is_null() && edge_data.is_null() {
        check_lossless(&found)?;
    }
    let mut room = num_edges.read()?;
    // SAFETY: the manual gives the lists this length.
    unsafe {
        write_list(&first, CUgraphNode::NULL, from, InOut::of(&mut { room }))?;
        if !edge_data.is_null() {
            write_list(&data, CUgraphEdgeData::default(), edge_data, InOut::of(&mut { room }))?;
        }
        write_list(&second, CUgraphNode::NULL, to, InOut::of(&mut room))?;
    }
    num_edges.put(room)
}

/// The nodes and the data of edges, as a program gets them.
fn split(edges: &[Edge]) -> (Vec<CUgraphNode>, Vec<CUgraphEdgeData>) {
    edges.iter().map(|edge| (edge.from, edge.data)).unzip()
}

/// Checks that a query without edge data loses none.
fn check_lossless(edges: &[Edge]) -> Result<(), CUresult> {
    let lossless = edges.iter().all(|edge| edge.order() == EdgeOrder::Full);
    if lossless { Ok(()) } else { Err(CUresult::CUDA_ERROR_LOSSY_QUERY) }
}

/// Reads edges of one graph, with the node that each leads to.
///
/// # Safety
/// The lists have `count` elements.
unsafe fn pairs(
    state: &State,
    graph: CUgraph,
    (from, to, data): (In<'_, CUgraphNode>, In<'_, CUgraphNode>, In<'_, CUgraphEdgeData>),
    count: usize,
) -> Result<Vec<(Edge, CUgraphNode)>, CUresult> {
    state.graph(graph)?;
    // SAFETY: this function's contract.
    let (from, to) = unsafe { (edge_list(from, data, count)?, to.list(count)?) };
    let mut nodes = from.iter().map(|edge| edge.from).chain(to.iter().copied());
    let all = nodes.all(|node| graph_structure::is_in(state, node, graph));
    if all { Ok(from.into_iter().zip(to).collect()) } else { Err(INVALID_VALUE) }
}

pub(crate) fn cuGraphAddDependencies(
    call: &Call<'_>,
    graph: CUgraph,
    from: In<'_, CUgraphNode>,
    to: In<'_, CUgraphNode>,
    num_dependencies: usize,
) -> Result<(), CUresult> {
    cuGraphAddDependencies_v2(call, graph, from, to, In::NULL, num_dependencies)
}

/// Refuses an edge between two nodes that have one: by the manual, the two nodes alone define a dependency. A cycle is an
/// error at instantiation.
pub(crate) fn cuGraphAddDependencies_v2(
    call: &Call<'_>,
    graph: CUgraph,
    from: In<'_, CUgraphNode>,
    to: In<'_, CUgraphNode>,
    edge_data: In<'_, CUgraphEdgeData>,
    num_dependencies: usize,
) -> Result<(), CUresult> {
    let mut state = call.lock();
    // SAFETY: the manual gives the lists this length.
    let pairs = unsafe { pairs(&state, graph, (from, to, edge_data), num_dependencies)? };
    for (index, (edge, to)) in pairs.iter().enumerate() {
        let node = state.node(*to)?;
        let exists = node.after.iter().any(|known| known.from == edge.from);
        if edge.from == *to || exists || pairs[..index].iter().any(|other| (other.0.from, other.1) == (edge.from, *to))
        {
            return Err(INVALID_VALUE);
        }
        edge.check(&state.node(edge.from)?.action, Some(&node.action))?;
    }
    for (edge, to) in pairs {
        if let Some(node) = state.graph_nodes.get_mut(&to) {
            node.after.push(edge);
        }
    }
    Ok(())
}

pub(crate) fn cuGraphRemoveDependencies(
    call: &Call<'_>,
    graph: CUgraph,
    from: In<'_, CUgraphNode>,
    to: In<'_, CUgraphNode>,
    num_dependencies: usize,
) -> Result<(), CUresult> {
    cuGraphRemoveDependencies_v2(call, graph, from, to, In::NULL, num_dependencies)
}

pub(crate) fn cuGraphRemoveDependencies_v2(
    call: &Call<'_>,
    graph: CUgraph,
    from: In<'_, CUgraphNode>,
    to: In<'_, CUgraphNode>,
    edge_data: In<'_, CUgraphEdgeData>,
    num_dependencies: usize,
) -> Result<(), CUresult> {
    let mut state = call.lock();
    // SAFETY: the manual gives the lists this length.
    let pairs = unsafe { pairs(&state, graph, (from, to, edge_data), num_dependencies)? };
    if graph_structure::has_memory_nodes(&state, graph) {
        return unsupported();
    }
    // The edge must have these data, too.
    for (edge, to) in &pairs {
        if !state.node(*to)?.after.contains(edge) {
            return Err(INVALID_VALUE);
        }
    }
    for (edge, to) in pairs {
        if let Some(node) = state.graph_nodes.get_mut(&to) {
            node.after.retain(|known| *known != edge);
        }
    }
    Ok(())
}

/// Returns the nodes and the data of edges.
///
/// # Safety
/// As for [`write_list`], for both lists.
unsafe fn write_nodes(
    found: &[Edge],
    nodes: Out<'_, CUgraphNode>,
    edge_data: Out<'_, CUgraphEdgeData>,
    count: InOut<'_, usize>,
) -> Result<(), CUresult> {
    count.present()?;
    if nodes.is_null() && !edge_data.is_null() {
        return Err(INVALID_VALUE);
    }
    if !nodes.is_null() && edge_data.is_null() {
        check_lossless(found)?;
    }
    let (from, data) = split(found);
    // SAFETY: this function's contract.
    unsafe {
        if !edge_data.is_null() {
            write_list(&data, CUgraphEdgeData::default(), edge_data, InOut::of(&mut { count.read()? }))?;
        }
        write_list(&from, CUgraphNode::NULL, nodes, count)
    }
}

pub(crate) fn cuGraphNodeGetDependencies(
    call: &Call<'_>,
    node: CUgraphNode,
    dependencies: Out<'_, CUgraphNode>,
    num_dependencies: InOut<'_, usize>,
) -> Result<(), CUresult> {
    cuGraphNodeGetDependencies_v2(call, node, dependencies, Out::NULL, num_dependencies)
}

pub(crate) fn cuGraphNodeGetDependencies_v2(
    call: &Call<'_>,
    node: CUgraphNode,
    dependencies: Out<'_, CUgraphNode>,
    edge_data: Out<'_, CUgraphEdgeData>,
    num_dependencies: InOut<'_, usize>,
) -> Result<(), CUresult> {
    let found = call.lock().node(node)?.after.clone();
    // SAFETY: the manual gives the lists this length.
    unsafe { write_nodes(&found, dependencies, edge_data, num_dependencies) }
}

pub(crate) fn cuGraphNodeGetDependentNodes(
    call: &Call<'_>,
    node: CUgraphNode,
    dependents: Out<'_, CUgraphNode>,
    num_dependents: InOut<'_, usize>,
) -> Result<(), CUresult> {
    cuGraphNodeGetDependentNodes_v2(call, node, dependents, Out::NULL, num_dependents)
}

pub(crate) fn cuGraphNodeGetDependentNodes_v2(
    call: &Call<'_>,
    node: CUgraphNode,
    dependents: Out<'_, CUgraphNode>,
    edge_data: Out<'_, CUgraphEdgeData>,
    num_dependents: InOut<'_, usize>,
) -> Result<(), CUresult> {
    let state = call.lock();
    let graph = state.graph(state.node(node)?.graph)?;
    let comes_after = |(edge, to): (Edge, CUgraphNode)| (edge.from == node).then_some(Edge { from: to, ..edge });
    let found: Vec<Edge> = graph_structure::edges(&state, graph).into_iter().filter_map(comes_after).collect();
    // SAFETY: the manual gives the lists this length.
    unsafe { write_nodes(&found, dependents, edge_data, num_dependents) }
}
