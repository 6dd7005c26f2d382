//! Batches of 3-D copies between memory and arrays.
//!
//! Driver API: [memory management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html). The manual counts
//! in elements: bytes between two addresses, texels as soon as an array takes part. All copies are checked before the first is
//! enqueued. A batch guarantees no order among its copies. Here they run in the order of the list, and copies that share bytes are
//! a finding.

use super::memory_batches::{captures, check_order, check_stream, wait_for_sources};
use super::{INVALID_VALUE, transfer_batch, transfer_of};
use crate::driver::Call;
use crate::objects::array::texel_size;
use crate::objects::copy::Transfer;
use crate::parameters::{In, Out};
use crate::state::State;
use cuarray_abi::*;

/// The bytes of a texel of an operand; `None` for memory.
fn texel_of(state: &State, operand: &CUmemcpy3DOperand) -> Result<Option<u64>, CUresult> {
    match operand.kind {
        CU_MEMCPY_OPERAND_TYPE_POINTER => Ok(None),
        CU_MEMCPY_OPERAND_TYPE_ARRAY => {
            // SAFETY: any bytes are a valid member of the union.
            let array = unsafe { operand.op.array.array };
            let descriptor = &state.arrays.arrays.get(&array).ok_or(INVALID_VALUE)?.descriptor;
            texel_size(descriptor.Format, descriptor.NumChannels).map(Some)
        }
        _ => Err(INVALID_VALUE),
    }
}

/// The members of a 3-D descriptor that describe one side.
#[derive(Clone, Copy)]
struct Side {
    kind: CUmemorytype,
    device: CUdeviceptr,
    array: CUarray,
    origin: [usize; 3],
    pitch: usize,
    height: usize,
}

/// One side of a copy, in bytes.
fn side(operand: &CUmemcpy3DOperand, extent: CUextent3D, element: usize) -> Result<Side, CUresult> {
    if operand.kind == CU_MEMCPY_OPERAND_TYPE_ARRAY {
        // SAFETY: any bytes are a valid member of the union.
        let CUmemcpy3DArray { array, offset } = unsafe { operand.op.array };
        let x = offset.x.checked_mul(element).ok_or(INVALID_VALUE)?;
        let origin = [x, offset.y, offset.z];
        return Ok(Side { kind: CU_MEMORYTYPE_ARRAY, device: 0, array, origin, pitch: 0, height: 0 });
    }
    // SAFETY: any bytes are a valid member of the union.
    let CUmemcpy3DPointer { ptr, rowLength, layerHeight, .. } = unsafe { operand.op.ptr };
    let covers = |length: usize, extent: usize| length == 0 || length >= extent;
    if !covers(rowLength, extent.width) || !covers(layerHeight, extent.height) {
        return Err(INVALID_VALUE);
    }
    let pitch = rowLength.checked_mul(element).ok_or(INVALID_VALUE)?;
    let (kind, array) = (CU_MEMORYTYPE_UNIFIED, CUarray::NULL);
    Ok(Side { kind, device: ptr, array, origin: [0; 3], pitch, height: layerHeight })
}

