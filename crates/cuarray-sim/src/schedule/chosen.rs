//! Schedules that are chosen: at each moment any ready operation of any stream may be the next.
//!
//! Device work and the program run beside each other, so in principle every operation may happen at any moment between the
//! call that enqueued it and the one that waits for it. Most of these moments cannot be told apart. Work on device memory
//! alone shows only in the order of the operations, not in where between two calls they ran; so it is put off until
//! something looks, and then the order of *all* ready work, also of what is not waited for, is a choice. Three
//! things look:
//!
//! - a call that waits: operations are chosen until what it waits for has happened;
//! - a query: whether it comes before or after the end of its work is a choice of two;
//! - the program itself, at host memory that work reads or writes (pinned, registered, managed): after every call that has
//!   enqueued, waited or asked, it is a choice whether such an operation happens now or later.
//!
//! Waits and event records touch no memory: they run as soon as they can, and are no choice. A host function is run only
//! by a call that has to wait for it: it may itself be waiting for the thread that makes any other call.
//!
//! The options of a choice are in an order that depends on nothing but the program: what is needed before what is not, the
//! stream that ran last before the others, older streams before younger. So the first option is the lazy schedule.

use super::choices::{Choice, Choices};
use super::random::Random;
use super::scheduler::{Replay, Scheduler};
use super::{Point, Step, Work};
use crate::config::Schedule;
use crate::copy::Source;
use crate::driver::{Answer, Driver, Guard};
use crate::state::State;
use cuarray_abi::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;

/// The schedule of a driver while it runs.
pub(crate) enum Mode {
    Lazy,
    Eager,
    Chosen(Box<Chooser>),
}

/// What a chosen schedule remembers.
pub(crate) struct Chooser {
    schedule: Schedule,
    scheduler: Box<dyn Scheduler>,
    made: Choices,
    /// Why the schedule does not fit the program.
    misfit: Option<String>,
    /// The stream that ran last.
    last: Option<CUstream>,
    /// Pending operations that the program can see without a call.
    visible: BTreeSet<(CUstream, u64)>,
    /// How many of those have run.
    seen: u64,
    /// Whether work was enqueued, waited or asked for since the program was last given the chance to see some.
    stirred: bool,
    /// Whether the last query was left unanswered, and nothing has run since.
    polled: bool,
}

impl Mode {
    pub(crate) fn of(schedule: &Schedule) -> Mode {
        let scheduler: Box<dyn Scheduler> = match schedule {
            Schedule::Lazy => return Mode::Lazy,
            Schedule::Eager => return Mode::Eager,
            Schedule::Random(seed) => Box::new(Random::new(*seed)),
            Schedule::Replay(choices) => Box::new(Replay::new(choices.clone())),
        };
        Mode::Chosen(Box::new(Chooser {
            schedule: schedule.clone(),
            scheduler,
            made: Choices::default(),
            misfit: None,
            last: None,
            visible: BTreeSet::new(),
            seen: 0,
            stirred: false,
            polled: false,
        }))
    }

    fn chooser(&mut self) -> Option<&mut Chooser> {
        if let Mode::Chosen(chooser) = self { Some(chooser) } else { None }
    }

    /// The choices that were made.
    pub(crate) fn choices(&self) -> Choices {
        if let Mode::Chosen(chooser) = self { chooser.made.clone() } else { Choices::default() }
    }
}

impl State {
    /// Takes note of an operation that was just enqueued.
    pub(super) fn note_enqueued(&mut self, at: Point, work: &Work) {
        if self.mode.chooser().is_some() {
            let visible = self.seen_by_the_host(work);
            if let Some(chooser) = self.mode.chooser() {
                chooser.stirred = true;
                visible.then(|| chooser.visible.insert((at.stream, at.operation)));
            }
        }
    }

    /// Takes note of an operation that was just executed.
    pub(super) fn note_executed(&mut self, at: Point, silent: bool) {
        if let Some(chooser) = self.mode.chooser() {
            chooser.last = if silent { chooser.last } else { Some(at.stream) };
            chooser.polled = false;
            chooser.seen += u64::from(chooser.visible.remove(&(at.stream, at.operation)));
        }
    }

