//! The bodies of conditional nodes in a launch.

use crate::graph::layout::lay_out;
use crate::graph_structure::checks;
use crate::graph_structure::node_access::Refused;
use crate::happens_before::bodies;
use crate::objects::graph_data::{Action, Body, BodyStep, ConditionalNode, Layout, Plan, Run, Step, Task};
use crate::state::State;
use cuarray_abi::*;
use cuarray_races::{Caller, Clock};
use std::sync::Arc;

/// Completes the call that added a node with the launch of its graph.
type Dress<'a> = &'a dyn Fn(Option<Caller>) -> Option<Caller>;

/// Checks the accesses of the copies and fills in the bodies of a node.
pub(super) fn check(state: &State, node: &ConditionalNode) -> Result<(), Refused> {
    let nodes = node.bodies.iter().filter_map(|body| state.graphs.get(body)).flat_map(|graph| &graph.nodes);
    for action in nodes.filter_map(|node| state.graph_nodes.get(node)).map(|node| &node.action) {
        check_action(state, action)?;
    }
    Ok(())
}

fn check_action(state: &State, action: &Action) -> Result<(), Refused> {
    match action {
        Action::Copy(copy) => checks::check_copy(state, copy),
        Action::Fill(fill) => checks::check_fill(state, fill),
        Action::Conditional(node) => check(state, node),
        Action::Child(child) => {
            let nodes = state.graphs.get(child).into_iter().flat_map(|child| &child.nodes);
            let mut actions = nodes.filter_map(|node| state.graph_nodes.get(node)).map(|node| &node.action);
            actions.try_for_each(|action| check_action(state, action))
        }
        _ => Ok(()),
    }
}

/// The run of a conditional node in a launch, and the promises of its lanes, if the step begins such a node.
pub(super) fn run_of(
    state: &mut State,
    exec: CUgraphExec,
    step: &Step,
    dress: Dress<'_>,
) -> Option<(Box<Run>, Vec<Clock>)> {
    if step.closes {
        return None;
    }
    let mut lanes = 0;
    let plan = plan_of(state, exec, step.node, dress, &mut lanes)?;
    let (lanes, promises) = bodies::lanes(state, plan.context, lanes);
    Some((Box::new(Run::new(Arc::new(plan), lanes, state.launch_budget)), promises))
}

/// The plan of a conditional node; `lanes` counts the lanes of all bodies.
fn plan_of(state: &State, exec: CUgraphExec, node: CUgraphNode, dress: Dress<'_>, lanes: &mut usize) -> Option<Plan> {
    let found = state.graph_nodes.get(&node)?;
    let Action::Conditional(of) = &found.action else { return None };
    let mut bodies = Vec::with_capacity(of.bodies.len());
    for body in &of.bodies {
        let mut layout = Layout::default();
        lay_out(state, *body, &[], &mut layout);
        let first = *lanes;
        *lanes += layout.ends.len();
        let mut last: Vec<Option<usize>> = vec![None; layout.ends.len()];
        let mut steps = Vec::with_capacity(layout.steps.len());
        for (index, step) in layout.steps.iter().enumerate() {
            let on_lane = last[step.lane].replace(index);
            let after = step.after.iter().copied().chain(on_lane).collect();
            let (begun, early) = (step.begun.clone(), step.early.clone());
            let task = task_of(state, exec, step, dress, lanes);
            let overlaps = matches!(&task, Task::Launch(launch) if launch.settings.overlaps);
            let early = if overlaps { early } else { Vec::new() };
            let branch = *lanes;
            *lanes += usize::from(!early.is_empty());
            let made = state.graph_nodes.get(&step.node).and_then(|node| node.made.clone());
            let (lane, made) = (first + step.lane, dress(made));
            steps.push(BodyStep { task, after, begun, early, lane, branch, made });
        }
        bodies.push(Body { steps });
    }
    let made = dress(found.made.clone());
    Some(Plan { handle: of.handle, kind: of.kind, context: of.context, bodies, made })
}

fn task_of(state: &State, exec: CUgraphExec, step: &Step, dress: Dress<'_>, lanes: &mut usize) -> Task {
    let disabled = state.graph_execs.get(&exec).is_some_and(|exec| exec.disabled.contains(&step.node));
    let node = state.graph_nodes.get(&step.node).filter(|_| !disabled && !step.closes);
    match node.map(|node| &node.action) {
        Some(Action::Copy(copy)) => Task::Copy(copy.transfer),
        Some(Action::Fill(fill)) => fill.fill().map_or(Task::Nothing, Task::Fill),
        Some(Action::Launch(launch)) => Task::Launch(launch.clone()),
        Some(Action::Conditional(_)) => {
            let plan = plan_of(state, exec, step.node, dress, lanes);
            plan.map_or(Task::Nothing, |plan| Task::Choose(Arc::new(plan)))
        }
        _ => Task::Nothing,
    }
}
