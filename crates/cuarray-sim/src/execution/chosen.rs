//! Chosen schedules: at each moment any ready operation of any stream may be the next.
//!
//! Device work runs concurrently with the program, so an operation may happen at any moment between the call that
//! enqueued it and the call that waits for it. Most of these moments are indistinguishable. For work on device memory
//! alone, only the order of operations can be observed, not their place between calls. So such work is deferred until
//! an observation. Then the order of *all* ready work is a choice, including work that is not waited for. There are
//! three kinds of observation:
//!
//! - a call that waits: operations are chosen until those that the call waits for have happened;
//! - a query: whether it comes before or after the end of its work is a choice of two options;
//! - the program's own access to host memory (pinned, registered, managed) that work reads or writes: after every call
//!   that enqueued, waited or queried, whether such an operation happens now or later is a choice.
//!
//! Waits and event records access no memory: they run as soon as possible, without a choice. A host function runs
//! only in a call that must wait for it, because the function may itself wait for the thread of any other call.
//!
//! The order of a choice's options depends only on the program: needed streams first, then the stream that ran last,
//! then older streams before younger ones. So the first option is always the option of the lazy schedule.

use super::Step;
use crate::driver::{Driver, Guard};
use crate::execution::{self, drain, words};
use crate::objects::copy::Source;
use crate::objects::point::Point;
use crate::objects::work::{Operation, Work};
use crate::schedule::Schedule;
use crate::schedule::choices::Choice;
use crate::schedule::mode::Mode;
use crate::state::State;
use cuarray_abi::*;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

/// Records an operation that was just enqueued.
pub(super) fn note_enqueued(state: &mut State, at: Point, work: &Work) {
    if state.mode.chooser().is_some() {
        let visible = seen_by_the_host(state, work);
        if let Some(chooser) = state.mode.chooser() {
            chooser.stirred = true;
            visible.then(|| chooser.visible.insert((at.stream, at.operation)));
        }
    }
}

/// Records an operation that was just executed.
pub(super) fn note_executed(state: &mut State, at: Point, silent: bool) {
    if let Some(chooser) = state.mode.chooser() {
        chooser.last = if silent { chooser.last } else { Some(at.stream) };
        chooser.polled = false;
        chooser.seen += u64::from(chooser.visible.remove(&(at.stream, at.operation)));
    }
}

/// Whether the program can observe, without a call, that this work is done.
fn seen_by_the_host(state: &State, work: &Work) -> bool {
    let on_host = |address| state.memory.find(address).is_none_or(|allocation| !allocation.kind.on_device());
    match work {
        Work::Copy(copy) => {
            let from_host = matches!(&copy.source, Source::Memory(place) if on_host(place.address));
            from_host || on_host(copy.target.address)
        }
        Work::Fill(fill) => on_host(fill.target.address),
        Work::Memory(operation) => operation.writes() && operation.word().is_some_and(|word| on_host(word.address)),
        Work::Wait | Work::Record(_) | Work::Allocate { .. } | Work::Release { .. } => false,
        // The accesses of a kernel are not known before it has run.
        Work::HostFunction(_) | Work::Await(_) | Work::Launch(_) | Work::Condition(_) => false,
        Work::Assign(_) | Work::EndExec(_) => false,
    }
}

/// Makes a choice.
fn choose(state: &mut State, options: usize) -> usize {
    let Some(chooser) = state.mode.chooser().filter(|chooser| chooser.mismatch.is_none()) else { return 0 };
    let options = options.try_into().unwrap_or(u32::MAX);
    match chooser.scheduler.choose(options) {
        Ok(chosen) => {
            chooser.made.push(Choice { options, chosen });
            chosen as usize
        }
        Err(mismatch) => {
            eprintln!("cuarray-sim: {mismatch}");
            chooser.mismatch = Some(mismatch);
            0
        }
    }
}

/// Chooses one of the nodes of a body that can run next.
pub(super) fn choose_step(state: &mut State, options: usize) -> usize {
    if options > 1 { choose(state, options).min(options - 1) } else { 0 }
}

