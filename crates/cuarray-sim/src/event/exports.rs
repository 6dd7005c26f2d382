//! Events.
//!
//! Driver API: [event management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EVENT.html).
// Names and parameters are the driver's.
#![allow(non_snake_case)]

use crate::capture;
use crate::driver::{Call, Guard};
use crate::event::shared;
use crate::execution::{self, service, submit};
use crate::happens_before::{edges, handles};
use crate::objects::event::Event;
use crate::objects::graph_data::Action;
use crate::objects::pool;
use crate::objects::work::Work;
use crate::pages::shared_event::SharedEvent;
use crate::parameters::Out;
use crate::stream::exports::stream;
use crate::stream::lookup;
use cuarray_abi::*;
use std::ffi::c_uint;

pub(crate) fn cuEventCreate(call: &Call<'_>, event: Out<'_, CUevent>, flags: c_uint) -> Result<(), CUresult> {
    event.present()?;
    let known = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
    let between_processes = flags & CU_EVENT_INTERPROCESS != 0;
    if flags & !known != 0 || (between_processes && flags & CU_EVENT_DISABLE_TIMING == 0) {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    let (mut state, context) = call.current()?;
    let handle = CUevent(crate::handle::fresh());
    let shared = match between_processes {
        true => Some(SharedEvent::new(handle.0 as u64).map_err(|_| CUresult::CUDA_ERROR_OUT_OF_MEMORY)?),
        false => None,
    };
    state.events.insert(handle, Event::new(context, flags, shared));
    handles::created(&mut state, "event", handle.0 as u64);
    event.put(handle)
}

/// Sets the event to this point of the stream, or of its capture. Stream and event must belong to one context.
pub(crate) fn cuEventRecord(call: &Call<'_>, event: CUevent, stream: CUstream) -> Result<(), CUresult> {
    let (mut state, handle) = lookup::stream(call, stream)?;
    let context = state.streams.get(&handle).map(|stream| stream.context);
    if Some(state.event(event)?.context) != context {
        return Err(CUresult::CUDA_ERROR_INVALID_HANDLE);
    }
    if capture::captures(&mut state, handle)? {
        let captured = capture::captured_in(&state, handle);
        if let Some(event) = state.events.get_mut(&event) {
            event.set_point(None);
            event.captured = captured;
        }
        return Ok(());
    }
    // The event is set to the new point before that point can happen. Under the eager schedule the point happens at once.
    let next = state.streams.get(&handle).map(|stream| stream.next(handle));
    if let Some(event) = state.events.get_mut(&event) {
        event.set_point(next);
    }
    if let Some(next) = next {
        shared::publish(&mut state, event, next);
        service::watch(call.driver, &mut state);
    }
    drop(submit(call, state, handle, Work::Record(event), Vec::new())?);
    Ok(())
}

pub(crate) fn cuEventRecordWithFlags(
    call: &Call<'_>,
    event: CUevent,
    stream: CUstream,
    flags: c_uint,
) -> Result<(), CUresult> {
    if flags == CU_EVENT_RECORD_EXTERNAL {
        let (mut state, handle) = lookup::stream(call, stream)?;
        state.event(event)?;
        let captured = capture::capture(&mut state, handle, || Action::Record(event))?;
        return if captured { Ok(()) } else { Err(CUresult::CUDA_ERROR_INVALID_VALUE) };
    }
    if flags != 0 {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    cuEventRecord(call, event, stream)
}

/// Locks the driver for a call that uses the event's context instead of the current one.
fn with_event<'a>(call: &Call<'a>, event: CUevent) -> Result<Guard<'a>, CUresult> {
    if call.top_context().is_some_and(|current| !current.is_null()) {
        return call.current().map(|(state, _)| state);
    }
    let state = call.lock();
    let owner = state.event(event)?.context;
    match state.context(owner)?.failed {
        Some(failed) => Err(failed),
        None => Ok(state),
    }
}

pub(crate) fn cuEventQuery(call: &Call<'_>, event: CUevent) -> Result<(), CUresult> {
    let mut state = with_event(call, event)?;
    capture::forbid_captured(&mut state, event)?;
    capture::forbid_unsafe(&mut state, call.thread, call.capture_mode())?;
    let event = state.event(event)?;
    if let Some(remote) = event.remote() {
        return if remote.event.want(remote.generation) { Ok(()) } else { Err(CUresult::CUDA_ERROR_NOT_READY) };
    }
    let (recorded, clock) = (event.recorded, event.clock.clone());
    stream::query(call, state, recorded.into_iter().collect(), clock.into_iter().collect())
}

