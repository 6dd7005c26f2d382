//! Addresses that are no memory: calls return an error, and the program goes on.

use crate::program::*;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Addresses that no program has: null, small, outside of the user's addresses, and the end of the address space.
const WILD: [u64; 7] = [0, 8, 0xdead_beef, 0x7fff_ffff_f000, 1 << 48, 1 << 63, u64::MAX - 3];

fn host(address: u64) -> *mut c_void {
    std::ptr::with_exposed_provenance_mut(address as usize)
}

#[test]
fn copy_from_or_to_a_wild_host_address_is_refused() {
    let program = Program::new();
    let (device, stream) = (program.alloc(64), program.stream(0));
    for wild in WILD {
        fails!(program, INVALID_VALUE, cuMemcpyHtoD_v2(device, host(wild), 4));
        fails!(program, INVALID_VALUE, cuMemcpyDtoH_v2(host(wild), device, 4));
        fails!(program, INVALID_VALUE, cuMemcpy(wild, device, 4));
        fails!(program, INVALID_VALUE, cuMemcpy(device, wild, 4));
        fails!(program, INVALID_VALUE, cuMemcpyAsync(wild, device, 4, stream));
        fails!(program, INVALID_VALUE, cuMemcpyAsync(device, wild, 4, stream));
        fails!(program, INVALID_VALUE, cuMemcpyHtoDAsync_v2(device, host(wild), 4, stream));
        fails!(program, INVALID_VALUE, cuMemcpyDtoHAsync_v2(host(wild), device, 4, stream));
        fails!(program, INVALID_VALUE, cuMemcpyDtoD_v2(wild, device, 4));
    }
    ok!(program, cuStreamSynchronize(stream));
}

#[test]
fn fill_of_a_wild_address_is_refused() {
    let program = Program::new();
    let stream = program.stream(0);
    for wild in WILD {
        fails!(program, INVALID_VALUE, cuMemsetD8_v2(wild, 1, 4));
        fails!(program, INVALID_VALUE, cuMemsetD16_v2(wild, 1, 4));
        fails!(program, INVALID_VALUE, cuMemsetD32Async(wild, 1, 4, stream));
        fails!(program, INVALID_VALUE, cuMemsetD2D8_v2(wild, 8, 1, 4, 4));
    }
}

#[test]
fn box_copy_with_a_wild_host_address_is_refused() {
    let program = Program::new();
    let device = program.alloc(4096);
    for wild in WILD {
        // SAFETY: all-zero is a valid descriptor.
        let mut copy: CUDA_MEMCPY2D = unsafe { std::mem::zeroed() };
        (copy.srcMemoryType, copy.srcHost, copy.srcPitch) = (CU_MEMORYTYPE_HOST, host(wild), 16);
        (copy.dstMemoryType, copy.dstDevice, copy.dstPitch) = (CU_MEMORYTYPE_DEVICE, device, 16);
        (copy.WidthInBytes, copy.Height) = (8, 4);
        fails!(program, INVALID_VALUE, cuMemcpy2D_v2(&copy));
        fails!(program, INVALID_VALUE, cuMemcpy2DAsync_v2(&copy, CUstream::NULL));
    }
}

#[test]
fn host_range_with_an_unmapped_page_is_refused() {
    let program = Program::new();
    let (page, pages) = (1_usize << 16, 64);
    let device = program.alloc(page * pages);
    // SAFETY: a new mapping; the unmapped page lies in it.
    let start = unsafe {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let start = libc::mmap(std::ptr::null_mut(), page * pages, access, flags, -1, 0);
        assert_ne!(start, libc::MAP_FAILED);
        assert_eq!(libc::munmap(start.byte_add(40 * page), page), 0);
        start
    };
    ok!(program, cuMemcpyHtoD_v2(device, start, 40 * page));
    fails!(program, INVALID_VALUE, cuMemcpyHtoD_v2(device, start, 41 * page));
    fails!(program, INVALID_VALUE, cuMemcpyHtoD_v2(device, start, pages * page));
    fails!(program, INVALID_VALUE, cuMemcpyDtoH_v2(start.wrapping_byte_add(39 * page), device, page + 1));
}

