//! Lookup of entry points by name and version, refused calls, injected faults, the trace, and event times.

use crate::program::*;
use std::ffi::CStr;

/// The result, address and status of `cuGetProcAddress_v2`.
fn resolve(program: &Program, name: &CStr, version: i32, flags: u64) -> (CUresult, usize, u32) {
    let (mut address, mut status) = (std::ptr::dangling_mut(), 9);
    let result = call!(program, cuGetProcAddress_v2(name.as_ptr(), &mut address, version, flags, &mut status));
    (result, address as usize, status)
}

#[test]
fn name_resolves_to_the_newest_signature_of_the_requested_version() {
    let program = Program::new();
    let (old, new) = (program.api.cuCtxGetDevice.unwrap() as usize, program.api.cuCtxGetDevice_v2.unwrap() as usize);
    let success = CUresult::CUDA_SUCCESS;
    assert_eq!(resolve(&program, c"cuCtxGetDevice", 12000, 0), (success, old, CU_GET_PROC_ADDRESS_SUCCESS));
    assert_eq!(resolve(&program, c"cuCtxGetDevice", 13000, 0), (success, new, CU_GET_PROC_ADDRESS_SUCCESS));
    assert_eq!(resolve(&program, c"cuCtxGetDevice", 13090, 0), (success, new, CU_GET_PROC_ADDRESS_SUCCESS));
    let status = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
    assert_eq!(resolve(&program, c"cuMemAllocAsync", 11000, 0), (success, 0, status));
    assert_eq!(resolve(&program, c"cuFuncSetAttribute", 2000, 0), (success, 0, status));
    let [old, new] =
        [program.api.cuLaunchHostFunc.unwrap() as usize, program.api.cuLaunchHostFunc_v2.unwrap() as usize];
    assert_eq!(resolve(&program, c"cuLaunchHostFunc", 13000, 0).1, old);
    assert_eq!(resolve(&program, c"cuLaunchHostFunc", 13010, 0).1, new);
    {
        // A driver of version 13.0 has no functions of 13.1.
        let program = Program::with(Config { driver_version: 13000, ..Config::default() });
        assert_eq!(resolve(&program, c"cuLaunchHostFunc", 13010, 0).1, old);
    }
    let status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    for name in [c"cuNoSuchFunction", c"cuMemAlloc_v2"] {
        assert_eq!(resolve(&program, name, 13000, 0), (success, 0, status));
    }
    // The first signature has no status.
    for (name, version) in [(c"cuMemAllocAsync", 11000), (c"cuNoSuchFunction", 13000)] {
        let mut address = std::ptr::dangling_mut();
        fails!(program, NOT_FOUND, cuGetProcAddress(name.as_ptr(), &mut address, version, 0));
        assert!(address.is_null());
    }
    assert_eq!(["cuNoSuchFunction", "cuFuncSetAttribute"].map(|name| program.statistic(name)), [2, 0]);
    // Two names of one symbol.
    let instantiate = program.api.cuGraphInstantiateWithFlags.unwrap() as usize;
    for (name, version) in [(c"cuGraphInstantiate", 12000), (c"cuGraphInstantiateWithFlags", 11040)] {
        assert_eq!(resolve(&program, name, version, 0), (success, instantiate, CU_GET_PROC_ADDRESS_SUCCESS));
    }
    assert_eq!(resolve(&program, c"cuInit", 13000, 3).0, CUresult::CUDA_ERROR_INVALID_VALUE);
}

#[test]
fn name_resolves_at_versions_before_its_second_signature() {
    let program = Program::new();
    let same_signature = [
        (c"cuDevicePrimaryCtxRelease", 7000, program.api.cuDevicePrimaryCtxRelease.unwrap() as usize),
        (c"cuDevicePrimaryCtxReset", 10020, program.api.cuDevicePrimaryCtxReset.unwrap() as usize),
        (c"cuDevicePrimaryCtxSetFlags", 7000, program.api.cuDevicePrimaryCtxSetFlags.unwrap() as usize),
        (c"cuStreamDestroy", 2000, program.api.cuStreamDestroy.unwrap() as usize),
        (c"cuEventDestroy", 3020, program.api.cuEventDestroy.unwrap() as usize),
        (c"cuCtxCreate", 2000, program.api.cuCtxCreate.unwrap() as usize),
        (c"cuMemHostRegister", 4000, program.api.cuMemHostRegister.unwrap() as usize),
        (c"cuIpcOpenMemHandle", 4010, program.api.cuIpcOpenMemHandle.unwrap() as usize),
        (c"cuLinkCreate", 5050, program.api.cuLinkCreate.unwrap() as usize),
    ];
    for (name, version, address) in same_signature {
        let found = (CUresult::CUDA_SUCCESS, address, CU_GET_PROC_ADDRESS_SUCCESS);
        assert_eq!(resolve(&program, name, version, 0), found, "{name:?}");
    }
    ok!(program, cuDevicePrimaryCtxRelease(0));
    let (mut free, mut total, mut bytes, mut context) = (0, 0, 0, CUcontext::NULL);
    ok!(program, cuCtxCreate(&mut context, 0, 0));
    ok!(program, cuMemGetInfo(&mut free, &mut total));
    ok!(program, cuDeviceTotalMem(&mut bytes, 0));
    assert_eq!((bytes, free <= total), (total, true));
}

