//! Contexts: the stack of each thread, devices, peers, and which calls need a current context.

use crate::program::*;

fn current(program: &Program) -> CUcontext {
    let mut context = CUcontext(1);
    ok!(program, cuCtxGetCurrent(&mut context));
    context
}

#[test]
fn contexts_form_a_stack_in_each_thread() {
    let program = Program::with(Config { devices: 2, ..Config::default() });
    let (mut made, mut popped) = (CUcontext::NULL, CUcontext::NULL);
    ok!(program, cuCtxCreate_v2(&mut made, 0, 1));
    assert_eq!(current(&program), made);
    let mut device = -1;
    ok!(program, cuCtxGetDevice(&mut device));
    assert_eq!(device, 1);
    ok!(program, cuCtxPushCurrent_v2(program.context));
    ok!(program, cuCtxPopCurrent_v2(&mut popped));
    assert_eq!((popped, current(&program)), (program.context, made));
    program.in_thread(|other| assert_eq!(current(other), program.context));
    ok!(program, cuCtxDestroy_v2(made));
    assert_eq!(current(&program), program.context);
    fails!(program, INVALID_CONTEXT, cuCtxPushCurrent_v2(made));
    fails!(program, INVALID_CONTEXT, cuCtxDestroy_v2(program.context));
    ok!(program, cuCtxPopCurrent_v2(&mut popped));
    fails!(program, INVALID_CONTEXT, cuCtxPopCurrent_v2(&mut popped));
    fails!(program, INVALID_CONTEXT, cuCtxSynchronize());
    let mut address = 0;
    fails!(program, INVALID_CONTEXT, cuMemAlloc_v2(&mut address, 8));
}

#[test]
fn event_calls_use_the_context_of_the_event() {
    let program = Program::new();
    let (stream, event) = (program.stream(0), program.event());
    ok!(program, cuEventRecord(event, stream));
    let mut popped = CUcontext::NULL;
    ok!(program, cuCtxPopCurrent_v2(&mut popped));
    fails!(program, INVALID_CONTEXT, cuEventRecord(event, CUstream::NULL));
    ok!(program, cuEventSynchronize(event));
    ok!(program, cuEventQuery(event));
    ok!(program, cuEventDestroy_v2(event));
    fails!(program, INVALID_HANDLE, cuEventSynchronize(event));
    ok!(program, cuCtxPushCurrent_v2(popped));
    ok!(program, cuStreamDestroy_v2(stream));
}

#[test]
fn primary_context_ends_with_its_last_release() {
    let program = Program::new();
    let address = program.alloc(8);
    assert_eq!(program.primary(0), program.context);
    ok!(program, cuDevicePrimaryCtxRelease_v2(0));
    let (mut flags, mut active) = (9, 9);
    ok!(program, cuDevicePrimaryCtxGetState(0, &mut flags, &mut active));
    assert_eq!((flags, active), (0, 1));
    ok!(program, cuDevicePrimaryCtxRelease_v2(0));
    ok!(program, cuDevicePrimaryCtxGetState(0, &mut flags, &mut active));
    assert_eq!(active, 0);
    fails!(program, CONTEXT_IS_DESTROYED, cuCtxSynchronize());
    fails!(program, INVALID_CONTEXT, cuDevicePrimaryCtxRelease_v2(0));
    program.primary(0);
    fails!(program, INVALID_VALUE, cuMemFree_v2(address));
}

#[test]
fn primary_context_reset_runs_pending_work_and_frees_everything() {
    let program = Program::new();
    let (stream, event, device, bytes) = (program.stream(0), program.event(), program.alloc(1), [5_u8; 4]);
    let host = bytes.as_ptr().cast_mut().cast::<c_void>();
    ok!(program, cuMemHostRegister_v2(host, 4, 0));
    program.fill(device, 7, 1, stream);
    ok!(program, cuMemcpyDtoHAsync_v2(host, device, 1, stream));
    ok!(program, cuDevicePrimaryCtxReset_v2(0));
    assert_eq!(read(bytes.as_ptr()), 7);
    assert_eq!((program.statistic("streams"), program.statistic("events")), (0, 0));
    assert!(program.sim.statistics().starts_with("{\"allocations\":[]"));
    program.primary(0);
    fails!(program, INVALID_HANDLE, cuStreamSynchronize(stream));
    fails!(program, INVALID_HANDLE, cuEventSynchronize(event));
}

