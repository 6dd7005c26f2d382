//! The nodes in the bodies of conditional nodes, as operations within the operation of the conditional node.

use super::{edges, host};
use crate::objects::graph_data::Run;
use crate::objects::work::{Accesses, Work};
use crate::state::State;
use cuarray_abi::*;
use cuarray_races::{Caller, Clock, Effect, Lane, Ticket};

/// Lanes for the nodes of bodies, and the promises that later operations join; none while findings are off.
pub(crate) fn lanes(state: &mut State, context: CUcontext, count: usize) -> (Vec<Lane>, Vec<Clock>) {
    if !state.detector.is_on() {
        return (Vec::new(), Vec::new());
    }
    let device = state.contexts.get(&context).map(|context| context.device as i32);
    (0..count).map(|_| state.detector.nested_lane(device)).unzip()
}

/// Begins a node of a body after the given operations.
pub(crate) fn begins(
    state: &mut State,
    lane: Option<&mut Lane>,
    before: &[Clock],
    made: Option<Caller>,
    work: &Work,
) -> Option<Ticket> {
    let (lane, mut caller) = (lane?, made?);
    if let Work::Launch(launch) = work {
        caller.detail = Some(launch.name().into());
    }
    for clock in before {
        state.detector.join(lane, clock);
    }
    Some(state.detector.issue_within(lane, caller))
}

/// The effect of a node's work that is known before it runs; `None` for a kernel.
pub(crate) fn known_effect(state: &State, work: &Work) -> Option<Effect> {
    let effect = edges::effect(state, work);
    (!work.is_known_at_run_time()).then_some(effect)
}

/// Records what a node of a body has accessed.
pub(crate) fn ran(state: &mut State, outer: &Ticket, ticket: &Ticket, known: Option<Effect>, accesses: &Accesses) {
    let touches = match known {
        Some(effect) => state.detector.ran_within(outer, ticket, effect),
        None => state.detector.resolve_within(outer, ticket, &accesses.touched),
    };
    if state.host_access.watches() {
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
