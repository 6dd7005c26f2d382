//! The error log, the settings of core dumps, and calls about devices that have no effect here.

use crate::program::*;
use std::ffi::{CStr, CString, c_char, c_int};

/// The messages from an iterator on, which advances.
pub fn log(p: &Program, from: &mut CUlogIterator) -> String {
    let (mut buffer, mut size) = (vec![0_u8; 25_600], 25_600);
    ok!(p, cuLogsDumpToMemory(from, buffer.as_mut_ptr().cast(), &mut size, 0));
    assert_eq!(buffer[size], 0);
    String::from_utf8(buffer[..size].to_vec()).unwrap()
}

pub fn position(p: &Program) -> CUlogIterator {
    let mut at = 0;
    ok!(p, cuLogsCurrent(&mut at, 0));
    at
}

#[test]
fn failed_call_is_logged_with_its_arguments_and_code() {
    let p = Program::new();
    let mut at = position(&p);
    assert_eq!(log(&p, &mut at), "");
    fails!(p, INVALID_VALUE, cuMemFree_v2(0x1234));
    let text = log(&p, &mut at);
    assert!(text.contains("[CUDA][E] cuMemFree_v2(dptr=0x1234) returned 1 (CUDA_ERROR_INVALID_VALUE): "), "{text}");
    assert_eq!(text.lines().count(), 1);
    assert_eq!(log(&p, &mut at), "", "the iterator has advanced");
    assert_eq!(call!(p, cuStreamQuery(CUstream::NULL)), CUresult::CUDA_SUCCESS);
    fails!(p, INVALID_VALUE, cuMemFree_v2(0x5678));
    let (mut all, mut size) = (vec![0_u8; 25_600], 25_600);
    ok!(p, cuLogsDumpToMemory(std::ptr::null_mut(), all.as_mut_ptr().cast(), &mut size, 0));
    assert_eq!(String::from_utf8_lossy(&all[..size]).lines().count(), 2);
}

#[test]
fn refused_attribute_and_node_are_logged_by_name_with_the_reason() {
    let p = Program::new();
    let (mut module, mut function, mut graph, mut node) =
        (CUmodule::NULL, CUfunction::NULL, CUgraph::NULL, CUgraphNode::NULL);
    let ptx = c".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry nothing() { ret; }";
    ok!(p, cuModuleLoadData(&mut module, ptx.as_ptr().cast()));
    ok!(p, cuModuleGetFunction(&mut function, module, c"nothing".as_ptr()));
    let attribute = CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE;
    let mut updatable = CUlaunchAttribute { id: attribute, pad: [0; 4], value: [1, 0, 0, 0, 0, 0, 0, 0] };
    let config = CUlaunchConfig {
        gridDimX: 1,
        gridDimY: 1,
        gridDimZ: 1,
        blockDimX: 1,
        blockDimY: 1,
        blockDimZ: 1,
        sharedMemBytes: 0,
        hStream: CUstream::NULL,
        attrs: &raw mut updatable,
        numAttrs: 1,
    };
    let mut at = position(&p);
    fails!(p, NOT_SUPPORTED, cuLaunchKernelEx(&config, function, std::ptr::null_mut(), std::ptr::null_mut()));
    let text = log(&p, &mut at);
    let reason = "CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE is refused: kernels cannot change nodes of graphs";
    assert!(text.contains(reason), "{text}");
    ok!(p, cuGraphCreate(&mut graph, 0));
    let kind = CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT;
    let mut params = CUgraphNodeParams { kind, reserved0: [0; 3], params: [0; 29], reserved2: 0 };
    fails!(p, NOT_SUPPORTED, cuGraphAddNode(&mut node, graph, std::ptr::null(), 0, &mut params));
    let text = log(&p, &mut at);
    assert!(text.contains("a semaphore node is refused: no semaphore can be imported"), "{text}");
}

