//! Graphs: work that is described first and launched later, any number of times.
//!
//! A [`Graph`] is a set of [`Node`]s with edges between them, and belongs to the program. An [executable
//! graph](crate::objects::graph_data::Exec) runs its own clone, so that the program may change the original. A child graph
//! node holds a clone too. Every graph has exactly one owner (the program, a node or an executable graph) and is destroyed
//! with its owner.
//!
//! Driver API: [graph management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__GRAPH.html).

pub(crate) mod changes;
pub(crate) mod checks;
pub(crate) mod conditions;
pub(crate) mod dot;
pub(crate) mod node_access;
pub(crate) mod references;
pub(crate) mod reservations;

use crate::execution::lanes;
use crate::memory::graph_memory;
use crate::objects::graph_data::{Action, Edge, Graph, INVALID_VALUE, Node, Owner, References, fresh_id};
use crate::state::State;
use crate::thread;
use cuarray_abi::*;
use std::collections::{HashMap, HashSet};

/// The maximum depth of nested graphs, because functions that visit child graphs recurse.
const DEEPEST: usize = 100;

/// Creates an empty graph.
pub(crate) fn new_graph(state: &mut State, owner: Owner) -> CUgraph {
    let handle = CUgraph(crate::handle::fresh());
    let graph = Graph {
        id: fresh_id(),
        owner,
        moved: false,
        nodes: Vec::new(),
        last_number: 0,
        capture: None,
        clones: HashMap::new(),
        references: References::default(),
    };
    state.graphs.insert(handle, graph);
    handle
}

/// Adds a node after others of the same graph.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for a dependency in another graph or given twice, and for [edge data](Edge::check) that
/// the nodes cannot have. `CUDA_ERROR_NOT_SUPPORTED` for a child graph that would be nested too deep, and while the nodes of the
/// graph are captured again. A body of a conditional node has [further ones](conditions::check_place).
pub(crate) fn add_node(
    state: &mut State,
    graph: CUgraph,
    after: Vec<Edge>,
    action: Action,
) -> Result<CUgraphNode, CUresult> {
    let mut seen = HashSet::new();
    if !after.iter().all(|edge| is_in(state, edge.from, graph) && seen.insert(edge.from)) {
        return Err(INVALID_VALUE);
    }
    for edge in &after {
        edge.check(&state.node(edge.from)?.action, Some(&action))?;
    }
    conditions::check_place(state, graph, &action)?;
    // A graph whose nodes are captured again gets no other nodes.
    let capture = state.graphs.get(&graph).and_then(|graph| state.captures.get(&graph.capture?));
    if capture.is_some_and(|capture| capture.recapture.is_some()) {
        return Err(CUresult::CUDA_ERROR_NOT_SUPPORTED);
    }
    let handle = CUgraphNode(crate::handle::fresh());
    for own in action.own_graphs() {
        if level(state, graph) + height(state, *own) > DEEPEST {
            return Err(CUresult::CUDA_ERROR_NOT_SUPPORTED);
        }
    }
    for own in action.own_graphs() {
        state.graphs.get_mut(own).ok_or(INVALID_VALUE)?.owner = Owner::Node(handle);
    }
    let owner = state.graphs.get_mut(&graph).ok_or(INVALID_VALUE)?;
    owner.nodes.push(handle);
    owner.last_number += 1;
    let number = owner.last_number;
    state.graph_nodes.insert(handle, Node { graph, number, action, after, made: thread::caller() });
    Ok(handle)
}

/// Replaces the child graph of a node; removes the old one.
///
/// # Errors
/// Those of [`add_node`] for a child graph.
pub(crate) fn replace_child(state: &mut State, node: CUgraphNode, child: CUgraph) -> Result<(), CUresult> {
    let found = state.node(node)?;
    let (graph, Action::Child(old)) = (found.graph, &found.action) else { return Err(INVALID_VALUE) };
    let old = *old;
    conditions::check_place(state, graph, &Action::Child(child))?;
    if level(state, graph) + height(state, child) > DEEPEST {
        return Err(CUresult::CUDA_ERROR_NOT_SUPPORTED);
    }
    state.graph_mut(child)?.owner = Owner::Node(node);
    if let Some(node) = state.graph_nodes.get_mut(&node) {
        (node.action, node.made) = (Action::Child(child), thread::caller());
    }
    remove_graph(state, old);
    Ok(())
}