    /// Whether the program can tell without a call whether this work has been done.
    fn seen_by_the_host(&self, work: &Work) -> bool {
        let on_host = |address| self.memory.find(address).is_none_or(|allocation| !allocation.kind.on_device());
        match work {
            Work::Copy(copy) => {
                let from_host = matches!(&copy.source, Source::Memory(place) if on_host(place.address));
                from_host || on_host(copy.target.address)
            }
            Work::Fill(fill) => on_host(fill.target.address),
            Work::Wait | Work::Record(_) | Work::Allocate { .. } | Work::Release { .. } => false,
            // What a kernel touches is not known before it has run.
            Work::HostFunction(_) | Work::Launch(_) | Work::EndExec(_) => false,
        }
    }

    /// Makes a choice.
    fn choose(&mut self, options: usize) -> usize {
        let Some(chooser) = self.mode.chooser().filter(|chooser| chooser.misfit.is_none()) else { return 0 };
        let options = options.try_into().unwrap_or(u32::MAX);
        match chooser.scheduler.choose(options) {
            Ok(chosen) => {
                chooser.made.push(Choice { options, chosen });
                chosen as usize
            }
            Err(misfit) => {
                eprintln!("cuarray-sim: {misfit}");
                chooser.misfit = Some(misfit);
                0
            }
        }
    }

