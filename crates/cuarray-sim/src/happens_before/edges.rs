//! Operations in streams, and the edges between them.

use super::caller::caller;
use super::{host, uploads};
use crate::objects::copy::{Copy, Extent, Fill, Place, Source, Transfer};
use crate::objects::green_context::Scope;
use crate::objects::launch::Launch;
use crate::objects::point::Point;
use crate::objects::stream;
use crate::objects::work::{Accesses, Work};
use crate::state::State;
use crate::thread;
use cuarray_abi::*;
use cuarray_races::finding::{AccessKind, LaneKind};
use cuarray_races::{self as races, Block, Caller, Clock, Detector, Effect, Lane, Operation, Past, Region, Ticket};
use std::sync::Arc;

/// The bytes of a box.
fn region(place: Place, extent: Extent) -> Region {
    let Extent { width, height, depth } = extent;
    Region::new(place.address, place.pitch, place.slice, races::Extent { width, height, depth })
}

/// The lane of a stream, created on first use.
fn lane_of(state: &mut State, handle: CUstream) -> Option<(&mut Lane, &mut Detector)> {
    let State { streams, detector, contexts, .. } = state;
    let stream = streams.get_mut(&handle)?;
    if stream.lane.is_none() {
        let kind = match stream.kind {
            stream::Kind::Legacy => LaneKind::Legacy,
            stream::Kind::PerThread => LaneKind::PerThread,
            stream::Kind::Lane => LaneKind::Internal,
            stream::Kind::Created if stream.blocking() => LaneKind::Blocking,
            stream::Kind::Created | stream::Kind::OfGreen => LaneKind::NonBlocking,
        };
        let device = contexts.get(&stream.context).map(|context| context.device as i32);
        stream.lane = Some(detector.new_lane(kind, handle.0 as u64, device));
    }
    Some((stream.lane.as_mut()?, detector))
}

/// The clock of a stream's last operation; `None` without one, or while findings are off.
pub(crate) fn clock_of(state: &State, handle: CUstream) -> Option<Clock> {
    let lane = state.streams.get(&handle)?.lane.as_ref()?;
    (!lane.is_unused()).then(|| lane.clock())
}

/// The clocks that a synchronization with a stream joins: the stream's own clock. For the legacy default stream,
/// also the clocks of the blocking streams of its context that are not ordered before it yet.
pub(crate) fn clocks_of_tail(state: &State, handle: CUstream) -> Vec<Clock> {
    let Some(stream) = state.streams.get(&handle).filter(|_| state.detector.is_on()) else { return Vec::new() };
    let mut clocks: Vec<Clock> = clock_of(state, handle).into_iter().collect();
    if stream.kind == stream::Kind::Legacy
        && let Some(context) = state.contexts.get(&stream.context)
    {
        clocks.extend(context.unordered.iter().filter_map(|other| clock_of(state, *other)));
        clocks.extend(context.ended_blocking.as_ref().map(Lane::clock));
    }
    clocks
}

/// The clocks of all streams of a context or a green context.
pub(crate) fn clocks_of_context(state: &State, scope: impl Into<Scope>) -> Vec<Clock> {
    let scope = scope.into();
    let Some(context) = state.contexts.get(&scope.context).filter(|_| state.detector.is_on()) else {
        return Vec::new();
    };
    let holds = |stream: &&CUstream| state.streams.get(stream).is_some_and(|stream| scope.holds(stream));
    let streams = context.streams.iter().filter(holds).filter_map(|stream| clock_of(state, *stream));
    let ended = match scope.green {
        Some(green) => state.green_contexts.table.get(&green).and_then(|green| green.ended.as_ref()),
        None => context.ended.as_ref(),
    };
    streams.chain(ended.map(Lane::clock)).collect()
}

/// Stores the clock of a destroyed and drained stream for later waits for its context and its green context.
pub(crate) fn remember_ended(state: &mut State, handle: CUstream) {
    let Some(clock) = clock_of(state, handle).filter(|_| state.detector.is_on()) else { return };
    let State { streams, detector, contexts, green_contexts, .. } = state;
    let Some(stream) = streams.get(&handle) else { return };
    let Some(context) = contexts.get_mut(&stream.context) else { return };
    if detector.everything_follows(&clock) {
        return;
    }
    detector.gather(&mut context.ended, &clock);
    if let Some(green) = stream.green.and_then(|green| green_contexts.table.get_mut(&green)) {
        detector.gather(&mut green.ended, &clock);
    }
    if stream.blocking() {
        detector.gather(&mut context.ended_blocking, &clock);
    }
}