/// The nesting depth of a graph, including the graph itself.
fn level(state: &State, mut graph: CUgraph) -> usize {
    let mut level = 1;
    while let Some(Owner::Node(node)) = state.graphs.get(&graph).map(|graph| graph.owner) {
        let Some(node) = state.graph_nodes.get(&node) else { break };
        (graph, level) = (node.graph, level + 1);
    }
    level
}

/// The depth of the graphs nested in a graph, including the graph itself.
fn height(state: &State, graph: CUgraph) -> usize {
    let nodes = state.graphs.get(&graph).map(|graph| graph.nodes.as_slice()).unwrap_or_default();
    let own = |node: &CUgraphNode| state.graph_nodes.get(node).map(|node| node.action.own_graphs());
    1 + nodes.iter().filter_map(own).flatten().map(|own| height(state, *own)).max().unwrap_or(0)
}

/// Whether `node` belongs to the graph itself and not to a child.
pub(crate) fn is_in(state: &State, node: CUgraphNode, graph: CUgraph) -> bool {
    state.graph_nodes.get(&node).is_some_and(|node| node.graph == graph)
}

/// The edges of a graph, grouped by their later node.
pub(crate) fn edges(state: &State, graph: &Graph) -> Vec<(Edge, CUgraphNode)> {
    let of = |to: &CUgraphNode| state.graph_nodes.get(to).map(|node| (*to, &node.after));
    let ends = graph.nodes.iter().filter_map(of);
    ends.flat_map(|(to, after)| after.iter().map(move |edge| (*edge, to))).collect()
}

/// The nodes of a graph in an order that its edges allow; in the order of addition if possible.
///
/// # Errors
/// The node at which the edges form a cycle.
pub(crate) fn in_order(state: &State, graph: CUgraph) -> Result<Vec<CUgraphNode>, CUgraphNode> {
    let Some(graph) = state.graphs.get(&graph) else { return Ok(Vec::new()) };
    let mut order = Vec::with_capacity(graph.nodes.len());
    let mut placed = HashSet::with_capacity(graph.nodes.len());
    // Each node on this stack waits for the node above it.
    let mut stack = Vec::new();
    let mut waiting = HashSet::new();
    for node in &graph.nodes {
        stack.push(*node);
        while let Some(top) = stack.last().copied() {
            let after = state.graph_nodes.get(&top).map_or(&[][..], |node| &node.after);
            if placed.contains(&top) {
                stack.pop();
            } else if let Some(before) = after.iter().map(|edge| &edge.from).find(|before| !placed.contains(*before)) {
                waiting.insert(top);
                if waiting.contains(before) {
                    return Err(*before);
                }
                stack.push(*before);
            } else {
                placed.insert(top);
                waiting.remove(&top);
                order.push(top);
                stack.pop();
            }
        }
    }
    Ok(order)
}

/// Whether `earlier` is one of `nodes` or precedes one of them, over any number of edges.
pub(crate) fn reaches(state: &State, earlier: CUgraphNode, nodes: &[CUgraphNode]) -> bool {
    let (mut seen, mut stack) = (HashSet::new(), nodes.to_vec());
    while let Some(node) = stack.pop() {
        if node == earlier {
            return true;
        }
        if seen.insert(node) {
            stack.extend(
                state.graph_nodes.get(&node).into_iter().flat_map(|node| node.after.iter().map(|edge| edge.from)),
            );
        }
    }
    false
}

