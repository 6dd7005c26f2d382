//! Virtual memory management: reservations, physical memory, mappings, access rights, sharing, and their findings.

use crate::program::*;
use cuarray_sim::finding::{Finding, Kind};

/// The granularity of sizes, offsets and mapped addresses.
const UNIT: usize = 2 << 20;
const FILE: u32 = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
const READ: u32 = CU_MEM_ACCESS_FLAGS_PROT_READ;
const WRITE: u32 = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;

fn device(id: i32) -> CUmemLocation {
    CUmemLocation { kind: CU_MEM_LOCATION_TYPE_DEVICE, id }
}

fn props(location: CUmemLocation, types: u32) -> CUmemAllocationProp {
    CUmemAllocationProp {
        kind: CU_MEM_ALLOCATION_TYPE_PINNED,
        requestedHandleTypes: types,
        location,
        win32HandleMetaData: std::ptr::null_mut(),
        compressionType: 0,
        gpuDirectRDMACapable: 0,
        usage: 0,
        reserved: [0; 4],
    }
}

/// The calls of most tests in short.
trait Virtual {
    fn reserve(&self, size: usize) -> CUdeviceptr;
    fn create(&self, size: usize) -> CUmemGenericAllocationHandle;
    fn map(&self, address: CUdeviceptr, size: usize, handle: CUmemGenericAllocationHandle);
    fn open(&self, address: CUdeviceptr, size: usize, flags: u32);
    fn mapped(&self, size: usize) -> (CUdeviceptr, CUmemGenericAllocationHandle);
    fn attribute(&self, address: CUdeviceptr, attribute: u32) -> u64;
    fn findings(&self) -> Vec<Finding>;
}

impl Virtual for Program {
    // All reservations have one site, which leaks are named by.
    #[inline(never)]
    fn reserve(&self, size: usize) -> CUdeviceptr {
        let mut address = 0;
        ok!(self, cuMemAddressReserve(&mut address, size, 0, 0, 0));
        address
    }

    fn create(&self, size: usize) -> CUmemGenericAllocationHandle {
        let mut handle = 0;
        ok!(self, cuMemCreate(&mut handle, size, &props(device(0), FILE), 0));
        handle
    }

    fn map(&self, address: CUdeviceptr, size: usize, handle: CUmemGenericAllocationHandle) {
        ok!(self, cuMemMap(address, size, 0, handle, 0));
    }

    fn open(&self, address: CUdeviceptr, size: usize, flags: u32) {
        let access = CUmemAccessDesc { location: device(0), flags };
        ok!(self, cuMemSetAccess(address, size, &access, 1));
    }

    /// Memory that device 0 may write.
    fn mapped(&self, size: usize) -> (CUdeviceptr, CUmemGenericAllocationHandle) {
        let (address, handle) = (self.reserve(size), self.create(size));
        self.map(address, size, handle);
        self.open(address, size, WRITE);
        (address, handle)
    }

    fn attribute(&self, address: CUdeviceptr, attribute: u32) -> u64 {
        let mut value = 0_u64;
        ok!(self, cuPointerGetAttribute((&raw mut value).cast(), attribute, address));
        value
    }

    fn findings(&self) -> Vec<Finding> {
        self.sim.report().findings
    }
}

fn bytes(program: &Program, address: CUdeviceptr, count: usize) -> Vec<u8> {
    let mut bytes = vec![0_u8; count];
    ok!(program, cuMemcpyDtoH_v2(bytes.as_mut_ptr().cast(), address, count));
    bytes
}

/// The only finding, and its text.
fn only(program: &Program) -> (Finding, String) {
    let (findings, text) = (program.findings(), program.sim.report().text(false));
    assert_eq!(findings.len(), 1, "{text}");
    (findings.into_iter().next().unwrap(), text)
}

fn clean(program: &Program) {
    assert_eq!(program.sim.report().text(false), "");
}

const PTX: &std::ffi::CStr = c".version 8.0\n.target sm_80\n.address_size 64\n
    .visible .entry put(.param .u64 place)
    {
        .reg .b64 %rd<2>; .reg .b32 %r<2>;
        ld.param.u64 %rd1, [place]; mov.u32 %r1, 7;
        st.global.u32 [%rd1], %r1;
        ret;
    }
    .visible .entry put_both(.param .u64 place)
    {
        .reg .b64 %rd<2>; .reg .b32 %r<2>;
        ld.param.u64 %rd1, [place]; mov.u32 %r1, 7;
        st.global.v2.u32 [%rd1], {%r1, %r1};
        ret;
    }
    .visible .entry get(.param .u64 place)
    {
        .reg .b64 %rd<2>; .reg .b32 %r<2>;
        ld.param.u64 %rd1, [place];
        ld.global.u32 %r1, [%rd1];
        ret;
    }";

fn launch(program: &Program, name: &std::ffi::CStr, address: CUdeviceptr, stream: CUstream) {
    let (mut module, mut function, mut address) = (CUmodule::NULL, CUfunction::NULL, address);
    ok!(program, cuModuleLoadData(&mut module, PTX.as_ptr().cast()));
    ok!(program, cuModuleGetFunction(&mut function, module, name.as_ptr()));
    let (mut params, none) = ([(&raw mut address).cast::<c_void>()], std::ptr::null_mut());
    ok!(program, cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, params.as_mut_ptr(), none));
}

