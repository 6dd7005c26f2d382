//! Notifications of devices, and flushes of writes by other devices.

use crate::call::present;
use crate::driver::cu;
use crate::result::Result;
use crate::types::*;
use cuarray_abi::Api;
use std::ffi::{c_int, c_void};

pub(crate) unsafe fn cudaDeviceRegisterAsyncNotification(
    api: &Api,
    device: c_int,
    callback_func: cudaAsyncCallback,
    user_data: *mut c_void,
    callback: *mut cudaAsyncCallbackHandle_t,
) -> Result {
    present(callback)?;
    cu!(api.cuDeviceRegisterAsyncNotification(device, callback_func, user_data, callback))
}

pub(crate) unsafe fn cudaDeviceUnregisterAsyncNotification(
    api: &Api,
    device: c_int,
    callback: cudaAsyncCallbackHandle_t,
) -> Result {
    cu!(api.cuDeviceUnregisterAsyncNotification(device, callback))
}

/// Targets and scopes have the numbers of the driver's.
pub(crate) unsafe fn cudaDeviceFlushGPUDirectRDMAWrites(
    api: &Api,
    target: cudaFlushGPUDirectRDMAWritesTarget,
    scope: cudaFlushGPUDirectRDMAWritesScope,
) -> Result {
    cu!(api.cuFlushGPUDirectRDMAWrites(target, scope))
}
