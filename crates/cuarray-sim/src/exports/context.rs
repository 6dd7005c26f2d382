//! Contexts, and each thread's context stack.
//!
//! Driver API: [context management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__CTX.html),
//! [deprecated](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__CTX__DEPRECATED.html),
//! [peer access](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__PEER__ACCESS.html).

use super::primary_context::check_flags;
use super::*;
use crate::capture;
use crate::execution::drain;
use crate::happens_before::{calls, edges};
use crate::objects::launch_attributes::{GREATEST_PRIORITY, LEAST_PRIORITY};
use crate::work::contexts;

/// Calls `f` with the calling thread's stack.
fn stack<R>(call: &Call<'_>, f: impl FnOnce(&mut Vec<CUcontext>) -> R) -> Result<R, CUresult> {
    thread::with_contexts(call.driver.number, f).ok_or(CUresult::CUDA_ERROR_DEINITIALIZED)
}

/// Refuses the null handle, which is no context at all, unlike that of a context that has ended.
fn not_null(ctx: CUcontext) -> Result<(), CUresult> {
    if ctx.is_null() { Err(CUresult::CUDA_ERROR_INVALID_VALUE) } else { Ok(()) }
}

/// The context of a handle, or the current one for null.
fn given_or_current<'a>(call: &Call<'a>, ctx: CUcontext) -> Result<(crate::driver::Guard<'a>, CUcontext), CUresult> {
    if ctx.is_null() {
        return call.current();
    }
    let state = call.lock();
    state.context(ctx)?;
    Ok((state, ctx))
}

pub(super) unsafe fn cuCtxCreate_v2(
    call: &Call<'_>,
    pctx: *mut CUcontext,
    flags: c_uint,
    dev: CUdevice,
) -> Result<(), CUresult> {
    present(pctx)?;
    check_flags(flags)?;
    let mut state = call.lock();
    state.device(dev)?;
    let handle = CUcontext(crate::handle::fresh());
    contexts::open(&mut state, handle, dev as usize, false, flags);
    calls::created(&mut state, "context", handle.0 as u64);
    stack(call, |stack| stack.push(handle))?;
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(pctx, handle) }
}

pub(super) unsafe fn cuCtxCreate_v3(
    call: &Call<'_>,
    pctx: *mut CUcontext,
    _params_array: *mut CUexecAffinityParam,
    num_params: c_int,
    flags: c_uint,
    dev: CUdevice,
) -> Result<(), CUresult> {
    match num_params {
        // SAFETY: both functions have the same contract.
        0 => unsafe { cuCtxCreate_v2(call, pctx, flags, dev) },
        _ => Err(CUresult::CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY),
    }
}

pub(super) unsafe fn cuCtxCreate_v4(
    call: &Call<'_>,
    pctx: *mut CUcontext,
    ctx_create_params: *mut CUctxCreateParams,
    flags: c_uint,
    dev: CUdevice,
) -> Result<(), CUresult> {
    if ctx_create_params.is_null() {
        // SAFETY: both functions have the same contract.
        return unsafe { cuCtxCreate_v2(call, pctx, flags, dev) };
    }
    // SAFETY: the caller's parameters, by the driver's contract; they may be unaligned.
    let CUctxCreateParams { execAffinityParams, numExecAffinityParams, cigParams } =
        unsafe { ctx_create_params.read_unaligned() };
    match (execAffinityParams.is_null(), cigParams.is_null()) {
        (false, false) => Err(CUresult::CUDA_ERROR_INVALID_VALUE),
        (_, false) => unsupported(),
        // SAFETY: both functions have the same contract.
        _ => unsafe { cuCtxCreate_v3(call, pctx, execAffinityParams, numExecAffinityParams, flags, dev) },
    }
}

pub(super) unsafe fn cuCtxDestroy_v2(call: &Call<'_>, ctx: CUcontext) -> Result<(), CUresult> {
    not_null(ctx)?;
    let state = call.lock();
    if state.context(ctx)?.primary {
        return Err(CUresult::CUDA_ERROR_INVALID_CONTEXT);
    }
    drop(drain::close_context(call.driver, state, ctx));
    stack(call, |stack| stack.pop_if(|top| *top == ctx)).map(|_| ())
}

pub(super) unsafe fn cuCtxPushCurrent_v2(call: &Call<'_>, ctx: CUcontext) -> Result<(), CUresult> {
    not_null(ctx)?;
    call.lock().context(ctx)?;
    stack(call, |stack| stack.push(ctx))
}