/// Runs a kernel; returns the result of the synchronization.
fn run(program: &Program, name: &std::ffi::CStr, address: CUdeviceptr) -> CUresult {
    launch(program, name, address, CUstream::NULL);
    call!(program, cuCtxSynchronize())
}

const ILLEGAL: CUresult = CUresult::CUDA_ERROR_ILLEGAL_ADDRESS;

#[test]
fn device_claims_virtual_memory_management() {
    let program = Program::new();
    for (attribute, expected) in [(102, 1), (103, 1), (104, 0), (105, 0), (128, 0), (141, 1), (145, 1)] {
        let mut value = -1;
        ok!(program, cuDeviceGetAttribute(&mut value, attribute, 0));
        assert_eq!(value, expected, "attribute {attribute}");
    }
    for option in [CU_MEM_ALLOC_GRANULARITY_MINIMUM, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED] {
        let mut granularity = 0;
        ok!(program, cuMemGetAllocationGranularity(&mut granularity, &props(device(0), 0), option));
        assert_eq!(granularity, UNIT);
    }
    fails!(program, INVALID_VALUE, cuMemGetAllocationGranularity(&mut 0, &props(device(0), 0), 2));
    fails!(program, INVALID_VALUE, cuMemGetAllocationGranularity(std::ptr::null_mut(), &props(device(0), 0), 0));
    fails!(program, INVALID_VALUE, cuMemGetAllocationGranularity(&mut 0, std::ptr::null(), 0));
}

#[test]
fn mapped_memory_works_in_copies_fills_and_kernels() {
    let program = Program::new();
    let (address, handle) = program.mapped(UNIT);
    ok!(program, cuMemsetD8_v2(address, 5, UNIT));
    assert_eq!(bytes(&program, address + UNIT as u64 - 3, 3), [5; 3]);
    assert_eq!(run(&program, c"put", address + 8), CUresult::CUDA_SUCCESS);
    assert_eq!(bytes(&program, address + 7, 5), [5, 7, 0, 0, 0]);
    let other = program.alloc(16);
    ok!(program, cuMemcpyDtoD_v2(other, address, 16));
    ok!(program, cuMemcpy(address + 100, other, 16));
    assert_eq!(bytes(&program, address + 108, 1), [7]);
    ok!(program, cuMemUnmap(address, UNIT));
    ok!(program, cuMemRelease(handle));
    ok!(program, cuMemAddressFree(address, UNIT));
    ok!(program, cuMemFree_v2(other));
    clean(&program);
    assert!(program.sim.report_with_leaks().findings.is_empty());
}

#[test]
fn accesses_span_memory_that_is_mapped_side_by_side() {
    let program = Program::new();
    let address = program.reserve(3 * UNIT);
    for index in 0..2 {
        program.map(address + (index * UNIT) as u64, UNIT, program.create(UNIT));
    }
    program.open(address, 2 * UNIT, WRITE);
    let border = address + UNIT as u64;
    ok!(program, cuMemsetD8_v2(border - 4, 9, 8));
    assert_eq!(bytes(&program, border - 4, 8), [9; 8]);
    assert_eq!(run(&program, c"put", border - 4), CUresult::CUDA_SUCCESS);
    assert_eq!(run(&program, c"put", border), CUresult::CUDA_SUCCESS);
    ok!(program, cuMemcpyDtoD_v2(address, address + UNIT as u64, UNIT));
    clean(&program);
    fails!(program, INVALID_VALUE, cuMemsetD8_v2(border, 0, UNIT + 1));
    let (finding, text) = only(&program);
    assert_eq!(finding.kind, Kind::OutOfBounds, "{text}");
}

#[test]
fn pointer_queries_tell_the_mapping_from_the_reservation() {
    let program = Program::new();
    let address = program.reserve(4 * UNIT);
    let middle = address + UNIT as u64;
    program.map(middle, UNIT, program.create(UNIT));
    program.open(middle, UNIT, READ);
    let (mut base, mut size) = (0, 0);
    ok!(program, cuMemGetAddressRange_v2(&mut base, &mut size, middle + 5));
    assert_eq!((base, size), (middle, UNIT));
    for (attribute, expected) in [
        (CU_POINTER_ATTRIBUTE_CONTEXT, 0),
        (CU_POINTER_ATTRIBUTE_MEMORY_TYPE, u64::from(CU_MEMORYTYPE_DEVICE)),
        (CU_POINTER_ATTRIBUTE_DEVICE_POINTER, middle + 5),
        (CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, 0),
        (CU_POINTER_ATTRIBUTE_IS_MANAGED, 0),
        (CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, 0),
        (CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, address),
        (CU_POINTER_ATTRIBUTE_RANGE_SIZE, 4 * UNIT as u64),
        (CU_POINTER_ATTRIBUTE_MAPPED, 1),
        (CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, middle),
        (CU_POINTER_ATTRIBUTE_MAPPING_SIZE, UNIT as u64),
        (CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, u64::from(READ)),
        (CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, u64::from(FILE)),
    ] {
        assert_eq!(program.attribute(middle + 5, attribute), expected, "attribute {attribute}");
    }
    assert_eq!(program.attribute(address, CU_POINTER_ATTRIBUTE_MAPPED), 0);
    assert_eq!(program.attribute(address, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR), address);
    let place = (&raw mut size).cast();
    fails!(program, INVALID_VALUE, cuPointerGetAttribute(place, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address));
    fails!(program, NOT_FOUND, cuMemGetAddressRange_v2(&mut base, &mut size, address));
    let mut handle = CUipcMemHandle { reserved: [0; 64] };
    fails!(program, INVALID_VALUE, cuIpcGetMemHandle(&mut handle, middle));
    fails!(program, INVALID_VALUE, cuMemFree_v2(middle));
    fails!(program, INVALID_VALUE, cuMemFreeAsync(middle, CUstream::NULL));
}

