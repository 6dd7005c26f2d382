//! Memory and events of other processes, which the manual has in device management.
//!
//! Runtime API: [device management](https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__DEVICE.html).

use crate::call::{present, put};
use crate::driver::cu;
use crate::memory::{address, pointer};
use crate::result::Result;
use crate::types::*;
use cuarray_abi::Api;
use std::ffi::{c_uint, c_void};

pub(crate) unsafe fn cudaIpcGetEventHandle(api: &Api, handle: *mut cudaIpcEventHandle_t, event: cudaEvent_t) -> Result {
    present(handle)?;
    cu!(api.cuIpcGetEventHandle(handle, event))
}

pub(crate) unsafe fn cudaIpcOpenEventHandle(
    api: &Api,
    event: *mut cudaEvent_t,
    handle: cudaIpcEventHandle_t,
) -> Result {
    present(event)?;
    cu!(api.cuIpcOpenEventHandle(event, handle))
}

pub(crate) unsafe fn cudaIpcGetMemHandle(api: &Api, handle: *mut cudaIpcMemHandle_t, dev_ptr: *mut c_void) -> Result {
    present(handle)?;
    cu!(api.cuIpcGetMemHandle(handle, address(dev_ptr)))
}

pub(crate) unsafe fn cudaIpcOpenMemHandle(
    api: &Api,
    dev_ptr: *mut *mut c_void,
    handle: cudaIpcMemHandle_t,
    flags: c_uint,
) -> Result {
    present(dev_ptr)?;
    let mut address = 0;
    cu!(api.cuIpcOpenMemHandle_v2(&raw mut address, handle, flags))?;
    // SAFETY: by the contract of this function.
    unsafe { put(dev_ptr, pointer(address)) }
}

pub(crate) unsafe fn cudaIpcCloseMemHandle(api: &Api, dev_ptr: *mut c_void) -> Result {
    cu!(api.cuIpcCloseMemHandle(address(dev_ptr)))
}
