//! Codes that the sweeps do not reach: they need arguments that fit together, or an earlier call.

use super::*;
use std::ffi::{CStr, c_char};

const PTX: &CStr = c".version 8.0\n.target sm_80\n.address_size 64\n
    .extern .func (.param .b64 address) malloc(.param .b64 size);
    .extern .func (.param .b32 count) vprintf(.param .b64 format, .param .b64 arguments);
    .visible .entry nothing() { ret; }";

fn function(p: &Program) -> CUfunction {
    let (mut module, mut function) = (CUmodule::NULL, CUfunction::NULL);
    ok!(p, cuModuleLoadData(&mut module, PTX.as_ptr().cast()));
    ok!(p, cuModuleGetFunction(&mut function, module, c"nothing".as_ptr()));
    function
}

#[test]
fn peer_attributes_of_two_devices_need_valid_arguments() {
    let p = Program::with(Config { devices: 2, ..Config::default() });
    let (mut value, mut operation) = (0, 0);
    fails!(p, INVALID_VALUE, cuDeviceGetP2PAttribute(std::ptr::null_mut(), 1, 0, 1));
    fails!(p, INVALID_VALUE, cuDeviceGetP2PAttribute(&mut value, 99, 0, 1));
    fails!(p, INVALID_VALUE, cuDeviceGetP2PAtomicCapabilities(std::ptr::null_mut(), &raw const operation, 1, 0, 1));
    operation = u32::MAX;
    let mut capabilities = 0;
    fails!(p, INVALID_VALUE, cuDeviceGetP2PAtomicCapabilities(&mut capabilities, &raw const operation, 1, 0, 1));
}

#[test]
fn primary_context_is_released_as_often_as_it_was_retained() {
    let p = Program::with(Config { findings: false, ..Config::default() });
    ok!(p, cuDevicePrimaryCtxRelease(0));
    fails!(p, INVALID_CONTEXT, cuDevicePrimaryCtxRelease(0));
    fails!(p, INVALID_CONTEXT, cuDevicePrimaryCtxRelease_v2(0));
}

#[test]
fn null_context_is_an_invalid_value_and_an_ended_one_an_invalid_context() {
    let p = Program::with(Config { findings: false, ..Config::default() });
    fails!(p, INVALID_VALUE, cuCtxPushCurrent_v2(CUcontext::NULL));
    fails!(p, INVALID_VALUE, cuCtxDestroy_v2(CUcontext::NULL));
    let mut ended = CUcontext::NULL;
    ok!(p, cuCtxCreate_v2(&mut ended, 0, 0));
    ok!(p, cuCtxDestroy_v2(ended));
    fails!(p, INVALID_CONTEXT, cuCtxPushCurrent_v2(ended));
    fails!(p, INVALID_CONTEXT, cuCtxDestroy_v2(ended));
}

#[test]
fn limits_that_a_launched_kernel_uses_do_not_change() {
    let p = Program::new();
    ok!(p, cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 1 << 20));
    ok!(p, cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 1 << 16));
    let (function, none) = (function(&p), std::ptr::null_mut());
    ok!(p, cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, CUstream::NULL, none, none));
    fails!(p, INVALID_VALUE, cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 2 << 20));
    fails!(p, INVALID_VALUE, cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 1 << 20));
    ok!(p, cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 4096));
    let mut heap = 0;
    ok!(p, cuCtxGetLimit(&mut heap, CU_LIMIT_MALLOC_HEAP_SIZE));
    assert_eq!(heap, 1 << 20);
    // Another context has its own limits.
    let mut other = CUcontext::NULL;
    ok!(p, cuCtxCreate_v2(&mut other, 0, 0));
    ok!(p, cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 2 << 20));
    ok!(p, cuCtxDestroy_v2(other));
}

#[test]
fn depth_of_synchronization_is_a_limit_of_older_devices() {
    let p = Program::with(Config { compute_capability: (8, 0), ..Config::default() });
    ok!(p, cuCtxSetLimit(CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH, 4));
    drop(p);
    let p = Program::with(Config { compute_capability: (9, 0), ..Config::default() });
    fails!(p, UNSUPPORTED_LIMIT, cuCtxSetLimit(CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH, 4));
    fails!(p, UNSUPPORTED_LIMIT, cuCtxSetLimit(99, 4));
}

#[test]
fn cache_configuration_is_one_of_four() {
    let p = Program::new();
    let function = function(&p);
    ok!(p, cuFuncSetCacheConfig(function, CU_FUNC_CACHE_PREFER_EQUAL));
    fails!(p, INVALID_VALUE, cuFuncSetCacheConfig(function, 4));
    let (mut library, mut kernel, none) = (CUlibrary::NULL, CUkernel::NULL, std::ptr::null_mut());
    ok!(p, cuLibraryLoadData(&mut library, PTX.as_ptr().cast(), none, none.cast(), 0, none.cast(), none.cast(), 0));
    ok!(p, cuLibraryGetKernel(&mut kernel, library, c"nothing".as_ptr()));
    ok!(p, cuKernelSetCacheConfig(kernel, CU_FUNC_CACHE_PREFER_L1, 0));
    fails!(p, INVALID_VALUE, cuKernelSetCacheConfig(kernel, 4, 0));
}

