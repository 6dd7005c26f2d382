//! The steps of a launch: the work of each node, enqueued in the lanes of the graph.

use crate::event::shared;
use crate::execution;
use crate::graph::bodies;
use crate::happens_before::edges;
use crate::memory::graph_memory;
use crate::objects::copy::{Copy, Source};
use crate::objects::event::Event;
use crate::objects::graph_data::{Action, EdgeOrder, Step};
use crate::objects::point::Point;
use crate::objects::work::Work;
use crate::state::State;
use crate::thread;
use cuarray_abi::*;
use cuarray_races::{Caller, Clock, Past};

/// Enqueues the steps of an executable graph after a point of the first lane; returns the point of each step.
pub(super) fn enqueue_steps(
    state: &mut State,
    handle: CUgraphExec,
    steps: &[Step],
    lanes: &[CUstream],
    start: Point,
) -> Result<Vec<Point>, CUresult> {
    let mut points: Vec<Point> = Vec::with_capacity(steps.len());
    // The clock of each step: a lane only has the clock of its last point.
    let mut clocks: Vec<Option<Clock>> = Vec::with_capacity(steps.len());
    // The past of each launch, for the nodes that follow its ports.
    let mut pasts: Vec<Option<Past>> = Vec::with_capacity(steps.len());
    let mut begun = vec![false; lanes.len()];
    let start_clock = edges::clock_of(state, lanes[0]);
    let launch = start_clock.as_ref().map(|clock| clock.ordinal);
    let graph = thread::caller().map(|launch| launch.site);
    // Findings name the call that added the node.
    let dress =
        |made: Option<Caller>| made.map(|made| Caller { graph: graph.clone(), launch, ..made }).or_else(thread::caller);
    for step in steps {
        let points_of = |steps: &[usize]| steps.iter().filter_map(|step| points.get(*step).copied()).collect();
        let (mut after, begun_before): (Vec<Point>, Vec<Point>) = (points_of(&step.after), points_of(&step.begun));
        if step.lane != 0 && !std::mem::replace(&mut begun[step.lane], true) && after.is_empty() {
            after.push(start);
            if let Some(clock) = &start_clock {
                edges::stream_joins(state, lanes[step.lane], clock);
            }
        }
        let lane = lanes[step.lane];
        // On a lane of a graph only an edge lets a launch begin early.
        if let Some(stream) = state.streams.get_mut(&lane) {
            stream.past = None;
        }
        let (work, promises) = match bodies::run_of(state, handle, step, &dress) {
            Some((run, promises)) => (Work::Condition(run), promises),
            None => (work_of(state, handle, step.node, lane, &mut after), Vec::new()),
        };
        let clocks_before = step.after.iter().filter_map(|step| clocks.get(*step)?.clone());
        for clock in clocks_before.collect::<Vec<Clock>>() {
            edges::stream_joins(state, lane, &clock);
        }
        follow_ports(state, step, lane, &work, (&clocks, &pasts));
        let made = state.graph_nodes.get(&step.node).and_then(|node| node.made.clone());
        points.push(thread::while_calling(dress(made), || {
            execution::enqueue_begun(state, lane, work, after, begun_before)
        })?);
        promises.iter().for_each(|promise| edges::stream_joins(state, lane, promise));
        clocks.push(edges::clock_of(state, lane));
        pasts.push(state.streams.get(&lane).and_then(|stream| stream.past.clone()));
    }
    Ok(points)
}

/// Orders a step after the steps that need not have ended, and sets what a launch with programmatic edges follows before
/// it waits.
fn follow_ports(
    state: &mut State,
    step: &Step,
    lane: CUstream,
    work: &Work,
    (clocks, pasts): (&[Option<Clock>], &[Option<Past>]),
) {
    let clock = |step: usize| clocks.get(step).cloned().flatten();
    let past = |step: usize| pasts.get(step).cloned().flatten();
    for before in &step.begun {
        match (past(*before), clock(*before)) {
            (Some(past), _) => edges::stream_follows_past(state, lane, &past),
            // A disabled node has no port.
            (None, Some(clock)) => edges::stream_joins(state, lane, &clock),
            (None, None) => {}
        }
    }
    if !matches!(work, Work::Launch(launch) if launch.settings.overlaps) {
        return;
    }
    let (mut early, mut whole) = (Vec::new(), Vec::new());
    for (before, order) in &step.early {
        match past(*before).filter(|_| *order != EdgeOrder::Full) {
            Some(past) => early.push(past),
            None => whole.extend(clock(*before)),
        }
    }
    if let Some(past) = edges::joined_past(state, &early, &whole)
        && let Some(stream) = state.streams.get_mut(&lane)
    {
        stream.early = Some(past);
    }
}

/// The work of a node in this launch. Adds the dependencies that are not edges to `after`.
fn work_of(state: &mut State, exec: CUgraphExec, node: CUgraphNode, lane: CUstream, after: &mut Vec<Point>) -> Work {
    if state.graph_execs.get(&exec).is_some_and(|exec| exec.disabled.contains(&node)) {
        return Work::Wait;
    }
    let Some(action) = state.graph_nodes.get(&node).map(|node| node.action.clone()) else { return Work::Wait };
    match action {
        Action::Empty | Action::Child(_) | Action::Conditional(_) => Work::Wait,
        Action::Copy(copy) => {
            let transfer = copy.transfer;
            let source = Source::Memory(transfer.source.place);
            Work::Copy(Box::new(Copy { source, target: transfer.target.place, extent: transfer.extent, late: true }))
        }
        Action::Fill(fill) => match fill.fill() {
            Ok(fill) => Work::Fill(Box::new(fill)),
            Err(_) => Work::Wait,
        },
        Action::Host(function) => Work::HostFunction(function),
        Action::Launch(launch) => Work::Launch(launch),
        Action::Memory(batch) => {
            let Some((last, first)) = batch.operations.split_last() else { return Work::Wait };
            for operation in first {
                // The lane orders the operations of a batch. Without the lane, the last one fails in the caller.
                let _ = execution::enqueue(state, lane, Work::Memory(*operation), std::mem::take(after));
            }
            Work::Memory(*last)
        }
        Action::Wait(event) => {
            if let Some(remote) = state.events.get(&event).and_then(Event::remote) {
                return Work::Await(remote);
            }
            let event = state.events.get(&event).map(|event| (event.recorded, event.clock.clone()));
            let (recorded, clock) = event.unwrap_or_default();
            after.extend(recorded);
            if let Some(clock) = clock {
                edges::stream_joins(state, lane, &clock);
            }
            Work::Wait
        }
        Action::Record(event) => {
            let next = state.streams.get(&lane).map(|stream| stream.next(lane));
            match state.events.get_mut(&event) {
                Some(recorded) => {
                    recorded.set_point(next);
                    if let Some(next) = next {
                        shared::publish(state, event, next);
                    }
                    Work::Record(event)
                }
                None => Work::Wait,
            }
        }
        Action::Allocate(node) => {
            let (address, size) = (node.address, node.size);
            graph_memory::make_live(state, address);
            Work::Allocate { address, size }
        }
        Action::Free(address) => {
            graph_memory::mark_freed(state, address);
            Work::Release { address }
        }
    }
}
