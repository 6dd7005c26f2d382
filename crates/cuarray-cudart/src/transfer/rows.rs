//! Copies of rows: of linear memory, and the description that copies to and from arrays share.

use super::*;
use crate::driver::cu;
use cuarray_abi::{Api, CU_MEMORYTYPE_ARRAY, CUDA_MEMCPY2D, CUarray};

/// One side of a copy of rows. Offsets in an array are bytes and rows.
#[derive(Clone, Copy)]
pub(crate) enum Side {
    Memory { ptr: *const c_void, pitch: usize },
    Array { array: cudaArray_t, x: usize, y: usize },
}

/// How a copy is enqueued.
#[derive(Clone, Copy)]
pub(crate) enum Order {
    Plain,
    InStream(cudaStream_t),
}

/// Checks that an array is on the device's side of a direction.
fn check_direction(dst: Side, src: Side, kind: cudaMemcpyKind) -> Result {
    check_kind(kind)?;
    let to_host = matches!(kind, HOST_TO_HOST | DEVICE_TO_HOST);
    let from_host = matches!(kind, HOST_TO_HOST | HOST_TO_DEVICE);
    if to_host && matches!(dst, Side::Array { .. }) || from_host && matches!(src, Side::Array { .. }) {
        return Err(cudaError_t::cudaErrorInvalidMemcpyDirection);
    }
    Ok(())
}

/// Copies rows; a copy of no bytes succeeds without the driver.
pub(crate) fn copy_rows(
    api: &Api,
    dst: Side,
    src: Side,
    (width, height): (usize, usize),
    kind: cudaMemcpyKind,
    order: Order,
) -> Result {
    check_direction(dst, src, kind)?;
    for side in [dst, src] {
        if let Side::Memory { pitch, .. } = side
            && width > pitch
        {
            return Err(cudaError_t::cudaErrorInvalidPitchValue);
        }
    }
    if width == 0 || height == 0 {
        return Ok(());
    }
    let (src_type, dst_type) = memory_types(kind);
    let parts = |side, kind| match side {
        Side::Memory { ptr, pitch } => {
            let (host, device) = endpoint(kind, ptr);
            (kind, host, device, CUarray::NULL, pitch, 0, 0)
        }
        Side::Array { array, x, y } => (CU_MEMORYTYPE_ARRAY, ptr::null(), 0, array, 0, x, y),
    };
    let (src_kind, src_host, src_device, src_array, src_pitch, src_x, src_y) = parts(src, src_type);
    let (dst_kind, dst_host, dst_device, dst_array, dst_pitch, dst_x, dst_y) = parts(dst, dst_type);
    let copy = CUDA_MEMCPY2D {
        srcXInBytes: src_x,
        srcY: src_y,
        srcMemoryType: src_kind,
        srcHost: src_host,
        srcDevice: src_device,
        srcArray: src_array,
        srcPitch: src_pitch,
        dstXInBytes: dst_x,
        dstY: dst_y,
        dstMemoryType: dst_kind,
        dstHost: dst_host.cast_mut(),
        dstDevice: dst_device,
        dstArray: dst_array,
        dstPitch: dst_pitch,
        WidthInBytes: width,
        Height: height,
    };
    match order {
        // The other function of the driver may refuse pitches that its allocations do not have.
        Order::Plain => cu!(api.cuMemcpy2DUnaligned_v2(&raw const copy)),
        Order::InStream(stream) => cu!(api.cuMemcpy2DAsync_v2(&raw const copy, stream)),
    }
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
) -> Result {
    let (to, from) = (Side::Memory { ptr: dst, pitch: dpitch }, Side::Memory { ptr: src, pitch: spitch });
    copy_rows(api, to, from, (width, height), kind, Order::Plain)
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
) -> Result {
    let (to, from) = (Side::Memory { ptr: dst, pitch: dpitch }, Side::Memory { ptr: src, pitch: spitch });
    copy_rows(api, to, from, (width, height), kind, Order::InStream(stream))
}