    /// How far each stream must get so that all these points happen.
    fn needed(&self, targets: impl IntoIterator<Item = Point>) -> BTreeMap<CUstream, u64> {
        let mut needed: BTreeMap<CUstream, u64> = BTreeMap::new();
        let mut wanted: Vec<Point> = targets.into_iter().collect();
        while let Some(point) = wanted.pop() {
            let Some(stream) = self.streams.get(&point.stream) else { continue };
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

    /// Whether a point can happen without a host function.
    fn within_reach(&self, point: Point) -> bool {
        self.needed([point]).iter().all(|(handle, last)| {
            let Some(stream) = self.streams.get(handle) else { return true };
            let first = stream.enqueued - stream.queue.len() as u64 + 1;
            let mut needed = stream.queue.iter().take((last + 1).saturating_sub(first) as usize);
            !stream.running && needed.all(|operation| !matches!(operation.work, Work::HostFunction(_)))
        })
    }

    /// The streams whose next operation can run, in the order of a choice's options.
    fn ready(&self, needed: &BTreeMap<CUstream, u64>) -> Vec<CUstream> {
        let last = if let Mode::Chosen(chooser) = &self.mode { chooser.last } else { None };
        let mut ready = Vec::new();
        for (handle, stream) in &self.streams {
            let Some(operation) = stream.queue.front().filter(|_| !stream.running) else { continue };
            let needs = needed.get(handle).is_some_and(|last| *last > stream.executed);
            let callable = needs || !matches!(operation.work, Work::HostFunction(_));
            if callable && operation.after.iter().all(|point| self.happened(*point)) {
                ready.push((!needs, Some(*handle) != last, stream.id, *handle));
            }
        }
        ready.sort_unstable();
        ready.into_iter().map(|(.., handle)| handle).collect()
    }
}

impl Driver {
    /// Changes the schedule. What is pending runs first, so that the new one begins with nothing.
    pub(crate) fn set_schedule(&self, schedule: &Schedule) {
        let mut state = self.lock();
        state.mode = Mode::Lazy;
        let contexts: Vec<CUcontext> = state.contexts.keys().copied().collect();
        state = self.exhaust(state, &contexts);
        state.mode = Mode::of(schedule);
        self.chooses.store(matches!(state.mode, Mode::Chosen(_)), Ordering::Relaxed);
    }

    /// The schedule that was set.
    pub(crate) fn schedule(&self) -> Schedule {
        match &self.lock().mode {
            Mode::Lazy => Schedule::Lazy,
            Mode::Eager => Schedule::Eager,
            Mode::Chosen(chooser) => chooser.schedule.clone(),
        }
    }

    /// The schedule that ran so far, to be replayed.
    pub(crate) fn schedule_ran(&self) -> Schedule {
        match &self.lock().mode {
            Mode::Lazy => Schedule::Lazy,
            Mode::Eager => Schedule::Eager,
            Mode::Chosen(chooser) => Schedule::Replay(chooser.made.clone()),
        }
    }

    /// Why the schedule does not fit the program: at a choice that differs, or because choices are left.
    pub(crate) fn misfit(&self) -> Option<String> {
        let state = self.lock();
        let Mode::Chosen(chooser) = &state.mode else { return None };
        let left = chooser.scheduler.left();
        let too_few = || {
            format!(
                "the schedule does not fit the program: the program made {} choices, the schedule has {left} more",
                chooser.made.len()
            )
        };
        chooser.misfit.clone().or_else(|| (left > 0).then(too_few))
    }

    /// Whether the schedule fits the program so far.
    ///
    /// # Errors
    /// `CUDA_ERROR_ILLEGAL_STATE` if not: nothing that is done from then on means anything.
    pub(crate) fn fits(&self) -> Answer {
        if !self.chooses.load(Ordering::Relaxed) {
            return Ok(());
        }
        match &self.lock().mode {
            Mode::Chosen(chooser) if chooser.misfit.is_some() => Err(CUresult::CUDA_ERROR_ILLEGAL_STATE),
            _ => Ok(()),
        }
    }

    /// At the end of a call: what the program could see happen before its next one, happens or does not.
    ///
    /// # Errors
    /// As [`Driver::fits`].
    pub(crate) fn between_calls(&self) -> Answer {
        if !self.chooses.load(Ordering::Relaxed) {
            return Ok(());
        }
        let mut state = self.lock();
        if !state.mode.chooser().is_some_and(|chooser| std::mem::take(&mut chooser.stirred)) {
            return Ok(());
        }
        loop {
            let Mode::Chosen(chooser) = &state.mode else { return Ok(()) };
            let seen = chooser.seen;
            let mut visible = chooser.visible.iter().map(|(stream, operation)| (*stream, *operation));
            let can = visible.any(|(stream, operation)| state.within_reach(Point { stream, operation }));
            if !can || state.choose(2) == 0 {
                break;
            }
            state = self.run_chosen(state, &BTreeMap::new(), |state| match &state.mode {
                Mode::Chosen(chooser) => chooser.seen > seen,
                _ => true,
            });
        }
        drop(state);
        self.fits()
    }

    /// Under a chosen schedule, decides whether a query comes before or after the end of its work.
    ///
    /// Two queries in a row that nothing happened between are no two moments: the second lets an operation happen, as every
    /// one does under the lazy schedule, so that polling ends. `true` asks for that.
    pub(crate) fn query<'a>(&'a self, mut state: Guard<'a>, targets: &[Point]) -> (Guard<'a>, bool) {
        match state.mode.chooser() {
            Some(chooser) => chooser.stirred = true,
            None => return (state, true),
        }
        if targets.is_empty() {
            return (state, false);
        }
        if targets.iter().all(|point| state.within_reach(*point)) && state.choose(2) == 1 {
            let needed = state.needed(targets.iter().copied());
            let state = self.run_chosen(state, &needed, |state| targets.iter().all(|point| state.happened(*point)));
            return (state, false);
        }
        let nudge = state.mode.chooser().is_none_or(|chooser| std::mem::replace(&mut chooser.polled, true));
        (state, nudge)
    }

    /// Makes points happen in a chosen order; under the other schedules, does nothing.
    pub(super) fn force_chosen<'a>(&'a self, mut state: Guard<'a>, targets: &[Point]) -> Guard<'a> {
        match state.mode.chooser() {
            Some(chooser) => chooser.stirred = true,
            None => return state,
        }
        let needed = state.needed(targets.iter().copied());
        self.run_chosen(state, &needed, |state| targets.iter().all(|point| state.happened(*point)))
    }

    /// Runs ready work in a chosen order until it is enough, or nothing can run without another thread.
    fn run_chosen<'a>(
        &'a self,
        mut state: Guard<'a>,
        needed: &BTreeMap<CUstream, u64>,
        enough: impl Fn(&State) -> bool,
    ) -> Guard<'a> {
        loop {
            if enough(&state) {
                return state;
            }
            let ready = state.ready(needed);
            let silent = ready.iter().find(|handle| {
                let next = state.streams.get(handle).and_then(|stream| stream.queue.front());
                next.is_some_and(|operation| operation.work.is_silent())
            });
            let stream = match (silent, ready.as_slice()) {
                (_, []) => return state,
                (Some(silent), _) => *silent,
                (None, [only]) => *only,
                (None, several) => several[state.choose(several.len()).min(several.len() - 1)],
            };
            if let Step::Call(stream, function, ticket) = self.execute_next(&mut state, stream) {
                state = self.call(state, stream, function, ticket);
            }
        }
    }
}
