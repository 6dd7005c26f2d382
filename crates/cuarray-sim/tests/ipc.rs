//! Device memory shared between processes.
//!
//! Each driver of a test counts as a process, so most tests run in one process. The last tests run this program in
//! child processes, with a handle in the environment.

#[macro_use]
mod program;
use program::*;
use std::io::{BufRead as _, Write as _};
use std::process::{Child, Command, Stdio};

const FLAG: u32 = 1;
/// A device size with room for only one allocation, so that its address is soon reused.
const MEMORY: u64 = 1 << 20;

fn handle(program: &Program, address: CUdeviceptr) -> CUipcMemHandle {
    let mut handle = CUipcMemHandle { reserved: [0; 64] };
    ok!(program, cuIpcGetMemHandle(&mut handle, address));
    handle
}

fn open(program: &Program, handle: CUipcMemHandle) -> CUdeviceptr {
    let mut address = 0;
    ok!(program, cuIpcOpenMemHandle_v2(&mut address, handle, FLAG));
    address
}

fn refused(program: &Program, handle: CUipcMemHandle) -> Option<&'static str> {
    call!(program, cuIpcOpenMemHandle_v2(&mut 0, handle, FLAG)).name()
}

fn bytes(program: &Program, address: CUdeviceptr, count: usize) -> Vec<u8> {
    let mut bytes = vec![0_u8; count];
    ok!(program, cuMemcpyDtoH_v2(bytes.as_mut_ptr().cast(), address, count));
    bytes
}

fn write_bytes(program: &Program, address: CUdeviceptr, bytes: &[u8]) {
    ok!(program, cuMemcpyHtoD_v2(address, bytes.as_ptr().cast(), bytes.len()));
}

/// Runs `f` with another driver, which represents another process.
fn in_other_process<R: Send>(config: Config, f: impl FnOnce(&Program) -> R + Send) -> R {
    std::thread::scope(|scope| scope.spawn(|| f(&Program::with(config))).join().unwrap())
}

#[test]
fn exporter_and_importer_reach_the_same_bytes() {
    let exporter = Program::new();
    // The first allocation moves the second away from a page start, so that its page offset counts.
    let (_before, address) = (exporter.alloc(600), exporter.alloc(3000));
    write_bytes(&exporter, address, &[7; 3000]);
    let handle = handle(&exporter, address);
    in_other_process(Config::default(), |importer| {
        let opened = open(importer, handle);
        assert_ne!(opened, address);
        assert_eq!(bytes(importer, opened, 3000), [7; 3000]);
        write_bytes(importer, opened + 2999, &[8]);
        let (mut base, mut size) = (0, 0);
        ok!(importer, cuMemGetAddressRange_v2(&mut base, &mut size, opened + 10));
        assert_eq!((base, size), (opened, 3000));
        fails!(importer, INVALID_VALUE, cuMemsetD8Async(opened + 1, 0, 3000, CUstream::NULL));
        assert!(importer.sim.statistics().contains("\"kind\":\"imported\""));
        ok!(importer, cuIpcCloseMemHandle(opened));
        assert!(!importer.sim.statistics().contains("\"kind\":\"imported\""));
        fails!(importer, INVALID_VALUE, cuMemsetD8Async(opened, 0, 1, CUstream::NULL));
    });
    assert_eq!(bytes(&exporter, address + 2990, 10), [7, 7, 7, 7, 7, 7, 7, 7, 7, 8]);
}