#[test]
fn only_version_and_error_queries_work_before_initialization() {
    struct Uninitialized {
        api: Api,
    }
    let sim = Sim::new(Config::default());
    let _entered = sim.enter();
    let program = Uninitialized { api: sim.api() };
    let (mut version, mut count, mut text) = (0, 0, std::ptr::null());
    ok!(program, cuDriverGetVersion(&mut version));
    assert_eq!(version, 13050);
    ok!(program, cuGetErrorName(CUresult::CUDA_ERROR_INVALID_VALUE, &mut text));
    fails!(program, INVALID_VALUE, cuGetErrorName(CUresult(123_456), &mut text));
    fails!(program, NOT_INITIALIZED, cuDeviceGetCount(&mut count));
    fails!(program, NOT_INITIALIZED, cuCtxSynchronize());
    fails!(program, INVALID_VALUE, cuInit(1));
    ok!(program, cuInit(0));
    ok!(program, cuInit(0));
    ok!(program, cuDeviceGetCount(&mut count));
}

#[test]
fn invalid_configuration_makes_initialization_fail() {
    struct Uninitialized {
        api: Api,
    }
    let sim = Sim::new(Config { devices: 9, ..Config::default() });
    let _entered = sim.enter();
    let program = Uninitialized { api: sim.api() };
    fails!(program, INVALID_VALUE, cuInit(0));
    fails!(program, NOT_INITIALIZED, cuCtxSynchronize());
}

#[test]
fn hidden_devices_are_not_counted_and_visible_ones_keep_their_uuid() {
    let all = Program::with(Config { devices: 4, ..Config::default() });
    let (mut there, mut here) = (CUuuid { bytes: [0; 16] }, CUuuid { bytes: [1; 16] });
    ok!(all, cuDeviceGetUuid_v2(&mut there, 3));
    let program = Program::with(Config { devices: 4, visible: Some(vec![3, 1]), ..Config::default() });
    let mut count = 0;
    ok!(program, cuDeviceGetCount(&mut count));
    ok!(program, cuDeviceGetUuid_v2(&mut here, 0));
    assert_eq!((count, here), (2, there));
    fails!(program, INVALID_DEVICE, cuDeviceGetUuid_v2(&mut here, 2));
}

#[test]
fn device_queries_match_the_configuration() {
    let program = Program::with(Config { devices: 8, compute_capability: (8, 6), ..Config::default() });
    let (mut device, mut value, mut bytes) = (0, 0, 0);
    ok!(program, cuDeviceGet(&mut device, 7));
    fails!(program, INVALID_DEVICE, cuDeviceGet(&mut device, 8));
    fails!(program, INVALID_DEVICE, cuDeviceGet(&mut device, -1));
    ok!(program, cuDeviceGetAttribute(&mut value, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 7));
    assert_eq!(value, 6);
    fails!(program, INVALID_VALUE, cuDeviceGetAttribute(&mut value, 9999, 7));
    ok!(program, cuDeviceTotalMem_v2(&mut bytes, 7));
    assert_eq!(bytes, 16 << 30);
    let mut name = [1; 8];
    ok!(program, cuDeviceGetName(name.as_mut_ptr(), 8, 7));
    assert_eq!(name.map(|c| c as u8), *b"cuarray\0");
    let mut bus = [0; 32];
    ok!(program, cuDeviceGetPCIBusId(bus.as_mut_ptr(), 32, 3));
    ok!(program, cuDeviceGetByPCIBusId(&mut device, bus.as_ptr()));
    assert_eq!(device, 3);
    fails!(program, INVALID_DEVICE, cuDeviceGetByPCIBusId(&mut device, c"0000:00:00.0".as_ptr()));
}