type Unsupported = extern "C" fn() -> CUresult;

#[test]
fn every_unsupported_function_is_found_refused_counted_and_traced() {
    let path = std::env::temp_dir().join(format!("cuarray-sim-refused-{}", std::process::id()));
    let config = Config { trace: Some(path.clone()), driver_version: 13999, ..Config::default() };
    let program = Program::with(config);
    for entry in UNSUPPORTED_ENTRY_POINTS {
        let name = std::ffi::CString::new(entry.name).unwrap();
        let (result, address, _) = resolve(&program, &name, entry.since, CU_GET_PROC_ADDRESS_LEGACY_STREAM);
        assert!(result.is_success(), "{}", entry.symbol);
        // SAFETY: the address is a function that reads no arguments.
        let function = unsafe { std::mem::transmute::<usize, Unsupported>(address) };
        assert_eq!(function(), CUresult::CUDA_ERROR_NOT_SUPPORTED, "{}", entry.symbol);
        assert_eq!(program.statistic(entry.symbol), 1);
        let own = resolve(&program, &name, entry.since, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM).1;
        assert_eq!(own != address, entry.per_thread.is_some(), "{}", entry.symbol);
    }
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    for entry in UNSUPPORTED_ENTRY_POINTS {
        assert!(text.contains(&format!("] {}() = CUDA_ERROR_NOT_SUPPORTED ", entry.symbol)), "{}", entry.symbol);
    }
}

#[test]
fn trace_shows_the_names_that_are_looked_up() {
    let path = std::env::temp_dir().join(format!("cuarray-sim-names-{}", std::process::id()));
    let program = Program::with(Config { trace: Some(path.clone()), ..Config::default() });
    resolve(&program, c"cuMemAlloc", 13000, 0);
    resolve(&program, c"cuNoSuchFunction", 13000, 0);
    let mut module = CUmodule::NULL;
    fails!(program, FILE_NOT_FOUND, cuModuleLoad(&mut module, c"no/such/file".as_ptr()));
    fails!(program, INVALID_VALUE, cuModuleLoad(&mut module, std::ptr::null()));
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    assert!(text.contains("cuGetProcAddress_v2(symbol=\"cuMemAlloc\", pfn=0x"), "{text}");
    assert!(text.contains("cuGetProcAddress_v2(symbol=\"cuNoSuchFunction\", pfn=0x"), "{text}");
    assert!(text.contains(", fname=\"no/such/file\") = CUDA_ERROR_FILE_NOT_FOUND"), "{text}");
    assert!(text.contains(", fname=0x0) = CUDA_ERROR_INVALID_VALUE"), "{text}");
}

type GetProcAddress = unsafe extern "C" fn(*const i8, *mut *mut c_void, i32, u64, *mut u32) -> CUresult;

#[test]
fn per_thread_lookup_without_flags_finds_per_thread_variants() {
    let program = Program::new();
    let per_thread = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    let lookup = resolve(&program, c"cuGetProcAddress", 13000, per_thread).1;
    // SAFETY: the address is the function of this type.
    let lookup = unsafe { std::mem::transmute::<usize, GetProcAddress>(lookup) };
    let found = |flags| {
        let (mut address, mut status) = (std::ptr::null_mut(), 0);
        let name = c"cuStreamSynchronize".as_ptr().cast();
        // SAFETY: a nul-terminated name, and places for the outputs.
        assert!(unsafe { lookup(name, &mut address, 13000, flags, &mut status) }.is_success());
        address as usize
    };
    let own = resolve(&program, c"cuStreamSynchronize", 13000, per_thread).1;
    let legacy = resolve(&program, c"cuStreamSynchronize", 13000, CU_GET_PROC_ADDRESS_LEGACY_STREAM).1;
    assert_eq!((found(0), found(CU_GET_PROC_ADDRESS_LEGACY_STREAM)), (own, legacy));
}

