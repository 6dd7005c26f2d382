//! Libraries and their kernels: images are refused as in [`module`](super::module), so no handle here is ever valid.
//!
//! Driver API: [library management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__LIBRARY.html).

use super::module::{refuse_file, refuse_image, start_of};
use super::*;

const INVALID_HANDLE: CUresult = CUresult::CUDA_ERROR_INVALID_HANDLE;

pub(super) unsafe fn cuLibraryLoadData(
    call: &Call<'_>,
    library: *mut CUlibrary,
    code: *const c_void,
    _jit_options: *mut CUjit_option,
    _jit_options_values: *mut *mut c_void,
    _num_jit_options: c_uint,
    _library_options: *mut CUlibraryOption,
    _library_option_values: *mut *mut c_void,
    _num_library_options: c_uint,
) -> Answer {
    present(library)?;
    // SAFETY: the caller's image, by the driver's contract.
    Err(refuse_image(call, unsafe { start_of(code)? }))
}

pub(super) unsafe fn cuLibraryLoadFromFile(
    call: &Call<'_>,
    library: *mut CUlibrary,
    file_name: *const c_char,
    _jit_options: *mut CUjit_option,
    _jit_options_values: *mut *mut c_void,
    _num_jit_options: c_uint,
    _library_options: *mut CUlibraryOption,
    _library_option_values: *mut *mut c_void,
    _num_library_options: c_uint,
) -> Answer {
    present(library)?;
    // SAFETY: the caller's string, by the driver's contract.
    unsafe { refuse_file(call, file_name) }
}

pub(super) unsafe fn cuLibraryUnload(_: &Call<'_>, _library: CUlibrary) -> Answer {
    Err(INVALID_HANDLE)
}

pub(super) unsafe fn cuLibraryGetKernel(
    _: &Call<'_>,
    p_kernel: *mut CUkernel,
    _library: CUlibrary,
    name: *const c_char,
) -> Answer {
    present(p_kernel)?;
    present(name)?;
    Err(INVALID_HANDLE)
}

pub(super) unsafe fn cuLibraryGetModule(_: &Call<'_>, p_mod: *mut CUmodule, _library: CUlibrary) -> Answer {
    present(p_mod)?;
    Err(INVALID_HANDLE)
}

pub(super) unsafe fn cuLibraryGetGlobal(
    _: &Call<'_>,
    _dptr: *mut CUdeviceptr,
    _bytes: *mut usize,
    _library: CUlibrary,
    name: *const c_char,
) -> Answer {
    present(name)?;
    Err(INVALID_HANDLE)
}

pub(super) unsafe fn cuKernelGetFunction(_: &Call<'_>, p_func: *mut CUfunction, _kernel: CUkernel) -> Answer {
    present(p_func)?;
    Err(INVALID_HANDLE)
}

pub(super) unsafe fn cuKernelGetAttribute(
    call: &Call<'_>,
    pi: *mut c_int,
    _attrib: CUfunction_attribute,
    _kernel: CUkernel,
    dev: CUdevice,
) -> Answer {
    present(pi)?;
    call.lock().device(dev)?;
    Err(INVALID_HANDLE)
}

pub(super) unsafe fn cuKernelSetAttribute(
    call: &Call<'_>,
    _attrib: CUfunction_attribute,
    _val: c_int,
    _kernel: CUkernel,
    dev: CUdevice,
) -> Answer {
    call.lock().device(dev)?;
    Err(INVALID_HANDLE)
}
