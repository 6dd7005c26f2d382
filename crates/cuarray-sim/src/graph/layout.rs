//! The order of a graph's nodes as steps.

use crate::graph_structure;
use crate::objects::graph_data::{Action, EdgeOrder, Layout};
use crate::state::State;
use cuarray_abi::*;
use std::collections::HashMap;

/// Adds the steps of a graph after the given steps; returns the last steps of the graph.
pub(super) fn lay_out(state: &State, graph: CUgraph, before: &[usize], layout: &mut Layout) -> Vec<usize> {
    let mut step_of: HashMap<CUgraphNode, usize> = HashMap::new();
    let mut ends = Vec::new();
    for handle in graph_structure::in_order(state, graph).unwrap_or_default() {
        let Some(node) = state.graph_nodes.get(&handle) else { continue };
        let before_node = node.after.iter().filter_map(|edge| Some((*step_of.get(&edge.from)?, edge.order())));
        let before_node: Vec<(usize, EdgeOrder)> = before_node.collect();
        let (begun, follows): (Vec<_>, Vec<_>) = before_node.iter().partition(|(_, order)| *order == EdgeOrder::Begin);
        let mut after: Vec<usize> = follows.into_iter().map(|(step, _)| step).collect();
        ends.retain(|end| !after.contains(end));
        if after.is_empty() {
            after.extend(before);
        }
        let mut step = layout.add(handle, &after);
        layout.steps[step].begun = begun.into_iter().map(|(step, _)| step).collect();
        if before_node.iter().any(|(_, order)| *order == EdgeOrder::Programmatic) {
            layout.steps[step].early = before_node;
        }
        if let Action::Child(child) = node.action {
            // A child graph has two steps: its beginning and its end.
            let over = lay_out(state, child, &[step], layout);
            if !over.is_empty() {
                step = layout.add(handle, &over);
                layout.steps[step].closes = true;
            }
        }
        if let Action::Conditional(_) = node.action {
            // The second step joins the bodies.
            step = layout.add(handle, &[step]);
            layout.steps[step].closes = true;
        }
        step_of.insert(handle, step);
        ends.push(step);
    }
    ends
}