/// The copy that an operation describes.
fn transfer_of_operation(state: &mut State, op: &CUDA_MEMCPY3D_BATCH_OP) -> Result<Transfer, CUresult> {
    check_order(op.srcAccessOrder, op.flags)?;
    let CUextent3D { width, height, depth } = op.extent;
    if width == 0 || height == 0 || depth == 0 {
        return Err(INVALID_VALUE);
    }
    let element = match (texel_of(state, &op.src)?, texel_of(state, &op.dst)?) {
        (Some(source), Some(target)) if source != target => return Err(INVALID_VALUE),
        (source, target) => source.or(target).unwrap_or(1) as usize,
    };
    let (source, target) = (side(&op.src, op.extent, element)?, side(&op.dst, op.extent, element)?);
    let copy = CUDA_MEMCPY3D {
        srcXInBytes: source.origin[0],
        srcY: source.origin[1],
        srcZ: source.origin[2],
        srcLOD: 0,
        srcMemoryType: source.kind,
        srcHost: std::ptr::null(),
        srcDevice: source.device,
        srcArray: source.array,
        reserved0: std::ptr::null_mut(),
        srcPitch: source.pitch,
        srcHeight: source.height,
        dstXInBytes: target.origin[0],
        dstY: target.origin[1],
        dstZ: target.origin[2],
        dstLOD: 0,
        dstMemoryType: target.kind,
        dstHost: std::ptr::null_mut(),
        dstDevice: target.device,
        dstArray: target.array,
        reserved1: std::ptr::null_mut(),
        dstPitch: target.pitch,
        dstHeight: target.height,
        WidthInBytes: width.checked_mul(element).ok_or(INVALID_VALUE)?,
        Height: height,
        Depth: depth,
    };
    transfer_of(state, &copy)
}

/// Enqueues copies. An error that belongs to one of them has its index.
fn enqueue(
    call: &Call<'_>,
    operations: &[CUDA_MEMCPY3D_BATCH_OP],
    flags: u64,
    stream: CUstream,
) -> Result<(), (CUresult, Option<usize>)> {
    if flags != 0 || operations.is_empty() {
        return Err((INVALID_VALUE, None));
    }
    let captured = captures(call, stream).map_err(|error| (error, None))?;
    let mut copies = Vec::new();
    for (index, operation) in operations.iter().enumerate() {
        let copy = transfer_of_operation(&mut call.lock(), operation);
        copies.push(copy.map_err(|error| (error, Some(index)))?);
    }
    let order_of = |index: usize| operations[index].srcAccessOrder;
    transfer_batch(call, &copies, order_of, stream).map_err(|(error, index)| (error, Some(index)))?;
    let orders = operations.iter().map(|operation| operation.srcAccessOrder);
    wait_for_sources(call, stream, captured, orders).map_err(|error| (error, None))
}

pub(crate) fn cuMemcpy3DBatchAsync_v2(
    call: &Call<'_>,
    num_ops: usize,
    op_list: In<'_, CUDA_MEMCPY3D_BATCH_OP>,
    flags: u64,
    stream: CUstream,
) -> Result<(), CUresult> {
    check_stream(call, stream)?;
    op_list.present()?;
    // SAFETY: the manual gives the list this length.
    let operations = unsafe { op_list.list(num_ops)? };
    enqueue(call, &operations, flags, stream).map_err(|(error, _)| error)
}

/// As the second version. `fail_idx` gets the index of the copy that failed, or its largest value if none did.
pub(crate) fn cuMemcpy3DBatchAsync(
    call: &Call<'_>,
    num_ops: usize,
    op_list: In<'_, CUDA_MEMCPY3D_BATCH_OP>,
    fail_idx: Out<'_, usize>,
    flags: u64,
    stream: CUstream,
) -> Result<(), CUresult> {
    let whole = |error| (error, None);
    let result = check_stream(call, stream)
        .map_err(whole)
        .and_then(|()| op_list.present().map_err(whole))
        // SAFETY: the manual gives the list this length.
        .and_then(|()| unsafe { op_list.list(num_ops) }.map_err(whole))
        .and_then(|operations| enqueue(call, &operations, flags, stream));
    if let Err((_, index)) = result {
        fail_idx.put_if_present(index.unwrap_or(usize::MAX));
    }
    result.map_err(|(error, _)| error)
}

pub(crate) fn cuMemcpy3DWithAttributesAsync(
    call: &Call<'_>,
    op: In<'_, CUDA_MEMCPY3D_BATCH_OP>,
    flags: u64,
    stream: CUstream,
) -> Result<(), CUresult> {
    enqueue(call, &[op.read()?], flags, stream).map_err(|(error, _)| error)
}
