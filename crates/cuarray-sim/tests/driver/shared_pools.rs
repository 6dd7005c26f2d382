//! Pools of device memory and of host memory that processes share.
//!
//! Each driver of a test counts as a process, so the tests run in one process. The tests of cuda.core have real ones.

use crate::program::*;
use cuarray_sim::finding::{AccessKind, Kind};
use std::ffi::c_char;

const DEVICE: u32 = CU_MEM_LOCATION_TYPE_DEVICE;
const NODE: u32 = CU_MEM_LOCATION_TYPE_HOST_NUMA;

const FILE: u32 = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

/// A pool of device 0, or of node 0 of the host, that other processes may import.
fn shared_pool(program: &Program, location: u32) -> CUmemoryPool {
    let mut pool = CUmemoryPool::NULL;
    // SAFETY: all-zero is a valid description.
    let mut props: CUmemPoolProps = unsafe { std::mem::zeroed() };
    (props.allocType, props.handleTypes) = (CU_MEM_ALLOCATION_TYPE_PINNED, FILE);
    props.location = CUmemLocation { kind: location, id: 0 };
    ok!(program, cuMemPoolCreate(&mut pool, &props));
    pool
}

fn exported(program: &Program, pool: CUmemoryPool) -> i32 {
    let mut file = -1;
    ok!(program, cuMemPoolExportToShareableHandle((&raw mut file).cast(), pool, FILE, 0));
    file
}

fn imported(program: &Program, file: i32) -> CUmemoryPool {
    let mut pool = CUmemoryPool::NULL;
    ok!(program, cuMemPoolImportFromShareableHandle(&mut pool, file as usize as *mut c_void, FILE, 0));
    // SAFETY: the test owns the descriptor.
    assert_eq!(unsafe { libc::close(file) }, 0);
    pool
}

fn exported_pointer(program: &Program, address: CUdeviceptr) -> CUmemPoolPtrExportData {
    let mut data = CUmemPoolPtrExportData { reserved: [0; 64] };
    ok!(program, cuMemPoolExportPointer(&mut data, address));
    data
}

/// Runs `f` with another driver, which represents another process.
fn in_other_process<R: Send>(config: Config, f: impl FnOnce(&Program) -> R + Send) -> R {
    std::thread::scope(|scope| scope.spawn(|| f(&Program::with(config))).join().unwrap())
}

/// Allocates from a pool, and waits for the allocation.
fn allocate(program: &Program, pool: CUmemoryPool, size: usize) -> CUdeviceptr {
    let mut address = 0;
    ok!(program, cuMemAllocFromPoolAsync(&mut address, size, pool, CUstream::NULL));
    ok!(program, cuCtxSynchronize());
    address
}

#[test]
fn allocation_of_a_shared_pool_is_the_same_in_another_process() {
    for location in [DEVICE, NODE] {
        let exporter = Program::new();
        let pool = shared_pool(&exporter, location);
        let address = allocate(&exporter, pool, 4096);
        exporter.fill(address, 5, 4096, CUstream::NULL);
        ok!(exporter, cuCtxSynchronize());
        let (file, data) = (exported(&exporter, pool), exported_pointer(&exporter, address + 7));
        in_other_process(Config::default(), |importer| {
            let (pool, mut data, mut there) = (imported(importer, file), data, 0);
            ok!(importer, cuMemPoolImportPointer(&mut there, pool, &mut data));
            let (mut base, mut size) = (0, 0);
            ok!(importer, cuMemGetAddressRange_v2(&mut base, &mut size, there));
            assert_eq!((base, size), (there, 4096));
            assert_eq!(importer.peek(there + 4095), 5);
            importer.fill(there, 6, 1, CUstream::NULL);
            fails!(importer, INVALID_VALUE, cuIpcCloseMemHandle(there));
            ok!(importer, cuMemFreeAsync(there, CUstream::NULL));
            fails!(importer, INVALID_VALUE, cuMemsetD8_v2(there, 0, 1));
            ok!(importer, cuCtxSynchronize());
            ok!(importer, cuMemPoolImportPointer(&mut there, pool, &mut data));
            assert_eq!(importer.peek(there), 6);
            ok!(importer, cuMemFree_v2(there));
            ok!(importer, cuMemPoolDestroy(pool));
            let leaks = importer.sim.report_with_leaks().findings;
            assert!(!leaks.iter().any(|finding| finding.kind == Kind::Leak && finding.object.is_none()));
        });
        assert_eq!(exporter.peek(address), 6);
    }
}