#[test]
fn refused_functions_are_logged_by_name_with_the_reason() {
    let p = Program::with(Config { driver_version: 13999, ..Config::default() });
    for (name, reason) in [
        (c"cuTensorMapEncodeTiled", "kernels cannot copy through tensor maps"),
        (c"cuMulticastCreate", "the devices have no switch between them"),
        (c"cuMulticastBindMem", "the devices have no switch between them"),
    ] {
        let (mut address, mut status, mut at) = (std::ptr::null_mut(), 9, position(&p));
        ok!(p, cuGetProcAddress_v2(name.as_ptr(), &mut address, 13999, 0, &mut status));
        // SAFETY: a refused function reads no arguments.
        let function = unsafe { std::mem::transmute::<*mut c_void, extern "C" fn() -> CUresult>(address) };
        assert_eq!(function(), CUresult::CUDA_ERROR_NOT_SUPPORTED);
        let (text, name) = (log(&p, &mut at), name.to_string_lossy());
        assert!(text.contains(&*name) && text.contains(reason), "{text}");
    }
}

#[test]
fn small_buffer_gets_the_latest_messages_and_a_notice() {
    let p = Program::new();
    let mut at = position(&p);
    for address in 1..100 {
        fails!(p, INVALID_VALUE, cuMemFree_v2(address));
    }
    let (mut buffer, mut size, start) = ([1_u8; 400], 400, at);
    ok!(p, cuLogsDumpToMemory(&mut at, buffer.as_mut_ptr().cast(), &mut size, 0));
    let text = String::from_utf8_lossy(&buffer[..size]).into_owned();
    assert!(text.starts_with("[CUDA][W] The log is truncated"), "{text}");
    assert!(text.contains("dptr=0x63"), "{text}");
    assert!(!text.contains("dptr=0x1)"), "{text}");
    assert_eq!(at, start + 99);
    let mut again = start;
    for room in [0, 1, 50] {
        let (mut buffer, mut size) = ([1_u8; 50], room);
        fails!(p, INVALID_VALUE, cuLogsDumpToMemory(&mut again, buffer.as_mut_ptr().cast(), &mut size, 0));
        assert_eq!((size, buffer[0], again), (0, u8::from(room == 0), start));
    }
}

#[test]
fn reason_of_a_refusal_is_logged_before_each_refused_call() {
    let p = Program::new();
    let (mut graph, mut node, mut array) = (CUgraph::NULL, CUgraphNode::NULL, CUarray::NULL);
    ok!(p, cuGraphCreate(&mut graph, 0));
    let mut semaphores =
        CUgraphNodeParams { kind: CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT, reserved0: [0; 3], params: [0; 29], reserved2: 0 };
    let sparse = CUDA_ARRAY3D_DESCRIPTOR {
        Width: 4,
        Height: 4,
        Format: CU_AD_FORMAT_UNSIGNED_INT8,
        NumChannels: 1,
        Flags: CUDA_ARRAY3D_SPARSE,
        ..Default::default()
    };
    // Standard error gets each reason once, the log each time.
    for _ in 0..2 {
        let mut at = position(&p);
        fails!(p, NOT_SUPPORTED, cuGraphAddNode(&mut node, graph, std::ptr::null(), 0, &mut semaphores));
        fails!(p, NOT_SUPPORTED, cuArray3DCreate_v2(&mut array, &sparse));
        let text = log(&p, &mut at);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 4, "{text}");
        assert!(lines[0].contains("[E] a semaphore node is refused: no semaphore can be imported"), "{text}");
        assert!(lines[1].contains("cuGraphAddNode(") && lines[1].contains("CUDA_ERROR_NOT_SUPPORTED"), "{text}");
        assert!(lines[2].contains("[E] an array with flags 0x40 is refused: sparse arrays"), "{text}");
        assert!(lines[3].contains("cuArray3DCreate_v2("), "{text}");
    }
}

