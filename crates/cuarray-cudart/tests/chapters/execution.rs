use crate::driver::{ok, open};
use cuarray_cudart::cudaError_t;
use cuarray_cudart::types::*;
use cuarray_cudart::v13::*;
use std::ffi::{CStr, c_char, c_void};
use std::ptr;

/// Writes 42 to the address that is its argument.
pub(crate) const PTX: &CStr = c"
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
pub(crate) struct Wrapper {
    pub(crate) magic: i32,
    pub(crate) version: i32,
    pub(crate) data: *const c_void,
    pub(crate) unused: *const c_void,
}

pub(crate) const ONE: dim3 = dim3 { x: 1, y: 1, z: 1 };

/// Registers a kernel as code of the compiler does, without a limit of threads and without dimensions.
pub(crate) unsafe fn register_kernel(handle: *mut *mut c_void, host: *const c_char, name: *const c_char) {
    let (no_name, no_thread, no_dim, no_size) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
    unsafe { __cudaRegisterFunction(handle, host, no_name, name, -1, no_thread, no_thread, no_dim, no_dim, no_size) }
}

/// Registers a binary with one kernel, whose host function is `host`.
pub(crate) unsafe fn register(image: &CStr, host: *const c_void, name: &CStr) -> *mut *mut c_void {
    let mut wrapper = Wrapper { magic: 0x466243b1, version: 1, data: image.as_ptr().cast(), unused: ptr::null() };
    unsafe {
        let handle = __cudaRegisterFatBinary((&raw mut wrapper).cast());
        register_kernel(handle, host.cast(), name.as_ptr());
        __cudaRegisterFatBinaryEnd(handle);
        handle
    }
}