#[test]
fn physical_memory_counts_as_used_until_its_last_handle_and_mapping() {
    let program = Program::with(Config { memory: 4 * UNIT as u64, ..Config::default() });
    let free = || {
        let (mut free, mut total) = (0, 0);
        ok!(program, cuMemGetInfo_v2(&mut free, &mut total));
        free / UNIT
    };
    let address = program.reserve(64 * UNIT);
    assert_eq!(free(), 4);
    let handle = program.create(3 * UNIT);
    assert_eq!(free(), 1);
    fails!(program, OUT_OF_MEMORY, cuMemCreate(&mut 0, 2 * UNIT, &props(device(0), 0), 0));
    fails!(program, OUT_OF_MEMORY, cuMemAlloc_v2(&mut 0, 2 * UNIT));
    program.map(address, 3 * UNIT, handle);
    ok!(program, cuMemRelease(handle));
    assert_eq!(free(), 1, "the mapping keeps the memory");
    let mut retained = 0;
    ok!(program, cuMemRetainAllocationHandle(&mut retained, (address + 5) as *mut c_void));
    assert_eq!(retained, handle);
    ok!(program, cuMemUnmap(address, 3 * UNIT));
    assert_eq!(free(), 1, "the handle keeps the memory");
    ok!(program, cuMemRelease(handle));
    assert_eq!(free(), 4);
    fails!(program, INVALID_VALUE, cuMemRetainAllocationHandle(&mut retained, address as *mut c_void));
}

#[test]
fn contents_outlive_a_mapping() {
    let program = Program::new();
    let (address, handle) = program.mapped(UNIT);
    ok!(program, cuMemsetD8_v2(address, 5, UNIT));
    ok!(program, cuCtxSynchronize());
    ok!(program, cuMemUnmap(address, UNIT));
    let other = program.reserve(UNIT);
    program.map(other, UNIT, handle);
    program.open(other, UNIT, READ);
    assert_eq!(bytes(&program, other, 2), [5, 5]);
    program.map(address, UNIT, handle);
    let mut byte = 0_u8;
    fails!(program, INVALID_VALUE, cuMemcpyDtoH_v2((&raw mut byte).cast(), address, 1));
    program.open(address, UNIT, READ);
    assert_eq!(bytes(&program, address, 2), [5, 5]);
}

