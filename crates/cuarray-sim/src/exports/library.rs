//! Libraries and their kernels.
//!
//! Driver API: [library management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__LIBRARY.html).

use super::jit::{Options, program_at, program_in};
use super::module::{kernels, put_both};
use super::*;
use crate::execution::drain;
use crate::launch::exports::{self as execution, attribute, set_attribute};
use crate::parameters::name;
use crate::work::modules;

const INVALID_HANDLE: CUresult = CUresult::CUDA_ERROR_INVALID_HANDLE;

pub(super) unsafe fn cuLibraryLoadData(
    call: &Call<'_>,
    library: *mut CUlibrary,
    code: *const c_void,
    jit_options: *mut CUjit_option,
    jit_options_values: *mut *mut c_void,
    num_jit_options: c_uint,
    _library_options: *mut CUlibraryOption,
    _library_option_values: *mut *mut c_void,
    _num_library_options: c_uint,
) -> Result<(), CUresult> {
    present(library)?;
    // SAFETY: the caller's image and arrays, by the driver's contract.
    unsafe {
        let options = Options::read(num_jit_options, jit_options, jit_options_values)?;
        let program = program_at(call, code, &options)?;
        put(library, modules::add_library(&mut call.lock(), program))
    }
}

pub(super) unsafe fn cuLibraryLoadFromFile(
    call: &Call<'_>,
    library: *mut CUlibrary,
    file_name: *const c_char,
    jit_options: *mut CUjit_option,
    jit_options_values: *mut *mut c_void,
    num_jit_options: c_uint,
    _library_options: *mut CUlibraryOption,
    _library_option_values: *mut *mut c_void,
    _num_library_options: c_uint,
) -> Result<(), CUresult> {
    present(library)?;
    // SAFETY: the caller's string and arrays, by the driver's contract.
    unsafe {
        let options = Options::read(num_jit_options, jit_options, jit_options_values)?;
        let program = program_in(call, file_name, &options)?;
        put(library, modules::add_library(&mut call.lock(), program))
    }
}

/// Runs pending work first, which may include the library's kernels.
pub(super) unsafe fn cuLibraryUnload(call: &Call<'_>, library: CUlibrary) -> Result<(), CUresult> {
    let mut state = call.lock();
    let loaded = state.code.libraries.get(&library).ok_or(INVALID_HANDLE)?;
    let contexts: Vec<CUcontext> = loaded.modules.keys().copied().collect();
    for context in contexts {
        state = drain::drain_context(call.driver, state, context);
    }
    modules::unload_library(&mut state, library)
}

pub(super) unsafe fn cuLibraryGetKernel(
    call: &Call<'_>,
    p_kernel: *mut CUkernel,
    library: CUlibrary,
    name: *const c_char,
) -> Result<(), CUresult> {
    present(p_kernel)?;
    // SAFETY: the caller's string and pointer, by the driver's contract.
    unsafe {
        let name = self::name(name)?;
        put(p_kernel, call.lock().code.kernel(library, &name)?)
    }
}

pub(super) unsafe fn cuLibraryGetKernelCount(
    call: &Call<'_>,
    count: *mut c_uint,
    lib: CUlibrary,
) -> Result<(), CUresult> {
    let kernels = call.lock().code.libraries.get(&lib).ok_or(INVALID_HANDLE)?.program.kernels().len();
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(count, kernels as c_uint) }
}

pub(super) unsafe fn cuLibraryEnumerateKernels(
    call: &Call<'_>,
    kernels: *mut CUkernel,
    num_kernels: c_uint,
    lib: CUlibrary,
) -> Result<(), CUresult> {
    present(kernels)?;
    let mut state = call.lock();
    let names = self::kernels(&state.code.libraries.get(&lib).ok_or(INVALID_HANDLE)?.program);
    for (index, name) in names.iter().take(num_kernels as usize).enumerate() {
        let kernel = state.code.kernel(lib, name)?;
        // SAFETY: the caller's array of `num_kernels` elements, by the driver's contract.
        unsafe { put(kernels.add(index), kernel)? };
    }
    Ok(())
}

pub(super) unsafe fn cuLibraryGetModule(
    call: &Call<'_>,
    p_mod: *mut CUmodule,
    library: CUlibrary,
) -> Result<(), CUresult> {
    present(p_mod)?;
    let (mut state, context) = call.current()?;
    let module = modules::module_of(&mut state, library, context)?;
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(p_mod, module) }
}

pub(super) unsafe fn cuLibraryGetGlobal(
    call: &Call<'_>,
    dptr: *mut CUdeviceptr,
    bytes: *mut usize,
    library: CUlibrary,
    name: *const c_char,
) -> Result<(), CUresult> {
    // SAFETY: the caller's string, by the driver's contract.
    let name = unsafe { self::name(name)? };
    let (mut state, context) = call.current()?;
    let module = modules::module_of(&mut state, library, context)?;
    let (address, size) = modules::global(&state, module, &name)?;
    // SAFETY: the caller's pointers, by the driver's contract; either may be null.
    unsafe { put_both(dptr, bytes, address, size) }
}

