//! Memory of every kind: addresses, accounting, refused calls, and pointer attributes.

use crate::program::*;

/// A pointer attribute of 64 bits.
fn attribute(program: &Program, address: CUdeviceptr, attribute: u32) -> u64 {
    let mut value = 0_u64;
    ok!(program, cuPointerGetAttribute((&raw mut value).cast(), attribute, address));
    value
}

#[test]
fn device_memory_is_aligned_and_unreadable_for_the_host() {
    let program = Program::new();
    let device = program.alloc(100);
    assert!(device.is_multiple_of(512));
    // `write` reports an unreadable buffer, where a plain read would fault.
    let mut pipe = [0; 2];
    // SAFETY: the pipe belongs to this test; `write` reports an unreadable buffer instead of faulting.
    let written = unsafe {
        assert_eq!(libc::pipe(pipe.as_mut_ptr()), 0);
        libc::write(pipe[1], device as *const c_void, 1)
    };
    assert_eq!(written, -1);
    assert_eq!(std::io::Error::last_os_error().raw_os_error(), Some(libc::EFAULT));
}

#[test]
fn host_readable_device_memory_holds_the_same_bytes() {
    let program = Program::with(Config { host_readable: true, ..Config::default() });
    let device = program.alloc(4);
    write(device as *mut u8, 9);
    assert_eq!(program.peek(device), 9);
    program.fill(device, 5, 4, CUstream::NULL);
    ok!(program, cuCtxSynchronize());
    assert_eq!(read(device as *const u8), 5);
}

#[test]
fn fresh_memory_is_not_zero() {
    let program = Program::new();
    assert_eq!(program.peek(program.alloc(1)), 0xff);
}

#[test]
fn freed_address_is_unknown_and_reused_late() {
    let program = Program::new();
    let first = program.alloc(4096);
    ok!(program, cuMemFree_v2(first));
    fails!(program, INVALID_VALUE, cuMemFree_v2(first));
    fails!(program, INVALID_VALUE, cuMemsetD8_v2(first, 0, 1));
    let mut kind = 0_u32;
    let place = (&raw mut kind).cast();
    fails!(program, INVALID_VALUE, cuPointerGetAttribute(place, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, first));
    for _ in 0..100 {
        let next = program.alloc(4096);
        assert_ne!(next, first);
        ok!(program, cuMemFree_v2(next));
    }
    ok!(program, cuMemFree_v2(0));
}

#[test]
fn allocation_fails_when_memory_is_full_and_succeeds_after_a_free() {
    let program = Program::with(Config { memory: 1 << 20, ..Config::default() });
    let (mut free, mut total, mut address) = (0, 0, 0);
    ok!(program, cuMemGetInfo_v2(&mut free, &mut total));
    assert_eq!((free, total), (1 << 20, 1 << 20));
    fails!(program, OUT_OF_MEMORY, cuMemAlloc_v2(&mut address, (1 << 20) + 1));
    fails!(program, OUT_OF_MEMORY, cuMemAlloc_v2(&mut address, usize::MAX));
    fails!(program, INVALID_VALUE, cuMemAlloc_v2(&mut address, 0));
    fails!(program, INVALID_VALUE, cuMemAlloc_v2(std::ptr::null_mut(), 8));
    for _ in 0..100 {
        let all = program.alloc(1 << 20);
        fails!(program, OUT_OF_MEMORY, cuMemAlloc_v2(&mut address, 1));
        ok!(program, cuMemFree_v2(all));
    }
}

#[test]
fn free_runs_the_pending_work_first() {
    let program = Program::new();
    let (stream, device, host) = (program.stream(0), program.alloc(1), program.pinned(1));
    program.fill(device, 7, 1, stream);
    ok!(program, cuMemcpyDtoHAsync_v2(host.cast(), device, 1, stream));
    assert_eq!(read(host), 0);
    ok!(program, cuMemFree_v2(device));
    assert_eq!(read(host), 7);
}

