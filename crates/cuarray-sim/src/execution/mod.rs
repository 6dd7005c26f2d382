//! Execution of pending work, at the moments that the schedule gives.
//!
//! Enqueued work waits in its stream, with the points of other streams that must happen before it. Under the lazy
//! schedule no work runs until a call *forces* a point: a synchronization, a blocking copy, a query. Then exactly the
//! dependencies of that point run, in an order that they allow. So a program that forgets a dependency reads stale
//! data on every run, not only when it loses a race. The eager schedule forces every operation at once. Under the
//! other schedules (see [`chosen`]) the order is a choice.
//!
//! Dependencies only point at work that was enqueued earlier, so there are no cycles. Following them needs no
//! recursion, and at most one entry of memory per stream.

pub(crate) mod backlog;
mod blocked;
pub(crate) mod chosen;
mod condition;
mod context_waits;
pub(crate) mod drain;
pub(crate) mod lanes;
pub(crate) mod outside;
pub(crate) mod progress;
pub(crate) mod service;
pub(crate) mod tails;
pub(crate) mod thread_sanitizer;
mod traced;
pub(crate) mod words;

use crate::driver::{Call, Driver, Guard};
use crate::happens_before::{edges, host};
use crate::objects::allocation::Memory;
use crate::objects::event::Remote;
use crate::objects::host_function::HostFunction;
use crate::objects::launch::Launch;
use crate::objects::memory_operation::MemoryOperation;
use crate::objects::point::Point;
use crate::objects::stream::Kind;
use crate::objects::work::{Operation, Work};
use crate::schedule::mode::Mode;
use crate::state::State;
use cuarray_abi::*;
use cuarray_races::{Lane, Ticket};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::PoisonError;
use traced::Begun;

/// Appends work to a stream, after the given points and those that the legacy default stream requires.
pub(crate) fn enqueue(state: &mut State, handle: CUstream, work: Work, after: Vec<Point>) -> Result<Point, CUresult> {
    enqueue_begun(state, handle, work, after, Vec::new())
}

/// As [`enqueue`]. The work runs also after the points in `begun`, which order none of its accesses.
pub(crate) fn enqueue_begun(
    state: &mut State,
    handle: CUstream,
    work: Work,
    mut after: Vec<Point>,
    begun: Vec<Point>,
) -> Result<Point, CUresult> {
    let lost = CUresult::CUDA_ERROR_INVALID_HANDLE;
    let (context, kind, blocking) =
        state.streams.get(&handle).map(|stream| (stream.context, stream.kind, stream.blocking())).ok_or(lost)?;
    if kind == Kind::Legacy {
        let others = state.contexts.get_mut(&context).map(|context| std::mem::take(&mut context.unordered));
        for other in others.unwrap_or_default() {
            if let Some(stream) = state.streams.get_mut(&other) {
                stream.unordered = false;
                after.push(stream.last(other));
            }
        }
        let ended = state.contexts.get(&context).and_then(|context| context.ended_blocking.as_ref());
        if let Some(clock) = ended.map(Lane::clock) {
            edges::stream_joins(state, handle, &clock);
        }
    } else if blocking && let Some(context) = state.contexts.get_mut(&context) {
        let legacy = state.streams.get(&context.legacy).map(|legacy| legacy.last(context.legacy));
        let stream = state.streams.get_mut(&handle).ok_or(lost)?;
        if let Some(legacy) = legacy.filter(|legacy| legacy.operation > stream.legacy_seen) {
            stream.legacy_seen = legacy.operation;
            after.push(legacy);
        }
        if !stream.unordered {
            stream.unordered = true;
            context.unordered.insert(handle);
        }
    }
    context_waits::follow(state, handle, context, &mut after);
    edges::stream_joins_points(state, handle, &after);
    after.extend(begun);
    let ticket = edges::issued(state, handle, &work);
    after.retain(|point| !state.happened(*point));
    let stream = state.streams.get_mut(&handle).ok_or(lost)?;
    stream.enqueued += 1;
    // A wait without dependencies has already happened.
    if matches!(work, Work::Wait) && after.is_empty() && stream.pending() == 1 {
        stream.executed += 1;
        return Ok(stream.last(handle));
    }
    if matches!(&work, Work::HostFunction(function) if function.is_of_program()) {
        stream.last_host_function = stream.enqueued;
        state.host_functions += 1;
    }
    let polled = match &work {
        Work::Launch(launch) => may_be_polled(&state.memory, launch),
        Work::Condition(run) => {
            let mut polled = false;
            run.plan.each_launch(&mut |launch| polled |= may_be_polled(&state.memory, launch));
            polled
        }
        Work::Memory(operation) => {
            operation.writes() && operation.word().is_some_and(|word| on_host(&state.memory, word.address))
        }
        _ => false,
    };
    if polled {
        stream.last_polled_launch = stream.enqueued;
    }
    state.memory_waits += usize::from(matches!(work, Work::Memory(MemoryOperation::Wait { .. })));
    let at = stream.last(handle);
    let origin = traced::origin(state);
    chosen::note_enqueued(state, at, &work);
    if let Some(stream) = state.streams.get_mut(&handle) {
        stream.queue.push_back(Operation { work, after, ticket, origin });
        let pending = stream.queue.len();
        backlog::note(state, pending);
    }
    Ok(at)
}