#[test]
fn wrong_sizes_addresses_and_flags_are_refused() {
    let program = Program::new();
    let (mut address, mut handle) = (0, 0);
    let good = props(device(0), 0);
    fails!(program, INVALID_VALUE, cuMemAddressReserve(&mut address, 0, 0, 0, 0));
    fails!(program, INVALID_VALUE, cuMemAddressReserve(&mut address, 4095, 0, 0, 0));
    fails!(program, INVALID_VALUE, cuMemAddressReserve(&mut address, UNIT, 3, 0, 0));
    fails!(program, INVALID_VALUE, cuMemAddressReserve(&mut address, UNIT, 0, 1, 0));
    fails!(program, INVALID_VALUE, cuMemAddressReserve(&mut address, UNIT, 0, 0, 1));
    fails!(program, INVALID_VALUE, cuMemAddressReserve(std::ptr::null_mut(), UNIT, 0, 0, 0));
    fails!(program, OUT_OF_MEMORY, cuMemAddressReserve(&mut address, 1 << 60, 0, 0, 0));
    fails!(program, INVALID_VALUE, cuMemCreate(&mut handle, UNIT + 4096, &good, 0));
    fails!(program, INVALID_VALUE, cuMemCreate(&mut handle, 0, &good, 0));
    fails!(program, INVALID_VALUE, cuMemCreate(&mut handle, UNIT, &good, 1));
    fails!(program, INVALID_VALUE, cuMemCreate(&mut handle, UNIT, std::ptr::null(), 0));
    fails!(program, INVALID_VALUE, cuMemCreate(std::ptr::null_mut(), UNIT, &good, 0));
    fails!(program, INVALID_DEVICE, cuMemCreate(&mut handle, UNIT, &props(device(9), 0), 0));
    fails!(program, INVALID_VALUE, cuMemCreate(&mut handle, UNIT, &props(device(0), 16), 0));
    fails!(program, NOT_SUPPORTED, cuMemCreate(&mut handle, UNIT, &props(device(0), CU_MEM_HANDLE_TYPE_FABRIC), 0));
    fails!(program, INVALID_VALUE, cuMemCreate(&mut handle, UNIT, &CUmemAllocationProp { kind: 0, ..good }, 0));
    let managed = CUmemAllocationProp { kind: CU_MEM_ALLOCATION_TYPE_MANAGED, ..good };
    fails!(program, NOT_SUPPORTED, cuMemCreate(&mut handle, UNIT, &managed, 0));
    fails!(program, NOT_SUPPORTED, cuMemCreate(&mut handle, UNIT, &CUmemAllocationProp { usage: 1, ..good }, 0));
    let (address, handle) = (program.reserve(2 * UNIT), program.create(UNIT));
    fails!(program, INVALID_VALUE, cuMemMap(address + 4096, UNIT, 0, handle, 0));
    fails!(program, INVALID_VALUE, cuMemMap(address, UNIT, UNIT, handle, 0));
    fails!(program, INVALID_VALUE, cuMemMap(address, 2 * UNIT, 0, handle, 0));
    fails!(program, INVALID_VALUE, cuMemMap(address, 0, 0, handle, 0));
    fails!(program, INVALID_VALUE, cuMemMap(address, UNIT, 0, handle, 1));
    fails!(program, INVALID_VALUE, cuMemMap(address, UNIT, 0, 12345, 0));
    fails!(program, INVALID_VALUE, cuMemMap(address + 2 * UNIT as u64, UNIT, 0, handle, 0));
    fails!(program, INVALID_VALUE, cuMemMap(program.alloc(UNIT), UNIT, 0, handle, 0));
    program.map(address, UNIT, handle);
    fails!(program, INVALID_VALUE, cuMemMap(address, UNIT, 0, handle, 0));
    fails!(program, INVALID_VALUE, cuMemAddressFree(address, 2 * UNIT));
    fails!(program, INVALID_VALUE, cuMemUnmap(address, 2 * UNIT));
    fails!(program, INVALID_VALUE, cuMemUnmap(address, UNIT / 2));
    fails!(program, INVALID_VALUE, cuMemUnmap(address + UNIT as u64, UNIT));
    let access = CUmemAccessDesc { location: device(0), flags: WRITE };
    fails!(program, INVALID_VALUE, cuMemSetAccess(address, UNIT / 2, &access, 1));
    fails!(program, INVALID_VALUE, cuMemSetAccess(address, UNIT, &access, 0));
    fails!(program, INVALID_VALUE, cuMemSetAccess(address, UNIT, std::ptr::null(), 1));
    fails!(program, INVALID_VALUE, cuMemSetAccess(address, UNIT, &CUmemAccessDesc { flags: 2, ..access }, 1));
    let unknown = CUmemAccessDesc { location: device(9), flags: WRITE };
    fails!(program, INVALID_DEVICE, cuMemSetAccess(address, UNIT, &unknown, 1));
    let host = CUmemLocation { kind: CU_MEM_LOCATION_TYPE_HOST_NUMA, id: 0 };
    let of_host = CUmemAccessDesc { location: host, flags: WRITE };
    fails!(program, INVALID_VALUE, cuMemSetAccess(address, UNIT, &of_host, 1));
    ok!(program, cuMemUnmap(address, UNIT));
    fails!(program, INVALID_VALUE, cuMemAddressFree(address, UNIT));
    fails!(program, INVALID_VALUE, cuMemAddressFree(address + UNIT as u64, UNIT));
    ok!(program, cuMemAddressFree(address, 2 * UNIT));
    assert_eq!(program.statistic("cuMemAddressFree"), 4);
}

#[test]
fn alignment_and_hint_are_kept() {
    let program = Program::new();
    let mut address = 0;
    for alignment in [1, 4096, UNIT, 64 * UNIT] {
        ok!(program, cuMemAddressReserve(&mut address, UNIT, alignment, 0, 0));
        assert!(address.is_multiple_of(UNIT.max(alignment) as u64));
    }
    ok!(program, cuMemAddressFree(address, UNIT));
    let mut again = 0;
    ok!(program, cuMemAddressReserve(&mut again, UNIT, 0, address, 0));
    assert_eq!(again, address);
}

