use crate::driver::{ok, open};
use cuarray_abi::*;
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

/// A green context with `count` multiprocessors of device 0.
fn green(count: u32) -> CUcontext {
    let (mut whole, mut part) = (CUdevResource::default(), CUdevResource::default());
    let (mut desc, mut context, mut groups) = (CUdevResourceDesc::NULL, CUcontext::NULL, 1);
    unsafe {
        ok(cudaDeviceGetDevResource(0, &mut whole, CU_DEV_RESOURCE_TYPE_SM));
        ok(cudaDevSmResourceSplitByCount(&mut part, &mut groups, &whole, ptr::null_mut(), 0, count));
        ok(cudaDevResourceGenerateDesc(&mut desc, &mut part, 1));
        ok(cudaGreenCtxCreate(&mut context, desc, 0, 0));
        assert_eq!(cudaGreenCtxCreate(&mut context, desc, 0, 1), INVALID);
        assert_eq!(cudaGreenCtxCreate(ptr::null_mut(), desc, 0, 0), INVALID);
        assert_eq!(cudaGreenCtxCreate(&mut context, desc, 99, 0), cudaError_t::cudaErrorInvalidDevice);
    }
    context
}

#[test]
fn streams_of_a_green_context_have_its_resources_and_do_not_block() {
    open();
    let (context, mut stream, mut resource, mut flags) = (green(16), CUstream::NULL, CUdevResource::default(), 9);
    let (mut device, mut ids) = (9, [0; 2]);
    unsafe {
        ok(cudaSetDevice(1));
        ok(cudaExecutionCtxStreamCreate(&mut stream, context, 0, 0));
        ok(cudaStreamGetFlags(stream, &mut flags));
        assert_eq!(flags, 1);
        ok(cudaStreamGetDevResource(stream, &mut resource, CU_DEV_RESOURCE_TYPE_SM));
        assert_eq!(resource.sm().unwrap().smCount, 16);
        ok(cudaExecutionCtxGetDevResource(context, &mut resource, CU_DEV_RESOURCE_TYPE_SM));
        assert_eq!(resource.sm().unwrap().smCount, 16);
        ok(cudaExecutionCtxGetDevice(&mut device, context));
        assert_eq!(device, 0);
        ok(cudaGetDevice(&mut device));
        assert_eq!(device, 1);
        ok(cudaExecutionCtxGetId(context, &mut ids[0]));
        ok(cudaExecutionCtxGetId(context_of(0), &mut ids[1]));
        assert_ne!(ids[0], ids[1]);
        let wrong = cudaError_t::cudaErrorInvalidResourceType;
        assert_eq!(cudaStreamGetDevResource(stream, &mut resource, CU_DEV_RESOURCE_TYPE_WORKQUEUE), wrong);
        assert_eq!(cudaDeviceGetDevResource(0, &mut resource, 2), wrong);
        assert_eq!(cudaExecutionCtxGetDevResource(CUcontext::NULL, &mut resource, 1), INVALID);
        assert_eq!(cudaExecutionCtxStreamCreate(&mut { stream }, context, 8, 0), INVALID);
        ok(cudaExecutionCtxDestroy(context));
        assert_eq!(cudaStreamSynchronize(stream), cudaError_t::cudaErrorStreamDetached);
        ok(cudaStreamDestroy(stream));
        assert_eq!(cudaExecutionCtxDestroy(context_of(0)), INVALID);
        assert_eq!(cudaExecutionCtxDestroy(CUcontext::NULL), INVALID);
        ok(cudaSetDevice(0));
    }
}

#[test]
fn described_groups_are_split_from_a_device() {
    open();
    let (mut whole, mut parts) = (CUdevResource::default(), [CUdevResource::default(); 2]);
    let mut groups = [CU_DEV_SM_RESOURCE_GROUP_PARAMS { smCount: 10, coscheduledSmCount: 2, ..Default::default() }; 2];
    groups[1].smCount = 0;
    unsafe {
        ok(cudaDeviceGetDevResource(0, &mut whole, CU_DEV_RESOURCE_TYPE_SM));
        ok(cudaDevSmResourceSplit(parts.as_mut_ptr(), 2, &whole, ptr::null_mut(), 0, groups.as_mut_ptr()));
        assert_eq!(parts.map(|part| part.sm().unwrap().smCount), [10, 122]);
        let wrong = cudaError_t::cudaErrorInvalidResourceConfiguration;
        groups[0].smCount = 130;
        assert_eq!(
            cudaDevSmResourceSplit(parts.as_mut_ptr(), 2, &whole, ptr::null_mut(), 0, groups.as_mut_ptr()),
            wrong
        );
    }
}

#[test]
fn event_of_a_green_context_orders_its_streams_before_those_of_another() {
    open();
    let (contexts, mut event, mut streams) = ([green(8), green(8)], CUevent::NULL, [CUstream::NULL; 2]);
    let (mut memory, mut value) = (ptr::null_mut(), 0_u8);
    unsafe {
        ok(cudaMalloc(&mut memory, 64));
        ok(cudaEventCreate(&mut event));
        for (stream, context) in streams.iter_mut().zip(contexts) {
            ok(cudaExecutionCtxStreamCreate(stream, context, 1, 0));
        }
        ok(cudaMemsetAsync(memory, 7, 64, streams[0]));
        ok(cudaExecutionCtxRecordEvent(contexts[0], event));
        ok(cudaExecutionCtxWaitEvent(contexts[1], event));
        ok(cudaMemcpyAsync((&raw mut value).cast(), memory, 1, 2, streams[1]));
        ok(cudaExecutionCtxSynchronize(contexts[1]));
        assert_eq!(value, 7);
        streams.into_iter().for_each(|stream| ok(cudaStreamDestroy(stream)));
        contexts.into_iter().for_each(|context| ok(cudaExecutionCtxDestroy(context)));
        ok(cudaEventDestroy(event));
        ok(cudaFree(memory));
    }
}
