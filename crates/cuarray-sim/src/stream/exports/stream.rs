//! Streams.
//!
//! Driver API: [stream management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html),
//! [default streams](https://docs.nvidia.com/cuda/cuda-driver-api/stream-sync-behavior.html).

use crate::capture;
use crate::driver::{Call, Guard};
use crate::execution::{self, chosen, lanes, progress, submit, tails};
use crate::happens_before::{edges, handles};
use crate::objects::allocation::Kind as MemoryKind;
use crate::objects::graph_data::Action;
use crate::objects::green_context::Scope;
use crate::objects::host_function::HostFunction;
use crate::objects::launch_attributes::{GREATEST_PRIORITY, LEAST_PRIORITY};
use crate::objects::point::Point;
use crate::objects::stream::{Kind, Stream};
use crate::objects::work::Work;
use crate::parameters::Out;
use crate::state::State;
use crate::stream::lookup::stream;
use crate::stream::synchronize;
use cuarray_abi::*;
use cuarray_races::Clock;
use std::ffi::{c_int, c_uint, c_void};

const INVALID_VALUE: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

pub(crate) fn cuStreamCreate(call: &Call<'_>, stream: Out<'_, CUstream>, flags: c_uint) -> Result<(), CUresult> {
    cuStreamCreateWithPriority(call, stream, flags, LEAST_PRIORITY)
}

pub(crate) fn cuStreamCreateWithPriority(
    call: &Call<'_>,
    stream: Out<'_, CUstream>,
    flags: c_uint,
    priority: c_int,
) -> Result<(), CUresult> {
    stream.present()?;
    if flags & !CU_STREAM_NON_BLOCKING != 0 {
        return Err(INVALID_VALUE);
    }
    let (mut state, scope) = call.current_scope()?;
    stream.put(create(&mut state, scope, flags, priority)?)
}

/// Creates a stream in a context or a green context.
pub(crate) fn create(state: &mut State, scope: Scope, flags: c_uint, priority: c_int) -> Result<CUstream, CUresult> {
    let priority = priority.clamp(GREATEST_PRIORITY, LEAST_PRIORITY);
    let handle = CUstream(crate::handle::fresh());
    state.add_stream(handle, scope, Stream::new(scope.context, Kind::Created, flags, priority))?;
    handles::created(state, "stream", handle.0 as u64);
    Ok(handle)
}

/// Returns at once. Pending work of the stream still runs when other work depends on it or the context is
/// synchronized.
pub(crate) fn cuStreamDestroy_v2(call: &Call<'_>, stream: CUstream) -> Result<(), CUresult> {
    if stream.is_null() || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD {
        return Err(CUresult::CUDA_ERROR_INVALID_HANDLE);
    }
    let mut state = call.lock();
    if state.green_contexts.detached.remove(&stream) {
        handles::destroyed(&mut state, "stream", stream.0 as u64);
        return Ok(());
    }
    drop(state);
    let (mut state, handle) = self::stream(call, stream)?;
    capture::stream_leaves_capture(&mut state, handle);
    if let Some(stream) = state.streams.get_mut(&handle) {
        stream.destroyed = true;
    }
    handles::destroyed(&mut state, "stream", handle.0 as u64);
    lanes::remove_if_over(&mut state, handle);
    Ok(())
}

pub(crate) fn cuStreamSynchronize(call: &Call<'_>, stream: CUstream) -> Result<(), CUresult> {
    synchronize::wait_for_stream(call, stream)
}

/// Queries a stream. Each query that returns *not ready* runs one operation, so that polling ends.
pub(crate) fn cuStreamQuery(call: &Call<'_>, stream: CUstream) -> Result<(), CUresult> {
    let (mut state, handle) = self::stream(call, stream)?;
    capture::forbid_in_capture(&mut state, handle)?;
    let tail = tails::of_stream(&state, handle);
    let clocks = edges::clocks_of_tail(&state, handle);
    query(call, state, tail, clocks)
}

