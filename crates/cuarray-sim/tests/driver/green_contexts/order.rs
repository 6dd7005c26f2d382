//! The order of work between green contexts.

use super::*;
use std::ptr::null_mut;

#[test]
fn streams_of_green_contexts_do_not_block() {
    let p = Program::new();
    let ([green, _], mut stream) = (two(&p), CUstream::NULL);
    fails!(p, INVALID_VALUE, cuGreenCtxStreamCreate(&mut stream, green, CU_STREAM_DEFAULT, 0));
    fails!(p, INVALID_VALUE, cuGreenCtxStreamCreate(null_mut(), green, CU_STREAM_NON_BLOCKING, 0));
    fails!(p, INVALID_CONTEXT, cuGreenCtxStreamCreate(&mut stream, CUgreenCtx(7), CU_STREAM_NON_BLOCKING, 0));
    let (memory, mut priority) = (p.alloc(4), 0);
    ok!(p, cuGreenCtxStreamCreate(&mut stream, green, CU_STREAM_NON_BLOCKING, -100));
    ok!(p, cuStreamGetPriority(stream, &mut priority));
    assert_eq!(priority, -5);
    p.fill(memory, 1, 4, CU_STREAM_LEGACY);
    p.fill(memory, 2, 4, stream);
    assert_eq!(p.sim.report().findings.len(), 1);
}

#[test]
fn missing_wait_between_green_contexts_is_found() {
    for waits in [false, true] {
        let p = Program::new();
        let ([one, other], from, to, event) = (two(&p), p.alloc(4), p.alloc(4), p.event());
        let (writer, reader) = (stream_of(&p, one), stream_of(&p, other));
        p.fill(from, 7, 4, writer);
        ok!(p, cuEventRecord(event, writer));
        if waits {
            ok!(p, cuStreamWaitEvent(reader, event, 0));
        }
        ok!(p, cuMemcpyAsync(to, from, 4, reader));
        ok!(p, cuStreamSynchronize(reader));
        let races = p.sim.report().findings.len();
        assert_eq!(races, usize::from(!waits));
    }
}

#[test]
fn record_and_wait_order_all_streams_of_green_contexts() {
    for schedule in [Schedule::Lazy, Schedule::Eager] {
        let p = Program::with(Config { schedule, ..Config::default() });
        let ([one, other], event, old) = (two(&p), p.event(), p.alloc(2));
        let to = p.alloc(2);
        for byte in 0..2 {
            p.fill(old + byte, 7, 1, stream_of(&p, one));
        }
        let waiting = stream_of(&p, other);
        ok!(p, cuGreenCtxRecordEvent(one, event));
        ok!(p, cuGreenCtxWaitEvent(other, event));
        for (byte, stream) in [(0, waiting), (1, stream_of(&p, other))] {
            ok!(p, cuMemcpyAsync(to + byte, old + byte, 1, stream));
            ok!(p, cuStreamSynchronize(stream));
            assert_eq!(p.peek(to + byte), 7);
        }
        assert_eq!(p.sim.report().text(false), "");
    }
}

#[test]
fn wait_of_a_green_context_orders_no_other_stream() {
    let p = Program::new();
    let ([one, other], from, to, event) = (two(&p), p.alloc(4), p.alloc(8), p.event());
    p.fill(from, 7, 4, stream_of(&p, one));
    ok!(p, cuGreenCtxRecordEvent(one, event));
    ok!(p, cuGreenCtxWaitEvent(other, event));
    ok!(p, cuMemcpyAsync(to, from, 4, stream_of(&p, other)));
    assert_eq!(p.sim.report().findings.len(), 0);
    ok!(p, cuMemcpyAsync(to + 4, from, 4, p.stream(CU_STREAM_NON_BLOCKING)));
    assert_eq!(p.sim.report().findings.len(), 1);
}