#[test]
fn copies_and_fills_outside_their_allocation_are_refused() {
    let program = Program::new();
    let (device, other, pinned) = (program.alloc(16), program.alloc(16), program.pinned(16));
    let mut host = [0_u8; 64];
    let host = host.as_mut_ptr().cast::<c_void>();
    fails!(program, INVALID_VALUE, cuMemcpyHtoD_v2(device, host, 17));
    fails!(program, INVALID_VALUE, cuMemcpyHtoD_v2(device + 8, host, 9));
    fails!(program, INVALID_VALUE, cuMemcpyDtoH_v2(host, device + 16, 1));
    fails!(program, INVALID_VALUE, cuMemcpyDtoD_v2(device, other, usize::MAX));
    fails!(program, INVALID_VALUE, cuMemcpyDtoH_v2(host, 0, 1));
    fails!(program, INVALID_VALUE, cuMemcpyDtoH_v2(std::ptr::null_mut(), device, 1));
    fails!(program, INVALID_VALUE, cuMemcpyHtoD_v2(device, pinned.wrapping_add(8).cast(), 9));
    fails!(program, INVALID_VALUE, cuMemcpyHtoD_v2(device, other as *const c_void, 1));
    fails!(program, INVALID_VALUE, cuMemcpyHtoD_v2(host as u64, host, 1));
    fails!(program, INVALID_VALUE, cuMemsetD8_v2(device, 0, 17));
    fails!(program, INVALID_VALUE, cuMemsetD32_v2(device + 2, 0, 1));
    fails!(program, INVALID_VALUE, cuMemsetD32_v2(device, 0, 5));
    fails!(program, INVALID_VALUE, cuMemsetD16_v2(device, 0, usize::MAX));
    fails!(program, INVALID_VALUE, cuMemcpy(device, other + 20, 1));
    ok!(program, cuMemcpyHtoD_v2(device, host, 0));
    ok!(program, cuMemcpyHtoD_v2(device + 15, host, 1));
    assert_eq!(program.statistic("pending_operations"), 0);
}

#[test]
fn pointer_attributes_distinguish_the_kinds_of_memory() {
    let program = Program::new();
    let (device, pinned) = (program.alloc(64), program.pinned(64) as u64);
    let (mut managed, mut own) = (0, vec![0_u8; 64]);
    ok!(program, cuMemAllocManaged(&mut managed, 64, CU_MEM_ATTACH_GLOBAL));
    let registered = own.as_mut_ptr() as u64;
    ok!(program, cuMemHostRegister_v2(own.as_mut_ptr().cast(), 64, 0));
    for (address, kind, is_managed) in [(device, 2, 0), (pinned, 1, 0), (managed, 2, 1), (registered, 1, 0)] {
        let inside = address + 5;
        assert_eq!(attribute(&program, inside, CU_POINTER_ATTRIBUTE_MEMORY_TYPE), kind);
        assert_eq!(attribute(&program, inside, CU_POINTER_ATTRIBUTE_IS_MANAGED), is_managed);
        assert_eq!(attribute(&program, inside, CU_POINTER_ATTRIBUTE_DEVICE_POINTER), inside);
        assert_eq!(attribute(&program, inside, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR), address);
        assert_eq!(attribute(&program, inside, CU_POINTER_ATTRIBUTE_RANGE_SIZE), 64);
        assert_eq!(attribute(&program, inside, CU_POINTER_ATTRIBUTE_CONTEXT), program.context.0 as u64);
        assert_eq!(attribute(&program, inside, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL), 0);
        let mut host = 0_u64;
        let place = (&raw mut host).cast();
        let result = call!(program, cuPointerGetAttribute(place, CU_POINTER_ATTRIBUTE_HOST_POINTER, inside));
        if address == device {
            assert_eq!(result, CUresult::CUDA_ERROR_INVALID_VALUE);
        } else {
            assert_eq!((result, host), (CUresult::CUDA_SUCCESS, inside));
        }
    }
    let mut ids = [device, pinned, managed, registered].map(|a| attribute(&program, a, CU_POINTER_ATTRIBUTE_BUFFER_ID));
    ids.sort_unstable();
    assert!(ids.windows(2).all(|pair| pair[0] != pair[1]));
    ok!(program, cuMemHostUnregister(own.as_mut_ptr().cast()));
}

#[test]
fn unknown_address_fails_for_one_attribute_and_is_zero_for_several() {
    let program = Program::new();
    let local = 0_u64;
    let address = (&raw const local) as u64;
    let mut value = u64::MAX;
    fails!(
        program,
        INVALID_VALUE,
        cuPointerGetAttribute((&raw mut value).cast(), CU_POINTER_ATTRIBUTE_DEVICE_POINTER, address)
    );
    let (mut context, mut kind, mut ordinal, mut managed) = (u64::MAX, u32::MAX, 7_i32, 1_u8);
    let mut attributes = [
        CU_POINTER_ATTRIBUTE_CONTEXT,
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
        CU_POINTER_ATTRIBUTE_IS_MANAGED,
    ];
    let mut places: [*mut c_void; 4] =
        [(&raw mut context).cast(), (&raw mut kind).cast(), (&raw mut ordinal).cast(), (&raw mut managed).cast()];
    ok!(program, cuPointerGetAttributes(4, attributes.as_mut_ptr(), places.as_mut_ptr(), address));
    assert_eq!((context, kind, ordinal, managed), (0, 0, CU_DEVICE_INVALID, 0));
    let device = program.alloc(8);
    ok!(program, cuPointerGetAttributes(4, attributes.as_mut_ptr(), places.as_mut_ptr(), device));
    assert_eq!((context, kind, ordinal, managed), (program.context.0 as u64, CU_MEMORYTYPE_DEVICE, 0, 0));
    attributes[0] = 99;
    fails!(program, INVALID_VALUE, cuPointerGetAttributes(4, attributes.as_mut_ptr(), places.as_mut_ptr(), device));
}

