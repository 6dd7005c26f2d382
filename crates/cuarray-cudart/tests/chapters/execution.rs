use crate::driver::{ok, open};
use cuarray_cudart::cudaError_t;
use cuarray_cudart::types::*;
use cuarray_cudart::v13::*;
use std::ffi::{CStr, c_void};
use std::ptr;

/// Writes 42 to the address that is its argument.
const PTX: &CStr = c"
.version 7.0
.target sm_70
.address_size 64
.visible .entry write(.param .u64 out) {
    .reg .b64 %a;
    .reg .b32 %v;
    ld.param.u64 %a, [out];
    mov.u32 %v, 42;
    st.global.u32 [%a], %v;
    ret;
}
";

/// The structure that nvcc passes to `__cudaRegisterFatBinary`.
#[repr(C)]
struct Wrapper {
    magic: i32,
    version: i32,
    data: *const c_void,
    unused: *const c_void,
}

const ONE: dim3 = dim3 { x: 1, y: 1, z: 1 };

/// Registers a binary with one kernel, whose host function is `host`.
unsafe fn register(image: &CStr, host: *const c_void, name: &CStr) -> *mut *mut c_void {
    let mut wrapper = Wrapper { magic: 0x466243b1, version: 1, data: image.as_ptr().cast(), unused: ptr::null() };
    let none = ptr::null_mut;
    unsafe {
        let handle = __cudaRegisterFatBinary((&raw mut wrapper).cast());
        __cudaRegisterFunction(
            handle,
            host.cast(),
            none(),
            name.as_ptr(),
            -1,
            ptr::null_mut(),
            ptr::null_mut(),
            ptr::null_mut(),
            ptr::null_mut(),
            ptr::null_mut(),
        );
        __cudaRegisterFatBinaryEnd(handle);
        handle
    }
}

/// Launches by `launch` with a pointer to an integer of the device, and returns the integer.
unsafe fn written(launch: impl FnOnce(*mut *mut c_void) -> cudaError_t) -> u32 {
    unsafe {
        let mut memory = ptr::null_mut();
        ok(cudaMalloc(&mut memory, 4));
        let mut args = [(&raw mut memory).cast::<c_void>()];
        ok(launch(args.as_mut_ptr()));
        let mut value = 0_u32;
        ok(cudaMemcpy((&raw mut value).cast(), memory, 4, 2));
        ok(cudaFree(memory));
        value
    }
}

#[test]
fn registered_kernel_runs_by_every_launch() {
    open();
    static HOST: u8 = 0;
    let host = (&raw const HOST).cast::<c_void>();
    unsafe {
        let handle = register(PTX, host, c"write");
        assert_eq!(written(|args| cudaLaunchKernel(host, ONE, ONE, args, 0, cudaStream_t::default())), 42);
        assert_eq!(written(|args| cudaLaunchKernel_ptsz(host, ONE, ONE, args, 0, cudaStream_t::default())), 42);
        let stream = cudaStream_t::default();
        let config = cudaLaunchConfig_t {
            gridDim: ONE,
            blockDim: ONE,
            dynamicSmemBytes: 0,
            stream,
            attrs: ptr::null_mut(),
            numAttrs: 0,
        };
        assert_eq!(written(|args| cudaLaunchKernelExC(&config, host, args)), 42);
        let mut kernel = cudaKernel_t::default();
        ok(__cudaGetKernel(&mut kernel, host));
        assert_eq!(written(|args| __cudaLaunchKernel(kernel, ONE, ONE, args, 0, stream)), 42);
        __cudaUnregisterFatBinary(handle);
        let error = __cudaLaunchKernel(kernel, ONE, ONE, ptr::null_mut(), 0, stream);
        assert_eq!(error, cudaError_t::cudaErrorInvalidDeviceFunction);
        let error = cudaLaunchKernel(host, ONE, ONE, ptr::null_mut(), 0, stream);
        assert_eq!(error, cudaError_t::cudaErrorInvalidDeviceFunction);
    }
}

#[test]
fn refused_image_is_the_last_error_of_the_launch() {
    open();
    static HOST: u8 = 0;
    unsafe {
        let handle = register(c"no image", (&raw const HOST).cast(), c"write");
        let mut kernel = cudaKernel_t::default();
        ok(__cudaGetKernel(&mut kernel, (&raw const HOST).cast()));
        for _ in 0..2 {
            let error = __cudaLaunchKernel(kernel, ONE, ONE, ptr::null_mut(), 0, cudaStream_t::default());
            assert_ne!(error, cudaError_t::cudaSuccess);
            assert_eq!(cudaGetLastError(), error);
        }
        __cudaUnregisterFatBinary(handle);
    }
}

#[test]
fn bad_dimensions_are_an_invalid_configuration() {
    open();
    static HOST: u8 = 0;
    let host = (&raw const HOST).cast::<c_void>();
    unsafe {
        let handle = register(PTX, host, c"write");
        let bad = [
            (dim3 { x: 0, ..ONE }, ONE),
            (ONE, dim3 { y: 0, ..ONE }),
            (ONE, dim3 { x: 1025, ..ONE }),
            (ONE, dim3 { x: 512, y: 4, z: 1 }),
            (dim3 { y: 65536, ..ONE }, ONE),
        ];
        for (grid, block) in bad {
            let error = cudaLaunchKernel(host, grid, block, ptr::null_mut(), 0, cudaStream_t::default());
            assert_eq!(error, cudaError_t::cudaErrorInvalidConfiguration, "{grid:?} {block:?}");
        }
        __cudaUnregisterFatBinary(handle);
    }
}

#[test]
fn configurations_are_a_stack() {
    unsafe {
        let two = dim3 { x: 2, ..ONE };
        assert_eq!(__cudaPushCallConfiguration(ONE, ONE, 1, cudaStream_t::default()), 0);
        assert_eq!(__cudaPushCallConfiguration(two, ONE, 2, cudaStream_t::default()), 0);
        let (mut grid, mut block, mut shared, mut stream) = (ONE, ONE, 0, cudaStream_t::default());
        let mut pop = || {
            let error = __cudaPopCallConfiguration(&mut grid, &mut block, &mut shared, (&raw mut stream).cast());
            (error, grid, shared)
        };
        assert_eq!(pop(), (cudaError_t::cudaSuccess, two, 2));
        assert_eq!(pop(), (cudaError_t::cudaSuccess, ONE, 1));
        assert_eq!(pop().0, cudaError_t::cudaErrorMissingConfiguration);
    }
}