pub(crate) fn cuEventSynchronize(call: &Call<'_>, event: CUevent) -> Result<(), CUresult> {
    let mut state = with_event(call, event)?;
    capture::forbid_captured(&mut state, event)?;
    capture::forbid_unsafe(&mut state, call.thread, call.capture_mode())?;
    if let Some(remote) = state.event(event)?.remote() {
        // The other process may need work of this one.
        drop(state);
        remote.event.wait(remote.generation);
        return Ok(());
    }
    let (recorded, clock) = (state.event(event)?.recorded, state.event(event)?.clock.clone());
    let device = state.event(event).ok().and_then(|event| state.context(event.context).ok()).map(|owner| owner.device);
    let mut state = execution::force(call.driver, state, recorded.into_iter().collect());
    edges::host_joins(&mut state, clock.into_iter().collect());
    if let Some(device) = device {
        pool::settle(&mut state.pools, device);
    }
    Ok(())
}

/// Destroys the event. Pending waits keep the point of its last record.
pub(crate) fn cuEventDestroy_v2(call: &Call<'_>, event: CUevent) -> Result<(), CUresult> {
    let mut state = with_event(call, event)?;
    state.events.remove(&event).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)?;
    handles::destroyed(&mut state, "event", event.0 as u64);
    Ok(())
}

/// Queries both events first, as `cuEventQuery` does. So a program may poll with this call alone, and success means
/// that both events have completed.
pub(crate) fn cuEventElapsedTime(
    call: &Call<'_>,
    p_milliseconds: Out<'_, f32>,
    h_start: CUevent,
    h_end: CUevent,
) -> Result<(), CUresult> {
    p_milliseconds.present()?;
    let mut state = with_event(call, h_start)?;
    let (mut points, mut clocks) = (Vec::new(), Vec::new());
    for event in [h_start, h_end] {
        capture::forbid_captured(&mut state, event)?;
        let event = state.event(event)?;
        let recorded = event.recorded.filter(|_| event.timed()).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)?;
        points.push(recorded);
        clocks.extend(event.clock.clone());
    }
    stream::query(call, state, points, clocks)?;
    let state = call.lock();
    let mut times = [0; 2];
    for (event, time) in [h_start, h_end].into_iter().zip(&mut times) {
        // Another thread may have recorded the event again.
        *time = state.event(event)?.time.ok_or(CUresult::CUDA_ERROR_NOT_READY)?;
    }
    drop(state);
    // Signed, because the events may have completed in the opposite order.
    let nanoseconds = times[1] as f64 - times[0] as f64;
    p_milliseconds.put((nanoseconds / 1e6) as f32)
}

pub(crate) fn cuEventElapsedTime_v2(
    call: &Call<'_>,
    p_milliseconds: Out<'_, f32>,
    h_start: CUevent,
    h_end: CUevent,
) -> Result<(), CUresult> {
    cuEventElapsedTime(call, p_milliseconds, h_start, h_end)
}

/// Returns the handle of an interprocess event.
pub(crate) fn cuIpcGetEventHandle(
    call: &Call<'_>,
    p_handle: Out<'_, CUipcEventHandle>,
    event: CUevent,
) -> Result<(), CUresult> {
    p_handle.present()?;
    let state = with_event(call, event)?;
    let shared = state.event(event)?.shared.as_ref().ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)?;
    p_handle.put(shared.handle())
}

/// Opens an event of another process, as an event of the current context.
pub(crate) fn cuIpcOpenEventHandle(
    call: &Call<'_>,
    event: Out<'_, CUevent>,
    handle: CUipcEventHandle,
) -> Result<(), CUresult> {
    event.present()?;
    let (mut state, context) = call.current()?;
    let shared = SharedEvent::open(&handle).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)?;
    let own = |known: &Event| !known.imported && known.shared.as_ref().is_some_and(|known| known.same(&shared));
    if state.events.values().any(own) {
        return Err(CUresult::CUDA_ERROR_INVALID_CONTEXT);
    }
    let new = CUevent(crate::handle::fresh());
    let flags = CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
    state.events.insert(new, Event { imported: true, ..Event::new(context, flags, Some(shared)) });
    handles::created(&mut state, "event", new.0 as u64);
    event.put(new)
}

// Older symbols with the same signature.
pub(crate) use self::cuEventDestroy_v2 as cuEventDestroy;
