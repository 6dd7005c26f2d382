//! Copies of slices of rows, of memory and of arrays. With an array, the extent and its position count texels.

use super::*;
use crate::call::present;
use crate::channel;
use crate::context;
use crate::driver::cu;
use cuarray_abi::{Api, CU_MEMORYTYPE_ARRAY, CUDA_MEMCPY3D, CUDA_MEMCPY3D_PEER, CUcontext};

/// One side of a copy, as the driver describes it.
struct Side {
    kind: CUmemorytype,
    host: *const c_void,
    device: CUdeviceptr,
    array: cudaArray_t,
    x: usize,
    pitch: usize,
    height: usize,
}

/// The size of the elements that a copy counts in: the texels of its array, or bytes.
///
/// # Errors
/// `cudaErrorInvalidValue` for two arrays with texels of different sizes.
fn element(api: &Api, src: cudaArray_t, dst: cudaArray_t) -> Result<usize> {
    match (src.is_null(), dst.is_null()) {
        (true, true) => Ok(1),
        (false, true) => channel::texel(api, src),
        (true, false) => channel::texel(api, dst),
        (false, false) => {
            let (one, other) = (channel::texel(api, src)?, channel::texel(api, dst)?);
            if one == other { Ok(one) } else { Err(cudaError_t::cudaErrorInvalidValue) }
        }
    }
}

/// Checks one side of a copy of rows of `width` bytes: an array, or linear memory with rows that hold the copied part.
///
/// # Errors
/// - `cudaErrorInvalidValue` unless either an array or memory is given.
/// - `cudaErrorInvalidMemcpyDirection` for an array where the direction names the host.
/// - `cudaErrorInvalidPitchValue` for rows that are too short.
fn side(
    kind: CUmemorytype,
    (array, pitched): (cudaArray_t, &cudaPitchedPtr),
    (position, element): (cudaPos, usize),
    width: usize,
) -> Result<Side> {
    const OVERFLOW: cudaError_t = cudaError_t::cudaErrorInvalidValue;
    match (array.is_null(), pitched.ptr.is_null()) {
        // Both or neither say where the memory is.
        (true, true) | (false, false) => Err(cudaError_t::cudaErrorInvalidValue),
        (false, true) if kind == CU_MEMORYTYPE_HOST => Err(cudaError_t::cudaErrorInvalidMemcpyDirection),
        (false, true) => {
            let x = position.x.checked_mul(element).ok_or(OVERFLOW)?;
            Ok(Side { kind: CU_MEMORYTYPE_ARRAY, host: ptr::null(), device: 0, array, x, pitch: 0, height: 0 })
        }
        (true, false) => match position.x.checked_add(width) {
            Some(end) if end <= pitched.pitch => {
                let ((host, device), array) = (endpoint(kind, pitched.ptr), cudaArray_t::NULL);
                Ok(Side { kind, host, device, array, x: position.x, pitch: pitched.pitch, height: pitched.ysize })
            }
            _ => Err(cudaError_t::cudaErrorInvalidPitchValue),
        },
    }
}

fn is_empty(extent: cudaExtent) -> bool {
    extent.width == 0 || extent.height == 0 || extent.depth == 0
}

/// The driver's description of a copy; `None` if the copy is empty.
pub(crate) fn to_driver(api: &Api, copy: &cudaMemcpy3DParms) -> Result<Option<CUDA_MEMCPY3D>> {
    check_kind(copy.kind)?;
    let (src_type, dst_type) = memory_types(copy.kind);
    let element = element(api, copy.srcArray, copy.dstArray)?;
    let width = copy.extent.width.checked_mul(element).ok_or(cudaError_t::cudaErrorInvalidValue)?;
    let from = side(src_type, (copy.srcArray, &copy.srcPtr), (copy.srcPos, element), width)?;
    let to = side(dst_type, (copy.dstArray, &copy.dstPtr), (copy.dstPos, element), width)?;
    if is_empty(copy.extent) {
        return Ok(None);
    }
    Ok(Some(CUDA_MEMCPY3D {
        srcXInBytes: from.x,
        srcY: copy.srcPos.y,
        srcZ: copy.srcPos.z,
        srcLOD: 0,
        srcMemoryType: from.kind,
        srcHost: from.host,
        srcDevice: from.device,
        srcArray: from.array,
        reserved0: ptr::null_mut(),
        srcPitch: from.pitch,
        srcHeight: from.height,
        dstXInBytes: to.x,
        dstY: copy.dstPos.y,
        dstZ: copy.dstPos.z,
        dstLOD: 0,
        dstMemoryType: to.kind,
        dstHost: to.host.cast_mut(),
        dstDevice: to.device,
        dstArray: to.array,
        reserved1: ptr::null_mut(),
        dstPitch: to.pitch,
        dstHeight: to.height,
        WidthInBytes: width,
        Height: copy.extent.height,
        Depth: copy.extent.depth,
    }))
}

