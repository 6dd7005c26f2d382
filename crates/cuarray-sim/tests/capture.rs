//! Stream capture: what is captured, what is prohibited, with which code, and what is left of the capture afterwards.

#[macro_use]
mod program;
use program::*;

const GLOBAL: CUstreamCaptureMode = CU_STREAM_CAPTURE_MODE_GLOBAL;
const THREAD_LOCAL: CUstreamCaptureMode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
const RELAXED: CUstreamCaptureMode = CU_STREAM_CAPTURE_MODE_RELAXED;
const MODES: [CUstreamCaptureMode; 3] = [GLOBAL, THREAD_LOCAL, RELAXED];

fn begin(program: &Program, stream: CUstream, mode: CUstreamCaptureMode) {
    ok!(program, cuStreamBeginCapture_v2(stream, mode));
}

fn status(program: &Program, stream: CUstream) -> CUstreamCaptureStatus {
    let mut status = 9;
    ok!(program, cuStreamIsCapturing(stream, &mut status));
    status
}

fn end(program: &Program, stream: CUstream) -> CUgraph {
    let mut graph = CUgraph(9);
    ok!(program, cuStreamEndCapture(stream, &mut graph));
    assert!(!graph.is_null());
    graph
}

fn count(program: &Program, graph: CUgraph) -> (usize, usize) {
    let (mut nodes, mut edges, none) = (9, 9, std::ptr::null_mut());
    ok!(program, cuGraphGetNodes(graph, none, &mut nodes));
    ok!(program, cuGraphGetEdges(graph, none, none, &mut edges));
    (nodes, edges)
}

