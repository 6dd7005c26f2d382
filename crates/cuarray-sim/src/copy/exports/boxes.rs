//! Copies of boxes with a descriptor, of memory and of arrays.

use super::linear::{serialized, transfer};
use super::{INVALID_VALUE, SyncMode, in_array};
use crate::driver::Call;
use crate::objects::allocation::Declared;
use crate::objects::copy::{End, Extent, Place, Transfer};
use crate::parameters::In;
use crate::state::State;
use cuarray_abi::*;
use std::ffi::c_void;

/// One side of a 2-D or 3-D copy, as in the descriptor.
struct Described {
    kind: CUmemorytype,
    host: *const c_void,
    device: CUdeviceptr,
    array: CUarray,
    x: usize,
    y: usize,
    z: usize,
    pitch: usize,
    height: usize,
}

/// Checks one side: the pitch must cover a row, and the slice a plane. A pitch or height of 0 means densely packed. An array
/// has its own pitch and height.
fn end(state: &mut State, side: Described, extent: Extent) -> Result<End, CUresult> {
    let (declared, base) = match side.kind {
        CU_MEMORYTYPE_HOST => (Declared::Host, side.host as u64),
        CU_MEMORYTYPE_DEVICE => (Declared::Device, side.device),
        CU_MEMORYTYPE_UNIFIED => (Declared::Unified, side.device),
        CU_MEMORYTYPE_ARRAY => {
            return in_array(state, side.array, [side.x, side.y, side.z].map(|offset| offset as u64), extent);
        }
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
    Ok(End::new(declared, checked().ok_or(INVALID_VALUE)?))
}

/// Reads a 2-D descriptor.
fn ends_2d(call: &Call<'_>, p_copy: In<'_, CUDA_MEMCPY2D>) -> Result<(End, End, Extent), CUresult> {
    let copy = p_copy.read()?;
    let extent = Extent { width: copy.WidthInBytes as u64, height: copy.Height as u64, depth: 1 };
    let source = Described {
        kind: copy.srcMemoryType,
        host: copy.srcHost,
        device: copy.srcDevice,
        array: copy.srcArray,
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
        array: copy.dstArray,
        x: copy.dstXInBytes,
        y: copy.dstY,
        z: 0,
        pitch: copy.dstPitch,
        height: 0,
    };
    let mut state = call.lock();
    Ok((end(&mut state, target, extent)?, end(&mut state, source, extent)?, extent))
}

/// Reads a 3-D descriptor of either layout.
macro_rules! ends_3d {
    ($state:expr, $copy:expr) => {{
        let (copy, state) = ($copy, $state);
        if copy.srcLOD != 0 || copy.dstLOD != 0 {
            return Err(INVALID_VALUE);
        }
        let [width, height, depth] = [copy.WidthInBytes as u64, copy.Height as u64, copy.Depth as u64];
        let extent = Extent { width, height, depth };
        let source = Described {
            kind: copy.srcMemoryType,
            host: copy.srcHost,
            device: copy.srcDevice,
            array: copy.srcArray,
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
            array: copy.dstArray,
            x: copy.dstXInBytes,
            y: copy.dstY,
            z: copy.dstZ,
            pitch: copy.dstPitch,
            height: copy.dstHeight,
        };
        (end(state, target, extent)?, end(state, source, extent)?, extent)
    }};
}

/// The copy that a 3-D descriptor describes.
pub(crate) fn transfer_of(state: &mut State, copy: &CUDA_MEMCPY3D) -> Result<Transfer, CUresult> {
    let (target, source, extent) = ends_3d!(state, copy);
    Ok(Transfer { target, source, extent })
}

pub(crate) fn cuMemcpy2D_v2(call: &Call<'_>, p_copy: In<'_, CUDA_MEMCPY2D>) -> Result<(), CUresult> {
    let (target, source, extent) = ends_2d(call, p_copy)?;
    transfer(call, target, source, extent, SyncMode::Plain)
}

pub(crate) fn cuMemcpy2DUnaligned_v2(call: &Call<'_>, p_copy: In<'_, CUDA_MEMCPY2D>) -> Result<(), CUresult> {
    cuMemcpy2D_v2(call, p_copy)
}

pub(crate) fn cuMemcpy2DAsync_v2(
    call: &Call<'_>,
    p_copy: In<'_, CUDA_MEMCPY2D>,
    stream: CUstream,
) -> Result<(), CUresult> {
    let (target, source, extent) = ends_2d(call, p_copy)?;
    transfer(call, target, source, extent, SyncMode::Async(stream))
}

pub(crate) fn cuMemcpy3D_v2(call: &Call<'_>, p_copy: In<'_, CUDA_MEMCPY3D>) -> Result<(), CUresult> {
    let (target, source, extent) = ends_3d!(&mut call.lock(), p_copy.read()?);
    transfer(call, target, source, extent, SyncMode::Plain)
}

pub(crate) fn cuMemcpy3DAsync_v2(
    call: &Call<'_>,
    p_copy: In<'_, CUDA_MEMCPY3D>,
    stream: CUstream,
) -> Result<(), CUresult> {
    let (target, source, extent) = ends_3d!(&mut call.lock(), p_copy.read()?);
    transfer(call, target, source, extent, SyncMode::Async(stream))
}

/// The copy with the contexts that own the memory: a green context stands for its primary context.
fn of_contexts(call: &Call<'_>, copy: CUDA_MEMCPY3D_PEER) -> Result<CUDA_MEMCPY3D_PEER, CUresult> {
    let state = call.lock();
    let [dstContext, srcContext] = [state.scope(copy.dstContext)?.context, state.scope(copy.srcContext)?.context];
    Ok(CUDA_MEMCPY3D_PEER { dstContext, srcContext, ..copy })
}

pub(crate) fn cuMemcpy3DPeer(call: &Call<'_>, p_copy: In<'_, CUDA_MEMCPY3D_PEER>) -> Result<(), CUresult> {
    let copy = of_contexts(call, p_copy.read()?)?;
    let (target, source, extent) = ends_3d!(&mut call.lock(), copy);
    let (target, source) = (target.of_context(copy.dstContext), source.of_context(copy.srcContext));
    serialized(call, [copy.dstContext, copy.srcContext], || {
        transfer(call, target, source, extent, SyncMode::Async(CU_STREAM_LEGACY))
    })
}

pub(crate) fn cuMemcpy3DPeerAsync(
    call: &Call<'_>,
    p_copy: In<'_, CUDA_MEMCPY3D_PEER>,
    stream: CUstream,
) -> Result<(), CUresult> {
    let copy = of_contexts(call, p_copy.read()?)?;
    let (target, source, extent) = ends_3d!(&mut call.lock(), copy);
    let (target, source) = (target.of_context(copy.dstContext), source.of_context(copy.srcContext));
    transfer(call, target, source, extent, SyncMode::Async(stream))
}
