//! Copies of slices of rows.

use super::*;
use crate::call::present;
use crate::context;
use crate::driver::cu;
use cuarray_abi::{Api, CUDA_MEMCPY3D, CUDA_MEMCPY3D_PEER, CUarray, CUcontext};

/// Checks one side of a copy: linear memory with rows that hold the copied part.
fn check_side(array: cudaArray_t, pitched: &cudaPitchedPtr, position: cudaPos, extent: cudaExtent) -> Answer {
    match (array.is_null(), pitched.ptr.is_null()) {
        // Both or neither say where the memory is.
        (true, true) | (false, false) => Err(cudaError_t::cudaErrorInvalidValue),
        (false, true) => Err(cudaError_t::cudaErrorNotSupported),
        (true, false) => match position.x.checked_add(extent.width) {
            Some(end) if end <= pitched.pitch => Ok(()),
            _ => Err(cudaError_t::cudaErrorInvalidPitchValue),
        },
    }
}

fn is_empty(extent: cudaExtent) -> bool {
    extent.width == 0 || extent.height == 0 || extent.depth == 0
}

/// The driver's description of a copy; `None` if the copy is empty.
pub(crate) fn to_driver(copy: &cudaMemcpy3DParms) -> Result<Option<CUDA_MEMCPY3D>, cudaError_t> {
    check_kind(copy.kind)?;
    check_side(copy.srcArray, &copy.srcPtr, copy.srcPos, copy.extent)?;
    check_side(copy.dstArray, &copy.dstPtr, copy.dstPos, copy.extent)?;
    if is_empty(copy.extent) {
        return Ok(None);
    }
    let (src_type, dst_type) = memory_types(copy.kind);
    let (src_host, src_device) = endpoint(src_type, copy.srcPtr.ptr);
    let (dst_host, dst_device) = endpoint(dst_type, copy.dstPtr.ptr);
    Ok(Some(CUDA_MEMCPY3D {
        srcXInBytes: copy.srcPos.x,
        srcY: copy.srcPos.y,
        srcZ: copy.srcPos.z,
        srcLOD: 0,
        srcMemoryType: src_type,
        srcHost: src_host,
        srcDevice: src_device,
        srcArray: CUarray::NULL,
        reserved0: ptr::null_mut(),
        srcPitch: copy.srcPtr.pitch,
        srcHeight: copy.srcPtr.ysize,
        dstXInBytes: copy.dstPos.x,
        dstY: copy.dstPos.y,
        dstZ: copy.dstPos.z,
        dstLOD: 0,
        dstMemoryType: dst_type,
        dstHost: dst_host.cast_mut(),
        dstDevice: dst_device,
        dstArray: CUarray::NULL,
        reserved1: ptr::null_mut(),
        dstPitch: copy.dstPtr.pitch,
        dstHeight: copy.dstPtr.ysize,
        WidthInBytes: copy.extent.width,
        Height: copy.extent.height,
        Depth: copy.extent.depth,
    }))
}

/// Reads the parameters of a copy.
unsafe fn read<T: Copy>(parameters: *const T) -> Result<T, cudaError_t> {
    present(parameters)?;
    // SAFETY: by the contract of this function.
    Ok(unsafe { parameters.read_unaligned() })
}

pub(crate) unsafe fn cudaMemcpy3D(api: &Api, p: *const cudaMemcpy3DParms) -> Answer {
    // SAFETY: by the contract of this function.
    let Some(copy) = to_driver(&unsafe { read(p)? })? else { return Ok(()) };
    cu!(api.cuMemcpy3D_v2(&raw const copy))
}

pub(crate) unsafe fn cudaMemcpy3DAsync(api: &Api, p: *const cudaMemcpy3DParms, stream: cudaStream_t) -> Answer {
    // SAFETY: by the contract of this function.
    let Some(copy) = to_driver(&unsafe { read(p)? })? else { return Ok(()) };
    cu!(api.cuMemcpy3DAsync_v2(&raw const copy, stream))
}

/// The driver's description of a copy between devices; `None` if the copy is empty.
fn between_devices(api: &Api, copy: &cudaMemcpy3DPeerParms) -> Result<Option<CUDA_MEMCPY3D_PEER>, cudaError_t> {
    check_side(copy.srcArray, &copy.srcPtr, copy.srcPos, copy.extent)?;
    check_side(copy.dstArray, &copy.dstPtr, copy.dstPos, copy.extent)?;
    let (from, to): (CUcontext, CUcontext) =
        (context::primary(api, copy.srcDevice)?, context::primary(api, copy.dstDevice)?);
    if is_empty(copy.extent) {
        return Ok(None);
    }
    Ok(Some(CUDA_MEMCPY3D_PEER {
        srcXInBytes: copy.srcPos.x,
        srcY: copy.srcPos.y,
        srcZ: copy.srcPos.z,
        srcLOD: 0,
        srcMemoryType: CU_MEMORYTYPE_DEVICE,
        srcHost: ptr::null(),
        srcDevice: address(copy.srcPtr.ptr),
        srcArray: CUarray::NULL,
        srcContext: from,
        srcPitch: copy.srcPtr.pitch,
        srcHeight: copy.srcPtr.ysize,
        dstXInBytes: copy.dstPos.x,
        dstY: copy.dstPos.y,
        dstZ: copy.dstPos.z,
        dstLOD: 0,
        dstMemoryType: CU_MEMORYTYPE_DEVICE,
        dstHost: ptr::null_mut(),
        dstDevice: address(copy.dstPtr.ptr),
        dstArray: CUarray::NULL,
        dstContext: to,
        dstPitch: copy.dstPtr.pitch,
        dstHeight: copy.dstPtr.ysize,
        WidthInBytes: copy.extent.width,
        Height: copy.extent.height,
        Depth: copy.extent.depth,
    }))
}

pub(crate) unsafe fn cudaMemcpy3DPeer(api: &Api, p: *const cudaMemcpy3DPeerParms) -> Answer {
    // SAFETY: by the contract of this function.
    let Some(copy) = between_devices(api, &unsafe { read(p)? })? else { return Ok(()) };
    cu!(api.cuMemcpy3DPeer(&raw const copy))
}

pub(crate) unsafe fn cudaMemcpy3DPeerAsync(api: &Api, p: *const cudaMemcpy3DPeerParms, stream: cudaStream_t) -> Answer {
    // SAFETY: by the contract of this function.
    let Some(copy) = between_devices(api, &unsafe { read(p)? })? else { return Ok(()) };
    cu!(api.cuMemcpy3DPeerAsync(&raw const copy, stream))
}
