//! Pools of host memory and of managed memory: creation, access, attributes, and accesses of the host.

use crate::program::*;
use cuarray_sim::finding::{AccessKind, Kind};

const PINNED: u32 = CU_MEM_ALLOCATION_TYPE_PINNED;
const MANAGED: u32 = CU_MEM_ALLOCATION_TYPE_MANAGED;
const DEVICE: u32 = CU_MEM_LOCATION_TYPE_DEVICE;
const HOST: u32 = CU_MEM_LOCATION_TYPE_HOST;
const NODE: u32 = CU_MEM_LOCATION_TYPE_HOST_NUMA;

const PTX: &std::ffi::CStr = c".version 8.0\n.target sm_80\n.address_size 64\n
    .visible .entry put(.param .u64 place)
    {
        .reg .b64 %rd<2>; .reg .b32 %r<2>;
        ld.param.u64 %rd1, [place]; mov.u32 %r1, 7;
        st.global.u32 [%rd1], %r1;
        ret;
    }";

fn props(kind: u32, location: u32, id: i32) -> CUmemPoolProps {
    CUmemPoolProps {
        allocType: kind,
        handleTypes: CU_MEM_HANDLE_TYPE_NONE,
        location: CUmemLocation { kind: location, id },
        win32SecurityAttributes: std::ptr::null_mut(),
        maxSize: 0,
        usage: 0,
        reserved: [0; 54],
    }
}

fn pool(p: &Program, kind: u32, location: u32, id: i32) -> CUmemoryPool {
    let mut pool = CUmemoryPool::NULL;
    ok!(p, cuMemPoolCreate(&mut pool, &props(kind, location, id)));
    pool
}

/// Allocates in a stream, and waits for the allocation.
fn allocate(p: &Program, pool: CUmemoryPool, size: usize, stream: CUstream) -> CUdeviceptr {
    let mut address = 0;
    ok!(p, cuMemAllocFromPoolAsync(&mut address, size, pool, stream));
    ok!(p, cuStreamSynchronize(stream));
    address
}

fn number(p: &Program, pool: CUmemoryPool, attribute: u32) -> i32 {
    let mut value = 99_i32;
    ok!(p, cuMemPoolGetAttribute(pool, attribute, (&raw mut value).cast()));
    value
}

fn bytes(p: &Program, pool: CUmemoryPool, attribute: u32) -> u64 {
    let mut value = 0_u64;
    ok!(p, cuMemPoolGetAttribute(pool, attribute, (&raw mut value).cast()));
    value
}

fn access(p: &Program, pool: CUmemoryPool, kind: u32, id: i32) -> u32 {
    let (mut flags, mut location) = (9, CUmemLocation { kind, id });
    ok!(p, cuMemPoolGetAccess(&mut flags, pool, &mut location));
    flags
}

/// Writes to an address with a kernel of the current context, and waits.
fn put(p: &Program, address: CUdeviceptr) -> CUresult {
    let (mut module, mut function, mut address) = (CUmodule::NULL, CUfunction::NULL, address);
    ok!(p, cuModuleLoadData(&mut module, PTX.as_ptr().cast()));
    ok!(p, cuModuleGetFunction(&mut function, module, c"put".as_ptr()));
    let (mut params, none) = ([(&raw mut address).cast::<c_void>()], std::ptr::null_mut());
    ok!(p, cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, CUstream::NULL, params.as_mut_ptr(), none));
    call!(p, cuCtxSynchronize())
}

#[test]
fn pools_state_their_place_and_type() {
    let p = Program::with(Config { devices: 2, ..Config::default() });
    for (kind, location, id, stated) in [
        (PINNED, HOST, -1, (HOST, 0)),
        (PINNED, NODE, 0, (NODE, 0)),
        (MANAGED, CU_MEM_LOCATION_TYPE_NONE, -1, (CU_MEM_LOCATION_TYPE_NONE, 0)),
        (MANAGED, DEVICE, 1, (DEVICE, 1)),
        (MANAGED, HOST, -1, (HOST, 0)),
        (MANAGED, NODE, 0, (NODE, 0)),
    ] {
        let pool = pool(&p, kind, location, id);
        assert_eq!(number(&p, pool, CU_MEMPOOL_ATTR_ALLOCATION_TYPE) as u32, kind);
        let place =
            (number(&p, pool, CU_MEMPOOL_ATTR_LOCATION_TYPE) as u32, number(&p, pool, CU_MEMPOOL_ATTR_LOCATION_ID));
        assert_eq!(place, stated);
        assert_eq!(number(&p, pool, CU_MEMPOOL_ATTR_HW_DECOMPRESS_ENABLED), 0);
        assert_eq!(number(&p, pool, CU_MEMPOOL_ATTR_LOCALITY_DOMAIN_ID), -1);
        ok!(p, cuMemPoolDestroy(pool));
        fails!(p, INVALID_VALUE, cuMemPoolDestroy(pool));
    }
    assert_eq!(p.statistic("pools"), 0);
}

