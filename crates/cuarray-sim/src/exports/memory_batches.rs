//! Prefetches and discards in batches, and the locations of managed memory.
//!
//! Driver API: [memory management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html).

use super::pointer::{check_managed, cuMemPrefetchAsync_v2, locations};
use super::*;
use crate::capture;
use crate::copy::exports::{check_indices, check_stream, overwrite};
pub(super) use crate::copy::exports::{cuMemcpyBatchAsync, cuMemcpyBatchAsync_v2, cuMemcpyWithAttributesAsync};
use crate::stream::lookup;

const INVALID_VALUE: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

pub(super) fn cuMemPrefetchBatchAsync(
    call: &Call<'_>,
    dptrs: In<'_, CUdeviceptr>,
    sizes: In<'_, usize>,
    count: usize,
    prefetch_locs: In<'_, CUmemLocation>,
    prefetch_loc_idxs: In<'_, usize>,
    num_prefetch_locs: usize,
    flags: u64,
    stream: CUstream,
) -> Result<(), CUresult> {
    if flags != 0 || count == 0 || num_prefetch_locs == 0 || num_prefetch_locs > count {
        return Err(INVALID_VALUE);
    }
    check_stream(call, stream)?;
    // SAFETY: the manual gives these lists this length.
    let (addresses, sizes) = unsafe { (dptrs.list(count)?, sizes.list(count)?) };
    // SAFETY: the manual gives these lists this length.
    let (locations, indices) =
        unsafe { (prefetch_locs.list(num_prefetch_locs)?, prefetch_loc_idxs.list(num_prefetch_locs)?) };
    check_indices(&indices, count)?;
    for (index, (address, size)) in addresses.into_iter().zip(sizes).enumerate() {
        let location = indices.iter().rposition(|first| *first <= index).unwrap_or(0);
        cuMemPrefetchAsync_v2(call, address, size, locations[location], 0, stream)?;
    }
    Ok(())
}

/// Discards ranges of managed memory: reads return an indeterminate value. Here the bytes are overwritten in stream order, so
/// the search for races takes a discard as a write.
pub(super) fn cuMemDiscardBatchAsync(
    call: &Call<'_>,
    dptrs: In<'_, CUdeviceptr>,
    sizes: In<'_, usize>,
    count: usize,
    flags: u64,
    stream: CUstream,
) -> Result<(), CUresult> {
    if flags != 0 || count == 0 {
        return Err(INVALID_VALUE);
    }
    check_stream(call, stream)?;
    // SAFETY: the manual gives these lists this length.
    let (addresses, sizes) = unsafe { (dptrs.list(count)?, sizes.list(count)?) };
    let (mut state, handle) = lookup::stream(call, stream)?;
    capture::forbid_in_capture(&mut state, handle)?;
    addresses.iter().zip(&sizes).try_for_each(|(address, size)| check_managed(&mut state, *address, *size))?;
    drop(state);
    addresses.into_iter().zip(sizes).try_for_each(|(address, size)| overwrite(call, address, size, stream))
}

pub(super) fn cuMemDiscardAndPrefetchBatchAsync(
    call: &Call<'_>,
    dptrs: In<'_, CUdeviceptr>,
    sizes: In<'_, usize>,
    count: usize,
    prefetch_locs: In<'_, CUmemLocation>,
    prefetch_loc_idxs: In<'_, usize>,
    num_prefetch_locs: usize,
    flags: u64,
    stream: CUstream,
) -> Result<(), CUresult> {
    // The prefetch checks all arguments, and a prefetch before the discard has the same effect.
    cuMemPrefetchBatchAsync(
        call,
        dptrs,
        sizes,
        count,
        prefetch_locs,
        prefetch_loc_idxs,
        num_prefetch_locs,
        flags,
        stream,
    )?;
    cuMemDiscardBatchAsync(call, dptrs, sizes, count, flags, stream)
}

/// Returns the location of each part of a range: for managed memory that of its last prefetch, and otherwise the host.
pub(super) fn cuMemGetLocationInfo(
    call: &Call<'_>,
    ptr: CUdeviceptr,
    size: usize,
    summary_granularity: usize,
    sampling_granularity: usize,
    location_out: Out<'_, CUmemLocation>,
) -> Result<(), CUresult> {
    location_out.present()?;
    if summary_granularity == 0 || summary_granularity > size || sampling_granularity > summary_granularity {
        return Err(INVALID_VALUE);
    }
    let location = locations(&call.lock(), ptr, size)?;
    // SAFETY: by the manual, the list has an element for each part.
    unsafe { location_out.put_all(std::iter::repeat_n(location, size.div_ceil(summary_granularity))) }
}
