//! Stream-ordered allocation and memory pools.

#[macro_use]
mod program;
use cuarray_sim::finding::Kind;
use program::*;

fn attribute(program: &Program, pool: CUmemoryPool, attribute: u32) -> u64 {
    let mut value = 0_u64;
    ok!(program, cuMemPoolGetAttribute(pool, attribute, (&raw mut value).cast()));
    value
}

fn default_pool(program: &Program) -> CUmemoryPool {
    let mut pool = CUmemoryPool::NULL;
    ok!(program, cuDeviceGetDefaultMemPool(&mut pool, 0));
    pool
}

fn alloc_async(program: &Program, size: usize, stream: CUstream) -> CUdeviceptr {
    let mut address = 0;
    ok!(program, cuMemAllocAsync(&mut address, size, stream));
    address
}

#[test]
fn used_memory_follows_allocation_release_and_synchronization() {
    let (program, stream) = (Program::new(), CUstream::NULL);
    let pool = default_pool(&program);
    let address = alloc_async(&program, 1000, stream);
    assert_eq!(attribute(&program, pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 1000);
    ok!(program, cuMemFreeAsync(address, stream));
    assert_eq!(attribute(&program, pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 1000, "the release is pending");
    ok!(program, cuStreamSynchronize(stream));
    assert_eq!(attribute(&program, pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0);
    assert_eq!(attribute(&program, pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH), 1000);
    assert_eq!(attribute(&program, pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 0);
    let mut zero = 0_u64;
    ok!(program, cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, (&raw mut zero).cast()));
    assert_eq!(attribute(&program, pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH), 0);
}

#[test]
fn release_threshold_keeps_memory_until_it_is_trimmed() {
    let (program, stream) = (Program::new(), CUstream::NULL);
    let pool = default_pool(&program);
    let mut threshold = 600_u64;
    ok!(program, cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, (&raw mut threshold).cast()));
    let address = alloc_async(&program, 1000, stream);
    ok!(program, cuMemFreeAsync(address, stream));
    ok!(program, cuStreamSynchronize(stream));
    assert_eq!(attribute(&program, pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 600);
    ok!(program, cuMemPoolTrimTo(pool, 100));
    assert_eq!(attribute(&program, pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 100);
}

#[test]
fn memory_written_before_its_ordered_allocation_is_overwritten() {
    let program = Program::new();
    let (allocating, using) = (program.stream(0), program.stream(0));
    let address = alloc_async(&program, 16, allocating);
    program.fill(address, 7, 16, using);
    ok!(program, cuStreamSynchronize(using));
    assert_eq!(program.peek(address), 7);
    ok!(program, cuStreamSynchronize(allocating));
    assert_eq!(program.peek(address), 0xff);
}

#[test]
fn memory_is_unknown_once_its_release_is_enqueued() {
    let program = Program::new();
    let stream = program.stream(0);
    let address = alloc_async(&program, 16, stream);
    fails!(program, INVALID_VALUE, cuMemFreeAsync(address + 8, stream));
    ok!(program, cuMemFreeAsync(address, stream));
    fails!(program, INVALID_VALUE, cuMemFreeAsync(address, stream));
    fails!(program, INVALID_VALUE, cuMemFree_v2(address));
    fails!(program, INVALID_VALUE, cuMemsetD8Async(address, 0, 1, stream));
    ok!(program, cuMemFreeAsync(0, stream));
}

#[test]
fn either_free_accepts_either_kind_of_allocation() {
    let program = Program::new();
    let plain = program.alloc(16);
    ok!(program, cuMemFreeAsync(plain, CUstream::NULL));
    let ordered = alloc_async(&program, 16, CUstream::NULL);
    ok!(program, cuMemFree_v2(ordered));
    ok!(program, cuCtxSynchronize());
    assert_eq!(program.sim.statistics().matches("\"kind\"").count(), 0);
}

#[test]
fn allocation_reuses_memory_of_pending_releases() {
    let program = Program::with(Config { memory: 1 << 20, ..Config::default() });
    let stream = program.stream(0);
    for _ in 0..10 {
        let address = alloc_async(&program, 1 << 20, stream);
        ok!(program, cuMemFreeAsync(address, stream));
    }
    let address = alloc_async(&program, 1 << 20, stream);
    let mut second = 0;
    fails!(program, OUT_OF_MEMORY, cuMemAllocAsync(&mut second, 1, stream));
    ok!(program, cuMemFreeAsync(address, stream));
    ok!(program, cuMemAlloc_v2(&mut second, 1 << 20));
}

#[test]
fn allocation_of_no_bytes_is_null_and_null_is_freed() {
    let program = Program::new();
    let (pool, stream) = (default_pool(&program), program.stream(0));
    for allocate in [
        |program: &Program, address: &mut u64, _, stream| call!(program, cuMemAllocAsync(address, 0, stream)),
        |program: &Program, address: &mut u64, pool, stream| {
            call!(program, cuMemAllocFromPoolAsync(address, 0, pool, stream))
        },
    ] {
        let mut address = 9;
        assert_eq!(allocate(&program, &mut address, pool, stream), CUresult::CUDA_SUCCESS);
        assert_eq!(address, 0);
        ok!(program, cuMemFreeAsync(address, stream));
    }
    assert_eq!(attribute(&program, pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH), 0);
    let unknown = CUmemoryPool(12345);
    fails!(program, INVALID_VALUE, cuMemAllocFromPoolAsync(&mut 0, 0, unknown, stream));
    fails!(program, INVALID_HANDLE, cuMemAllocAsync(&mut 0, 0, CUstream(12345)));
}

#[test]
fn destroyed_pool_lives_until_its_last_allocation_is_freed() {
    let program = Program::with(Config { devices: 2, ..Config::default() });
    // SAFETY: all-zero is a valid description.
    let mut props: CUmemPoolProps = unsafe { std::mem::zeroed() };
    (props.allocType, props.location) =
        (CU_MEM_ALLOCATION_TYPE_PINNED, CUmemLocation { kind: CU_MEM_LOCATION_TYPE_DEVICE, id: 0 });
    props.maxSize = 4096;
    let (mut pool, mut address) = (CUmemoryPool::NULL, 0);
    ok!(program, cuMemPoolCreate(&mut pool, &props));
    ok!(program, cuMemAllocFromPoolAsync(&mut address, 4096, pool, CUstream::NULL));
    let mut handle = 0_u64;
    ok!(program, cuPointerGetAttribute((&raw mut handle).cast(), CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, address));
    assert_eq!(handle, pool.0 as u64);
    let mut second = 0;
    fails!(program, OUT_OF_MEMORY, cuMemAllocFromPoolAsync(&mut second, 1, pool, CUstream::NULL));
    // Other devices have no access until it is granted.
    let mut location = CUmemLocation { kind: CU_MEM_LOCATION_TYPE_DEVICE, id: 1 };
    let mut flags = 9;
    ok!(program, cuMemPoolGetAccess(&mut flags, pool, &mut location));
    assert_eq!(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE);
    let access = CUmemAccessDesc { location, flags: CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    ok!(program, cuMemPoolSetAccess(pool, &access, 1));
    ok!(program, cuMemPoolGetAccess(&mut flags, pool, &mut location));
    assert_eq!(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    ok!(program, cuDeviceSetMemPool(0, pool));
    ok!(program, cuMemPoolDestroy(pool));
    fails!(program, INVALID_VALUE, cuMemPoolTrimTo(pool, 0));
    let mut current = CUmemoryPool::NULL;
    ok!(program, cuDeviceGetMemPool(&mut current, 0));
    assert_eq!(current, default_pool(&program));
    program.fill(address, 7, 4096, CUstream::NULL);
    ok!(program, cuMemFreeAsync(address, CUstream::NULL));
    ok!(program, cuCtxSynchronize());
    assert_eq!(program.statistic("pools"), 0);
    fails!(program, INVALID_VALUE, cuMemPoolDestroy(default_pool(&program)));
}

const FILE: u32 = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

/// A pool of device 0 that other processes may import.
fn shared_pool(program: &Program) -> CUmemoryPool {
    let mut pool = CUmemoryPool::NULL;
    // SAFETY: all-zero is a valid description.
    let mut props: CUmemPoolProps = unsafe { std::mem::zeroed() };
    (props.allocType, props.handleTypes) = (CU_MEM_ALLOCATION_TYPE_PINNED, FILE);
    props.location = CUmemLocation { kind: CU_MEM_LOCATION_TYPE_DEVICE, id: 0 };
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

#[test]
fn allocation_of_a_shared_pool_is_the_same_in_another_process() {
    let exporter = Program::new();
    let (pool, mut address) = (shared_pool(&exporter), 0);
    ok!(exporter, cuMemAllocFromPoolAsync(&mut address, 4096, pool, CUstream::NULL));
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

#[test]
fn imported_pool_allocates_nothing_and_has_access_of_its_own() {
    let two = || Config { devices: 2, ..Config::default() };
    let exporter = Program::with(two());
    let pool = shared_pool(&exporter);
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
    let (pool, closed, mut file) = (shared_pool(&program), default_pool(&program), -1_i32);
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
    fails!(program, INVALID_VALUE, cuMemPoolExportPointer(&mut data, alloc_async(&program, 8, stream)));
    fails!(program, INVALID_VALUE, cuMemPoolImportPointer(&mut 0, pool, &mut data));
    // Data of one pool does not import from another.
    let (other, mut address) = (shared_pool(&program), 0);
    ok!(program, cuMemAllocFromPoolAsync(&mut address, 8, other, stream));
    let mut data = exported_pointer(&program, address);
    let file = exported(&program, pool);
    in_other_process(Config::default(), |importer| {
        let pool = imported(importer, file);
        fails!(importer, INVALID_VALUE, cuMemPoolImportPointer(&mut 0, pool, &mut data));
        let handle = CUipcMemHandle { reserved: data.reserved.map(u8::cast_signed) };
        fails!(importer, INVALID_HANDLE, cuIpcOpenMemHandle_v2(&mut 0, handle, 1));
        // A pool is no memory.
        fails!(importer, INVALID_VALUE, cuMemImportFromShareableHandle(&mut 0, std::ptr::null_mut(), FILE));
    });
}

#[test]
fn freed_allocation_of_a_shared_pool_is_gone() {
    let exporter = Program::new();
    let (pool, mut address) = (shared_pool(&exporter), 0);
    ok!(exporter, cuMemAllocFromPoolAsync(&mut address, 16, pool, CUstream::NULL));
    let (file, data) = (exported(&exporter, pool), exported_pointer(&exporter, address));
    ok!(exporter, cuMemFreeAsync(address, CUstream::NULL));
    ok!(exporter, cuCtxSynchronize());
    in_other_process(Config::default(), |importer| {
        let (pool, mut data) = (imported(importer, file), data);
        fails!(importer, INVALID_VALUE, cuMemPoolImportPointer(&mut 0, pool, &mut data));
    });
}
