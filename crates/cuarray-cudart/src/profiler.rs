//! Profiler control.
//!
//! Runtime API: [profiler control](https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__PROFILER.html).

use crate::driver::cu;
use crate::result::Result;
use cuarray_abi::Api;

pub(crate) unsafe fn cudaProfilerStart(api: &Api) -> Result {
    cu!(api.cuProfilerStart())
}

pub(crate) unsafe fn cudaProfilerStop(api: &Api) -> Result {
    cu!(api.cuProfilerStop())
}
