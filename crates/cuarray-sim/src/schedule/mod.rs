//! Schedules: the moments at which pending work runs.
//!
//! Enqueued work waits in its stream, with the points of other streams that must happen before it. Under the lazy
//! schedule no work runs until a call *forces* a point: a synchronization, a blocking copy, a query. Then exactly the
//! dependencies of that point run, in an order that they allow. So a program that forgets a dependency reads stale
//! data on every run, not only when it loses a race. The eager schedule forces every operation at once. Under the
//! other schedules (see [`chosen`]) the order is a choice.
//!
//! Dependencies only point at work that was enqueued earlier, so there are no cycles. Following them needs no
//! recursion, and at most one entry of memory per stream.

mod chosen;
mod drain;
mod progress;

use crate::driver::{Driver, Guard};
use crate::objects::stream::Kind;
use crate::objects::work::{HostFunction, Operation, Point, Work};
use crate::state::State;
use crate::thread;
use cuarray_abi::*;
use cuarray_races::{Lane, Ticket, Touched};
use std::sync::PoisonError;

impl State {
    /// Whether a point has happened.
    pub(crate) fn happened(&self, point: Point) -> bool {
        self.streams.get(&point.stream).is_none_or(|stream| stream.executed >= point.operation)
    }

    /// Appends work to a stream, after the given points and those that the legacy default stream requires.
    pub(crate) fn enqueue(&mut self, handle: CUstream, work: Work, mut after: Vec<Point>) -> Result<Point, CUresult> {
        let lost = CUresult::CUDA_ERROR_INVALID_HANDLE;
        let (context, kind, blocking) =
            self.streams.get(&handle).map(|stream| (stream.context, stream.kind, stream.blocking())).ok_or(lost)?;
        if kind == Kind::Legacy {
            let others = self.contexts.get_mut(&context).map(|context| std::mem::take(&mut context.unordered));
            for other in others.unwrap_or_default() {
                if let Some(stream) = self.streams.get_mut(&other) {
                    stream.unordered = false;
                    after.push(stream.last(other));
                }
            }
            let ended = self.contexts.get(&context).and_then(|context| context.ended_blocking.as_ref());
            if let Some(clock) = ended.map(Lane::clock) {
                self.stream_learns(handle, &clock);
            }
        } else if blocking && let Some(context) = self.contexts.get_mut(&context) {
            let legacy = self.streams.get(&context.legacy).map(|legacy| legacy.last(context.legacy));
            let stream = self.streams.get_mut(&handle).ok_or(lost)?;
            if let Some(legacy) = legacy.filter(|legacy| legacy.operation > stream.legacy_seen) {
                stream.legacy_seen = legacy.operation;
                after.push(legacy);
            }
            if !stream.unordered {
                stream.unordered = true;
                context.unordered.insert(handle);
            }
        }
        self.stream_learns_points(handle, &after);
        let ticket = self.issued(handle, &work);
        after.retain(|point| !self.happened(*point));
        let stream = self.streams.get_mut(&handle).ok_or(lost)?;
        stream.enqueued += 1;
        // A wait without dependencies has already happened.
        if matches!(work, Work::Wait) && after.is_empty() && stream.pending() == 1 {
            stream.executed += 1;
            return Ok(stream.last(handle));
        }
        if matches!(work, Work::HostFunction(_)) {
            stream.last_host_function = stream.enqueued;
            self.host_functions += 1;
        }
        let at = stream.last(handle);
        self.note_enqueued(at, &work);
        if let Some(stream) = self.streams.get_mut(&handle) {
            stream.queue.push_back(Operation { work, after, ticket });
        }
        Ok(at)
    }

    /// Executes work that runs no code of the program; returns the accesses that were not known before.
    fn execute(&mut self, work: Work, at: Point, ticket: Option<&Ticket>) -> Vec<Touched> {
        self.host_access.open_registered();
        // After a failed kernel no work is executed, but memory is still released.
        let context = self.streams.get(&at.stream).map(|stream| stream.context);
        let failed = context.and_then(|context| self.contexts.get(&context)?.failed).is_some();
        if failed && matches!(work, Work::Copy(_) | Work::Fill(_) | Work::Launch(_)) {
            return Vec::new();
        }
        match work {
            Work::Wait | Work::HostFunction(_) => {}
            Work::Copy(copy) => self.execute_copy(&copy),
            Work::Fill(fill) => self.execute_fill(&fill),
            Work::Record(event) => {
                let time = self.stamp();
                if let Some(event) = self.events.get_mut(&event).filter(|event| event.recorded == Some(at)) {
                    event.time = Some(time);
                }
            }
            Work::Allocate { address, size } => {
                if let Some(arena) = self.arena_of(address) {
                    arena.soil(address, size);
                }
                self.graph_memory_used(address);
            }
            Work::Release { address } => self.release_allocation(address),
            Work::Launch(launch) => return self.execute_launch(&launch, ticket),
            Work::EndExec(exec) => self.end_exec(exec),
        }
        Vec::new()
    }
}

