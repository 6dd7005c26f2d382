//! Look-up of streams by handle, the points that a synchronization waits for, and removal of drained streams.

use crate::driver::{Call, Guard};
use crate::happens_before::edges;
use crate::objects::point::Point;
use crate::objects::stream::{Kind, Stream};
use crate::state::State;
use cuarray_abi::*;

/// The stream that `handle` names while `current` is the current context.
///
/// # Errors
/// `CUDA_ERROR_INVALID_HANDLE` for an unknown or destroyed stream.
pub(crate) fn stream_of(
    state: &mut State,
    call: &Call,
    current: CUcontext,
    handle: CUstream,
) -> Result<CUstream, CUresult> {
    let per_thread = handle == CU_STREAM_PER_THREAD || (handle.is_null() && call.per_thread);
    if !per_thread && !handle.is_null() && handle != CU_STREAM_LEGACY {
        let stream = state.streams.get(&handle).filter(|stream| stream.kind == Kind::Created && !stream.destroyed);
        return stream.map(|_| handle).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE);
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

/// The points that a synchronization with `stream` waits for: the stream's own work. For the legacy default
/// stream, also the work of every blocking stream of its context.
pub(crate) fn tail(state: &State, handle: CUstream) -> Vec<Point> {
    let Some(stream) = state.streams.get(&handle) else { return Vec::new() };
    let mut tail = vec![stream.last(handle)];
    if stream.kind == Kind::Legacy
        && let Some(context) = state.contexts.get(&stream.context)
    {
        let others = context.unordered.iter().filter_map(|other| Some(state.streams.get(other)?.last(*other)));
        tail.extend(others);
    }
    tail.retain(|point| !state.happened(*point));
    tail
}

/// Removes a stream that is destroyed and drained.
pub(crate) fn remove_if_over(state: &mut State, handle: CUstream) {
    let Some(stream) = state.streams.get(&handle) else { return };
    if stream.destroyed && stream.pending() == 0 {
        let context = stream.context;
        edges::remember_ended(state, handle);
        let stream = state.streams.remove(&handle);
        edges::lane_ends(state, stream.as_ref().and_then(|stream| stream.lane.as_ref()));
        if let Some(context) = state.contexts.get_mut(&context) {
            context.streams.remove(&handle);
            context.unordered.remove(&handle);
        }
    }
}

/// Opens a private stream of a context.
pub(crate) fn open_lane(state: &mut State, context: CUcontext) -> Result<CUstream, CUresult> {
    let lane = CUstream(crate::handle::fresh());
    state.context_mut(context)?.streams.insert(lane);
    state.streams.insert(lane, Stream::new(context, Kind::Lane, CU_STREAM_NON_BLOCKING, 0));
    Ok(lane)
}

/// Ends a private stream once it is drained.
pub(crate) fn close_lane(state: &mut State, lane: CUstream) {
    if let Some(stream) = state.streams.get_mut(&lane) {
        stream.destroyed = true;
    }
    remove_if_over(state, lane);
}

/// Locks the driver and resolves a stream handle.
pub(crate) fn stream<'a>(call: &Call<'a>, handle: CUstream) -> Result<(Guard<'a>, CUstream), CUresult> {
    let (mut state, current) = call.current_for(handle)?;
    let stream = stream_of(&mut state, call, current, handle)?;
    Ok((state, stream))
}
