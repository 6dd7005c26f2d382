//! Event management.
//!
//! `cudaEventQuery` returns `cudaErrorNotReady` for pending work, which never becomes the last error.
//!
//! Runtime API: [event management](https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__EVENT.html).

use crate::call::present;
use crate::driver::cu;
use crate::result::Result;
use crate::types::*;
use cuarray_abi::Api;
use std::ffi::c_uint;

pub(crate) unsafe fn cudaEventCreate(api: &Api, event: *mut cudaEvent_t) -> Result {
    // SAFETY: by the contract of this function.
    unsafe { cudaEventCreateWithFlags(api, event, 0) }
}

pub(crate) unsafe fn cudaEventCreateWithFlags(api: &Api, event: *mut cudaEvent_t, flags: c_uint) -> Result {
    present(event)?;
    cu!(api.cuEventCreate(event, flags))
}

pub(crate) unsafe fn cudaEventRecord(api: &Api, event: cudaEvent_t, stream: cudaStream_t) -> Result {
    cu!(api.cuEventRecord(event, stream))
}

pub(crate) unsafe fn cudaEventRecordWithFlags(
    api: &Api,
    event: cudaEvent_t,
    stream: cudaStream_t,
    flags: c_uint,
) -> Result {
    cu!(api.cuEventRecordWithFlags(event, stream, flags))
}

pub(crate) unsafe fn cudaEventQuery(api: &Api, event: cudaEvent_t) -> Result {
    cu!(api.cuEventQuery(event))
}

pub(crate) unsafe fn cudaEventSynchronize(api: &Api, event: cudaEvent_t) -> Result {
    cu!(api.cuEventSynchronize(event))
}

pub(crate) unsafe fn cudaEventDestroy(api: &Api, event: cudaEvent_t) -> Result {
    cu!(api.cuEventDestroy_v2(event))
}

/// The time between two events. A driver before CUDA 12.8 has the first version only.
pub(crate) unsafe fn cudaEventElapsedTime(api: &Api, ms: *mut f32, start: cudaEvent_t, end: cudaEvent_t) -> Result {
    present(ms)?;
    if api.cuEventElapsedTime_v2.is_some() {
        return cu!(api.cuEventElapsedTime_v2(ms, start, end));
    }
    cu!(api.cuEventElapsedTime(ms, start, end))
}

pub(crate) unsafe fn cudaEventElapsedTime_v2(api: &Api, ms: *mut f32, start: cudaEvent_t, end: cudaEvent_t) -> Result {
    // SAFETY: by the contract of this function.
    unsafe { cudaEventElapsedTime(api, ms, start, end) }
}
