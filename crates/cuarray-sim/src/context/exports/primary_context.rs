//! Primary contexts.
//!
//! Driver API: [primary context
//! management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__PRIMARY__CTX.html).

use crate::context::lifetime;
use crate::driver::{Call, Guard};
use crate::parameters::Out;
use crate::state::State;
use cuarray_abi::*;
use std::ffi::{c_int, c_uint};

pub(crate) fn cuDevicePrimaryCtxRetain(
    call: &Call<'_>,
    pctx: Out<'_, CUcontext>,
    dev: CUdevice,
) -> Result<(), CUresult> {
    pctx.present()?;
    let handle = retain(&mut call.lock(), dev)?;
    pctx.put(handle)
}

/// Retains the primary context of a device, for the program or for a green context.
pub(crate) fn retain(state: &mut State, dev: CUdevice) -> Result<CUcontext, CUresult> {
    let device = state.device_mut(dev)?;
    device.primary_retained += 1;
    let (handle, flags) = (device.primary, device.primary_flags);
    if state.context(handle).is_err() {
        lifetime::open(state, handle, dev as usize, true, flags);
    }
    Ok(handle)
}

pub(crate) fn cuDevicePrimaryCtxRelease_v2(call: &Call<'_>, dev: CUdevice) -> Result<(), CUresult> {
    release(call, call.lock(), dev)
}

/// Ends a retain of the primary context of a device.
pub(crate) fn release(call: &Call<'_>, mut state: Guard<'_>, dev: CUdevice) -> Result<(), CUresult> {
    let device = state.device_mut(dev)?;
    let left = device.primary_retained.checked_sub(1).ok_or(CUresult::CUDA_ERROR_INVALID_CONTEXT)?;
    device.primary_retained = left;
    if left == 0 {
        device.primary_flags = 0;
        let handle = device.primary;
        drop(lifetime::close(call.driver, state, handle));
    }
    Ok(())
}

/// Checks that a context's flags are valid and its scheduling flags do not contradict each other.
pub(crate) fn check_flags(flags: c_uint) -> Result<(), CUresult> {
    let scheduling = flags & 0x7;
    if flags & !CU_CTX_FLAGS_MASK != 0 || !matches!(scheduling, 0 | 1 | 2 | 4) {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    Ok(())
}

pub(crate) fn cuDevicePrimaryCtxSetFlags_v2(call: &Call<'_>, dev: CUdevice, flags: c_uint) -> Result<(), CUresult> {
    let mut state = call.lock();
    let device = state.device_mut(dev)?;
    check_flags(flags)?;
    device.primary_flags = flags;
    let handle = device.primary;
    if let Ok(context) = state.context_mut(handle) {
        context.flags = flags;
    }
    Ok(())
}

pub(crate) fn cuDevicePrimaryCtxGetState(
    call: &Call<'_>,
    dev: CUdevice,
    flags: Out<'_, c_uint>,
    active: Out<'_, c_int>,
) -> Result<(), CUresult> {
    active.present()?;
    let state = call.lock();
    let device = state.device(dev)?;
    flags.put(device.primary_flags)?;
    active.put(c_int::from(state.context(device.primary).is_ok()))
}

/// Destroys all objects of the context. Each retain still needs its release.
pub(crate) fn cuDevicePrimaryCtxReset_v2(call: &Call<'_>, dev: CUdevice) -> Result<(), CUresult> {
    let mut state = call.lock();
    let device = state.device_mut(dev)?;
    device.primary_flags = 0;
    let handle = device.primary;
    drop(lifetime::close(call.driver, state, handle));
    Ok(())
}

// Older symbols with the same signature.
pub(crate) use self::cuDevicePrimaryCtxRelease_v2 as cuDevicePrimaryCtxRelease;
pub(crate) use self::cuDevicePrimaryCtxReset_v2 as cuDevicePrimaryCtxReset;
pub(crate) use self::cuDevicePrimaryCtxSetFlags_v2 as cuDevicePrimaryCtxSetFlags;