#[test]
fn node_with_a_wild_host_address_is_refused() {
    let program = Program::new();
    let (device, mut graph, mut node) = (program.alloc(64), CUgraph::NULL, CUgraphNode::NULL);
    ok!(program, cuGraphCreate(&mut graph, 0));
    // SAFETY: all-zero is a valid descriptor.
    let mut copy: CUDA_MEMCPY3D = unsafe { std::mem::zeroed() };
    (copy.srcMemoryType, copy.srcHost) = (CU_MEMORYTYPE_HOST, host(0xdead_beef));
    (copy.dstMemoryType, copy.dstDevice) = (CU_MEMORYTYPE_DEVICE, device);
    (copy.WidthInBytes, copy.Height, copy.Depth) = (8, 1, 1);
    let none = std::ptr::null();
    fails!(program, INVALID_VALUE, cuGraphAddMemcpyNode(&mut node, graph, none, 0, &copy, program.context));
}

/// A mapping that is unmapped or protected by the tests.
struct Mapping(*mut c_void, usize);

impl Mapping {
    fn new(size: usize) -> Mapping {
        // The kernel chooses no such address itself, so no other thread gets this memory's address after its end.
        static NEXT: AtomicUsize = AtomicUsize::new(0x2000_0000_0000);
        let place = std::ptr::without_provenance_mut(NEXT.fetch_add(1 << 32, Ordering::Relaxed));
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
        // SAFETY: a new mapping, which replaces no other.
        let start = unsafe { libc::mmap(place, size, access, flags, -1, 0) };
        assert_ne!(start, libc::MAP_FAILED);
        Mapping(start, size)
    }

    fn protect(&self, access: libc::c_int) {
        // SAFETY: this test owns the mapping.
        assert_eq!(unsafe { libc::mprotect(self.0, self.1, access) }, 0);
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this test owns the mapping.
        unsafe { libc::munmap(self.0, self.1) };
    }
}

#[test]
fn read_only_host_target_is_refused() {
    let program = Program::new();
    let (device, stream) = (program.alloc(1 << 20), program.stream(0));
    for size in [4, 1 << 16, 1 << 20] {
        let memory = Mapping::new(size);
        memory.protect(libc::PROT_READ);
        let host = memory.0;
        ok!(program, cuMemcpyHtoD_v2(device, host, size));
        fails!(program, INVALID_VALUE, cuMemcpyDtoH_v2(host, device, size));
        fails!(program, INVALID_VALUE, cuMemcpy(host as u64, device, size));
        fails!(program, INVALID_VALUE, cuMemcpyAsync(host as u64, device, size, stream));
        fails!(program, INVALID_VALUE, cuMemcpyDtoHAsync_v2(host, device, size, stream));
        // SAFETY: all-zero is a valid descriptor.
        let mut copy: CUDA_MEMCPY2D = unsafe { std::mem::zeroed() };
        (copy.srcMemoryType, copy.srcDevice) = (CU_MEMORYTYPE_DEVICE, device);
        (copy.dstMemoryType, copy.dstHost) = (CU_MEMORYTYPE_HOST, host);
        (copy.WidthInBytes, copy.Height) = (size / 4, 4);
        fails!(program, INVALID_VALUE, cuMemcpy2D_v2(&copy));
        fails!(program, INVALID_VALUE, cuMemcpy2DAsync_v2(&copy, stream));
        memory.protect(libc::PROT_READ | libc::PROT_WRITE);
        ok!(program, cuMemcpy2D_v2(&copy));
        ok!(program, cuMemcpyDtoHAsync_v2(host, device, size, stream));
    }
    // SAFETY: all-zero is a valid descriptor.
    let mut copy: CUDA_MEMCPY3D = unsafe { std::mem::zeroed() };
    (copy.srcMemoryType, copy.srcDevice) = (CU_MEMORYTYPE_DEVICE, device);
    static CONSTANT: [u64; 8] = [7; 8];
    (copy.dstMemoryType, copy.dstHost) = (CU_MEMORYTYPE_HOST, CONSTANT.as_ptr().cast_mut().cast());
    (copy.WidthInBytes, copy.Height, copy.Depth) = (4, 2, 2);
    fails!(program, INVALID_VALUE, cuMemcpy3D_v2(&copy));
    fails!(program, INVALID_VALUE, cuMemcpy3DAsync_v2(&copy, stream));
    let (mut graph, mut node) = (CUgraph::NULL, CUgraphNode::NULL);
    ok!(program, cuGraphCreate(&mut graph, 0));
    let none = std::ptr::null();
    fails!(program, INVALID_VALUE, cuGraphAddMemcpyNode(&mut node, graph, none, 0, &copy, program.context));
    ok!(program, cuStreamSynchronize(stream));
}

