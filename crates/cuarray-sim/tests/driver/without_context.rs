//! Calls in a thread without a current context: an explicit stream, event or kernel determines the context.

use crate::program::*;
use std::sync::atomic::{AtomicU32, Ordering};

/// Runs `f` in a thread in which no context is current.
fn without_context(program: &Program, f: impl FnOnce(&Program) + Send) {
    program.in_thread(|other| {
        ok!(other, cuCtxSetCurrent(CUcontext::NULL));
        f(other);
    });
}

static CALLED: AtomicU32 = AtomicU32::new(0);

unsafe extern "C" fn count(_: *mut c_void) {
    CALLED.fetch_add(1, Ordering::SeqCst);
}

unsafe extern "C" fn counted(_: CUstream, _: CUresult, _: *mut c_void) {
    CALLED.fetch_add(1, Ordering::SeqCst);
}

#[test]
fn host_memory_is_freed_and_not_allocated() {
    let program = Program::new();
    let (memory, stream) = (program.pinned(64).expose_provenance(), program.stream(CU_STREAM_NON_BLOCKING));
    program.fill(memory as u64, 7, 64, stream);
    ok!(program, cuStreamSynchronize(stream));
    without_context(&program, |other| {
        let (mut other_memory, memory) = (std::ptr::null_mut(), std::ptr::with_exposed_provenance_mut(memory));
        fails!(other, INVALID_CONTEXT, cuMemHostAlloc(&mut other_memory, 64, 0));
        ok!(other, cuMemFreeHost(memory));
        fails!(other, INVALID_VALUE, cuMemFreeHost(memory));
        ok!(other, cuMemFreeHost(std::ptr::null_mut()));
    });
    let findings = program.sim.report().findings;
    assert_eq!(findings.len(), 1, "the second release: {findings:?}");
}

#[test]
fn stream_ordered_memory_needs_only_an_explicit_stream() {
    let program = Program::new();
    let stream = program.stream(0);
    let mut pool = CUmemoryPool::NULL;
    ok!(program, cuDeviceGetDefaultMemPool(&mut pool, 0));
    without_context(&program, |other| {
        let (mut one, mut two) = (0, 0);
        ok!(other, cuMemAllocAsync(&mut one, 64, stream));
        ok!(other, cuMemAllocFromPoolAsync(&mut two, 64, pool, stream));
        ok!(other, cuMemFreeAsync(one, stream));
        ok!(other, cuMemFreeAsync(two, stream));
        for default in [CUstream::NULL, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD] {
            fails!(other, INVALID_CONTEXT, cuMemAllocAsync(&mut one, 64, default));
            fails!(other, INVALID_CONTEXT, cuMemFreeAsync(one, default));
        }
        fails!(other, INVALID_HANDLE, cuMemFreeAsync(one, CUstream(12345)));
        ok!(other, cuStreamSynchronize(stream));
    });
}

#[test]
fn copies_and_fills_need_only_an_explicit_stream() {
    let program = Program::new();
    let (stream, device, mut host) = (program.stream(0), program.alloc(64), [0_u8; 8]);
    let mut managed = 0;
    ok!(program, cuMemAllocManaged(&mut managed, 4096, CU_MEM_ATTACH_GLOBAL));
    without_context(&program, |other| {
        ok!(other, cuMemsetD8Async(device, 3, 64, stream));
        ok!(other, cuMemsetD16Async(device, 0x0404, 4, stream));
        ok!(other, cuMemsetD2D32Async(device + 32, 8, 0x0505_0505, 1, 2, stream));
        ok!(other, cuMemcpyDtoDAsync_v2(device + 16, device, 8, stream));
        ok!(other, cuMemcpyHtoDAsync_v2(device + 24, [9_u8; 8].as_ptr().cast(), 8, stream));
        ok!(other, cuMemcpyDtoHAsync_v2(host.as_mut_ptr().cast(), device + 16, 8, stream));
        ok!(other, cuMemcpyAsync(device + 48, device, 8, stream));
        ok!(other, cuMemPrefetchAsync(managed, 4096, 0, stream));
        ok!(other, cuStreamAttachMemAsync(stream, managed, 0, CU_MEM_ATTACH_GLOBAL));
        ok!(other, cuStreamSynchronize(stream));
        fails!(other, INVALID_CONTEXT, cuMemsetD8Async(device, 3, 64, CUstream::NULL));
        fails!(other, INVALID_CONTEXT, cuMemcpyDtoD_v2(device, device + 32, 8));
    });
    assert_eq!(host, [4; 8]);
}

