//! Streams, events and contexts that are used after their destruction.

use super::*;

pairs! {
    work_in_a_destroyed_stream: DestroyedHandle ["cuStreamDestroy_v2 on host", "cuMemsetD8Async on host"], |p, right| {
        let (stream, memory) = (p.stream(0), p.alloc(64));
        if !right {
            ok!(p, cuStreamDestroy_v2(stream));
        }
        assert_eq!(call!(p, cuMemsetD8Async(memory, 0, 64, stream)).is_success(), right);
        if right {
            ok!(p, cuStreamDestroy_v2(stream));
        }
    }
    a_destroyed_stream_synchronized: DestroyedHandle ["cuStreamDestroy_v2 on host", "cuStreamSynchronize on host"], |p, right| {
        let stream = p.stream(0);
        if right {
            ok!(p, cuStreamSynchronize(stream));
        }
        ok!(p, cuStreamDestroy_v2(stream));
        if !right {
            fails!(p, INVALID_HANDLE, cuStreamSynchronize(stream));
        }
    }
    a_stream_destroyed_twice: DestroyedHandle ["cuStreamDestroy_v2 on host", "cuStreamDestroy_v2 on host"], |p, right| {
        let stream = p.stream(0);
        ok!(p, cuStreamDestroy_v2(stream));
        if !right {
            fails!(p, INVALID_HANDLE, cuStreamDestroy_v2(stream));
        }
    }
    a_destroyed_event_recorded: DestroyedHandle ["cuEventDestroy_v2 on host", "cuEventRecord on host"], |p, right| {
        let event = p.event();
        if right {
            ok!(p, cuEventRecord(event, CUstream::NULL));
        }
        ok!(p, cuEventDestroy_v2(event));
        if !right {
            fails!(p, INVALID_HANDLE, cuEventRecord(event, CUstream::NULL));
        }
    }
    a_destroyed_event_waited_for: DestroyedHandle ["cuEventDestroy_v2 on host", "cuStreamWaitEvent on host"], |p, right| {
        let (stream, event) = (p.stream(0), p.event());
        ok!(p, cuEventRecord(event, CUstream::NULL));
        if right {
            ok!(p, cuStreamWaitEvent(stream, event, 0));
        }
        ok!(p, cuEventDestroy_v2(event));
        if !right {
            fails!(p, INVALID_HANDLE, cuStreamWaitEvent(stream, event, 0));
        }
    }
    a_destroyed_context_made_current: DestroyedHandle ["cuCtxDestroy_v2 on host", "cuCtxPushCurrent_v2 on host"], |p, right| {
        let mut context = CUcontext::NULL;
        ok!(p, cuCtxCreate_v2(&mut context, 0, 0));
        ok!(p, cuCtxPopCurrent_v2(&mut context));
        if right {
            ok!(p, cuCtxPushCurrent_v2(context));
            ok!(p, cuCtxPopCurrent_v2(&mut context));
        }
        ok!(p, cuCtxDestroy_v2(context));
        if !right {
            fails!(p, INVALID_CONTEXT, cuCtxPushCurrent_v2(context));
        }
    }
}
