//! Memory that a process exports before its work on it has run: a line says so to an importer that uses it.
//!
//! Each driver of a test counts as a process.

use crate::program::*;

const HINT: &str = "exported while its own work that may write this memory was pending";

/// The number of hints in the error log.
fn hints(p: &Program) -> usize {
    let (mut buffer, mut size) = (vec![0_u8; 25_600], 25_600);
    ok!(p, cuLogsDumpToMemory(std::ptr::null_mut(), buffer.as_mut_ptr().cast(), &mut size, 0));
    String::from_utf8(buffer[..size].to_vec()).unwrap().matches(HINT).count()
}

fn handle(p: &Program, address: CUdeviceptr) -> CUipcMemHandle {
    let mut handle = CUipcMemHandle { reserved: [0; 64] };
    ok!(p, cuIpcGetMemHandle(&mut handle, address));
    handle
}

fn open(p: &Program, handle: CUipcMemHandle) -> CUdeviceptr {
    let mut address = 0;
    ok!(p, cuIpcOpenMemHandle_v2(&mut address, handle, 1));
    address
}

/// Runs `f` with another driver, which represents another process.
fn in_other_process<R: Send>(f: impl FnOnce(&Program) -> R + Send) -> R {
    std::thread::scope(|scope| scope.spawn(|| f(&Program::new())).join().unwrap())
}

/// Imports memory, copies its first byte to the host twice, and fills it; returns the byte and the number of hints.
fn used(handle: CUipcMemHandle) -> (u8, usize) {
    in_other_process(|importer| {
        let there = open(importer, handle);
        assert_eq!(hints(importer), 0, "the import itself may precede a wait");
        let mut byte = 0_u8;
        ok!(importer, cuMemcpyDtoH_v2((&raw mut byte).cast(), there, 1));
        ok!(importer, cuMemcpyDtoH_v2((&raw mut byte).cast(), there, 1));
        ok!(importer, cuMemsetD8_v2(there + 63, 1, 1));
        ok!(importer, cuCtxSynchronize());
        (byte, hints(importer))
    })
}

#[test]
fn use_before_the_exporter_has_waited_gives_one_hint() {
    let exporter = Program::new();
    let (address, stream) = (exporter.alloc(64), exporter.stream(CU_STREAM_NON_BLOCKING));
    exporter.fill(address, 6, 64, stream);
    let exported = handle(&exporter, address);
    assert_eq!(used(exported), (0xff, 1));
    ok!(exporter, cuStreamSynchronize(stream));
    assert_eq!(used(exported), (6, 0), "the work has run");
    assert_eq!(hints(&exporter), 0);
}

#[test]
fn copy_into_exported_memory_counts_and_a_copy_from_it_does_not() {
    for (into, expected) in [(true, 1), (false, 0)] {
        let exporter = Program::new();
        let [address, other] = [exporter.alloc(64), exporter.alloc(64)];
        [address, other].iter().for_each(|memory| exporter.fill(*memory, 5, 64, CUstream::NULL));
        ok!(exporter, cuCtxSynchronize());
        let (target, source) = if into { (address, other) } else { (other, address) };
        ok!(exporter, cuMemcpyDtoDAsync_v2(target + 60, source, 4, CUstream::NULL));
        assert_eq!(used(handle(&exporter, address)), (5, expected));
    }
}

#[test]
fn work_that_was_waited_for_or_came_later_gives_no_hint() {
    let exporter = Program::new();
    let [address, other] = [exporter.alloc(64), exporter.alloc(64)];
    exporter.fill(address, 6, 64, CUstream::NULL);
    ok!(exporter, cuCtxSynchronize());
    exporter.fill(other, 7, 64, CUstream::NULL);
    let exported = handle(&exporter, address);
    assert_eq!(used(exported), (6, 0));
    // An event of the importer may order this work.
    exporter.fill(address, 8, 64, CUstream::NULL);
    assert_eq!(used(exported), (6, 0));
    // Another export is of the state at that time.
    assert_eq!(used(handle(&exporter, address)), (6, 1));
}