/// Enqueues work; under the eager schedule, runs it.
pub(crate) fn submit<'a>(
    call: &Call<'a>,
    mut state: Guard<'a>,
    stream: CUstream,
    work: Work,
    after: Vec<Point>,
) -> Result<(Guard<'a>, Point), CUresult> {
    let point = enqueue(&mut state, stream, work, after)?;
    if matches!(state.mode, Mode::Eager) {
        state = run_eagerly(call.driver, state, point);
    }
    Ok((state, point))
}

/// Whether an address lies in host memory that devices can access.
fn on_host(memory: &Memory, address: u64) -> bool {
    memory.find(address).is_some_and(|allocation| !allocation.kind.on_device())
}

/// Whether the host may wait for a kernel by reading memory that the kernel writes.
fn may_be_polled(memory: &Memory, launch: &Launch) -> bool {
    launch.addresses().any(|word| on_host(memory, word))
        && launch.program.synchronization(launch.kernel).publishes_to_host
}

const PANICKED: &str = "cuarray-sim: the simulator failed while it executed the program's work, so the context has failed \
with CUDA_ERROR_UNKNOWN. This is a bug of the simulator, not of the program: please report it with the message above.";

/// The result of one step of [`force`].
enum Step {
    /// The step is done.
    Done,
    /// A host function must run without the lock.
    Call(HostCall),
    /// The stream waits for another process, which must happen without the lock.
    Await(CUstream, Remote),
    /// The next operation of the stream waits for a word of memory that other work, or the host, has to write.
    Blocked(CUstream),
    /// Another thread is running a host function of this stream, or the caller may not wait for the next operation.
    Busy,
}

/// A host function that was removed from its stream.
struct HostCall {
    stream: CUstream,
    function: HostFunction,
    ticket: Option<Box<Ticket>>,
    begun: Option<Begun>,
}

/// The waits that a thread may make while it runs work.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Patience {
    Nothing,
    /// The host functions that it runs itself.
    HostFunctions,
    /// Also other threads, and other processes.
    Everything,
}

/// Makes points happen, with all their dependencies and no other work.
pub(crate) fn force<'a>(driver: &'a Driver, state: Guard<'a>, targets: Vec<Point>) -> Guard<'a> {
    let state = chosen::force_chosen(driver, state, &targets);
    run(driver, state, targets, u64::MAX, Patience::Everything)
}

/// Runs work that was just enqueued, under the eager schedule. While a stream waits for a word of memory, the call does not
/// wait: the write may be enqueued later. Then all streams go on as far as they can.
pub(crate) fn run_eagerly<'a>(driver: &'a Driver, mut state: Guard<'a>, point: Point) -> Guard<'a> {
    if state.memory_waits == 0 {
        return force(driver, state, vec![point]);
    }
    let pending = state.streams.iter().filter(|(_, stream)| stream.pending() > 0);
    let targets: Vec<Point> = pending.map(|(handle, stream)| stream.last(*handle)).collect();
    for target in targets {
        state = run(driver, state, vec![target], u64::MAX, Patience::HostFunctions);
    }
    state
}

/// Executes one operation among the dependencies of the given points, if one is ready.
pub(crate) fn nudge<'a>(driver: &'a Driver, state: Guard<'a>, targets: Vec<Point>) -> Guard<'a> {
    run(driver, state, targets, 1, Patience::Nothing)
}

