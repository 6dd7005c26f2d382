//! Conditional nodes: their conditions, their bodies, and what a body may contain.
//!
//! Driver API: [`CUDA_CONDITIONAL_NODE_PARAMS`](https://docs.nvidia.com/cuda/cuda-driver-api/structCUDA__CONDITIONAL__NODE__PARAMS.html)
//! states the node types of a body and the context of its kernels.

use super::new_graph;
use crate::happens_before::caller::caller;
use crate::memory::races;
use crate::objects::graph_data::{Action, CONDITION_BYTES, Condition, ConditionalNode, INVALID_VALUE, Owner};
use crate::state::State;
use cuarray_abi::*;
use cuarray_races::Block;

/// Creates a condition for a node in `graph` or below it.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for unknown flags, and for a graph or a context that does not exist.
pub(crate) fn create(
    state: &mut State,
    graph: CUgraph,
    context: CUcontext,
    default: u32,
    flags: u32,
) -> Result<CUgraphConditionalHandle, CUresult> {
    state.graph(graph)?;
    if flags & !CU_GRAPH_COND_ASSIGN_DEFAULT != 0 || state.context(context).is_err() {
        return Err(INVALID_VALUE);
    }
    let handle = crate::handle::fresh() as CUgraphConditionalHandle;
    let assigned = (flags & CU_GRAPH_COND_ASSIGN_DEFAULT != 0).then_some(default);
    // Without a default, the value is undefined until a kernel sets it; here it is zero.
    state.conditions.insert(handle, Condition { graph, context, default: assigned, value: 0, users: 1 });
    Ok(handle)
}

/// Adds a user of a condition.
pub(crate) fn retain(state: &mut State, handle: CUgraphConditionalHandle) {
    if let Some(condition) = state.conditions.get_mut(&handle) {
        condition.users += 1;
    }
}

/// Removes a user of a condition; without users the condition ends.
pub(crate) fn release(state: &mut State, handle: CUgraphConditionalHandle) {
    if let Some(condition) = state.conditions.get_mut(&handle) {
        condition.users = condition.users.saturating_sub(1);
        if condition.users == 0 {
            end(state, handle);
        }
    }
}

/// Releases the conditions that were created for a graph, which ends.
pub(super) fn graph_ends(state: &mut State, graph: CUgraph) {
    let own: Vec<_> = state.conditions.iter().filter(|(_, of)| of.graph == graph).map(|(handle, _)| *handle).collect();
    for handle in own {
        if let Some(condition) = state.conditions.get_mut(&handle) {
            condition.graph = CUgraph::NULL;
        }
        release(state, handle);
    }
}

/// The node in which a graph is a child or a body.
fn holder(state: &State, graph: CUgraph) -> Option<(CUgraph, &Action)> {
    let Owner::Node(node) = state.graphs.get(&graph)?.owner else { return None };
    state.graph_nodes.get(&node).map(|node| (node.graph, &node.action))
}

/// The context of the innermost conditional node whose body holds a graph.
fn context_of_body(state: &State, mut graph: CUgraph) -> Option<CUcontext> {
    while let Some((above, action)) = holder(state, graph) {
        if let Action::Conditional(node) = action {
            return Some(node.context);
        }
        graph = above;
    }
    None
}

/// Checks that a node may be added to a graph, which may be a body.
///
/// # Errors
/// `CUDA_ERROR_NOT_SUPPORTED` for a type that a body may not contain, `CUDA_ERROR_INVALID_VALUE` for a kernel of another
/// context than that of the conditional node. A host node [fails the instantiation](host_node_in_body), because cuda.core's
/// tests add it to a body and destroy it again.
pub(crate) fn check_place(state: &State, graph: CUgraph, action: &Action) -> Result<(), CUresult> {
    match context_of_body(state, graph) {
        Some(context) => check_in_body(state, action, context),
        // By the manual, the graph of a child graph node gets no memory nodes.
        None if matches!(action, Action::Allocate(_) | Action::Free(_)) && holder(state, graph).is_some() => {
            Err(INVALID_VALUE)
        }
        None => Ok(()),
    }
}

fn check_in_body(state: &State, action: &Action, context: CUcontext) -> Result<(), CUresult> {
    match action {
        Action::Empty | Action::Copy(_) | Action::Fill(_) | Action::Host(_) => Ok(()),
        Action::Launch(launch) if launch.context == context => Ok(()),
        Action::Conditional(node) if node.context == context => Ok(()),
        Action::Launch(_) | Action::Conditional(_) => Err(INVALID_VALUE),
        Action::Child(child) => nodes_of(state, *child).try_for_each(|action| check_in_body(state, action, context)),
        Action::Wait(_) | Action::Record(_) => Err(CUresult::CUDA_ERROR_NOT_SUPPORTED),
        Action::Allocate(_) | Action::Free(_) | Action::Memory(_) => Err(CUresult::CUDA_ERROR_NOT_SUPPORTED),
    }
}

