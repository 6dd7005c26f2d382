//! Stream-ordered allocation and memory pools.

use crate::program::*;

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
