//! Profiler control: starting and stopping succeed, although there is no profiler, and a configuration is refused.
//!
//! Driver API: [profiler control](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__PROFILER.html).

use crate::driver::Call;
use crate::parameters::Text;
use cuarray_abi::*;
use std::ffi::c_uint;
pub(crate) fn cuProfilerStart(call: &Call<'_>) -> Result<(), CUresult> {
    drop(call.current()?);
    Ok(())
}

pub(crate) fn cuProfilerStop(call: &Call<'_>) -> Result<(), CUresult> {
    drop(call.current()?);
    Ok(())
}

/// Refuses to configure a profiler, because none runs.
pub(crate) fn cuProfilerInitialize(
    call: &Call<'_>,
    config_file: Text<'_>,
    output_file: Text<'_>,
    output_mode: c_uint,
) -> Result<(), CUresult> {
    config_file.present()?;
    output_file.present()?;
    // The modes are pairs of keys and values, and comma-separated values.
    if output_mode > 1 {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    drop(call.current()?);
    Err(CUresult::CUDA_ERROR_PROFILER_DISABLED)
}
