//! Copies and fills.
//!
//! Driver API: [memory management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html) and
//! [how calls synchronize](https://docs.nvidia.com/cuda/cuda-driver-api/api-sync-behavior.html). Every function here becomes a
//! box of bytes for [`transfer`] or [`fill`], which check it, enqueue it, and wait for it where the manual says that the
//! call does. Where it leaves a choice, the call returns early: that is what shows a missing synchronization.

use super::*;
use crate::copy::{Copy, End, Extent, Fill, Place, Source, Transfer, stage};
use crate::driver::Guard;
use crate::finding::Deed;
use crate::graph::{Action, CopyNode, FillNode};
use crate::memory::{Declared, Side};
use crate::schedule::chosen::Mode;
use crate::schedule::{Point, Work};
use crate::state::State;

const INVALID_VALUE: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

/// How a copy or fill was called.
#[derive(Clone, Copy)]
enum Manner {
    /// In a stream; returns when the work is enqueued, where that is allowed.
    Async(CUstream),
    /// In the default stream; returns when the work is done, unless it concerns device memory alone.
    Plain,
}

impl Manner {
    fn stream(self) -> CUstream {
        match self {
            Manner::Async(stream) => stream,
            Manner::Plain => CUstream::NULL,
        }
    }
}

/// Enqueues work; under the eager schedule, runs it.
pub(super) fn submit<'a>(
    call: &Call<'a>,
    mut state: Guard<'a>,
    stream: CUstream,
    work: Work,
    after: Vec<Point>,
) -> Result<(Guard<'a>, Point), CUresult> {
    let point = state.enqueue(stream, work, after)?;
    if matches!(state.mode, Mode::Eager) {
        state = call.driver.force(state, vec![point]);
    }
    Ok((state, point))
}

/// `CU_CTX_SYNC_MEMOPS`: calls without a stream wait in this context.
const CU_CTX_SYNC_MEMOPS: c_uint = 0x80;

/// Whether the context, or the memory at an address, asks for synchronous copies and fills.
fn sync_memops(state: &State, context: CUcontext, address: u64) -> bool {
    let of_context = state.context(context).is_ok_and(|context| context.flags & CU_CTX_SYNC_MEMOPS != 0);
    of_context || state.memory.find(address).is_some_and(|allocation| allocation.sync_memops)
}

/// What capture means for a copy or a fill: whether it is to become a node. One that waits cannot.
fn captures(call: &Call<'_>, state: &mut State, stream: CUstream, manner: Manner) -> Result<bool, CUresult> {
    if matches!(manner, Manner::Plain) {
        state.forbid_in_capture(stream)?;
        state.forbid_unsafe(call.thread, call.capture_mode())?;
    }
    state.captures(stream)
}

/// Checks, enqueues and, where the call must, waits for a copy. Answers its point.
fn transfer(call: &Call<'_>, target: End, source: End, extent: Extent, manner: Manner) -> Answer {
    let (mut state, current) = call.current()?;
    let stream = state.stream_of(call, current, manner.stream())?;
    let captured = captures(call, &mut state, stream, manner)?;
    if extent.is_empty() {
        return Ok(());
    }
    if captured {
        let transfer = Transfer { target, source, extent };
        state.check_copy(&transfer)?;
        let node = CopyNode::captured(transfer, current);
        return state.capture_node(stream, Action::Copy(Box::new(node))).map(|_| ());
    }
    let to = side(&mut state, target, extent, Deed::Write)?;
    let from = side(&mut state, source, extent, Deed::Read)?;
    let host = |side| matches!(side, Side::Pinned | Side::Pageable);
    let waits = match manner {
        Manner::Async(_) => to == Side::Pageable || (host(to) && host(from)),
        Manner::Plain => {
            let memops = [target, source].iter().any(|end| sync_memops(&state, current, end.place.address));
            to != Side::Device || from != Side::Device || memops
        }
    };
    let bytes = if from == Side::Pageable && !waits {
        // SAFETY: the program's memory is readable while its call lasts, by the driver's contract.
        Source::Staged(unsafe { stage(source.place, extent)? })
    } else {
        Source::Memory(source.place)
    };
    let copy = Copy { source: bytes, target: target.place, extent };
    let (state, point) = submit(call, state, stream, Work::Copy(Box::new(copy)), Vec::new())?;
    match manner {
        // Done by now, since the program's memory may be gone after this call; but the manual only says that it might be.
        Manner::Async(_) if waits && !host(from) => drop(call.driver.force(state, vec![point])),
        _ if waits => wait(call, state, stream, point),
        _ => {}
    }
    Ok(())
}

