//! Stream management.
//!
//! A stream is the driver's stream. The handles 0, 1 and 2 are the default streams, as for the driver.
//!
//! Runtime API: [stream management](https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__STREAM.html).

mod capture;

pub(crate) use capture::*;

use crate::call::present;
use crate::driver::cu;
use crate::memory::address;
use crate::result::{Result, cudaError_t};
use crate::types::*;
use cuarray_abi::{Api, CUresult, CUstream, CUstreamCallback};
use std::ffi::{c_int, c_uint, c_ulonglong, c_void};

pub(crate) unsafe fn cudaStreamCreate(api: &Api, p_stream: *mut cudaStream_t) -> Result {
    // SAFETY: by the contract of this function.
    unsafe { cudaStreamCreateWithFlags(api, p_stream, 0) }
}

pub(crate) unsafe fn cudaStreamCreateWithFlags(api: &Api, p_stream: *mut cudaStream_t, flags: c_uint) -> Result {
    present(p_stream)?;
    cu!(api.cuStreamCreate(p_stream, flags))
}

pub(crate) unsafe fn cudaStreamCreateWithPriority(
    api: &Api,
    p_stream: *mut cudaStream_t,
    flags: c_uint,
    priority: c_int,
) -> Result {
    present(p_stream)?;
    cu!(api.cuStreamCreateWithPriority(p_stream, flags, priority))
}

pub(crate) unsafe fn cudaStreamDestroy(api: &Api, stream: cudaStream_t) -> Result {
    cu!(api.cuStreamDestroy_v2(stream))
}

pub(crate) unsafe fn cudaStreamGetPriority(api: &Api, h_stream: cudaStream_t, priority: *mut c_int) -> Result {
    present(priority)?;
    cu!(api.cuStreamGetPriority(h_stream, priority))
}

pub(crate) unsafe fn cudaStreamGetFlags(api: &Api, h_stream: cudaStream_t, flags: *mut c_uint) -> Result {
    present(flags)?;
    cu!(api.cuStreamGetFlags(h_stream, flags))
}

pub(crate) unsafe fn cudaStreamGetId(api: &Api, h_stream: cudaStream_t, stream_id: *mut c_ulonglong) -> Result {
    present(stream_id)?;
    cu!(api.cuStreamGetId(h_stream, stream_id))
}

pub(crate) unsafe fn cudaStreamGetDevice(api: &Api, h_stream: cudaStream_t, device: *mut c_int) -> Result {
    present(device)?;
    cu!(api.cuStreamGetDevice(h_stream, device))
}

pub(crate) unsafe fn cudaCtxResetPersistingL2Cache(api: &Api) -> Result {
    cu!(api.cuCtxResetPersistingL2Cache())
}

pub(crate) unsafe fn cudaStreamWaitEvent(api: &Api, stream: cudaStream_t, event: cudaEvent_t, flags: c_uint) -> Result {
    cu!(api.cuStreamWaitEvent(stream, event, flags))
}

pub(crate) unsafe fn cudaStreamSynchronize(api: &Api, stream: cudaStream_t) -> Result {
    cu!(api.cuStreamSynchronize(stream))
}

pub(crate) unsafe fn cudaStreamQuery(api: &Api, stream: cudaStream_t) -> Result {
    cu!(api.cuStreamQuery(stream))
}

/// The driver calls the program's function itself: the codes that it passes have the runtime's numbers.
pub(crate) unsafe fn cudaStreamAddCallback(
    api: &Api,
    stream: cudaStream_t,
    callback: cudaStreamCallback_t,
    user_data: *mut c_void,
    flags: c_uint,
) -> Result {
    let callback = callback.ok_or(cudaError_t::cudaErrorInvalidValue)?;
    type Runtime = unsafe extern "C" fn(CUstream, cudaError_t, *mut c_void);
    type Driver = unsafe extern "C" fn(CUstream, CUresult, *mut c_void);
    // SAFETY: both types of code are transparent over the same integer.
    let callback: CUstreamCallback = Some(unsafe { std::mem::transmute::<Runtime, Driver>(callback) });
    cu!(api.cuStreamAddCallback(stream, callback, user_data, flags))
}

pub(crate) unsafe fn cudaStreamAttachMemAsync(
    api: &Api,
    stream: cudaStream_t,
    dev_ptr: *mut c_void,
    length: usize,
    flags: c_uint,
) -> Result {
    cu!(api.cuStreamAttachMemAsync(stream, address(dev_ptr), length, flags))
}

pub(crate) unsafe fn cudaStreamCopyAttributes(api: &Api, dst: cudaStream_t, src: cudaStream_t) -> Result {
    cu!(api.cuStreamCopyAttributes(dst, src))
}

/// Attributes have the numbers and the layout of the driver's.
pub(crate) unsafe fn cudaStreamGetAttribute(
    api: &Api,
    h_stream: cudaStream_t,
    attr: cudaLaunchAttributeID,
    value_out: *mut cudaLaunchAttributeValue,
) -> Result {
    present(value_out)?;
    cu!(api.cuStreamGetAttribute(h_stream, attr, value_out.cast()))
}

pub(crate) unsafe fn cudaStreamSetAttribute(
    api: &Api,
    h_stream: cudaStream_t,
    attr: cudaLaunchAttributeID,
    value: *const cudaLaunchAttributeValue,
) -> Result {
    present(value)?;
    cu!(api.cuStreamSetAttribute(h_stream, attr, value.cast()))
}
