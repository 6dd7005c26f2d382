//! The beginning and the end of captures, and the state that remains.

use super::*;

#[test]
fn captured_work_does_not_run() {
    let program = Program::new();
    let (stream, device, host) = (program.stream(0), program.alloc(8), program.pinned(8));
    ok!(program, cuMemsetD8_v2(device, 1, 8));
    ok!(program, cuCtxSynchronize());
    for mode in MODES {
        begin(&program, stream, mode);
        assert_eq!(status(&program, stream), CU_STREAM_CAPTURE_STATUS_ACTIVE);
        program.fill(device, 7, 8, stream);
        ok!(program, cuMemcpyDtoHAsync_v2(host.cast(), device, 8, stream));
        let graph = end(&program, stream);
        assert_eq!(status(&program, stream), CU_STREAM_CAPTURE_STATUS_NONE);
        assert_eq!(count(&program, graph), (2, 1));
        ok!(program, cuGraphDestroy(graph));
    }
    ok!(program, cuStreamSynchronize(stream));
    assert_eq!((program.peek(device), read(host)), (1, 0));
    assert_eq!((program.statistic("graphs"), program.statistic("pending_operations")), (0, 0));
}

#[test]
fn first_version_of_begin_captures_in_the_global_mode() {
    let program = Program::new();
    let (stream, mut address) = (program.stream(0), 0);
    ok!(program, cuStreamBeginCapture(stream));
    fails!(program, STREAM_CAPTURE_UNSUPPORTED, cuMemAlloc_v2(&mut address, 16));
    assert_invalidated(&program, stream);
}

#[test]
fn begin_refuses_bad_modes_the_legacy_stream_and_capturing_streams() {
    let program = Program::new();
    let stream = program.stream(0);
    fails!(program, INVALID_VALUE, cuStreamBeginCapture_v2(stream, 3));
    for legacy in [CUstream::NULL, CU_STREAM_LEGACY] {
        fails!(program, STREAM_CAPTURE_UNSUPPORTED, cuStreamBeginCapture_v2(legacy, GLOBAL));
    }
    begin(&program, stream, GLOBAL);
    fails!(program, ILLEGAL_STATE, cuStreamBeginCapture_v2(stream, GLOBAL));
    assert_eq!(status(&program, stream), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    end(&program, stream);
    begin(&program, CU_STREAM_PER_THREAD, GLOBAL);
    program.fill(program.alloc_anyway(), 1, 1, CU_STREAM_PER_THREAD);
    assert_eq!(count(&program, end(&program, CU_STREAM_PER_THREAD)), (1, 0));
}

#[test]
fn end_refuses_streams_that_do_not_capture() {
    let program = Program::new();
    let (stream, mut graph) = (program.stream(0), CUgraph(9));
    fails!(program, ILLEGAL_STATE, cuStreamEndCapture(stream, &mut graph));
    fails!(program, ILLEGAL_STATE, cuStreamEndCapture(CUstream::NULL, &mut graph));
    begin(&program, stream, GLOBAL);
    fails!(program, INVALID_VALUE, cuStreamEndCapture(stream, std::ptr::null_mut()));
    end(&program, stream);
}

#[test]
fn only_a_relaxed_capture_ends_in_another_thread() {
    let program = Program::new();
    for mode in MODES {
        let stream = program.stream(0);
        begin(&program, stream, mode);
        program.in_thread(|other| {
            let mut graph = CUgraph::NULL;
            if mode == RELAXED {
                ok!(other, cuStreamEndCapture(stream, &mut graph));
            } else {
                fails!(other, STREAM_CAPTURE_WRONG_THREAD, cuStreamEndCapture(stream, &mut graph));
            }
        });
        if mode != RELAXED {
            assert_eq!(status(&program, stream), CU_STREAM_CAPTURE_STATUS_ACTIVE);
            end(&program, stream);
        }
    }
}

#[test]
fn capture_ends_only_in_its_origin_stream() {
    let fork = Fork::new(GLOBAL);
    let mut graph = CUgraph::NULL;
    fails!(fork.program, STREAM_CAPTURE_UNMATCHED, cuStreamEndCapture(fork.side, &mut graph));
    assert_invalidated(&fork.program, fork.origin);
}

#[test]
fn destroyed_context_ends_its_captures() {
    let program = Program::new();
    let mut context = CUcontext::NULL;
    ok!(program, cuCtxCreate_v2(&mut context, 0, 0));
    let stream = program.stream(0);
    begin(&program, stream, GLOBAL);
    ok!(program, cuCtxDestroy_v2(context));
    ok!(program, cuCtxSetCurrent(program.context));
    program.alloc(8);
    assert_eq!(program.statistic("graphs"), 0);
}

#[test]
fn work_before_a_capture_stays_outside_it_and_still_runs() {
    let program = Program::new();
    let (stream, device) = (program.stream(0), program.alloc(2));
    program.fill(device, 7, 1, stream);
    begin(&program, stream, RELAXED);
    program.fill(device + 1, 8, 1, stream);
    let graph = end(&program, stream);
    assert_eq!(count(&program, graph), (1, 0));
    ok!(program, cuStreamSynchronize(stream));
    assert_eq!((program.peek(device), program.peek(device + 1)), (7, 0xff));
}
