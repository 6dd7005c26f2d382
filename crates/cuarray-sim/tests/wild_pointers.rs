//! Addresses that are no memory: calls return an error, and the program goes on.

#[macro_use]
mod program;
use program::*;

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
