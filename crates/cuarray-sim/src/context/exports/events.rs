//! Events of whole contexts.
//!
//! Driver API: [context management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__CTX.html). A record follows
//! the work of all streams of a context. After a wait, the next work of each of its streams follows the event, also in streams
//! that are created later.

use crate::capture;
use crate::driver::{Call, Guard};
use crate::event::shared;
use crate::execution::{lanes, service, submit, tails};
use crate::happens_before::edges;
use crate::objects::work::Work;
use cuarray_abi::*;

/// Locks the driver for a call with a context that has not failed.
fn with_context<'a>(call: &Call<'a>, ctx: CUcontext) -> Result<Guard<'a>, CUresult> {
    let state = call.lock();
    match state.context(ctx)?.failed {
        Some(failed) => Err(failed),
        None => Ok(state),
    }
}

pub(crate) fn cuCtxRecordEvent(call: &Call<'_>, ctx: CUcontext, event: CUevent) -> Result<(), CUresult> {
    let mut state = with_context(call, ctx)?;
    if state.event(event)?.context != ctx {
        return Err(CUresult::CUDA_ERROR_INVALID_HANDLE);
    }
    capture::forbid_beside_capture(&mut state, ctx)?;
    let (after, clocks) = (tails::of_context(&state, ctx), edges::clocks_of_context(&state, ctx));
    let lane = lanes::open(&mut state, ctx)?;
    clocks.iter().for_each(|clock| edges::stream_joins(&mut state, lane, clock));
    let next = state.streams.get(&lane).map(|stream| stream.next(lane));
    if let Some(event) = state.events.get_mut(&event) {
        event.set_point(next);
    }
    if let Some(next) = next {
        shared::publish(&mut state, event, next);
        service::watch(call.driver, &mut state);
    }
    let (mut state, _) = submit(call, state, lane, Work::Record(event), after)?;
    lanes::close(&mut state, lane);
    Ok(())
}

pub(crate) fn cuCtxWaitEvent(call: &Call<'_>, ctx: CUcontext, event: CUevent) -> Result<(), CUresult> {
    let mut state = with_context(call, ctx)?;
    let waited = state.event(event)?;
    let captured = waited.captured.as_ref().map(|captured| captured.id);
    let (remote, recorded, clock) = (waited.remote(), waited.recorded, waited.clock.clone());
    let captures: Vec<u64> = captured.into_iter().collect();
    capture::refuse(&mut state, &captures, CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)?;
    capture::forbid_beside_capture(&mut state, ctx)?;
    if let Some(remote) = remote {
        if remote.is_done() {
            return Ok(());
        }
        // One stream waits for the other process, and the context for this stream.
        let lane = lanes::open(&mut state, ctx)?;
        let (mut state, point) = submit(call, state, lane, Work::Await(remote), Vec::new())?;
        state.context_mut(ctx)?.await_point(point, None);
        lanes::close(&mut state, lane);
        return Ok(());
    }
    if let Some(point) = recorded {
        state.context_mut(ctx)?.await_point(point, clock);
    }
    Ok(())
}