#[test]
fn invalid_properties_are_refused() {
    let p = Program::with(Config { devices: 2, ..Config::default() });
    let mut pool = CUmemoryPool::NULL;
    for wrong in [
        props(PINNED, CU_MEM_LOCATION_TYPE_NONE, 0),
        props(PINNED, CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT, 0),
        props(PINNED, NODE, 1),
        props(MANAGED, NODE, -1),
        props(MANAGED, CU_MEM_LOCATION_TYPE_INVISIBLE, 0),
        props(MANAGED, CU_MEM_LOCATION_TYPE_DEVICE_LOCALITY_DOMAIN, 0),
        props(3, HOST, 0),
        CUmemPoolProps { handleTypes: 1, ..props(PINNED, HOST, 0) },
        CUmemPoolProps { handleTypes: 1, ..props(MANAGED, HOST, 0) },
        CUmemPoolProps { handleTypes: 16, ..props(PINNED, NODE, 0) },
        CUmemPoolProps { maxSize: 1, ..props(MANAGED, HOST, 0) },
        CUmemPoolProps { usage: 2, ..props(MANAGED, HOST, 0) },
    ] {
        fails!(p, INVALID_VALUE, cuMemPoolCreate(&mut pool, &wrong));
    }
    fails!(p, INVALID_DEVICE, cuMemPoolCreate(&mut pool, &props(MANAGED, DEVICE, 2)));
    let part = props(PINNED, CU_MEM_LOCATION_TYPE_DEVICE_LOCALITY_DOMAIN, 0);
    fails!(p, NOT_SUPPORTED, cuMemPoolCreate(&mut pool, &part));
    assert_eq!(p.statistic("pools"), 0);
}

