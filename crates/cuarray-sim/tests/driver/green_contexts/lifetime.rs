//! Creation, handles, streams and the end of green contexts.

use super::*;
use std::ptr::null_mut;

#[test]
fn green_context_retains_the_primary_context() {
    let sim = Sim::new(Config { quiet: true, findings: false, ..Config::default() });
    let p = Program::over(&sim);
    let green = create(&p, &[of_device(&p, 0, SM)]);
    let (stream, mut flags, mut active) = (stream_of(&p, green), 0, 0);
    ok!(p, cuDevicePrimaryCtxRelease_v2(0));
    ok!(p, cuDevicePrimaryCtxGetState(0, &mut flags, &mut active));
    assert_eq!(active, 1);
    ok!(p, cuGreenCtxDestroy(green));
    ok!(p, cuDevicePrimaryCtxGetState(0, &mut flags, &mut active));
    assert_eq!(active, 0);
    ok!(p, cuStreamDestroy_v2(stream));
    fails!(p, INVALID_CONTEXT, cuGreenCtxDestroy(green));
}

#[test]
fn reset_of_the_device_ends_its_green_contexts() {
    let p = Program::with(Config { findings: false, ..Config::default() });
    let green = create(&p, &[of_device(&p, 0, SM)]);
    ok!(p, cuDevicePrimaryCtxReset_v2(0));
    fails!(p, INVALID_CONTEXT, cuGreenCtxDestroy(green));
    ok!(p, cuDevicePrimaryCtxRelease_v2(0));
    fails!(p, INVALID_CONTEXT, cuDevicePrimaryCtxRelease_v2(0));
}

#[test]
fn creation_checks_description_device_and_flags() {
    let p = Program::with(Config { devices: 2, ..Config::default() });
    let (description, mut green) = (describe(&p, &[of_device(&p, 0, SM)]), CUgreenCtx::NULL);
    fails!(p, INVALID_VALUE, cuGreenCtxCreate(null_mut(), description, 0, 1));
    fails!(p, INVALID_VALUE, cuGreenCtxCreate(&mut green, CUdevResourceDesc(7), 0, 1));
    fails!(p, INVALID_VALUE, cuGreenCtxCreate(&mut green, description, 0, 2));
    fails!(p, INVALID_VALUE, cuGreenCtxCreate(&mut green, description, 1, 1));
    fails!(p, INVALID_DEVICE, cuGreenCtxCreate(&mut green, description, 2, 1));
}

#[test]
fn current_green_context_has_its_own_default_stream_and_the_memory_of_the_primary_one() {
    let p = Program::new();
    let [green, _] = two(&p);
    let (context, mut seen, mut of_stream) = (context_of(&p, green), CUcontext::NULL, CUgreenCtx::NULL);
    assert_ne!(context.0, green.0);
    fails!(p, INVALID_CONTEXT, cuCtxSetCurrent(CUcontext(green.0)));
    ok!(p, cuCtxSetCurrent(context));
    ok!(p, cuCtxGetCurrent(&mut seen));
    assert_eq!(seen, context);
    let memory = p.alloc(4);
    ok!(p, cuPointerGetAttribute((&raw mut seen).cast(), CU_POINTER_ATTRIBUTE_CONTEXT, memory));
    assert_eq!(seen, p.context);
    for stream in [CUstream::NULL, CU_STREAM_LEGACY, p.stream(CU_STREAM_DEFAULT), stream_of(&p, green)] {
        ok!(p, cuStreamGetCtx(stream, &mut seen));
        assert_eq!(seen, context);
        ok!(p, cuStreamGetCtx_v2(stream, &mut seen, &mut of_stream));
        assert_eq!((seen, of_stream), (p.context, green));
        ok!(p, cuStreamGetGreenCtx(stream, &mut of_stream));
        assert_eq!(of_stream, green);
        p.fill(memory, 1, 4, stream);
        ok!(p, cuCtxSynchronize());
    }
    fails!(p, INVALID_HANDLE, cuStreamGetCtx_v2(CU_STREAM_PER_THREAD, &mut seen, &mut of_stream));
    let mut mode = 0;
    ok!(p, cuStreamGetFlags(p.stream(CU_STREAM_DEFAULT), &mut mode));
    assert_eq!(mode, CU_STREAM_NON_BLOCKING);
    ok!(p, cuCtxSetCurrent(p.context));
    ok!(p, cuStreamGetGreenCtx(CUstream::NULL, &mut of_stream));
    assert_eq!(of_stream, CUgreenCtx::NULL);
    assert_eq!(p.sim.report().text(false), "");
}