type Fill = unsafe extern "C" fn(CUdeviceptr, u8, usize, CUstream) -> CUresult;
type Synchronize = unsafe extern "C" fn(CUstream) -> CUresult;

#[test]
fn per_thread_variant_reads_a_null_stream_as_the_per_thread_stream() {
    let program = Program::new();
    let (legacy, own) = (
        resolve(&program, c"cuStreamSynchronize", 13000, CU_GET_PROC_ADDRESS_LEGACY_STREAM).1,
        resolve(&program, c"cuStreamSynchronize", 13000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM).1,
    );
    assert_ne!(legacy, own);
    let fill = resolve(&program, c"cuMemsetD8Async", 13000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM).1;
    // SAFETY: the addresses are functions of these types.
    let (fill, synchronize) =
        unsafe { (std::mem::transmute::<usize, Fill>(fill), std::mem::transmute::<usize, Synchronize>(own)) };
    let device = program.alloc(1);
    // SAFETY: live memory and the null stream.
    unsafe { assert!(fill(device, 7, 1, CUstream::NULL).is_success()) };
    program.in_thread(|other| {
        ok!(other, cuStreamSynchronize(CU_STREAM_PER_THREAD));
        // SAFETY: as above, in another thread, whose per-thread stream is empty.
        unsafe { assert!(synchronize(CUstream::NULL).is_success()) };
    });
    assert_eq!(program.peek(device), 0xff);
    // SAFETY: as above.
    unsafe { assert!(synchronize(CUstream::NULL).is_success()) };
    assert_eq!(program.peek(device), 7);
}

#[test]
fn invalid_code_and_links_fail_with_the_result_codes_of_the_driver() {
    let program = Program::new();
    let mut module = CUmodule::NULL;
    let elf = b"\x7fELF\x02\x01\x01";
    fails!(program, NO_BINARY_FOR_GPU, cuModuleLoadData(&mut module, elf.as_ptr().cast()));
    let ptx = c"// PTX\n.version 8.0\n.target sm_90\n.entry k( {";
    fails!(program, INVALID_PTX, cuModuleLoadData(&mut module, ptx.as_ptr().cast()));
    fails!(program, INVALID_IMAGE, cuModuleLoadData(&mut module, c"\x01\x02\x03\x04".as_ptr().cast()));
    fails!(program, INVALID_IMAGE, cuModuleLoadData(&mut module, c"".as_ptr().cast()));
    fails!(program, INVALID_VALUE, cuModuleLoadData(&mut module, std::ptr::null()));
    fails!(program, FILE_NOT_FOUND, cuModuleLoad(&mut module, c"no/such/file".as_ptr()));
    fails!(program, INVALID_HANDLE, cuModuleUnload(CUmodule(5)));
    fails!(
        program,
        INVALID_HANDLE,
        cuLaunchKernel(CUfunction(5), 1, 1, 1, 1, 1, 1, 0, CUstream::NULL, std::ptr::null_mut(), std::ptr::null_mut())
    );
    let (mut link, none) = (CUlinkState::NULL, std::ptr::null_mut());
    ok!(program, cuLinkCreate_v2(0, none, none.cast(), &mut link));
    let data = ptx.as_ptr().cast_mut().cast();
    let size = ptx.to_bytes().len();
    ok!(program, cuLinkAddData_v2(link, CU_JIT_INPUT_PTX, data, size, c"".as_ptr(), 0, none, none.cast()));
    let (mut image, mut length) = (std::ptr::null_mut(), 0);
    fails!(program, INVALID_PTX, cuLinkComplete(link, &mut image, &mut length));
    ok!(program, cuLinkDestroy(link));
    fails!(program, INVALID_HANDLE, cuLinkDestroy(link));
    let mut status = 9;
    ok!(program, cuStreamIsCapturing(CUstream::NULL, &mut status));
    assert_eq!(status, CU_STREAM_CAPTURE_STATUS_NONE);
}

