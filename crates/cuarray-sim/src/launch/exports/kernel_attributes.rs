//! Parameters and attributes of a library's kernels, which are those of its functions.
//!
//! Driver API: [library management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__LIBRARY.html).

use super::{INVALID_HANDLE, attribute, cuFuncGetParamCount, cuFuncGetParamInfo, set_attribute};
use crate::driver::Call;
use crate::parameters::Out;
use cuarray_abi::*;
use std::ffi::c_int;

pub(crate) fn cuKernelGetParamInfo(
    call: &Call<'_>,
    kernel: CUkernel,
    param_index: usize,
    param_offset: Out<'_, usize>,
    param_size: Out<'_, usize>,
) -> Result<(), CUresult> {
    // A kernel's handle is valid as a function's handle.
    cuFuncGetParamInfo(call, CUfunction(kernel.0), param_index, param_offset, param_size)
}

pub(crate) fn cuKernelGetParamCount(
    call: &Call<'_>,
    kernel: CUkernel,
    param_count: Out<'_, usize>,
) -> Result<(), CUresult> {
    cuFuncGetParamCount(call, CUfunction(kernel.0), param_count)
}

pub(crate) fn cuKernelGetAttribute(
    call: &Call<'_>,
    pi: Out<'_, c_int>,
    attrib: CUfunction_attribute,
    kernel: CUkernel,
    dev: CUdevice,
) -> Result<(), CUresult> {
    pi.present()?;
    let state = call.lock();
    state.device(dev)?;
    let value = attribute(call, &state.code.resolve_kernel(kernel)?, attrib)?;
    pi.put(value)
}

pub(crate) fn cuKernelSetAttribute(
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