/// Checks whether all these points have been reached. If so, the calling thread joins their clocks.
pub(crate) fn query<'a>(
    call: &Call<'a>,
    state: Guard<'a>,
    mut points: Vec<Point>,
    clocks: Vec<Clock>,
) -> Result<(), CUresult> {
    points.retain(|point| !state.happened(*point));
    let (mut state, nudge) = chosen::query(call.driver, state, &points);
    if points.iter().all(|point| state.happened(*point)) {
        edges::host_joins(&mut state, clocks);
        return Ok(());
    }
    if nudge {
        drop(execution::nudge(call.driver, state, points));
    }
    Err(CUresult::CUDA_ERROR_NOT_READY)
}

pub(crate) fn cuStreamWaitEvent(
    call: &Call<'_>,
    stream: CUstream,
    event: CUevent,
    flags: c_uint,
) -> Result<(), CUresult> {
    if flags & !CU_EVENT_WAIT_EXTERNAL != 0 {
        return Err(INVALID_VALUE);
    }
    let (mut state, handle) = self::stream(call, stream)?;
    if flags == CU_EVENT_WAIT_EXTERNAL {
        state.event(event)?;
        let captured = capture::capture(&mut state, handle, || Action::Wait(event))?;
        return if captured { Ok(()) } else { Err(INVALID_VALUE) };
    }
    if capture::wait_in_capture(&mut state, handle, event)? {
        return Ok(());
    }
    let event = state.event(event)?;
    if let Some(remote) = event.remote() {
        if !remote.is_done() {
            drop(submit(call, state, handle, Work::Await(remote), Vec::new())?);
        }
        return Ok(());
    }
    let (recorded, clock) = (event.recorded, event.clock.clone());
    if let Some(point) = recorded {
        if let Some(clock) = clock {
            edges::stream_joins(&mut state, handle, &clock);
        }
        drop(submit(call, state, handle, Work::Wait, vec![point])?);
    }
    Ok(())
}

/// Enqueues a host function, and makes sure that it runs without further calls of the program.
fn enqueue_host_function(call: &Call<'_>, stream: CUstream, function: HostFunction) -> Result<(), CUresult> {
    let (mut state, handle) = self::stream(call, stream)?;
    if capture::capture(&mut state, handle, || Action::Host(function))? {
        return Ok(());
    }
    let (mut state, _) = submit(call, state, handle, Work::HostFunction(function), Vec::new())?;
    progress::watch(call.driver, &mut state);
    Ok(())
}

pub(crate) fn cuStreamAddCallback(
    call: &Call<'_>,
    stream: CUstream,
    callback: CUstreamCallback,
    user_data: *mut c_void,
    flags: c_uint,
) -> Result<(), CUresult> {
    let (Some(function), 0) = (callback, flags) else { return Err(INVALID_VALUE) };
    let (mut state, handle) = self::stream(call, stream)?;
    capture::forbid_in_capture(&mut state, handle)?;
    drop(state);
    enqueue_host_function(call, stream, HostFunction::Callback { function, stream, data: user_data })
}

pub(crate) fn cuLaunchHostFunc(
    call: &Call<'_>,
    stream: CUstream,
    function: CUhostFn,
    user_data: *mut c_void,
) -> Result<(), CUresult> {
    let function = function.ok_or(INVALID_VALUE)?;
    let data = user_data;
    let function = match call.is_of_library() {
        true => HostFunction::OfLibrary { function, data },
        false => HostFunction::Launched { function, data },
    };
    enqueue_host_function(call, stream, function)
}

/// Ignores the mode, which on a GPU selects how the device waits for the host function.
pub(crate) fn cuLaunchHostFunc_v2(
    call: &Call<'_>,
    stream: CUstream,
    function: CUhostFn,
    user_data: *mut c_void,
    sync_mode: c_uint,
) -> Result<(), CUresult> {
    if sync_mode > 1 {
        return Err(INVALID_VALUE);
    }
    cuLaunchHostFunc(call, stream, function, user_data)
}

