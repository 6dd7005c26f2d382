//! Copies of contiguous bytes, and between devices.

use super::{INVALID_VALUE, SyncMode, captures, side, sync_memops, wait};
use crate::capture;
use crate::driver::Call;
use crate::execution::{self, submit};
use crate::graph_structure::checks;
use crate::happens_before::edges;
use crate::objects::allocation::Side;
use crate::objects::copy::{Copy, End, Extent, Source, Transfer, stage};
use crate::objects::graph_data::{Action, CopyNode};
use crate::objects::work::Work;
use crate::stream::lookup;
use cuarray_abi::*;
use cuarray_races::finding::AccessKind;
use std::ffi::c_void;

/// Checks a copy, enqueues it, and waits for it if the call must.
pub(super) fn transfer(
    call: &Call<'_>,
    target: End,
    source: End,
    extent: Extent,
    mode: SyncMode,
) -> Result<(), CUresult> {
    transfer_noted(call, target, source, extent, mode, false).map(drop)
}

/// As [`transfer`]; returns the copy's place in the history of findings, unless it is captured or empty. If `late`, the copy reads
/// pageable memory when it runs.
pub(super) fn transfer_noted(
    call: &Call<'_>,
    target: End,
    source: End,
    extent: Extent,
    mode: SyncMode,
    late: bool,
) -> Result<Option<u64>, CUresult> {
    let (mut state, current) = call.current_for(mode.stream())?;
    let stream = lookup::stream_of(&mut state, call, current, mode.stream())?;
    let captured = captures(call, &mut state, stream, mode)?;
    let context = state.streams.get(&stream).map_or(current, |stream| stream.context);
    if extent.is_empty() {
        return Ok(None);
    }
    if captured {
        let node = CopyNode::captured(Transfer { target, source, extent }, context);
        checks::check_copy(&state, &node).map_err(|refused| refused.report(&mut state))?;
        return capture::capture_node(&mut state, stream, Action::Copy(Box::new(node))).map(|_| None);
    }
    let to = side(&mut state, context, target, extent, AccessKind::Write)?;
    let from = side(&mut state, context, source, extent, AccessKind::Read)?;
    let host = |side| matches!(side, Side::Pinned | Side::Pageable);
    let waits = match mode {
        SyncMode::Async(_) => to == Side::Pageable || (host(to) && host(from)),
        SyncMode::Plain => {
            let memops = [target, source].iter().any(|end| sync_memops(&state, current, end.place.address));
            to != Side::Device || from != Side::Device || memops
        }
    };
    let late = late && from == Side::Pageable && !waits;
    // A kernel may write pageable memory before the copy reads it, so it is read in the order of the stream, and not now.
    let ordered = from == Side::Pageable && !waits && !late && state.pageable_memory;
    let bytes = if from == Side::Pageable && !waits && !late && !ordered {
        // SAFETY: the program's memory is readable during the call, by the driver's contract.
        Source::Staged(unsafe { stage(source.place, extent)? })
    } else {
        Source::Memory(source.place)
    };
    let copy = Copy { source: bytes, target: target.place, extent, late };
    let (state, point) = submit(call, state, stream, Work::Copy(Box::new(copy)), Vec::new())?;
    let place = edges::clock_of(&state, stream).map(|clock| clock.ordinal);
    match mode {
        // The copy runs now, because the program may free its memory after this call. The manual does not promise
        // that the copy is done, so the call orders nothing.
        SyncMode::Async(_) if ordered || waits && !host(from) => {
            drop(execution::force(call.driver, state, vec![point]))
        }
        _ if waits => wait(call, state, stream, point),
        _ => {}
    }
    Ok(place)
}

fn row(byte_count: usize) -> Extent {
    Extent::row(byte_count as u64)
}

pub(crate) fn cuMemcpy(call: &Call<'_>, dst: CUdeviceptr, src: CUdeviceptr, byte_count: usize) -> Result<(), CUresult> {
    transfer(call, End::unified(dst), End::unified(src), row(byte_count), SyncMode::Plain)
}

pub(crate) fn cuMemcpyHtoD_v2(
    call: &Call<'_>,
    dst_device: CUdeviceptr,
    src_host: *const c_void,
    byte_count: usize,
) -> Result<(), CUresult> {
    transfer(call, End::device(dst_device), End::host(src_host), row(byte_count), SyncMode::Plain)
}

pub(crate) fn cuMemcpyDtoH_v2(
    call: &Call<'_>,
    dst_host: *mut c_void,
    src_device: CUdeviceptr,
    byte_count: usize,
) -> Result<(), CUresult> {
    transfer(call, End::host(dst_host), End::device(src_device), row(byte_count), SyncMode::Plain)
}

pub(crate) fn cuMemcpyDtoD_v2(
    call: &Call<'_>,
    dst_device: CUdeviceptr,
    src_device: CUdeviceptr,
    byte_count: usize,
) -> Result<(), CUresult> {
    transfer(call, End::device(dst_device), End::device(src_device), row(byte_count), SyncMode::Plain)
}