#[test]
fn properties_and_access_are_returned_as_set() {
    let program = Program::with(Config { devices: 2, ..Config::default() });
    let mut handle = 0;
    let wanted = CUmemAllocationProp { gpuDirectRDMACapable: 1, ..props(device(1), FILE) };
    ok!(program, cuMemCreate(&mut handle, UNIT, &wanted, 0));
    let mut got = props(device(7), 0);
    ok!(program, cuMemGetAllocationPropertiesFromHandle(&mut got, handle));
    assert_eq!((got.kind, got.requestedHandleTypes, got.gpuDirectRDMACapable), (1, FILE, 1));
    assert_eq!((got.location.kind, got.location.id), (CU_MEM_LOCATION_TYPE_DEVICE, 1));
    let address = program.reserve(UNIT);
    program.map(address, UNIT, handle);
    let access = |id| {
        let mut flags = 9;
        ok!(program, cuMemGetAccess(&mut flags, &device(id), address + 77));
        flags
    };
    assert_eq!((access(0), access(1)), (0, 0));
    let both = [(0, READ), (1, WRITE)].map(|(id, flags)| CUmemAccessDesc { location: device(id), flags });
    ok!(program, cuMemSetAccess(address, UNIT, both.as_ptr(), 2));
    assert_eq!((access(0), access(1)), (1, 3));
    fails!(program, INVALID_DEVICE, cuMemGetAccess(&mut 0, &device(2), address));
    fails!(program, INVALID_VALUE, cuMemGetAccess(&mut 0, &device(0), address - 1));
    fails!(program, INVALID_VALUE, cuMemGetAccess(std::ptr::null_mut(), &device(0), address));
    fails!(program, INVALID_VALUE, cuMemGetAccess(&mut 0, std::ptr::null(), address));
    ok!(program, cuMemUnmap(address, UNIT));
    program.map(address, UNIT, handle);
    assert_eq!((access(0), access(1)), (0, 0), "a mapping starts without access");
}

#[test]
fn kernel_without_access_fails_and_is_a_finding() {
    for (flags, name, allowed) in [
        (0, c"get", false),
        (0, c"put", false),
        (READ, c"get", true),
        (READ, c"put", false),
        (WRITE, c"get", true),
        (WRITE, c"put", true),
    ] {
        let program = Program::new();
        let (address, _) = program.mapped(UNIT);
        ok!(program, cuMemsetD8_v2(address, 1, 4));
        program.open(address, UNIT, flags);
        let expected = if allowed { CUresult::CUDA_SUCCESS } else { ILLEGAL };
        assert_eq!(run(&program, name, address), expected, "{flags} {name:?}");
        if !allowed {
            let (finding, text) = only(&program);
            assert_eq!(finding.kind, Kind::OutOfBounds);
            assert!(text.contains("give device 0 access to the mapped memory with cuMemSetAccess"), "{text}");
        }
    }
}

#[test]
fn access_of_each_device_is_its_own() {
    let program = Program::with(Config { devices: 2, ..Config::default() });
    let (address, _) = program.mapped(UNIT);
    ok!(program, cuMemsetD8_v2(address, 1, 4));
    ok!(program, cuCtxSynchronize());
    let second = program.primary(1);
    ok!(program, cuCtxSetCurrent(second));
    assert_eq!(program.attribute(address, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS), 0);
    // A copy between devices is staged by the device of the memory.
    ok!(program, cuMemcpyDtoD_v2(program.alloc(4), address, 4));
    assert_eq!(run(&program, c"get", address), ILLEGAL);
}

#[test]
fn copy_without_access_is_refused_and_a_finding() {
    for (flags, write) in [(0, false), (0, true), (READ, true)] {
        let program = Program::new();
        let (address, _) = program.mapped(UNIT);
        program.open(address, UNIT, flags);
        let mut byte = 0_u8;
        match write {
            true => fails!(program, INVALID_VALUE, cuMemsetD8_v2(address, 1, 4)),
            false => fails!(program, INVALID_VALUE, cuMemcpyDtoH_v2((&raw mut byte).cast(), address, 1)),
        }
        let (finding, text) = only(&program);
        assert_eq!(finding.kind, Kind::OutOfBounds);
        assert!(text.contains("cuMemSetAccess"), "{text}");
        assert_eq!(finding.allocation.unwrap().kind, "mapped");
    }
}

#[test]
fn reserved_address_without_memory_is_a_finding() {
    let program = Program::new();
    let address = program.reserve(UNIT);
    fails!(program, INVALID_VALUE, cuMemsetD8_v2(address, 1, 4));
    fails!(program, INVALID_VALUE, cuMemcpy(program.alloc(4), address, 4));
    let text = program.sim.report().text(false);
    assert!(text.contains("the address is only reserved: map memory there with cuMemMap"), "{text}");
    assert_eq!(program.findings().len(), 2);
    let program = Program::new();
    assert_eq!(run(&program, c"get", program.reserve(UNIT)), ILLEGAL);
    let (_, text) = only(&program);
    assert!(text.contains("the address is only reserved"), "{text}");
}

#[test]
fn use_after_unmap_is_a_finding() {
    let program = Program::new();
    let (address, handle) = program.mapped(UNIT);
    ok!(program, cuMemUnmap(address, UNIT));
    fails!(program, INVALID_VALUE, cuMemsetD8_v2(address + 100, 1, 4));
    let (finding, _) = only(&program);
    assert_eq!((finding.kind, finding.sides[0].call), (Kind::UseAfterFree, "cuMemUnmap"));
    assert_eq!(run(&program, c"put", address), ILLEGAL);
    assert_eq!(program.findings().len(), 2);
    fails!(program, INVALID_VALUE, cuMemUnmap(address, UNIT));
    assert_eq!(program.findings().last().unwrap().kind, Kind::UseAfterFree);
    let _ = handle;
}

