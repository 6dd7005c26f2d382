//! Profiler control.
//!
//! Runtime API: [profiler control](https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__PROFILER.html).

use crate::call::Answer;
use crate::driver::cu;
use cuarray_abi::Api;

pub(crate) unsafe fn cudaProfilerStart(api: &Api) -> Answer {
    cu!(api.cuProfilerStart())
}

pub(crate) unsafe fn cudaProfilerStop(api: &Api) -> Answer {
    cu!(api.cuProfilerStop())
}
