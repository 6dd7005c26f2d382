//! Libraries: modules that a program loads by itself, and their kernels.
//!
//! A kernel's handle may be passed where a host function is expected. The handles that were given out are kept, so that any
//! other address is an invalid function and not a handle of the driver.
//!
//! Runtime API: [library management](https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__LIBRARY.html).

use crate::call::present;
use crate::driver::cu;
use crate::registration::{kernel_handles, kernel_of_handle};
use crate::result::{Result, cudaError_t};
use crate::types::*;
use cuarray_abi::{Api, CUkernel};
use std::ffi::{c_char, c_int, c_uint, c_void};

/// Checks the number of options, and that the arrays are there.
fn options<T, U>(count: c_uint, options: *const T, values: *const U) -> Result {
    if count != 0 {
        present(options)?;
        present(values)?;
    }
    Ok(())
}

pub(crate) unsafe fn cudaLibraryLoadData(
    api: &Api,
    library: *mut cudaLibrary_t,
    code: *const c_void,
    jit_options: *mut cudaJitOption,
    jit_options_values: *mut *mut c_void,
    num_jit_options: c_uint,
    library_options: *mut cudaLibraryOption,
    library_option_values: *mut *mut c_void,
    num_library_options: c_uint,
) -> Result {
    present(library)?;
    present(code)?;
    options(num_jit_options, jit_options, jit_options_values)?;
    // The runtime's options have the numbers of the driver's.
    cu!(api.cuLibraryLoadData(
        library,
        code,
        jit_options.cast(),
        jit_options_values,
        num_jit_options,
        library_options.cast(),
        library_option_values,
        num_library_options
    ))
}

pub(crate) unsafe fn cudaLibraryLoadFromFile(
    api: &Api,
    library: *mut cudaLibrary_t,
    file_name: *const c_char,
    jit_options: *mut cudaJitOption,
    jit_options_values: *mut *mut c_void,
    num_jit_options: c_uint,
    library_options: *mut cudaLibraryOption,
    library_option_values: *mut *mut c_void,
    num_library_options: c_uint,
) -> Result {
    present(library)?;
    present(file_name)?;
    options(num_jit_options, jit_options, jit_options_values)?;
    cu!(api.cuLibraryLoadFromFile(
        library,
        file_name,
        jit_options.cast(),
        jit_options_values,
        num_jit_options,
        library_options.cast(),
        library_option_values,
        num_library_options
    ))
}

pub(crate) unsafe fn cudaLibraryUnload(api: &Api, library: cudaLibrary_t) -> Result {
    cu!(api.cuLibraryUnload(library))?;
    kernel_handles::forget(library);
    Ok(())
}

pub(crate) unsafe fn cudaLibraryGetKernel(
    api: &Api,
    p_kernel: *mut cudaKernel_t,
    library: cudaLibrary_t,
    name: *const c_char,
) -> Result {
    present(p_kernel)?;
    present(name)?;
    cu!(api.cuLibraryGetKernel(p_kernel, library, name))?;
    // SAFETY: the driver has written the handle.
    kernel_handles::add(library, &[unsafe { p_kernel.read_unaligned() }]);
    Ok(())
}

pub(crate) unsafe fn cudaLibraryGetKernelCount(api: &Api, count: *mut c_uint, lib: cudaLibrary_t) -> Result {
    present(count)?;
    cu!(api.cuLibraryGetKernelCount(count, lib))
}

pub(crate) unsafe fn cudaLibraryEnumerateKernels(
    api: &Api,
    kernels: *mut cudaKernel_t,
    num_kernels: c_uint,
    lib: cudaLibrary_t,
) -> Result {
    present(kernels)?;
    let mut count = 0;
    cu!(api.cuLibraryGetKernelCount(&raw mut count, lib))?;
    let mut found = vec![CUkernel::default(); count.min(num_kernels) as usize];
    let number = found.len() as c_uint;
    cu!(api.cuLibraryEnumerateKernels(found.as_mut_ptr(), number, lib))?;
    kernel_handles::add(lib, &found);
    for (index, kernel) in found.into_iter().enumerate() {
        // SAFETY: the caller's array has `num_kernels` elements, by the contract of this function.
        unsafe { kernels.add(index).write_unaligned(kernel) };
    }
    Ok(())
}

pub(crate) unsafe fn cudaLibraryGetGlobal(
    api: &Api,
    dptr: *mut *mut c_void,
    bytes: *mut usize,
    library: cudaLibrary_t,
    name: *const c_char,
) -> Result {
    present(name)?;
    cu!(api.cuLibraryGetGlobal(dptr.cast(), bytes, library, name))
}

pub(crate) unsafe fn cudaLibraryGetManaged(
    api: &Api,
    dptr: *mut *mut c_void,
    bytes: *mut usize,
    library: cudaLibrary_t,
    name: *const c_char,
) -> Result {
    present(name)?;
    cu!(api.cuLibraryGetManaged(dptr.cast(), bytes, library, name))
}

pub(crate) unsafe fn cudaKernelSetAttributeForDevice(
    api: &Api,
    kernel: cudaKernel_t,
    attr: cudaFuncAttribute,
    value: c_int,
    device: c_int,
) -> Result {
    let kernel = kernel_of_handle(api, kernel)?;
    let attribute = c_int::try_from(attr).map_err(|_| cudaError_t::cudaErrorInvalidValue)?;
    cu!(api.cuKernelSetAttribute(attribute as _, value, kernel, device))
}

pub(crate) unsafe fn cudaLibraryGetUnifiedFunction(
    api: &Api,
    fptr: *mut *mut c_void,
    library: cudaLibrary_t,
    symbol: *const c_char,
) -> Result {
    present(fptr)?;
    present(symbol)?;
    cu!(api.cuLibraryGetUnifiedFunction(fptr, library, symbol))
}
