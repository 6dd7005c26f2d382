//! Graph nodes: adding them, and reading and changing their parameters.
//!
//! Driver API: [graph management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__GRAPH.html). Each kind has
//! its own functions, and a general set takes a union; all of them produce an [`Action`].

mod allocation;
mod any;
mod attributes;
mod batch;
mod conditional;
mod copy;
mod event;
mod kernel;

pub(crate) use allocation::allocate_action;
pub(crate) use any::*;
pub(crate) use attributes::*;
pub(crate) use batch::*;
pub(crate) use conditional::*;
pub(crate) use copy::*;
pub(crate) use event::*;
pub(crate) use kernel::*;

use super::graph::{child_of, edge_list};
use crate::driver::Call;
use crate::graph_structure::{self, conditions, reservations};
use crate::objects::graph_data::{Action, Edge, Owner};
use crate::objects::host_function::HostFunction;
use crate::parameters::{In, Out};
use crate::state::State;
use crate::thread;
use cuarray_abi::*;

const INVALID_VALUE: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

/// The given context, or the current one for null. A green context stands for its primary context.
pub(super) fn context_of(state: &State, call: &Call<'_>, ctx: CUcontext) -> Result<CUcontext, CUresult> {
    let ctx = if ctx.is_null() { call.top_context().unwrap_or_default() } else { ctx };
    // Nodes have either kind of handle in one member.
    let scope = state.scope(ctx).or_else(|_| state.green_scope(CUgreenCtx(ctx.0)))?;
    Ok(scope.context)
}

/// The action of a host node with these parameters.
pub(super) fn host_action(params: CUDA_HOST_NODE_PARAMS) -> Result<Action, CUresult> {
    let function = params.function.ok_or(INVALID_VALUE)?;
    Ok(Action::Host(HostFunction::Launched { function, data: params.userData }))
}

/// A graph, and the dependencies of a new node.
struct Place {
    graph: CUgraph,
    after: Vec<Edge>,
}

/// The graph that a node in `graph` will own: a clone of the given one, or the given one if `moves`.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for a graph that was moved before. Also for a graph to move that the program does not own,
/// or that contains the node. `CUDA_ERROR_NOT_SUPPORTED` for conditional nodes, and for a clone of memory nodes.
fn own_child(state: &mut State, graph: CUgraph, child: CUgraph, moves: bool) -> Result<CUgraph, CUresult> {
    let own = state.graph(child)?;
    let free = own.owner == Owner::Program && own.capture.is_none() && !conditions::is_within(state, graph, child);
    if own.moved || moves && !free {
        return Err(INVALID_VALUE);
    }
    let conditional = !conditions::handles_of(state, child).is_empty();
    if conditional || !moves && graph_structure::has_memory_nodes(state, child) {
        return Err(CUresult::CUDA_ERROR_NOT_SUPPORTED);
    }
    if moves { Ok(child) } else { graph_structure::clone_graph(state, child, Owner::Program) }
}

/// Completes the transfer of a graph to a node: marks a moved graph, or removes the clone after a failure.
fn child_is_given<T>(
    state: &mut State,
    child: CUgraph,
    moves: bool,
    given: Result<T, CUresult>,
) -> Result<T, CUresult> {
    match &given {
        Ok(_) => {
            if let Some(graph) = state.graphs.get_mut(&child) {
                graph.moved = moves;
            }
        }
        Err(_) if !moves => graph_structure::remove_graph(state, child),
        Err(_) => {}
    }
    given
}

/// Adds a node. An allocation gets its address; a child graph is cloned, or moved if `moves`.
fn add(state: &mut State, place: Place, action: Action, moves: bool) -> Result<CUgraphNode, CUresult> {
    let Place { graph, after } = place;
    state.graph(graph)?;
    if !after.iter().all(|edge| graph_structure::is_in(state, edge.from, graph)) {
        return Err(INVALID_VALUE);
    }
    match action {
        Action::Child(given) => {
            let child = own_child(state, graph, given, moves)?;
            let added = graph_structure::add_node(state, graph, after, Action::Child(child));
            child_is_given(state, child, moves, added)
        }
        Action::Allocate(node) => reservations::add_allocation(state, graph, after, *node).map(|(node, _)| node),
        Action::Free(address) => reservations::add_free(state, graph, after, address),
        Action::Conditional(mut node) => {
            conditions::add_bodies(state, &mut node);
            let bodies = node.bodies.clone();
            graph_structure::add_node(state, graph, after, Action::Conditional(node)).inspect_err(|_| {
                bodies.iter().for_each(|body| graph_structure::remove_graph(state, *body));
            })
        }
        action => graph_structure::add_node(state, graph, after, action),
    }
}

