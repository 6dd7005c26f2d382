//! Chosen schedules: replayed, random and exhaustive.

use crate::program::*;
use cuarray_sim::{Bounds, Choices, Exploration, explore};
use std::collections::BTreeMap;
use std::sync::Mutex;

const ALL: Bounds = Bounds { schedules: 100_000, deviations: None };

/// Runs a program under every schedule and counts each result.
fn outcomes<T: Ord>(bounds: Bounds, run: impl Fn(&Program) -> T) -> (Exploration, BTreeMap<T, u64>) {
    let outcomes = Mutex::new(BTreeMap::new());
    let exploration = explore(&Config::default(), bounds, |sim| {
        let outcome = run(&Program::over(sim));
        *outcomes.lock().unwrap().entry(outcome).or_insert(0) += 1;
    });
    (exploration.unwrap(), outcomes.into_inner().unwrap())
}

/// Runs a program under one schedule; returns its result and the choices that were made.
fn under<T>(schedule: Schedule, run: impl Fn(&Program) -> T) -> (T, Choices) {
    let program = Program::with(Config { schedule, ..Config::default() });
    let outcome = run(&program);
    assert_eq!(program.sim.schedule_mismatch(), None);
    (outcome, program.sim.choices())
}

/// A byte of device memory to which operations write their names; the last writer's name remains.
struct Last(CUdeviceptr);

impl Last {
    fn new(program: &Program) -> Last {
        Last(program.alloc(1))
    }

    fn write(&self, program: &Program, name: u8, stream: CUstream) {
        program.fill(self.0, name, 1, stream);
    }

    fn name(&self, program: &Program) -> u8 {
        program.peek(self.0)
    }
}

/// A program with `first` and `second` operations in two streams, then a synchronization of the context.
fn two_streams(first: u8, second: u8) -> impl Fn(&Program) -> u8 {
    move |program| {
        let last = Last::new(program);
        let streams = [0; 2].map(|_| program.stream(CU_STREAM_NON_BLOCKING));
        (0..first).for_each(|_| last.write(program, 1, streams[0]));
        (0..second).for_each(|_| last.write(program, 2, streams[1]));
        ok!(program, cuCtxSynchronize());
        last.name(program)
    }
}

#[test]
fn full_queue_runs_its_older_half() {
    for schedule in ["lazy", "random:5", "replay:"] {
        let config = Config { schedule: schedule.parse().unwrap(), findings: false, ..Config::default() };
        let program = Program::with(config);
        let (stream, first, last) = (program.stream(CU_STREAM_NON_BLOCKING), program.alloc(1), program.alloc(1));
        program.fill(first, 1, 1, stream);
        (0..65_534).for_each(|_| program.fill(last, 2, 1, stream));
        if schedule != "random:5" {
            assert_ne!(program.peek(first), 1, "{schedule}: one more operation fills the queue");
        }
        program.fill(last, 2, 1, stream);
        assert_eq!(program.peek(first), 1, "{schedule}");
        program.fill(last, 3, 1, stream);
        ok!(program, cuStreamSynchronize(stream));
        assert_eq!(program.peek(last), 3, "{schedule}");
    }
}

fn binomial(n: u64, k: u64) -> u64 {
    (0..k).fold(1, |product, index| product * (n - index) / (index + 1))
}

// Replay is tested first, because every other test of a schedule relies on it.

