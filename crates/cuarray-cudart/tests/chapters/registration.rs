//! Registration with arguments that no compiler writes.

use crate::driver::open;
use crate::execution::{ONE, PTX, Wrapper, register_kernel};
use cuarray_cudart::cudaError_t;
use cuarray_cudart::types::*;
use cuarray_cudart::v13::*;
use std::ffi::{c_char, c_void};
use std::ptr;

/// Registers the wrapper with a kernel and a variable, and returns the errors of a launch and of a look-up.
unsafe fn used(wrapper: *mut c_void) -> (cudaError_t, cudaError_t) {
    let (function, variable) = (Box::new(0_u8), Box::new(0_u8));
    let host = |place: &u8| ptr::from_ref(place).cast_mut().cast::<c_char>();
    let (name, none) = (c"write".as_ptr(), ptr::null_mut());
    unsafe {
        let handle = __cudaRegisterFatBinary(wrapper);
        register_kernel(handle, host(&function), name);
        __cudaRegisterVar(handle, host(&variable), none, name, 0, 4, 0, 0);
        __cudaRegisterFatBinaryEnd(handle);
        let stream = cudaStream_t::default();
        let launched = cudaLaunchKernel(host(&function).cast(), ONE, ONE, ptr::null_mut(), 0, stream);
        let looked_up = cudaGetSymbolSize(&mut 0, host(&variable).cast());
        __cudaUnregisterFatBinary(handle);
        (launched, looked_up)
    }
}

#[test]
fn wrapper_without_a_readable_image_fails_at_the_first_use() {
    open();
    let wild = ptr::without_provenance::<c_void>(0x7fff_ffff_f000);
    let magic = 0x466243b1;
    let invalid = cudaError_t::cudaErrorInvalidKernelImage;
    for (magic, version, data, unused) in [
        (magic, 1, ptr::null(), ptr::null()),
        (magic, 1, wild, ptr::null()),
        (magic, 2, PTX.as_ptr().cast(), wild),
        (magic, 2, wild, ptr::null()),
        (magic + 1, 1, PTX.as_ptr().cast(), ptr::null()),
        (0, 0, ptr::null(), ptr::null()),
    ] {
        let mut wrapper = Wrapper { magic, version, data, unused };
        let errors = unsafe { used((&raw mut wrapper).cast()) };
        assert_eq!(errors, (invalid, invalid), "{magic} {version} {data:?} {unused:?}");
    }
    assert_eq!(unsafe { used(ptr::null_mut()) }, (invalid, invalid));
}

#[test]
fn fat_binary_of_random_bytes_is_refused() {
    open();
    let mut state = 1_u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u8
    };
    for round in 0..2000 {
        let mut bytes: Vec<u8> = (0..256).map(|_| random()).collect();
        bytes[..8].copy_from_slice(&[0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0]);
        // The head of an entry with plain PTX, with some of its bytes changed.
        bytes[8..80].fill(0);
        bytes[8] = 240;
        bytes[16..21].copy_from_slice(&[1, 0, 1, 1, 64]);
        bytes[24] = 176;
        bytes[56] = if round % 2 == 0 { 0x11 } else { 0 };
        bytes[57] = [0, 0x20, 0x80][round % 3];
        for _ in 0..random() % 4 {
            bytes[8 + usize::from(random() % 72)] = random();
        }
        let mut wrapper = Wrapper {
            magic: 0x466243b1,
            version: i32::from(random() % 3),
            data: bytes.as_ptr().cast(),
            unused: ptr::null(),
        };
        let (launched, looked_up) = unsafe { used((&raw mut wrapper).cast()) };
        assert_ne!(launched, cudaError_t::cudaSuccess);
        assert_eq!(launched, looked_up);
    }
}

#[test]
fn unknown_handles_are_ignored() {
    open();
    let wild = ptr::without_provenance_mut::<*mut c_void>(0xdead_beef);
    let (mut place, none) = (0_u64, ptr::null_mut());
    let host = (&raw mut place).cast::<c_char>();
    for handle in [ptr::null_mut(), wild, host.cast()] {
        unsafe {
            register_kernel(handle, host, c"write".as_ptr());
            __cudaRegisterVar(handle, host, none, c"write".as_ptr(), 0, 4, 0, 0);
            __cudaRegisterManagedVar(handle, host.cast(), none, c"write".as_ptr(), 0, 4, 0, 0);
            __cudaRegisterFatBinaryEnd(handle);
            __cudaInitModule(handle);
            __cudaUnregisterFatBinary(handle);
            __cudaUnregisterFatBinary(handle);
            assert_eq!(cudaGetSymbolSize(&mut 0, host.cast()), cudaError_t::cudaErrorInvalidSymbol);
        }
    }
}

#[test]
fn kernel_without_a_name_is_not_registered() {
    open();
    let place = 0_u8;
    let host = (&raw const place).cast_mut().cast::<c_char>();
    let mut wrapper = Wrapper { magic: 0x466243b1, version: 1, data: PTX.as_ptr().cast(), unused: ptr::null() };
    unsafe {
        let handle = __cudaRegisterFatBinary((&raw mut wrapper).cast());
        register_kernel(handle, host, ptr::null());
        let error = cudaLaunchKernel(host.cast(), ONE, ONE, ptr::null_mut(), 0, cudaStream_t::default());
        assert_eq!(error, cudaError_t::cudaErrorInvalidDeviceFunction);
        __cudaUnregisterFatBinary(handle);
    }
}
