//! Contexts, and each thread's context stack.
//!
//! Driver API: [context management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__CTX.html),
//! [deprecated](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__CTX__DEPRECATED.html),
//! [peer access](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__PEER__ACCESS.html).

use crate::capture;
use crate::context::exports::primary_context::check_flags;
use crate::context::lifetime;
use crate::driver::{Call, Guard};
use crate::execution::drain;
use crate::happens_before::{edges, handles};
use crate::objects::green_context::Scope;
use crate::objects::launch_attributes::{GREATEST_PRIORITY, LEAST_PRIORITY};
use crate::parameters::{In, Out, Received, unsupported};
use crate::thread;
use cuarray_abi::*;
use std::ffi::{c_int, c_uint};

/// Calls `f` with the calling thread's stack.
fn stack<R>(call: &Call<'_>, f: impl FnOnce(&mut Vec<CUcontext>) -> R) -> Result<R, CUresult> {
    thread::with_contexts(call.driver.number, f).ok_or(CUresult::CUDA_ERROR_DEINITIALIZED)
}

/// Refuses the null handle, which is no context at all, unlike that of a context that has ended.
fn not_null(ctx: CUcontext) -> Result<(), CUresult> {
    if ctx.is_null() { Err(CUresult::CUDA_ERROR_INVALID_VALUE) } else { Ok(()) }
}

/// The context or green context of a handle, or the current one for null.
fn given_or_current<'a>(call: &Call<'a>, ctx: CUcontext) -> Result<(Guard<'a>, Scope), CUresult> {
    if ctx.is_null() {
        return call.current_scope();
    }
    let state = call.lock();
    let scope = state.scope(ctx)?;
    Ok((state, scope))
}

pub(crate) fn cuCtxCreate_v2(
    call: &Call<'_>,
    pctx: Out<'_, CUcontext>,
    flags: c_uint,
    dev: CUdevice,
) -> Result<(), CUresult> {
    pctx.present()?;
    check_flags(flags)?;
    let mut state = call.lock();
    state.device(dev)?;
    let handle = CUcontext(crate::handle::fresh());
    lifetime::open(&mut state, handle, dev as usize, false, flags);
    handles::created(&mut state, "context", handle.0 as u64);
    stack(call, |stack| stack.push(handle))?;
    pctx.put(handle)
}

pub(crate) fn cuCtxCreate_v3(
    call: &Call<'_>,
    pctx: Out<'_, CUcontext>,
    _params_array: In<'_, CUexecAffinityParam>,
    num_params: c_int,
    flags: c_uint,
    dev: CUdevice,
) -> Result<(), CUresult> {
    match num_params {
        0 => cuCtxCreate_v2(call, pctx, flags, dev),
        _ => Err(CUresult::CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY),
    }
}

pub(crate) fn cuCtxCreate_v4(
    call: &Call<'_>,
    pctx: Out<'_, CUcontext>,
    ctx_create_params: In<'_, CUctxCreateParams>,
    flags: c_uint,
    dev: CUdevice,
) -> Result<(), CUresult> {
    if ctx_create_params.is_null() {
        return cuCtxCreate_v2(call, pctx, flags, dev);
    }
    let CUctxCreateParams { execAffinityParams, numExecAffinityParams, cigParams } = ctx_create_params.read()?;
    match (execAffinityParams.is_null(), cigParams.is_null()) {
        (false, false) => Err(CUresult::CUDA_ERROR_INVALID_VALUE),
        (_, false) => unsupported(),
        _ => {
            // SAFETY: the pointer is a member of the program's parameters.
            let affinity = unsafe { In::received(execAffinityParams) };
            cuCtxCreate_v3(call, pctx, affinity, numExecAffinityParams, flags, dev)
        }
    }
}

pub(crate) fn cuCtxDestroy_v2(call: &Call<'_>, ctx: CUcontext) -> Result<(), CUresult> {
    not_null(ctx)?;
    let state = call.lock();
    if state.context(ctx)?.primary {
        return Err(CUresult::CUDA_ERROR_INVALID_CONTEXT);
    }
    drop(lifetime::close(call.driver, state, ctx));
    stack(call, |stack| stack.pop_if(|top| *top == ctx)).map(|_| ())
}