/// Adds a node and returns its handle.
///
/// # Safety
/// The list of dependencies has the given length.
pub(super) unsafe fn add_and_return(
    call: &Call<'_>,
    p_node: Out<'_, CUgraphNode>,
    graph: CUgraph,
    (dependencies, count): (In<'_, CUgraphNode>, usize),
    action: impl FnOnce(&mut State) -> Result<Action, CUresult>,
) -> Result<(), CUresult> {
    p_node.present()?;
    let mut state = call.lock();
    let action = action(&mut state)?;
    // SAFETY: this function's contract.
    let after = unsafe { edge_list(dependencies, In::NULL, count)? };
    let node = add(&mut state, Place { graph, after }, action, false)?;
    p_node.put(node)
}

/// Changes a node's action to one of the same kind. Executable graphs of its graph do not change.
pub(super) fn change(state: &mut State, node: CUgraphNode, mut action: Action) -> Result<(), CUresult> {
    let found = state.graph_nodes.get_mut(&node).ok_or(INVALID_VALUE)?;
    if found.action.kind() != action.kind() {
        return Err(INVALID_VALUE);
    }
    action.keep_attributes(&found.action)?;
    (found.action, found.made) = (action, thread::caller());
    Ok(())
}

pub(crate) fn cuGraphAddHostNode(
    call: &Call<'_>,
    p_node: Out<'_, CUgraphNode>,
    graph: CUgraph,
    dependencies: In<'_, CUgraphNode>,
    num_dependencies: usize,
    node_params: In<'_, CUDA_HOST_NODE_PARAMS>,
) -> Result<(), CUresult> {
    let action = |_: &mut State| host_action(node_params.read()?);
    // SAFETY: the manual gives the list this length.
    unsafe { add_and_return(call, p_node, graph, (dependencies, num_dependencies), action) }
}

fn host_params(function: HostFunction) -> CUDA_HOST_NODE_PARAMS {
    match function {
        HostFunction::Launched { function, data } | HostFunction::OfLibrary { function, data } => {
            CUDA_HOST_NODE_PARAMS { function: Some(function), userData: data }
        }
        // Stream callbacks cannot be captured, so no node has one.
        HostFunction::Callback { data, .. } => CUDA_HOST_NODE_PARAMS { function: None, userData: data },
    }
}

pub(crate) fn cuGraphHostNodeGetParams(
    call: &Call<'_>,
    node: CUgraphNode,
    node_params: Out<'_, CUDA_HOST_NODE_PARAMS>,
) -> Result<(), CUresult> {
    match call.lock().node(node)?.action {
        Action::Host(function) => node_params.put(host_params(function)),
        _ => Err(INVALID_VALUE),
    }
}

pub(crate) fn cuGraphHostNodeSetParams(
    call: &Call<'_>,
    node: CUgraphNode,
    node_params: In<'_, CUDA_HOST_NODE_PARAMS>,
) -> Result<(), CUresult> {
    let action = host_action(node_params.read()?)?;
    change(&mut call.lock(), node, action)
}

pub(crate) fn cuGraphAddChildGraphNode(
    call: &Call<'_>,
    p_node: Out<'_, CUgraphNode>,
    graph: CUgraph,
    dependencies: In<'_, CUgraphNode>,
    num_dependencies: usize,
    child_graph: CUgraph,
) -> Result<(), CUresult> {
    let action = |_: &mut State| Ok(Action::Child(child_graph));
    // SAFETY: the manual gives the list this length.
    unsafe { add_and_return(call, p_node, graph, (dependencies, num_dependencies), action) }
}

/// Returns the node's own clone, whose nodes may be changed.
pub(crate) fn cuGraphChildGraphNodeGetGraph(
    call: &Call<'_>,
    node: CUgraphNode,
    p_graph: Out<'_, CUgraph>,
) -> Result<(), CUresult> {
    p_graph.put(child_of(&call.lock(), node)?)
}

pub(crate) fn cuGraphAddEmptyNode(
    call: &Call<'_>,
    p_node: Out<'_, CUgraphNode>,
    graph: CUgraph,
    dependencies: In<'_, CUgraphNode>,
    num_dependencies: usize,
) -> Result<(), CUresult> {
    // SAFETY: the manual gives the list this length.
    unsafe { add_and_return(call, p_node, graph, (dependencies, num_dependencies), |_| Ok(Action::Empty)) }
}
