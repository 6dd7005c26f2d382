//! The nodes in the bodies of conditional nodes, as operations within the operation of the conditional node.

use super::{edges, host};
use crate::objects::graph_data::{BodyStep, Follows, Run};
use crate::objects::work::{Accesses, Work};
use crate::state::State;
use cuarray_abi::*;
use cuarray_races::{Clock, Effect, Lane, Past, Ticket};

/// Lanes for the nodes of bodies, and the promises that later operations join; none while findings are off.
pub(crate) fn lanes(state: &mut State, context: CUcontext, count: usize) -> (Vec<Lane>, Vec<Clock>) {
    if !state.detector.is_on() {
        return (Vec::new(), Vec::new());
    }
    let device = state.contexts.get(&context).map(|context| context.device as i32);
    (0..count).map(|_| state.detector.nested_lane(device)).unzip()
}

/// Begins a node of a body after the given operations. For a launch, returns also what nodes at its ports follow.
pub(crate) fn begins(
    state: &mut State,
    lanes: &mut [Lane],
    step: &BodyStep,
    before: &Follows,
    work: &Work,
) -> Option<(Ticket, Option<Past>)> {
    let mut caller = step.made.clone()?;
    let early = edges::joined_past(state, &before.early.0, &before.early.1);
    let (lane, branch) = match early {
        // The lane of a branch comes after those of all nodes of its body.
        Some(_) => {
            let (lanes, branches) = lanes.split_at_mut_checked(step.branch)?;
            (lanes.get_mut(step.lane)?, branches.first_mut())
        }
        None => (lanes.get_mut(step.lane)?, None),
    };
    before.clocks.iter().for_each(|clock| state.detector.join(lane, clock));
    before.begun.iter().for_each(|past| state.detector.follow_past(lane, past));
    let Work::Launch(launch) = work else { return Some((state.detector.issue_within(lane, caller), None)) };
    caller.detail = Some(launch.name().into());
    let whole = state.detector.past(lane);
    let (Some(early), Some(branch)) = (early, branch) else {
        return Some((state.detector.issue_within(lane, caller), Some(whole)));
    };
    let (ticket, past) = state.detector.issue_dependent_within(lane, branch, early, caller);
    Some((ticket, Some(edges::past_of_dependent(launch, whole, past))))
}

/// The effect of a node's work that is known before it runs; `None` for a kernel.
pub(crate) fn known_effect(state: &State, work: &Work) -> Option<Effect> {
    let effect = edges::effect(state, work);
    (!work.is_known_at_run_time()).then_some(effect)
}

/// Records what a node of a body has accessed.
pub(crate) fn ran(state: &mut State, outer: &Ticket, ticket: &Ticket, known: Option<Effect>, accesses: &Accesses) {
    let (for_host, Accesses { before_wait, touched, .. }) = (state.host_access.watches(), accesses);
    let touches = match known {
        Some(effect) => state.detector.ran_within(outer, ticket, effect),
        None => state.detector.resolve_within(outer, ticket, [before_wait, touched], for_host),
    };
    if for_host {
        state.host_access.has_run(&ticket.operation);
        host::watch_host(state, &touches, &ticket.operation, &ticket.clock);
    }
}

/// Records the end of a conditional node's run.
pub(crate) fn end(state: &mut State, run: &mut Run) {
    for lane in run.lanes.drain(..) {
        state.detector.nested_lane_ends(&lane);
    }
}
