//! Updates of executable graphs without a new instantiation.
//!
//! Nodes keep their edges and kinds. Parameters change within limits: work stays on its device, and copies and fills
//! of rows keep their shape. An update of the whole graph also replaces the references. Pending launches keep their
//! old parameters.

use crate::graph::exec;
use crate::graph_structure::changes::may_become;
use crate::graph_structure::conditions;
use crate::objects::graph_data::{Action, ConditionalNode};
use crate::objects::launch::Launch;
use crate::objects::launch_attributes::{Holder, value_of};
use crate::state::State;
use crate::thread;
use cuarray_abi::*;
use cuarray_races::Caller;
use std::collections::HashMap;

/// A node, its new action, and the call that made the change.
type Change = (CUgraphNode, Action, Option<Caller>);

/// The reason why an update is refused, and the two nodes at fault.
pub(crate) struct Refusal {
    pub result: CUgraphExecUpdateResult,
    pub node: CUgraphNode,
    pub from: CUgraphNode,
}

fn refusal(result: CUgraphExecUpdateResult, node: CUgraphNode) -> Refusal {
    Refusal { result, node, from: CUgraphNode::NULL }
}

/// Checks the attributes of a launch that replaces another one in an executable graph with these flags.
fn check_attributes(old: &Launch, new: &Launch, flags: u64) -> Result<(), CUgraphExecUpdateResult> {
    let fixed = flags & CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY != 0;
    let priority = |launch: &Launch| value_of(Holder::Node, CU_LAUNCH_ATTRIBUTE_PRIORITY, &launch.attributes);
    if old.cooperative != new.cooperative || fixed && priority(old) != priority(new) {
        return Err(CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED);
    }
    Ok(())
}

/// Changes the action of one node of an executable graph; `node` is a node of its source.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for a node of another kind or graph, and for a change beyond the limits.
pub(crate) fn update_node(
    state: &mut State,
    exec: CUgraphExec,
    node: CUgraphNode,
    mut action: Action,
) -> Result<(), CUresult> {
    let own = exec::node_of_exec(state, exec, node)?;
    let old = &state.node(own)?.action;
    may_become(state, old, &action).map_err(|_| crate::objects::graph_data::INVALID_VALUE)?;
    if let Some(node) = state.graph_nodes.get_mut(&own) {
        action.keep_attributes(&node.action)?;
        (node.action, node.made) = (action, thread::caller());
    }
    Ok(())
}

/// Changes the nodes of a child graph in an executable graph to the actions of the nodes of `child`.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` if the nodes of the two graphs do not correspond.
pub(crate) fn update_child(
    state: &mut State,
    exec: CUgraphExec,
    node: CUgraphNode,
    child: CUgraph,
) -> Result<(), CUresult> {
    let own = exec::node_of_exec(state, exec, node)?;
    let Action::Child(old) = state.node(own)?.action else { return Err(crate::objects::graph_data::INVALID_VALUE) };
    let mut changes = Vec::new();
    let flags = state.exec(exec)?.flags;
    pair(state, (old, child), flags, &mut changes).map_err(|_| crate::objects::graph_data::INVALID_VALUE)?;
    apply(state, changes);
    Ok(())
}

/// Changes the nodes of an executable graph to the actions of the nodes of `graph`.
///
/// # Errors
/// The reason for a refusal; the executable graph is then unchanged.
pub(crate) fn update_exec(state: &mut State, exec: CUgraphExec, graph: CUgraph) -> Result<(), Refusal> {
    let own = state.exec(exec).map(|exec| (exec.graph, exec.flags));
    let (own, flags) = own.map_err(|_| refusal(CU_GRAPH_EXEC_UPDATE_ERROR, CUgraphNode::NULL))?;
    // By the header, a moved child graph is no argument of an update.
    if state.graphs.get(&graph).is_none_or(|graph| graph.moved) {
        return Err(refusal(CU_GRAPH_EXEC_UPDATE_ERROR, CUgraphNode::NULL));
    }
    let mut changes = Vec::new();
    pair(state, (own, graph), flags, &mut changes)?;
    apply(state, changes);
    // Pending launches still read the old conditions, so these stay until the executable graph ends.
    let used = conditions::handles_of(state, own);
    let known = state.graph_execs.get(&exec).map(|exec| exec.conditions.clone()).unwrap_or_default();
    for handle in used.into_iter().filter(|handle| !known.contains(handle)) {
        conditions::retain(state, handle);
        if let Some(exec) = state.graph_execs.get_mut(&exec) {
            exec.conditions.push(handle);
        }
    }
    exec::adopt_references(state, exec, graph);
    Ok(())
}

fn apply(state: &mut State, changes: Vec<Change>) {
    for (handle, action, made) in changes {
        if let Some(node) = state.graph_nodes.get_mut(&handle) {
            (node.action, node.made) = (action, made);
        }
    }
}

/// Pairs the nodes of two graphs in the order of their addition, and collects the changes.
fn pair(state: &State, (old, new): (CUgraph, CUgraph), flags: u64, changes: &mut Vec<Change>) -> Result<(), Refusal> {
    let changed = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    let (Some(before), Some(after)) = (state.graphs.get(&old), state.graphs.get(&new)) else {
        return Err(refusal(CU_GRAPH_EXEC_UPDATE_ERROR, CUgraphNode::NULL));
    };
    if before.nodes.len() != after.nodes.len() {
        return Err(refusal(changed, CUgraphNode::NULL));
    }
    let pairs: HashMap<CUgraphNode, CUgraphNode> =
        before.nodes.iter().copied().zip(after.nodes.iter().copied()).collect();
    for (own, other) in before.nodes.iter().zip(&after.nodes) {
        let (Some(a), Some(b)) = (state.graph_nodes.get(own), state.graph_nodes.get(other)) else { continue };
        if a.after.len() != b.after.len() {
            return Err(refusal(changed, *other));
        }
        for (from, to) in a.after.iter().zip(&b.after) {
            if pairs.get(&from.from) != Some(&to.from) || from.data != to.data {
                return Err(Refusal { result: changed, node: *other, from: to.from });
            }
        }
        match (&a.action, &b.action) {
            (Action::Child(a), Action::Child(b)) => pair(state, (*a, *b), flags, changes)?,
            (Action::Conditional(old), Action::Conditional(new)) => {
                if (old.kind, old.bodies.len(), old.context) != (new.kind, new.bodies.len(), new.context) {
                    return Err(refusal(CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED, *other));
                }
                for (a, b) in old.bodies.iter().zip(&new.bodies) {
                    pair(state, (*a, *b), flags, changes)?;
                }
                // The kernels of the new graph set its condition, which also brings the new default value.
                let node = ConditionalNode { handle: new.handle, ..(**old).clone() };
                changes.push((*own, Action::Conditional(Box::new(node)), b.made.clone()));
            }
            (old, new) => {
                may_become(state, old, new).map_err(|result| refusal(result, *other))?;
                if let (Action::Launch(old), Action::Launch(new)) = (old, new) {
                    check_attributes(old, new, flags).map_err(|result| refusal(result, *other))?;
                }
                changes.push((*own, new.clone(), b.made.clone()));
            }
        }
    }
    Ok(())
}