/// Adds an edge: the next operation of a stream follows the operation of a clock.
pub(crate) fn stream_joins(state: &mut State, handle: CUstream, clock: &Clock) {
    if !state.detector.is_on() {
        return;
    }
    if let Some((lane, detector)) = lane_of(state, handle) {
        detector.join(lane, clock);
    }
    let State { streams, detector, .. } = state;
    if let Some(past) = streams.get_mut(&handle).and_then(|stream| stream.past.as_mut()) {
        detector.join_past(past, clock);
    }
}

/// Orders the work before a launch, but not the launch itself, before the next operation of a stream.
pub(crate) fn stream_follows_past(state: &mut State, handle: CUstream, past: &Past) {
    if state.detector.is_on()
        && let Some((lane, detector)) = lane_of(state, handle)
    {
        detector.follow_past(lane, past);
    }
}

/// The work that a launch follows before it waits, if its edges are these pasts and these operations; `None` without a past.
pub(crate) fn joined_past(state: &State, pasts: &[Past], clocks: &[Clock]) -> Option<Past> {
    let (first, others) = pasts.split_first()?;
    let mut past = first.clone();
    state.detector.widen_past(&mut past, others, clocks);
    Some(past)
}

/// Adds an edge from each of these points to the next operation of a stream. A point that is not the last operation of its stream is
/// skipped: a stream stores only the clock of its last operation.
pub(crate) fn stream_joins_points(state: &mut State, handle: CUstream, points: &[Point]) {
    if !state.detector.is_on() {
        return;
    }
    for point in points {
        let last = state.streams.get(&point.stream).is_some_and(|stream| stream.enqueued == point.operation);
        if let Some(clock) = clock_of(state, point.stream).filter(|_| last) {
            stream_joins(state, handle, &clock);
        }
    }
}

/// Records a synchronization: the calling thread has waited for these operations.
pub(crate) fn host_joins(state: &mut State, clocks: Vec<Clock>) {
    let Some(caller) = caller(state) else { return };
    uploads::host_follows(state, &clocks);
    state.detector.synchronize(caller, &clocks);
    state.host_access.mark_stale();
}

/// Reports copies of one batch that share bytes: the batch promises no order among them.
pub(crate) fn unordered_copies(state: &mut State, copies: &[(u64, Transfer)]) {
    if !state.detector.is_on() || copies.len() < 2 {
        return;
    }
    let touches = |Transfer { target, source, extent }: &Transfer| {
        vec![(region(source.place, *extent), AccessKind::Read), (region(target.place, *extent), AccessKind::Write)]
    };
    let operations: Vec<_> = copies.iter().map(|(place, copy)| (*place, touches(copy))).collect();
    state.detector.unordered_in_call(&operations);
}

/// Issues an operation. For a launch, returns also what a dependent launch that comes next has to follow.
fn issue(
    state: &mut State,
    handle: CUstream,
    work: &Work,
    caller: Caller,
    effect: Effect,
) -> Option<(Option<Past>, Ticket)> {
    let stream = state.streams.get_mut(&handle)?;
    let (past, early) = (stream.past.take(), stream.early.take());
    let (lane, detector) = lane_of(state, handle)?;
    let Work::Launch(launch) = work else { return Some((None, detector.issue(lane, caller, effect))) };
    let before = detector.past(lane);
    match early.or(past.filter(|_| launch.dependent)) {
        Some(past) => {
            let (ticket, past) = detector.issue_dependent(lane, past, caller);
            Some((Some(past_of_dependent(launch, before, past)), ticket))
        }
        None => Some((Some(before), detector.issue(lane, caller, effect))),
    }
}

/// The work that the next dependent launch follows: before all of a dependent launch, or before the part before its wait.
pub(super) fn past_of_dependent(launch: &Launch, whole: Past, early: Past) -> Past {
    // A launch that waits lets the next one begin only after the launch before it.
    if launch.program.synchronization(launch.kernel).waits { whole } else { early }
}