#[test]
fn streams_and_events_are_used_without_a_context() {
    let program = Program::new();
    let (stream, start, end) = (program.stream(0), program.event(), program.event());
    without_context(&program, |other| {
        let (mut flags, mut id, mut priority, mut device) = (0, 0, 0, 9);
        let (mut context, mut status) = (CUcontext::NULL, 9);
        ok!(other, cuEventRecord(start, stream));
        ok!(other, cuEventRecordWithFlags(end, stream, 0));
        ok!(other, cuStreamWaitEvent(stream, end, 0));
        ok!(other, cuLaunchHostFunc(stream, Some(count), std::ptr::null_mut()));
        ok!(other, cuStreamAddCallback(stream, Some(counted), std::ptr::null_mut(), 0));
        ok!(other, cuStreamSynchronize(stream));
        ok!(other, cuStreamQuery(stream));
        ok!(other, cuEventQuery(end));
        ok!(other, cuEventSynchronize(end));
        let mut milliseconds = 0.0;
        ok!(other, cuEventElapsedTime_v2(&mut milliseconds, start, end));
        ok!(other, cuStreamGetFlags(stream, &mut flags));
        ok!(other, cuStreamGetId(stream, &mut id));
        ok!(other, cuStreamGetPriority(stream, &mut priority));
        ok!(other, cuStreamGetCtx(stream, &mut context));
        ok!(other, cuStreamGetDevice(stream, &mut device));
        ok!(other, cuStreamIsCapturing(stream, &mut status));
        assert_eq!((context, device), (other.context, 0));
        let mut graph = CUgraph::NULL;
        ok!(other, cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
        ok!(other, cuStreamEndCapture(stream, &mut graph));
        ok!(other, cuGraphDestroy(graph));
        ok!(other, cuStreamDestroy_v2(stream));
        ok!(other, cuEventDestroy_v2(start));
        fails!(other, INVALID_CONTEXT, cuStreamSynchronize(CUstream::NULL));
        let (mut event, mut made) = (CUevent::NULL, CUstream::NULL);
        fails!(other, INVALID_CONTEXT, cuEventCreate(&mut event, 0));
        fails!(other, INVALID_CONTEXT, cuStreamCreate(&mut made, 0));
    });
    assert_eq!(CALLED.load(Ordering::SeqCst), 2);
}

#[test]
fn pools_and_pointers_are_queried_without_a_context() {
    let program = Program::new();
    let device = program.alloc(64);
    let mut pool = CUmemoryPool::NULL;
    ok!(program, cuDeviceGetMemPool(&mut pool, 0));
    without_context(&program, |other| {
        let (mut kind, mut value) = (0_u32, 0_u64);
        ok!(other, cuPointerGetAttribute((&raw mut kind).cast(), CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device));
        assert_eq!(kind, CU_MEMORYTYPE_DEVICE);
        let data = (&raw mut value).cast();
        ok!(other, cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, data));
        ok!(other, cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, data));
        ok!(other, cuMemPoolTrimTo(pool, 0));
        ok!(other, cuMemGetAddressRange_v2(&mut 0, &mut 0, device));
        fails!(other, INVALID_CONTEXT, cuMemFree_v2(device));
    });
}

const PTX: &std::ffi::CStr = c".version 8.0\n.target sm_80\n.address_size 64\n
    .visible .entry put(.param .u64 place, .param .u32 value)
    {
        .reg .b64 %rd<2>; .reg .b32 %r<2>;
        ld.param.u64 %rd1, [place]; ld.param.u32 %r1, [value];
        st.global.u32 [%rd1], %r1;
        ret;
    }";

#[test]
fn kernels_are_queried_and_launched_without_a_context() {
    let program = Program::new();
    let (stream, place) = (program.stream(0), program.alloc(4));
    let (mut library, mut kernel, mut module, mut function) =
        (CUlibrary::NULL, CUkernel::NULL, CUmodule::NULL, CUfunction::NULL);
    ok!(program, cuModuleLoadData(&mut module, PTX.as_ptr().cast()));
    ok!(program, cuModuleGetFunction(&mut function, module, c"put".as_ptr()));
    without_context(&program, |other| {
        let (code, none) = (PTX.as_ptr().cast(), std::ptr::null_mut());
        ok!(other, cuLibraryLoadData(&mut library, code, none, none.cast(), 0, none, none.cast(), 0));
        ok!(other, cuLibraryGetKernel(&mut kernel, library, c"put".as_ptr()));
        let (mut offset, mut size, mut count, mut name) = (9, 9, 9, std::ptr::null());
        fails!(other, INVALID_CONTEXT, cuKernelGetParamInfo(kernel, 1, &mut offset, &mut size));
        fails!(other, INVALID_CONTEXT, cuFuncGetParamInfo(function, 0, &mut offset, std::ptr::null_mut()));
        ok!(other, cuKernelGetParamCount(kernel, &mut count));
        assert_eq!(count, 2);
        ok!(other, cuFuncGetName(&mut name, function));
        ok!(other, cuKernelGetName(&mut name, kernel));
        fails!(other, INVALID_VALUE, cuFuncGetName(&mut name, CUfunction::NULL));
        fails!(other, INVALID_VALUE, cuFuncGetName(std::ptr::null_mut(), function));
        fails!(other, INVALID_VALUE, cuKernelGetName(&mut name, CUkernel::NULL));
        fails!(other, INVALID_VALUE, cuKernelGetName(std::ptr::null_mut(), kernel));
        let mut arguments: [*mut c_void; 2] = [(&raw const place).cast_mut().cast(), (&raw mut count).cast()];
        let params = arguments.as_mut_ptr();
        ok!(other, cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, params, std::ptr::null_mut()));
        let as_function = CUfunction(kernel.0);
        ok!(other, cuLaunchKernel(as_function, 1, 1, 1, 1, 1, 1, 0, stream, params, std::ptr::null_mut()));
        ok!(other, cuStreamSynchronize(stream));
        let default = CUstream::NULL;
        fails!(
            other,
            INVALID_CONTEXT,
            cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, default, params, std::ptr::null_mut())
        );
    });
    assert_eq!(program.peek(place), 2);
}
