//! Modules.
//!
//! Driver API: [module management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MODULE.html). PTX is
//! resolved when it is loaded, in every loading mode, so that errors appear before the first launch.

use crate::driver::Call;
use crate::execution::drain;
use crate::module::jit::{Options, program_at, program_in};
use crate::module::loading;
use crate::parameters::{In, Out, Text};
use cuarray_abi::*;
use cuarray_ptx::Program;
use std::ffi::{c_uint, c_void};
use std::sync::Arc;

const INVALID_HANDLE: CUresult = CUresult::CUDA_ERROR_INVALID_HANDLE;

/// Loads a program into the current context.
fn load(call: &Call<'_>, module: Out<'_, CUmodule>, program: Arc<Program>) -> Result<(), CUresult> {
    let (mut state, context) = call.current()?;
    let handle = loading::load_module(&mut state, context, program, None)?;
    module.put(handle)
}

pub(crate) fn cuModuleLoad(call: &Call<'_>, module: Out<'_, CUmodule>, fname: Text<'_>) -> Result<(), CUresult> {
    module.present()?;
    drop(call.current()?);
    load(call, module, program_in(call, fname, &Options::default())?)
}

pub(crate) fn cuModuleLoadData(
    call: &Call<'_>,
    module: Out<'_, CUmodule>,
    image: In<'_, c_void>,
) -> Result<(), CUresult> {
    module.present()?;
    drop(call.current()?);
    load(call, module, program_at(call, image, &Options::default())?)
}

pub(crate) fn cuModuleLoadDataEx(
    call: &Call<'_>,
    module: Out<'_, CUmodule>,
    image: In<'_, c_void>,
    num_options: c_uint,
    options: In<'_, CUjit_option>,
    option_values: In<'_, *mut c_void>,
) -> Result<(), CUresult> {
    module.present()?;
    drop(call.current()?);
    // SAFETY: the manual gives the lists this length.
    let options = unsafe { Options::read(num_options, options, option_values)? };
    load(call, module, program_at(call, image, &options)?)
}

pub(crate) fn cuModuleLoadFatBinary(
    call: &Call<'_>,
    module: Out<'_, CUmodule>,
    fat_cubin: In<'_, c_void>,
) -> Result<(), CUresult> {
    cuModuleLoadData(call, module, fat_cubin)
}

/// Runs the pending work of the module's context first, which may include the module's kernels.
pub(crate) fn cuModuleUnload(call: &Call<'_>, hmod: CUmodule) -> Result<(), CUresult> {
    let (state, _) = call.current()?;
    let module = state.code.modules.get(&hmod).filter(|module| module.library.is_none()).ok_or(INVALID_HANDLE)?;
    let context = module.context;
    let mut state = drain::drain_context(call.driver, state, context);
    loading::unload_module(&mut state, hmod)
}

pub(crate) fn cuModuleGetFunction(
    call: &Call<'_>,
    hfunc: Out<'_, CUfunction>,
    hmod: CUmodule,
    name: Text<'_>,
) -> Result<(), CUresult> {
    hfunc.present()?;
    let name = name.name()?;
    let (mut state, _) = call.current()?;
    hfunc.put(state.code.function(hmod, &name)?)
}

pub(crate) fn cuModuleGetFunctionCount(
    call: &Call<'_>,
    count: Out<'_, c_uint>,
    module: CUmodule,
) -> Result<(), CUresult> {
    let count_of = call.lock().code.modules.get(&module).ok_or(INVALID_HANDLE)?.program.kernels().len();
    count.put(count_of as c_uint)
}

pub(crate) fn cuModuleEnumerateFunctions(
    call: &Call<'_>,
    functions: Out<'_, CUfunction>,
    num_functions: c_uint,
    module: CUmodule,
) -> Result<(), CUresult> {
    functions.present()?;
    let (mut state, _) = call.current()?;
    let names = kernels(&state.code.modules.get(&module).ok_or(INVALID_HANDLE)?.program);
    let names = names.iter().take(num_functions as usize);
    let found = names.map(|name| state.code.function(module, name)).collect::<Result<Vec<_>, _>>()?;
    // SAFETY: by the manual, the list has `num_functions` elements, and no more are written.
    unsafe { functions.put_all(found) }
}

/// The names of a program's kernels, in source order.
pub(crate) fn kernels(program: &Program) -> Vec<String> {
    let mut kernels: Vec<(&u32, &String)> = program.kernels().iter().map(|(name, number)| (number, name)).collect();
    kernels.sort_unstable();
    kernels.into_iter().map(|(_, name)| name.clone()).collect()
}

pub(crate) fn cuModuleGetGlobal_v2(
    call: &Call<'_>,
    dptr: Out<'_, CUdeviceptr>,
    bytes: Out<'_, usize>,
    hmod: CUmodule,
    name: Text<'_>,
) -> Result<(), CUresult> {
    let name = name.name()?;
    let (address, size) = loading::global(&call.current()?.0, hmod, &name)?;
    put_both(dptr, bytes, address, size)
}

/// Writes an address and a size; null outputs are skipped.
pub(crate) fn put_both(
    dptr: Out<'_, CUdeviceptr>,
    bytes: Out<'_, usize>,
    address: u64,
    size: u64,
) -> Result<(), CUresult> {
    dptr.put_if_present(address);
    bytes.put_if_present(size as usize);
    Ok(())
}

pub(crate) fn cuModuleGetLoadingMode(_: &Call<'_>, mode: Out<'_, CUmoduleLoadingMode>) -> Result<(), CUresult> {
    mode.put(CU_MODULE_EAGER_LOADING)
}