#[test]
fn refused_code_and_refused_functions_are_logged_with_their_reasons() {
    let p = Program::new();
    let (mut at, mut module) = (position(&p), CUmodule::NULL);
    let cubin = *b"\x7fELF\x02\x01\x01\x41\x07\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    assert!(!call!(p, cuModuleLoadData(&mut module, cubin.as_ptr().cast())).is_success());
    fails!(
        p,
        INVALID_PTX,
        cuModuleLoadData(&mut module, c".version 8.0\n.target sm_80\n.address_size 64\nnonsense".as_ptr().cast())
    );
    // A fat binary with one entry of kind 8, as nvcc writes it for the code `lto_90`.
    let mut lto = [0xba55_ed50_u32, 0x0010_0001, 72, 0].to_vec();
    lto.extend([0x0101_0008, 64, 8, 0, 8, 0, 0, 90]);
    lto.resize(4 + 18, 0);
    fails!(p, NO_BINARY_FOR_GPU, cuModuleLoadData(&mut module, lto.as_ptr().cast()));
    let (mut address, mut status) = (std::ptr::null_mut(), 0);
    ok!(p, cuGetProcAddress_v2(c"cuMulticastCreate".as_ptr(), &mut address, 13000, 1, &mut status));
    // SAFETY: the function is refused and reads no argument.
    let refused: extern "C" fn() -> CUresult = unsafe { std::mem::transmute(address) };
    assert_eq!(refused(), CUresult::CUDA_ERROR_NOT_SUPPORTED);
    let text = log(&p, &mut at);
    assert!(text.contains("[E] machine code was refused: "), "{text}");
    assert!(text.contains("[E] PTX was refused: "), "{text}");
    assert!(text.contains("the fat binary holds LTO-IR only") && text.contains("code=compute_90"), "{text}");
    assert!(text.contains("[E] cuMulticastCreate is refused: the devices have no switch"), "{text}");
}

#[test]
fn every_failing_function_writes_an_entry() {
    let p = Program::with(Config { findings: false, ..Config::default() });
    let mut at = position(&p);
    for (count, address) in (1..).zip([0x10, 0x20, 0x30]) {
        fails!(p, INVALID_VALUE, cuMemFree_v2(address));
        let mut from = at;
        assert_eq!(log(&p, &mut from).lines().count(), count);
    }
    // A query of unfinished work is no failure.
    let (stream, event, memory) = (p.stream(CU_STREAM_NON_BLOCKING), p.event(), p.alloc(64));
    p.fill(memory, 1, 64, stream);
    ok!(p, cuEventRecord(event, stream));
    at = position(&p);
    assert_eq!(call!(p, cuEventQuery(event)), CUresult::CUDA_ERROR_NOT_READY);
    assert_eq!(log(&p, &mut at), "");
}

#[test]
fn log_is_written_to_a_file() {
    let p = Program::new();
    let mut at = position(&p);
    fails!(p, INVALID_DEVICE, cuDeviceGetName(std::ptr::null_mut(), 0, 9));
    let path = std::env::temp_dir().join(format!("cuarray-sim log {}", std::process::id()));
    let name = CString::new(path.to_str().unwrap()).unwrap();
    ok!(p, cuLogsDumpToFile(&mut at, name.as_ptr(), 0));
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(text.contains("cuDeviceGetName(") && text.contains("CUDA_ERROR_INVALID_DEVICE"), "{text}");
    assert_eq!(at, position(&p));
    fails!(p, INVALID_VALUE, cuLogsDumpToFile(&mut at, name.as_ptr(), 1));
    fails!(p, INVALID_VALUE, cuLogsDumpToFile(&mut at, c"/nowhere/at/all".as_ptr(), 0));
    fails!(p, INVALID_VALUE, cuLogsCurrent(&mut at, 1));
}

/// Appends a message to the strings behind `data`.
unsafe extern "C" fn receive(data: *mut c_void, level: CUlogLevel, text: *mut c_char, length: usize) {
    // SAFETY: the test passes a vector that outlives the registration, and calls in one thread.
    let received = unsafe { &mut *data.cast::<Vec<(u32, String)>>() };
    // SAFETY: the driver passes a string.
    let text = unsafe { CStr::from_ptr(text) }.to_str().unwrap().to_owned();
    assert_eq!(text.len(), length);
    received.push((level, text));
}

#[test]
fn receiver_gets_messages_until_it_is_unregistered() {
    let p = Program::new();
    let mut received: Vec<(u32, String)> = Vec::new();
    let (data, mut handle) = ((&raw mut received).cast(), CUlogsCallbackHandle::NULL);
    fails!(p, INVALID_VALUE, cuLogsRegisterCallback(None, data, &mut handle));
    ok!(p, cuLogsRegisterCallback(Some(receive), data, &mut handle));
    fails!(p, INVALID_VALUE, cuMemFree_v2(0x1234));
    // A call that the simulator refuses is a message too, with the reason.
    let (mut on, mut size) = (1_u8, 1);
    let symbol = CUcoredumpSettings::from(CU_COREDUMP_ENABLE_ON_EXCEPTION);
    ok!(p, cuCoredumpSetAttributeGlobal(symbol, (&raw mut on).cast(), &mut size));
    ok!(p, cuLogsUnregisterCallback(handle));
    fails!(p, INVALID_VALUE, cuLogsUnregisterCallback(handle));
    fails!(p, INVALID_VALUE, cuMemFree_v2(0x5678));
    assert_eq!(received.len(), 2, "{received:?}");
    assert!(received[0].0 == CU_LOG_LEVEL_ERROR && received[0].1.contains("cuMemFree_v2(dptr=0x1234)"));
    assert!(received[1].0 == CU_LOG_LEVEL_WARNING && received[1].1.contains("writes no file"), "{received:?}");
}

