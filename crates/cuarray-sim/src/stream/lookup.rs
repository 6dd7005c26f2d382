//! The stream that a handle names.

use crate::driver::{Call, Guard};
use crate::objects::stream::{Kind, Stream};
use crate::state::State;
use cuarray_abi::*;

/// The stream that `handle` names while `current` is the current context.
///
/// # Errors
/// `CUDA_ERROR_INVALID_HANDLE` for an unknown or destroyed stream, and in a green context for the per-thread default stream and
/// for a default stream that it was created without; `CUDA_ERROR_STREAM_DETACHED` after the end of its green context.
pub(crate) fn stream_of(
    state: &mut State,
    call: &Call,
    current: CUcontext,
    handle: CUstream,
) -> Result<CUstream, CUresult> {
    let per_thread = handle == CU_STREAM_PER_THREAD || (handle.is_null() && call.per_thread);
    if !per_thread && !handle.is_null() && handle != CU_STREAM_LEGACY {
        return state.created_stream(handle).map(|_| handle);
    }
    if let Some(green) = call.top_context().and_then(|top| state.green_contexts.of_context(top)) {
        let default = state.green(green)?.default_stream.filter(|_| !per_thread);
        return default.ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE);
    }
    let context = state.context_mut(current)?;
    if !per_thread {
        return Ok(context.legacy);
    }
    if let Some(stream) = context.per_thread.get(&call.thread) {
        return Ok(*stream);
    }
    let stream = CUstream(crate::handle::fresh());
    context.per_thread.insert(call.thread, stream);
    context.streams.insert(stream);
    state.streams.insert(stream, Stream::new(current, Kind::PerThread, CU_STREAM_DEFAULT, 0));
    Ok(stream)
}

/// Locks the driver and resolves a stream handle.
pub(crate) fn stream<'a>(call: &Call<'a>, handle: CUstream) -> Result<(Guard<'a>, CUstream), CUresult> {
    let (mut state, current) = call.current_for(handle)?;
    let stream = stream_of(&mut state, call, current, handle)?;
    Ok((state, stream))
}