#[test]
fn injected_fault_fails_the_call_without_side_effects() {
    let result = CUresult::CUDA_ERROR_OUT_OF_MEMORY;
    let fault = Fault { symbol: "cuMemAlloc_v2".into(), call: 2, result };
    let program = Program::with(Config { faults: vec![fault], ..Config::default() });
    let mut address = 0;
    program.alloc(8);
    fails!(program, OUT_OF_MEMORY, cuMemAlloc_v2(&mut address, 8));
    assert_eq!(address, 0);
    program.alloc(8);
    program.sim.fail_next("cuMemAlloc_v2", CUresult::CUDA_ERROR_UNKNOWN).unwrap();
    fails!(program, UNKNOWN, cuMemAlloc_v2(&mut address, 8));
    program.alloc(8);
    assert!(program.sim.fail_next("cuMemAlloc", CUresult::CUDA_ERROR_UNKNOWN).is_err());
    assert_eq!(program.statistic("cuMemAlloc_v2"), 5);
}

#[test]
fn trace_holds_every_call() {
    let path = std::env::temp_dir().join(format!("cuarray-sim-trace-{}", std::process::id()));
    let program = Program::with(Config { trace: Some(path.clone()), ..Config::default() });
    let mut address = 0;
    ok!(program, cuMemAlloc_v2(&mut address, 1024));
    fails!(program, INVALID_VALUE, cuMemFree_v2(64));
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].contains("] cuInit(flags=0x0) = CUDA_SUCCESS "), "{text}");
    assert!(lines[lines.len() - 2].contains("bytesize=0x400) = CUDA_SUCCESS "), "{text}");
    assert!(lines[lines.len() - 1].contains("cuMemFree_v2(dptr=0x40) = CUDA_ERROR_INVALID_VALUE "), "{text}");
}

#[test]
fn unwritable_trace_makes_initialization_fail() {
    struct Uninitialized {
        api: Api,
    }
    let sim = Sim::new(Config { trace: Some("/no/such/directory/trace".into()), ..Config::default() });
    let _entered = sim.enter();
    let program = Uninitialized { api: sim.api() };
    fails!(program, INVALID_VALUE, cuInit(0));
}

#[test]
fn elapsed_time_is_measured_when_the_events_complete() {
    let program = Program::new();
    let (stream, start, end) = (program.stream(0), program.event(), program.event());
    let mut milliseconds = 0.0;
    fails!(program, INVALID_HANDLE, cuEventElapsedTime_v2(&mut milliseconds, start, end));
    ok!(program, cuEventRecord(start, stream));
    ok!(program, cuEventRecord(end, stream));
    fails!(program, NOT_READY, cuEventElapsedTime_v2(&mut milliseconds, start, end));
    assert_eq!(call!(program, cuEventQuery(end)), CUresult::CUDA_ERROR_NOT_READY);
    // Polling with only this call makes progress.
    while call!(program, cuEventElapsedTime_v2(&mut milliseconds, start, end)) == CUresult::CUDA_ERROR_NOT_READY {}
    ok!(program, cuEventElapsedTime_v2(&mut milliseconds, start, end));
    assert!(milliseconds > 0.0);
    ok!(program, cuEventElapsedTime_v2(&mut milliseconds, end, start));
    assert!(milliseconds < 0.0);
    let mut untimed = CUevent::NULL;
    ok!(program, cuEventCreate(&mut untimed, CU_EVENT_DISABLE_TIMING));
    ok!(program, cuEventRecord(untimed, stream));
    ok!(program, cuEventSynchronize(untimed));
    fails!(program, INVALID_HANDLE, cuEventElapsedTime_v2(&mut milliseconds, untimed, end));
    fails!(program, INVALID_VALUE, cuEventCreate(&mut untimed, 8));
    fails!(program, INVALID_VALUE, cuEventCreate(&mut untimed, CU_EVENT_INTERPROCESS));
    ok!(program, cuEventCreate(&mut untimed, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
}

#[test]
fn recording_an_event_in_a_stream_of_another_context_is_invalid() {
    let program = Program::with(Config { devices: 2, ..Config::default() });
    let event = program.event();
    ok!(program, cuCtxSetCurrent(program.primary(1)));
    let stream = program.stream(0);
    fails!(program, INVALID_HANDLE, cuEventRecord(event, stream));
    ok!(program, cuStreamWaitEvent(stream, event, 0));
}

#[test]
fn statistics_have_the_watched_bytes_and_the_memory_that_this_takes() {
    let program = Program::new();
    let memory = program.alloc(1000);
    assert_eq!((program.statistic("bytes"), program.statistic("left_out")), (1000, 0));
    assert!(program.statistic("memory") > 0 && program.statistic("history") > 0);
    ok!(program, cuMemFree_v2(memory));
    assert_eq!(program.statistic("bytes"), 0);
}