/// Launches by `launch` with a pointer to an integer of the device, and returns the integer.
pub(crate) unsafe fn written(launch: impl FnOnce(*mut *mut c_void) -> cudaError_t) -> u32 {
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

#[test]
fn cooperative_launch_runs_and_too_many_blocks_are_refused() {
    open();
    static HOST: u8 = 0;
    let (host, stream) = ((&raw const HOST).cast::<c_void>(), cudaStream_t::default());
    unsafe {
        let handle = register(PTX, host, c"write");
        assert_eq!(written(|args| cudaLaunchCooperativeKernel(host, ONE, ONE, args, 0, stream)), 42);
        let mut args = [(&raw const HOST).cast_mut().cast::<c_void>(); 1];
        let many = dim3 { x: 1 << 20, ..ONE };
        let error = cudaLaunchCooperativeKernel(host, many, ONE, args.as_mut_ptr(), 0, stream);
        assert_eq!(error, cudaError_t::cudaErrorCooperativeLaunchTooLarge);
        let error = cudaLaunchCooperativeKernel(host, dim3 { x: 0, ..ONE }, ONE, args.as_mut_ptr(), 0, stream);
        assert_eq!(error, cudaError_t::cudaErrorInvalidConfiguration);
        __cudaUnregisterFatBinary(handle);
    }
}

#[test]
fn host_function_runs_in_its_stream_and_null_is_refused() {
    unsafe extern "C" fn count(number: *mut c_void) {
        unsafe { *number.cast::<u32>() += 1 };
    }
    open();
    let (mut number, stream) = (0_u32, cudaStream_t::default());
    unsafe {
        ok(cudaLaunchHostFunc(stream, Some(count), (&raw mut number).cast()));
        ok(cudaDeviceSynchronize());
        assert_eq!(cudaLaunchHostFunc(stream, None, ptr::null_mut()), cudaError_t::cudaErrorInvalidValue);
    }
    assert_eq!(number, 1);
}

#[test]
fn attributes_of_a_kernel_are_read_and_set() {
    open();
    static HOST: u8 = 0;
    let host = (&raw const HOST).cast::<c_void>();
    unsafe {
        let handle = register(PTX, host, c"write");
        let mut attributes = cudaFuncAttributes::default();
        ok(cudaFuncGetAttributes(&mut attributes, host));
        assert_eq!((attributes.ptxVersion, attributes.maxThreadsPerBlock, attributes.sharedSizeBytes), (70, 1024, 0));
        ok(cudaFuncSetAttribute(host, 8, 1 << 16));
        ok(cudaFuncGetAttributes(&mut attributes, host));
        assert_eq!(attributes.maxDynamicSharedSizeBytes, 1 << 16);
        for (attribute, value) in [(8, 1 << 30), (4, 1), (7, 1), (16, 1), (u32::MAX, 1)] {
            let error = cudaFuncSetAttribute(host, attribute, value);
            assert_eq!(error, cudaError_t::cudaErrorInvalidValue, "{attribute}");
        }
        ok(cudaFuncSetCacheConfig(host, 1));
        let mut name = ptr::null();
        ok(cudaFuncGetName(&mut name, host));
        assert_eq!(CStr::from_ptr(name), c"write");
        let (mut offset, mut size, mut count) = (9, 9, 9);
        ok(cudaFuncGetParamInfo(host, 0, &mut offset, &mut size));
        ok(cudaFuncGetParamCount(host, &mut count));
        assert_eq!((offset, size, count), (0, 8, 1));
        assert_eq!(cudaFuncGetParamInfo(host, 1, &mut offset, &mut size), cudaError_t::cudaErrorInvalidValue);
        assert_eq!(cudaFuncGetAttributes(ptr::null_mut(), host), cudaError_t::cudaErrorInvalidValue);
        __cudaUnregisterFatBinary(handle);
    }
}

#[test]
fn address_that_is_no_function_is_an_invalid_device_function() {
    open();
    let (invalid, stream) = (cudaError_t::cudaErrorInvalidDeviceFunction, cudaStream_t::default());
    let local = 0_u64;
    for host in [ptr::null(), (&raw const local).cast(), ptr::without_provenance(0xdead_beef)] {
        unsafe {
            let (mut blocks, mut bytes) = (0, 0_usize);
            let mut attributes = cudaFuncAttributes::default();
            assert_eq!(cudaLaunchKernel(host, ONE, ONE, ptr::null_mut(), 0, stream), invalid);
            assert_eq!(cudaLaunchCooperativeKernel(host, ONE, ONE, ptr::null_mut(), 0, stream), invalid);
            assert_eq!(cudaFuncGetAttributes(&mut attributes, host), invalid);
            assert_eq!(cudaFuncSetAttribute(host, 8, 1), invalid);
            assert_eq!(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, host, 32, 0), invalid);
            assert_eq!(cudaOccupancyAvailableDynamicSMemPerBlock(&mut bytes, host, 1, 32), invalid);
            assert_eq!(cudaGetKernel(&mut cudaKernel_t::default(), host), invalid);
            assert_eq!(__cudaGetKernel(&mut cudaKernel_t::default(), host), invalid);
            let kernel = cuarray_abi::CUkernel(host.addr());
            assert_eq!(__cudaLaunchKernel(kernel, ONE, ONE, ptr::null_mut(), 0, stream), invalid);
        }
    }
}

#[test]
fn occupancy_is_that_of_the_driver() {
    open();
    static HOST: u8 = 0;
    let host = (&raw const HOST).cast::<c_void>();
    unsafe {
        let handle = register(PTX, host, c"write");
        let mut blocks = 0;
        ok(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, host, 1024, 0));
        assert_eq!(blocks, 2);
        let mut bytes = 0;
        ok(cudaOccupancyAvailableDynamicSMemPerBlock(&mut bytes, host, 2, 1024));
        assert!(bytes > 16 << 10);
        let invalid = cudaError_t::cudaErrorInvalidValue;
        assert_eq!(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, host, -1, 0), invalid);
        assert_eq!(cudaOccupancyMaxActiveBlocksPerMultiprocessor(ptr::null_mut(), host, 32, 0), invalid);
        let mut number = 0;
        assert_eq!(cudaOccupancyMaxActiveClusters(&mut number, host, ptr::null()), invalid);
        __cudaUnregisterFatBinary(handle);
    }
}