#[test]
fn replayed_schedule_repeats_the_choices_and_the_outcome() {
    let run = |program: &Program| {
        let streams = [0; 3].map(|_| program.stream(CU_STREAM_NON_BLOCKING));
        let (device, event) = (program.alloc(64), program.event());
        let pinned = program.pinned(64);
        let mut seen = Vec::new();
        for round in 0..40_u8 {
            let stream = streams[usize::from(round) % 3];
            program.fill(device + u64::from(round % 7), round, 20, stream);
            if round % 5 == 0 {
                ok!(program, cuEventRecord(event, stream));
                ok!(program, cuStreamWaitEvent(streams[usize::from(round / 5) % 3], event, 0));
            }
            if round % 4 == 0 {
                ok!(program, cuMemcpyDtoHAsync_v2(pinned.cast(), device, 64, stream));
                seen.push(read(pinned));
            }
            if round % 6 == 0 {
                seen.push(u8::from(call!(program, cuEventQuery(event)).is_success()));
            }
        }
        ok!(program, cuStreamSynchronize(streams[1]));
        seen.push(program.peek(device + 19));
        ok!(program, cuCtxSynchronize());
        seen.extend((0..26).map(|index| program.peek(device + index)));
        seen
    };
    let mut different = std::collections::BTreeSet::new();
    for seed in 0..50 {
        let (outcome, choices) = under(Schedule::Random(seed), run);
        assert!(choices.len() > 20, "{choices}");
        assert_eq!(under(Schedule::Random(seed), run), (outcome.clone(), choices.clone()), "the same seed");
        // Through the text form, as in a user's settings.
        let written: Schedule = Schedule::Replay(choices.clone()).to_string().parse().unwrap();
        assert_eq!(under(written, run), (outcome.clone(), choices));
        different.insert(outcome);
    }
    assert!(different.len() > 25, "only {} outcomes of 50 seeds", different.len());
}

#[test]
fn schedule_without_choices_equals_the_lazy_one() {
    let run = |program: &Program| {
        let [first, second] = [0; 2].map(|_| program.stream(CU_STREAM_NON_BLOCKING));
        let (device, pinned) = (program.alloc(2), program.pinned(1));
        ok!(program, cuMemsetD8_v2(device, 1, 2));
        ok!(program, cuCtxSynchronize());
        program.fill(device, 7, 1, first);
        ok!(program, cuMemcpyDtoHAsync_v2(pinned.cast(), device, 1, second));
        let early = read(pinned);
        ok!(program, cuStreamSynchronize(second));
        (early, read(pinned), program.statistic("pending_operations"))
    };
    let lazy = under(Schedule::Lazy, run).0;
    assert_eq!(lazy, (0, 1, 1));
    let (outcome, choices) = under(Schedule::Replay(Choices::default()), run);
    assert_eq!((outcome, choices.deviations()), (lazy, 0));
}

#[test]
fn schedule_of_another_program_is_refused_without_hanging() {
    let three: Choices = "3:0".parse().unwrap();
    let program = Program::with(Config { schedule: Schedule::Replay(three), ..Config::default() });
    let streams = [0; 2].map(|_| program.stream(CU_STREAM_NON_BLOCKING));
    let device = program.alloc(1);
    streams.iter().for_each(|stream| program.fill(device, 1, 1, *stream));
    fails!(program, ILLEGAL_STATE, cuCtxSynchronize());
    let mismatch = program.sim.schedule_mismatch().unwrap();
    assert!(mismatch.contains("its choice 1 has 3 options, but the program has 2"), "{mismatch}");
    fails!(program, ILLEGAL_STATE, cuStreamSynchronize(streams[0]));
    program.sim.set_schedule(&Schedule::Lazy);
    ok!(program, cuStreamSynchronize(streams[0]));
}

#[test]
fn schedule_with_too_many_choices_is_refused() {
    let program = Program::with(Config { schedule: Schedule::Replay("2:10".parse().unwrap()), ..Config::default() });
    assert_eq!(two_streams(1, 1)(&program), 1);
    let mismatch = program.sim.schedule_mismatch().unwrap();
    assert!(mismatch.contains("the program made 1 choices, the schedule has 1 more"), "{mismatch}");
}

// Exhaustive schedules: their number and their outcomes are those that combinatorics gives.

#[test]
fn schedules_of_two_independent_streams_are_their_interleavings() {
    for (first, second) in [(0, 3), (1, 1), (2, 1), (2, 3), (3, 3), (4, 4), (5, 4)] {
        let (exploration, outcomes) = outcomes(ALL, two_streams(first, second));
        let (n, m) = (u64::from(first), u64::from(second));
        assert_eq!(exploration.schedules, binomial(n + m, n), "{n} and {m}");
        assert!(exploration.complete);
        // The first stream has the last operation in as many schedules as there are orders of the other operations.
        let last_is_first = if n == 0 { 0 } else { binomial(n + m - 1, n - 1) };
        assert_eq!(outcomes.get(&1).copied().unwrap_or(0), last_is_first);
    }
}

