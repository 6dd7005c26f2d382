//! Streams that join a capture through events, and must be joined back.

use super::*;

#[test]
fn waiting_for_a_captured_event_joins_the_capture() {
    let fork = Fork::new(GLOBAL);
    let Fork { program, origin, side, device } = &fork;
    let ids = [*origin, *side].map(|stream| {
        let (mut status, mut id) = (9, 0);
        ok!(program, cuStreamGetCaptureInfo(stream, &mut status, &mut id));
        assert_eq!(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
        id
    });
    assert!(ids[0] == ids[1] && ids[0] != 0);
    program.fill(*device + 1, 2, 1, *side);
    program.fill(*device + 2, 3, 1, *origin);
    fork.edge(*side, *origin);
    program.fill(*device + 3, 4, 1, *origin);
    let graph = end(program, *origin);
    assert_eq!(status(program, *side), CU_STREAM_CAPTURE_STATUS_NONE);
    assert_eq!(count(program, graph), (4, 4));
    assert_eq!(program.statistic("pending_operations"), 0);
}

#[test]
fn unjoined_side_stream_fails_and_ends_the_capture() {
    let fork = Fork::new(GLOBAL);
    let Fork { program, origin, side, device } = &fork;
    program.fill(*device + 1, 2, 1, *side);
    let mut graph = CUgraph(9);
    fails!(program, STREAM_CAPTURE_UNJOINED, cuStreamEndCapture(*origin, &mut graph));
    assert!(graph.is_null());
    for stream in [*origin, *side] {
        assert_eq!(status(program, stream), CU_STREAM_CAPTURE_STATUS_NONE);
    }
    assert_eq!(program.statistic("graphs"), 0);
}

#[test]
fn side_stream_without_work_need_not_be_joined() {
    let fork = Fork::new(GLOBAL);
    end(&fork.program, fork.origin);
}

#[test]
fn work_of_a_destroyed_side_stream_must_still_be_joined() {
    for joined in [false, true] {
        let fork = Fork::new(GLOBAL);
        let Fork { program, origin, side, device } = &fork;
        program.fill(*device + 1, 2, 1, *side);
        if joined {
            fork.edge(*side, *origin);
        }
        ok!(program, cuStreamDestroy_v2(*side));
        let mut graph = CUgraph::NULL;
        let result = call!(program, cuStreamEndCapture(*origin, &mut graph));
        assert_eq!(result.is_success(), joined);
        assert!(joined || result == CUresult::CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    }
}

#[test]
fn destroying_the_origin_stream_ends_the_capture() {
    let fork = Fork::new(GLOBAL);
    let Fork { program, origin, side, .. } = &fork;
    ok!(program, cuStreamDestroy_v2(*origin));
    assert_eq!(status(program, *side), CU_STREAM_CAPTURE_STATUS_NONE);
    assert_eq!(program.statistic("graphs"), 0);
    program.alloc(8);
}

#[test]
fn waiting_for_an_event_from_outside_is_an_isolation_error() {
    let program = Program::new();
    let (stream, outside, event) = (program.stream(0), program.stream(CU_STREAM_NON_BLOCKING), program.event());
    ok!(program, cuEventRecord(event, outside));
    begin(&program, stream, RELAXED);
    fails!(program, STREAM_CAPTURE_ISOLATION, cuStreamWaitEvent(stream, event, 0));
    assert_invalidated(&program, stream);
    // An event that was never recorded represents no work.
    begin(&program, stream, RELAXED);
    ok!(program, cuStreamWaitEvent(stream, program.event(), 0));
    assert_eq!(count(&program, end(&program, stream)), (0, 0));
}

#[test]
fn two_captures_do_not_merge() {
    let program = Program::new();
    let (first, second, event) = (program.stream(0), program.stream(0), program.event());
    begin(&program, first, GLOBAL);
    begin(&program, second, GLOBAL);
    ok!(program, cuEventRecord(event, first));
    fails!(program, STREAM_CAPTURE_MERGE, cuStreamWaitEvent(second, event, 0));
    assert_invalidated(&program, first);
    assert_invalidated(&program, second);
}

#[test]
fn event_of_an_invalidated_capture_does_not_join_other_streams() {
    let program = Program::new();
    let (stream, other, event) = (program.stream(0), program.stream(0), program.event());
    begin(&program, stream, RELAXED);
    ok!(program, cuEventRecord(event, stream));
    fails!(program, STREAM_CAPTURE_UNSUPPORTED, cuStreamQuery(stream));
    fails!(program, STREAM_CAPTURE_INVALIDATED, cuStreamWaitEvent(other, event, 0));
    fails!(program, STREAM_CAPTURE_INVALIDATED, cuEventRecord(event, stream));
    assert_eq!(status(&program, other), CU_STREAM_CAPTURE_STATUS_NONE);
    assert_invalidated(&program, stream);
}

#[test]
fn event_of_an_earlier_capture_invalidates_the_next() {
    let program = Program::new();
    let (stream, event) = (program.stream(0), program.event());
    begin(&program, stream, RELAXED);
    ok!(program, cuEventRecord(event, stream));
    end(&program, stream);
    begin(&program, stream, RELAXED);
    fails!(program, CAPTURED_EVENT, cuStreamWaitEvent(stream, event, 0));
    assert_invalidated(&program, stream);
}

#[test]
fn external_event_records_and_waits_become_nodes() {
    let program = Program::new();
    let (stream, event) = (program.stream(0), program.event());
    fails!(program, INVALID_VALUE, cuEventRecordWithFlags(event, stream, CU_EVENT_RECORD_EXTERNAL));
    fails!(program, INVALID_VALUE, cuStreamWaitEvent(stream, event, CU_EVENT_WAIT_EXTERNAL));
    ok!(program, cuEventRecord(event, stream));
    begin(&program, stream, RELAXED);
    ok!(program, cuStreamWaitEvent(stream, event, CU_EVENT_WAIT_EXTERNAL));
    ok!(program, cuEventRecordWithFlags(event, stream, CU_EVENT_RECORD_EXTERNAL));
    assert_eq!(count(&program, end(&program, stream)), (2, 1));
    ok!(program, cuEventSynchronize(event));
}
