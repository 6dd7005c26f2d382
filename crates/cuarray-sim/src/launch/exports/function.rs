//! Functions: their attributes, settings and parameters.

use super::{INVALID_HANDLE, INVALID_VALUE, SHARED, most_shared};
use crate::driver::Call;
use crate::objects::code::{ResolvedKernel, Settings};
use crate::parameters::Out;
use crate::state::State;
use cuarray_abi::*;
use std::ffi::{c_char, c_int, c_uint};

/// The value of an attribute of a function or kernel.
pub(crate) fn attribute(
    call: &Call<'_>,
    resolved: &ResolvedKernel,
    attribute: CUfunction_attribute,
) -> Result<c_int, CUresult> {
    let (major, minor) = call.driver.settings().compute_capability;
    let directives = resolved.program.functions()[resolved.number as usize].cluster;
    let value = match attribute {
        0 => resolved.max_threads(),
        1 => resolved.shared(),
        2 => u32::try_from(resolved.constant_bytes()).unwrap_or(u32::MAX),
        3 => resolved.local(),
        4 => resolved.registers(),
        5 => resolved.program.target(),
        6 => major * 10 + minor,
        7 => 0,
        8 => resolved.settings.max_dynamic_shared.unwrap_or(SHARED.saturating_sub(resolved.shared())),
        9 => return Ok(resolved.settings.carveout),
        10 => u32::from(directives.explicit && directives.size.is_none()),
        11..=13 => directives.size.unwrap_or(resolved.settings.cluster)[attribute as usize - 11],
        14 => u32::from(resolved.settings.non_portable_cluster),
        15 => return Ok(resolved.settings.cluster_policy),
        16 | 17 => 0,
        _ => return Err(INVALID_VALUE),
    };
    Ok(c_int::try_from(value).unwrap_or(c_int::MAX))
}

/// The settings with an attribute changed.
pub(crate) fn set_attribute(
    call: &Call<'_>,
    resolved: &ResolvedKernel,
    attribute: CUfunction_attribute,
    value: c_int,
) -> Result<Settings, CUresult> {
    let mut settings = resolved.settings;
    match attribute {
        8 => {
            let bytes = u32::try_from(value).map_err(|_| INVALID_VALUE)?;
            if bytes.checked_add(resolved.shared()).is_none_or(|total| total > most_shared(call)) {
                return Err(INVALID_VALUE);
            }
            settings.max_dynamic_shared = Some(bytes);
        }
        9 if (-1..=100).contains(&value) => settings.carveout = value,
        11..=13 => {
            if resolved.program.functions()[resolved.number as usize].cluster.size.is_some() {
                return Err(CUresult::CUDA_ERROR_NOT_PERMITTED);
            }
            settings.cluster[attribute as usize - 11] = u32::try_from(value).map_err(|_| INVALID_VALUE)?;
        }
        14 if (0..=1).contains(&value) => settings.non_portable_cluster = value == 1,
        15 if (0..=2).contains(&value) => settings.cluster_policy = value,
        _ => return Err(INVALID_VALUE),
    }
    Ok(settings)
}

pub(crate) fn cuFuncGetAttribute(
    call: &Call<'_>,
    pi: Out<'_, c_int>,
    attrib: CUfunction_attribute,
    hfunc: CUfunction,
) -> Result<(), CUresult> {
    pi.present()?;
    let resolved = call.current()?.0.code.resolve(hfunc)?;
    let value = attribute(call, &resolved, attrib)?;
    pi.put(value)
}

pub(crate) fn cuFuncSetAttribute(
    call: &Call<'_>,
    hfunc: CUfunction,
    attrib: CUfunction_attribute,
    value: c_int,
) -> Result<(), CUresult> {
    let (mut state, _) = call.current()?;
    let settings = set_attribute(call, &state.code.resolve(hfunc)?, attrib, value)?;
    change(&mut state, hfunc, |known| *known = settings)
}

/// Changes the settings of a function, or of a kernel whose handle was passed as a function's.
fn change(state: &mut State, handle: CUfunction, change: impl FnOnce(&mut Settings)) -> Result<(), CUresult> {
    if let Some(function) = state.code.functions.get_mut(&handle) {
        change(&mut function.settings);
        return Ok(());
    }
    change(&mut state.code.kernels.get_mut(&CUkernel(handle.0)).ok_or(INVALID_HANDLE)?.settings);
    Ok(())
}

pub(crate) fn cuFuncSetCacheConfig(call: &Call<'_>, hfunc: CUfunction, config: CUfunc_cache) -> Result<(), CUresult> {
    if config > CU_FUNC_CACHE_PREFER_EQUAL {
        return Err(INVALID_VALUE);
    }
    change(&mut call.current()?.0, hfunc, |settings| settings.cache_config = config)
}

/// Checks and discards the width of the banks, which changes no result. Devices since compute capability 5.0 ignore it.
pub(crate) fn cuFuncSetSharedMemConfig(
    call: &Call<'_>,
    hfunc: CUfunction,
    config: CUsharedconfig,
) -> Result<(), CUresult> {
    if config > 2 {
        return Err(INVALID_VALUE);
    }
    change(&mut call.current()?.0, hfunc, |_| {})
}

pub(crate) fn cuFuncGetModule(call: &Call<'_>, hmod: Out<'_, CUmodule>, hfunc: CUfunction) -> Result<(), CUresult> {
    let module = call.current()?.0.code.functions.get(&hfunc).ok_or(INVALID_HANDLE)?.module;
    hmod.put(module)
}

pub(crate) fn cuFuncGetName(call: &Call<'_>, name: Out<'_, *const c_char>, hfunc: CUfunction) -> Result<(), CUresult> {
    name.present()?;
    if hfunc.is_null() {
        return Err(INVALID_VALUE);
    }
    let state = call.lock();
    let text = match state.code.functions.get(&hfunc) {
        Some(function) => function.name.as_ptr(),
        None => state.code.kernels.get(&CUkernel(hfunc.0)).ok_or(INVALID_HANDLE)?.name.as_ptr(),
    };
    name.put(text)
}

pub(crate) fn cuFuncGetParamInfo(
    call: &Call<'_>,
    func: CUfunction,
    param_index: usize,
    param_offset: Out<'_, usize>,
    param_size: Out<'_, usize>,
) -> Result<(), CUresult> {
    // The manual is silent about the context; cuda.core's tests expect an error without one.
    let resolved = call.current()?.0.code.resolve(func)?;
    let parameter =
        resolved.program.functions()[resolved.number as usize].parameters.get(param_index).ok_or(INVALID_VALUE)?;
    param_offset.put(parameter.offset as usize)?;
    param_size.put_if_present(parameter.size as usize);
    Ok(())
}

pub(crate) fn cuFuncGetParamCount(
    call: &Call<'_>,
    func: CUfunction,
    param_count: Out<'_, usize>,
) -> Result<(), CUresult> {
    let resolved = call.lock().code.resolve(func)?;
    let count = resolved.program.functions()[resolved.number as usize].parameters.len();
    param_count.put(count)
}

/// `CU_FUNCTION_LOADING_STATE_LOADED`: code is loaded with its module.
const LOADED: c_uint = 1;

pub(crate) fn cuFuncIsLoaded(call: &Call<'_>, state: Out<'_, c_uint>, function: CUfunction) -> Result<(), CUresult> {
    call.lock().code.resolve(function)?;
    state.put(LOADED)
}

pub(crate) fn cuFuncLoad(call: &Call<'_>, function: CUfunction) -> Result<(), CUresult> {
    call.lock().code.resolve(function).map(|_| ())
}
