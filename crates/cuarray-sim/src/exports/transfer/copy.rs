//! Copies: of contiguous bytes, of boxes with a descriptor, and between devices.

use super::super::*;
use super::{INVALID_VALUE, SyncMode, captures, side, submit, sync_memops, wait};
use crate::capture;
use crate::execution;
use crate::graph_structure::checks;
use crate::objects::allocation::{Declared, Side};
use crate::objects::copy::{Copy, End, Extent, Place, Source, Transfer, stage};
use crate::objects::graph_data::{Action, CopyNode};
use crate::objects::work::Work;
use crate::work::streams;
use cuarray_races::finding::AccessKind;

/// Checks a copy, enqueues it, and waits for it if the call must.
fn transfer(call: &Call<'_>, target: End, source: End, extent: Extent, mode: SyncMode) -> Result<(), CUresult> {
    let (mut state, current) = call.current_for(mode.stream())?;
    let stream = streams::stream_of(&mut state, call, current, mode.stream())?;
    let captured = captures(call, &mut state, stream, mode)?;
    if extent.is_empty() {
        return Ok(());
    }
    if captured {
        let transfer = Transfer { target, source, extent };
        checks::check_copy(&state, &transfer)?;
        let node = CopyNode::captured(transfer, current);
        return capture::capture_node(&mut state, stream, Action::Copy(Box::new(node))).map(|_| ());
    }
    let context = state.streams.get(&stream).map_or(current, |stream| stream.context);
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
    let bytes = if from == Side::Pageable && !waits {
        // SAFETY: the program's memory is readable during the call, by the driver's contract.
        Source::Staged(unsafe { stage(source.place, extent)? })
    } else {
        Source::Memory(source.place)
    };
    let copy = Copy { source: bytes, target: target.place, extent };
    let (state, point) = submit(call, state, stream, Work::Copy(Box::new(copy)), Vec::new())?;
    match mode {
        // The copy runs now, because the program may free its memory after this call. The manual does not promise
        // that the copy is done, so the call orders nothing.
        SyncMode::Async(_) if waits && !host(from) => drop(execution::force(call.driver, state, vec![point])),
        _ if waits => wait(call, state, stream, point),
        _ => {}
    }
    Ok(())
}

fn row(byte_count: usize) -> Extent {
    Extent::row(byte_count as u64)
}

pub(in crate::exports) unsafe fn cuMemcpy(
    call: &Call<'_>,
    dst: CUdeviceptr,
    src: CUdeviceptr,
    byte_count: usize,
) -> Result<(), CUresult> {
    transfer(call, End::unified(dst), End::unified(src), row(byte_count), SyncMode::Plain)
}

pub(in crate::exports) unsafe fn cuMemcpyHtoD_v2(
    call: &Call<'_>,
    dst_device: CUdeviceptr,
    src_host: *const c_void,
    byte_count: usize,
) -> Result<(), CUresult> {
    transfer(call, End::device(dst_device), End::host(src_host), row(byte_count), SyncMode::Plain)
}

pub(in crate::exports) unsafe fn cuMemcpyDtoH_v2(
    call: &Call<'_>,
    dst_host: *mut c_void,
    src_device: CUdeviceptr,
    byte_count: usize,
) -> Result<(), CUresult> {
    transfer(call, End::host(dst_host), End::device(src_device), row(byte_count), SyncMode::Plain)
}

pub(in crate::exports) unsafe fn cuMemcpyDtoD_v2(
    call: &Call<'_>,
    dst_device: CUdeviceptr,
    src_device: CUdeviceptr,
    byte_count: usize,
) -> Result<(), CUresult> {
    transfer(call, End::device(dst_device), End::device(src_device), row(byte_count), SyncMode::Plain)
}

pub(in crate::exports) unsafe fn cuMemcpyAsync(
    call: &Call<'_>,
    dst: CUdeviceptr,
    src: CUdeviceptr,
    byte_count: usize,
    stream: CUstream,
) -> Result<(), CUresult> {
    transfer(call, End::unified(dst), End::unified(src), row(byte_count), SyncMode::Async(stream))
}

pub(in crate::exports) unsafe fn cuMemcpyHtoDAsync_v2(
    call: &Call<'_>,
    dst_device: CUdeviceptr,
    src_host: *const c_void,
    byte_count: usize,
    stream: CUstream,
) -> Result<(), CUresult> {
    transfer(call, End::device(dst_device), End::host(src_host), row(byte_count), SyncMode::Async(stream))
}

pub(in crate::exports) unsafe fn cuMemcpyDtoHAsync_v2(
    call: &Call<'_>,
    dst_host: *mut c_void,
    src_device: CUdeviceptr,
    byte_count: usize,
    stream: CUstream,
) -> Result<(), CUresult> {
    transfer(call, End::host(dst_host), End::device(src_device), row(byte_count), SyncMode::Async(stream))
}

