//! Copies in batches, and copies with attributes.
//!
//! Driver API: [memory management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html). A batch guarantees no
//! order among its copies. Here they run in the order of the list, and copies that share bytes are a finding.

use super::INVALID_VALUE;
use super::batch::transfer_batch;
use crate::capture;
use crate::driver::Call;
use crate::objects::copy::{End, Extent, Transfer};
use crate::parameters::{In, Out};
use crate::stream::{lookup, synchronize};
use cuarray_abi::*;
use std::ffi::c_uint;

/// Checks the access order and the flags of a copy. The flag is a hint without effect, like the locations.
pub(super) fn check_order(order: CUmemcpySrcAccessOrder, flags: c_uint) -> Result<(), CUresult> {
    let orders = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM..=CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
    let is_valid = orders.contains(&order) && flags & !CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE == 0;
    if is_valid { Ok(()) } else { Err(INVALID_VALUE) }
}

/// Checks the indices at which the attributes begin to apply: they begin with 0, ascend, and are less than `count`.
pub(crate) fn check_indices(indices: &[usize], count: usize) -> Result<(), CUresult> {
    let ascends = indices.windows(2).all(|pair| pair[0] < pair[1]);
    let is_valid = indices.first() == Some(&0) && ascends && indices.last().is_some_and(|last| *last < count);
    if is_valid { Ok(()) } else { Err(INVALID_VALUE) }
}

/// Refuses the legacy default stream, which the functions of batches do not take.
pub(crate) fn check_stream(call: &Call<'_>, stream: CUstream) -> Result<(), CUresult> {
    let is_legacy = stream == CU_STREAM_LEGACY || (stream.is_null() && !call.per_thread);
    if is_legacy { Err(INVALID_VALUE) } else { Ok(()) }
}

/// Whether a stream captures. Its copies access their sources when the graph runs.
pub(super) fn captures(call: &Call<'_>, stream: CUstream) -> Result<bool, CUresult> {
    let (mut state, handle) = lookup::stream(call, stream)?;
    capture::captures(&mut state, handle)
}

pub(crate) fn cuMemcpyBatchAsync_v2(
    call: &Call<'_>,
    dsts: In<'_, CUdeviceptr>,
    srcs: In<'_, CUdeviceptr>,
    sizes: In<'_, usize>,
    count: usize,
    attrs: In<'_, CUmemcpyAttributes>,
    attrs_idxs: In<'_, usize>,
    num_attrs: usize,
    stream: CUstream,
) -> Result<(), CUresult> {
    check_stream(call, stream)?;
    // SAFETY: the manual gives the lists these lengths.
    unsafe { copy(call, dsts, srcs, sizes, count, attrs, attrs_idxs, num_attrs, stream) }
}

/// Enqueues the copies of a batch in any stream.
///
/// # Safety
/// The lists have these lengths.
unsafe fn copy(
    call: &Call<'_>,
    dsts: In<'_, CUdeviceptr>,
    srcs: In<'_, CUdeviceptr>,
    sizes: In<'_, usize>,
    count: usize,
    attrs: In<'_, CUmemcpyAttributes>,
    attrs_idxs: In<'_, usize>,
    num_attrs: usize,
    stream: CUstream,
) -> Result<(), CUresult> {
    if count == 0 || num_attrs == 0 || num_attrs > count {
        return Err(INVALID_VALUE);
    }
    // SAFETY: the manual gives these lists this length.
    let (targets, sources, sizes) = unsafe { (dsts.list(count)?, srcs.list(count)?, sizes.list(count)?) };
    // SAFETY: the manual gives these lists this length.
    let (attributes, indices) = unsafe { (attrs.list(num_attrs)?, attrs_idxs.list(num_attrs)?) };
    check_indices(&indices, count)?;
    attributes.iter().try_for_each(|one| check_order(one.srcAccessOrder, one.flags))?;
    let captured = captures(call, stream)?;
    let copy = |((target, source), size): ((CUdeviceptr, CUdeviceptr), usize)| {
        let extent = Extent::row(size as u64);
        Transfer { target: End::unified(target), source: End::unified(source), extent }
    };
    let copies: Vec<Transfer> = targets.into_iter().zip(sources).zip(sizes).map(copy).collect();
    let order_of = |index: usize| {
        let last = indices.partition_point(|first| *first <= index).saturating_sub(1);
        attributes[last].srcAccessOrder
    };
    transfer_batch(call, &copies, order_of, stream).map_err(|(error, _)| error)?;
    wait_for_sources(call, stream, captured, attributes.iter().map(|one| one.srcAccessOrder))
}

/// Waits for the copies of a batch if one of them must read its source during the call. A captured copy reads it when the graph runs.
pub(super) fn wait_for_sources(
    call: &Call<'_>,
    stream: CUstream,
    captured: bool,
    mut orders: impl Iterator<Item = CUmemcpySrcAccessOrder>,
) -> Result<(), CUresult> {
    if captured || !orders.any(|order| order == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL) {
        return Ok(());
    }
    synchronize::wait_for_stream(call, stream)
}

/// As the second version. No failure belongs to one copy, so `fail_idx` gets its largest value, as the manual of 12.8 says.
pub(crate) fn cuMemcpyBatchAsync(
    call: &Call<'_>,
    dsts: In<'_, CUdeviceptr>,
    srcs: In<'_, CUdeviceptr>,
    sizes: In<'_, usize>,
    count: usize,
    attrs: In<'_, CUmemcpyAttributes>,
    attrs_idxs: In<'_, usize>,
    num_attrs: usize,
    fail_idx: Out<'_, usize>,
    stream: CUstream,
) -> Result<(), CUresult> {
    let copied = cuMemcpyBatchAsync_v2(call, dsts, srcs, sizes, count, attrs, attrs_idxs, num_attrs, stream);
    if copied.is_err() {
        fail_idx.put_if_present(usize::MAX);
    }
    copied
}

pub(crate) fn cuMemcpyWithAttributesAsync(
    call: &Call<'_>,
    dst: CUdeviceptr,
    src: CUdeviceptr,
    size: usize,
    attr: In<'_, CUmemcpyAttributes>,
    stream: CUstream,
) -> Result<(), CUresult> {
    let (dst, src, size) = (In::of(&dst), In::of(&src), In::of(&size));
    // SAFETY: the lists have one element each.
    unsafe { copy(call, dst, src, size, 1, attr, In::of(&0), 1, stream) }
}