#[test]
fn synchronizing_one_of_two_streams_first_allows_the_same_orders() {
    for (n, m) in [(1, 2), (3, 2), (3, 3)] {
        let run = |program: &Program| {
            let last = Last::new(program);
            let streams = [0; 2].map(|_| program.stream(CU_STREAM_NON_BLOCKING));
            (0..n).for_each(|_| last.write(program, 1, streams[0]));
            (0..m).for_each(|_| last.write(program, 2, streams[1]));
            streams.iter().for_each(|stream| ok!(program, cuStreamSynchronize(*stream)));
            last.name(program)
        };
        assert_eq!(outcomes(ALL, run).0.schedules, binomial(n + m, n));
    }
}

#[test]
fn three_streams_have_a_multinomial_number_of_schedules() {
    let run = |program: &Program| {
        let device = program.alloc(1);
        for length in [2, 1, 3] {
            let stream = program.stream(CU_STREAM_NON_BLOCKING);
            (0..length).for_each(|_| program.fill(device, 0, 1, stream));
        }
        ok!(program, cuCtxSynchronize());
    };
    assert_eq!(outcomes(ALL, run).0.schedules, 60, "6! / (2! 1! 3!)");
}

#[test]
fn edge_removes_the_orders_that_it_forbids() {
    // Two streams of two operations; an event orders the first of one before the second of the other.
    let run = |program: &Program| {
        let last = Last::new(program);
        let (streams, event) = ([0; 2].map(|_| program.stream(CU_STREAM_NON_BLOCKING)), program.event());
        last.write(program, 1, streams[0]);
        ok!(program, cuEventRecord(event, streams[0]));
        last.write(program, 1, streams[0]);
        last.write(program, 2, streams[1]);
        ok!(program, cuStreamWaitEvent(streams[1], event, 0));
        last.write(program, 2, streams[1]);
        ok!(program, cuCtxSynchronize());
        last.name(program)
    };
    // Of the six orders of a a b b, one has both b before the first a.
    assert_eq!(outcomes(ALL, run).0.schedules, 5);
}

#[test]
fn legacy_stream_and_stream_order_leave_no_choice() {
    let run = |program: &Program| {
        let last = Last::new(program);
        for stream in [program.stream(0), CUstream::NULL, program.stream(0), CUstream::NULL] {
            (0..3).for_each(|_| last.write(program, 1, stream));
        }
        ok!(program, cuCtxSynchronize());
    };
    assert_eq!(outcomes(ALL, run).0.schedules, 1);
}

#[test]
fn bounds_omit_schedules_and_report_incompleteness() {
    let bounds = |schedules, deviations| Bounds { schedules, deviations };
    let count = |bounds| {
        let exploration = outcomes(bounds, two_streams(3, 3)).0;
        (exploration.schedules, exploration.complete)
    };
    assert_eq!(count(bounds(20, None)), (20, true));
    assert_eq!(count(bounds(19, None)), (19, false));
    assert_eq!(count(bounds(100, Some(0))), (1, false));
    // The lazy schedule runs one stream and then the other. One deviation leaves the first stream before its end, at
    // one of three places.
    assert_eq!(count(bounds(100, Some(1))), (4, false));
    assert_eq!(count(bounds(100, Some(6))), (20, true));
}

