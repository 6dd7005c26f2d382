//! Modules.
//!
//! Driver API: [module management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MODULE.html). PTX is
//! resolved when it is loaded, in every loading mode, so that errors appear before the first launch.

use super::jit::{Options, program_at, program_in};
use super::*;
use crate::execution::drain;
use crate::parameters::name;
use crate::work::modules;
use cuarray_ptx::Program;
use std::sync::Arc;

const INVALID_HANDLE: CUresult = CUresult::CUDA_ERROR_INVALID_HANDLE;

/// Loads a program into the current context.
unsafe fn load(call: &Call<'_>, module: *mut CUmodule, program: Arc<Program>) -> Result<(), CUresult> {
    let (mut state, context) = call.current()?;
    let handle = modules::load_module(&mut state, context, program, None)?;
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(module, handle) }
}

pub(super) unsafe fn cuModuleLoad(
    call: &Call<'_>,
    module: *mut CUmodule,
    fname: *const c_char,
) -> Result<(), CUresult> {
    present(module)?;
    drop(call.current()?);
    // SAFETY: the caller's string, by the driver's contract.
    unsafe { load(call, module, program_in(call, fname, &Options::default())?) }
}

pub(super) unsafe fn cuModuleLoadData(
    call: &Call<'_>,
    module: *mut CUmodule,
    image: *const c_void,
) -> Result<(), CUresult> {
    present(module)?;
    drop(call.current()?);
    // SAFETY: the caller's image, by the driver's contract.
    unsafe { load(call, module, program_at(call, image, &Options::default())?) }
}

pub(super) unsafe fn cuModuleLoadDataEx(
    call: &Call<'_>,
    module: *mut CUmodule,
    image: *const c_void,
    num_options: c_uint,
    options: *mut CUjit_option,
    option_values: *mut *mut c_void,
) -> Result<(), CUresult> {
    present(module)?;
    drop(call.current()?);
    // SAFETY: the caller's image and arrays, by the driver's contract.
    unsafe {
        let options = Options::read(num_options, options, option_values)?;
        load(call, module, program_at(call, image, &options)?)
    }
}

pub(super) unsafe fn cuModuleLoadFatBinary(
    call: &Call<'_>,
    module: *mut CUmodule,
    fat_cubin: *const c_void,
) -> Result<(), CUresult> {
    // SAFETY: both functions have the same contract.
    unsafe { cuModuleLoadData(call, module, fat_cubin) }
}

/// Runs the pending work of the module's context first, which may include the module's kernels.
pub(super) unsafe fn cuModuleUnload(call: &Call<'_>, hmod: CUmodule) -> Result<(), CUresult> {
    let (state, _) = call.current()?;
    let module = state.code.modules.get(&hmod).filter(|module| module.library.is_none()).ok_or(INVALID_HANDLE)?;
    let context = module.context;
    let mut state = drain::drain_context(call.driver, state, context);
    modules::unload_module(&mut state, hmod)
}

pub(super) unsafe fn cuModuleGetFunction(
    call: &Call<'_>,
    hfunc: *mut CUfunction,
    hmod: CUmodule,
    name: *const c_char,
) -> Result<(), CUresult> {
    present(hfunc)?;
    // SAFETY: the caller's string and pointer, by the driver's contract.
    unsafe {
        let name = parameters::name(name)?;
        let (mut state, _) = call.current()?;
        put(hfunc, state.code.function(hmod, &name)?)
    }
}

pub(super) unsafe fn cuModuleGetFunctionCount(
    call: &Call<'_>,
    count: *mut c_uint,
    module: CUmodule,
) -> Result<(), CUresult> {
    let count_of = call.lock().code.modules.get(&module).ok_or(INVALID_HANDLE)?.program.kernels().len();
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(count, count_of as c_uint) }
}

pub(super) unsafe fn cuModuleEnumerateFunctions(
    call: &Call<'_>,
    functions: *mut CUfunction,
    num_functions: c_uint,
    module: CUmodule,
) -> Result<(), CUresult> {
    present(functions)?;
    let (mut state, _) = call.current()?;
    let names = kernels(&state.code.modules.get(&module).ok_or(INVALID_HANDLE)?.program);
    for (index, name) in names.iter().take(num_functions as usize).enumerate() {
        let function = state.code.function(module, name)?;
        // SAFETY: the caller's array of `num_functions` elements, by the driver's contract.
        unsafe { put(functions.add(index), function)? };
    }
    Ok(())
}

/// The names of a program's kernels, in source order.
pub(super) fn kernels(program: &Program) -> Vec<String> {
    let mut kernels: Vec<(&u32, &String)> = program.kernels().iter().map(|(name, number)| (number, name)).collect();
    kernels.sort_unstable();
    kernels.into_iter().map(|(_, name)| name.clone()).collect()
}

pub(super) unsafe fn cuModuleGetGlobal_v2(
    call: &Call<'_>,
    dptr: *mut CUdeviceptr,
    bytes: *mut usize,
    hmod: CUmodule,
    name: *const c_char,
) -> Result<(), CUresult> {
    // SAFETY: the caller's string, by the driver's contract.
    let name = unsafe { self::name(name)? };
    let (address, size) = modules::global(&call.current()?.0, hmod, &name)?;
    // SAFETY: the caller's pointers, by the driver's contract; either may be null.
    unsafe { put_both(dptr, bytes, address, size) }
}

/// Writes an address and a size; null outputs are skipped.
///
/// # Safety
/// The pointers are null or writable.
pub(super) unsafe fn put_both(
    dptr: *mut CUdeviceptr,
    bytes: *mut usize,
    address: u64,
    size: u64,
) -> Result<(), CUresult> {
    // SAFETY: this function's contract.
    unsafe {
        if !dptr.is_null() {
            put(dptr, address)?;
        }
        if !bytes.is_null() {
            put(bytes, size as usize)?;
        }
    }
    Ok(())
}

pub(super) unsafe fn cuModuleGetLoadingMode(_: &Call<'_>, mode: *mut CUmoduleLoadingMode) -> Result<(), CUresult> {
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(mode, CU_MODULE_EAGER_LOADING) }
}