#[test]
fn imported_memory_belongs_to_the_device_of_the_exporter() {
    let exporter = Program::with(Config { devices: 2, ..Config::default() });
    let second = exporter.primary(1);
    ok!(exporter, cuCtxSetCurrent(second));
    let address = exporter.alloc(64);
    write_bytes(&exporter, address, &[3; 64]);
    let handle = handle(&exporter, address);
    in_other_process(Config { devices: 2, ..Config::default() }, |importer| {
        let opened = open(importer, handle);
        let (mut device, mut kind, mut capable) = (-1, 0_u32, 1_u8);
        for (attribute, data) in [
            (CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, (&raw mut device).cast::<c_void>()),
            (CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (&raw mut kind).cast()),
            (CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, (&raw mut capable).cast()),
        ] {
            ok!(importer, cuPointerGetAttribute(data, attribute, opened));
        }
        assert_eq!((device, kind, capable), (1, CU_MEMORYTYPE_DEVICE, 0));
        assert_eq!(bytes(importer, opened, 64), [3; 64], "from a context of the other device");
        let own = importer.alloc(64);
        ok!(importer, cuMemcpyPeer(own, importer.context, opened, importer.primary(1), 64));
        assert_eq!(bytes(importer, own, 64), [3; 64]);
    });
    in_other_process(Config::default(), |importer| {
        assert_eq!(refused(importer, handle), Some("CUDA_ERROR_MAP_FAILED"), "a device that this process lacks");
    });
    in_other_process(Config { devices: 2, visible: Some(vec![1]), ..Config::default() }, |importer| {
        assert_eq!(bytes(importer, open(importer, handle), 64), [3; 64], "the same device under another ordinal");
    });
}

#[test]
fn all_addresses_of_an_allocation_have_one_handle() {
    let program = Program::new();
    let address = program.alloc(4096);
    let of = |address| handle(&program, address).reserved;
    assert_eq!(of(address), of(address));
    assert_eq!(of(address), of(address + 4095));
    assert_ne!(of(address), of(program.alloc(1)));
}

#[test]
fn opening_a_handle_twice_needs_two_closes() {
    let exporter = Program::new();
    let (first, second) = (exporter.alloc(8), exporter.alloc(8));
    let handles = [handle(&exporter, first), handle(&exporter, second)];
    in_other_process(Config::default(), |importer| {
        let opened = open(importer, handles[0]);
        assert_eq!(open(importer, handles[0]), opened);
        assert_ne!(open(importer, handles[1]), opened);
        ok!(importer, cuIpcCloseMemHandle(opened));
        ok!(importer, cuMemsetD8Async(opened, 1, 8, CUstream::NULL));
        ok!(importer, cuIpcCloseMemHandle(opened));
        fails!(importer, INVALID_VALUE, cuMemsetD8Async(opened, 1, 8, CUstream::NULL));
        fails!(importer, INVALID_VALUE, cuIpcCloseMemHandle(opened));
    });
    assert_eq!(bytes(&exporter, first, 8), [1; 8], "the last close ran the pending work");
}

#[test]
fn only_one_context_of_a_device_can_import_from_a_process() {
    let exporter = Program::new();
    let handles = [handle(&exporter, exporter.alloc(8)), handle(&exporter, exporter.alloc(8))];
    in_other_process(Config { devices: 2, ..Config::default() }, |importer| {
        let opened = open(importer, handles[0]);
        let (mut other, mut popped) = (CUcontext::NULL, CUcontext::NULL);
        ok!(importer, cuCtxCreate_v2(&mut other, 0, 0));
        assert_eq!(handles.map(|handle| refused(importer, handle)), [Some("CUDA_ERROR_INVALID_CONTEXT"); 2]);
        ok!(importer, cuCtxPopCurrent_v2(&mut popped));
        let second = importer.primary(1);
        ok!(importer, cuCtxPushCurrent_v2(second));
        assert_ne!(open(importer, handles[0]), opened, "a context of another device has its own mapping");
        ok!(importer, cuCtxPopCurrent_v2(&mut popped));
        ok!(importer, cuIpcCloseMemHandle(opened));
        ok!(importer, cuCtxPushCurrent_v2(other));
        open(importer, handles[1]);
    });
}

#[test]
fn destroying_a_context_closes_its_imported_memory() {
    let exporter = Program::new();
    let exported = handle(&exporter, exporter.alloc(8));
    in_other_process(Config::default(), |importer| {
        let mut other = CUcontext::NULL;
        ok!(importer, cuCtxCreate_v2(&mut other, 0, 0));
        let opened = open(importer, exported);
        ok!(importer, cuMemsetD8Async(opened, 9, 8, CUstream::NULL));
        ok!(importer, cuCtxDestroy_v2(other));
        assert!(importer.sim.statistics().starts_with("{\"allocations\":[]"));
    });
}

