//! Calls that are forbidden during a capture, and calls that invalidate it.

use super::*;

#[test]
fn waiting_for_or_querying_a_capturing_stream_invalidates_the_capture() {
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
fn other_streams_may_be_waited_for_during_a_capture() {
    let program = Program::new();
    let (stream, other) = (program.stream(CU_STREAM_NON_BLOCKING), program.stream(0));
    program.fill(program.alloc(1), 1, 1, other);
    begin(&program, stream, GLOBAL);
    ok!(program, cuStreamSynchronize(other));
    ok!(program, cuStreamQuery(other));
    end(&program, stream);
}

#[test]
fn context_synchronization_invalidates_only_captures_in_that_context() {
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
fn waiting_for_or_querying_a_captured_event_invalidates_in_every_mode() {
    for mode in MODES {
        for synchronize in [false, true] {
            let program = Program::new();
            let (stream, event) = (program.stream(0), program.event());
            begin(&program, stream, mode);
            ok!(program, cuEventRecord(event, stream));
            // Run in another thread, whose mode forbids no other call.
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
            // The event stays captured until it is recorded outside a capture.
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
fn captured_event_has_its_own_error_in_the_capturing_thread() {
    for mode in MODES {
        let program = Program::new();
        let (stream, event) = (program.stream(CU_STREAM_NON_BLOCKING), program.event());
        begin(&program, stream, mode);
        ok!(program, cuEventRecord(event, stream));
        fails!(program, CAPTURED_EVENT, cuEventQuery(event));
        fails!(program, CAPTURED_EVENT, cuEventSynchronize(event));
        assert_invalidated(&program, stream);
    }
}

/// Makes each call that a graph would not repeat.
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
    // Cases: mode of the capture, mode of the calling thread, and whether that thread began the capture.
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
                    assert_eq!(mode, GLOBAL, "every thread begins in the global mode");
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

unsafe extern "C" fn no_callback(_: CUstream, _: CUresult, _: *mut c_void) {}

#[test]
fn calls_without_a_graph_node_are_unsupported_during_a_capture() {
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
fn invalid_argument_does_not_invalidate_the_capture() {
    let program = Program::new();
    let (stream, device) = (program.stream(0), program.alloc(8));
    begin(&program, stream, GLOBAL);
    fails!(program, INVALID_VALUE, cuMemsetD8Async(device, 1, 9, stream));
    fails!(program, INVALID_VALUE, cuMemcpyDtoDAsync_v2(device, 64, 1, stream));
    fails!(program, INVALID_HANDLE, cuStreamWaitEvent(stream, CUevent(5), 0));
    ok!(program, cuLaunchHostFunc(stream, Some(nothing), std::ptr::null_mut()));
    assert_eq!(count(&program, end(&program, stream)), (1, 0));
}
