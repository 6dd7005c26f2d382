//! Copies of rows.

use super::*;
use crate::driver::cu;
use cuarray_abi::{Api, CUDA_MEMCPY2D, CUarray};

/// The driver's description of a copy of rows; `None` if the copy is empty.
fn described(
    dst: *mut c_void,
    dpitch: usize,
    src: *const c_void,
    spitch: usize,
    width: usize,
    height: usize,
    kind: cudaMemcpyKind,
) -> Result<Option<CUDA_MEMCPY2D>, cudaError_t> {
    check_kind(kind)?;
    if width > dpitch || width > spitch {
        return Err(cudaError_t::cudaErrorInvalidPitchValue);
    }
    if width == 0 || height == 0 {
        return Ok(None);
    }
    let (src_type, dst_type) = memory_types(kind);
    let ((src_host, src_device), (dst_host, dst_device)) = (endpoint(src_type, src), endpoint(dst_type, dst));
    Ok(Some(CUDA_MEMCPY2D {
        srcXInBytes: 0,
        srcY: 0,
        srcMemoryType: src_type,
        srcHost: src_host,
        srcDevice: src_device,
        srcArray: CUarray::NULL,
        srcPitch: spitch,
        dstXInBytes: 0,
        dstY: 0,
        dstMemoryType: dst_type,
        dstHost: dst_host.cast_mut(),
        dstDevice: dst_device,
        dstArray: CUarray::NULL,
        dstPitch: dpitch,
        WidthInBytes: width,
        Height: height,
    }))
}

pub(crate) unsafe fn cudaMemcpy2D(
    api: &Api,
    dst: *mut c_void,
    dpitch: usize,
    src: *const c_void,
    spitch: usize,
    width: usize,
    height: usize,
    kind: cudaMemcpyKind,
) -> Answer {
    let Some(copy) = described(dst, dpitch, src, spitch, width, height, kind)? else { return Ok(()) };
    // The other function of the driver may refuse pitches that its allocations do not have.
    cu!(api.cuMemcpy2DUnaligned_v2(&raw const copy))
}

pub(crate) unsafe fn cudaMemcpy2DAsync(
    api: &Api,
    dst: *mut c_void,
    dpitch: usize,
    src: *const c_void,
    spitch: usize,
    width: usize,
    height: usize,
    kind: cudaMemcpyKind,
    stream: cudaStream_t,
) -> Answer {
    let Some(copy) = described(dst, dpitch, src, spitch, width, height, kind)? else { return Ok(()) };
    cu!(api.cuMemcpy2DAsync_v2(&raw const copy, stream))
}