#[test]
fn peer_access_can_be_enabled_used_for_copies_and_disabled() {
    let program = Program::with(Config { devices: 2, ..Config::default() });
    let (peer, mut can) = (program.primary(1), 9);
    ok!(program, cuDeviceCanAccessPeer(&mut can, 0, 1));
    assert_eq!(can, 1);
    ok!(program, cuDeviceCanAccessPeer(&mut can, 0, 0));
    assert_eq!(can, 0);
    ok!(program, cuCtxEnablePeerAccess(peer, 0));
    fails!(program, PEER_ACCESS_ALREADY_ENABLED, cuCtxEnablePeerAccess(peer, 0));
    fails!(program, INVALID_CONTEXT, cuCtxEnablePeerAccess(program.context, 0));
    let here = program.alloc(4);
    ok!(program, cuCtxSetCurrent(peer));
    let there = program.alloc(4);
    program.fill(there, 7, 4, program.stream(0));
    ok!(program, cuCtxSetCurrent(program.context));
    fails!(program, INVALID_VALUE, cuMemcpyPeer(here, peer, there, program.context, 4));
    // The copy is serialized with the work of both contexts.
    ok!(program, cuMemcpyPeer(here, program.context, there, peer, 4));
    let mut byte = 0_u8;
    ok!(program, cuMemcpyDtoH_v2((&raw mut byte).cast(), here, 1));
    assert_eq!(byte, 7);
    ok!(program, cuCtxDisablePeerAccess(peer));
    fails!(program, PEER_ACCESS_NOT_ENABLED, cuCtxDisablePeerAccess(peer));
}

#[test]
fn handle_of_another_kind_or_driver_is_invalid() {
    let program = Program::new();
    let (stream, event) = (program.stream(0), program.event());
    let other = Program::new();
    fails!(other, INVALID_HANDLE, cuStreamSynchronize(stream));
    fails!(other, INVALID_HANDLE, cuEventSynchronize(event));
    fails!(other, INVALID_CONTEXT, cuCtxPushCurrent_v2(program.context));
    drop(other);
    fails!(program, INVALID_HANDLE, cuEventRecord(CUevent(stream.0), stream));
    fails!(program, INVALID_HANDLE, cuStreamSynchronize(CUstream(event.0)));
    fails!(program, INVALID_HANDLE, cuStreamDestroy_v2(CUstream::NULL));
    fails!(program, INVALID_HANDLE, cuStreamDestroy_v2(CU_STREAM_LEGACY));
    ok!(program, cuStreamDestroy_v2(stream));
    fails!(program, INVALID_HANDLE, cuStreamDestroy_v2(stream));
}

#[test]
fn eight_threads_can_use_one_context() {
    let program = Program::new();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            let (sim, context) = (program.sim.clone(), program.context);
            scope.spawn(move || {
                struct Entering {
                    api: Api,
                }
                let _entered = sim.enter();
                let program = Entering { api: sim.api() };
                ok!(program, cuCtxSetCurrent(context));
                for round in 0..200_u8 {
                    let (mut address, mut stream, mut byte) = (0, CUstream::NULL, 0_u8);
                    ok!(program, cuMemAlloc_v2(&mut address, 4096));
                    ok!(program, cuStreamCreate(&mut stream, CU_STREAM_NON_BLOCKING));
                    ok!(program, cuMemsetD8Async(address, round, 4096, stream));
                    ok!(program, cuMemcpyDtoHAsync_v2((&raw mut byte).cast(), address + 4095, 1, stream));
                    assert_eq!(byte, round);
                    ok!(program, cuStreamDestroy_v2(stream));
                    ok!(program, cuMemFree_v2(address));
                }
            });
        }
    });
    assert_eq!((program.statistic("streams"), program.statistic("pending_operations")), (0, 0));
}