#[test]
fn record_of_a_green_context_follows_no_other_stream() {
    let p = Program::new();
    let ([one, other], memory, event) = (two(&p), p.pinned(2), p.event());
    let (own, foreign) = (stream_of(&p, one), stream_of(&p, other));
    p.fill(memory as u64, 7, 1, own);
    p.fill(memory as u64 + 1, 9, 1, foreign);
    ok!(p, cuGreenCtxRecordEvent(one, event));
    ok!(p, cuEventSynchronize(event));
    assert_eq!(read(memory), 7);
    fails!(p, NOT_READY, cuStreamQuery(foreign));
    ok!(p, cuCtxRecordEvent(context_of(&p, other), event));
    ok!(p, cuEventSynchronize(event));
    assert_eq!(read(memory.wrapping_add(1)), 9);
    assert_eq!(p.sim.report().text(false), "");
}

#[test]
fn primary_context_includes_its_green_contexts() {
    let p = Program::new();
    let ([one, other], memory, event) = (two(&p), p.pinned(3), p.event());
    let (first, second) = (stream_of(&p, one), stream_of(&p, other));
    p.fill(memory as u64, 1, 1, first);
    ok!(p, cuCtxRecordEvent(p.context, event));
    ok!(p, cuEventSynchronize(event));
    assert_eq!(read(memory), 1);
    p.fill(memory as u64, 2, 1, first);
    ok!(p, cuEventRecord(event, first));
    ok!(p, cuCtxWaitEvent(p.context, event));
    ok!(p, cuMemcpyAsync(memory as u64 + 1, memory as u64, 1, second));
    p.fill(memory as u64 + 2, 3, 1, first);
    ok!(p, cuCtxSynchronize());
    assert_eq!([0, 1, 2].map(|byte| read(memory.wrapping_add(byte))), [2, 2, 3]);
    assert_eq!(p.sim.report().text(false), "");
}

#[test]
fn synchronization_of_a_green_context_waits_for_its_streams_only() {
    let p = Program::new();
    let ([one, other], memory) = (two(&p), p.pinned(2));
    let (own, foreign) = (stream_of(&p, one), stream_of(&p, other));
    p.fill(memory as u64, 7, 1, own);
    ok!(p, cuStreamDestroy_v2(own));
    p.fill(memory as u64 + 1, 9, 1, foreign);
    ok!(p, cuCtxSynchronize_v2(context_of(&p, one)));
    assert_eq!(read(memory), 7);
    fails!(p, NOT_READY, cuStreamQuery(foreign));
    assert_eq!(p.sim.report().text(false), "");
}

#[test]
fn events_belong_to_one_primary_context() {
    let p = Program::with(Config { devices: 2, ..Config::default() });
    let [green, _] = two(&p);
    ok!(p, cuCtxSetCurrent(context_of(&p, green)));
    let own = p.event();
    ok!(p, cuGreenCtxRecordEvent(green, own));
    ok!(p, cuCtxSetCurrent(p.primary(1)));
    fails!(p, INVALID_HANDLE, cuGreenCtxRecordEvent(green, p.event()));
    fails!(p, INVALID_HANDLE, cuGreenCtxRecordEvent(green, CUevent(7)));
    fails!(p, INVALID_HANDLE, cuGreenCtxWaitEvent(green, CUevent(7)));
    fails!(p, INVALID_CONTEXT, cuGreenCtxRecordEvent(CUgreenCtx::NULL, own));
    fails!(p, INVALID_CONTEXT, cuGreenCtxWaitEvent(CUgreenCtx::NULL, own));
}

#[test]
fn capture_in_a_green_context_is_invalidated_by_its_record_and_not_by_that_of_another() {
    let p = Program::new();
    let ([one, other], event, mut graph) = (two(&p), p.event(), CUgraph::NULL);
    let stream = stream_of(&p, one);
    for waits in [false, true] {
        ok!(p, cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
        ok!(p, cuGreenCtxRecordEvent(other, event));
        ok!(p, cuGreenCtxWaitEvent(other, event));
        match waits {
            false => fails!(p, STREAM_CAPTURE_UNSUPPORTED, cuGreenCtxRecordEvent(one, event)),
            true => fails!(p, STREAM_CAPTURE_UNSUPPORTED, cuGreenCtxWaitEvent(one, event)),
        }
        fails!(p, STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream, &mut graph));
    }
}