/// For each stream, its last operation that must run for these points to happen.
pub(super) fn needed_for(state: &State, targets: impl IntoIterator<Item = Point>) -> BTreeMap<CUstream, u64> {
    let mut needed: BTreeMap<CUstream, u64> = BTreeMap::new();
    let mut wanted: Vec<Point> = targets.into_iter().collect();
    while let Some(point) = wanted.pop() {
        let Some(stream) = state.streams.get(&point.stream) else { continue };
        let known = needed.get(&point.stream).copied().unwrap_or(stream.executed);
        if point.operation <= known {
            continue;
        }
        needed.insert(point.stream, point.operation);
        let first = stream.enqueued - stream.queue.len() as u64 + 1;
        let (from, to) = ((known + 1).max(first), point.operation + 1);
        let operations = stream.queue.range((from - first) as usize..to.saturating_sub(first) as usize);
        wanted.extend(operations.flat_map(|operation| operation.after.iter().copied()));
    }
    needed
}

/// Whether a point can happen without a host function or another process.
fn within_reach(state: &State, point: Point) -> bool {
    needed_for(state, [point]).iter().all(|(handle, last)| {
        let Some(stream) = state.streams.get(handle) else { return true };
        let first = stream.enqueued - stream.queue.len() as u64 + 1;
        let mut needed = stream.queue.iter().take((last + 1).saturating_sub(first) as usize);
        let free = |operation: &Operation| {
            !operation.work.depends_on_others() && !words::is_blocked(state, *handle, &operation.work)
        };
        !stream.running && needed.all(free)
    })
}

/// The streams whose next operation can run, in the order of a choice's options.
pub(super) fn ready_streams(state: &State, needed: &BTreeMap<CUstream, u64>) -> Vec<CUstream> {
    let last = if let Mode::Chosen(chooser) = &state.mode { chooser.last } else { None };
    let mut ready = Vec::new();
    for (handle, stream) in &state.streams {
        let Some(operation) = stream.queue.front().filter(|_| !stream.running) else { continue };
        let needs = needed.get(handle).is_some_and(|last| *last > stream.executed);
        let callable = needs || !operation.work.depends_on_others();
        let callable = callable && !words::is_blocked(state, *handle, &operation.work);
        if callable && operation.after.iter().all(|point| state.happened(*point)) {
            ready.push((!needs, Some(*handle) != last, stream.id, *handle));
        }
    }
    ready.sort_unstable();
    ready.into_iter().map(|(.., handle)| handle).collect()
}

/// Changes the schedule. Pending work runs first, so that the new schedule begins with empty streams.
pub(crate) fn set_schedule(driver: &Driver, schedule: &Schedule) {
    let mut state = driver.lock();
    state.mode = Mode::Lazy;
    let contexts: Vec<CUcontext> = state.contexts.keys().copied().collect();
    state = drain::exhaust(driver, state, &contexts);
    state.mode = Mode::of(schedule);
    driver.chooses.store(matches!(state.mode, Mode::Chosen(_)), Ordering::Relaxed);
}

/// The schedule that was set.
pub(crate) fn schedule_set(driver: &Driver) -> Schedule {
    match &driver.lock().mode {
        Mode::Lazy => Schedule::Lazy,
        Mode::Eager => Schedule::Eager,
        Mode::Chosen(chooser) => chooser.schedule.clone(),
    }
}

/// The schedule that ran so far, for replay.
pub(crate) fn schedule_ran(driver: &Driver) -> Schedule {
    match &driver.lock().mode {
        Mode::Lazy => Schedule::Lazy,
        Mode::Eager => Schedule::Eager,
        Mode::Chosen(chooser) => Schedule::Replay(chooser.made.clone()),
    }
}

/// The reason why the schedule does not fit the program: a choice has other options, or choices are left over.
pub(crate) fn mismatch(driver: &Driver) -> Option<String> {
    let state = driver.lock();
    let Mode::Chosen(chooser) = &state.mode else { return None };
    let left = chooser.scheduler.left();
    let too_few = || {
        format!(
            "the schedule does not fit the program: the program made {} choices, the schedule has {left} more",
            chooser.made.len()
        )
    };
    chooser.mismatch.clone().or_else(|| (left > 0).then(too_few))
}

