//! Batches of 3-D copies between memory and arrays.
//!
//! Driver API: [memory management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html). The manual counts
//! in elements: bytes between two addresses, texels as soon as an array takes part. All copies are checked before the first is
//! enqueued. A batch guarantees no order among its copies. Here they run in the order of the list, and copies that share bytes are
//! a finding.

use super::memory_batches::{captures, check_order, check_stream, read, wait_for_sources};
use super::transfer::{transfer_batch, transfer_of};
use super::*;
use crate::objects::array::texel_size;
use crate::objects::copy::Transfer;
use crate::state::State;

const INVALID_VALUE: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

/// The bytes of a texel of an operand; `None` for memory.
///
/// # Safety
/// The operand has the member that its kind names.
unsafe fn texel_of(state: &State, operand: &CUmemcpy3DOperand) -> Result<Option<u64>, CUresult> {
    match operand.kind {
        CU_MEMCPY_OPERAND_TYPE_POINTER => Ok(None),
        CU_MEMCPY_OPERAND_TYPE_ARRAY => {
            // SAFETY: by this function's contract.
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
///
/// # Safety
/// The operand has the member that its kind names.
unsafe fn side(operand: &CUmemcpy3DOperand, extent: CUextent3D, element: usize) -> Result<Side, CUresult> {
    if operand.kind == CU_MEMCPY_OPERAND_TYPE_ARRAY {
        // SAFETY: by this function's contract.
        let CUmemcpy3DArray { array, offset } = unsafe { operand.op.array };
        let x = offset.x.checked_mul(element).ok_or(INVALID_VALUE)?;
        let origin = [x, offset.y, offset.z];
        return Ok(Side { kind: CU_MEMORYTYPE_ARRAY, device: 0, array, origin, pitch: 0, height: 0 });
    }
    // SAFETY: by this function's contract.
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
///
/// # Safety
/// The operands have the members that their kinds name.
unsafe fn transfer_of_operation(state: &mut State, op: &CUDA_MEMCPY3D_BATCH_OP) -> Result<Transfer, CUresult> {
    check_order(op.srcAccessOrder, op.flags)?;
    let CUextent3D { width, height, depth } = op.extent;
    if width == 0 || height == 0 || depth == 0 {
        return Err(INVALID_VALUE);
    }
    // SAFETY: by this function's contract.
    let element = match unsafe { (texel_of(state, &op.src)?, texel_of(state, &op.dst)?) } {
        (Some(source), Some(target)) if source != target => return Err(INVALID_VALUE),
        (source, target) => source.or(target).unwrap_or(1) as usize,
    };
    // SAFETY: by this function's contract.
    let (source, target) = unsafe { (side(&op.src, op.extent, element)?, side(&op.dst, op.extent, element)?) };
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
///
/// # Safety
/// The operands have the members that their kinds name.
unsafe fn enqueue(
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
        // SAFETY: by this function's contract.
        let copy = unsafe { transfer_of_operation(&mut call.lock(), operation) };
        copies.push(copy.map_err(|error| (error, Some(index)))?);
    }
    transfer_batch(call, &copies, stream).map_err(|(error, index)| (error, Some(index)))?;
    let orders = operations.iter().map(|operation| operation.srcAccessOrder);
    wait_for_sources(call, stream, captured, orders).map_err(|error| (error, None))
}

pub(super) unsafe fn cuMemcpy3DBatchAsync_v2(
    call: &Call<'_>,
    num_ops: usize,
    op_list: *mut CUDA_MEMCPY3D_BATCH_OP,
    flags: u64,
    stream: CUstream,
) -> Result<(), CUresult> {
    check_stream(call, stream)?;
    // SAFETY: the caller's list, by the driver's contract.
    unsafe { enqueue(call, &read(op_list, num_ops)?, flags, stream).map_err(|(error, _)| error) }
}

/// As the second version. `fail_idx` gets the index of the copy that failed, or its largest value if none did.
pub(super) unsafe fn cuMemcpy3DBatchAsync(
    call: &Call<'_>,
    num_ops: usize,
    op_list: *mut CUDA_MEMCPY3D_BATCH_OP,
    fail_idx: *mut usize,
    flags: u64,
    stream: CUstream,
) -> Result<(), CUresult> {
    let whole = |error| (error, None);
    let result = check_stream(call, stream)
        .map_err(whole)
        // SAFETY: the caller's list, by the driver's contract.
        .and_then(|()| unsafe { read(op_list, num_ops) }.map_err(whole))
        // SAFETY: as above.
        .and_then(|operations| unsafe { enqueue(call, &operations, flags, stream) });
    if let Err((_, index)) = result
        && !fail_idx.is_null()
    {
        // SAFETY: the caller's pointer, by the driver's contract.
        unsafe { put(fail_idx, index.unwrap_or(usize::MAX))? };
    }
    result.map_err(|(error, _)| error)
}

pub(super) unsafe fn cuMemcpy3DWithAttributesAsync(
    call: &Call<'_>,
    op: *mut CUDA_MEMCPY3D_BATCH_OP,
    flags: u64,
    stream: CUstream,
) -> Result<(), CUresult> {
    // SAFETY: the caller's operation, by the driver's contract.
    unsafe { enqueue(call, &read(op, 1)?, flags, stream).map_err(|(error, _)| error) }
}
