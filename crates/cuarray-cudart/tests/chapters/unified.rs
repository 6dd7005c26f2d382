use crate::driver::{ok, open};
use cuarray_cudart::types::cudaMemcpyKind;
use cuarray_cudart::{v12, v13::*};
use std::ffi::{c_int, c_void};
use std::ptr;

/// CUDA 13's `cudaPointerAttributes`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Attributes {
    kind: u32,
    device: c_int,
    device_pointer: *mut c_void,
    host_pointer: *mut c_void,
    locality: c_int,
    rest: [u8; 60],
}

const FILLED: Attributes = Attributes {
    kind: 99,
    device: 99,
    device_pointer: ptr::null_mut(),
    host_pointer: ptr::null_mut(),
    locality: 77,
    rest: [7; 60],
};

unsafe fn attributes(pointer: *const c_void) -> Attributes {
    let mut attributes = FILLED;
    unsafe { ok(cudaPointerGetAttributes((&raw mut attributes).cast(), pointer)) };
    attributes
}

#[test]
fn pointer_attributes_name_the_kind_of_memory() {
    open();
    unsafe {
        let (mut device, mut host, mut managed) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
        ok(cudaMalloc(&mut device, 64));
        ok(cudaMallocHost(&mut host, 64));
        let found = attributes(device.byte_add(8));
        assert_eq!((found.kind, found.device, found.device_pointer), (2, 0, device.byte_add(8)));
        assert!(found.host_pointer.is_null());
        assert_eq!((found.locality, found.rest), (-1, [0; 60]));
        let found = attributes(host);
        assert_eq!((found.kind, found.host_pointer), (1, host));
        if cudaMallocManaged(&mut managed, 64, 1).0 == 0 {
            assert_eq!(attributes(managed).kind, 3);
            ok(cudaFree(managed));
        }
        ok(cudaFree(device));
        ok(cudaFreeHost(host));
    }
}

#[test]
fn unknown_host_memory_is_unregistered() {
    open();
    let local: cudaMemcpyKind = 0;
    let pointer = (&raw const local).cast::<c_void>();
    unsafe {
        let found = attributes(pointer);
        assert_eq!((found.kind, found.device, found.host_pointer), (0, -2, pointer.cast_mut()));
        assert!(found.device_pointer.is_null());
        ok(cudaPeekAtLastError());
    }
}

#[test]
fn structure_of_cuda_12_is_shorter() {
    open();
    let (mut found, local) = (FILLED, 0_u32);
    unsafe { ok(v12::cudaPointerGetAttributes((&raw mut found).cast(), (&raw const local).cast())) };
    assert_eq!((found.kind, found.locality, found.rest), (0, 77, [7; 60]));
}
