//! Copies and prefetches in batches, and copies with attributes.
//!
//! Driver API: [memory management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html). A batch guarantees no
//! order among its copies. Here they run in the order of the list, and the search for races takes them as ordered.

use super::pointer::cuMemPrefetchAsync_v2;
use super::stream::cuStreamSynchronize;
use super::transfer::cuMemcpyAsync;
use super::*;
use crate::capture;

const INVALID_VALUE: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

/// Checks the attributes of copies. The locations and the flag are hints without effect.
fn check(attributes: &CUmemcpyAttributes) -> Result<(), CUresult> {
    let order = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM..=CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
    let is_valid = order.contains(&attributes.srcAccessOrder)
        && attributes.flags & !CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE == 0;
    if is_valid { Ok(()) } else { Err(INVALID_VALUE) }
}

/// Reads the list of a batch: `count` elements, which may be unaligned.
///
/// # Safety
/// `list` is null, or holds `count` elements.
unsafe fn read<T: Copy>(list: *const T, count: usize) -> Result<Vec<T>, CUresult> {
    present(list)?;
    let mut read = Vec::new();
    read.try_reserve_exact(count).map_err(|_| CUresult::CUDA_ERROR_OUT_OF_MEMORY)?;
    // SAFETY: by this function's contract.
    read.extend((0..count).map(|index| unsafe { list.add(index).read_unaligned() }));
    Ok(read)
}

/// Checks the indices at which the attributes begin to apply: they begin with 0, ascend, and are less than `count`.
fn check_indices(indices: &[usize], count: usize) -> Result<(), CUresult> {
    let ascends = indices.windows(2).all(|pair| pair[0] < pair[1]);
    let is_valid = indices.first() == Some(&0) && ascends && indices.last().is_some_and(|last| *last < count);
    if is_valid { Ok(()) } else { Err(INVALID_VALUE) }
}

/// Refuses the legacy default stream, which the functions of batches do not take.
fn check_stream(call: &Call<'_>, stream: CUstream) -> Result<(), CUresult> {
    let is_legacy = stream == CU_STREAM_LEGACY || (stream.is_null() && !call.per_thread);
    if is_legacy { Err(INVALID_VALUE) } else { Ok(()) }
}

/// Whether a stream captures. Its copies access their sources when the graph runs.
fn captures(call: &Call<'_>, stream: CUstream) -> Result<bool, CUresult> {
    let (mut state, handle) = super::stream::stream(call, stream)?;
    capture::captures(&mut state, handle)
}

pub(super) unsafe fn cuMemcpyBatchAsync_v2(
    call: &Call<'_>,
    dsts: *mut CUdeviceptr,
    srcs: *mut CUdeviceptr,
    sizes: *mut usize,
    count: usize,
    attrs: *mut CUmemcpyAttributes,
    attrs_idxs: *mut usize,
    num_attrs: usize,
    stream: CUstream,
) -> Result<(), CUresult> {
    if count == 0 || num_attrs == 0 || num_attrs > count {
        return Err(INVALID_VALUE);
    }
    check_stream(call, stream)?;
    // SAFETY: the caller's lists, by the driver's contract.
    let (targets, sources, sizes, attributes, indices) = unsafe {
        let ends = (read(dsts, count)?, read(srcs, count)?, read(sizes, count)?);
        (ends.0, ends.1, ends.2, read(attrs, num_attrs)?, read(attrs_idxs, num_attrs)?)
    };
    check_indices(&indices, count)?;
    attributes.iter().try_for_each(check)?;
    let captured = captures(call, stream)?;
    for ((target, source), size) in targets.into_iter().zip(sources).zip(sizes) {
        // SAFETY: both functions have the same contract for the operands.
        unsafe { cuMemcpyAsync(call, target, source, size, stream)? };
    }
    let during_the_call =
        attributes.iter().any(|attributes| attributes.srcAccessOrder == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL);
    // SAFETY: the call has no further preconditions.
    if during_the_call && !captured { unsafe { cuStreamSynchronize(call, stream) } } else { Ok(()) }
}

/// As the second version. No failure belongs to one copy, so `fail_idx` gets its largest value, as the manual of 12.8 says.
pub(super) unsafe fn cuMemcpyBatchAsync(
    call: &Call<'_>,
    dsts: *mut CUdeviceptr,
    srcs: *mut CUdeviceptr,
    sizes: *mut usize,
    count: usize,
    attrs: *mut CUmemcpyAttributes,
    attrs_idxs: *mut usize,
    num_attrs: usize,
    fail_idx: *mut usize,
    stream: CUstream,
) -> Result<(), CUresult> {
    // SAFETY: both functions have the same contract; the caller's pointer may be null.
    unsafe {
        let copied = cuMemcpyBatchAsync_v2(call, dsts, srcs, sizes, count, attrs, attrs_idxs, num_attrs, stream);
        if copied.is_err() && !fail_idx.is_null() {
            put(fail_idx, usize::MAX)?;
        }
        copied
    }
}

pub(super) unsafe fn cuMemcpyWithAttributesAsync(
    call: &Call<'_>,
    dst: CUdeviceptr,
    src: CUdeviceptr,
    size: usize,
    attr: *mut CUmemcpyAttributes,
    stream: CUstream,
) -> Result<(), CUresult> {
    let (mut dst, mut src, mut size, mut first) = (dst, src, size, 0);
    // SAFETY: the lists hold one element each.
    unsafe { cuMemcpyBatchAsync_v2(call, &mut dst, &mut src, &mut size, 1, attr, &mut first, 1, stream) }
}

pub(super) unsafe fn cuMemPrefetchBatchAsync(
    call: &Call<'_>,
    dptrs: *mut CUdeviceptr,
    sizes: *mut usize,
    count: usize,
    prefetch_locs: *mut CUmemLocation,
    prefetch_loc_idxs: *mut usize,
    num_prefetch_locs: usize,
    flags: u64,
    stream: CUstream,
) -> Result<(), CUresult> {
    if flags != 0 || count == 0 || num_prefetch_locs == 0 || num_prefetch_locs > count {
        return Err(INVALID_VALUE);
    }
    check_stream(call, stream)?;
    // SAFETY: the caller's lists, by the driver's contract.
    let (addresses, sizes, locations, indices) = unsafe {
        let ranges = (read(dptrs, count)?, read(sizes, count)?);
        (ranges.0, ranges.1, read(prefetch_locs, num_prefetch_locs)?, read(prefetch_loc_idxs, num_prefetch_locs)?)
    };
    check_indices(&indices, count)?;
    for (index, (address, size)) in addresses.into_iter().zip(sizes).enumerate() {
        let location = indices.iter().rposition(|first| *first <= index).unwrap_or(0);
        // SAFETY: the call has no preconditions on its values.
        unsafe { cuMemPrefetchAsync_v2(call, address, size, locations[location], 0, stream)? };
    }
    Ok(())
}