/// Fills in one stream, copies to pinned memory in another, and reads after the copy has been waited for.
fn exchange(edge: bool) -> impl Fn(&Program) -> u8 {
    move |program| {
        let (producer, consumer) = (program.stream(CU_STREAM_NON_BLOCKING), program.stream(CU_STREAM_NON_BLOCKING));
        let (device, pinned, event) = (program.alloc(8), program.pinned(8), program.event());
        ok!(program, cuMemsetD8_v2(device, 1, 8));
        ok!(program, cuCtxSynchronize());
        program.fill(device, 7, 8, producer);
        if edge {
            ok!(program, cuEventRecord(event, producer));
            ok!(program, cuStreamWaitEvent(consumer, event, 0));
        }
        ok!(program, cuMemcpyDtoHAsync_v2(pinned.cast(), device, 8, consumer));
        ok!(program, cuStreamSynchronize(consumer));
        let value = read(pinned);
        ok!(program, cuCtxSynchronize());
        value
    }
}

#[test]
fn missing_wait_has_two_outcomes_and_a_correct_program_has_one() {
    let (exploration, wrong) = outcomes(ALL, exchange(false));
    assert!(exploration.complete);
    assert_eq!(wrong.keys().copied().collect::<Vec<_>>(), [1, 7]);
    let (exploration, right) = outcomes(ALL, exchange(true));
    assert!(exploration.complete && exploration.schedules > 1);
    assert_eq!(right.keys().copied().collect::<Vec<_>>(), [7]);
    for seed in 0..100 {
        assert_eq!(under(Schedule::Random(seed), exchange(true)).0, 7);
    }
    let random: std::collections::BTreeSet<_> =
        (0..100).map(|seed| under(Schedule::Random(seed), exchange(false)).0).collect();
    assert_eq!(random.into_iter().collect::<Vec<_>>(), [1, 7]);
}

#[test]
fn first_failing_schedule_is_reported_and_fails_again() {
    let run = |program: &Program| assert_eq!(exchange(false)(program), 1, "too early");
    let exploration = outcomes(ALL, run).0;
    let failure = exploration.first_failure.unwrap();
    assert!(exploration.failures > 0 && exploration.failures < exploration.schedules);
    assert!(failure.message.contains("too early"), "{}", failure.message);
    assert_eq!(under(failure.schedule, exchange(false)).0, 7);
}

#[test]
fn host_may_see_pinned_and_managed_memory_change_at_any_moment() {
    let run = |program: &Program| {
        let (stream, device, pinned) = (program.stream(0), program.alloc(1), program.pinned(1));
        ok!(program, cuMemcpyHtoDAsync_v2(device, pinned.cast(), 1, stream));
        ok!(program, cuMemsetD8Async(pinned as CUdeviceptr, 7, 1, stream));
        let first = read(pinned);
        // Any call that enqueues lets the schedule run operations.
        program.fill(device, 0, 1, program.stream(CU_STREAM_NON_BLOCKING));
        let second = read(pinned);
        ok!(program, cuCtxSynchronize());
        (first, second, read(pinned))
    };
    let seen: Vec<_> = outcomes(ALL, run).1.into_keys().collect();
    assert_eq!(seen, [(0, 0, 7), (0, 7, 7), (7, 7, 7)]);
    // Managed memory behaves in the same way.
    let run = |program: &Program| {
        let mut managed = 0;
        ok!(program, cuMemAllocManaged(&mut managed, 4, CU_MEM_ATTACH_GLOBAL));
        program.fill(managed, 7, 4, CUstream::NULL);
        read(managed as *const u8)
    };
    assert_eq!(outcomes(ALL, run).1.into_keys().collect::<Vec<_>>(), [0, 7]);
}

#[test]
fn reusing_a_host_buffer_too_early_shows_both_outcomes() {
    let run = |program: &Program| {
        let (stream, device, pinned) = (program.stream(0), program.alloc(1), program.pinned(1));
        write(pinned, 3);
        ok!(program, cuMemcpyHtoDAsync_v2(device, pinned.cast(), 1, stream));
        write(pinned, 4);
        ok!(program, cuStreamSynchronize(stream));
        program.peek(device)
    };
    assert_eq!(outcomes(ALL, run).1.into_keys().collect::<Vec<_>>(), [3, 4]);
}

