use crate::driver::{ok, open};
use cuarray_abi::{CUcontext, CUevent, CUstream};
use cuarray_cudart::cudaError_t;
use cuarray_cudart::v13::*;
use std::ptr;

const INVALID: cudaError_t = cudaError_t::cudaErrorInvalidValue;

fn context_of(device: i32) -> CUcontext {
    let mut context = CUcontext::NULL;
    unsafe { ok(cudaDeviceGetExecutionCtx(&mut context, device)) };
    context
}

#[test]
fn execution_context_of_a_device_is_its_primary_context() {
    open();
    let (first, second) = (context_of(0), context_of(1));
    assert_eq!(context_of(1), second);
    let (mut device, mut ids) = (9, [0; 2]);
    unsafe {
        ok(cudaExecutionCtxGetDevice(&mut device, second));
        ok(cudaExecutionCtxGetId(first, &mut ids[0]));
        ok(cudaExecutionCtxGetId(second, &mut ids[1]));
        assert_eq!(device, 1);
        assert_ne!(ids[0], ids[1]);
        let mut context = CUcontext::NULL;
        assert_eq!(cudaDeviceGetExecutionCtx(&mut context, 99), cudaError_t::cudaErrorInvalidDevice);
        assert_eq!(cudaDeviceGetExecutionCtx(ptr::null_mut(), 0), INVALID);
        assert_eq!(cudaExecutionCtxGetDevice(&mut device, CUcontext::NULL), INVALID);
        assert_eq!(cudaExecutionCtxGetDevice(ptr::null_mut(), first), INVALID);
        assert_eq!(cudaExecutionCtxGetId(CUcontext::NULL, &mut ids[0]), INVALID);
        assert_eq!(cudaExecutionCtxGetId(first, ptr::null_mut()), INVALID);
    }
}

#[test]
fn stream_of_an_execution_context_is_on_its_device_and_leaves_the_thread_as_it_was() {
    open();
    let (context, mut stream, mut device) = (context_of(1), CUstream::NULL, 9);
    unsafe {
        ok(cudaSetDevice(0));
        ok(cudaExecutionCtxStreamCreate(&mut stream, context, 1, 0));
        ok(cudaStreamGetDevice(stream, &mut device));
        assert_eq!(device, 1);
        ok(cudaGetDevice(&mut device));
        assert_eq!(device, 0);
        ok(cudaStreamDestroy(stream));
        assert_eq!(cudaExecutionCtxStreamCreate(&mut stream, context, 8, 0), INVALID);
        ok(cudaGetDevice(&mut device));
        assert_eq!(device, 0);
        assert_eq!(cudaExecutionCtxStreamCreate(&mut stream, CUcontext::NULL, 0, 0), INVALID);
        assert_eq!(cudaExecutionCtxStreamCreate(ptr::null_mut(), context, 0, 0), INVALID);
    }
}

#[test]
fn event_of_an_execution_context_covers_the_work_of_all_its_streams() {
    open();
    let (context, mut event, mut streams) = (context_of(0), CUevent::NULL, [CUstream::NULL; 2]);
    let (mut memory, mut value) = (ptr::null_mut(), 0_u8);
    unsafe {
        ok(cudaSetDevice(0));
        ok(cudaMalloc(&mut memory, 64));
        ok(cudaEventCreate(&mut event));
        streams.iter_mut().for_each(|stream| ok(cudaStreamCreateWithFlags(stream, 1)));
        ok(cudaMemsetAsync(memory, 7, 64, streams[0]));
        ok(cudaExecutionCtxRecordEvent(context, event));
        // The work of both streams after this call follows the event.
        ok(cudaExecutionCtxWaitEvent(context, event));
        ok(cudaMemcpyAsync((&raw mut value).cast(), memory, 1, 2, streams[1]));
        ok(cudaExecutionCtxSynchronize(context));
        assert_eq!(value, 7);
        assert_eq!(cudaExecutionCtxRecordEvent(CUcontext::NULL, event), INVALID);
        assert_eq!(cudaExecutionCtxWaitEvent(CUcontext::NULL, event), INVALID);
        assert_eq!(cudaExecutionCtxSynchronize(CUcontext::NULL), INVALID);
        let wrong = cudaError_t::cudaErrorInvalidResourceHandle;
        assert_eq!(cudaExecutionCtxRecordEvent(context, CUevent(0xbad0)), wrong);
        streams.into_iter().for_each(|stream| ok(cudaStreamDestroy(stream)));
        ok(cudaEventDestroy(event));
        ok(cudaFree(memory));
    }
}