/// Checks that a capture has been invalidated, and ends it.
fn assert_invalidated(program: &Program, origin: CUstream) {
    assert_eq!(status(program, origin), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    fails!(program, STREAM_CAPTURE_INVALIDATED, cuMemsetD8Async(program.alloc_anyway(), 1, 1, origin));
    let mut graph = CUgraph(9);
    fails!(program, STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(origin, &mut graph));
    assert!(graph.is_null());
    assert_eq!(status(program, origin), CU_STREAM_CAPTURE_STATUS_NONE);
    ok!(program, cuStreamSynchronize(origin));
}

impl Program {
    /// Memory, whatever is being captured.
    fn alloc_anyway(&self) -> CUdeviceptr {
        let mut mode = RELAXED;
        ok!(self, cuThreadExchangeStreamCaptureMode(&mut mode));
        let address = self.alloc(16);
        ok!(self, cuThreadExchangeStreamCaptureMode(&mut mode));
        address
    }
}

#[test]
fn what_is_captured_does_not_run() {
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
fn the_first_signature_captures_in_the_strictest_mode() {
    let program = Program::new();
    let (stream, mut address) = (program.stream(0), 0);
    ok!(program, cuStreamBeginCapture(stream));
    fails!(program, STREAM_CAPTURE_UNSUPPORTED, cuMemAlloc_v2(&mut address, 16));
    assert_invalidated(&program, stream);
}

#[test]
fn begin_refuses_what_cannot_capture() {
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
fn end_refuses_what_does_not_capture() {
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

/// A capture that is forked from one stream into another, by events.
struct Fork {
    program: Program,
    origin: CUstream,
    side: CUstream,
    device: CUdeviceptr,
}

impl Fork {
    fn new(mode: CUstreamCaptureMode) -> Fork {
        let program = Program::new();
        let (origin, side, device) = (program.stream(0), program.stream(CU_STREAM_NON_BLOCKING), program.alloc(8));
        begin(&program, origin, mode);
        program.fill(device, 1, 1, origin);
        let fork = Fork { program, origin, side, device };
        fork.edge(origin, side);
        fork
    }

    fn edge(&self, from: CUstream, to: CUstream) {
        let event = self.program.event();
        ok!(self.program, cuEventRecord(event, from));
        ok!(self.program, cuStreamWaitEvent(to, event, 0));
        ok!(self.program, cuEventDestroy_v2(event));
    }
}

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
fn what_is_not_joined_back_is_an_error_and_ends_the_capture() {
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
fn a_side_stream_that_did_nothing_need_not_be_joined() {
    let fork = Fork::new(GLOBAL);
    end(&fork.program, fork.origin);
}

#[test]
fn a_destroyed_side_stream_leaves_its_work_to_be_joined() {
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
fn the_end_of_the_origin_is_the_end_of_the_capture() {
    let fork = Fork::new(GLOBAL);
    let Fork { program, origin, side, .. } = &fork;
    ok!(program, cuStreamDestroy_v2(*origin));
    assert_eq!(status(program, *side), CU_STREAM_CAPTURE_STATUS_NONE);
    assert_eq!(program.statistic("graphs"), 0);
    program.alloc(8);
}

#[test]
fn a_capture_ends_only_where_it_began() {
    let fork = Fork::new(GLOBAL);
    let mut graph = CUgraph::NULL;
    fails!(fork.program, STREAM_CAPTURE_UNMATCHED, cuStreamEndCapture(fork.side, &mut graph));
    assert_invalidated(&fork.program, fork.origin);
}

#[test]
fn waiting_for_and_asking_after_a_capturing_stream_invalidates() {
    for mode in MODES {
        for of_the_side in [false, true] {
            for query in [false, true] {
                let fork = Fork::new(mode);
                let stream = if of_the_side { fork.side } else { fork.origin };
                let program = &fork.program;
                if query {
                    fails!(program, STREAM_CAPTURE_UNSUPPORTED, cuStreamQuery(stream));
                } else {
                    fails!(program, STREAM_CAPTURE_UNSUPPORTED, cuStreamSynchronize(stream));
                }
                assert_eq!(status(program, fork.side), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
                assert_invalidated(program, fork.origin);
            }
        }
    }
}

#[test]
fn other_streams_may_be_waited_for() {
    let program = Program::new();
    let (stream, other) = (program.stream(CU_STREAM_NON_BLOCKING), program.stream(0));
    program.fill(program.alloc(1), 1, 1, other);
    begin(&program, stream, GLOBAL);
    ok!(program, cuStreamSynchronize(other));
    ok!(program, cuStreamQuery(other));
    end(&program, stream);
}

#[test]
fn waiting_for_a_context_invalidates_its_captures_and_no_others() {
    let program = Program::with(Config { devices: 2, ..Config::default() });
    for mode in MODES {
        let stream = program.stream(CU_STREAM_NON_BLOCKING);
        begin(&program, stream, mode);
        let other = program.primary(1);
        ok!(program, cuCtxSynchronize_v2(other));
        assert_eq!(status(&program, stream), CU_STREAM_CAPTURE_STATUS_ACTIVE);
        program.in_thread(|thread| fails!(thread, STREAM_CAPTURE_UNSUPPORTED, cuCtxSynchronize()));
        assert_invalidated(&program, stream);
    }
}

#[test]
fn looking_at_a_captured_event_invalidates_in_every_mode() {
    for mode in MODES {
        for synchronize in [false, true] {
            let program = Program::new();
            let (stream, event) = (program.stream(0), program.event());
            begin(&program, stream, mode);
            ok!(program, cuEventRecord(event, stream));
            // In a thread of its own, whose mode forbids nothing else.
            program.in_thread(|other| {
                let mut mode = RELAXED;
                ok!(other, cuThreadExchangeStreamCaptureMode(&mut mode));
                if synchronize {
                    fails!(other, CAPTURED_EVENT, cuEventSynchronize(event));
                } else {
                    fails!(other, CAPTURED_EVENT, cuEventQuery(event));
                }
            });
            assert_invalidated(&program, stream);
            // And it remains what it is, until it is recorded outside.
            fails!(program, CAPTURED_EVENT, cuEventQuery(event));
            fails!(program, CAPTURED_EVENT, cuStreamWaitEvent(stream, event, 0));
            let mut milliseconds = 0.0;
            fails!(program, CAPTURED_EVENT, cuEventElapsedTime_v2(&mut milliseconds, event, event));
            ok!(program, cuEventRecord(event, stream));
            ok!(program, cuEventSynchronize(event));
        }
    }
}

#[test]
fn an_event_from_outside_is_isolation() {
    let program = Program::new();
    let (stream, outside, event) = (program.stream(0), program.stream(CU_STREAM_NON_BLOCKING), program.event());
    ok!(program, cuEventRecord(event, outside));
    begin(&program, stream, RELAXED);
    fails!(program, STREAM_CAPTURE_ISOLATION, cuStreamWaitEvent(stream, event, 0));
    assert_invalidated(&program, stream);
    // An event that was never recorded stands for no work.
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
fn an_event_of_an_invalidated_capture_takes_nobody_in() {
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
fn an_event_of_an_earlier_capture_is_of_no_use_in_the_next() {
    let program = Program::new();
    let (stream, event) = (program.stream(0), program.event());
    begin(&program, stream, RELAXED);
    ok!(program, cuEventRecord(event, stream));
    end(&program, stream);
    begin(&program, stream, RELAXED);
    fails!(program, CAPTURED_EVENT, cuStreamWaitEvent(stream, event, 0));
    assert_invalidated(&program, stream);
}

type Use = (&'static str, fn(&Program, CUdeviceptr, CUevent) -> CUresult);

/// Each way to use the legacy default stream.
const USES_OF_THE_LEGACY_STREAM: [Use; 11] = [
    ("fill", |program, device, _| call!(program, cuMemsetD8Async(device, 1, 1, CUstream::NULL))),
    ("plain fill", |program, device, _| call!(program, cuMemsetD8_v2(device, 1, 1))),
    ("plain copy", |program, device, _| {
        let mut byte = 0_u8;
        call!(program, cuMemcpyDtoH_v2((&raw mut byte).cast(), device, 1))
    }),
    ("copy on the device", |program, device, _| call!(program, cuMemcpyDtoD_v2(device, device + 8, 1))),
    ("peer copy", |program, device, _| {
        call!(program, cuMemcpyPeer(device, program.context, device + 8, program.context, 1))
    }),
    ("empty copy", |program, device, _| call!(program, cuMemcpyDtoDAsync_v2(device, device, 0, CU_STREAM_LEGACY))),
    ("record", |program, _, event| call!(program, cuEventRecord(event, CUstream::NULL))),
    ("wait", |program, _, event| call!(program, cuStreamWaitEvent(CUstream::NULL, event, 0))),
    ("allocation", |program, _, _| {
        let mut address = 0;
        call!(program, cuMemAllocAsync(&mut address, 8, CUstream::NULL))
    }),
    ("synchronization", |program, _, _| call!(program, cuStreamSynchronize(CU_STREAM_LEGACY))),
    ("query", |program, _, _| call!(program, cuStreamQuery(CUstream::NULL))),
];

#[test]
fn the_legacy_stream_is_out_of_use_while_a_blocking_stream_captures() {
    for (name, use_it) in USES_OF_THE_LEGACY_STREAM {
        let program = Program::new();
        let (stream, device, event) = (program.stream(0), program.alloc(16), program.event());
        begin(&program, stream, RELAXED);
        for _ in 0..2 {
            let code = use_it(&program, device, event);
            assert_eq!(code.name(), Some("CUDA_ERROR_STREAM_CAPTURE_IMPLICIT"), "{name}");
        }
        assert_invalidated(&program, stream);
        let code = use_it(&program, device, event);
        assert!(code.is_success(), "{name}: {code:?}");
    }
}

#[test]
fn one_use_of_the_legacy_stream_invalidates() {
    let program = Program::new();
    let (stream, device) = (program.stream(0), program.alloc(1));
    begin(&program, stream, RELAXED);
    program.in_thread(|other| {
        fails!(other, STREAM_CAPTURE_IMPLICIT, cuMemsetD8Async(device, 1, 1, CUstream::NULL));
    });
    assert_invalidated(&program, stream);
}

#[test]
fn a_non_blocking_capture_leaves_the_legacy_stream_alone() {
    let program = Program::new();
    let (stream, device, event) = (program.stream(CU_STREAM_NON_BLOCKING), program.alloc(16), program.event());
    begin(&program, stream, RELAXED);
    for (name, use_it) in USES_OF_THE_LEGACY_STREAM {
        assert!(use_it(&program, device, event).is_success(), "{name}");
    }
    end(&program, stream);
}

#[test]
fn a_captured_event_does_not_take_the_legacy_stream_in() {
    let program = Program::new();
    let (stream, event) = (program.stream(CU_STREAM_NON_BLOCKING), program.event());
    begin(&program, stream, RELAXED);
    ok!(program, cuEventRecord(event, stream));
    fails!(program, STREAM_CAPTURE_UNSUPPORTED, cuStreamWaitEvent(CUstream::NULL, event, 0));
    assert_invalidated(&program, stream);
}

#[test]
fn asking_whether_the_legacy_stream_captures_does_no_harm() {
    let program = Program::new();
    let (stream, mut status, mut id) = (program.stream(0), 9, 9);
    begin(&program, stream, GLOBAL);
    for _ in 0..2 {
        fails!(program, STREAM_CAPTURE_IMPLICIT, cuStreamIsCapturing(CUstream::NULL, &mut status));
        fails!(program, STREAM_CAPTURE_IMPLICIT, cuStreamGetCaptureInfo(CU_STREAM_LEGACY, &mut status, &mut id));
    }
    assert_eq!(self::status(&program, stream), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    end(&program, stream);
    assert_eq!(self::status(&program, CUstream::NULL), CU_STREAM_CAPTURE_STATUS_NONE);
}

/// Each call that a graph would not repeat.
fn unsafe_calls(program: &Program, memory: &[CUdeviceptr; 2], event: CUevent) -> Vec<(&'static str, CUresult)> {
    let (mut address, mut host) = (0, std::ptr::null_mut());
    let mut bytes = [0_u8; 64];
    let pointer: *mut c_void = bytes.as_mut_ptr().cast();
    vec![
        ("cuMemAlloc", call!(program, cuMemAlloc_v2(&mut address, 8))),
        ("cuMemFree", call!(program, cuMemFree_v2(memory[0]))),
        ("cuMemAllocManaged", call!(program, cuMemAllocManaged(&mut address, 8, CU_MEM_ATTACH_GLOBAL))),
        ("cuMemAllocHost", call!(program, cuMemAllocHost_v2(&mut host, 8))),
        ("cuMemHostAlloc", call!(program, cuMemHostAlloc(&mut host, 8, 0))),
        ("cuMemHostRegister", call!(program, cuMemHostRegister_v2(pointer, 64, 0))),
        ("cuMemHostUnregister", call!(program, cuMemHostUnregister(pointer))),
        ("cuMemcpy", call!(program, cuMemcpyDtoH_v2(pointer, memory[1], 8))),
        ("cuMemset", call!(program, cuMemsetD8_v2(memory[1], 1, 8))),
        ("cuEventQuery", call!(program, cuEventQuery(event))),
        ("cuEventSynchronize", call!(program, cuEventSynchronize(event))),
    ]
}

#[test]
fn unsafe_calls_are_forbidden_by_the_modes_of_captures_and_threads() {
    // Mode of the capture, mode of the calling thread, whether it is the capture's: whether unsafe calls are forbidden.
    for capture in MODES {
        for thread in MODES {
            for same in [true, false] {
                let forbidden =
                    thread != RELAXED && if same { capture != RELAXED } else { thread == GLOBAL && capture == GLOBAL };
                let program = Program::new();
                let (stream, event) = (program.stream(CU_STREAM_NON_BLOCKING), program.event());
                let memory = [program.alloc(8), program.alloc(8)];
                begin(&program, stream, capture);
                let calls = |program: &Program| {
                    let mut mode = thread;
                    ok!(program, cuThreadExchangeStreamCaptureMode(&mut mode));
                    assert_eq!(mode, GLOBAL, "every thread begins with it");
                    let results = unsafe_calls(program, &memory, event);
                    ok!(program, cuThreadExchangeStreamCaptureMode(&mut mode));
                    assert_eq!(mode, thread);
                    results
                };
                let results = if same { calls(&program) } else { program.in_thread(calls) };
                for (name, code) in results {
                    let expected =
                        if forbidden { Some("CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED") } else { Some("CUDA_SUCCESS") };
                    assert_eq!(code.name(), expected, "{name}, capture {capture}, thread {thread}, same {same}");
                }
                if forbidden {
                    assert_invalidated(&program, stream);
                } else {
                    assert_eq!(status(&program, stream), CU_STREAM_CAPTURE_STATUS_ACTIVE);
                    end(&program, stream);
                }
            }
        }
    }
    let (program, mut mode) = (Program::new(), 3);
    fails!(program, INVALID_VALUE, cuThreadExchangeStreamCaptureMode(&mut mode));
}

unsafe extern "C" fn nothing(_: *mut c_void) {}
unsafe extern "C" fn no_callback(_: CUstream, _: CUresult, _: *mut c_void) {}

#[test]
fn what_no_graph_can_hold_is_unsupported() {
    let program = Program::new();
    let mut managed = 0;
    ok!(program, cuMemAllocManaged(&mut managed, 8, CU_MEM_ATTACH_GLOBAL));
    let none = std::ptr::null_mut();
    for which in 0..3 {
        let stream = program.stream(0);
        begin(&program, stream, RELAXED);
        match which {
            0 => fails!(program, STREAM_CAPTURE_UNSUPPORTED, cuStreamAddCallback(stream, Some(no_callback), none, 0)),
            1 => fails!(
                program,
                STREAM_CAPTURE_UNSUPPORTED,
                cuStreamAttachMemAsync(stream, managed, 0, CU_MEM_ATTACH_GLOBAL)
            ),
            _ => fails!(program, STREAM_CAPTURE_UNSUPPORTED, cuMemPrefetchAsync(managed, 8, 0, stream)),
        }
        assert_invalidated(&program, stream);
    }
}

#[test]
fn a_wrong_argument_does_not_invalidate() {
    let program = Program::new();
    let (stream, device) = (program.stream(0), program.alloc(8));
    begin(&program, stream, GLOBAL);
    fails!(program, INVALID_VALUE, cuMemsetD8Async(device, 1, 9, stream));
    fails!(program, INVALID_VALUE, cuMemcpyDtoDAsync_v2(device, 64, 1, stream));
    fails!(program, INVALID_HANDLE, cuStreamWaitEvent(stream, CUevent(5), 0));
    ok!(program, cuLaunchHostFunc(stream, Some(nothing), std::ptr::null_mut()));
    assert_eq!(count(&program, end(&program, stream)), (1, 0));
}

#[test]
fn external_events_are_nodes() {
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

#[test]
fn the_dependencies_of_a_capture_can_be_read_and_changed() {
    let program = Program::new();
    let (stream, device) = (program.stream(0), program.alloc(8));
    let info = |program: &Program| {
        let (mut status, mut id, mut graph, mut number) = (9, 0, CUgraph::NULL, 9);
        let (mut nodes, mut edges) = (std::ptr::null(), std::ptr::null());
        ok!(
            program,
            cuStreamGetCaptureInfo_v3(stream, &mut status, &mut id, &mut graph, &mut nodes, &mut edges, &mut number)
        );
        assert_eq!(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
        // SAFETY: the driver's arrays, read before the next call.
        let (nodes, edges) = unsafe {
            match number {
                0 => (Vec::new(), Vec::new()),
                _ => (
                    std::slice::from_raw_parts(nodes, number).to_vec(),
                    std::slice::from_raw_parts(edges, number).to_vec(),
                ),
            }
        };
        assert!(edges.iter().all(|edge| *edge == CUgraphEdgeData::default()));
        (graph, nodes)
    };
    let mut mine = [CUgraphNode::NULL];
    fails!(program, ILLEGAL_STATE, cuStreamUpdateCaptureDependencies(stream, mine.as_mut_ptr(), 0, 0));
    begin(&program, stream, RELAXED);
    assert!(info(&program).1.is_empty());
    program.fill(device, 1, 1, stream);
    let (graph, first) = info(&program);
    assert_eq!(first.len(), 1);
    // A node added by hand becomes part of what is captured.
    ok!(program, cuGraphAddEmptyNode(&mut mine[0], graph, std::ptr::null(), 0));
    let flags = CU_STREAM_ADD_CAPTURE_DEPENDENCIES;
    ok!(program, cuStreamUpdateCaptureDependencies(stream, mine.as_mut_ptr(), 1, flags));
    assert_eq!(info(&program).1, [first[0], mine[0]]);
    let flags = CU_STREAM_SET_CAPTURE_DEPENDENCIES;
    ok!(program, cuStreamUpdateCaptureDependencies_v2(stream, mine.as_mut_ptr(), std::ptr::null(), 1, flags));
    assert_eq!(info(&program).1, mine);
    fails!(program, INVALID_VALUE, cuStreamUpdateCaptureDependencies(stream, mine.as_mut_ptr(), 1, 2));
    let mut unknown = [CUgraphNode(5)];
    fails!(program, INVALID_VALUE, cuStreamUpdateCaptureDependencies(stream, unknown.as_mut_ptr(), 1, 0));
    // The graph is the capture's until that ends.
    fails!(program, INVALID_VALUE, cuGraphDestroy(graph));
    fails!(program, INVALID_VALUE, cuGraphDestroyNode(mine[0]));
    let mut exec = CUgraphExec::NULL;
    fails!(program, ILLEGAL_STATE, cuGraphInstantiateWithFlags(&mut exec, graph, 0));
    assert_eq!(end(&program, stream), graph);
    ok!(program, cuGraphDestroyNode(mine[0]));
    ok!(program, cuGraphDestroy(graph));
}

#[test]
fn dependencies_that_were_replaced_need_not_be_joined() {
    let fork = Fork::new(RELAXED);
    let Fork { program, origin, side, device } = &fork;
    program.fill(*device + 1, 2, 1, *side);
    let flags = CU_STREAM_SET_CAPTURE_DEPENDENCIES;
    ok!(program, cuStreamUpdateCaptureDependencies(*side, std::ptr::null_mut(), 0, flags));
    end(program, *origin);
}

#[test]
fn a_capture_can_continue_a_graph() {
    let program = Program::new();
    let (stream, device) = (program.stream(0), program.alloc(8));
    let (mut graph, mut first) = (CUgraph::NULL, CUgraphNode::NULL);
    ok!(program, cuGraphCreate(&mut graph, 0));
    ok!(program, cuGraphAddEmptyNode(&mut first, graph, std::ptr::null(), 0));
    let stranger = CUgraphNode(5);
    let none = std::ptr::null();
    fails!(program, INVALID_VALUE, cuStreamBeginCaptureToGraph(stream, graph, &stranger, none, 1, RELAXED));
    ok!(program, cuStreamBeginCaptureToGraph(stream, graph, &first, none, 1, RELAXED));
    let other = program.stream(0);
    fails!(program, ILLEGAL_STATE, cuStreamBeginCaptureToGraph(other, graph, none.cast(), none, 0, RELAXED));
    program.fill(device, 1, 1, stream);
    assert_eq!(end(&program, stream), graph);
    assert_eq!(count(&program, graph), (2, 1));
    // A capture that fails leaves the graph, with what was captured.
    ok!(program, cuStreamBeginCaptureToGraph(stream, graph, none.cast(), none, 0, RELAXED));
    program.fill(device, 1, 1, stream);
    fails!(program, STREAM_CAPTURE_UNSUPPORTED, cuStreamQuery(stream));
    assert_invalidated(&program, stream);
    assert_eq!(count(&program, graph), (3, 1));
    ok!(program, cuGraphDestroy(graph));
}

#[test]
fn a_context_ends_with_its_captures() {
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
fn work_before_a_capture_is_not_part_of_it_and_still_happens() {
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

/// For each node of a captured graph of numbered host functions: the numbers of all that come before it.
fn comes_before(program: &Program, graph: CUgraph, count: usize) -> Vec<u64> {
    let (mut nodes, mut number) = (vec![CUgraphNode::NULL; count + 1], count + 1);
    ok!(program, cuGraphGetNodes(graph, nodes.as_mut_ptr(), &mut number));
    assert_eq!(number, count);
    let number_of = |node: CUgraphNode| {
        let mut params = CUDA_HOST_NODE_PARAMS { function: None, userData: std::ptr::null_mut() };
        ok!(program, cuGraphHostNodeGetParams(node, &mut params));
        params.userData as usize
    };
    let mut before = vec![0_u64; count];
    // Nodes are listed as they were captured, so those before a node are known already.
    for node in &nodes[..count] {
        let (mut after, mut room) = ([CUgraphNode::NULL; 64], 64);
        ok!(program, cuGraphNodeGetDependencies(*node, after.as_mut_ptr(), &mut room));
        for earlier in after[..room].iter().map(|node| number_of(*node)) {
            before[number_of(*node)] |= before[earlier] | 1 << earlier;
        }
    }
    before
}

#[test]
fn random_captures_keep_exactly_the_order_of_their_streams_and_events() {
    const STREAMS: usize = 4;
    let program = Program::new();
    let streams = [(); STREAMS].map(|()| program.stream(CU_STREAM_NON_BLOCKING));
    let events = [(); 3].map(|()| program.event());
    let mut seed = 7_u64;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) as usize % below
    };
    for round in 0..200 {
        begin(&program, streams[0], GLOBAL);
        // What each stream, and each event, comes after; nothing where it has no part in the capture.
        let mut known: [Option<u64>; STREAMS] = [Some(0), None, None, None];
        let mut recorded: [Option<u64>; 3] = [None; 3];
        let mut expected: Vec<u64> = Vec::new();
        for _ in 0..40 {
            let (stream, event) = (random(STREAMS), random(3));
            match (random(4), known[stream], recorded[event]) {
                (0 | 1, Some(before), _) => {
                    let data = expected.len() as *mut c_void;
                    ok!(program, cuLaunchHostFunc(streams[stream], Some(nothing), data));
                    known[stream] = Some(before | 1 << expected.len());
                    expected.push(before);
                }
                (2, Some(before), _) => {
                    ok!(program, cuEventRecord(events[event], streams[stream]));
                    recorded[event] = Some(before);
                }
                (3, before, Some(captured)) => {
                    ok!(program, cuStreamWaitEvent(streams[stream], events[event], 0));
                    known[stream] = Some(before.unwrap_or(0) | captured);
                }
                _ => {}
            }
        }
        if round % 2 == 0 {
            for stream in 1..STREAMS {
                if let Some(before) = known[stream] {
                    ok!(program, cuEventRecord(events[0], streams[stream]));
                    ok!(program, cuStreamWaitEvent(streams[0], events[0], 0));
                    known[0] = known[0].map(|all| all | before);
                }
            }
        }
        let joined = known.iter().flatten().all(|before| before & !known[0].unwrap() == 0);
        let mut graph = CUgraph::NULL;
        let ended = call!(program, cuStreamEndCapture(streams[0], &mut graph));
        if joined {
            assert!(ended.is_success());
            assert_eq!(comes_before(&program, graph, expected.len()), expected);
            ok!(program, cuGraphDestroy(graph));
        } else {
            assert_eq!(ended, CUresult::CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
        }
        for stream in streams {
            assert_eq!(status(&program, stream), CU_STREAM_CAPTURE_STATUS_NONE);
        }
    }
}