#[test]
fn interprocess_event_orders_the_importer_without_a_hint() {
    let exporter = Program::new();
    let (address, stream) = (exporter.alloc(64), exporter.stream(CU_STREAM_NON_BLOCKING));
    exporter.fill(address, 6, 64, stream);
    let (mut event, mut shared) = (CUevent::NULL, CUipcEventHandle { reserved: [0; 64] });
    ok!(exporter, cuEventCreate(&mut event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
    ok!(exporter, cuIpcGetEventHandle(&mut shared, event));
    ok!(exporter, cuEventRecord(event, stream));
    let exported = handle(&exporter, address);
    in_other_process(|importer| {
        let (there, stream, mut event) =
            (open(importer, exported), importer.stream(CU_STREAM_NON_BLOCKING), CUevent::NULL);
        ok!(importer, cuIpcOpenEventHandle(&mut event, shared));
        ok!(importer, cuStreamWaitEvent(stream, event, 0));
        let copied = importer.alloc(64);
        ok!(importer, cuMemcpyDtoDAsync_v2(copied, there, 64, stream));
        ok!(importer, cuStreamSynchronize(stream));
        assert_eq!((importer.peek(copied), hints(importer)), (6, 0));
    });
}

#[test]
fn use_of_memory_of_a_shared_pool_gives_a_hint() {
    const FILE: u32 = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    for (location, waits) in [CU_MEM_LOCATION_TYPE_DEVICE, CU_MEM_LOCATION_TYPE_HOST_NUMA]
        .into_iter()
        .flat_map(|location| [(location, false), (location, true)])
    {
        let exporter = Program::new();
        let (mut pool, mut address, mut file) = (CUmemoryPool::NULL, 0, -1_i32);
        // SAFETY: all-zero is a valid description.
        let mut props: CUmemPoolProps = unsafe { std::mem::zeroed() };
        (props.allocType, props.handleTypes) = (CU_MEM_ALLOCATION_TYPE_PINNED, FILE);
        props.location = CUmemLocation { kind: location, id: 0 };
        ok!(exporter, cuMemPoolCreate(&mut pool, &props));
        ok!(exporter, cuMemAllocFromPoolAsync(&mut address, 64, pool, CUstream::NULL));
        ok!(exporter, cuCtxSynchronize());
        exporter.fill(address, 6, 64, CUstream::NULL);
        if waits {
            ok!(exporter, cuCtxSynchronize());
        }
        let mut data = CUmemPoolPtrExportData { reserved: [0; 64] };
        ok!(exporter, cuMemPoolExportPointer(&mut data, address));
        ok!(exporter, cuMemPoolExportToShareableHandle((&raw mut file).cast(), pool, FILE, 0));
        let count = in_other_process(|importer| {
            let (mut pool, mut there) = (CUmemoryPool::NULL, 0);
            ok!(importer, cuMemPoolImportFromShareableHandle(&mut pool, file as usize as *mut c_void, FILE, 0));
            ok!(importer, cuMemPoolImportPointer(&mut there, pool, &mut { data }));
            let copied = importer.alloc(64);
            ok!(importer, cuMemcpy(copied, there, 64));
            ok!(importer, cuCtxSynchronize());
            hints(importer)
        });
        assert_eq!(count, usize::from(!waits));
        // SAFETY: the test owns the descriptor.
        assert_eq!(unsafe { libc::close(file) }, 0);
    }
}

const PTX: &std::ffi::CStr = c".version 8.0\n.target sm_80\n.address_size 64\n
    .visible .entry put(.param .u64 place)
    {
        .reg .b64 %rd<2>; .reg .b32 %r<2>;
        ld.param.u64 %rd1, [place]; mov.u32 %r1, 7;
        st.global.u32 [%rd1], %r1;
        ret;
    }";

/// Enqueues a kernel that writes 4 bytes.
fn put(p: &Program, mut address: CUdeviceptr) {
    let (mut module, mut function) = (CUmodule::NULL, CUfunction::NULL);
    ok!(p, cuModuleLoadData(&mut module, PTX.as_ptr().cast()));
    ok!(p, cuModuleGetFunction(&mut function, module, c"put".as_ptr()));
    let (mut params, none) = ([(&raw mut address).cast::<c_void>()], std::ptr::null_mut());
    ok!(p, cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, CUstream::NULL, params.as_mut_ptr(), none));
}

#[test]
fn kernels_on_both_sides_count_by_their_arguments() {
    let exporter = Program::new();
    let [address, other] = [exporter.alloc(64), exporter.alloc(64)];
    put(&exporter, address + 8);
    let exported = [address, other].map(|address| handle(&exporter, address));
    let counts = exported.map(|exported| {
        in_other_process(|importer| {
            put(importer, open(importer, exported) + 16);
            assert_eq!(hints(importer), 0, "the kernel is pending");
            ok!(importer, cuCtxSynchronize());
            hints(importer)
        })
    });
    assert_eq!(counts, [1, 0]);
}