#[test]
fn green_context_without_a_default_stream_needs_a_stream_for_work() {
    let p = Program::new();
    let (description, mut green, memory) = (describe(&p, &[of_device(&p, 0, SM)]), CUgreenCtx::NULL, p.alloc(4));
    ok!(p, cuGreenCtxCreate(&mut green, description, 0, CU_GREEN_CTX_NONE));
    ok!(p, cuCtxSetCurrent(context_of(&p, green)));
    fails!(p, INVALID_HANDLE, cuMemsetD8Async(memory, 0, 4, CUstream::NULL));
    p.fill(memory, 0, 4, p.stream(CU_STREAM_NON_BLOCKING));
}

#[test]
fn ids_differ_among_contexts_and_green_contexts() {
    let p = Program::new();
    let [one, other] = two(&p);
    let mut ids = [0_u64; 4];
    ok!(p, cuGreenCtxGetId(one, &mut ids[0]));
    ok!(p, cuGreenCtxGetId(other, &mut ids[1]));
    ok!(p, cuCtxGetId(p.context, &mut ids[2]));
    fails!(p, INVALID_CONTEXT, cuGreenCtxGetId(CUgreenCtx::NULL, &mut ids[3]));
    ok!(p, cuCtxSetCurrent(context_of(&p, one)));
    ok!(p, cuGreenCtxGetId(CUgreenCtx::NULL, &mut ids[3]));
    assert_eq!(ids[0], ids[3]);
    assert!(ids[0] != ids[1] && ids[0] != ids[2] && ids[1] != ids[2], "{ids:?}");
    ok!(p, cuCtxGetId(context_of(&p, other), &mut ids[3]));
    assert_eq!(ids[1], ids[3]);
}

#[test]
fn streams_of_a_destroyed_green_context_are_detached() {
    let p = Program::new();
    let ([green, other], memory, mut graph) = (two(&p), p.pinned(1), CUgraph::NULL);
    let (stream, capturing, fork) = (stream_of(&p, green), stream_of(&p, other), stream_of(&p, green));
    let (event, context) = (p.event(), context_of(&p, green));
    p.fill(memory as u64, 7, 1, stream);
    ok!(p, cuStreamBeginCapture_v2(capturing, CU_STREAM_CAPTURE_MODE_RELAXED));
    ok!(p, cuEventRecord(event, capturing));
    ok!(p, cuStreamWaitEvent(fork, event, 0));
    ok!(p, cuCtxPushCurrent_v2(context));
    ok!(p, cuGreenCtxDestroy(green));
    fails!(p, CONTEXT_IS_DESTROYED, cuCtxSynchronize());
    ok!(p, cuCtxPopCurrent_v2(null_mut()));
    fails!(p, STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(capturing, &mut graph));
    fails!(p, STREAM_DETACHED, cuStreamSynchronize(stream));
    fails!(p, STREAM_DETACHED, cuMemsetD8Async(memory as u64, 0, 1, stream));
    fails!(p, STREAM_DETACHED, cuStreamEndCapture(fork, &mut graph));
    ok!(p, cuStreamDestroy_v2(stream));
    ok!(p, cuStreamDestroy_v2(fork));
    fails!(p, INVALID_HANDLE, cuStreamDestroy_v2(stream));
    fails!(p, INVALID_CONTEXT, cuGreenCtxDestroy(green));
    fails!(p, INVALID_CONTEXT, cuCtxFromGreenCtx(&mut { context }, green));
    ok!(p, cuCtxSynchronize());
    assert_eq!(read(memory), 7);
}

#[test]
fn green_context_that_is_not_destroyed_is_a_leak() {
    let p = Program::new();
    let [one, other] = two(&p);
    ok!(p, cuGreenCtxDestroy(one));
    let report = p.sim.report_with_leaks().text(false);
    assert!(report.contains("green context"), "{report}");
    ok!(p, cuGreenCtxDestroy(other));
}