#[test]
fn only_memory_of_cu_mem_alloc_has_a_handle() {
    let program = Program::new();
    let mut none = CUipcMemHandle { reserved: [0; 64] };
    let (mut pool, mut managed, mut pitched, mut pitch) = (0, 0, 0, 0);
    ok!(program, cuMemAllocAsync(&mut pool, 8, CUstream::NULL));
    ok!(program, cuMemAllocManaged(&mut managed, 8, CU_MEM_ATTACH_GLOBAL));
    ok!(program, cuMemAllocPitch_v2(&mut pitched, &mut pitch, 8, 2, 4));
    let own = [0_u8; 8];
    for address in [pool, managed, program.pinned(8) as u64, own.as_ptr() as u64, 0] {
        fails!(program, INVALID_VALUE, cuIpcGetMemHandle(&mut none, address));
    }
    fails!(program, INVALID_VALUE, cuIpcGetMemHandle(std::ptr::null_mut(), pitched));
    let mut capable = 0_u8;
    let data = (&raw mut capable).cast();
    ok!(program, cuPointerGetAttribute(data, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, pitched));
    assert_eq!(capable, 1);
    ok!(program, cuPointerGetAttribute(data, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, pool));
    assert_eq!(capable, 0);
    let exported = handle(&program, pitched);
    in_other_process(Config::default(), |importer| {
        let opened = open(importer, exported);
        fails!(importer, INVALID_VALUE, cuIpcGetMemHandle(&mut none.clone(), opened));
        fails!(importer, INVALID_VALUE, cuMemFree_v2(opened));
        fails!(importer, INVALID_VALUE, cuMemFreeAsync(opened, CUstream::NULL));
        fails!(importer, INVALID_VALUE, cuIpcCloseMemHandle(opened + 1));
        fails!(importer, INVALID_VALUE, cuIpcCloseMemHandle(importer.alloc(8)));
    });
}

#[test]
fn opening_refuses_bad_flags_bad_handles_and_the_exporter_itself() {
    let exporter = Program::new();
    let address = exporter.alloc(8);
    let exported = handle(&exporter, address);
    assert_eq!(refused(&exporter, exported), Some("CUDA_ERROR_INVALID_CONTEXT"), "in the exporting process");
    in_other_process(Config::default(), |importer| {
        for flags in [0, 2, 3] {
            fails!(importer, INVALID_VALUE, cuIpcOpenMemHandle_v2(&mut 0, exported, flags));
        }
        fails!(importer, INVALID_VALUE, cuIpcOpenMemHandle_v2(std::ptr::null_mut(), exported, FLAG));
        for index in 0..64 {
            let mut wrong = exported;
            wrong.reserved[index] ^= 1;
            assert_eq!(refused(importer, wrong), Some("CUDA_ERROR_INVALID_HANDLE"), "byte {index}");
        }
        assert_eq!(bytes(importer, open(importer, exported), 8), [0xff; 8]);
        let mut popped = CUcontext::NULL;
        ok!(importer, cuCtxPopCurrent_v2(&mut popped));
        fails!(importer, INVALID_CONTEXT, cuIpcOpenMemHandle_v2(&mut 0, exported, FLAG));
        fails!(importer, INVALID_CONTEXT, cuIpcCloseMemHandle(address));
        ok!(importer, cuCtxPushCurrent_v2(importer.context));
    });
}

#[test]
fn handle_of_freed_memory_cannot_be_opened() {
    let exporter = Program::with(Config { memory: MEMORY, ..Config::default() });
    let address = exporter.alloc(MEMORY as usize);
    let stale = handle(&exporter, address);
    ok!(exporter, cuMemFree_v2(address));
    in_other_process(Config::default(), |importer| {
        assert_eq!(refused(importer, stale), Some("CUDA_ERROR_INVALID_HANDLE"))
    });
    // The address is reused, with another handle.
    let again = (0..10_000).map(|_| exporter.alloc(MEMORY as usize)).find(|&again| {
        let found = again == address;
        if !found {
            ok!(exporter, cuMemFree_v2(again));
        }
        found
    });
    let fresh = handle(&exporter, again.unwrap());
    assert_ne!(fresh.reserved, stale.reserved);
    in_other_process(Config::default(), |importer| {
        assert_eq!(refused(importer, stale), Some("CUDA_ERROR_INVALID_HANDLE"));
        open(importer, fresh);
    });
}