/// Checks one side of a copy or fill.
fn side(state: &mut State, end: End, extent: Extent, deed: Deed) -> Result<Side, CUresult> {
    let (address, span) = (end.place.address, end.place.span(extent)?);
    let side = state.side(address, span, end.declared);
    if side.is_err() {
        state.refused(deed, address, span);
    }
    side
}

/// Waits for what was just enqueued in a stream.
fn wait(call: &Call<'_>, state: Guard<'_>, stream: CUstream, point: Point) {
    let clock = state.clock_of(stream);
    let mut state = call.driver.force(state, vec![point]);
    state.host_learns(clock.into_iter().collect());
}

/// Checks, enqueues and, where the call must, waits for a fill.
fn fill(call: &Call<'_>, target: Place, value: (u32, u8), extent: Extent, manner: Manner) -> Answer {
    let (mut state, current) = call.current()?;
    let stream = state.stream_of(call, current, manner.stream())?;
    let captured = captures(call, &mut state, stream, manner)?;
    let (value, value_size) = value;
    let aligned = target.address.is_multiple_of(u64::from(value_size))
        && (extent.height <= 1 || target.pitch.is_multiple_of(u64::from(value_size)));
    if !aligned {
        if !extent.is_empty() {
            state.misaligned(Deed::Write, target.address, target.span(extent)?, u64::from(value_size));
        }
        return Err(INVALID_VALUE);
    }
    if extent.is_empty() {
        return Ok(());
    }
    if extent.height > 1 && target.pitch < extent.width {
        return Err(INVALID_VALUE);
    }
    if captured {
        let node = FillNode::captured(&Fill { target, value, value_size, extent }, current);
        state.check_fill(&node)?;
        return state.capture_node(stream, Action::Fill(node)).map(|_| ());
    }
    let end = End { declared: Declared::Device, place: target };
    let side = side(&mut state, end, extent, Deed::Write)?;
    let waits =
        matches!(manner, Manner::Plain) && (side != Side::Device || sync_memops(&state, current, target.address));
    let work = Work::Fill(Box::new(Fill { target, value, value_size, extent }));
    let (state, point) = submit(call, state, stream, work, Vec::new())?;
    if waits {
        wait(call, state, stream, point);
    }
    Ok(())
}

fn row(byte_count: usize) -> Extent {
    Extent::row(byte_count as u64)
}

pub(super) unsafe fn cuMemcpy(call: &Call<'_>, dst: CUdeviceptr, src: CUdeviceptr, byte_count: usize) -> Answer {
    transfer(call, End::unified(dst), End::unified(src), row(byte_count), Manner::Plain)
}

pub(super) unsafe fn cuMemcpyHtoD_v2(
    call: &Call<'_>,
    dst_device: CUdeviceptr,
    src_host: *const c_void,
    byte_count: usize,
) -> Answer {
    transfer(call, End::device(dst_device), End::host(src_host), row(byte_count), Manner::Plain)
}

pub(super) unsafe fn cuMemcpyDtoH_v2(
    call: &Call<'_>,
    dst_host: *mut c_void,
    src_device: CUdeviceptr,
    byte_count: usize,
) -> Answer {
    transfer(call, End::host(dst_host), End::device(src_device), row(byte_count), Manner::Plain)
}

pub(super) unsafe fn cuMemcpyDtoD_v2(
    call: &Call<'_>,
    dst_device: CUdeviceptr,
    src_device: CUdeviceptr,
    byte_count: usize,
) -> Answer {
    transfer(call, End::device(dst_device), End::device(src_device), row(byte_count), Manner::Plain)
}

pub(super) unsafe fn cuMemcpyAsync(
    call: &Call<'_>,
    dst: CUdeviceptr,
    src: CUdeviceptr,
    byte_count: usize,
    stream: CUstream,
) -> Answer {
    transfer(call, End::unified(dst), End::unified(src), row(byte_count), Manner::Async(stream))
}