/// Whether the schedule fits the program so far.
///
/// # Errors
/// `CUDA_ERROR_ILLEGAL_STATE` if the schedule does not fit; the results of later work are then meaningless.
pub(crate) fn fits(driver: &Driver) -> Result<(), CUresult> {
    if !driver.chooses.load(Ordering::Relaxed) {
        return Ok(());
    }
    match &driver.lock().mode {
        Mode::Chosen(chooser) if chooser.mismatch.is_some() => Err(CUresult::CUDA_ERROR_ILLEGAL_STATE),
        _ => Ok(()),
    }
}

/// At the end of a call, decides which operations happen that the program could observe before its next call.
///
/// # Errors
/// As [`fits`].
pub(crate) fn between_calls(driver: &Driver) -> Result<(), CUresult> {
    if !driver.chooses.load(Ordering::Relaxed) {
        return Ok(());
    }
    let mut state = driver.lock();
    if !state.mode.chooser().is_some_and(|chooser| std::mem::take(&mut chooser.stirred)) {
        return Ok(());
    }
    loop {
        let Mode::Chosen(chooser) = &state.mode else { return Ok(()) };
        let seen = chooser.seen;
        let mut visible = chooser.visible.iter().map(|(stream, operation)| (*stream, *operation));
        let can = visible.any(|(stream, operation)| within_reach(&state, Point { stream, operation }));
        if !can || choose(&mut state, 2) == 0 {
            break;
        }
        state = run_chosen(driver, state, &BTreeMap::new(), |state| match &state.mode {
            Mode::Chosen(chooser) => chooser.seen > seen,
            _ => true,
        });
    }
    drop(state);
    fits(driver)
}

/// Decides under a chosen schedule whether a query comes before or after the end of its work.
///
/// No work runs between two consecutive queries, so they are one moment. The second query returns `true` to
/// request that one operation runs, as every query does under the lazy schedule, so that polling ends.
pub(crate) fn query<'a>(driver: &'a Driver, mut state: Guard<'a>, targets: &[Point]) -> (Guard<'a>, bool) {
    match state.mode.chooser() {
        Some(chooser) => chooser.stirred = true,
        None => return (state, true),
    }
    if targets.is_empty() {
        return (state, false);
    }
    if targets.iter().all(|point| within_reach(&state, *point)) && choose(&mut state, 2) == 1 {
        let needed = needed_for(&state, targets.iter().copied());
        let state = run_chosen(driver, state, &needed, |state| targets.iter().all(|point| state.happened(*point)));
        return (state, false);
    }
    let nudge = state.mode.chooser().is_none_or(|chooser| std::mem::replace(&mut chooser.polled, true));
    (state, nudge)
}

/// Makes points happen in a chosen order. Under the other schedules it has no effect.
pub(super) fn force_chosen<'a>(driver: &'a Driver, mut state: Guard<'a>, targets: &[Point]) -> Guard<'a> {
    match state.mode.chooser() {
        Some(chooser) => chooser.stirred = true,
        None => return state,
    }
    let needed = needed_for(&state, targets.iter().copied());
    run_chosen(driver, state, &needed, |state| targets.iter().all(|point| state.happened(*point)))
}

/// Runs ready work in a chosen order until `enough`, or until nothing can run without another thread.
fn run_chosen<'a>(
    driver: &'a Driver,
    mut state: Guard<'a>,
    needed: &BTreeMap<CUstream, u64>,
    enough: impl Fn(&State) -> bool,
) -> Guard<'a> {
    loop {
        if enough(&state) {
            return state;
        }
        let ready = ready_streams(&state, needed);
        let silent = ready.iter().find(|handle| {
            let next = state.streams.get(handle).and_then(|stream| stream.queue.front());
            next.is_some_and(|operation| operation.work.is_silent())
        });
        let stream = match (silent, ready.as_slice()) {
            (_, []) => return state,
            (Some(silent), _) => *silent,
            (None, [only]) => *only,
            (None, several) => several[choose(&mut state, several.len()).min(several.len() - 1)],
        };
        match execution::execute_next(&mut state, stream) {
            Step::Call(call) => {
                state = execution::run_host_function(driver, state, call);
            }
            Step::Await(stream, remote) => state = execution::await_remote(driver, state, stream, &remote),
            Step::Done | Step::Busy | Step::Blocked(_) => {}
        }
    }
}
