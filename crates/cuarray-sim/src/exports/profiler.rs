//! Profiler control: starting and stopping succeed, although there is no profiler.
//!
//! Driver API: [profiler control](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__PROFILER.html).

use super::*;

pub(super) unsafe fn cuProfilerStart(call: &Call<'_>) -> Result<(), CUresult> {
    drop(call.current()?);
    Ok(())
}

pub(super) unsafe fn cuProfilerStop(call: &Call<'_>) -> Result<(), CUresult> {
    drop(call.current()?);
    Ok(())
}