#[test]
fn pinned_and_registered_memory_has_one_address_for_host_and_device() {
    let program = Program::new();
    let (pinned, mut own) = (program.pinned(8), vec![1_u8; 16]);
    let (mut address, mut flags) = (0, 0);
    ok!(program, cuMemHostGetDevicePointer_v2(&mut address, pinned.cast(), 0));
    assert_eq!(address, pinned as u64);
    ok!(program, cuMemHostGetFlags(&mut flags, pinned.cast()));
    assert_eq!(flags & CU_MEMHOSTALLOC_DEVICEMAP, CU_MEMHOSTALLOC_DEVICEMAP);
    let own = own.as_mut_ptr().cast::<c_void>();
    fails!(program, INVALID_VALUE, cuMemHostGetDevicePointer_v2(&mut address, own, 0));
    ok!(program, cuMemHostRegister_v2(own, 16, 0));
    fails!(program, HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister_v2(own.wrapping_byte_add(8), 16, 0));
    ok!(program, cuMemHostGetDevicePointer_v2(&mut address, own, 0));
    assert_eq!(address, own as u64);
    // The device accesses the memory directly.
    program.fill(address, 9, 16, CUstream::NULL);
    ok!(program, cuMemHostUnregister(own));
    assert_eq!(read(own.cast()), 9);
    fails!(program, HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(own));
    fails!(program, HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(pinned.cast()));
    fails!(program, INVALID_VALUE, cuMemFreeHost(own));
    ok!(program, cuMemFreeHost(pinned.cast()));
    fails!(program, INVALID_VALUE, cuMemHostRegister_v2(std::ptr::null_mut(), 1, 0));
}

#[test]
fn registered_memory_is_unregistered_at_its_first_byte_only() {
    let (program, mut own) = (Program::new(), vec![0_u8; 16]);
    let own = own.as_mut_ptr().cast::<c_void>();
    ok!(program, cuMemHostRegister_v2(own, 16, 0));
    for offset in [1, 15] {
        fails!(program, INVALID_VALUE, cuMemHostUnregister(own.wrapping_byte_add(offset)));
    }
    fails!(program, HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(own.wrapping_byte_add(16)));
    ok!(program, cuMemHostUnregister(own));
}

#[test]
fn box_copies_go_row_by_row_and_check_their_pitches() {
    let program = Program::new();
    let (mut device, mut pitch) = (0, 0);
    ok!(program, cuMemAllocPitch_v2(&mut device, &mut pitch, 5, 4, 4));
    assert_eq!(pitch, 512);
    let source: Vec<u8> = (0..20).collect();
    // SAFETY: all-zero is a valid descriptor.
    let mut copy: CUDA_MEMCPY2D = unsafe { std::mem::zeroed() };
    (copy.srcMemoryType, copy.srcHost, copy.srcPitch) = (CU_MEMORYTYPE_HOST, source.as_ptr().cast(), 5);
    (copy.dstMemoryType, copy.dstDevice, copy.dstPitch) = (CU_MEMORYTYPE_DEVICE, device, pitch);
    (copy.WidthInBytes, copy.Height) = (5, 4);
    ok!(program, cuMemcpy2D_v2(&copy));
    assert_eq!((program.peek(device + 512), program.peek(device + 3 * 512 + 4)), (5, 19));
    // Copy a part by offsets: rows 1 and 2, columns 2 and 3.
    let mut target = [0_u8; 9];
    let mut back = copy;
    (back.srcMemoryType, back.srcDevice, back.srcPitch) = (CU_MEMORYTYPE_DEVICE, device, pitch);
    (back.srcXInBytes, back.srcY) = (2, 1);
    (back.dstMemoryType, back.dstHost, back.dstPitch) = (CU_MEMORYTYPE_HOST, target.as_mut_ptr().cast(), 3);
    (back.dstXInBytes, back.dstY, back.WidthInBytes, back.Height) = (1, 1, 2, 2);
    ok!(program, cuMemcpy2D_v2(&back));
    assert_eq!(target, [0, 0, 0, 0, 7, 8, 0, 12, 13]);
    for spoil in [
        |copy: &mut CUDA_MEMCPY2D| copy.dstPitch = 4,
        |copy: &mut CUDA_MEMCPY2D| copy.dstY = 1,
        |copy: &mut CUDA_MEMCPY2D| copy.dstXInBytes = 510,
        |copy: &mut CUDA_MEMCPY2D| copy.Height = usize::MAX,
        |copy: &mut CUDA_MEMCPY2D| copy.dstMemoryType = 9,
    ] {
        let mut wrong = copy;
        spoil(&mut wrong);
        fails!(program, INVALID_VALUE, cuMemcpy2D_v2(&wrong));
    }
    let mut array = copy;
    array.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    // The array is null.
    fails!(program, INVALID_VALUE, cuMemcpy2D_v2(&array));
    fails!(program, INVALID_VALUE, cuMemcpy2D_v2(std::ptr::null()));
}