#[test]
fn log_works_before_the_initialization() {
    let sim = Sim::new(Config { quiet: true, ..Config::default() });
    let (api, _entered) = (sim.api(), sim.enter());
    let mut at = 9;
    // SAFETY: the arguments are those that the driver's manual requires.
    unsafe {
        assert!(api.cuLogsCurrent.unwrap()(&mut at, 0).is_success());
        assert_eq!(api.cuMemFree_v2.unwrap()(1), CUresult::CUDA_ERROR_NOT_INITIALIZED);
        let (mut buffer, mut size) = ([0_u8; 1000], 1000);
        assert!(api.cuLogsDumpToMemory.unwrap()(&mut at, buffer.as_mut_ptr().cast(), &mut size, 0).is_success());
        assert!(String::from_utf8_lossy(&buffer[..size]).contains("CUDA_ERROR_NOT_INITIALIZED"));
    }
}

#[test]
fn failed_kernel_is_logged_with_its_place() {
    const PTX: &CStr = c".version 8.0\n.target sm_80\n.address_size 64\n
        .visible .entry wild() { .reg .b64 %rd<2>; mov.u64 %rd1, 64; st.global.u32 [%rd1], 7; ret; }";
    let p = Program::with(Config { findings: false, ..Config::default() });
    let mut at = position(&p);
    let (mut module, mut function, none) = (CUmodule::NULL, CUfunction::NULL, std::ptr::null_mut());
    ok!(p, cuModuleLoadData(&mut module, PTX.as_ptr().cast()));
    ok!(p, cuModuleGetFunction(&mut function, module, c"wild".as_ptr()));
    ok!(p, cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, CUstream::NULL, none, std::ptr::null_mut()));
    fails!(p, ILLEGAL_ADDRESS, cuCtxSynchronize());
    let text = log(&p, &mut at);
    assert!(
        text.contains("kernel wild: write of 4 bytes, 64 bytes behind a null pointer")
            && text.contains("cuCtxSynchronize()"),
        "{text}"
    );
}

/// Sets a value, for the current context or for all.
fn set<T>(p: &Program, setting: u32, mut value: T, global: bool) -> CUresult {
    let (data, mut size) = ((&raw mut value).cast(), size_of::<T>());
    match global {
        true => call!(p, cuCoredumpSetAttributeGlobal(setting, data, &mut size)),
        false => call!(p, cuCoredumpSetAttribute(setting, data, &mut size)),
    }
}

fn get<T: Copy>(p: &Program, setting: u32, initial: T, global: bool) -> T {
    let (mut value, mut size) = (initial, size_of::<T>());
    let data = (&raw mut value).cast();
    match global {
        true => ok!(p, cuCoredumpGetAttributeGlobal(setting, data, &mut size)),
        false => ok!(p, cuCoredumpGetAttribute(setting, data, &mut size)),
    }
    value
}

fn name(bytes: [u8; 1024]) -> String {
    CStr::from_bytes_until_nul(&bytes).unwrap().to_str().unwrap().to_owned()
}