/// Writes one property of a stream.
fn write_property<T>(
    call: &Call<'_>,
    stream: CUstream,
    place: Out<'_, T>,
    of: impl FnOnce(&Stream) -> T,
) -> Result<(), CUresult> {
    place.present()?;
    let (state, handle) = self::stream(call, stream)?;
    let stream = state.streams.get(&handle).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)?;
    place.put(of(stream))
}

pub(crate) fn cuStreamGetPriority(call: &Call<'_>, stream: CUstream, priority: Out<'_, c_int>) -> Result<(), CUresult> {
    write_property(call, stream, priority, |stream| stream.priority)
}

pub(crate) fn cuStreamGetFlags(call: &Call<'_>, stream: CUstream, flags: Out<'_, c_uint>) -> Result<(), CUresult> {
    write_property(call, stream, flags, |stream| stream.flags)
}

pub(crate) fn cuStreamGetId(call: &Call<'_>, stream: CUstream, stream_id: Out<'_, u64>) -> Result<(), CUresult> {
    write_property(call, stream, stream_id, |stream| stream.id)
}

/// The streams among which a stream is: those of its green context, or else of its context.
///
/// A handle of a default stream stands for that of the current context, even if a green context has none.
pub(crate) fn scope<'a>(call: &Call<'a>, stream: CUstream) -> Result<(Guard<'a>, Scope), CUresult> {
    if stream == CU_STREAM_LEGACY || (stream.is_null() && !call.per_thread) {
        return call.current_scope();
    }
    let (state, handle) = self::stream(call, stream)?;
    let stream = state.streams.get(&handle).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)?;
    let scope = Scope { context: stream.context, green: stream.green };
    Ok((state, scope))
}

pub(crate) fn cuStreamGetCtx(call: &Call<'_>, stream: CUstream, pctx: Out<'_, CUcontext>) -> Result<(), CUresult> {
    pctx.present()?;
    let (state, scope) = scope(call, stream)?;
    pctx.put(match scope.green {
        Some(green) => state.green(green)?.context,
        None => scope.context,
    })
}

pub(crate) fn cuStreamGetCtx_v2(
    call: &Call<'_>,
    stream: CUstream,
    pctx: Out<'_, CUcontext>,
    p_green_ctx: Out<'_, CUgreenCtx>,
) -> Result<(), CUresult> {
    pctx.present()?;
    let (state, scope) = scope(call, stream)?;
    drop(state);
    p_green_ctx.put_if_present(scope.green.unwrap_or_default());
    pctx.put(scope.context)
}

pub(crate) fn cuStreamGetDevice(call: &Call<'_>, stream: CUstream, device: Out<'_, CUdevice>) -> Result<(), CUresult> {
    device.present()?;
    let (state, handle) = self::stream(call, stream)?;
    let context = state.streams.get(&handle).map(|stream| stream.context).unwrap_or_default();
    let ordinal = state.context(context)?.device as CUdevice;
    device.put(ordinal)
}

/// Enqueues an operation without effect. Simulated managed memory is always accessible, so nothing is attached.
pub(crate) fn cuStreamAttachMemAsync(
    call: &Call<'_>,
    stream: CUstream,
    dptr: CUdeviceptr,
    length: usize,
    flags: c_uint,
) -> Result<(), CUresult> {
    let (mut state, handle) = self::stream(call, stream)?;
    capture::forbid_in_capture(&mut state, handle)?;
    if !matches!(flags, CU_MEM_ATTACH_GLOBAL | CU_MEM_ATTACH_HOST | CU_MEM_ATTACH_SINGLE) {
        return Err(INVALID_VALUE);
    }
    let allocation = state.memory.find(dptr).ok_or(INVALID_VALUE)?;
    let whole = length == 0 || (dptr == allocation.address && length as u64 == allocation.size);
    if !whole || !matches!(allocation.kind, MemoryKind::Managed { .. } | MemoryKind::ManagedVariable(_)) {
        return Err(INVALID_VALUE);
    }
    drop(submit(call, state, handle, Work::Wait, Vec::new())?);
    Ok(())
}

// Older symbols with the same signature.
pub(crate) use self::cuStreamDestroy_v2 as cuStreamDestroy;
