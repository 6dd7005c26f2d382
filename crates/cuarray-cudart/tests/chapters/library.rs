use crate::driver::{ok, open};
use crate::execution::{ONE, PTX, register, written};
use cuarray_cudart::cudaError_t;
use cuarray_cudart::types::*;
use cuarray_cudart::v13::*;
use std::ffi::{CStr, c_void};
use std::ptr;

unsafe fn load(image: &CStr) -> (cudaError_t, cudaLibrary_t) {
    let (mut library, none) = (cudaLibrary_t::default(), ptr::null_mut());
    let error =
        unsafe { cudaLibraryLoadData(&mut library, image.as_ptr().cast(), none, none.cast(), 0, none, none.cast(), 0) };
    (error, library)
}

#[test]
fn kernel_of_a_library_is_launched_by_its_handle_until_the_library_is_unloaded() {
    open();
    unsafe {
        let (error, library) = load(PTX);
        ok(error);
        let (mut kernel, mut count) = (cudaKernel_t::default(), 0);
        ok(cudaLibraryGetKernelCount(&mut count, library));
        let mut kernels = [cudaKernel_t::default(); 4];
        ok(cudaLibraryEnumerateKernels(kernels.as_mut_ptr(), 4, library));
        ok(cudaLibraryGetKernel(&mut kernel, library, c"write".as_ptr()));
        assert_eq!((count, kernels[0], kernels[1]), (1, kernel, cudaKernel_t::default()));
        let function = ptr::without_provenance::<c_void>(kernel.0);
        let stream = cudaStream_t::default();
        assert_eq!(written(|args| cudaLaunchKernel(function, ONE, ONE, args, 0, stream)), 42);
        ok(cudaKernelSetAttributeForDevice(kernel, 8, 1 << 16, 0));
        let mut attributes = cudaFuncAttributes::default();
        ok(cudaFuncGetAttributes(&mut attributes, function));
        assert_eq!(attributes.maxDynamicSharedSizeBytes, 1 << 16);
        ok(cudaLibraryUnload(library));
        let error = cudaLaunchKernel(function, ONE, ONE, ptr::null_mut(), 0, stream);
        assert_eq!(error, cudaError_t::cudaErrorInvalidDeviceFunction);
        assert_eq!(cudaLibraryUnload(library), cudaError_t::cudaErrorInvalidResourceHandle);
    }
}

#[test]
fn bad_images_names_and_pointers_are_refused() {
    open();
    let invalid = cudaError_t::cudaErrorInvalidValue;
    let none: *mut c_void = ptr::null_mut();
    unsafe {
        assert_eq!(load(c"no image").0, cudaError_t::cudaErrorInvalidPtx);
        assert_eq!(load(c"").0, cudaError_t::cudaErrorInvalidKernelImage);
        let mut library = cudaLibrary_t::default();
        let data = PTX.as_ptr().cast();
        assert_eq!(
            cudaLibraryLoadData(none.cast(), data, none.cast(), none.cast(), 0, none.cast(), none.cast(), 0),
            invalid
        );
        assert_eq!(
            cudaLibraryLoadData(&mut library, none, none.cast(), none.cast(), 0, none.cast(), none.cast(), 0),
            invalid
        );
        assert_eq!(
            cudaLibraryLoadData(&mut library, data, none.cast(), none.cast(), 3, none.cast(), none.cast(), 0),
            invalid
        );
        let file = c"/nonexistent".as_ptr();
        let error =
            cudaLibraryLoadFromFile(&mut library, file, none.cast(), none.cast(), 0, none.cast(), none.cast(), 0);
        assert_eq!(error, cudaError_t::cudaErrorFileNotFound);
        let (error, library) = load(PTX);
        ok(error);
        let mut kernel = cudaKernel_t::default();
        let error = cudaLibraryGetKernel(&mut kernel, library, c"other".as_ptr());
        assert_eq!(error, cudaError_t::cudaErrorSymbolNotFound);
        assert_eq!(cudaLibraryGetKernel(&mut kernel, library, ptr::null()), invalid);
        let mut address = ptr::null_mut();
        let error = cudaLibraryGetGlobal(&mut address, &mut 0, library, c"other".as_ptr());
        assert_eq!(error, cudaError_t::cudaErrorSymbolNotFound);
        // No simulated device has unified functions.
        let error = cudaLibraryGetUnifiedFunction(&mut address, library, c"write".as_ptr());
        assert_eq!(error, cudaError_t::cudaErrorSymbolNotFound);
        assert_eq!(cudaLibraryGetUnifiedFunction(&mut address, library, ptr::null()), invalid);
        assert_eq!(cudaLibraryGetUnifiedFunction(ptr::null_mut(), library, c"write".as_ptr()), invalid);
        let error = cudaLibraryGetManaged(&mut address, &mut 0, library, c"other".as_ptr());
        assert_eq!(error, cudaError_t::cudaErrorSymbolNotFound);
        assert_eq!(cudaLibraryGetManaged(&mut address, &mut 0, library, ptr::null()), invalid);
        let unknown = cuarray_abi::CUlibrary(12345);
        let error = cudaLibraryGetUnifiedFunction(&mut address, unknown, c"write".as_ptr());
        assert_eq!(error, cudaError_t::cudaErrorInvalidResourceHandle);
        let error = cudaLibraryGetKernel(&mut kernel, unknown, c"write".as_ptr());
        assert_eq!(error, cudaError_t::cudaErrorInvalidResourceHandle);
        ok(cudaLibraryUnload(library));
    }
}

#[test]
fn library_has_the_address_and_size_of_its_managed_variable() {
    const MANAGED: &CStr = c".version 7.0\n.target sm_70\n.address_size 64
        .visible .global .attribute(.managed) .align 4 .b32 count = 5;";
    open();
    unsafe {
        let (error, library) = load(MANAGED);
        ok(error);
        let (mut address, mut size) = (ptr::null_mut(), 0);
        ok(cudaLibraryGetManaged(&mut address, &mut size, library, c"count".as_ptr()));
        assert_eq!((address.cast::<u32>().read_volatile(), size), (5, 4));
        ok(cudaLibraryUnload(library));
    }
}

#[test]
fn kernel_of_a_host_function_is_the_driver_s_until_its_binary_is_unregistered() {
    static HOST: u8 = 0;
    open();
    let (host, stream) = ((&raw const HOST).cast::<c_void>(), cudaStream_t::default());
    unsafe {
        let handle = register(PTX, host, c"write");
        let (mut kernel, mut function) = (cudaKernel_t::default(), cudaFunction_t::default());
        ok(cudaGetKernel(&mut kernel, host));
        ok(cudaGetFuncBySymbol(&mut function, host));
        let by_handle = ptr::without_provenance(kernel.0);
        assert_eq!(written(|args| cudaLaunchKernel(by_handle, ONE, ONE, args, 0, stream)), 42);
        __cudaUnregisterFatBinary(handle);
        let error = cudaLaunchKernel(by_handle, ONE, ONE, ptr::null_mut(), 0, stream);
        assert_eq!(error, cudaError_t::cudaErrorInvalidDeviceFunction);
    }
}