pub(crate) fn cuCtxPushCurrent_v2(call: &Call<'_>, ctx: CUcontext) -> Result<(), CUresult> {
    not_null(ctx)?;
    call.lock().context(ctx)?;
    stack(call, |stack| stack.push(ctx))
}

pub(crate) fn cuCtxPopCurrent_v2(call: &Call<'_>, pctx: Out<'_, CUcontext>) -> Result<(), CUresult> {
    let top = stack(call, |stack| stack.pop())?.ok_or(CUresult::CUDA_ERROR_INVALID_CONTEXT)?;
    if !pctx.is_null() {
        pctx.put(top)?;
    }
    Ok(())
}

/// Replaces the top of the stack; null pops it.
pub(crate) fn cuCtxSetCurrent(call: &Call<'_>, ctx: CUcontext) -> Result<(), CUresult> {
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

pub(crate) fn cuCtxGetCurrent(call: &Call<'_>, pctx: Out<'_, CUcontext>) -> Result<(), CUresult> {
    pctx.put(call.top_context().unwrap_or(CUcontext::NULL))
}

pub(crate) fn cuCtxGetDevice(call: &Call<'_>, device: Out<'_, CUdevice>) -> Result<(), CUresult> {
    cuCtxGetDevice_v2(call, device, CUcontext::NULL)
}

pub(crate) fn cuCtxGetDevice_v2(call: &Call<'_>, device: Out<'_, CUdevice>, ctx: CUcontext) -> Result<(), CUresult> {
    device.present()?;
    let (state, scope) = given_or_current(call, ctx)?;
    let ordinal = state.context(scope.context)?.device as CUdevice;
    device.put(ordinal)
}

pub(crate) fn cuCtxGetFlags(call: &Call<'_>, flags: Out<'_, c_uint>) -> Result<(), CUresult> {
    flags.present()?;
    let (state, handle) = call.current()?;
    flags.put(state.context(handle)?.flags)
}

pub(crate) fn cuCtxSetFlags(call: &Call<'_>, flags: c_uint) -> Result<(), CUresult> {
    check_flags(flags)?;
    let (mut state, handle) = call.current()?;
    state.context_mut(handle)?.flags = flags;
    Ok(())
}

pub(crate) fn cuCtxGetId(call: &Call<'_>, ctx: CUcontext, ctx_id: Out<'_, u64>) -> Result<(), CUresult> {
    ctx_id.present()?;
    let (state, scope) = given_or_current(call, ctx)?;
    ctx_id.put(match scope.green {
        Some(green) => state.green(green)?.id,
        None => state.context(scope.context)?.id,
    })
}

pub(crate) fn cuCtxSynchronize(call: &Call<'_>) -> Result<(), CUresult> {
    cuCtxSynchronize_v2(call, CUcontext::NULL)
}

pub(crate) fn cuCtxSynchronize_v2(call: &Call<'_>, ctx: CUcontext) -> Result<(), CUresult> {
    let (mut state, scope) = given_or_current(call, ctx)?;
    capture::forbid_beside_capture(&mut state, scope)?;
    let clocks = edges::clocks_of_context(&state, scope);
    let mut state = drain::drain_context(call.driver, state, scope);
    edges::host_joins(&mut state, clocks);
    Ok(())
}

pub(crate) fn cuCtxSetLimit(call: &Call<'_>, limit: CUlimit, value: usize) -> Result<(), CUresult> {
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

pub(crate) fn cuCtxGetLimit(call: &Call<'_>, pvalue: Out<'_, usize>, limit: CUlimit) -> Result<(), CUresult> {
    pvalue.present()?;
    let (state, handle) = call.current()?;
    let value = state.context(handle)?.limits.get(limit as usize).copied();
    pvalue.put(value.ok_or(CUresult::CUDA_ERROR_UNSUPPORTED_LIMIT)?)
}

pub(crate) fn cuCtxGetCacheConfig(call: &Call<'_>, pconfig: Out<'_, CUfunc_cache>) -> Result<(), CUresult> {
    pconfig.present()?;
    let (state, handle) = call.current()?;
    pconfig.put(state.context(handle)?.cache_config)
}

pub(crate) fn cuCtxSetCacheConfig(call: &Call<'_>, config: CUfunc_cache) -> Result<(), CUresult> {
    let (mut state, handle) = call.current()?;
    if config > CU_FUNC_CACHE_PREFER_EQUAL {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    state.context_mut(handle)?.cache_config = config;
    Ok(())
}

pub(crate) fn cuCtxGetSharedMemConfig(call: &Call<'_>, p_config: Out<'_, CUsharedconfig>) -> Result<(), CUresult> {
    p_config.present()?;
    let (state, handle) = call.current()?;
    p_config.put(state.context(handle)?.shared_memory_config)
}

pub(crate) fn cuCtxSetSharedMemConfig(call: &Call<'_>, config: CUsharedconfig) -> Result<(), CUresult> {
    let (mut state, handle) = call.current()?;
    if config > 2 {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    state.context_mut(handle)?.shared_memory_config = config;
    Ok(())
}

pub(crate) fn cuCtxGetApiVersion(call: &Call<'_>, ctx: CUcontext, version: Out<'_, c_uint>) -> Result<(), CUresult> {
    version.present()?;
    drop(given_or_current(call, ctx)?);
    version.put(3020)
}

pub(crate) fn cuCtxGetStreamPriorityRange(
    call: &Call<'_>,
    least_priority: Out<'_, c_int>,
    greatest_priority: Out<'_, c_int>,
) -> Result<(), CUresult> {
    drop(call.current()?);
    for (place, value) in [(least_priority, LEAST_PRIORITY), (greatest_priority, GREATEST_PRIORITY)] {
        place.put_if_present(value);
    }
    Ok(())
}

pub(crate) fn cuCtxResetPersistingL2Cache(call: &Call<'_>) -> Result<(), CUresult> {
    drop(call.current()?);
    Ok(())
}

pub(crate) fn cuCtxAttach(call: &Call<'_>, pctx: Out<'_, CUcontext>, flags: c_uint) -> Result<(), CUresult> {
    pctx.present()?;
    if flags != 0 {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    let (mut state, handle) = call.current()?;
    state.context_mut(handle)?.attached += 1;
    pctx.put(handle)
}

pub(crate) fn cuCtxDetach(call: &Call<'_>, ctx: CUcontext) -> Result<(), CUresult> {
    if call.top_context() != Some(ctx) {
        return Err(CUresult::CUDA_ERROR_INVALID_CONTEXT);
    }
    let mut state = call.lock();
    let context = state.context_mut(ctx)?;
    context.attached = context.attached.saturating_sub(1);
    if context.attached == 0 && !context.primary {
        drop(lifetime::close(call.driver, state, ctx));
        stack(call, |stack| stack.pop())?;
    }
    Ok(())
}

/// Lets kernels of the current context access memory that was allocated in the peer context, except memory of pools and
/// graphs.
pub(crate) fn cuCtxEnablePeerAccess(call: &Call<'_>, peer_context: CUcontext, flags: c_uint) -> Result<(), CUresult> {
    let (mut state, handle) = call.current()?;
    let peer_context = state.scope(peer_context)?.context;
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
    state.memory.access_changes();
    new.then_some(()).ok_or(CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED)
}

pub(crate) fn cuCtxDisablePeerAccess(call: &Call<'_>, peer_context: CUcontext) -> Result<(), CUresult> {
    let (mut state, handle) = call.current()?;
    let peer_context = state.scope(peer_context)?.context;
    let known = state.context_mut(handle)?.peers.remove(&peer_context);
    state.memory.access_changes();
    known.then_some(()).ok_or(CUresult::CUDA_ERROR_PEER_ACCESS_NOT_ENABLED)
}

// Older symbols with the same signature.
pub(crate) use self::cuCtxCreate_v2 as cuCtxCreate;
pub(crate) use self::cuCtxDestroy_v2 as cuCtxDestroy;
pub(crate) use self::cuCtxPopCurrent_v2 as cuCtxPopCurrent;
pub(crate) use self::cuCtxPushCurrent_v2 as cuCtxPushCurrent;

pub(crate) fn cuCtxGetExecAffinity(
    call: &Call<'_>,
    p_exec_affinity: Out<'_, CUexecAffinityParam>,
    _kind: c_uint,
) -> Result<(), CUresult> {
    p_exec_affinity.present()?;
    drop(call.current()?);
    Err(CUresult::CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY)
}
