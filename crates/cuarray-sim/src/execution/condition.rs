//! Execution of conditional nodes.
//!
//! A conditional node is one operation of its stream. Each call of [`advance`] runs one node of a body, so other streams
//! may run in between, and the schedule chooses among the nodes that are ready. A loop has the limit of a kernel:
//! `CUARRAY_SIM_LAUNCH_BUDGET` instructions, to which each round adds [`ROUND`].

use super::{chosen, traced};
use crate::happens_before::bodies;
use crate::objects::copy::{Copy, Source};
use crate::objects::graph_data::{BodyStep, Done, Follows, Frame, Plan, Run, Task, chosen as chosen_body, kind_name};
use crate::objects::point::Point;
use crate::objects::work::Work;
use crate::state::State;
use crate::trace::timeline::Origin;
use cuarray_abi::*;
use cuarray_races::{Clock, Ticket};
use std::sync::Arc;

/// The instructions that a round of a loop counts for, besides those of its kernels.
const ROUND: u64 = 20_000;

/// The ticket of the conditional node, and the call that launched it.
type Outer<'a> = (Option<&'a Ticket>, Option<&'a Arc<Origin>>);

/// Executes the next node of the bodies; returns whether the conditional node is done.
pub(super) fn advance(state: &mut State, run: &mut Run, at: Point, outer: Outer<'_>) -> bool {
    let done = advance_one(state, run, at, outer);
    if done {
        bodies::end(state, run);
    }
    done
}

fn advance_one(state: &mut State, run: &mut Run, at: Point, outer: Outer<'_>) -> bool {
    // After a failed kernel no work is executed, so a loop would never end.
    if state.contexts.get(&run.plan.context).is_none_or(|context| context.failed.is_some()) {
        return true;
    }
    if !run.begun {
        run.begun = true;
        let begin = outer.0.map(|ticket| ticket.clock.clone()).into_iter().collect();
        let plan = run.plan.clone();
        return !enter(state, run, &plan, None, begin);
    }
    let Some(frame) = run.frames.last() else { return true };
    let ready = frame.ready();
    if ready.is_empty() {
        return leave(state, run, outer.0);
    }
    let step = ready[chosen::choose_step(state, ready.len())];
    let (plan, body, before) = (frame.plan.clone(), frame.body, frame.before(step));
    let after = execute_step(state, run, &plan.bodies[body].steps[step], step, before, (at, outer));
    if let Some(after) = after
        && let Some(frame) = run.frames.last_mut()
    {
        frame.done[step] = Some(after);
    }
    false
}

/// Enters the body that the condition chooses; returns whether there is one.
fn enter(state: &State, run: &mut Run, plan: &Arc<Plan>, within: Option<usize>, begin: Vec<Clock>) -> bool {
    let value = state.conditions.get(&plan.handle).map_or(0, |condition| condition.value);
    let Some(body) = chosen_body(plan.kind, plan.bodies.len(), value) else { return false };
    run.frames.push(Frame::new(plan.clone(), body, within, begin));
    true
}

/// Leaves a body whose nodes are done: for another round, or for what follows the conditional node. Returns whether it
/// was the outermost.
fn leave(state: &mut State, run: &mut Run, ticket: Option<&Ticket>) -> bool {
    let Some(frame) = run.frames.pop() else { return true };
    let end = frame.end();
    if frame.plan.kind == CU_GRAPH_COND_TYPE_WHILE {
        run.rounds += 1;
        run.spent = run.spent.saturating_add(ROUND);
        if enter(state, run, &frame.plan, frame.within, end.clone()) {
            return exhausted(state, run, ticket);
        }
    }
    let below = run.frames.last_mut().and_then(|below| below.done.get_mut(frame.within?));
    match below {
        Some(done) => {
            *done = Some(Done { clocks: end, past: None });
            false
        }
        None => true,
    }
}

/// Fails the context if a loop has passed its limit.
fn exhausted(state: &mut State, run: &Run, ticket: Option<&Ticket>) -> bool {
    if run.spent <= run.budget {
        return false;
    }
    let Some(plan) = run.frames.last().map(|frame| &frame.plan) else { return false };
    let value = state.conditions.get(&plan.handle).map_or(0, |condition| condition.value);
    let place = plan.made.as_ref().map(|made| format!(" added at {}", made.site)).unwrap_or_default();
    let failure = format!(
        "cuarray-sim: the {} node{place} does not end: after {} rounds its condition is {value}, and no more than {} instructions may run \
         (CUARRAY_SIM_LAUNCH_BUDGET; a round counts for {ROUND})",
        kind_name(plan.kind),
        run.rounds,
        run.budget
    );
    let context = plan.context;
    if !state.quiet {
        eprintln!("{failure}");
    }
    if let Some(ticket) = ticket {
        state
            .detector
            .loop_failed(ticket, failure.split_once(": ").map_or_else(String::new, |(_, text)| text.to_owned()));
    }
    state.fail_context(context, CUresult::CUDA_ERROR_LAUNCH_TIMEOUT);
    true
}

/// Executes a step; returns the operations that later steps follow, or `None` for a conditional node that has entered a
/// body.
fn execute_step(
    state: &mut State,
    run: &mut Run,
    step: &BodyStep,
    index: usize,
    before: Follows,
    (at, (outer, origin)): (Point, Outer<'_>),
) -> Option<Done> {
    let work = match &step.task {
        Task::Nothing | Task::Choose(_) => Work::Wait,
        Task::Copy(copy) => {
            let source = Source::Memory(copy.source.place);
            Work::Copy(Box::new(Copy { source, target: copy.target.place, extent: copy.extent, late: true }))
        }
        Task::Fill(fill) => Work::Fill(Box::new(*fill)),
        Task::Launch(launch) => Work::Launch(launch.clone()),
    };
    let issued = bodies::begins(state, &mut run.lanes, step, &before, &work);
    let (ticket, past) = issued.unzip();
    let known = bodies::known_effect(state, &work);
    let instructions = state.code.executed_instructions;
    let begun = traced::begin(state, at.stream, &work, origin);
    let accesses = (state.execute)(state, work, at, ticket.as_ref());
    if let Some(begun) = begun {
        begun.end(state);
    }
    run.spent = run.spent.saturating_add(state.code.executed_instructions - instructions);
    if let (Some(ticket), Some(outer)) = (&ticket, outer) {
        bodies::ran(state, outer, ticket, known, &accesses);
    }
    let clocks = ticket.map_or(before.clocks, |ticket| vec![ticket.clock]);
    match &step.task {
        Task::Choose(plan) if enter(state, run, plan, Some(index), clocks.clone()) => None,
        _ => Some(Done { clocks, past: past.flatten() }),
    }
}
