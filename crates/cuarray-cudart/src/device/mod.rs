//! Device management.
//!
//! `cudaGetDevice` creates no context; `cudaSetDevice` does.
//!
//! Runtime API: [device management](https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__DEVICE.html).

mod notifications;
mod properties;

pub(crate) use notifications::*;
pub(crate) use properties::*;

use crate::call::{present, put};
use crate::channel;
use crate::context;
use crate::driver::cu;
use crate::result::{Result, cudaError_t};
use crate::thread;
use crate::types::*;
use cuarray_abi::Api;
use std::ffi::{c_char, c_int, c_uint};

pub(crate) unsafe fn cudaDeviceSynchronize(api: &Api) -> Result {
    cu!(api.cuCtxSynchronize())
}

pub(crate) unsafe fn cudaDeviceReset(api: &Api) -> Result {
    context::reset(api, context::device(api)?)?;
    thread::with(|thread| thread.last.set(cudaError_t::cudaSuccess));
    Ok(())
}

pub(crate) unsafe fn cudaGetDeviceCount(api: &Api, count: *mut c_int) -> Result {
    present(count)?;
    cu!(api.cuDeviceGetCount(count))
}

pub(crate) unsafe fn cudaGetDevice(api: &Api, device: *mut c_int) -> Result {
    // SAFETY: by the contract of this function.
    unsafe { put(device, context::device(api)?) }
}

pub(crate) unsafe fn cudaSetDevice(api: &Api, device: c_int) -> Result {
    context::set_device(api, device)
}

pub(crate) unsafe fn cudaDeviceGetAttribute(
    api: &Api,
    value: *mut c_int,
    attr: cudaDeviceAttr,
    device: c_int,
) -> Result {
    present(value)?;
    cu!(api.cuDeviceGetAttribute(value, attr as _, device))
}

pub(crate) unsafe fn cudaDeviceGetByPCIBusId(api: &Api, device: *mut c_int, pci_bus_id: *const c_char) -> Result {
    present(device)?;
    cu!(api.cuDeviceGetByPCIBusId(device, pci_bus_id))
}

pub(crate) unsafe fn cudaDeviceGetPCIBusId(api: &Api, pci_bus_id: *mut c_char, len: c_int, device: c_int) -> Result {
    cu!(api.cuDeviceGetPCIBusId(pci_bus_id, len, device))
}

pub(crate) unsafe fn cudaDeviceSetLimit(api: &Api, limit: cudaLimit, value: usize) -> Result {
    cu!(api.cuCtxSetLimit(limit, value))
}

pub(crate) unsafe fn cudaDeviceGetLimit(api: &Api, p_value: *mut usize, limit: cudaLimit) -> Result {
    present(p_value)?;
    cu!(api.cuCtxGetLimit(p_value, limit))
}

pub(crate) unsafe fn cudaDeviceGetCacheConfig(api: &Api, p_cache_config: *mut cudaFuncCache) -> Result {
    present(p_cache_config)?;
    cu!(api.cuCtxGetCacheConfig(p_cache_config))
}

pub(crate) unsafe fn cudaDeviceSetCacheConfig(api: &Api, cache_config: cudaFuncCache) -> Result {
    cu!(api.cuCtxSetCacheConfig(cache_config))
}

pub(crate) unsafe fn cudaDeviceGetSharedMemConfig(api: &Api, p_config: *mut cudaSharedMemConfig) -> Result {
    present(p_config)?;
    cu!(api.cuCtxGetSharedMemConfig(p_config))
}

pub(crate) unsafe fn cudaDeviceSetSharedMemConfig(api: &Api, config: cudaSharedMemConfig) -> Result {
    cu!(api.cuCtxSetSharedMemConfig(config))
}

pub(crate) unsafe fn cudaDeviceGetStreamPriorityRange(
    api: &Api,
    least_priority: *mut c_int,
    greatest_priority: *mut c_int,
) -> Result {
    cu!(api.cuCtxGetStreamPriorityRange(least_priority, greatest_priority))
}

/// Creates the primary context of a device with flags, and leaves the thread's device as it is.
pub(crate) unsafe fn cudaInitDevice(api: &Api, device: c_int, device_flags: c_uint, flags: c_uint) -> Result {
    /// `cudaInitDeviceFlagsAreValid`
    const DEVICE_FLAGS_ARE_VALID: c_uint = 1;
    if flags & !DEVICE_FLAGS_ARE_VALID != 0 {
        return Err(cudaError_t::cudaErrorInvalidValue);
    }
    if flags == DEVICE_FLAGS_ARE_VALID {
        cu!(api.cuDevicePrimaryCtxSetFlags_v2(device, device_flags))?;
    }
    context::primary(api, device).map(drop)
}

pub(crate) unsafe fn cudaSetDeviceFlags(api: &Api, flags: c_uint) -> Result {
    cu!(api.cuDevicePrimaryCtxSetFlags_v2(context::device(api)?, flags))
}

/// The flags of the current context, or those that the primary context of the thread's device will have.
pub(crate) unsafe fn cudaGetDeviceFlags(api: &Api, flags: *mut c_uint) -> Result {
    present(flags)?;
    if context::current(api)?.is_some() {
        return cu!(api.cuCtxGetFlags(flags));
    }
    let mut active = 0;
    cu!(api.cuDevicePrimaryCtxGetState(context::device(api)?, flags, &raw mut active))
}

pub(crate) unsafe fn cudaDeviceGetTexture1DLinearMaxWidth(
    api: &Api,
    max_width_in_elements: *mut usize,
    fmt_desc: *const cudaChannelFormatDesc,
    device: c_int,
) -> Result {
    present(fmt_desc)?;
    // SAFETY: by the contract of this function.
    let (format, channels) = channel::to_format(&unsafe { fmt_desc.read_unaligned() })?;
    cu!(api.cuDeviceGetTexture1DLinearMaxWidth(max_width_in_elements, format, channels, device))
}

pub(crate) unsafe fn cudaDeviceGetHostAtomicCapabilities(
    api: &Api,
    capabilities: *mut c_uint,
    operations: *const cudaAtomicOperation,
    count: c_uint,
    device: c_int,
) -> Result {
    present(capabilities)?;
    present(operations)?;
    cu!(api.cuDeviceGetHostAtomicCapabilities(capabilities, operations, count, device))
}