#[test]
fn core_dump_settings_have_the_values_of_the_manual() {
    let p = Program::new();
    for (setting, expected) in [
        (CU_COREDUMP_ENABLE_ON_EXCEPTION, 0),
        (CU_COREDUMP_TRIGGER_HOST, 1),
        (CU_COREDUMP_LIGHTWEIGHT, 0),
        (CU_COREDUMP_ENABLE_USER_TRIGGER, 0),
    ] {
        assert_eq!((get(&p, setting, 9_u8, false), get(&p, setting, 9_u8, true)), (expected, expected));
    }
    assert_eq!(get(&p, CU_COREDUMP_GENERATION_FLAGS, 9_u32, false), 0);
    let file = name(get(&p, CU_COREDUMP_FILE, [9_u8; 1024], false));
    assert!(file.starts_with("core.cuda.") && file.ends_with(&format!(".{}", std::process::id())), "{file}");
    assert!(name(get(&p, CU_COREDUMP_PIPE, [9_u8; 1024], true)).starts_with("corepipe.cuda."));
    let mut size = 0;
    for (setting, expected) in
        [(CU_COREDUMP_LIGHTWEIGHT, 1), (CU_COREDUMP_FILE, 1024), (CU_COREDUMP_GENERATION_FLAGS, 4)]
    {
        ok!(p, cuCoredumpGetAttribute(setting, std::ptr::null_mut(), &mut size));
        assert_eq!(size, expected);
        size = 0;
        ok!(p, cuCoredumpSetAttributeGlobal(setting, std::ptr::null_mut(), &mut size));
        assert_eq!(size, expected);
    }
}

#[test]
fn setting_of_a_context_precedes_that_of_all() {
    let p = Program::new();
    assert!(set(&p, CU_COREDUMP_LIGHTWEIGHT, 1_u8, true).is_success());
    assert_eq!(get(&p, CU_COREDUMP_LIGHTWEIGHT, 9_u8, false), 1);
    assert!(set(&p, CU_COREDUMP_LIGHTWEIGHT, 0_u8, false).is_success());
    assert_eq!((get(&p, CU_COREDUMP_LIGHTWEIGHT, 9_u8, false), get(&p, CU_COREDUMP_LIGHTWEIGHT, 9_u8, true)), (0, 1));
    assert!(set(&p, CU_COREDUMP_FILE, *b"here\0", false).is_success());
    assert_eq!(name(get(&p, CU_COREDUMP_FILE, [9_u8; 1024], false)), "here");
    assert!(set(&p, CU_COREDUMP_GENERATION_FLAGS, 0x8000_0011_u32, false).is_success());
    assert_eq!(get(&p, CU_COREDUMP_GENERATION_FLAGS, 0_u32, false), 0x8000_0011);
}

#[test]
fn invalid_core_dump_settings_are_refused() {
    let p = Program::with(Config { findings: false, ..Config::default() });
    let invalid = CUresult::CUDA_ERROR_INVALID_VALUE;
    let (permitted, global) = (CUresult::CUDA_ERROR_NOT_PERMITTED, true);
    assert_eq!(set(&p, 0, 1_u8, global), invalid);
    assert_eq!(set(&p, 8, 1_u8, false), invalid);
    assert_eq!(set(&p, CU_COREDUMP_GENERATION_FLAGS, 1_u32 << 20, false), invalid);
    assert_eq!(set(&p, CU_COREDUMP_GENERATION_FLAGS, 1_u8, false), invalid);
    assert_eq!(set(&p, CU_COREDUMP_FILE, [b'x'; 1024], false), invalid);
    assert_eq!(set(&p, CU_COREDUMP_FILE, [0_u8; 4], false), invalid);
    assert_eq!(set(&p, CU_COREDUMP_ENABLE_USER_TRIGGER, 1_u8, false), permitted);
    assert_eq!(set(&p, CU_COREDUMP_PIPE, *b"pipe\0", false), permitted);
    assert!(set(&p, CU_COREDUMP_PIPE, *b"pipe\0", global).is_success());
    assert!(set(&p, CU_COREDUMP_ENABLE_USER_TRIGGER, 1_u8, global).is_success());
    assert_eq!(set(&p, CU_COREDUMP_PIPE, *b"other\0", global), permitted);
    let (mut short, mut size) = ([0_u8; 2], 2);
    fails!(p, INVALID_VALUE, cuCoredumpGetAttribute(CU_COREDUMP_FILE, short.as_mut_ptr().cast(), &mut size));
    fails!(p, INVALID_VALUE, cuCoredumpGetAttribute(CU_COREDUMP_FILE, short.as_mut_ptr().cast(), std::ptr::null_mut()));
    ok!(p, cuCtxSetCurrent(CUcontext::NULL));
    fails!(p, INVALID_CONTEXT, cuCoredumpGetAttribute(CU_COREDUMP_FILE, std::ptr::null_mut(), &mut size));
    ok!(p, cuCoredumpGetAttributeGlobal(CU_COREDUMP_FILE, std::ptr::null_mut(), &mut size));
}

