//! Events, dropped ordering calls, host functions and host threads.

use super::*;
use cuarray_sim::HostOrder;
use std::sync::atomic::{AtomicBool, Ordering};

/// A write in one stream, an edge, and a write in another.
fn edge(program: &Program) {
    let (one, other) = (program.stream(CU_STREAM_NON_BLOCKING), program.stream(CU_STREAM_NON_BLOCKING));
    let (memory, event) = (program.alloc(64), program.event());
    program.fill(memory, 1, 64, one);
    ok!(program, cuEventRecord(event, one));
    ok!(program, cuStreamWaitEvent(other, event, 0));
    program.fill(memory, 2, 64, other);
}

#[test]
fn event_wait_is_an_edge() {
    under_each_schedule(|program| {
        edge(program);
        clean(program);
    });
}

#[test]
fn history_shows_edges() {
    let program = Program::new();
    edge(&program);
    let operations = program.sim.report().operations;
    let of = |call| operations.iter().find(|operation| operation.call == call).unwrap();
    assert_eq!(of("cuStreamWaitEvent").after, [of("cuEventRecord").ordinal]);
    assert!(of("cuMemsetD8Async").after.is_empty());
}

#[test]
fn event_recorded_before_the_work_is_no_edge() {
    under_each_schedule(|program| {
        let (one, other, memory, event) = (program.stream(0), program.stream(0), program.alloc(64), program.event());
        ok!(program, cuEventRecord(event, one));
        program.fill(memory, 1, 64, one);
        ok!(program, cuStreamWaitEvent(other, event, 0));
        program.fill(memory, 2, 64, other);
        assert_eq!(kinds(program), [Kind::DataRace]);
    });
}

#[test]
fn event_wait_uses_the_recording_at_the_time_of_the_wait() {
    under_each_schedule(|program| {
        let (one, other, memory, event) = (program.stream(0), program.stream(0), program.alloc(64), program.event());
        program.fill(memory, 1, 64, one);
        ok!(program, cuEventRecord(event, one));
        ok!(program, cuStreamWaitEvent(other, event, 0));
        // A new recording, in a stream without edges, does not change earlier waits.
        ok!(program, cuEventRecord(event, program.stream(0)));
        program.fill(memory, 2, 64, other);
        clean(program);
        // A later wait is ordered by the new recording only.
        let third = program.stream(0);
        ok!(program, cuStreamWaitEvent(third, event, 0));
        program.fill(memory, 3, 64, third);
        assert_eq!(kinds(program), [Kind::DataRace]);
    });
}

#[test]
fn unrecorded_event_is_no_edge() {
    under_each_schedule(|program| {
        let (one, other, memory, event) = (program.stream(0), program.stream(0), program.alloc(64), program.event());
        program.fill(memory, 1, 64, one);
        ok!(program, cuStreamWaitEvent(other, event, 0));
        ok!(program, cuEventSynchronize(event));
        program.fill(memory, 2, 64, other);
        assert_eq!(kinds(program), [Kind::DataRace]);
    });
}

#[test]
fn destroyed_event_still_orders_its_waiters() {
    under_each_schedule(|program| {
        let (one, other, memory, event) = (program.stream(0), program.stream(0), program.alloc(64), program.event());
        program.fill(memory, 1, 64, one);
        ok!(program, cuEventRecord(event, one));
        ok!(program, cuStreamWaitEvent(other, event, 0));
        ok!(program, cuEventDestroy_v2(event));
        program.fill(memory, 2, 64, other);
        clean(program);
    });
}

#[test]
fn event_synchronization_orders_the_work_before_the_event() {
    for (wait, late) in [(true, false), (true, true), (false, false)] {
        under_each_schedule(|program| {
            let (one, other, event) = (program.stream(0), program.stream(0), program.event());
            let memory = program.alloc(64);
            program.fill(memory, 1, 32, one);
            ok!(program, cuEventRecord(event, one));
            program.fill(memory + 32, 1, 32, one);
            match wait {
                true => ok!(program, cuEventSynchronize(event)),
                false => while call!(program, cuEventQuery(event)) != CUresult::CUDA_SUCCESS {},
            }
            program.fill(memory + if late { 32 } else { 0 }, 2, 32, other);
            assert_eq!(!kinds(program).is_empty(), late);
        });
    }
}

#[test]
fn edges_are_transitive() {
    under_each_schedule(|program| {
        let streams: Vec<CUstream> = (0..5).map(|_| program.stream(CU_STREAM_NON_BLOCKING)).collect();
        let memory = program.alloc(64);
        for pair in streams.windows(2) {
            program.fill(memory, 1, 64, pair[0]);
            let event = program.event();
            ok!(program, cuEventRecord(event, pair[0]));
            ok!(program, cuStreamWaitEvent(pair[1], event, 0));
        }
        program.fill(memory, 2, 64, streams[4]);
        clean(program);
        program.fill(memory, 2, 64, streams[1]);
        assert_eq!(kinds(program), [Kind::DataRace]);
    });
}

#[test]
fn dropped_ordering_call_orders_nothing() {
    under_each_schedule(|program| {
        program.sim.drop_ordering(0);
        edge(program);
        assert_eq!(program.sim.ordering_calls(), 2);
        clean(program);
        for nth in [1, 2] {
            program.sim.clear_findings();
            program.sim.drop_ordering(nth);
            edge(program);
            assert_eq!(kinds(program), [Kind::DataRace], "call {nth}");
        }
        program.sim.clear_findings();
        program.sim.drop_ordering(3);
        edge(program);
        clean(program);
    });
}

