//! Notifications of devices, and flushes of writes by other devices.
//!
//! Driver API: [device management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__DEVICE.html). The only event of
//! the manual is a process over its memory budget, which no simulated device has. So functions are registered and never called.
//! Writes of other devices reach simulated memory at once, so a flush has nothing to do.

use crate::driver::Call;
use crate::parameters::Out;
use cuarray_abi::*;
use std::ffi::{c_uint, c_void};
const INVALID_VALUE: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

pub(crate) fn cuDeviceRegisterAsyncNotification(
    call: &Call<'_>,
    device: CUdevice,
    callback_func: CUasyncCallback,
    user_data: *mut c_void,
    callback: Out<'_, CUasyncCallbackHandle>,
) -> Result<(), CUresult> {
    let _ = user_data;
    callback.present()?;
    callback_func.ok_or(INVALID_VALUE)?;
    let mut state = call.lock();
    let ordinal = state.device(device)?.ordinal;
    let handle = CUasyncCallbackHandle(crate::handle::fresh());
    state.notifications.insert(handle, ordinal);
    callback.put(handle)
}

pub(crate) fn cuDeviceUnregisterAsyncNotification(
    call: &Call<'_>,
    device: CUdevice,
    callback: CUasyncCallbackHandle,
) -> Result<(), CUresult> {
    let mut state = call.lock();
    let ordinal = state.device(device)?.ordinal;
    if state.notifications.get(&callback) != Some(&ordinal) {
        return Err(INVALID_VALUE);
    }
    state.notifications.remove(&callback);
    Ok(())
}

pub(crate) fn cuFlushGPUDirectRDMAWrites(call: &Call<'_>, target: c_uint, scope: c_uint) -> Result<(), CUresult> {
    let scopes = [CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER, CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_ALL_DEVICES];
    if target != CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX || !scopes.contains(&scope) {
        return Err(INVALID_VALUE);
    }
    drop(call.current()?);
    Ok(())
}