/// The result of one step of [`Driver::force`].
enum Step {
    /// The step is done.
    Done,
    /// A host function must run without the lock.
    Call(CUstream, HostFunction, Option<Box<Ticket>>),
    /// Another thread is running a host function of this stream.
    Busy,
}

impl Driver {
    /// Makes points happen, with all their dependencies and no other work.
    pub(crate) fn force<'a>(&'a self, state: Guard<'a>, targets: Vec<Point>) -> Guard<'a> {
        let state = self.force_chosen(state, &targets);
        self.run(state, targets, u64::MAX)
    }

    /// Executes one operation among the dependencies of the given points, if one is ready.
    pub(crate) fn nudge<'a>(&'a self, state: Guard<'a>, targets: Vec<Point>) -> Guard<'a> {
        self.run(state, targets, 1)
    }

    fn run<'a>(&'a self, mut state: Guard<'a>, mut wanted: Vec<Point>, mut budget: u64) -> Guard<'a> {
        let to_the_end = budget == u64::MAX;
        while let Some(&point) = wanted.last() {
            if state.happened(point) {
                wanted.pop();
                continue;
            }
            if budget == 0 {
                break;
            }
            match self.step(&mut state, point.stream, &mut wanted, to_the_end) {
                Step::Done if wanted.last() == Some(&point) => budget -= 1,
                Step::Done => {}
                Step::Call(stream, function, ticket) => {
                    budget -= 1;
                    state = self.call(state, stream, function, ticket);
                }
                Step::Busy if to_the_end => {
                    state = self.finished.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
                Step::Busy => break,
            }
        }
        self.bury(state)
    }

    /// Executes the next operation of a stream, or adds its unmet dependencies to `wanted`.
    ///
    /// Without `calls`, a host function is left to the progress thread: a query must not wait for a function that may
    /// itself be waiting for the querying thread.
    fn step(&self, state: &mut State, handle: CUstream, wanted: &mut Vec<Point>, calls: bool) -> Step {
        loop {
            let Some(stream) = state.streams.get_mut(&handle) else { return Step::Done };
            if stream.running {
                return Step::Busy;
            }
            let Some(operation) = stream.queue.front_mut() else { return Step::Done };
            let Some(before) = operation.after.pop() else { break };
            if !state.happened(before) {
                // The point stays in the list until it has happened, because the budget may end first.
                if let Some(operation) = state.streams.get_mut(&handle).and_then(|stream| stream.queue.front_mut()) {
                    operation.after.push(before);
                }
                wanted.push(before);
                return Step::Done;
            }
        }
        let Some(stream) = state.streams.get_mut(&handle) else { return Step::Done };
        if !calls && matches!(stream.queue.front(), Some(Operation { work: Work::HostFunction(_), .. })) {
            state.host_function_wanted = true;
            return Step::Busy;
        }
        self.execute_next(state, handle)
    }

    /// Executes the next operation of a stream, whose dependencies have happened. A host function is only removed from
    /// the queue.
    fn execute_next(&self, state: &mut State, handle: CUstream) -> Step {
        let Some(stream) = state.streams.get_mut(&handle) else { return Step::Done };
        let Some(operation) = stream.queue.pop_front() else { return Step::Done };
        if let Work::HostFunction(function) = operation.work {
            stream.running = true;
            return Step::Call(handle, function, operation.ticket);
        }
        let at = Point { stream: handle, operation: stream.executed + 1 };
        let silent = operation.work.is_silent();
        let touched = state.execute(operation.work, at, operation.ticket.as_deref());
        if let Some(ticket) = &operation.ticket {
            state.ran(ticket, &touched);
        }
        state.note_executed(at, silent);
        if let Some(stream) = state.streams.get_mut(&handle) {
            stream.executed += 1;
        }
        state.remove_if_over(handle);
        Step::Done
    }

    /// Runs a host function that was removed from its stream.
    fn call<'a>(
        &'a self,
        mut state: Guard<'a>,
        handle: CUstream,
        function: HostFunction,
        ticket: Option<Box<Ticket>>,
    ) -> Guard<'a> {
        if let Some(ticket) = &ticket {
            state.host_function_begins(&ticket.clock);
        }
        drop(state);
        call_outside(function);
        let mut state = self.lock();
        if ticket.is_some() {
            state.host_function_ends();
        }
        state.host_functions = state.host_functions.saturating_sub(1);
        if let Some(stream) = state.streams.get_mut(&handle) {
            stream.running = false;
            stream.executed += 1;
            let at = Point { stream: handle, operation: stream.executed };
            state.note_executed(at, false);
        }
        state.remove_if_over(handle);
        self.finished.notify_all();
        state
    }
}

/// Calls a host function in this thread. The function must not make driver calls.
pub(crate) fn call_outside(function: HostFunction) {
    thread::with(|thread| thread.in_host_function.set(true));
    // SAFETY: the program enqueued the function with its data to be called once, after the earlier work.
    unsafe {
        match function {
            HostFunction::Launched { function, data } => function(data),
            HostFunction::Callback { function, stream, data } => function(stream, CUresult::CUDA_SUCCESS, data),
        }
    }
    thread::with(|thread| thread.in_host_function.set(false));
}