#[test]
fn dropped_synchronization_does_not_wait() {
    let program = Program::new();
    let (stream, memory) = (program.stream(0), program.alloc(1));
    ok!(program, cuMemsetD8_v2(memory, 1, 1));
    ok!(program, cuCtxSynchronize());
    for wait in ["stream", "context", "event"] {
        program.sim.drop_ordering(1);
        program.fill(memory, 1, 1, stream);
        match wait {
            "stream" => ok!(program, cuStreamSynchronize(stream)),
            "context" => ok!(program, cuCtxSynchronize()),
            _ => {
                let event = program.event();
                program.sim.drop_ordering(2);
                ok!(program, cuEventRecord(event, stream));
                ok!(program, cuEventSynchronize(event));
            }
        }
        assert!(program.statistic("pending_operations") > 0, "{wait}");
        program.sim.drop_ordering(0);
        ok!(program, cuCtxSynchronize());
    }
}

unsafe extern "C" fn nothing(_: *mut c_void) {}

#[test]
fn host_function_is_ordered_in_its_stream() {
    under_each_schedule(|program| {
        let (one, other, memory) = (program.stream(0), program.stream(0), program.alloc(64));
        program.fill(memory, 1, 64, one);
        ok!(program, cuLaunchHostFunc(one, Some(nothing), std::ptr::null_mut()));
        program.fill(memory, 2, 64, one);
        ok!(program, cuStreamSynchronize(one));
        program.fill(memory, 3, 64, other);
        clean(program);
    });
}

#[test]
fn pending_host_function_orders_nothing() {
    let program = Program::new();
    let (one, other, memory) = (program.stream(0), program.stream(0), program.alloc(64));
    program.fill(memory, 1, 64, one);
    ok!(program, cuLaunchHostFunc(one, Some(nothing), std::ptr::null_mut()));
    program.fill(memory, 2, 64, other);
    assert_eq!(kinds(&program), [Kind::DataRace]);
}

/// The flags through which a host function and another thread signal each other.
#[derive(Default)]
struct Signals {
    begun: AtomicBool,
    may_return: AtomicBool,
}

unsafe extern "C" fn signal_and_wait(signals: *mut c_void) {
    // SAFETY: the test passes a `Signals` that outlives the function.
    let signals = unsafe { &*signals.cast::<Signals>() };
    signals.begun.store(true, Ordering::SeqCst);
    while !signals.may_return.load(Ordering::SeqCst) {
        std::thread::yield_now();
    }
}

/// Two writes in two streams. Before it returns, a host function signals the first write to the thread that makes the
/// second. With `waits`, another thread synchronizes with the stream; without it, the driver runs the function by
/// itself.
fn signalled_by_a_host_function(host_order: HostOrder, waits: bool) -> Vec<Kind> {
    let program = Program::with(Config { host_order, ..Config::default() });
    let (one, other, memory) = (program.stream(0), program.stream(0), program.alloc(64));
    let signals = Signals::default();
    program.fill(memory, 1, 64, one);
    ok!(program, cuLaunchHostFunc(one, Some(signal_and_wait), (&raw const signals).cast_mut().cast()));
    let (sim, context) = (program.sim.clone(), program.context);
    std::thread::scope(|scope| {
        if waits {
            scope.spawn(move || {
                let program = Program::over(&sim);
                ok!(program, cuCtxSetCurrent(context));
                ok!(program, cuStreamSynchronize(one));
            });
        }
        while !signals.begun.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        program.fill(memory, 2, 64, other);
        signals.may_return.store(true, Ordering::SeqCst);
    });
    ok!(program, cuStreamSynchronize(one));
    kinds(&program)
}

#[test]
fn host_function_orders_a_thread_that_it_signals_before_it_returns() {
    for waits in [true, false] {
        assert_eq!(signalled_by_a_host_function(HostOrder::Calls, waits), []);
        assert_eq!(signalled_by_a_host_function(HostOrder::Driver, waits), [Kind::DataRace]);
    }
}

/// Two writes by two threads, each in its own default stream; the first thread synchronizes after its write.
fn two_threads(host_order: HostOrder, hand_over: bool) -> Vec<Kind> {
    let program = Program::with(Config { host_order, ..Config::default() });
    let memory = program.alloc(64);
    if hand_over {
        program.sim.hand_over(1);
    }
    program.in_thread(|program| {
        if hand_over {
            program.sim.take_over(1);
        }
        program.fill(memory, 1, 64, CU_STREAM_PER_THREAD);
        ok!(program, cuStreamSynchronize(CU_STREAM_PER_THREAD));
        if hand_over {
            program.sim.hand_over(2);
        }
    });
    if hand_over {
        program.sim.take_over(2);
    }
    program.fill(memory, 2, 64, CU_STREAM_PER_THREAD);
    kinds(&program)
}

#[test]
fn threads_are_ordered_by_their_calls_or_by_explicit_hand_over() {
    assert_eq!(two_threads(HostOrder::Calls, false), []);
    assert_eq!(two_threads(HostOrder::Driver, false), [Kind::DataRace]);
    assert_eq!(two_threads(HostOrder::Driver, true), []);
}