#[test]
fn memory_freed_while_open_is_refused_and_not_reused() {
    let exporter = Program::with(Config { memory: MEMORY, ..Config::default() });
    let importer = Sim::new(Config::default());
    let address = exporter.alloc(MEMORY as usize);
    write_bytes(&exporter, address, &[5; 4096]);
    let exported = handle(&exporter, address);
    let (opened, copied, stream) = {
        let importer = Program::over(&importer);
        let (opened, copied) = (open(&importer, exported), importer.alloc(4096));
        let stream = importer.stream(CU_STREAM_NON_BLOCKING);
        ok!(importer, cuMemcpyDtoDAsync_v2(copied, opened, 4096, stream));
        (opened, copied, stream)
    };
    ok!(exporter, cuMemFree_v2(address));
    // Other addresses are reused. This address is not reused while the importer has it open.
    for _ in 0..20 {
        let other = exporter.alloc(MEMORY as usize);
        assert_ne!(other, address);
        ok!(exporter, cuMemFree_v2(other));
    }
    {
        let importer = Program::over(&importer);
        fails!(importer, INVALID_VALUE, cuMemsetD8Async(opened, 0, 1, stream));
        assert_eq!(refused(&importer, exported), Some("CUDA_ERROR_INVALID_HANDLE"));
        ok!(importer, cuStreamSynchronize(stream));
        assert_eq!(bytes(&importer, copied, 4096), [5; 4096], "work enqueued before the free reads the old bytes");
        ok!(importer, cuIpcCloseMemHandle(opened));
    }
    let back = (0..20).any(|_| {
        let other = exporter.alloc(MEMORY as usize);
        ok!(exporter, cuMemFree_v2(other));
        other == address
    });
    assert!(back, "the address is reused after the close");
}

#[test]
fn importer_does_not_run_pending_work_of_the_exporter() {
    let exporter = Program::new();
    let address = exporter.alloc(4);
    let stream = exporter.stream(CU_STREAM_NON_BLOCKING);
    exporter.fill(address, 6, 4, stream);
    let exported = handle(&exporter, address);
    let seen = || in_other_process(Config::default(), |importer| bytes(importer, open(importer, exported), 4));
    assert_eq!(seen(), [0xff; 4]);
    ok!(exporter, cuStreamSynchronize(stream));
    assert_eq!(seen(), [6; 4]);
}

#[test]
fn host_reads_imported_memory_if_device_memory_is_host_readable() {
    let config = Config { host_readable: true, ..Config::default() };
    let exporter = Program::with(config.clone());
    let address = exporter.alloc(4);
    write(address as *mut u8, 4);
    let exported = handle(&exporter, address);
    in_other_process(config, |importer| assert_eq!(read(open(importer, exported) as *const u8), 4));
}

const HANDLE: &str = "IPC_TEST_HANDLE";

fn hexadecimal(handle: &CUipcMemHandle) -> String {
    handle.reserved.iter().map(|byte| format!("{:02x}", *byte as u8)).collect()
}

fn from_hexadecimal(text: &str) -> CUipcMemHandle {
    let byte = |at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap() as _;
    CUipcMemHandle { reserved: std::array::from_fn(byte) }
}