#[test]
fn box_copy_from_pageable_memory_is_staged_at_the_call() {
    let program = Program::new();
    let (stream, device) = (program.stream(0), program.alloc(8));
    let mut source: Vec<u8> = (0..16).collect();
    // SAFETY: all-zero is a valid descriptor.
    let mut copy: CUDA_MEMCPY3D = unsafe { std::mem::zeroed() };
    (copy.srcMemoryType, copy.srcHost) = (CU_MEMORYTYPE_HOST, source.as_ptr().cast());
    (copy.srcPitch, copy.srcHeight) = (4, 2);
    (copy.dstMemoryType, copy.dstDevice, copy.dstPitch, copy.dstHeight) = (CU_MEMORYTYPE_UNIFIED, device, 2, 2);
    (copy.WidthInBytes, copy.Height, copy.Depth) = (2, 2, 2);
    ok!(program, cuMemcpy3DAsync_v2(&copy, stream));
    source.fill(99);
    ok!(program, cuStreamSynchronize(stream));
    let arrived: Vec<u8> = (0..8).map(|index| program.peek(device + index)).collect();
    assert_eq!(arrived, [0, 1, 4, 5, 8, 9, 12, 13]);
    copy.Depth = 3;
    fails!(program, INVALID_VALUE, cuMemcpy3DAsync_v2(&copy, stream));
}

#[test]
fn fills_have_elements_of_one_two_and_four_bytes() {
    let program = Program::new();
    let device = program.alloc(24);
    ok!(program, cuMemsetD8_v2(device, 1, 24));
    ok!(program, cuMemsetD16_v2(device, 0x0302, 2));
    ok!(program, cuMemsetD32_v2(device + 4, 0x0706_0504, 1));
    ok!(program, cuMemsetD2D16_v2(device + 8, 8, 0x0908, 2, 2));
    let mut bytes = [0_u8; 24];
    ok!(program, cuMemcpyDtoH_v2(bytes.as_mut_ptr().cast(), device, 24));
    assert_eq!(bytes, [2, 3, 2, 3, 4, 5, 6, 7, 8, 9, 8, 9, 1, 1, 1, 1, 8, 9, 8, 9, 1, 1, 1, 1]);
    fails!(program, INVALID_VALUE, cuMemsetD2D16_v2(device, 2, 0, 2, 2));
}

#[test]
fn sync_memops_attribute_makes_a_fill_synchronous() {
    let program = Program::new();
    let (device, yes) = (program.alloc(4), 1_u32);
    let flag = (&raw const yes).cast();
    ok!(program, cuPointerSetAttribute(flag, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, device));
    ok!(program, cuMemsetD8_v2(device, 7, 4));
    assert_eq!(program.statistic("pending_operations"), 0);
    fails!(program, INVALID_VALUE, cuPointerSetAttribute(flag, CU_POINTER_ATTRIBUTE_IS_MANAGED, device));
}

#[test]
fn sync_memops_attribute_of_managed_memory_is_set_and_cleared() {
    let (program, mut managed) = (Program::new(), 0);
    ok!(program, cuMemAllocManaged(&mut managed, 64, CU_MEM_ATTACH_GLOBAL));
    for value in [1_u32, 0] {
        let flag = (&raw const value).cast();
        ok!(program, cuPointerSetAttribute(flag, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, managed));
        assert_eq!(attribute(&program, managed, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS), u64::from(value));
    }
}