/// A graph with one copy between a device and pageable memory, instantiated.
fn graph_of_copy(program: &Program, copy: &CUDA_MEMCPY3D) -> CUgraphExec {
    let (mut graph, mut node, mut exec) = (CUgraph::NULL, CUgraphNode::NULL, CUgraphExec::NULL);
    ok!(program, cuGraphCreate(&mut graph, 0));
    ok!(program, cuGraphAddMemcpyNode(&mut node, graph, std::ptr::null(), 0, copy, program.context));
    ok!(program, cuGraphInstantiateWithFlags(&mut exec, graph, 0));
    exec
}

#[test]
fn memory_unmapped_before_a_graph_launch_is_refused() {
    let program = Program::new();
    let (device, memory) = (program.alloc(64), Mapping::new(1 << 16));
    let exec = graph_of_copy(&program, &upload(memory.0, device));
    ok!(program, cuGraphLaunch(exec, CUstream::NULL));
    ok!(program, cuCtxSynchronize());
    drop(memory);
    fails!(program, INVALID_VALUE, cuGraphLaunch(exec, CUstream::NULL));
    ok!(program, cuCtxSynchronize());
}

fn upload(host: *mut c_void, device: CUdeviceptr) -> CUDA_MEMCPY3D {
    // SAFETY: all-zero is a valid descriptor.
    let mut copy: CUDA_MEMCPY3D = unsafe { std::mem::zeroed() };
    (copy.srcMemoryType, copy.srcHost) = (CU_MEMORYTYPE_HOST, host);
    (copy.dstMemoryType, copy.dstDevice) = (CU_MEMORYTYPE_DEVICE, device);
    (copy.WidthInBytes, copy.Height, copy.Depth) = (8, 2, 2);
    copy
}

#[test]
fn memory_unmapped_while_a_graph_is_pending_fails_the_context() {
    let program = Program::new();
    let (device, memory) = (program.alloc(64), Mapping::new(1 << 16));
    let exec = graph_of_copy(&program, &upload(memory.0, device));
    ok!(program, cuGraphLaunch(exec, CUstream::NULL));
    drop(memory);
    fails!(program, ILLEGAL_ADDRESS, cuCtxSynchronize());
}

#[test]
fn memory_protected_while_a_graph_is_pending_fails_the_context() {
    let program = Program::new();
    let (device, memory) = (program.alloc(64), Mapping::new(1 << 16));
    let mut copy = upload(memory.0, device);
    (copy.srcMemoryType, copy.dstMemoryType) = (copy.dstMemoryType, copy.srcMemoryType);
    (copy.srcDevice, copy.dstHost) = (copy.dstDevice, copy.srcHost.cast_mut());
    let exec = graph_of_copy(&program, &copy);
    ok!(program, cuGraphLaunch(exec, CUstream::NULL));
    memory.protect(libc::PROT_READ);
    fails!(program, ILLEGAL_ADDRESS, cuCtxSynchronize());
}

#[test]
fn registered_memory_unmapped_while_a_copy_is_pending_fails_the_context() {
    let program = Program::new();
    let (device, memory) = (program.alloc(64), Mapping::new(1 << 16));
    ok!(program, cuMemHostRegister_v2(memory.0, 1 << 16, 0));
    ok!(program, cuMemcpyHtoDAsync_v2(device, memory.0, 64, CUstream::NULL));
    drop(memory);
    fails!(program, ILLEGAL_ADDRESS, cuCtxSynchronize());
}