/// The body of a child process, not a test: opens a handle, adds one to each byte, and waits for a line on stdin.
#[test]
fn child_that_imports_memory() {
    let Ok(text) = std::env::var(HANDLE) else { return };
    let handle = from_hexadecimal(&text);
    let program = Program::new();
    let mut opened = 0;
    let result = call!(program, cuIpcOpenMemHandle_v2(&mut opened, handle, FLAG));
    if result != CUresult::CUDA_SUCCESS {
        println!("refused: {}", result.name().unwrap());
        return;
    }
    let more: Vec<u8> = bytes(&program, opened, 4).iter().map(|byte| byte + 1).collect();
    write_bytes(&program, opened, &more);
    println!("wrote");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    println!("{}", call!(program, cuMemsetD8Async(opened, 0, 4, CUstream::NULL)).name().unwrap());
    ok!(program, cuCtxSynchronize());
}

fn process(handle: &CUipcMemHandle) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["child_that_imports_memory", "--exact", "--nocapture"]).env(HANDLE, hexadecimal(handle));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
}

fn output_of(child: Child) -> String {
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

/// Waits until the child process has written its bytes.
fn wait_for(program: &Program, address: CUdeviceptr, expected: u8) {
    let start = std::time::Instant::now();
    while bytes(program, address, 4) != [expected; 4] {
        assert!(start.elapsed().as_secs() < 60, "the other process did not write");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[test]
fn two_processes_share_memory() {
    let program = Program::new();
    let address = program.alloc(4);
    write_bytes(&program, address, &[40; 4]);
    let mut child = process(&handle(&program, address));
    wait_for(&program, address, 41);
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    let output = output_of(child);
    assert!(output.contains("wrote") && output.contains("CUDA_SUCCESS"), "{output}");
    assert_eq!(bytes(&program, address, 4), [0; 4]);
}

#[test]
fn freed_memory_is_refused_in_other_processes_and_reused_after_they_end() {
    let program = Program::with(Config { memory: MEMORY, ..Config::default() });
    let address = program.alloc(MEMORY as usize);
    write_bytes(&program, address, &[1; 4]);
    let exported = handle(&program, address);
    let mut first = process(&exported);
    wait_for(&program, address, 2);
    let mut second = process(&exported);
    wait_for(&program, address, 3);
    ok!(program, cuMemFree_v2(address));
    let third = process(&exported);
    assert!(output_of(third).contains("refused: CUDA_ERROR_INVALID_HANDLE"));
    let comes_back = || {
        (0..20).any(|_| {
            let other = program.alloc(MEMORY as usize);
            ok!(program, cuMemFree_v2(other));
            other == address
        })
    };
    first.stdin.take().unwrap().write_all(b"\n").unwrap();
    assert!(output_of(first).contains("CUDA_ERROR_INVALID_VALUE"));
    assert!(!comes_back(), "the second process has the memory open");
    second.kill().unwrap();
    second.wait().unwrap();
    assert!(comes_back());
}

#[test]
fn handle_cannot_be_opened_after_the_exporter_ends_and_all_imports_are_closed() {
    let mut exporter = Command::new(std::env::current_exe().unwrap());
    exporter.args(["child_that_exports_memory", "--exact", "--nocapture"]).env(HANDLE, "");
    let mut child = exporter.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = std::io::BufReader::new(child.stdout.take().unwrap()).lines();
    let text = lines.find_map(|line| line.unwrap().split_once("handle=").map(|(_, text)| text.to_owned())).unwrap();
    let exported = from_hexadecimal(&text);

    let program = Program::new();
    let opened = open(&program, exported);
    assert_eq!(bytes(&program, opened, 4), [9; 4]);
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(bytes(&program, opened, 4), [9; 4], "open memory outlives its exporter");
    assert_eq!(open(&program, exported), opened);
    ok!(program, cuIpcCloseMemHandle(opened));
    ok!(program, cuIpcCloseMemHandle(opened));
    assert_eq!(refused(&program, exported), Some("CUDA_ERROR_INVALID_HANDLE"));
}

/// The body of a child process, not a test: exports memory, prints the handle, and waits for a line on stdin.
#[test]
fn child_that_exports_memory() {
    if std::env::var(HANDLE).is_err() {
        return;
    }
    let program = Program::new();
    let address = program.alloc(4);
    write_bytes(&program, address, &[9; 4]);
    println!("handle={}", hexadecimal(&handle(&program, address)));
    std::io::stdin().read_line(&mut String::new()).unwrap();
}
