//! Events of whole contexts and green contexts.
//!
//! Driver API: [context management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__CTX.html). A record follows
//! the work of all streams of a context. After a wait, the next work of each of its streams follows the event, also in streams
//! that are created later. The calls for a context concern its green contexts too.

use crate::capture;
use crate::driver::{Call, Guard};
use crate::event::shared;
use crate::execution::{lanes, service, submit, tails};
use crate::happens_before::edges;
use crate::objects::green_context::Scope;
use crate::objects::work::Work;
use crate::state::State;
use cuarray_abi::*;

/// Refuses a call with a context that has failed.
fn healthy(state: &State, scope: Scope) -> Result<(), CUresult> {
    state.context(scope.context)?.failed.map_or(Ok(()), Err)
}

pub(crate) fn cuCtxRecordEvent(call: &Call<'_>, ctx: CUcontext, event: CUevent) -> Result<(), CUresult> {
    let state = call.lock();
    let scope = state.scope(ctx)?;
    record(call, state, scope, event)
}

/// Records an event after the work of all streams of a context or a green context.
pub(crate) fn record(call: &Call<'_>, mut state: Guard<'_>, scope: Scope, event: CUevent) -> Result<(), CUresult> {
    healthy(&state, scope)?;
    if state.event(event)?.context != scope.context {
        return Err(CUresult::CUDA_ERROR_INVALID_HANDLE);
    }
    capture::forbid_beside_capture(&mut state, scope)?;
    let (after, clocks) = (tails::of_context(&state, scope), edges::clocks_of_context(&state, scope));
    let lane = lanes::open(&mut state, scope)?;
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
    let state = call.lock();
    let scope = state.scope(ctx)?;
    wait(call, state, scope, event)
}

/// Makes the future work of a context or a green context follow an event.
pub(crate) fn wait(call: &Call<'_>, mut state: Guard<'_>, scope: Scope, event: CUevent) -> Result<(), CUresult> {
    healthy(&state, scope)?;
    let waited = state.event(event)?;
    let captured = waited.captured.as_ref().map(|captured| captured.id);
    let (remote, recorded, clock) = (waited.remote(), waited.recorded, waited.clock.clone());
    let captures: Vec<u64> = captured.into_iter().collect();
    capture::refuse(&mut state, &captures, CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)?;
    capture::forbid_beside_capture(&mut state, scope)?;
    if let Some(remote) = remote {
        if remote.is_done() {
            return Ok(());
        }
        // One stream waits for the other process, and the context for this stream.
        let lane = lanes::open(&mut state, scope)?;
        let (mut state, point) = submit(call, state, lane, Work::Await(remote), Vec::new())?;
        state.context_mut(scope.context)?.await_point(scope.green, point, None);
        lanes::close(&mut state, lane);
        return Ok(());
    }
    if let Some(point) = recorded {
        state.context_mut(scope.context)?.await_point(scope.green, point, clock);
    }
    Ok(())
}