fn run<'a>(
    driver: &'a Driver,
    mut state: Guard<'a>,
    mut wanted: Vec<Point>,
    mut budget: u64,
    patience: Patience,
) -> Guard<'a> {
    let mut blocked_since = None;
    while let Some(&point) = wanted.last() {
        if state.happened(point) {
            wanted.pop();
            continue;
        }
        if budget == 0 {
            break;
        }
        let mut step = advance(&mut state, point.stream, &mut wanted, patience);
        if let Step::Blocked(stream) = step {
            step = blocked::run_other_work(&mut state, stream, patience == Patience::Nothing);
        }
        if !matches!(step, Step::Blocked(_)) {
            blocked_since = None;
        }
        match step {
            Step::Blocked(stream) if patience == Patience::Everything => {
                state = blocked::wait_for_the_host(driver, state, stream, &mut blocked_since);
            }
            Step::Blocked(_) => break,
            Step::Done if wanted.last() == Some(&point) => budget -= 1,
            Step::Done => {}
            Step::Call(call) => {
                budget -= 1;
                state = run_host_function(driver, state, call);
            }
            Step::Await(stream, remote) => state = await_remote(driver, state, stream, &remote),
            Step::Busy if patience == Patience::Everything => {
                state = driver.finished.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            Step::Busy => break,
        }
    }
    outside::bury(driver, state)
}

/// Executes the next operation of a stream, or adds its unmet dependencies to `wanted`.
///
/// A thread without patience leaves a host function to the progress thread: a query must not wait for a function that
/// may itself be waiting for the querying thread.
fn advance(state: &mut State, handle: CUstream, wanted: &mut Vec<Point>, patience: Patience) -> Step {
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
    let front = state.streams.get(&handle).and_then(|stream| stream.queue.front());
    if front.is_some_and(|operation| words::is_blocked(state, handle, &operation.work)) {
        return Step::Blocked(handle);
    }
    let Some(stream) = state.streams.get_mut(&handle) else { return Step::Done };
    match stream.queue.front().map(|operation| &operation.work) {
        Some(Work::HostFunction(function)) if patience == Patience::Nothing && function.is_of_program() => {
            state.host_function_wanted = true;
            return Step::Busy;
        }
        Some(Work::Await(remote)) if patience != Patience::Everything && !remote.event.want(remote.generation) => {
            return Step::Busy;
        }
        _ => {}
    }
    execute_next(state, handle)
}

/// Executes the next operation of a stream, whose dependencies have happened. A host function is only removed from
/// the queue.
fn execute_next(state: &mut State, handle: CUstream) -> Step {
    let Some(stream) = state.streams.get_mut(&handle) else { return Step::Done };
    let Some(mut operation) = stream.queue.pop_front() else { return Step::Done };
    let begun = traced::begin(state, handle, &operation.work, operation.origin.as_ref());
    let Some(stream) = state.streams.get_mut(&handle) else { return Step::Done };
    if let Work::HostFunction(function) = operation.work {
        stream.running = true;
        return Step::Call(HostCall { stream: handle, function, ticket: operation.ticket, begun });
    }
    if let Work::Await(remote) = &operation.work
        && !remote.is_done()
    {
        stream.running = true;
        return Step::Await(handle, remote.clone());
    }
    let at = Point { stream: handle, operation: stream.executed + 1 };
    let silent = operation.work.is_silent();
    let context = stream.context;
    // The operation has left its queue, so a panic must not leave it unfinished: waits for it would never end.
    let executed = catch_unwind(AssertUnwindSafe(|| {
        if let Work::Condition(run) = &mut operation.work
            && !condition::advance(state, run, at, (operation.ticket.as_deref(), operation.origin.as_ref()))
        {
            return Some(operation);
        }
        let accesses = (state.execute)(state, operation.work, at, operation.ticket.as_deref());
        if let Some(ticket) = &operation.ticket {
            edges::ran(state, ticket, &accesses);
        }
        None
    }));
    chosen::note_executed(state, at, silent);
    match executed {
        Ok(None) => {}
        Ok(Some(unfinished)) => {
            if let Some(stream) = state.streams.get_mut(&handle) {
                stream.queue.push_front(unfinished);
            }
            return Step::Done;
        }
        Err(_) => {
            eprintln!("{PANICKED}");
            state.fail_context(context, CUresult::CUDA_ERROR_UNKNOWN);
        }
    }
    if let Some(begun) = begun {
        begun.end(state);
    }
    if let Some(stream) = state.streams.get_mut(&handle) {
        stream.executed += 1;
    }
    lanes::remove_if_over(state, handle);
    Step::Done
}