pub(super) unsafe fn cuCtxPopCurrent_v2(call: &Call<'_>, pctx: *mut CUcontext) -> Result<(), CUresult> {
    let top = stack(call, |stack| stack.pop())?.ok_or(CUresult::CUDA_ERROR_INVALID_CONTEXT)?;
    if !pctx.is_null() {
        // SAFETY: the caller's pointer, by the driver's contract.
        unsafe { put(pctx, top)? };
    }
    Ok(())
}

/// Replaces the top of the stack; null pops it.
pub(super) unsafe fn cuCtxSetCurrent(call: &Call<'_>, ctx: CUcontext) -> Result<(), CUresult> {
    if !ctx.is_null() {
        call.lock().context(ctx)?;
    }
    stack(call, |stack| {
        stack.pop();
        if !ctx.is_null() {
            stack.push(ctx);
        }
    })
}

pub(super) unsafe fn cuCtxGetCurrent(call: &Call<'_>, pctx: *mut CUcontext) -> Result<(), CUresult> {
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(pctx, call.top_context().unwrap_or(CUcontext::NULL)) }
}

pub(super) unsafe fn cuCtxGetDevice(call: &Call<'_>, device: *mut CUdevice) -> Result<(), CUresult> {
    // SAFETY: both functions have the same contract; null means the current context.
    unsafe { cuCtxGetDevice_v2(call, device, CUcontext::NULL) }
}

pub(super) unsafe fn cuCtxGetDevice_v2(call: &Call<'_>, device: *mut CUdevice, ctx: CUcontext) -> Result<(), CUresult> {
    present(device)?;
    let (state, handle) = given_or_current(call, ctx)?;
    let ordinal = state.context(handle)?.device as CUdevice;
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(device, ordinal) }
}

pub(super) unsafe fn cuCtxGetFlags(call: &Call<'_>, flags: *mut c_uint) -> Result<(), CUresult> {
    present(flags)?;
    let (state, handle) = call.current()?;
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(flags, state.context(handle)?.flags) }
}

pub(super) unsafe fn cuCtxSetFlags(call: &Call<'_>, flags: c_uint) -> Result<(), CUresult> {
    check_flags(flags)?;
    let (mut state, handle) = call.current()?;
    state.context_mut(handle)?.flags = flags;
    Ok(())
}

pub(super) unsafe fn cuCtxGetId(call: &Call<'_>, ctx: CUcontext, ctx_id: *mut u64) -> Result<(), CUresult> {
    present(ctx_id)?;
    let (state, handle) = given_or_current(call, ctx)?;
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(ctx_id, state.context(handle)?.id) }
}

pub(super) unsafe fn cuCtxSynchronize(call: &Call<'_>) -> Result<(), CUresult> {
    // SAFETY: both functions have the same contract; null means the current context.
    unsafe { cuCtxSynchronize_v2(call, CUcontext::NULL) }
}

pub(super) unsafe fn cuCtxSynchronize_v2(call: &Call<'_>, ctx: CUcontext) -> Result<(), CUresult> {
    let (mut state, handle) = given_or_current(call, ctx)?;
    capture::forbid_beside_capture(&mut state, handle)?;
    let clocks = edges::clocks_of_context(&state, handle);
    let mut state = drain::drain_context(call.driver, state, handle);
    edges::host_joins(&mut state, clocks);
    Ok(())
}

pub(super) unsafe fn cuCtxSetLimit(call: &Call<'_>, limit: CUlimit, value: usize) -> Result<(), CUresult> {
    let (mut state, handle) = call.current()?;
    let context = state.context_mut(handle)?;
    let place = context.limits.get_mut(limit as usize).ok_or(CUresult::CUDA_ERROR_UNSUPPORTED_LIMIT)?;
    if limit == CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH && call.driver.settings().compute_capability >= (9, 0) {
        return Err(CUresult::CUDA_ERROR_UNSUPPORTED_LIMIT);
    }
    if context.limits_fixed[limit as usize] {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    *place = value;
    Ok(())
}

pub(super) unsafe fn cuCtxGetLimit(call: &Call<'_>, pvalue: *mut usize, limit: CUlimit) -> Result<(), CUresult> {
    present(pvalue)?;
    let (state, handle) = call.current()?;
    let value = state.context(handle)?.limits.get(limit as usize).copied();
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(pvalue, value.ok_or(CUresult::CUDA_ERROR_UNSUPPORTED_LIMIT)?) }
}

pub(super) unsafe fn cuCtxGetCacheConfig(call: &Call<'_>, pconfig: *mut CUfunc_cache) -> Result<(), CUresult> {
    present(pconfig)?;
    let (state, handle) = call.current()?;
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(pconfig, state.context(handle)?.cache_config) }
}

