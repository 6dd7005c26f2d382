//! The legacy default stream during captures.

use super::*;

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
fn legacy_stream_is_unusable_while_a_blocking_stream_captures() {
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
fn one_use_of_the_legacy_stream_invalidates_a_blocking_capture() {
    let program = Program::new();
    let (stream, device) = (program.stream(0), program.alloc(1));
    begin(&program, stream, RELAXED);
    program.in_thread(|other| {
        fails!(other, STREAM_CAPTURE_IMPLICIT, cuMemsetD8Async(device, 1, 1, CUstream::NULL));
    });
    assert_invalidated(&program, stream);
}

#[test]
fn legacy_stream_works_while_a_non_blocking_stream_captures() {
    let program = Program::new();
    let (stream, device, event) = (program.stream(CU_STREAM_NON_BLOCKING), program.alloc(16), program.event());
    begin(&program, stream, RELAXED);
    for (name, use_it) in USES_OF_THE_LEGACY_STREAM {
        assert!(use_it(&program, device, event).is_success(), "{name}");
    }
    end(&program, stream);
}

#[test]
fn legacy_stream_cannot_join_a_capture() {
    let program = Program::new();
    let (stream, event) = (program.stream(CU_STREAM_NON_BLOCKING), program.event());
    begin(&program, stream, RELAXED);
    ok!(program, cuEventRecord(event, stream));
    fails!(program, STREAM_CAPTURE_UNSUPPORTED, cuStreamWaitEvent(CUstream::NULL, event, 0));
    assert_invalidated(&program, stream);
}

#[test]
fn querying_the_status_of_the_legacy_stream_does_not_invalidate_captures() {
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
