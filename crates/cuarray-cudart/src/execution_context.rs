//! Execution contexts: the primary context of a device as a value, for calls that do not depend on the calling thread.
//!
//! The handle is the driver's context. Contexts with a part of a device's multiprocessors (green contexts) are refused, and so are
//! the functions that make and divide them.
//!
//! Runtime API: [execution context management](https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__EXECUTION__CONTEXT.html).

use crate::call::{present, put};
use crate::context;
use crate::driver::cu;
use crate::result::{Result, cudaError_t};
use crate::types::*;
use cuarray_abi::Api;
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

/// Creates the stream while the context is current, and makes the thread's own context current again in any case.
pub(crate) unsafe fn cudaExecutionCtxStreamCreate(
    api: &Api,
    ph_stream: *mut cudaStream_t,
    ctx: cudaExecutionContext_t,
    flags: c_uint,
    priority: c_int,
) -> Result {
    present(ph_stream)?;
    required(ctx)?;
    cu!(api.cuCtxPushCurrent_v2(ctx))?;
    let mut stream = cudaStream_t::NULL;
    let created = cu!(api.cuStreamCreateWithPriority(&raw mut stream, flags, priority));
    let mut popped = cudaExecutionContext_t::NULL;
    let restored = cu!(api.cuCtxPopCurrent_v2(&raw mut popped));
    created?;
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