pub(super) unsafe fn cuMemcpyHtoDAsync_v2(
    call: &Call<'_>,
    dst_device: CUdeviceptr,
    src_host: *const c_void,
    byte_count: usize,
    stream: CUstream,
) -> Answer {
    transfer(call, End::device(dst_device), End::host(src_host), row(byte_count), Manner::Async(stream))
}

pub(super) unsafe fn cuMemcpyDtoHAsync_v2(
    call: &Call<'_>,
    dst_host: *mut c_void,
    src_device: CUdeviceptr,
    byte_count: usize,
    stream: CUstream,
) -> Answer {
    transfer(call, End::host(dst_host), End::device(src_device), row(byte_count), Manner::Async(stream))
}

pub(super) unsafe fn cuMemcpyDtoDAsync_v2(
    call: &Call<'_>,
    dst_device: CUdeviceptr,
    src_device: CUdeviceptr,
    byte_count: usize,
    stream: CUstream,
) -> Answer {
    transfer(call, End::device(dst_device), End::device(src_device), row(byte_count), Manner::Async(stream))
}

/// Checks that memory lies on the device of the context that a peer copy names for it.
fn in_context(call: &Call<'_>, address: CUdeviceptr, context: CUcontext) -> Answer {
    let state = call.lock();
    let device = state.context(context)?.device;
    let allocation = state.memory.find(address).ok_or(INVALID_VALUE)?;
    if allocation.kind.on_device() && allocation.device != device {
        return Err(INVALID_VALUE);
    }
    Ok(())
}

/// Runs a peer copy between the work of both contexts and of the current one: none of them may overlap it.
fn serialized(call: &Call<'_>, contexts: [CUcontext; 2], copy: impl FnOnce() -> Answer) -> Answer {
    let (mut state, current) = call.current()?;
    let mut before = Vec::new();
    state.forbid_unsafe(call.thread, call.capture_mode())?;
    for context in contexts {
        let legacy = state.context(context)?.legacy;
        state.forbid_in_capture(legacy)?;
        // An operation of the legacy default stream comes after the work of all blocking streams of its context.
        before.push(state.enqueue(legacy, Work::Wait, Vec::new())?);
    }
    let own = state.stream_of(call, current, CU_STREAM_LEGACY)?;
    state.enqueue(own, Work::Wait, before)?;
    drop(state);
    copy()?;
    let mut state = call.lock();
    let done = state.streams.get(&own).map(|stream| stream.last(own)).ok_or(CUresult::CUDA_ERROR_INVALID_CONTEXT)?;
    for context in contexts {
        let legacy = state.context(context)?.legacy;
        if legacy != own {
            state.enqueue(legacy, Work::Wait, vec![done])?;
        }
    }
    Ok(())
}

pub(super) unsafe fn cuMemcpyPeer(
    call: &Call<'_>,
    dst_device: CUdeviceptr,
    dst_context: CUcontext,
    src_device: CUdeviceptr,
    src_context: CUcontext,
    byte_count: usize,
) -> Answer {
    in_context(call, dst_device, dst_context)?;
    in_context(call, src_device, src_context)?;
    serialized(call, [dst_context, src_context], || {
        let manner = Manner::Async(CU_STREAM_LEGACY);
        transfer(call, End::device(dst_device), End::device(src_device), row(byte_count), manner)
    })
}

pub(super) unsafe fn cuMemcpyPeerAsync(
    call: &Call<'_>,
    dst_device: CUdeviceptr,
    dst_context: CUcontext,
    src_device: CUdeviceptr,
    src_context: CUcontext,
    byte_count: usize,
    stream: CUstream,
) -> Answer {
    in_context(call, dst_device, dst_context)?;
    in_context(call, src_device, src_context)?;
    transfer(call, End::device(dst_device), End::device(src_device), row(byte_count), Manner::Async(stream))
}

/// One side of a 2-D or 3-D copy as its descriptor gives it.
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