/// Loads the library into the current context first, if there is one: by the manual, managed memory is registered when the
/// library is loaded into at least one context.
pub(super) unsafe fn cuLibraryGetManaged(
    call: &Call<'_>,
    dptr: *mut CUdeviceptr,
    bytes: *mut usize,
    library: CUlibrary,
    name: *const c_char,
) -> Result<(), CUresult> {
    if dptr.is_null() && bytes.is_null() {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    // SAFETY: the caller's string, by the driver's contract.
    let name = unsafe { self::name(name)? };
    let state = match call.current() {
        Ok((mut state, context)) => {
            modules::module_of(&mut state, library, context)?;
            state
        }
        Err(_) => call.lock(),
    };
    let (address, size) = modules::managed(&state, library, &name)?;
    // SAFETY: the caller's pointers, by the driver's contract; either may be null.
    unsafe { put_both(dptr, bytes, address, size) }
}

/// Finds no unified function: by the manual, devices without CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS have none.
pub(super) unsafe fn cuLibraryGetUnifiedFunction(
    call: &Call<'_>,
    fptr: *mut *mut c_void,
    library: CUlibrary,
    symbol: *const c_char,
) -> Result<(), CUresult> {
    present(fptr)?;
    present(symbol)?;
    if !call.lock().code.libraries.contains_key(&library) {
        return Err(INVALID_HANDLE);
    }
    Err(CUresult::CUDA_ERROR_NOT_FOUND)
}

pub(super) unsafe fn cuKernelGetFunction(
    call: &Call<'_>,
    p_func: *mut CUfunction,
    kernel: CUkernel,
) -> Result<(), CUresult> {
    present(p_func)?;
    let (mut state, context) = call.current()?;
    let function = modules::function_of(&mut state, kernel, context)?;
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(p_func, function) }
}

pub(super) unsafe fn cuKernelGetLibrary(
    call: &Call<'_>,
    p_lib: *mut CUlibrary,
    kernel: CUkernel,
) -> Result<(), CUresult> {
    let library = call.lock().code.kernels.get(&kernel).ok_or(INVALID_HANDLE)?.library;
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(p_lib, library) }
}

pub(super) unsafe fn cuKernelGetName(
    call: &Call<'_>,
    name: *mut *const c_char,
    hfunc: CUkernel,
) -> Result<(), CUresult> {
    present(name)?;
    if hfunc.is_null() {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    let text = call.lock().code.kernels.get(&hfunc).ok_or(INVALID_HANDLE)?.name.as_ptr();
    // SAFETY: the caller's pointer, by the driver's contract. The name lives as long as the library.
    unsafe { put(name, text) }
}

pub(super) unsafe fn cuKernelGetParamInfo(
    call: &Call<'_>,
    kernel: CUkernel,
    param_index: usize,
    param_offset: *mut usize,
    param_size: *mut usize,
) -> Result<(), CUresult> {
    // SAFETY: both functions have the same contract; a kernel's handle is valid as a function's handle.
    unsafe { execution::cuFuncGetParamInfo(call, CUfunction(kernel.0), param_index, param_offset, param_size) }
}

pub(super) unsafe fn cuKernelGetParamCount(
    call: &Call<'_>,
    kernel: CUkernel,
    param_count: *mut usize,
) -> Result<(), CUresult> {
    // SAFETY: both functions have the same contract.
    unsafe { execution::cuFuncGetParamCount(call, CUfunction(kernel.0), param_count) }
}

pub(super) unsafe fn cuKernelGetAttribute(
    call: &Call<'_>,
    pi: *mut c_int,
    attrib: CUfunction_attribute,
    kernel: CUkernel,
    dev: CUdevice,
) -> Result<(), CUresult> {
    present(pi)?;
    let state = call.lock();
    state.device(dev)?;
    let value = attribute(call, &state.code.resolve_kernel(kernel)?, attrib)?;
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(pi, value) }
}

pub(super) unsafe fn cuKernelSetAttribute(
    call: &Call<'_>,
    attrib: CUfunction_attribute,
    val: c_int,
    kernel: CUkernel,
    dev: CUdevice,
) -> Result<(), CUresult> {
    let mut state = call.lock();
    state.device(dev)?;
    let resolved = state.code.resolve_kernel(kernel)?;
    let settings = set_attribute(call, &resolved, attrib, val)?;
    state.code.kernels.get_mut(&kernel).ok_or(INVALID_HANDLE)?.settings = settings;
    Ok(())
}

pub(super) unsafe fn cuKernelSetCacheConfig(
    call: &Call<'_>,
    kernel: CUkernel,
    config: CUfunc_cache,
    dev: CUdevice,
) -> Result<(), CUresult> {
    if config > CU_FUNC_CACHE_PREFER_EQUAL {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    let mut state = call.lock();
    state.device(dev)?;
    state.code.kernels.get_mut(&kernel).ok_or(INVALID_HANDLE)?.settings.cache_config = config;
    Ok(())
}