/// Records an operation that is being enqueued. Returns a ticket for work that runs the program's code.
pub(crate) fn issued(state: &mut State, handle: CUstream, work: &Work) -> Option<Box<Ticket>> {
    let mut caller = caller(state)?;
    if let Work::Launch(launch) = work {
        // A library call names its argument, and not the stand-in's kernel.
        caller.detail.get_or_insert_with(|| launch.name().into());
    }
    let effect = effect(state, work);
    let watched = (state.host_access.watches() || state.pageable_memory).then(|| effect.touches());
    let (before, ticket) = issue(state, handle, work, caller, effect)?;
    if let Some(stream) = state.streams.get_mut(&handle) {
        stream.past = before;
    }
    if let Work::Copy(copy) = work
        && copy.late
    {
        uploads::watch(state, copy, &ticket);
    }
    if let Work::Record(event) = work
        && let Some(event) = state.events.get_mut(event)
    {
        event.clock = Some(ticket.clock.clone());
    }
    if let Some(touches) = watched {
        match work {
            Work::Launch(launch) => host::watch_host_for(state, launch, &ticket.operation, &ticket.clock),
            Work::Condition(run) => run.plan.each_launch(&mut |launch| {
                host::watch_host_for(state, launch, &ticket.operation, &ticket.clock);
            }),
            Work::Memory(operation) => {
                let word = operation.word().map(|word| (Region::row(word.address, word.size), operation.access()));
                host::watch_host(state, word.as_slice(), &ticket.operation, &ticket.clock);
            }
            // The host may access memory neither before its ordered allocation nor after its ordered release.
            Work::Allocate { address, .. } | Work::Release { address } => {
                let size = state.memory.starting_at(*address).map_or(0, |allocation| allocation.size);
                let whole = [(Region::row(*address, size), AccessKind::Write)];
                host::watch_host(state, &whole, &ticket.operation, &ticket.clock);
            }
            // Other work is done with pageable memory when its call returns.
            Work::Fill(_) => {
                host::watch_host(state, &touches, &ticket.operation, &ticket.clock);
                host::watch_pageable(state, &touches, &ticket.operation, &ticket.clock);
            }
            _ => host::watch_host(state, &touches, &ticket.operation, &ticket.clock),
        }
    }
    work.is_known_at_run_time().then(|| Box::new(ticket))
}

/// Records the accesses of work that has run.
pub(crate) fn ran(state: &mut State, ticket: &Ticket, accesses: &Accesses) {
    let Accesses { before_wait, touched, ended_by } = accesses;
    if let Some(by) = ended_by {
        return state.detector.resolve_wait(ticket, touched, by);
    }
    let for_host = state.host_access.watches() || state.pageable_memory;
    let touches = state.detector.resolve_dependent(ticket, [before_wait, touched], for_host);
    if for_host {
        state.host_access.has_run(&ticket.operation);
        host::watch_host(state, &touches, &ticket.operation, &ticket.clock);
        host::watch_pageable(state, &touches, &ticket.operation, &ticket.clock);
    }
}

/// The effect of work on memory.
pub(super) fn effect(state: &State, work: &Work) -> Effect {
    match work {
        Work::Copy(copy) => {
            let Copy { source, target, extent, .. } = &**copy;
            let from = match source {
                Source::Memory(place) => Some(region(*place, *extent)),
                Source::Staged(_) => None,
            };
            let exact = state.memory.find(target.address).is_none_or(|target| !target.kind.on_device())
                && !thread::library_call().is_some_and(|call| call.may_ignore);
            Effect::Copy { from, to: region(*target, *extent), exact }
        }
        Work::Fill(fill) => {
            let Fill { target, extent, .. } = &**fill;
            Effect::Fill(region(*target, *extent))
        }
        Work::Allocate { address, size } => {
            let allocation = state.memory.starting_at(*address);
            let device = allocation.map_or(0, |allocation| allocation.device as i32);
            let kind = allocation.map_or("pool", |allocation| allocation.kind.name());
            Effect::Allocate {
                block: Block::new(*address, *size, kind, device),
                // The host writes its own memory without a driver call.
                written: state.host_writes_devices || allocation.is_some_and(|made| !made.kind.on_device()),
                ordered: true,
            }
        }
        Work::Release { address } => match state.detector.block_at(*address) {
            Some(block) => Effect::Free { block: block.clone() },
            None => Effect::none(),
        },
        Work::Launch(_) | Work::Condition(_) | Work::Memory(_) => Effect::Unknown,
        Work::Wait | Work::Await(_) | Work::Record(_) | Work::HostFunction(_) => Effect::none(),
        Work::Assign(_) | Work::EndExec(_) => Effect::none(),
    }
}

/// The calling thread's call as an operation, for later findings about it.
pub(crate) fn noted(state: &mut State) -> Option<Arc<Operation>> {
    let caller = caller(state)?;
    Some(state.detector.host_operation(caller, Effect::none()).operation)
}

/// Records the end of a stream's lane.
pub(crate) fn lane_ends(state: &mut State, lane: Option<&Lane>) {
    if let Some(lane) = lane {
        state.detector.lane_ends(lane);
    }
}
