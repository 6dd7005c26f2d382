//! Device management.
//!
//! `cudaGetDevice` creates no context; `cudaSetDevice` does.
//!
//! Runtime API: [device management](https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__DEVICE.html).

use crate::call::{Answer, present, put};
use crate::context;
use crate::driver::cu;
use crate::result::cudaError_t;
use crate::thread;
use crate::types::*;
use cuarray_abi::Api;
use std::ffi::c_int;

pub(crate) unsafe fn cudaDeviceSynchronize(api: &Api) -> Answer {
    cu!(api.cuCtxSynchronize())
}

pub(crate) unsafe fn cudaDeviceReset(api: &Api) -> Answer {
    context::reset(api, context::device(api)?)?;
    thread::with(|thread| thread.last.set(cudaError_t::cudaSuccess));
    Ok(())
}

pub(crate) unsafe fn cudaGetDeviceCount(api: &Api, count: *mut c_int) -> Answer {
    present(count)?;
    cu!(api.cuDeviceGetCount(count))
}

pub(crate) unsafe fn cudaGetDevice(api: &Api, device: *mut c_int) -> Answer {
    // SAFETY: by the contract of this function.
    unsafe { put(device, context::device(api)?) }
}

pub(crate) unsafe fn cudaSetDevice(api: &Api, device: c_int) -> Answer {
    context::set_device(api, device)
}

pub(crate) unsafe fn cudaDeviceGetAttribute(
    api: &Api,
    value: *mut c_int,
    attr: cudaDeviceAttr,
    device: c_int,
) -> Answer {
    present(value)?;
    cu!(api.cuDeviceGetAttribute(value, attr as _, device))
}