pub(in crate::exports) unsafe fn cuMemcpyDtoDAsync_v2(
    call: &Call<'_>,
    dst_device: CUdeviceptr,
    src_device: CUdeviceptr,
    byte_count: usize,
    stream: CUstream,
) -> Result<(), CUresult> {
    transfer(call, End::device(dst_device), End::device(src_device), row(byte_count), SyncMode::Async(stream))
}

/// Checks that the memory lies on the device of the context that a peer copy names for it.
fn in_context(call: &Call<'_>, address: CUdeviceptr, context: CUcontext) -> Result<(), CUresult> {
    let state = call.lock();
    let device = state.context(context)?.device;
    let allocation = state.memory.find(address).ok_or(INVALID_VALUE)?;
    if allocation.kind.on_device() && allocation.device != device {
        return Err(INVALID_VALUE);
    }
    Ok(())
}

/// Serializes a peer copy with the work of both contexts and of the current one.
fn serialized(
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
    let current_legacy = streams::stream_of(&mut state, call, current, CU_STREAM_LEGACY)?;
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

pub(in crate::exports) unsafe fn cuMemcpyPeer(
    call: &Call<'_>,
    dst_device: CUdeviceptr,
    dst_context: CUcontext,
    src_device: CUdeviceptr,
    src_context: CUcontext,
    byte_count: usize,
) -> Result<(), CUresult> {
    in_context(call, dst_device, dst_context)?;
    in_context(call, src_device, src_context)?;
    serialized(call, [dst_context, src_context], || {
        let mode = SyncMode::Async(CU_STREAM_LEGACY);
        transfer(call, End::device(dst_device), End::device(src_device), row(byte_count), mode)
    })
}

pub(in crate::exports) unsafe fn cuMemcpyPeerAsync(
    call: &Call<'_>,
    dst_device: CUdeviceptr,
    dst_context: CUcontext,
    src_device: CUdeviceptr,
    src_context: CUcontext,
    byte_count: usize,
    stream: CUstream,
) -> Result<(), CUresult> {
    in_context(call, dst_device, dst_context)?;
    in_context(call, src_device, src_context)?;
    transfer(call, End::device(dst_device), End::device(src_device), row(byte_count), SyncMode::Async(stream))
}

/// One side of a 2-D or 3-D copy, as in the descriptor.
struct Described {
    kind: CUmemorytype,
    host: *const c_void,
    device: CUdeviceptr,
    x: usize,
    y: usize,
    z: usize,
    pitch: usize,
    height: usize,
}

/// Checks one side: the pitch must cover a row, and the slice a plane. A pitch or height of 0 means densely packed.
fn end(side: Described, extent: Extent) -> Result<End, CUresult> {
    let (declared, base) = match side.kind {
        CU_MEMORYTYPE_HOST => (Declared::Host, side.host as u64),
        CU_MEMORYTYPE_DEVICE => (Declared::Device, side.device),
        CU_MEMORYTYPE_UNIFIED => (Declared::Unified, side.device),
        CU_MEMORYTYPE_ARRAY => return Err(CUresult::CUDA_ERROR_NOT_SUPPORTED),
        _ => return Err(INVALID_VALUE),
    };
    let [x, y, z] = [side.x as u64, side.y as u64, side.z as u64];
    let checked = || {
        let across = x.checked_add(extent.width)?;
        let down = y.checked_add(extent.height)?;
        let pitch = if side.pitch == 0 { across } else { side.pitch as u64 };
        let height = if side.height == 0 { down } else { side.height as u64 };
        // The pitch of a single row and the height of a single slice are never used.
        if (extent.height > 1 || extent.depth > 1) && pitch < across || extent.depth > 1 && height < down {
            return None;
        }
        let slice = pitch.checked_mul(height)?;
        let offset = z.checked_mul(slice)?.checked_add(y.checked_mul(pitch)?)?.checked_add(x)?;
        Some(Place { address: base.checked_add(offset)?, pitch, slice })
    };
    if base == 0 {
        return Err(INVALID_VALUE);
    }
    Ok(End { declared, place: checked().ok_or(INVALID_VALUE)? })
}

/// Reads a 2-D descriptor.
///
/// # Safety
/// `p_copy` is null or points to a descriptor.
unsafe fn ends_2d(p_copy: *const CUDA_MEMCPY2D) -> Result<(End, End, Extent), CUresult> {
    present(p_copy)?;
    // SAFETY: by this function's contract; the descriptor may be unaligned.
    let copy = unsafe { p_copy.read_unaligned() };
    let extent = Extent { width: copy.WidthInBytes as u64, height: copy.Height as u64, depth: 1 };
    let source = Described {
        kind: copy.srcMemoryType,
        host: copy.srcHost,
        device: copy.srcDevice,
        x: copy.srcXInBytes,
        y: copy.srcY,
        z: 0,
        pitch: copy.srcPitch,
        height: 0,
    };
    let target = Described {
        kind: copy.dstMemoryType,
        host: copy.dstHost,
        device: copy.dstDevice,
        x: copy.dstXInBytes,
        y: copy.dstY,
        z: 0,
        pitch: copy.dstPitch,
        height: 0,
    };
    Ok((end(target, extent)?, end(source, extent)?, extent))
}

/// Reads a 3-D descriptor of either layout.
macro_rules! ends_3d {
    ($copy:expr) => {{
        let copy = $copy;
        if copy.srcLOD != 0 || copy.dstLOD != 0 {
            return Err(INVALID_VALUE);
        }
        let [width, height, depth] = [copy.WidthInBytes as u64, copy.Height as u64, copy.Depth as u64];
        let extent = Extent { width, height, depth };
        let source = Described {
            kind: copy.srcMemoryType,
            host: copy.srcHost,
            device: copy.srcDevice,
            x: copy.srcXInBytes,
            y: copy.srcY,
            z: copy.srcZ,
            pitch: copy.srcPitch,
            height: copy.srcHeight,
        };
        let target = Described {
            kind: copy.dstMemoryType,
            host: copy.dstHost,
            device: copy.dstDevice,
            x: copy.dstXInBytes,
            y: copy.dstY,
            z: copy.dstZ,
            pitch: copy.dstPitch,
            height: copy.dstHeight,
        };
        (end(target, extent)?, end(source, extent)?, extent)
    }};
}

/// The copy that a 3-D descriptor describes.
pub(in crate::exports) fn transfer_of(copy: &CUDA_MEMCPY3D) -> Result<Transfer, CUresult> {
    let (target, source, extent) = ends_3d!(copy);
    Ok(Transfer { target, source, extent })
}

pub(in crate::exports) unsafe fn cuMemcpy2D_v2(call: &Call<'_>, p_copy: *const CUDA_MEMCPY2D) -> Result<(), CUresult> {
    // SAFETY: the caller's descriptor, by the driver's contract.
    let (target, source, extent) = unsafe { ends_2d(p_copy)? };
    transfer(call, target, source, extent, SyncMode::Plain)
}

pub(in crate::exports) unsafe fn cuMemcpy2DUnaligned_v2(
    call: &Call<'_>,
    p_copy: *const CUDA_MEMCPY2D,
) -> Result<(), CUresult> {
    // SAFETY: both functions have the same contract; this implementation accepts any pitch in both.
    unsafe { cuMemcpy2D_v2(call, p_copy) }
}

pub(in crate::exports) unsafe fn cuMemcpy2DAsync_v2(
    call: &Call<'_>,
    p_copy: *const CUDA_MEMCPY2D,
    stream: CUstream,
) -> Result<(), CUresult> {
    // SAFETY: the caller's descriptor, by the driver's contract.
    let (target, source, extent) = unsafe { ends_2d(p_copy)? };
    transfer(call, target, source, extent, SyncMode::Async(stream))
}

pub(in crate::exports) unsafe fn cuMemcpy3D_v2(call: &Call<'_>, p_copy: *const CUDA_MEMCPY3D) -> Result<(), CUresult> {
    present(p_copy)?;
    // SAFETY: the caller's descriptor, by the driver's contract.
    let (target, source, extent) = ends_3d!(unsafe { p_copy.read_unaligned() });
    transfer(call, target, source, extent, SyncMode::Plain)
}

pub(in crate::exports) unsafe fn cuMemcpy3DAsync_v2(
    call: &Call<'_>,
    p_copy: *const CUDA_MEMCPY3D,
    stream: CUstream,
) -> Result<(), CUresult> {
    present(p_copy)?;
    // SAFETY: the caller's descriptor, by the driver's contract.
    let (target, source, extent) = ends_3d!(unsafe { p_copy.read_unaligned() });
    transfer(call, target, source, extent, SyncMode::Async(stream))
}

pub(in crate::exports) unsafe fn cuMemcpy3DPeer(
    call: &Call<'_>,
    p_copy: *const CUDA_MEMCPY3D_PEER,
) -> Result<(), CUresult> {
    present(p_copy)?;
    // SAFETY: the caller's descriptor, by the driver's contract.
    let copy = unsafe { p_copy.read_unaligned() };
    let (target, source, extent) = ends_3d!(copy);
    serialized(call, [copy.dstContext, copy.srcContext], || {
        transfer(call, target, source, extent, SyncMode::Async(CU_STREAM_LEGACY))
    })
}

pub(in crate::exports) unsafe fn cuMemcpy3DPeerAsync(
    call: &Call<'_>,
    p_copy: *const CUDA_MEMCPY3D_PEER,
    stream: CUstream,
) -> Result<(), CUresult> {
    present(p_copy)?;
    // SAFETY: the caller's descriptor, by the driver's contract.
    let copy = unsafe { p_copy.read_unaligned() };
    let (target, source, extent) = ends_3d!(copy);
    for context in [copy.dstContext, copy.srcContext] {
        call.lock().context(context)?;
    }
    transfer(call, target, source, extent, SyncMode::Async(stream))
}