/// The expected values follow the tests of cuda.bindings.
#[test]
fn host_follows_the_devices_that_access_a_range_and_invalid_devices_fill_the_rest() {
    let program = Program::with(Config { devices: 2, ..Config::default() });
    let (mut managed, attribute) = (0, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY);
    ok!(program, cuMemAllocManaged(&mut managed, 4096, CU_MEM_ATTACH_GLOBAL));
    let accessed_by = || {
        let mut places = [9_i32; 4];
        ok!(program, cuMemRangeGetAttribute(places.as_mut_ptr().cast(), 16, attribute, managed, 4096));
        let (mut listed, mut size, mut kind) = ([9_i32; 4], 16, attribute);
        let mut data = listed.as_mut_ptr().cast();
        ok!(program, cuMemRangeGetAttributes(&mut data, &mut size, &mut kind, 1, managed, 4096));
        assert_eq!(listed, places);
        places
    };
    let host = CUmemLocation { kind: CU_MEM_LOCATION_TYPE_HOST, id: CU_DEVICE_CPU };
    ok!(program, cuMemAdvise_v2(managed, 4096, CU_MEM_ADVISE_SET_ACCESSED_BY, host));
    assert_eq!(accessed_by(), [CU_DEVICE_CPU, -2, -2, -2]);
    for (device, expected) in [(1, [1, CU_DEVICE_CPU, -2, -2]), (0, [0, 1, CU_DEVICE_CPU, -2])] {
        ok!(program, cuMemAdvise(managed, 4096, CU_MEM_ADVISE_SET_ACCESSED_BY, device));
        assert_eq!(accessed_by(), expected);
    }
    ok!(program, cuMemAdvise(managed, 4096, CU_MEM_ADVISE_UNSET_ACCESSED_BY, CU_DEVICE_CPU));
    assert_eq!(accessed_by(), [0, 1, CU_DEVICE_INVALID, CU_DEVICE_INVALID]);
}

#[test]
fn advice_on_managed_memory_is_reported_back() {
    let program = Program::new();
    let mut managed = 0;
    ok!(program, cuMemAllocManaged(&mut managed, 4096, CU_MEM_ATTACH_GLOBAL));
    ok!(program, cuMemAdvise(managed, 4096, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, 0));
    ok!(program, cuMemPrefetchAsync(managed, 4096, CU_DEVICE_CPU, CUstream::NULL));
    for (attribute, expected) in
        [(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, 0), (CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, -1)]
    {
        let mut value = 5_i32;
        ok!(program, cuMemRangeGetAttribute((&raw mut value).cast(), 4, attribute, managed, 4096));
        assert_eq!(value, expected);
    }
    let node = CUmemLocation { kind: CU_MEM_LOCATION_TYPE_HOST_NUMA, id: 1 };
    let (mut kind, mut id, mut prefetched) = (9_u32, 9_i32, 9_u32);
    let mut data: [*mut c_void; 3] = [(&raw mut kind).cast(), (&raw mut id).cast(), (&raw mut prefetched).cast()];
    let mut attributes = [
        CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE,
        CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID,
        CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE,
    ];
    let mut sizes = [4_usize; 3];
    let (data, sizes, list) = (data.as_mut_ptr(), sizes.as_mut_ptr(), attributes.as_mut_ptr());
    ok!(program, cuMemRangeGetAttributes(data, sizes, list, 3, managed, 4096));
    assert_eq!((kind, id, prefetched), (CU_MEM_LOCATION_TYPE_DEVICE, 0, CU_MEM_LOCATION_TYPE_HOST));
    ok!(program, cuMemAdvise_v2(managed, 4096, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, node));
    ok!(program, cuMemRangeGetAttributes(data, sizes, list, 3, managed, 4096));
    assert_eq!((kind, id), (CU_MEM_LOCATION_TYPE_HOST_NUMA, 1));
    fails!(program, INVALID_VALUE, cuMemRangeGetAttributes(data, sizes, list, 0, managed, 4096));
    let device = program.alloc(8);
    fails!(program, INVALID_VALUE, cuMemAdvise(device, 8, CU_MEM_ADVISE_SET_READ_MOSTLY, 0));
    fails!(program, INVALID_DEVICE, cuMemPrefetchAsync(managed, 4096, 3, CUstream::NULL));
}

#[test]
fn pinned_memory_outlives_its_context_while_work_of_another_uses_it() {
    let program = Program::with(Config { devices: 2, ..Config::default() });
    let pinned = program.pinned(1);
    write(pinned, 7);
    ok!(program, cuCtxSetCurrent(program.primary(1)));
    let (stream, device) = (program.stream(0), program.alloc(1));
    ok!(program, cuMemcpyHtoDAsync_v2(device, pinned.cast(), 1, stream));
    ok!(program, cuDevicePrimaryCtxRelease_v2(0));
    assert_eq!(program.peek(device), 7);
}
