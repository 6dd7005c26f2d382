//! Libraries and their kernels.
//!
//! Driver API: [library management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__LIBRARY.html).

use crate::driver::Call;
use crate::execution::drain;
use crate::module::exports::module::{kernels, put_both};
use crate::module::jit::{Options, program_at, program_in};
use crate::module::loading;
use crate::parameters::{In, Out, Text};
use cuarray_abi::*;
use std::ffi::{c_char, c_uint, c_void};

const INVALID_HANDLE: CUresult = CUresult::CUDA_ERROR_INVALID_HANDLE;

pub(crate) fn cuLibraryLoadData(
    call: &Call<'_>,
    library: Out<'_, CUlibrary>,
    code: In<'_, c_void>,
    jit_options: In<'_, CUjit_option>,
    jit_options_values: In<'_, *mut c_void>,
    num_jit_options: c_uint,
    _library_options: In<'_, CUlibraryOption>,
    _library_option_values: In<'_, *mut c_void>,
    _num_library_options: c_uint,
) -> Result<(), CUresult> {
    library.present()?;
    // SAFETY: the manual gives the lists this length.
    let options = unsafe { Options::read(num_jit_options, jit_options, jit_options_values)? };
    let program = program_at(call, code, &options)?;
    library.put(loading::add_library(&mut call.lock(), program))
}

pub(crate) fn cuLibraryLoadFromFile(
    call: &Call<'_>,
    library: Out<'_, CUlibrary>,
    file_name: Text<'_>,
    jit_options: In<'_, CUjit_option>,
    jit_options_values: In<'_, *mut c_void>,
    num_jit_options: c_uint,
    _library_options: In<'_, CUlibraryOption>,
    _library_option_values: In<'_, *mut c_void>,
    _num_library_options: c_uint,
) -> Result<(), CUresult> {
    library.present()?;
    // SAFETY: the manual gives the lists this length.
    let options = unsafe { Options::read(num_jit_options, jit_options, jit_options_values)? };
    let program = program_in(call, file_name, &options)?;
    library.put(loading::add_library(&mut call.lock(), program))
}

/// Runs pending work first, which may include the library's kernels.
pub(crate) fn cuLibraryUnload(call: &Call<'_>, library: CUlibrary) -> Result<(), CUresult> {
    let mut state = call.lock();
    let loaded = state.code.libraries.get(&library).ok_or(INVALID_HANDLE)?;
    let contexts: Vec<CUcontext> = loaded.modules.keys().copied().collect();
    for context in contexts {
        state = drain::drain_context(call.driver, state, context);
    }
    loading::unload_library(&mut state, library)
}

pub(crate) fn cuLibraryGetKernel(
    call: &Call<'_>,
    p_kernel: Out<'_, CUkernel>,
    library: CUlibrary,
    name: Text<'_>,
) -> Result<(), CUresult> {
    p_kernel.present()?;
    let name = name.name()?;
    p_kernel.put(call.lock().code.kernel(library, &name)?)
}

pub(crate) fn cuLibraryGetKernelCount(call: &Call<'_>, count: Out<'_, c_uint>, lib: CUlibrary) -> Result<(), CUresult> {
    let kernels = call.lock().code.libraries.get(&lib).ok_or(INVALID_HANDLE)?.program.kernels().len();
    count.put(kernels as c_uint)
}

pub(crate) fn cuLibraryEnumerateKernels(
    call: &Call<'_>,
    kernels: Out<'_, CUkernel>,
    num_kernels: c_uint,
    lib: CUlibrary,
) -> Result<(), CUresult> {
    kernels.present()?;
    let mut state = call.lock();
    let names = self::kernels(&state.code.libraries.get(&lib).ok_or(INVALID_HANDLE)?.program);
    let names = names.iter().take(num_kernels as usize);
    let found = names.map(|name| state.code.kernel(lib, name)).collect::<Result<Vec<_>, _>>()?;
    // SAFETY: by the manual, the list has `num_kernels` elements, and no more are written.
    unsafe { kernels.put_all(found) }
}

pub(crate) fn cuLibraryGetModule(
    call: &Call<'_>,
    p_mod: Out<'_, CUmodule>,
    library: CUlibrary,
) -> Result<(), CUresult> {
    p_mod.present()?;
    let (mut state, context) = call.current()?;
    let module = loading::module_of(&mut state, library, context)?;
    p_mod.put(module)
}

pub(crate) fn cuLibraryGetGlobal(
    call: &Call<'_>,
    dptr: Out<'_, CUdeviceptr>,
    bytes: Out<'_, usize>,
    library: CUlibrary,
    name: Text<'_>,
) -> Result<(), CUresult> {
    let name = name.name()?;
    let (mut state, context) = call.current()?;
    let module = loading::module_of(&mut state, library, context)?;
    let (address, size) = loading::global(&state, module, &name)?;
    put_both(dptr, bytes, address, size)
}

/// Loads the library into the current context first, if there is one: by the manual, managed memory is registered when the
/// library is loaded into at least one context.
pub(crate) fn cuLibraryGetManaged(
    call: &Call<'_>,
    dptr: Out<'_, CUdeviceptr>,
    bytes: Out<'_, usize>,
    library: CUlibrary,
    name: Text<'_>,
) -> Result<(), CUresult> {
    if dptr.is_null() && bytes.is_null() {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    let name = name.name()?;
    let state = match call.current() {
        Ok((mut state, context)) => {
            loading::module_of(&mut state, library, context)?;
            state
        }
        Err(_) => call.lock(),
    };
    let (address, size) = loading::managed(&state, library, &name)?;
    put_both(dptr, bytes, address, size)
}

/// Finds no unified function: by the manual, devices without CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS have none.
pub(crate) fn cuLibraryGetUnifiedFunction(
    call: &Call<'_>,
    fptr: Out<'_, *mut c_void>,
    library: CUlibrary,
    symbol: Text<'_>,
) -> Result<(), CUresult> {
    fptr.present()?;
    symbol.present()?;
    if !call.lock().code.libraries.contains_key(&library) {
        return Err(INVALID_HANDLE);
    }
    Err(CUresult::CUDA_ERROR_NOT_FOUND)
}

pub(crate) fn cuKernelGetFunction(
    call: &Call<'_>,
    p_func: Out<'_, CUfunction>,
    kernel: CUkernel,
) -> Result<(), CUresult> {
    p_func.present()?;
    let (mut state, context) = call.current()?;
    let function = loading::function_of(&mut state, kernel, context)?;
    p_func.put(function)
}

pub(crate) fn cuKernelGetLibrary(call: &Call<'_>, p_lib: Out<'_, CUlibrary>, kernel: CUkernel) -> Result<(), CUresult> {
    let library = call.lock().code.kernels.get(&kernel).ok_or(INVALID_HANDLE)?.library;
    p_lib.put(library)
}

pub(crate) fn cuKernelGetName(call: &Call<'_>, name: Out<'_, *const c_char>, hfunc: CUkernel) -> Result<(), CUresult> {
    name.present()?;
    if hfunc.is_null() {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    let text = call.lock().code.kernels.get(&hfunc).ok_or(INVALID_HANDLE)?.name.as_ptr();
    name.put(text)
}

pub(crate) fn cuKernelSetCacheConfig(
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
