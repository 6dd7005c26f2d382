//! Copies of rows to and from arrays.

use crate::call::Answer;
use crate::driver::cu;
use crate::result::cudaError_t;
use crate::transfer::{DEVICE_TO_HOST, HOST_TO_DEVICE, HOST_TO_HOST, check_kind, endpoint, memory_types};
use crate::types::*;
use cuarray_abi::{Api, CU_MEMORYTYPE_ARRAY, CUDA_MEMCPY2D, CUarray};
use std::ffi::c_void;
use std::ptr;

/// One side of a copy of rows. Offsets in an array are bytes and rows.
#[derive(Clone, Copy)]
pub(super) enum Side {
    Memory { ptr: *const c_void, pitch: usize },
    Array { array: cudaArray_t, x: usize, y: usize },
}

/// How a copy is enqueued.
#[derive(Clone, Copy)]
pub(super) enum Order {
    Plain,
    InStream(cudaStream_t),
}

/// Checks that an array is on the device's side of a direction.
fn check_direction(dst: Side, src: Side, kind: cudaMemcpyKind) -> Answer {
    check_kind(kind)?;
    let to_host = matches!(kind, HOST_TO_HOST | DEVICE_TO_HOST);
    let from_host = matches!(kind, HOST_TO_HOST | HOST_TO_DEVICE);
    if to_host && matches!(dst, Side::Array { .. }) || from_host && matches!(src, Side::Array { .. }) {
        return Err(cudaError_t::cudaErrorInvalidMemcpyDirection);
    }
    Ok(())
}

/// Copies rows; a copy of no bytes succeeds without the driver.
pub(super) fn copy(
    api: &Api,
    dst: Side,
    src: Side,
    (width, height): (usize, usize),
    kind: cudaMemcpyKind,
    order: Order,
) -> Answer {
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

pub(crate) unsafe fn cudaMemcpy2DToArray(
    api: &Api,
    dst: cudaArray_t,
    w_offset: usize,
    h_offset: usize,
    src: *const c_void,
    spitch: usize,
    width: usize,
    height: usize,
    kind: cudaMemcpyKind,
) -> Answer {
    let (to, from) = (Side::Array { array: dst, x: w_offset, y: h_offset }, Side::Memory { ptr: src, pitch: spitch });
    copy(api, to, from, (width, height), kind, Order::Plain)
}

pub(crate) unsafe fn cudaMemcpy2DToArrayAsync(
    api: &Api,
    dst: cudaArray_t,
    w_offset: usize,
    h_offset: usize,
    src: *const c_void,
    spitch: usize,
    width: usize,
    height: usize,
    kind: cudaMemcpyKind,
    stream: cudaStream_t,
) -> Answer {
    let (to, from) = (Side::Array { array: dst, x: w_offset, y: h_offset }, Side::Memory { ptr: src, pitch: spitch });
    copy(api, to, from, (width, height), kind, Order::InStream(stream))
}

pub(crate) unsafe fn cudaMemcpy2DFromArray(
    api: &Api,
    dst: *mut c_void,
    dpitch: usize,
    src: cudaArray_const_t,
    w_offset: usize,
    h_offset: usize,
    width: usize,
    height: usize,
    kind: cudaMemcpyKind,
) -> Answer {
    let (to, from) = (Side::Memory { ptr: dst, pitch: dpitch }, Side::Array { array: src, x: w_offset, y: h_offset });
    copy(api, to, from, (width, height), kind, Order::Plain)
}

pub(crate) unsafe fn cudaMemcpy2DFromArrayAsync(
    api: &Api,
    dst: *mut c_void,
    dpitch: usize,
    src: cudaArray_const_t,
    w_offset: usize,
    h_offset: usize,
    width: usize,
    height: usize,
    kind: cudaMemcpyKind,
    stream: cudaStream_t,
) -> Answer {
    let (to, from) = (Side::Memory { ptr: dst, pitch: dpitch }, Side::Array { array: src, x: w_offset, y: h_offset });
    copy(api, to, from, (width, height), kind, Order::InStream(stream))
}

pub(crate) unsafe fn cudaMemcpy2DArrayToArray(
    api: &Api,
    dst: cudaArray_t,
    w_offset_dst: usize,
    h_offset_dst: usize,
    src: cudaArray_const_t,
    w_offset_src: usize,
    h_offset_src: usize,
    width: usize,
    height: usize,
    kind: cudaMemcpyKind,
) -> Answer {
    let to = Side::Array { array: dst, x: w_offset_dst, y: h_offset_dst };
    let from = Side::Array { array: src, x: w_offset_src, y: h_offset_src };
    copy(api, to, from, (width, height), kind, Order::Plain)
}