/// The pitch is at least the row, the slice at least the plane; a pitch or height of 0 means densely packed.
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
        // A pitch of one row only, or a height of one slice only, is never used.
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
/// `p_copy` is null or points to one.
unsafe fn ends_2d(p_copy: *const CUDA_MEMCPY2D) -> Result<(End, End, Extent), CUresult> {
    present(p_copy)?;
    // SAFETY: by this function's contract; nothing is said of its alignment.
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

/// What a 3-D descriptor asks for.
pub(super) fn transfer_of(copy: &CUDA_MEMCPY3D) -> Result<Transfer, CUresult> {
    let (target, source, extent) = ends_3d!(copy);
    Ok(Transfer { target, source, extent })
}

pub(super) unsafe fn cuMemcpy2D_v2(call: &Call<'_>, p_copy: *const CUDA_MEMCPY2D) -> Answer {
    // SAFETY: the caller's descriptor, by the driver's contract.
    let (target, source, extent) = unsafe { ends_2d(p_copy)? };
    transfer(call, target, source, extent, Manner::Plain)
}

pub(super) unsafe fn cuMemcpy2DUnaligned_v2(call: &Call<'_>, p_copy: *const CUDA_MEMCPY2D) -> Answer {
    // SAFETY: the same contract; any pitch will do here in both.
    unsafe { cuMemcpy2D_v2(call, p_copy) }
}

pub(super) unsafe fn cuMemcpy2DAsync_v2(call: &Call<'_>, p_copy: *const CUDA_MEMCPY2D, stream: CUstream) -> Answer {
    // SAFETY: the caller's descriptor, by the driver's contract.
    let (target, source, extent) = unsafe { ends_2d(p_copy)? };
    transfer(call, target, source, extent, Manner::Async(stream))
}

pub(super) unsafe fn cuMemcpy3D_v2(call: &Call<'_>, p_copy: *const CUDA_MEMCPY3D) -> Answer {
    present(p_copy)?;
    // SAFETY: the caller's descriptor, by the driver's contract.
    let (target, source, extent) = ends_3d!(unsafe { p_copy.read_unaligned() });
    transfer(call, target, source, extent, Manner::Plain)
}

pub(super) unsafe fn cuMemcpy3DAsync_v2(call: &Call<'_>, p_copy: *const CUDA_MEMCPY3D, stream: CUstream) -> Answer {
    present(p_copy)?;
    // SAFETY: the caller's descriptor, by the driver's contract.
    let (target, source, extent) = ends_3d!(unsafe { p_copy.read_unaligned() });
    transfer(call, target, source, extent, Manner::Async(stream))
}

pub(super) unsafe fn cuMemcpy3DPeer(call: &Call<'_>, p_copy: *const CUDA_MEMCPY3D_PEER) -> Answer {
    present(p_copy)?;
    // SAFETY: the caller's descriptor, by the driver's contract.
    let copy = unsafe { p_copy.read_unaligned() };
    let (target, source, extent) = ends_3d!(copy);
    serialized(call, [copy.dstContext, copy.srcContext], || {
        transfer(call, target, source, extent, Manner::Async(CU_STREAM_LEGACY))
    })
}

pub(super) unsafe fn cuMemcpy3DPeerAsync(
    call: &Call<'_>,
    p_copy: *const CUDA_MEMCPY3D_PEER,
    stream: CUstream,
) -> Answer {
    present(p_copy)?;
    // SAFETY: the caller's descriptor, by the driver's contract.
    let copy = unsafe { p_copy.read_unaligned() };
    let (target, source, extent) = ends_3d!(copy);
    for context in [copy.dstContext, copy.srcContext] {
        call.lock().context(context)?;
    }
    transfer(call, target, source, extent, Manner::Async(stream))
}

/// The box of a fill of `width` elements of `size` bytes in each of `height` rows.
fn elements(width: usize, height: usize, size: u64) -> Result<Extent, CUresult> {
    let width = (width as u64).checked_mul(size).ok_or(INVALID_VALUE)?;
    Ok(Extent { width, height: height as u64, depth: 1 })
}

fn pitched(address: CUdeviceptr, pitch: usize) -> Place {
    Place { address, pitch: pitch as u64, slice: 0 }
}

pub(super) unsafe fn cuMemsetD8_v2(call: &Call<'_>, dst_device: CUdeviceptr, uc: u8, n: usize) -> Answer {
    fill(call, Place::row(dst_device), (u32::from(uc), 1), elements(n, 1, 1)?, Manner::Plain)
}

pub(super) unsafe fn cuMemsetD8Async(
    call: &Call<'_>,
    dst_device: CUdeviceptr,
    uc: u8,
    n: usize,
    stream: CUstream,
) -> Answer {
    fill(call, Place::row(dst_device), (u32::from(uc), 1), elements(n, 1, 1)?, Manner::Async(stream))
}

pub(super) unsafe fn cuMemsetD2D8_v2(
    call: &Call<'_>,
    dst_device: CUdeviceptr,
    dst_pitch: usize,
    uc: u8,
    width: usize,
    height: usize,
) -> Answer {
    fill(call, pitched(dst_device, dst_pitch), (u32::from(uc), 1), elements(width, height, 1)?, Manner::Plain)
}

pub(super) unsafe fn cuMemsetD2D8Async(
    call: &Call<'_>,
    dst_device: CUdeviceptr,
    dst_pitch: usize,
    uc: u8,
    width: usize,
    height: usize,
    stream: CUstream,
) -> Answer {
    fill(call, pitched(dst_device, dst_pitch), (u32::from(uc), 1), elements(width, height, 1)?, Manner::Async(stream))
}

pub(super) unsafe fn cuMemsetD16_v2(call: &Call<'_>, dst_device: CUdeviceptr, us: u16, n: usize) -> Answer {
    fill(call, Place::row(dst_device), (u32::from(us), 2), elements(n, 1, 2)?, Manner::Plain)
}

pub(super) unsafe fn cuMemsetD16Async(
    call: &Call<'_>,
    dst_device: CUdeviceptr,
    us: u16,
    n: usize,
    stream: CUstream,
) -> Answer {
    fill(call, Place::row(dst_device), (u32::from(us), 2), elements(n, 1, 2)?, Manner::Async(stream))
}

pub(super) unsafe fn cuMemsetD2D16_v2(
    call: &Call<'_>,
    dst_device: CUdeviceptr,
    dst_pitch: usize,
    us: u16,
    width: usize,
    height: usize,
) -> Answer {
    fill(call, pitched(dst_device, dst_pitch), (u32::from(us), 2), elements(width, height, 2)?, Manner::Plain)
}

pub(super) unsafe fn cuMemsetD2D16Async(
    call: &Call<'_>,
    dst_device: CUdeviceptr,
    dst_pitch: usize,
    us: u16,
    width: usize,
    height: usize,
    stream: CUstream,
) -> Answer {
    fill(call, pitched(dst_device, dst_pitch), (u32::from(us), 2), elements(width, height, 2)?, Manner::Async(stream))
}

pub(super) unsafe fn cuMemsetD32_v2(call: &Call<'_>, dst_device: CUdeviceptr, ui: c_uint, n: usize) -> Answer {
    fill(call, Place::row(dst_device), (ui, 4), elements(n, 1, 4)?, Manner::Plain)
}

pub(super) unsafe fn cuMemsetD32Async(
    call: &Call<'_>,
    dst_device: CUdeviceptr,
    ui: c_uint,
    n: usize,
    stream: CUstream,
) -> Answer {
    fill(call, Place::row(dst_device), (ui, 4), elements(n, 1, 4)?, Manner::Async(stream))
}

pub(super) unsafe fn cuMemsetD2D32_v2(
    call: &Call<'_>,
    dst_device: CUdeviceptr,
    dst_pitch: usize,
    ui: c_uint,
    width: usize,
    height: usize,
) -> Answer {
    fill(call, pitched(dst_device, dst_pitch), (ui, 4), elements(width, height, 4)?, Manner::Plain)
}

pub(super) unsafe fn cuMemsetD2D32Async(
    call: &Call<'_>,
    dst_device: CUdeviceptr,
    dst_pitch: usize,
    ui: c_uint,
    width: usize,
    height: usize,
    stream: CUstream,
) -> Answer {
    fill(call, pitched(dst_device, dst_pitch), (ui, 4), elements(width, height, 4)?, Manner::Async(stream))
}
