//! Copies and fills of linear memory.
//!
//! The direction selects the driver's function. `cudaMemcpyDefault` and a copy within the host let the driver find out
//! where each pointer lies.
//!
//! Runtime API: [memory management](https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__MEMORY.html).

use crate::call::Answer;
use crate::driver::cu;
use crate::memory::address;
use crate::result::cudaError_t;
use crate::types::*;
use cuarray_abi::Api;
use std::ffi::{c_int, c_void};

pub(crate) const HOST_TO_HOST: cudaMemcpyKind = 0;
pub(crate) const HOST_TO_DEVICE: cudaMemcpyKind = 1;
pub(crate) const DEVICE_TO_HOST: cudaMemcpyKind = 2;
pub(crate) const DEVICE_TO_DEVICE: cudaMemcpyKind = 3;
pub(crate) const DEFAULT: cudaMemcpyKind = 4;

pub(crate) unsafe fn cudaMemcpy(
    api: &Api,
    dst: *mut c_void,
    src: *const c_void,
    count: usize,
    kind: cudaMemcpyKind,
) -> Answer {
    if kind > DEFAULT {
        return Err(cudaError_t::cudaErrorInvalidMemcpyDirection);
    }
    if count == 0 {
        return Ok(());
    }
    match kind {
        HOST_TO_DEVICE => cu!(api.cuMemcpyHtoD_v2(address(dst), src, count)),
        DEVICE_TO_HOST => cu!(api.cuMemcpyDtoH_v2(dst, address(src), count)),
        DEVICE_TO_DEVICE => cu!(api.cuMemcpyDtoD_v2(address(dst), address(src), count)),
        _ => cu!(api.cuMemcpy(address(dst), address(src), count)),
    }
}

pub(crate) unsafe fn cudaMemcpyAsync(
    api: &Api,
    dst: *mut c_void,
    src: *const c_void,
    count: usize,
    kind: cudaMemcpyKind,
    stream: cudaStream_t,
) -> Answer {
    match kind {
        HOST_TO_DEVICE => cu!(api.cuMemcpyHtoDAsync_v2(address(dst), src, count, stream)),
        DEVICE_TO_HOST => cu!(api.cuMemcpyDtoHAsync_v2(dst, address(src), count, stream)),
        DEVICE_TO_DEVICE => cu!(api.cuMemcpyDtoDAsync_v2(address(dst), address(src), count, stream)),
        HOST_TO_HOST | DEFAULT => cu!(api.cuMemcpyAsync(address(dst), address(src), count, stream)),
        _ => Err(cudaError_t::cudaErrorInvalidMemcpyDirection),
    }
}

pub(crate) unsafe fn cudaMemset(api: &Api, dev_ptr: *mut c_void, value: c_int, count: usize) -> Answer {
    cu!(api.cuMemsetD8_v2(address(dev_ptr), value.to_le_bytes()[0], count))
}

pub(crate) unsafe fn cudaMemsetAsync(
    api: &Api,
    dev_ptr: *mut c_void,
    value: c_int,
    count: usize,
    stream: cudaStream_t,
) -> Answer {
    cu!(api.cuMemsetD8Async(address(dev_ptr), value.to_le_bytes()[0], count, stream))
}
