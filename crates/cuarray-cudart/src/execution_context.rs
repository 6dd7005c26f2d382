//! Execution contexts as values, for calls that do not depend on the calling thread: the primary context of a device, and green
//! contexts, which have a part of its resources.
//!
//! The handle is the driver's context; for a green context, that of `cuCtxFromGreenCtx`.
//!
//! Runtime API: [execution context management](https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__EXECUTION__CONTEXT.html).

use crate::call::{present, put};
use crate::context;
use crate::driver::cu;
use crate::result::{Result, cudaError_t};
use crate::types::*;
use cuarray_abi::{Api, CU_GREEN_CTX_NONE, CU_STREAM_LEGACY, CU_STREAM_NON_BLOCKING, CUgreenCtx};
use std::ffi::{c_int, c_uint, c_ulonglong};

/// Refuses the null context, which the driver would read as the current one.
fn required(ctx: cudaExecutionContext_t) -> Result {
    if ctx.is_null() { Err(cudaError_t::cudaErrorInvalidValue) } else { Ok(()) }
}

pub(crate) unsafe fn cudaDeviceGetExecutionCtx(api: &Api, ctx: *mut cudaExecutionContext_t, device: c_int) -> Result {
    present(ctx)?;
    // SAFETY: by the contract of this function.
    unsafe { put(ctx, context::primary(api, device)?) }
}

pub(crate) unsafe fn cudaExecutionCtxGetDevice(api: &Api, device: *mut c_int, ctx: cudaExecutionContext_t) -> Result {
    present(device)?;
    required(ctx)?;
    cu!(api.cuCtxGetDevice_v2(device, ctx))
}

pub(crate) unsafe fn cudaExecutionCtxGetId(api: &Api, ctx: cudaExecutionContext_t, ctx_id: *mut c_ulonglong) -> Result {
    present(ctx_id)?;
    required(ctx)?;
    cu!(api.cuCtxGetId(ctx, ctx_id))
}

/// Calls `f` while a context is current, and makes the thread's own context current again in any case.
fn while_current<R>(
    api: &Api,
    ctx: cudaExecutionContext_t,
    f: impl FnOnce() -> Result<R>,
) -> Result<(Result<R>, Result)> {
    cu!(api.cuCtxPushCurrent_v2(ctx))?;
    let done = f();
    let mut popped = cudaExecutionContext_t::NULL;
    let restored = cu!(api.cuCtxPopCurrent_v2(&raw mut popped));
    Ok((done, restored))
}

/// The green context of the current context: that of its default stream. A driver without green contexts has none.
fn current_green(api: &Api) -> Result<CUgreenCtx> {
    let mut green = CUgreenCtx::NULL;
    if api.cuStreamGetGreenCtx.is_some() {
        cu!(api.cuStreamGetGreenCtx(CU_STREAM_LEGACY, &raw mut green))?;
    }
    Ok(green)
}

/// Creates a stream in the current context. The streams of a green context do not block, whatever the flags are.
fn create_stream(api: &Api, flags: c_uint, priority: c_int) -> Result<cudaStream_t> {
    let mut stream = cudaStream_t::NULL;
    let green = current_green(api)?;
    if green.is_null() {
        cu!(api.cuStreamCreateWithPriority(&raw mut stream, flags, priority))?;
    } else {
        let flags = flags | CU_STREAM_NON_BLOCKING;
        cu!(api.cuGreenCtxStreamCreate(&raw mut stream, green, flags, priority))?;
    }
    Ok(stream)
}

pub(crate) unsafe fn cudaExecutionCtxStreamCreate(
    api: &Api,
    ph_stream: *mut cudaStream_t,
    ctx: cudaExecutionContext_t,
    flags: c_uint,
    priority: c_int,
) -> Result {
    present(ph_stream)?;
    required(ctx)?;
    let (created, restored) = while_current(api, ctx, || create_stream(api, flags, priority))?;
    let stream = created?;
    if let Err(error) = restored {
        // The program gets no handle, so the stream must not stay.
        let _ = cu!(api.cuStreamDestroy_v2(stream));
        return Err(error);
    }
    // SAFETY: by the contract of this function.
    unsafe { put(ph_stream, stream) }
}