pub(crate) fn cuMemcpyAsync(
    call: &Call<'_>,
    dst: CUdeviceptr,
    src: CUdeviceptr,
    byte_count: usize,
    stream: CUstream,
) -> Result<(), CUresult> {
    transfer(call, End::unified(dst), End::unified(src), row(byte_count), SyncMode::Async(stream))
}

pub(crate) fn cuMemcpyHtoDAsync_v2(
    call: &Call<'_>,
    dst_device: CUdeviceptr,
    src_host: *const c_void,
    byte_count: usize,
    stream: CUstream,
) -> Result<(), CUresult> {
    transfer(call, End::device(dst_device), End::host(src_host), row(byte_count), SyncMode::Async(stream))
}

pub(crate) fn cuMemcpyDtoHAsync_v2(
    call: &Call<'_>,
    dst_host: *mut c_void,
    src_device: CUdeviceptr,
    byte_count: usize,
    stream: CUstream,
) -> Result<(), CUresult> {
    transfer(call, End::host(dst_host), End::device(src_device), row(byte_count), SyncMode::Async(stream))
}

pub(crate) fn cuMemcpyDtoDAsync_v2(
    call: &Call<'_>,
    dst_device: CUdeviceptr,
    src_device: CUdeviceptr,
    byte_count: usize,
    stream: CUstream,
) -> Result<(), CUresult> {
    transfer(call, End::device(dst_device), End::device(src_device), row(byte_count), SyncMode::Async(stream))
}

/// Checks that the memory lies on the device of the context that a peer copy names for it.
fn in_context(call: &Call<'_>, address: CUdeviceptr, context: CUcontext) -> Result<CUcontext, CUresult> {
    let state = call.lock();
    let context = state.scope(context)?.context;
    let device = state.context(context)?.device;
    let allocation = state.memory.find(address).ok_or(INVALID_VALUE)?;
    if allocation.kind.on_device() && allocation.device != device {
        return Err(INVALID_VALUE);
    }
    Ok(context)
}

/// Serializes a peer copy with the work of both contexts and of the current one.
pub(super) fn serialized(
    call: &Call<'_>,
    contexts: [CUcontext; 2],
    copy: impl FnOnce() -> Result<(), CUresult>,
) -> Result<(), CUresult> {
    let (mut state, current) = call.current()?;
    let mut before = Vec::new();
    capture::forbid_unsafe(&mut state, call.thread, call.capture_mode())?;
    for context in contexts {
        let legacy = state.context(context)?.legacy;
        capture::forbid_in_capture(&mut state, legacy)?;
        // An operation of the legacy default stream follows the work of all blocking streams of its context.
        before.push(execution::enqueue(&mut state, legacy, Work::Wait, Vec::new())?);
    }
    let current_legacy = lookup::stream_of(&mut state, call, current, CU_STREAM_LEGACY)?;
    execution::enqueue(&mut state, current_legacy, Work::Wait, before)?;
    drop(state);
    copy()?;
    let mut state = call.lock();
    let done = state
        .streams
        .get(&current_legacy)
        .map(|stream| stream.last(current_legacy))
        .ok_or(CUresult::CUDA_ERROR_INVALID_CONTEXT)?;
    for context in contexts {
        let legacy = state.context(context)?.legacy;
        if legacy != current_legacy {
            execution::enqueue(&mut state, legacy, Work::Wait, vec![done])?;
        }
    }
    Ok(())
}

pub(crate) fn cuMemcpyPeer(
    call: &Call<'_>,
    dst_device: CUdeviceptr,
    dst_context: CUcontext,
    src_device: CUdeviceptr,
    src_context: CUcontext,
    byte_count: usize,
) -> Result<(), CUresult> {
    let dst_context = in_context(call, dst_device, dst_context)?;
    let src_context = in_context(call, src_device, src_context)?;
    serialized(call, [dst_context, src_context], || {
        let mode = SyncMode::Async(CU_STREAM_LEGACY);
        let target = End::device(dst_device).of_context(dst_context);
        transfer(call, target, End::device(src_device).of_context(src_context), row(byte_count), mode)
    })
}

pub(crate) fn cuMemcpyPeerAsync(
    call: &Call<'_>,
    dst_device: CUdeviceptr,
    dst_context: CUcontext,
    src_device: CUdeviceptr,
    src_context: CUcontext,
    byte_count: usize,
    stream: CUstream,
) -> Result<(), CUresult> {
    let dst_context = in_context(call, dst_device, dst_context)?;
    let src_context = in_context(call, src_device, src_context)?;
    let target = End::device(dst_device).of_context(dst_context);
    let source = End::device(src_device).of_context(src_context);
    transfer(call, target, source, row(byte_count), SyncMode::Async(stream))
}