#[test]
fn unmapping_runs_the_pending_work_and_is_a_finding_without_a_wait() {
    for waits in [false, true] {
        let program = Program::new();
        let (address, handle) = program.mapped(UNIT);
        let stream = program.stream(CU_STREAM_NON_BLOCKING);
        program.fill(address, 6, UNIT, stream);
        if waits {
            ok!(program, cuStreamSynchronize(stream));
        }
        ok!(program, cuMemUnmap(address, UNIT));
        let kinds: Vec<Kind> = program.findings().iter().map(|finding| finding.kind).collect();
        assert_eq!(kinds, if waits { vec![] } else { vec![Kind::FreeBeforePendingWork] });
        program.map(address, UNIT, handle);
        program.open(address, UNIT, READ);
        assert_eq!(bytes(&program, address, 1), [6]);
    }
}

#[test]
fn access_is_taken_away_after_the_pending_work() {
    let program = Program::new();
    let (address, _) = program.mapped(UNIT);
    launch(&program, c"put", address, program.stream(CU_STREAM_NON_BLOCKING));
    program.open(address, UNIT, 0);
    ok!(program, cuCtxSynchronize());
    program.open(address, UNIT, READ);
    assert_eq!(bytes(&program, address, 4), [7, 0, 0, 0]);
}

#[test]
fn kernel_before_its_mapping_is_a_finding() {
    let program = Program::new();
    let (address, handle) = (program.reserve(UNIT), program.create(UNIT));
    launch(&program, c"put", address, CUstream::NULL);
    program.map(address, UNIT, handle);
    program.open(address, UNIT, WRITE);
    call!(program, cuCtxSynchronize());
    let (finding, _) = only(&program);
    assert_eq!((finding.kind, finding.sides[0].call), (Kind::UseBeforeAllocation, "cuMemMap"));
}

/// Memory that is mapped twice.
fn twice(program: &Program) -> [CUdeviceptr; 2] {
    let (address, handle) = program.mapped(UNIT);
    let other = program.reserve(UNIT);
    program.map(other, UNIT, handle);
    program.open(other, UNIT, WRITE);
    [address, other]
}

#[test]
fn two_mappings_have_the_same_bytes() {
    let program = Program::new();
    let [address, other] = twice(&program);
    ok!(program, cuMemsetD8_v2(address, 5, 8));
    assert_eq!(bytes(&program, other, 8), [5; 8]);
    assert_eq!(run(&program, c"put", other + 4), CUresult::CUDA_SUCCESS);
    assert_eq!(bytes(&program, address + 4, 4), [7, 0, 0, 0]);
    ok!(program, cuMemUnmap(address, UNIT));
    assert_eq!(bytes(&program, other + 4, 4), [7, 0, 0, 0]);
    clean(&program);
}

#[test]
fn unordered_accesses_through_two_mappings_are_a_race() {
    let streams = |program: &Program| [0, 1].map(|_| program.stream(CU_STREAM_NON_BLOCKING));
    let program = Program::new();
    let ([address, other], [first, second]) = (twice(&program), streams(&program));
    program.fill(address, 1, 64, first);
    program.fill(other + 32, 2, 64, second);
    let (finding, _) = only(&program);
    assert_eq!(
        (finding.kind, finding.bytes.unwrap().address, finding.bytes.unwrap().length),
        (Kind::DataRace, other + 32, 32)
    );
    let program = Program::new();
    let ([address, other], [first, second]) = (twice(&program), streams(&program));
    launch(&program, c"put", address, first);
    launch(&program, c"get", other, second);
    ok!(program, cuCtxSynchronize());
    assert_eq!(only(&program).0.kind, Kind::DataRace);
    let program = Program::new();
    let ([address, other], [first, second]) = (twice(&program), streams(&program));
    program.fill(address, 1, 64, first);
    program.fill(other + 64, 2, 64, second);
    program.fill(other, 2, 32, first);
    clean(&program);
}

#[test]
fn later_mapping_takes_over_the_pending_accesses() {
    let program = Program::new();
    let (address, handle) = program.mapped(UNIT);
    let [first, second] = [0, 1].map(|_| program.stream(CU_STREAM_NON_BLOCKING));
    program.fill(address, 1, 64, first);
    let other = program.reserve(UNIT);
    program.map(other, UNIT, handle);
    program.open(other, UNIT, WRITE);
    program.fill(other, 2, 64, second);
    assert_eq!(only(&program).0.kind, Kind::DataRace);
}

#[test]
fn unmapping_one_of_two_mappings_concerns_only_its_own_accesses() {
    let program = Program::new();
    let [address, other] = twice(&program);
    let stream = program.stream(CU_STREAM_NON_BLOCKING);
    program.fill(other, 1, 64, stream);
    ok!(program, cuMemUnmap(address, UNIT));
    clean(&program);
    ok!(program, cuMemUnmap(other, UNIT));
    assert_eq!(only(&program).0.kind, Kind::FreeBeforePendingWork);
}

#[test]
fn fresh_physical_memory_is_unwritten() {
    let program = Program::new();
    let [address, other] = twice(&program);
    ok!(program, cuMemsetD8_v2(other, 5, 8));
    assert_eq!(bytes(&program, address, 8), [5; 8]);
    clean(&program);
    bytes(&program, address + 8, 8);
    assert_eq!(only(&program).0.kind, Kind::UninitializedRead);
}

