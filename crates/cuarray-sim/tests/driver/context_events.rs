//! Events that follow the work of a whole context, and contexts whose work follows an event.

use crate::program::*;

#[test]
fn event_of_a_context_follows_the_work_of_all_its_streams() {
    for schedule in [Schedule::Lazy, Schedule::Eager] {
        let p = Program::with(Config { schedule, ..Config::default() });
        let (one, two) = (p.stream(CU_STREAM_NON_BLOCKING), p.stream(CU_STREAM_NON_BLOCKING));
        let (first, second, event) = (p.pinned(1), p.pinned(1), p.event());
        p.fill(first as u64, 7, 1, one);
        p.fill(second as u64, 9, 1, two);
        ok!(p, cuCtxRecordEvent(p.context, event));
        ok!(p, cuEventSynchronize(event));
        assert_eq!((read(first), read(second)), (7, 9));
        assert_eq!(p.sim.report().text(false), "");
        ok!(p, cuEventDestroy_v2(event));
    }
}

#[test]
fn work_after_the_record_is_not_in_the_event() {
    let p = Program::new();
    let (stream, memory, event) = (p.stream(CU_STREAM_NON_BLOCKING), p.pinned(1), p.event());
    p.fill(memory as u64, 7, 1, stream);
    ok!(p, cuCtxRecordEvent(p.context, event));
    p.fill(memory as u64, 9, 1, stream);
    ok!(p, cuEventSynchronize(event));
    assert_eq!(read(memory), 7, "the second fill is pending, so this read races with it");
    assert_eq!(p.sim.report().findings.len(), 1);
}

#[test]
fn streams_of_a_waiting_context_follow_the_event() {
    let p = Program::new();
    let (writer, old) = (p.stream(CU_STREAM_NON_BLOCKING), p.stream(CU_STREAM_NON_BLOCKING));
    let (from, event) = (p.alloc(1), p.event());
    p.fill(from, 7, 1, writer);
    ok!(p, cuEventRecord(event, writer));
    ok!(p, cuCtxWaitEvent(p.context, event));
    let new = p.stream(CU_STREAM_NON_BLOCKING);
    for stream in [old, new, CU_STREAM_PER_THREAD, CU_STREAM_LEGACY] {
        let to = p.alloc(1);
        ok!(p, cuMemcpyAsync(to, from, 1, stream));
        ok!(p, cuStreamSynchronize(stream));
        assert_eq!(p.peek(to), 7);
    }
    assert_eq!(p.sim.report().text(false), "");
}

#[test]
fn context_of_another_device_waits_for_an_event() {
    let p = Program::with(Config { devices: 2, ..Config::default() });
    let (writer, memory, event) = (p.stream(CU_STREAM_NON_BLOCKING), p.pinned(2), p.event());
    p.fill(memory as u64, 7, 1, writer);
    ok!(p, cuCtxRecordEvent(p.context, event));
    let other = p.primary(1);
    ok!(p, cuCtxWaitEvent(other, event));
    ok!(p, cuCtxSetCurrent(other));
    let stream = p.stream(CU_STREAM_NON_BLOCKING);
    ok!(p, cuMemcpyAsync(memory as u64 + 1, memory as u64, 1, stream));
    ok!(p, cuStreamSynchronize(stream));
    assert_eq!(read(memory.wrapping_add(1)), 7);
    assert_eq!(p.sim.report().text(false), "");
}

#[test]
fn event_that_was_never_recorded_waits_for_nothing() {
    let p = Program::new();
    let (stream, memory) = (p.stream(0), p.alloc(1));
    ok!(p, cuCtxWaitEvent(p.context, p.event()));
    p.fill(memory, 1, 1, stream);
    ok!(p, cuStreamSynchronize(stream));
}

#[test]
fn later_wait_replaces_an_earlier_one_for_its_stream() {
    let p = Program::new();
    let (writer, reader, event) = (p.stream(CU_STREAM_NON_BLOCKING), p.stream(CU_STREAM_NON_BLOCKING), p.event());
    let from = p.alloc(1);
    for value in 1..=3 {
        let to = p.alloc(1);
        p.fill(from, value, 1, writer);
        ok!(p, cuEventRecord(event, writer));
        ok!(p, cuCtxWaitEvent(p.context, event));
        ok!(p, cuMemcpyAsync(to, from, 1, reader));
        ok!(p, cuStreamSynchronize(reader));
        assert_eq!(p.peek(to), value);
    }
    assert_eq!(p.sim.report().text(false), "");
}

#[test]
fn invalid_contexts_and_events_are_refused() {
    let p = Program::with(Config { devices: 2, ..Config::default() });
    let (event, other) = (p.event(), p.primary(1));
    fails!(p, INVALID_CONTEXT, cuCtxRecordEvent(CUcontext::NULL, event));
    fails!(p, INVALID_CONTEXT, cuCtxWaitEvent(CUcontext(1234), event));
    fails!(p, INVALID_HANDLE, cuCtxRecordEvent(other, event));
    fails!(p, INVALID_HANDLE, cuCtxRecordEvent(p.context, CUevent(1234)));
    fails!(p, INVALID_HANDLE, cuCtxWaitEvent(p.context, CUevent::NULL));
}

#[test]
fn capture_in_the_context_is_invalidated() {
    let p = Program::new();
    let (stream, event) = (p.stream(CU_STREAM_NON_BLOCKING), p.event());
    for waits in [false, true] {
        ok!(p, cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
        match waits {
            false => fails!(p, STREAM_CAPTURE_UNSUPPORTED, cuCtxRecordEvent(p.context, event)),
            true => fails!(p, STREAM_CAPTURE_UNSUPPORTED, cuCtxWaitEvent(p.context, event)),
        }
        let mut graph = CUgraph::NULL;
        fails!(p, STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream, &mut graph));
    }
}