#[test]
fn event_query_may_succeed_early_or_late_and_polling_terminates() {
    let run = |program: &Program| {
        let (stream, event, device) = (program.stream(0), program.event(), program.alloc(1));
        (0..3).for_each(|_| program.fill(device, 7, 1, stream));
        ok!(program, cuEventRecord(event, stream));
        let mut polls = 1;
        while call!(program, cuEventQuery(event)) == CUresult::CUDA_ERROR_NOT_READY {
            polls += 1;
        }
        polls
    };
    let polls: Vec<_> = outcomes(ALL, run).1.into_keys().collect();
    assert_eq!(polls.first(), Some(&1));
    assert!(polls.len() > 3 && polls.last() < Some(&20), "{polls:?}");
    for seed in 0..20 {
        under(Schedule::Random(seed), run);
    }
}

static CALLED: Mutex<Vec<std::thread::ThreadId>> = Mutex::new(Vec::new());

extern "C" fn called(_: *mut c_void) {
    CALLED.lock().unwrap().push(std::thread::current().id());
}

#[test]
fn host_function_runs_only_in_a_call_that_needs_it() {
    let run = |program: &Program| {
        let (stream, other, pinned) = (program.stream(0), program.stream(0), program.pinned(1));
        let none = std::ptr::null_mut();
        ok!(program, cuLaunchHostFunc(stream, Some(called), none));
        ok!(program, cuMemsetD8Async(pinned as CUdeviceptr, 7, 1, stream));
        fails!(program, NOT_READY, cuStreamQuery(stream));
        ok!(program, cuMemsetD8Async(pinned as CUdeviceptr, 8, 1, other));
        ok!(program, cuStreamSynchronize(other));
        let before = CALLED.lock().unwrap().len();
        ok!(program, cuStreamSynchronize(stream));
        let calls = std::mem::take(&mut *CALLED.lock().unwrap());
        assert_eq!((before, calls.len()), (0, 1));
        assert_eq!(calls[0], std::thread::current().id());
        read(pinned)
    };
    assert_eq!(outcomes(ALL, run).1.into_keys().collect::<Vec<_>>(), [7]);
    under(Schedule::Random(3), run);
}

#[test]
fn unordered_use_of_stream_ordered_memory_may_lose_writes() {
    let run = |ordered: bool| {
        move |program: &Program| {
            let (one, other, event) = (program.stream(1), program.stream(1), program.event());
            let mut address = 0;
            ok!(program, cuMemAllocAsync(&mut address, 4, one));
            if ordered {
                ok!(program, cuEventRecord(event, one));
                ok!(program, cuStreamWaitEvent(other, event, 0));
            }
            program.fill(address, 7, 4, other);
            ok!(program, cuCtxSynchronize());
            program.peek(address)
        }
    };
    assert_eq!(outcomes(ALL, run(false)).1.into_keys().collect::<Vec<_>>(), [7, 255]);
    assert_eq!(outcomes(ALL, run(true)).1.into_keys().collect::<Vec<_>>(), [7]);
}

#[test]
fn program_that_differs_between_runs_is_refused() {
    let runs = Mutex::new(0);
    let error = explore(&Config::default(), ALL, |sim| {
        let mut runs = runs.lock().unwrap();
        *runs += 1;
        let program = Program::over(sim);
        let device = program.alloc(1);
        for _ in 0..*runs + 1 {
            program.fill(device, 1, 1, program.stream(CU_STREAM_NON_BLOCKING));
        }
        let _ = call!(program, cuCtxSynchronize());
    });
    assert!(error.unwrap_err().contains("the program is not deterministic"));
}

#[test]
fn hundred_thousand_operations_under_a_random_schedule_complete() {
    let run = |program: &Program| {
        let streams = [0; 4].map(|_| program.stream(CU_STREAM_NON_BLOCKING));
        let device = program.alloc(1);
        for index in 0..100_000 {
            program.fill(device, 1, 1, streams[index % 4]);
        }
        ok!(program, cuCtxSynchronize());
        program.statistic("pending_operations")
    };
    assert_eq!(under(Schedule::Random(1), run).0, 0);
}