#[test]
fn memory_and_textures_need_a_current_context() {
    let p = Program::with(Config { findings: false, ..Config::default() });
    let (mut managed, mut texture, memory, mut word) = (0, CUtexref::NULL, p.alloc(64), 0_u64);
    ok!(p, cuTexRefCreate(&mut texture));
    let event = p.event();
    let mut handle = CUipcMemHandle { reserved: [0; 64] };
    ok!(p, cuIpcGetMemHandle(&mut handle, memory));
    // SAFETY: all-zero is a copy without memory.
    let mut peers: CUDA_MEMCPY3D_PEER = unsafe { std::mem::zeroed() };
    (peers.srcMemoryType, peers.srcDevice, peers.srcContext) = (CU_MEMORYTYPE_DEVICE, memory, p.context);
    (peers.dstMemoryType, peers.dstDevice, peers.dstContext) = (CU_MEMORYTYPE_DEVICE, memory + 32, p.context);
    (peers.WidthInBytes, peers.Height, peers.Depth) = (4, 1, 1);
    ok!(p, cuCtxSetCurrent(CUcontext::NULL));
    fails!(p, INVALID_CONTEXT, cuMemAllocManaged(&mut managed, 64, CU_MEM_ATTACH_GLOBAL));
    fails!(p, INVALID_CONTEXT, cuTexRefSetFormat(texture, CU_AD_FORMAT_FLOAT, 1));
    fails!(p, INVALID_CONTEXT, cuIpcOpenMemHandle(&mut managed, handle, 1));
    fails!(p, INVALID_CONTEXT, cuIpcOpenMemHandle_v2(&mut managed, handle, 1));
    fails!(p, INVALID_CONTEXT, cuMemcpy3DPeerAsync(&peers, CUstream::NULL));
    peers.dstContext = CUcontext(0xbad0);
    fails!(p, INVALID_CONTEXT, cuMemcpy3DPeer(&peers));
    let data = (&raw mut word).cast();
    fails!(p, INVALID_CONTEXT, cuPointerGetAttribute(data, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, memory));
    ok!(p, cuEventDestroy_v2(event));
}

#[test]
fn kernel_of_a_library_has_no_occupancy_without_a_context() {
    let p = Program::new();
    let (mut library, mut kernel, none) = (CUlibrary::NULL, CUkernel::NULL, std::ptr::null_mut());
    ok!(p, cuLibraryLoadData(&mut library, PTX.as_ptr().cast(), none, none.cast(), 0, none.cast(), none.cast(), 0));
    ok!(p, cuLibraryGetKernel(&mut kernel, library, c"nothing".as_ptr()));
    let (mut blocks, as_function) = (0, CUfunction(kernel.0));
    ok!(p, cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, as_function, 32, 0));
    assert!(blocks > 0);
    ok!(p, cuCtxSetCurrent(CUcontext::NULL));
    fails!(p, INVALID_CONTEXT, cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, as_function, 32, 0));
}

#[test]
fn old_launches_need_a_block_shape_and_a_grid() {
    let p = Program::new();
    let function = function(&p);
    fails!(p, INVALID_VALUE, cuLaunch(function));
    ok!(p, cuFuncSetBlockShape(function, 32, 1, 1));
    ok!(p, cuLaunch(function));
    fails!(p, INVALID_VALUE, cuLaunchGrid(function, 0, 1));
    fails!(p, INVALID_VALUE, cuLaunchGrid(function, 1, -1));
    ok!(p, cuFuncSetSharedSize(function, 48 << 10));
    fails!(p, INVALID_VALUE, cuFuncSetSharedSize(function, (48 << 10) + 1));
    fails!(p, INVALID_VALUE, cuParamSetSize(function, 4097));
    fails!(p, INVALID_VALUE, cuParamSeti(function, -4, 1));
    fails!(p, INVALID_VALUE, cuParamSetf(function, 4094, 1.0));
}

#[test]
fn handle_of_another_process_is_checked_by_both_versions() {
    let p = Program::new();
    let (mut address, mut handle) = (0, CUipcMemHandle { reserved: [0; 64] });
    ok!(p, cuIpcGetMemHandle(&mut handle, p.alloc(64)));
    // A handle whose memory does not exist.
    handle.reserved[8..40].fill(0x5a as c_char);
    fails!(p, INVALID_HANDLE, cuIpcOpenMemHandle(&mut address, handle, 1));
    fails!(p, INVALID_HANDLE, cuIpcOpenMemHandle_v2(&mut address, handle, 1));
}