#[test]
fn released_handle_is_refused_and_a_finding() {
    let program = Program::new();
    let (address, handle) = program.mapped(UNIT);
    ok!(program, cuMemRelease(handle));
    fails!(program, INVALID_VALUE, cuMemRelease(handle));
    fails!(program, INVALID_VALUE, cuMemMap(program.reserve(UNIT), UNIT, 0, handle, 0));
    let mut file = 0_i32;
    fails!(program, INVALID_VALUE, cuMemExportToShareableHandle((&raw mut file).cast(), handle, FILE, 0));
    fails!(program, INVALID_VALUE, cuMemGetAllocationPropertiesFromHandle(&mut props(device(0), 0), handle));
    assert_eq!(program.findings()[0].kind, Kind::DestroyedHandle);
    assert_eq!(program.findings()[0].object.as_ref().unwrap().kind, "memory handle");
    ok!(program, cuMemUnmap(address, UNIT));
    ok!(program, cuMemAddressFree(address, UNIT));
    fails!(program, INVALID_VALUE, cuMemAddressFree(address, UNIT));
    assert_eq!(program.findings().last().unwrap().object.as_ref().unwrap().kind, "address reservation");
}

#[test]
fn reservations_handles_and_mappings_leak() {
    let program = Program::new();
    let (address, handle) = program.mapped(UNIT);
    program.reserve(UNIT);
    let leaks = || {
        let findings = program.sim.report_with_leaks().findings;
        let name = |finding: &Finding| finding.object.as_ref().map_or("memory", |object| object.kind);
        findings.iter().map(name).collect::<Vec<_>>()
    };
    // Objects of one site are one finding.
    assert_eq!(leaks(), ["memory", "memory handle", "address reservation"]);
    ok!(program, cuMemRelease(handle));
    assert_eq!(leaks(), ["memory", "address reservation"]);
    ok!(program, cuMemUnmap(address, UNIT));
    assert_eq!(leaks(), ["address reservation"]);
}

#[test]
fn graph_uses_mapped_memory_and_refuses_it_after_unmapping() {
    let program = Program::new();
    let (address, handle) = program.mapped(UNIT);
    let stream = program.stream(CU_STREAM_NON_BLOCKING);
    let (mut graph, mut exec) = (CUgraph::NULL, CUgraphExec::NULL);
    ok!(program, cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    program.fill(address, 8, UNIT, stream);
    ok!(program, cuStreamEndCapture(stream, &mut graph));
    ok!(program, cuGraphInstantiateWithFlags(&mut exec, graph, 0));
    ok!(program, cuGraphLaunch(exec, stream));
    ok!(program, cuStreamSynchronize(stream));
    assert_eq!(bytes(&program, address + 9, 1), [8]);
    clean(&program);
    ok!(program, cuMemUnmap(address, UNIT));
    fails!(program, INVALID_VALUE, cuGraphLaunch(exec, stream));
    let kinds = || program.findings().iter().map(|finding| finding.kind).collect::<Vec<Kind>>();
    assert_eq!(kinds(), [Kind::UseAfterFree]);
    program.map(address, UNIT, handle);
    program.open(address, UNIT, WRITE);
    ok!(program, cuMemsetD8_v2(address, 1, UNIT));
    ok!(program, cuCtxSynchronize());
    ok!(program, cuGraphLaunch(exec, stream));
    ok!(program, cuStreamSynchronize(stream));
    assert_eq!(bytes(&program, address, 1), [8]);
    assert_eq!(kinds(), [Kind::UseAfterFree]);
}

#[test]
fn host_memory_is_accessible_to_the_host_where_it_has_access() {
    for kind in [CU_MEM_LOCATION_TYPE_HOST, CU_MEM_LOCATION_TYPE_HOST_NUMA] {
        let program = Program::new();
        let location = CUmemLocation { kind, id: 0 };
        let (mut handle, address) = (0, program.reserve(UNIT));
        ok!(program, cuMemCreate(&mut handle, UNIT, &props(location, 0), 0));
        program.map(address, UNIT, handle);
        let both = [location, device(0)].map(|location| CUmemAccessDesc { location, flags: WRITE });
        ok!(program, cuMemSetAccess(address, UNIT, both.as_ptr(), 2));
        write((address + 3) as *mut u8, 9);
        assert_eq!(bytes(&program, address + 3, 1), [9]);
        assert_eq!(run(&program, c"put", address + 4), CUresult::CUDA_SUCCESS);
        assert_eq!(read((address + 4) as *const u8), 7);
        assert_eq!(program.attribute(address, CU_POINTER_ATTRIBUTE_MEMORY_TYPE), u64::from(CU_MEMORYTYPE_HOST));
        assert_eq!(program.attribute(address, CU_POINTER_ATTRIBUTE_HOST_POINTER), address);
        let mut flags = 9;
        ok!(program, cuMemGetAccess(&mut flags, &location, address));
        assert_eq!(flags, 3);
        clean(&program);
    }
    let program = Program::new();
    let host = |kind, id| CUmemLocation { kind, id };
    let exported = props(host(CU_MEM_LOCATION_TYPE_HOST, 0), FILE);
    fails!(program, INVALID_VALUE, cuMemCreate(&mut 0, UNIT, &exported, 0));
    let other = props(host(CU_MEM_LOCATION_TYPE_HOST_NUMA, 1), 0);
    fails!(program, INVALID_VALUE, cuMemCreate(&mut 0, UNIT, &other, 0));
    let current = props(host(CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT, 0), 0);
    fails!(program, INVALID_VALUE, cuMemCreate(&mut 0, UNIT, &current, 0));
}

fn exported(program: &Program, handle: CUmemGenericAllocationHandle) -> i32 {
    let mut file = -1;
    ok!(program, cuMemExportToShareableHandle((&raw mut file).cast(), handle, FILE, 0));
    file
}

fn imported(program: &Program, file: i32) -> CUmemGenericAllocationHandle {
    let mut handle = 0;
    ok!(program, cuMemImportFromShareableHandle(&mut handle, file as usize as *mut c_void, FILE));
    handle
}

fn close(file: i32) {
    // SAFETY: the test owns the descriptor.
    assert_eq!(unsafe { libc::close(file) }, 0);
}

#[test]
fn exported_memory_is_the_same_in_another_process() {
    let exporter = Program::new();
    let (address, handle) = exporter.mapped(UNIT);
    ok!(exporter, cuMemsetD8_v2(address, 5, UNIT));
    ok!(exporter, cuCtxSynchronize());
    let file = exported(&exporter, handle);
    // Each driver of a test counts as a process.
    std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            let importer = Program::with(Config { memory: UNIT as u64 / 2, ..Config::default() });
            let handle = imported(&importer, file);
            close(file);
            let mut got = props(device(7), 0);
            ok!(importer, cuMemGetAllocationPropertiesFromHandle(&mut got, handle));
            assert_eq!((got.location.id, got.requestedHandleTypes), (0, FILE));
            let there = importer.reserve(UNIT);
            importer.map(there, UNIT, handle);
            ok!(importer, cuMemRelease(handle));
            importer.open(there, UNIT, WRITE);
            assert_eq!(bytes(&importer, there, 3), [5; 3]);
            ok!(importer, cuMemsetD8_v2(there, 6, 1));
            ok!(importer, cuCtxSynchronize());
            clean(&importer);
        });
        other.join().unwrap();
    });
    assert_eq!(bytes(&exporter, address, 2), [6, 5]);
    clean(&exporter);
}