/// Reads the parameters of a copy.
unsafe fn read<T: Copy>(parameters: *const T) -> Result<T> {
    present(parameters)?;
    // SAFETY: by the contract of this function.
    Ok(unsafe { parameters.read_unaligned() })
}

pub(crate) unsafe fn cudaMemcpy3D(api: &Api, p: *const cudaMemcpy3DParms) -> Result {
    // SAFETY: by the contract of this function.
    let Some(copy) = to_driver(api, &unsafe { read(p)? })? else { return Ok(()) };
    cu!(api.cuMemcpy3D_v2(&raw const copy))
}

pub(crate) unsafe fn cudaMemcpy3DAsync(api: &Api, p: *const cudaMemcpy3DParms, stream: cudaStream_t) -> Result {
    // SAFETY: by the contract of this function.
    let Some(copy) = to_driver(api, &unsafe { read(p)? })? else { return Ok(()) };
    cu!(api.cuMemcpy3DAsync_v2(&raw const copy, stream))
}

/// The driver's description of a copy between devices; `None` if the copy is empty.
fn between_devices(api: &Api, copy: &cudaMemcpy3DPeerParms) -> Result<Option<CUDA_MEMCPY3D_PEER>> {
    let element = element(api, copy.srcArray, copy.dstArray)?;
    let width = copy.extent.width.checked_mul(element).ok_or(cudaError_t::cudaErrorInvalidValue)?;
    let source = side(CU_MEMORYTYPE_DEVICE, (copy.srcArray, &copy.srcPtr), (copy.srcPos, element), width)?;
    let target = side(CU_MEMORYTYPE_DEVICE, (copy.dstArray, &copy.dstPtr), (copy.dstPos, element), width)?;
    let (from, to): (CUcontext, CUcontext) =
        (context::primary(api, copy.srcDevice)?, context::primary(api, copy.dstDevice)?);
    if is_empty(copy.extent) {
        return Ok(None);
    }
    Ok(Some(CUDA_MEMCPY3D_PEER {
        srcXInBytes: source.x,
        srcY: copy.srcPos.y,
        srcZ: copy.srcPos.z,
        srcLOD: 0,
        srcMemoryType: source.kind,
        srcHost: ptr::null(),
        srcDevice: source.device,
        srcArray: source.array,
        srcContext: from,
        srcPitch: source.pitch,
        srcHeight: source.height,
        dstXInBytes: target.x,
        dstY: copy.dstPos.y,
        dstZ: copy.dstPos.z,
        dstLOD: 0,
        dstMemoryType: target.kind,
        dstHost: ptr::null_mut(),
        dstDevice: target.device,
        dstArray: target.array,
        dstContext: to,
        dstPitch: target.pitch,
        dstHeight: target.height,
        WidthInBytes: width,
        Height: copy.extent.height,
        Depth: copy.extent.depth,
    }))
}

pub(crate) unsafe fn cudaMemcpy3DPeer(api: &Api, p: *const cudaMemcpy3DPeerParms) -> Result {
    // SAFETY: by the contract of this function.
    let Some(copy) = between_devices(api, &unsafe { read(p)? })? else { return Ok(()) };
    cu!(api.cuMemcpy3DPeer(&raw const copy))
}

pub(crate) unsafe fn cudaMemcpy3DPeerAsync(api: &Api, p: *const cudaMemcpy3DPeerParms, stream: cudaStream_t) -> Result {
    // SAFETY: by the contract of this function.
    let Some(copy) = between_devices(api, &unsafe { read(p)? })? else { return Ok(()) };
    cu!(api.cuMemcpy3DPeerAsync(&raw const copy, stream))
}
