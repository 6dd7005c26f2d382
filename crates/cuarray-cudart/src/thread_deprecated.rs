//! The functions `cudaThread*` of CUDA 12, which are older names of functions of the device.
//!
//! Runtime API: [thread management](https://docs.nvidia.com/cuda/archive/12.9.1/cuda-runtime-api/group__CUDART__THREAD__DEPRECATED.html).

use crate::device;
use crate::result::Result;
use crate::types::*;
use cuarray_abi::Api;

pub(crate) unsafe fn cudaThreadExit(api: &Api) -> Result {
    // SAFETY: by the contract of this function.
    unsafe { device::cudaDeviceReset(api) }
}

pub(crate) unsafe fn cudaThreadSynchronize(api: &Api) -> Result {
    // SAFETY: by the contract of this function.
    unsafe { device::cudaDeviceSynchronize(api) }
}

pub(crate) unsafe fn cudaThreadSetLimit(api: &Api, limit: cudaLimit, value: usize) -> Result {
    // SAFETY: by the contract of this function.
    unsafe { device::cudaDeviceSetLimit(api, limit, value) }
}

pub(crate) unsafe fn cudaThreadGetLimit(api: &Api, p_value: *mut usize, limit: cudaLimit) -> Result {
    // SAFETY: by the contract of this function.
    unsafe { device::cudaDeviceGetLimit(api, p_value, limit) }
}

pub(crate) unsafe fn cudaThreadGetCacheConfig(api: &Api, p_cache_config: *mut cudaFuncCache) -> Result {
    // SAFETY: by the contract of this function.
    unsafe { device::cudaDeviceGetCacheConfig(api, p_cache_config) }
}

pub(crate) unsafe fn cudaThreadSetCacheConfig(api: &Api, cache_config: cudaFuncCache) -> Result {
    // SAFETY: by the contract of this function.
    unsafe { device::cudaDeviceSetCacheConfig(api, cache_config) }
}