pub(super) unsafe fn cuCtxSetCacheConfig(call: &Call<'_>, config: CUfunc_cache) -> Result<(), CUresult> {
    let (mut state, handle) = call.current()?;
    if config > CU_FUNC_CACHE_PREFER_EQUAL {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    state.context_mut(handle)?.cache_config = config;
    Ok(())
}

pub(super) unsafe fn cuCtxGetSharedMemConfig(call: &Call<'_>, p_config: *mut CUsharedconfig) -> Result<(), CUresult> {
    present(p_config)?;
    let (state, handle) = call.current()?;
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(p_config, state.context(handle)?.shared_memory_config) }
}

pub(super) unsafe fn cuCtxSetSharedMemConfig(call: &Call<'_>, config: CUsharedconfig) -> Result<(), CUresult> {
    let (mut state, handle) = call.current()?;
    if config > 2 {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    state.context_mut(handle)?.shared_memory_config = config;
    Ok(())
}

pub(super) unsafe fn cuCtxGetApiVersion(call: &Call<'_>, ctx: CUcontext, version: *mut c_uint) -> Result<(), CUresult> {
    present(version)?;
    drop(given_or_current(call, ctx)?);
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(version, 3020) }
}

pub(super) unsafe fn cuCtxGetStreamPriorityRange(
    call: &Call<'_>,
    least_priority: *mut c_int,
    greatest_priority: *mut c_int,
) -> Result<(), CUresult> {
    drop(call.current()?);
    for (place, value) in [(least_priority, LEAST_PRIORITY), (greatest_priority, GREATEST_PRIORITY)] {
        if !place.is_null() {
            // SAFETY: the caller's pointers, by the driver's contract.
            unsafe { put(place, value)? };
        }
    }
    Ok(())
}

pub(super) unsafe fn cuCtxResetPersistingL2Cache(call: &Call<'_>) -> Result<(), CUresult> {
    drop(call.current()?);
    Ok(())
}

pub(super) unsafe fn cuCtxAttach(call: &Call<'_>, pctx: *mut CUcontext, flags: c_uint) -> Result<(), CUresult> {
    present(pctx)?;
    if flags != 0 {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    let (mut state, handle) = call.current()?;
    state.context_mut(handle)?.attached += 1;
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(pctx, handle) }
}

pub(super) unsafe fn cuCtxDetach(call: &Call<'_>, ctx: CUcontext) -> Result<(), CUresult> {
    if call.top_context() != Some(ctx) {
        return Err(CUresult::CUDA_ERROR_INVALID_CONTEXT);
    }
    let mut state = call.lock();
    let context = state.context_mut(ctx)?;
    context.attached = context.attached.saturating_sub(1);
    if context.attached == 0 && !context.primary {
        drop(drain::close_context(call.driver, state, ctx));
        stack(call, |stack| stack.pop())?;
    }
    Ok(())
}

/// Lets kernels of the current context access memory that was allocated in the peer context, except memory of pools and
/// graphs.
pub(super) unsafe fn cuCtxEnablePeerAccess(
    call: &Call<'_>,
    peer_context: CUcontext,
    flags: c_uint,
) -> Result<(), CUresult> {
    let (mut state, handle) = call.current()?;
    let peer = state.context(peer_context)?.device;
    if flags != 0 {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    if peer_context == handle {
        return Err(CUresult::CUDA_ERROR_INVALID_CONTEXT);
    }
    let context = state.context_mut(handle)?;
    // `cuDeviceCanAccessPeer` returns 0 for a device and itself.
    if context.device == peer {
        return Err(CUresult::CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
    }
    let new = context.peers.insert(peer_context);
    new.then_some(()).ok_or(CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED)
}

pub(super) unsafe fn cuCtxDisablePeerAccess(call: &Call<'_>, peer_context: CUcontext) -> Result<(), CUresult> {
    let (mut state, handle) = call.current()?;
    state.context(peer_context)?;
    let known = state.context_mut(handle)?.peers.remove(&peer_context);
    known.then_some(()).ok_or(CUresult::CUDA_ERROR_PEER_ACCESS_NOT_ENABLED)
}

// Older symbols with the same signature.
pub(super) use self::cuCtxCreate_v2 as cuCtxCreate;
pub(super) use self::cuCtxDestroy_v2 as cuCtxDestroy;
pub(super) use self::cuCtxPopCurrent_v2 as cuCtxPopCurrent;
pub(super) use self::cuCtxPushCurrent_v2 as cuCtxPushCurrent;

pub(super) unsafe fn cuCtxGetExecAffinity(
    call: &Call<'_>,
    p_exec_affinity: *mut CUexecAffinityParam,
    _kind: c_uint,
) -> Result<(), CUresult> {
    present(p_exec_affinity)?;
    drop(call.current()?);
    Err(CUresult::CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY)
}