/// A host node in a body of a graph, at any depth.
pub(crate) fn host_node_in_body(state: &State, graph: CUgraph) -> Option<CUgraphNode> {
    first_host_node(state, graph, false)
}

fn first_host_node(state: &State, graph: CUgraph, in_body: bool) -> Option<CUgraphNode> {
    state.graphs.get(&graph)?.nodes.iter().find_map(|node| {
        let action = &state.graph_nodes.get(node)?.action;
        if in_body && matches!(action, Action::Host(_)) {
            return Some(*node);
        }
        let in_body = in_body || matches!(action, Action::Conditional(_));
        action.own_graphs().iter().find_map(|own| first_host_node(state, *own, in_body))
    })
}

fn nodes_of(state: &State, graph: CUgraph) -> impl Iterator<Item = &Action> {
    let nodes = state.graphs.get(&graph).map(|graph| graph.nodes.as_slice()).unwrap_or_default();
    nodes.iter().filter_map(|node| state.graph_nodes.get(node)).map(|node| &node.action)
}

/// A conditional node of a graph, without its bodies.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for an unknown type, and for a number of bodies that the type does not have. Also for a
/// handle that was created for a graph elsewhere or for another context, or that another node uses.
pub(crate) fn new_node(
    state: &State,
    graph: CUgraph,
    params: &CUDA_CONDITIONAL_NODE_PARAMS,
) -> Result<ConditionalNode, CUresult> {
    let &CUDA_CONDITIONAL_NODE_PARAMS { handle, kind, size, ctx: context, .. } = params;
    let fits = match kind {
        CU_GRAPH_COND_TYPE_IF => size == 1 || size == 2,
        CU_GRAPH_COND_TYPE_WHILE => size == 1,
        CU_GRAPH_COND_TYPE_SWITCH => size > 0 && size <= MOST_BODIES,
        _ => false,
    };
    let condition = state.conditions.get(&handle).ok_or(INVALID_VALUE)?;
    if !fits || condition.context != context || !is_within(state, graph, condition.graph) {
        return Err(INVALID_VALUE);
    }
    if handles_of(state, condition.graph).contains(&handle) {
        return Err(INVALID_VALUE);
    }
    Ok(ConditionalNode { handle, kind, bodies: vec![CUgraph::NULL; size as usize].into_boxed_slice(), context })
}

/// Gives a node its bodies, which are empty.
pub(crate) fn add_bodies(state: &mut State, node: &mut ConditionalNode) {
    node.bodies.iter_mut().for_each(|body| *body = new_graph(state, Owner::Program));
}

/// The maximum number of bodies of a node. The manual has no limit; a larger number is a mistake.
const MOST_BODIES: u32 = 1 << 16;

/// Whether a graph is another one, or is nested in it.
pub(crate) fn is_within(state: &State, mut graph: CUgraph, outer: CUgraph) -> bool {
    while graph != outer {
        let Some((above, _)) = holder(state, graph) else { return false };
        graph = above;
    }
    true
}

/// The handles that the conditional nodes of a graph use, at any depth.
pub(crate) fn handles_of(state: &State, graph: CUgraph) -> Vec<CUgraphConditionalHandle> {
    let mut handles = Vec::new();
    for action in nodes_of(state, graph) {
        if let Action::Conditional(node) = action {
            handles.push(node.handle);
        }
        for nested in action.own_graphs() {
            handles.extend(handles_of(state, *nested));
        }
    }
    handles
}

/// Whether a condition of a graph, or of a graph in it, has no node.
pub(crate) fn has_unused_handle(state: &State, graph: CUgraph) -> bool {
    let used = handles_of(state, graph);
    let mut own = state.conditions.iter().filter(|(_, condition)| is_within(state, condition.graph, graph));
    own.any(|(handle, _)| !used.contains(handle))
}

/// Records the condition of a graph that is being created: a variable that kernels set.
pub(crate) fn made(state: &mut State, handle: CUgraphConditionalHandle, context: CUcontext) {
    let Some(caller) = caller(state) else { return };
    let device = state.contexts.get(&context).map_or(0, |context| context.device as i32);
    let block = Block::variable(handle, CONDITION_BYTES, format!("{handle:#x}"), "conditional", device);
    state.detector.load(caller, vec![block]);
}

/// Removes a condition that has no user any more.
fn end(state: &mut State, handle: CUgraphConditionalHandle) {
    state.conditions.remove(&handle);
    races::unloaded(state, handle, handle + CONDITION_BYTES);
}