#[test]
fn only_pools_of_one_place_can_be_shared() {
    let p = Program::new();
    let mut pool = CUmemoryPool::NULL;
    // SAFETY: all-zero is a valid description.
    let mut props: CUmemPoolProps = unsafe { std::mem::zeroed() };
    (props.allocType, props.handleTypes) = (CU_MEM_ALLOCATION_TYPE_PINNED, FILE);
    props.location = CUmemLocation { kind: CU_MEM_LOCATION_TYPE_HOST, id: 0 };
    fails!(p, INVALID_VALUE, cuMemPoolCreate(&mut pool, &props));
    props.location.kind = NODE;
    let fabric = CUmemPoolProps { handleTypes: CU_MEM_HANDLE_TYPE_FABRIC, ..props };
    fails!(p, NOT_SUPPORTED, cuMemPoolCreate(&mut pool, &fabric));
    ok!(p, cuMemPoolCreate(&mut pool, &props));
    let mut types = 9_i32;
    ok!(p, cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_EXPORT_HANDLE_TYPES, (&raw mut types).cast()));
    assert_eq!(types.cast_unsigned(), FILE);
}

#[test]
fn imported_host_memory_is_read_and_written_by_the_host_and_by_kernels_with_access() {
    let exporter = Program::new();
    let pool = shared_pool(&exporter, NODE);
    let (first, address) = (allocate(&exporter, pool, 100), allocate(&exporter, pool, 5000));
    write(first as *mut u8, 1);
    write((address + 4999) as *mut u8, 7);
    let (file, data) = (exported(&exporter, pool), exported_pointer(&exporter, address));
    in_other_process(Config::default(), |importer| {
        let (pool, mut data, mut there) = (imported(importer, file), data, 0);
        let place = CUmemLocation { kind: NODE, id: 0 };
        for (attribute, expected) in [
            (CU_MEMPOOL_ATTR_LOCATION_TYPE, NODE as i32),
            (CU_MEMPOOL_ATTR_LOCATION_ID, 0),
            (CU_MEMPOOL_ATTR_EXPORT_HANDLE_TYPES, 0),
        ] {
            let mut value = 9_i32;
            ok!(importer, cuMemPoolGetAttribute(pool, attribute, (&raw mut value).cast()));
            assert_eq!(value, expected);
        }
        fails!(importer, INVALID_VALUE, cuMemSetMemPool(&mut { place }, CU_MEM_ALLOCATION_TYPE_PINNED, pool));
        ok!(importer, cuMemPoolImportPointer(&mut there, pool, &mut data));
        assert_eq!(read((there + 4999) as *const u8), 7);
        write((there + 1) as *mut u8, 8);
        let (mut kind, mut host, mut flags) = (9_u32, 0_u64, 9_u32);
        for (attribute, data) in [
            (CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (&raw mut kind).cast::<c_void>()),
            (CU_POINTER_ATTRIBUTE_HOST_POINTER, (&raw mut host).cast()),
            (CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, (&raw mut flags).cast()),
        ] {
            ok!(importer, cuPointerGetAttribute(data, attribute, there));
        }
        assert_eq!((kind, host, flags), (CU_MEMORYTYPE_HOST, there, CU_MEM_ACCESS_FLAGS_PROT_NONE));
        let location = CUmemLocation { kind: DEVICE, id: 0 };
        let access = CUmemAccessDesc { location, flags: CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
        ok!(importer, cuMemPoolSetAccess(pool, &access, 1));
        ok!(importer, cuPointerGetAttribute((&raw mut flags).cast(), CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, there));
        assert_eq!(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
        let device = importer.alloc(4);
        ok!(importer, cuMemcpyHtoD_v2(device, (there + 4996) as *const c_void, 4));
        assert_eq!(importer.peek(device + 3), 7);
        assert!(importer.sim.report().findings.is_empty(), "{}", importer.sim.report().text(false));
        ok!(importer, cuMemFree_v2(there));
    });
    assert_eq!((read((address + 1) as *const u8), read(first as *const u8)), (8, 1));
}

#[test]
fn host_access_to_imported_memory_that_no_wait_orders_is_a_race() {
    let exporter = Program::new();
    let pool = shared_pool(&exporter, NODE);
    let address = allocate(&exporter, pool, 64);
    let (file, data) = (exported(&exporter, pool), exported_pointer(&exporter, address));
    in_other_process(Config::default(), |importer| {
        let (pool, mut data, mut there) = (imported(importer, file), data, 0);
        ok!(importer, cuMemPoolImportPointer(&mut there, pool, &mut data));
        let stream = importer.stream(CU_STREAM_NON_BLOCKING);
        importer.fill(there, 2, 64, stream);
        read(there as *const u8);
        ok!(importer, cuStreamSynchronize(stream));
        assert_eq!(read(there as *const u8), 2);
        let report = importer.sim.report();
        assert_eq!(report.findings.len(), 1, "{}", report.text(false));
        let finding = &report.findings[0];
        assert_eq!((finding.kind, finding.sides[1].access), (Kind::DataRace, AccessKind::Read));
    });
}

#[test]
fn host_memory_freed_while_imported_is_refused_and_keeps_its_bytes() {
    let (exporter, importer) = (Program::new(), Sim::new(Config::default()));
    let pool = shared_pool(&exporter, NODE);
    let address = allocate(&exporter, pool, 64);
    write(address as *mut u8, 7);
    let (file, mut data) = (exported(&exporter, pool), exported_pointer(&exporter, address));
    let (there, pool, device) = {
        let importer = Program::over(&importer);
        let (pool, mut there) = (imported(&importer, file), 0);
        ok!(importer, cuMemPoolImportPointer(&mut there, pool, &mut data));
        let device = importer.alloc(64);
        ok!(importer, cuMemcpyHtoDAsync_v2(device, there as *const c_void, 64, CUstream::NULL));
        (there, pool, device)
    };
    ok!(exporter, cuMemFree_v2(address));
    let importer = Program::over(&importer);
    fails!(importer, INVALID_VALUE, cuMemPoolImportPointer(&mut 0, pool, &mut data));
    fails!(importer, INVALID_VALUE, cuMemcpyHtoDAsync_v2(device, there as *const c_void, 64, CUstream::NULL));
    ok!(importer, cuCtxSynchronize());
    assert_eq!(importer.peek(device), 7, "work enqueued before the free reads the old bytes");
    assert_eq!(read(there as *const u8), 7);
}

#[test]
fn imported_pool_allocates_nothing_and_has_access_of_its_own() {
    let two = || Config { devices: 2, ..Config::default() };
    let exporter = Program::with(two());
    let pool = shared_pool(&exporter, DEVICE);
    let mut second = CUmemLocation { kind: CU_MEM_LOCATION_TYPE_DEVICE, id: 1 };
    let access = CUmemAccessDesc { location: second, flags: CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    ok!(exporter, cuMemPoolSetAccess(pool, &access, 1));
    let (file, mut address) = (exported(&exporter, pool), 0);
    ok!(exporter, cuMemAllocFromPoolAsync(&mut address, 16, pool, CUstream::NULL));
    let data = exported_pointer(&exporter, address);
    in_other_process(two(), |importer| {
        let (pool, mut flags, mut address, mut data) = (imported(importer, file), 9, 0, data);
        ok!(importer, cuMemPoolGetAccess(&mut flags, pool, &mut second));
        assert_eq!(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE, "an import does not inherit access");
        fails!(importer, INVALID_VALUE, cuMemAllocFromPoolAsync(&mut address, 1, pool, CUstream::NULL));
        fails!(importer, INVALID_VALUE, cuDeviceSetMemPool(0, pool));
        let mut file = 0_i32;
        fails!(importer, INVALID_VALUE, cuMemPoolExportToShareableHandle((&raw mut file).cast(), pool, FILE, 0));
        ok!(importer, cuMemPoolImportPointer(&mut address, pool, &mut data));
        let flags_of = |address| {
            let mut flags = 9_u32;
            let place = (&raw mut flags).cast();
            ok!(importer, cuPointerGetAttribute(place, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, address));
            flags
        };
        assert_eq!(flags_of(address), CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
        ok!(importer, cuCtxSetCurrent(importer.primary(1)));
        assert_eq!(flags_of(address), CU_MEM_ACCESS_FLAGS_PROT_NONE);
        ok!(importer, cuMemPoolSetAccess(pool, &access, 1));
        assert_eq!(flags_of(address), CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    });
}

#[test]
fn wrong_exports_and_imports_of_pools_are_refused() {
    let program = Program::new();
    let (pool, mut closed, mut file) = (shared_pool(&program, DEVICE), CUmemoryPool::NULL, -1_i32);
    ok!(program, cuDeviceGetDefaultMemPool(&mut closed, 0));
    let place = (&raw mut file).cast::<c_void>();
    fails!(program, INVALID_VALUE, cuMemPoolExportToShareableHandle(place, closed, FILE, 0));
    fails!(program, INVALID_VALUE, cuMemPoolExportToShareableHandle(place, pool, FILE, 1));
    fails!(program, INVALID_VALUE, cuMemPoolExportToShareableHandle(place, pool, CU_MEM_HANDLE_TYPE_FABRIC, 0));
    fails!(program, INVALID_VALUE, cuMemPoolExportToShareableHandle(std::ptr::null_mut(), pool, FILE, 0));
    let (mut new, none) = (CUmemoryPool::NULL, std::ptr::null_mut());
    fails!(program, INVALID_VALUE, cuMemPoolImportFromShareableHandle(&mut new, none, FILE, 0));
    fails!(program, INVALID_VALUE, cuMemPoolImportFromShareableHandle(&mut new, none, FILE, 1));
    fails!(program, NOT_SUPPORTED, cuMemPoolImportFromShareableHandle(&mut new, none, CU_MEM_HANDLE_TYPE_FABRIC, 0));
    let mut data = CUmemPoolPtrExportData { reserved: [0; 64] };
    fails!(program, INVALID_VALUE, cuMemPoolExportPointer(&mut data, program.alloc(8)));
    let stream = program.stream(CU_STREAM_NON_BLOCKING);
    fails!(program, INVALID_VALUE, cuMemPoolExportPointer(&mut data, allocate(&program, closed, 8)));
    fails!(program, INVALID_VALUE, cuMemPoolImportPointer(&mut 0, pool, &mut data));
    // Data of one pool does not import from another.
    let (other, mut address) = (shared_pool(&program, DEVICE), 0);
    ok!(program, cuMemAllocFromPoolAsync(&mut address, 8, other, stream));
    let mut data = exported_pointer(&program, address);
    let file = exported(&program, pool);
    in_other_process(Config::default(), |importer| {
        let pool = imported(importer, file);
        fails!(importer, INVALID_VALUE, cuMemPoolImportPointer(&mut 0, pool, &mut data));
        let handle = CUipcMemHandle { reserved: data.reserved.map(|byte| c_char::from_ne_bytes([byte])) };
        fails!(importer, INVALID_HANDLE, cuIpcOpenMemHandle_v2(&mut 0, handle, 1));
        // A pool is no memory.
        fails!(importer, INVALID_VALUE, cuMemImportFromShareableHandle(&mut 0, std::ptr::null_mut(), FILE));
    });
}

#[test]
fn freed_allocation_of_a_shared_pool_is_gone() {
    for location in [DEVICE, NODE] {
        let exporter = Program::new();
        let pool = shared_pool(&exporter, location);
        let address = allocate(&exporter, pool, 16);
        let (file, data) = (exported(&exporter, pool), exported_pointer(&exporter, address));
        ok!(exporter, cuMemFreeAsync(address, CUstream::NULL));
        ok!(exporter, cuCtxSynchronize());
        in_other_process(Config::default(), |importer| {
            let (pool, mut data) = (imported(importer, file), data);
            fails!(importer, INVALID_VALUE, cuMemPoolImportPointer(&mut 0, pool, &mut data));
        });
    }
}

#[test]
fn imported_host_memory_outlives_the_exporting_process() {
    let (given, taken) = std::sync::mpsc::channel();
    let (done, end) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let exporting = scope.spawn(move || {
            let exporter = Program::new();
            let pool = shared_pool(&exporter, NODE);
            let address = allocate(&exporter, pool, 16);
            write(address as *mut u8, 7);
            given.send((exported(&exporter, pool), exported_pointer(&exporter, address))).unwrap();
            end.recv().unwrap();
        });
        let importer = Program::new();
        let (file, mut data) = taken.recv().unwrap();
        let (pool, mut there) = (imported(&importer, file), 0);
        ok!(importer, cuMemPoolImportPointer(&mut there, pool, &mut data));
        done.send(()).unwrap();
        exporting.join().unwrap();
        assert_eq!(read(there as *const u8), 7);
        ok!(importer, cuMemsetD8_v2(there, 8, 16));
        assert_eq!(read((there + 15) as *const u8), 8);
    });
}