pub(crate) unsafe fn cudaExecutionCtxSynchronize(api: &Api, ctx: cudaExecutionContext_t) -> Result {
    required(ctx)?;
    cu!(api.cuCtxSynchronize_v2(ctx))
}

pub(crate) unsafe fn cudaExecutionCtxRecordEvent(api: &Api, ctx: cudaExecutionContext_t, event: cudaEvent_t) -> Result {
    required(ctx)?;
    cu!(api.cuCtxRecordEvent(ctx, event))
}

pub(crate) unsafe fn cudaExecutionCtxWaitEvent(api: &Api, ctx: cudaExecutionContext_t, event: cudaEvent_t) -> Result {
    required(ctx)?;
    cu!(api.cuCtxWaitEvent(ctx, event))
}

pub(crate) unsafe fn cudaDeviceGetDevResource(
    api: &Api,
    device: c_int,
    resource: *mut cudaDevResource,
    type_: cudaDevResourceType,
) -> Result {
    cu!(api.cuDeviceGetDevResource(device, resource, type_))
}

pub(crate) unsafe fn cudaDevSmResourceSplitByCount(
    api: &Api,
    result: *mut cudaDevResource,
    nb_groups: *mut c_uint,
    input: *const cudaDevResource,
    remaining: *mut cudaDevResource,
    flags: c_uint,
    min_count: c_uint,
) -> Result {
    cu!(api.cuDevSmResourceSplitByCount(result, nb_groups, input, remaining, flags, min_count))
}

pub(crate) unsafe fn cudaDevSmResourceSplit(
    api: &Api,
    result: *mut cudaDevResource,
    nb_groups: c_uint,
    input: *const cudaDevResource,
    remainder: *mut cudaDevResource,
    flags: c_uint,
    group_params: *mut cudaDevSmResourceGroupParams,
) -> Result {
    cu!(api.cuDevSmResourceSplit(result, nb_groups, input, remainder, flags, group_params))
}

pub(crate) unsafe fn cudaDevResourceGenerateDesc(
    api: &Api,
    ph_desc: *mut cudaDevResourceDesc_t,
    resources: *mut cudaDevResource,
    nb_resources: c_uint,
) -> Result {
    cu!(api.cuDevResourceGenerateDesc(ph_desc, resources, nb_resources))
}

/// The runtime's green contexts have no default stream.
pub(crate) unsafe fn cudaGreenCtxCreate(
    api: &Api,
    ph_ctx: *mut cudaExecutionContext_t,
    desc: cudaDevResourceDesc_t,
    device: c_int,
    flags: c_uint,
) -> Result {
    present(ph_ctx)?;
    if flags != 0 {
        return Err(cudaError_t::cudaErrorInvalidValue);
    }
    let (mut green, mut context) = (CUgreenCtx::NULL, cudaExecutionContext_t::NULL);
    cu!(api.cuGreenCtxCreate(&raw mut green, desc, device, CU_GREEN_CTX_NONE))?;
    if let Err(error) = cu!(api.cuCtxFromGreenCtx(&raw mut context, green)) {
        // The program gets no handle, so the green context must not stay.
        let _ = cu!(api.cuGreenCtxDestroy(green));
        return Err(error);
    }
    // SAFETY: by the contract of this function.
    unsafe { put(ph_ctx, context) }
}

/// Refuses the context of a device, which only the driver ends.
pub(crate) unsafe fn cudaExecutionCtxDestroy(api: &Api, ctx: cudaExecutionContext_t) -> Result {
    required(ctx)?;
    let (green, restored) = while_current(api, ctx, || current_green(api))?;
    restored?;
    let green = green?;
    if green.is_null() { Err(cudaError_t::cudaErrorInvalidValue) } else { cu!(api.cuGreenCtxDestroy(green)) }
}

pub(crate) unsafe fn cudaExecutionCtxGetDevResource(
    api: &Api,
    ctx: cudaExecutionContext_t,
    resource: *mut cudaDevResource,
    type_: cudaDevResourceType,
) -> Result {
    required(ctx)?;
    cu!(api.cuCtxGetDevResource(ctx, resource, type_))
}

pub(crate) unsafe fn cudaStreamGetDevResource(
    api: &Api,
    h_stream: cudaStream_t,
    resource: *mut cudaDevResource,
    type_: cudaDevResourceType,
) -> Result {
    cu!(api.cuStreamGetDevResource(h_stream, resource, type_))
}