#[test]
fn host_memory_of_a_pool_is_copied_and_counted() {
    let p = Program::new();
    let stream = p.stream(CU_STREAM_NON_BLOCKING);
    let mut limited = CUmemoryPool::NULL;
    ok!(p, cuMemPoolCreate(&mut limited, &CUmemPoolProps { maxSize: 4096, ..props(PINNED, HOST, 0) }));
    assert_eq!(bytes(&p, limited, CU_MEMPOOL_ATTR_MAX_POOL_SIZE), 4096);
    let (address, mut second) = (allocate(&p, limited, 4096, stream), 0);
    fails!(p, OUT_OF_MEMORY, cuMemAllocFromPoolAsync(&mut second, 1, limited, stream));
    assert_eq!(bytes(&p, limited, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 4096);
    let device = p.alloc(4096);
    p.fill(address, 7, 4096, stream);
    ok!(p, cuMemcpyAsync(device, address, 4096, stream));
    ok!(p, cuStreamSynchronize(stream));
    assert_eq!((p.peek(device + 4095), read((address + 4095) as *const u8)), (7, 7));
    write(address as *mut u8, 9);
    ok!(p, cuMemcpyHtoD_v2(device, address as *const c_void, 1));
    assert_eq!(p.peek(device), 9);
    // The functions for memory of cuMemAllocHost do not free it.
    fails!(p, INVALID_VALUE, cuMemFreeHost(address as *mut c_void));
    let mut threshold = 1000_u64;
    ok!(p, cuMemPoolSetAttribute(limited, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, (&raw mut threshold).cast()));
    ok!(p, cuMemFreeAsync(address, stream));
    fails!(p, INVALID_VALUE, cuMemFreeAsync(address, stream));
    ok!(p, cuStreamSynchronize(stream));
    assert_eq!(bytes(&p, limited, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0);
    assert_eq!(bytes(&p, limited, CU_MEMPOOL_ATTR_USED_MEM_HIGH), 4096);
    assert_eq!(bytes(&p, limited, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 1000);
    ok!(p, cuMemPoolTrimTo(limited, 10));
    assert_eq!(bytes(&p, limited, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 10);
    fails!(p, OUT_OF_MEMORY, cuMemAllocFromPoolAsync(&mut second, 1 << 60, pool(&p, PINNED, HOST, 0), stream));
    assert!(p.sim.report().findings.iter().all(|finding| finding.kind == Kind::UseAfterFree));
}

#[test]
fn destroyed_host_pool_lives_until_its_last_allocation_is_freed() {
    let p = Program::new();
    let (stream, pool) = (p.stream(0), pool(&p, MANAGED, HOST, 0));
    let address = allocate(&p, pool, 64, stream);
    ok!(p, cuMemPoolDestroy(pool));
    fails!(p, INVALID_VALUE, cuMemPoolTrimTo(pool, 0));
    assert_eq!(p.statistic("pools"), 1);
    p.fill(address, 1, 64, stream);
    ok!(p, cuStreamSynchronize(stream));
    ok!(p, cuMemFree_v2(address));
    assert_eq!(p.statistic("pools"), 0);
    assert!(p.sim.report().findings.is_empty());
}

#[test]
fn kernels_reach_host_memory_of_a_pool_after_access_is_given() {
    let p = Program::with(Config { devices: 2, ..Config::default() });
    let pool = pool(&p, PINNED, HOST, 0);
    let address = allocate(&p, pool, 4, CUstream::NULL);
    assert_eq!(access(&p, pool, DEVICE, 0), CU_MEM_ACCESS_FLAGS_PROT_NONE);
    assert_eq!(access(&p, pool, HOST, 0), CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    let (mut pointer, mut location) = (0_u64, CUmemLocation { kind: DEVICE, id: 0 });
    let data = (&raw mut pointer).cast();
    fails!(p, INVALID_VALUE, cuPointerGetAttribute(data, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, address));
    let given = CUmemAccessDesc { location, flags: CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    ok!(p, cuMemPoolSetAccess(pool, &given, 1));
    ok!(p, cuPointerGetAttribute(data, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, address));
    assert_eq!(pointer, address);
    assert_eq!(put(&p, address), CUresult::CUDA_SUCCESS);
    assert_eq!(read(address as *const u8), 7);
    ok!(p, cuPointerGetAttribute(data, CU_POINTER_ATTRIBUTE_HOST_POINTER, address));
    assert_eq!(pointer, address);
    ok!(p, cuPointerGetAttribute(data, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, address));
    assert_eq!(pointer, pool.0 as u64);
    location.kind = HOST;
    fails!(p, INVALID_VALUE, cuMemPoolSetAccess(pool, &CUmemAccessDesc { location, flags: 3 }, 1));
    // The other device has no access yet.
    let other = p.primary(1);
    ok!(p, cuCtxSetCurrent(other));
    assert_eq!(put(&p, address), CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
    let report = p.sim.report().text(false);
    assert!(report.contains("give device 1 access to the memory of the pool with cuMemPoolSetAccess"), "{report}");
}

#[test]
fn managed_memory_of_a_pool_is_open_to_all_and_prefers_its_place() {
    let p = Program::with(Config { devices: 2, ..Config::default() });
    let pool = pool(&p, MANAGED, DEVICE, 1);
    let address = allocate(&p, pool, 4, CUstream::NULL);
    for (kind, id) in [(DEVICE, 0), (DEVICE, 1), (HOST, 0)] {
        assert_eq!(access(&p, pool, kind, id), CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    }
    let location = CUmemLocation { kind: DEVICE, id: 0 };
    let closed = CUmemAccessDesc { location, flags: CU_MEM_ACCESS_FLAGS_PROT_READ };
    fails!(p, INVALID_VALUE, cuMemPoolSetAccess(pool, &closed, 1));
    let (mut managed, mut preferred) = (0_u8, 9_i32);
    ok!(p, cuPointerGetAttribute((&raw mut managed).cast(), CU_POINTER_ATTRIBUTE_IS_MANAGED, address));
    let attribute = CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION;
    ok!(p, cuMemRangeGetAttribute((&raw mut preferred).cast(), 4, attribute, address, 4));
    assert_eq!((managed, preferred), (1, 1));
    assert_eq!(put(&p, address), CUresult::CUDA_SUCCESS);
    assert_eq!(read(address as *const u8), 7);
    assert!(p.sim.report().findings.is_empty());
}

#[test]
fn each_place_has_a_default_and_a_current_pool() {
    let p = Program::new();
    let (mut default, mut current) = (CUmemoryPool::NULL, CUmemoryPool::NULL);
    let mut seen = Vec::new();
    for (kind, location) in
        [(PINNED, DEVICE), (PINNED, HOST), (PINNED, NODE), (MANAGED, DEVICE), (MANAGED, HOST), (MANAGED, 0)]
    {
        let mut place = CUmemLocation { kind: location, id: 0 };
        ok!(p, cuMemGetDefaultMemPool(&mut default, &mut place, kind));
        ok!(p, cuMemGetMemPool(&mut current, &mut place, kind));
        assert_eq!(current, default);
        assert!(!seen.contains(&default));
        seen.push(default);
        fails!(p, INVALID_VALUE, cuMemPoolDestroy(default));
        let own = pool(&p, kind, location, 0);
        ok!(p, cuMemSetMemPool(&mut place, kind, own));
        ok!(p, cuMemGetMemPool(&mut current, &mut place, kind));
        assert_eq!(current, own);
        let mut other = CUmemLocation { kind: if location == HOST { DEVICE } else { HOST }, id: 0 };
        fails!(p, INVALID_VALUE, cuMemSetMemPool(&mut other, kind, own));
        ok!(p, cuMemPoolDestroy(own));
        ok!(p, cuMemGetMemPool(&mut current, &mut place, kind));
        assert_eq!(current, default);
    }
    let mut place = CUmemLocation { kind: HOST, id: 0 };
    fails!(p, INVALID_VALUE, cuMemGetMemPool(std::ptr::null_mut(), &mut place, PINNED));
    fails!(p, INVALID_VALUE, cuMemGetMemPool(&mut current, std::ptr::null_mut(), PINNED));
    fails!(p, INVALID_VALUE, cuDeviceSetMemPool(0, seen[1]));
}

#[test]
fn host_access_before_the_allocation_is_waited_for_is_a_finding() {
    for (kind, location) in [(PINNED, HOST), (MANAGED, HOST)] {
        let p = Program::new();
        let (stream, pool, mut address) = (p.stream(CU_STREAM_NON_BLOCKING), pool(&p, kind, location, 0), 0);
        ok!(p, cuMemAllocFromPoolAsync(&mut address, 64, pool, stream));
        write(address as *mut u8, 1);
        ok!(p, cuStreamSynchronize(stream));
        let report = p.sim.report();
        assert_eq!(report.findings.len(), 1, "{}", report.text(false));
        assert_eq!(report.findings[0].kind, Kind::UseBeforeAllocation);
        // The allocation overwrites the byte that came too early.
        assert_eq!(read(address as *const u8), 0xff);
    }
}

#[test]
fn host_access_that_no_wait_orders_with_a_copy_is_a_race() {
    for (kind, location) in [(PINNED, HOST), (PINNED, NODE), (MANAGED, 0)] {
        let p = Program::new();
        let (stream, pool) = (p.stream(CU_STREAM_NON_BLOCKING), pool(&p, kind, location, 0));
        let address = allocate(&p, pool, 64, stream);
        write(address as *mut u8, 1);
        p.fill(address, 2, 64, stream);
        read(address as *const u8);
        ok!(p, cuStreamSynchronize(stream));
        assert_eq!(read(address as *const u8), 2);
        let report = p.sim.report();
        assert_eq!(report.findings.len(), 1, "{}", report.text(false));
        let finding = &report.findings[0];
        assert_eq!((finding.kind, finding.sides[1].access), (Kind::DataRace, AccessKind::Read));
    }
}

#[test]
fn host_access_after_an_unwaited_release_is_a_finding() {
    let p = Program::new();
    let (stream, pool) = (p.stream(CU_STREAM_NON_BLOCKING), pool(&p, PINNED, HOST, 0));
    let address = allocate(&p, pool, 64, stream);
    write(address as *mut u8, 1);
    ok!(p, cuMemFreeAsync(address, stream));
    read(address as *const u8);
    ok!(p, cuStreamSynchronize(stream));
    let report = p.sim.report();
    assert_eq!(report.findings.len(), 1, "{}", report.text(false));
}

#[test]
fn copy_from_released_host_memory_of_a_pool_is_refused_and_found() {
    for (kind, location) in [(PINNED, HOST), (MANAGED, HOST)] {
        let p = Program::new();
        let (stream, pool, device) = (p.stream(CU_STREAM_NON_BLOCKING), pool(&p, kind, location, 0), p.alloc(64));
        let address = allocate(&p, pool, 64, stream);
        p.fill(address, 1, 64, stream);
        ok!(p, cuMemFreeAsync(address, stream));
        fails!(p, INVALID_VALUE, cuMemcpyHtoDAsync_v2(device, address as *const c_void, 64, stream));
        ok!(p, cuStreamSynchronize(stream));
        let report = p.sim.report();
        assert_eq!(report.findings.len(), 1, "{}", report.text(false));
        assert_eq!(report.findings[0].kind, Kind::UseAfterFree);
    }
}

#[test]
fn devices_say_that_the_host_has_pools_and_one_node() {
    let p = Program::new();
    for (attribute, expected) in [
        (CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, 0),
        (CU_DEVICE_ATTRIBUTE_HOST_NUMA_MEMORY_POOLS_SUPPORTED, 1),
        (CU_DEVICE_ATTRIBUTE_HOST_MEMORY_POOLS_SUPPORTED, 1),
    ] {
        let mut value = 9;
        ok!(p, cuDeviceGetAttribute(&mut value, attribute, 0));
        assert_eq!(value, expected);
    }
}