#[test]
fn import_into_the_exporting_process_keeps_the_handle() {
    let program = Program::new();
    let handle = program.create(UNIT);
    let file = exported(&program, handle);
    assert_eq!(imported(&program, file), handle);
    close(file);
    ok!(program, cuMemRelease(handle));
    ok!(program, cuMemRelease(handle));
    fails!(program, INVALID_VALUE, cuMemRelease(handle));
}

#[test]
fn wrong_exports_and_imports_are_refused() {
    let program = Program::new();
    let mut closed = 0;
    ok!(program, cuMemCreate(&mut closed, UNIT, &props(device(0), 0), 0));
    let mut file = -1_i32;
    let place = (&raw mut file).cast::<c_void>();
    fails!(program, INVALID_VALUE, cuMemExportToShareableHandle(place, closed, FILE, 0));
    let handle = program.create(UNIT);
    fails!(program, INVALID_VALUE, cuMemExportToShareableHandle(place, handle, FILE, 1));
    fails!(program, INVALID_VALUE, cuMemExportToShareableHandle(place, handle, CU_MEM_HANDLE_TYPE_FABRIC, 0));
    fails!(program, INVALID_VALUE, cuMemExportToShareableHandle(std::ptr::null_mut(), handle, FILE, 0));
    let mut new = 0;
    let number = |number: usize| number as *mut c_void;
    fails!(program, INVALID_VALUE, cuMemImportFromShareableHandle(&mut new, number(0), FILE));
    fails!(program, INVALID_VALUE, cuMemImportFromShareableHandle(&mut new, number(1 << 20), FILE));
    fails!(program, INVALID_VALUE, cuMemImportFromShareableHandle(&mut new, number(usize::MAX), FILE));
    fails!(program, NOT_SUPPORTED, cuMemImportFromShareableHandle(&mut new, number(0), CU_MEM_HANDLE_TYPE_FABRIC));
    fails!(program, INVALID_VALUE, cuMemImportFromShareableHandle(&mut new, number(0), 0));
    fails!(program, INVALID_VALUE, cuMemImportFromShareableHandle(std::ptr::null_mut(), number(0), FILE));
}

#[test]
fn calls_need_no_context() {
    let program = Program::new();
    ok!(program, cuCtxSetCurrent(CUcontext::NULL));
    let (address, handle) = program.mapped(UNIT);
    ok!(program, cuMemUnmap(address, UNIT));
    ok!(program, cuMemRelease(handle));
    ok!(program, cuMemAddressFree(address, UNIT));
}