/// Copies a graph with its children. Graph memory, which has one owner, is shared.
pub(crate) fn clone_graph(state: &mut State, original: CUgraph, owner: Owner) -> Result<CUgraph, CUresult> {
    let order = state.graphs.get(&original).ok_or(INVALID_VALUE)?.nodes.clone();
    let clone = new_graph(state, owner);
    let mut clones = HashMap::with_capacity(order.len());
    for handle in &order {
        clones.insert(*handle, CUgraphNode(crate::handle::fresh()));
    }
    let mut numbers = 0;
    for handle in &order {
        let Some(Node { number, action, after, made, .. }) = state.graph_nodes.get(handle) else { continue };
        let (number, mut action, made) = (*number, action.clone(), made.clone());
        let copy = |edge: &Edge| clones.get(&edge.from).map(|from| Edge { from: *from, ..*edge });
        let after = after.iter().filter_map(copy).collect();
        let Some(copied) = clones.get(handle).copied() else { continue };
        for own in action.own_graphs_mut() {
            *own = clone_graph(state, *own, Owner::Node(copied))?;
            let nested = state.graphs.get(own).map(|own| own.clones.clone());
            clones.extend(nested.into_iter().flatten());
        }
        numbers = number.max(numbers);
        state.graph_nodes.insert(copied, Node { graph: clone, number, action, after, made });
    }
    let references = references::share(state, original);
    if let Some(graph) = state.graphs.get_mut(&clone) {
        graph.nodes = order.iter().filter_map(|handle| clones.get(handle).copied()).collect();
        (graph.last_number, graph.clones, graph.references) = (numbers, clones, references);
    }
    Ok(clone)
}

/// Removes a graph with its nodes, its children and its references.
pub(crate) fn remove_graph(state: &mut State, handle: CUgraph) {
    // Executable graphs count their memory separately.
    let owns_memory = state.graphs.get(&handle).is_some_and(|graph| graph.owner != Owner::Exec);
    remove_nodes(state, handle, owns_memory);
}

fn remove_nodes(state: &mut State, handle: CUgraph, owns_memory: bool) {
    let Some(graph) = state.graphs.remove(&handle) else { return };
    for node in graph.nodes {
        forget_node(state, node, owns_memory);
    }
    conditions::graph_ends(state, handle);
    references::drop_all(state, graph.references);
}

fn forget_node(state: &mut State, handle: CUgraphNode, owns_memory: bool) {
    match state.graph_nodes.remove(&handle).map(|node| node.action) {
        Some(Action::Allocate(node)) if owns_memory => graph_memory::release(state, node.address),
        Some(action) => action.own_graphs().iter().for_each(|own| remove_nodes(state, *own, owns_memory)),
        None => {}
    }
}

/// Removes a node and its edges from its graph.
pub(crate) fn remove_node(state: &mut State, handle: CUgraphNode) -> Result<(), CUresult> {
    let graph = state.node(handle)?.graph;
    forget_node(state, handle, true);
    let Some(graph) = state.graphs.get_mut(&graph) else { return Ok(()) };
    graph.nodes.retain(|node| *node != handle);
    for node in &graph.nodes {
        if let Some(node) = state.graph_nodes.get_mut(node) {
            node.after.retain(|edge| edge.from != handle);
        }
    }
    Ok(())
}

/// Whether a graph or a child of it allocates or frees memory, and therefore cannot be cloned.
pub(crate) fn has_memory_nodes(state: &State, graph: CUgraph) -> bool {
    let nodes = state.graphs.get(&graph).map(|graph| graph.nodes.as_slice()).unwrap_or_default();
    nodes.iter().filter_map(|node| state.graph_nodes.get(node)).any(|node| match node.action {
        Action::Allocate(_) | Action::Free(_) => true,
        Action::Child(child) => has_memory_nodes(state, child),
        _ => false,
    })
}

/// Removes an executable graph that no pending work needs.
pub(crate) fn end_exec(state: &mut State, handle: CUgraphExec) {
    let Some(exec) = state.graph_execs.remove(&handle) else { return };
    remove_graph(state, exec.graph);
    exec.conditions.into_iter().for_each(|handle| conditions::release(state, handle));
    exec.allocations.into_iter().for_each(|address| graph_memory::release(state, address));
    exec.retired.into_iter().for_each(|(_, references)| references::drop_all(state, references));
    exec.lanes.into_iter().for_each(|lane| lanes::close(state, lane));
}