unsafe extern "C" fn notified(_: *mut c_void, _: *mut c_void, _: CUasyncCallbackHandle) {}

#[test]
fn receiver_of_notifications_belongs_to_its_device() {
    let p = Program::with(Config { devices: 2, ..Config::default() });
    let (none, mut handle) = (std::ptr::null_mut(), CUasyncCallbackHandle::NULL);
    ok!(p, cuDeviceRegisterAsyncNotification(1, Some(notified), none, &mut handle));
    fails!(p, INVALID_VALUE, cuDeviceUnregisterAsyncNotification(0, handle));
    fails!(p, INVALID_DEVICE, cuDeviceUnregisterAsyncNotification(2, handle));
    ok!(p, cuDeviceUnregisterAsyncNotification(1, handle));
    fails!(p, INVALID_VALUE, cuDeviceUnregisterAsyncNotification(1, handle));
    fails!(p, INVALID_DEVICE, cuDeviceRegisterAsyncNotification(2, Some(notified), none, &mut handle));
    fails!(p, INVALID_VALUE, cuDeviceRegisterAsyncNotification(0, None, none, &mut handle));
    fails!(p, INVALID_VALUE, cuDeviceRegisterAsyncNotification(0, Some(notified), none, std::ptr::null_mut()));
}

#[test]
fn flush_of_remote_writes_checks_its_target_and_scope() {
    let p = Program::new();
    for scope in [100, 200] {
        ok!(p, cuFlushGPUDirectRDMAWrites(0, scope));
        fails!(p, INVALID_VALUE, cuFlushGPUDirectRDMAWrites(1, scope));
    }
    fails!(p, INVALID_VALUE, cuFlushGPUDirectRDMAWrites(0, 150));
    ok!(p, cuCtxSetCurrent(CUcontext::NULL));
    fails!(p, INVALID_CONTEXT, cuFlushGPUDirectRDMAWrites(0, 100));
}

#[test]
fn properties_of_a_device_are_its_attributes() {
    let p = Program::new();
    let (mut properties, mut clock) = (CUdevprop::default(), 0);
    ok!(p, cuDeviceGetProperties(&mut properties, 0));
    ok!(p, cuDeviceGetAttribute(&mut clock, 13, 0));
    assert_eq!(properties.clockRate, clock);
    assert_eq!((properties.maxThreadsPerBlock, properties.SIMDWidth), (1024, 32));
    assert_eq!(properties.maxThreadsDim, [1024, 1024, 64]);
    assert_eq!(properties.maxGridSize, [c_int::MAX, 65535, 65535]);
    fails!(p, INVALID_DEVICE, cuDeviceGetProperties(&mut properties, 1));
    fails!(p, INVALID_VALUE, cuDeviceGetProperties(std::ptr::null_mut(), 0));
}

#[test]
fn profiler_is_not_configured_and_libraries_have_no_unified_functions() {
    let p = Program::new();
    fails!(p, PROFILER_DISABLED, cuProfilerInitialize(c"in".as_ptr(), c"out".as_ptr(), 1));
    fails!(p, INVALID_VALUE, cuProfilerInitialize(c"in".as_ptr(), c"out".as_ptr(), 2));
    fails!(p, INVALID_VALUE, cuProfilerInitialize(std::ptr::null(), c"out".as_ptr(), 0));
    const PTX: &CStr = c".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry nothing() { ret; }";
    let (mut library, mut function, none) = (CUlibrary::NULL, std::ptr::null_mut(), std::ptr::null_mut());
    let load = p.api.cuLibraryLoadData.unwrap();
    // SAFETY: the image is a string, and there are no options.
    let loaded = unsafe { load(&mut library, PTX.as_ptr().cast(), none, none.cast(), 0, none.cast(), none.cast(), 0) };
    assert!(loaded.is_success());
    fails!(p, NOT_FOUND, cuLibraryGetUnifiedFunction(&mut function, library, c"nothing".as_ptr()));
    fails!(p, INVALID_VALUE, cuLibraryGetUnifiedFunction(&mut function, library, std::ptr::null()));
    ok!(p, cuLibraryUnload(library));
    fails!(p, INVALID_HANDLE, cuLibraryGetUnifiedFunction(&mut function, library, c"nothing".as_ptr()));
}