/// Waits for another process, on behalf of a stream from which the wait was removed.
fn await_remote<'a>(driver: &'a Driver, state: Guard<'a>, handle: CUstream, remote: &Remote) -> Guard<'a> {
    drop(state);
    remote.event.wait(remote.generation);
    let mut state = driver.lock();
    operation_ends(driver, &mut state, handle);
    state
}

/// Marks the operation of a stream as executed that ran without the lock.
fn operation_ends(driver: &Driver, state: &mut State, handle: CUstream) {
    if let Some(stream) = state.streams.get_mut(&handle) {
        stream.running = false;
        stream.executed += 1;
        let at = Point { stream: handle, operation: stream.executed };
        chosen::note_executed(state, at, false);
    }
    lanes::remove_if_over(state, handle);
    driver.finished.notify_all();
}

/// Runs a host function that was removed from its stream.
fn run_host_function<'a>(driver: &'a Driver, mut state: Guard<'a>, call: HostCall) -> Guard<'a> {
    let HostCall { stream, function, ticket, begun } = call;
    let is_of_program = function.is_of_program();
    let ticket = ticket.filter(|_| is_of_program);
    if let Some(ticket) = &ticket {
        host::host_function_begins(&mut state, &ticket.clock);
    }
    drop(state);
    outside::call_outside(function);
    let mut state = driver.lock();
    if ticket.is_some() {
        host::host_function_ends(&mut state);
    }
    if let Some(begun) = begun {
        begun.end(&state);
    }
    if is_of_program {
        state.host_functions = state.host_functions.saturating_sub(1);
    }
    operation_ends(driver, &mut state, stream);
    state
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, Sim};
    use std::sync::Arc;

    const PTX: &std::ffi::CStr = c".version 8.0
.target sm_80
.address_size 64
.visible .entry nothing() { ret; }
";

    #[test]
    fn panic_in_a_kernel_fails_its_context_and_waits_end() {
        let sim = Sim::new(Config { quiet: true, ..Config::default() });
        let (api, _entered) = (sim.api(), sim.enter());
        let (mut context, mut module) = (CUcontext::NULL, CUmodule::NULL);
        let (mut function, none, mut byte) = (CUfunction::NULL, std::ptr::null_mut::<*mut std::ffi::c_void>(), 0);
        // SAFETY: the arguments are those that the driver's manual requires.
        unsafe {
            assert!(api.cuInit.unwrap()(0).is_success());
            assert!(api.cuCtxCreate_v2.unwrap()(&mut context, 0, 0).is_success());
            assert!(api.cuModuleLoadData.unwrap()(&mut module, PTX.as_ptr().cast()).is_success());
            assert!(api.cuModuleGetFunction.unwrap()(&mut function, module, c"nothing".as_ptr()).is_success());
            let launch = api.cuLaunchKernel.unwrap();
            assert!(launch(function, 1, 1, 1, 1, 1, 1, 0, CUstream::NULL, none, none).is_success());
        }
        {
            // Constants of the wrong length make the machine panic.
            let mut state = sim.driver.lock();
            let works = state.streams.values_mut().flat_map(|stream| &mut stream.queue);
            let launch = works.into_iter().find_map(|operation| match &mut operation.work {
                Work::Launch(launch) => Arc::get_mut(launch),
                _ => None,
            });
            launch.unwrap().constants = Arc::new(vec![0; 1000]);
        }
        // SAFETY: as above.
        unsafe {
            assert_eq!(api.cuCtxSynchronize.unwrap()(), CUresult::CUDA_ERROR_UNKNOWN);
            let allocated = api.cuMemAlloc_v2.unwrap()(&mut byte, 1);
            assert_eq!(allocated, CUresult::CUDA_ERROR_UNKNOWN);
        }
        assert!(sim.report().findings.is_empty());
        // SAFETY: as above.
        assert!(unsafe { api.cuCtxDestroy_v2.unwrap()(context).is_success() });
    }
}
