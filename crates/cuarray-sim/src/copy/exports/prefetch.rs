//! Prefetches and discards in batches, and the locations of memory.
//!
//! Driver API: [memory management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html).

use crate::capture;
use crate::copy::exports::{check_indices, check_stream, overwrite};
use crate::driver::Call;
use crate::execution::submit;
use crate::memory::exports::pointer::{checked, location_of, locations, migratable};
use crate::objects::work::Work;
use crate::parameters::{In, Out};
use crate::state::State;
use crate::stream::lookup;
use cuarray_abi::*;
use std::ffi::c_uint;

const INVALID_VALUE: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

/// Enqueues an operation without effect: simulated managed memory has one location.
fn prefetch(
    call: &Call<'_>,
    (dev_ptr, count): (CUdeviceptr, usize),
    location: impl FnOnce(&State) -> Result<CUmemLocation, CUresult>,
    stream: CUstream,
) -> Result<(), CUresult> {
    let (mut state, current) = call.current_for(stream)?;
    let stream = lookup::stream_of(&mut state, call, current, stream)?;
    capture::forbid_in_capture(&mut state, stream)?;
    let location = location(&state)?;
    if let Some(allocation) = migratable(&mut state, dev_ptr, count)? {
        allocation.advice.prefetched = Some(location);
    }
    drop(submit(call, state, stream, Work::Wait, Vec::new())?);
    Ok(())
}

pub(crate) fn cuMemPrefetchAsync(
    call: &Call<'_>,
    dev_ptr: CUdeviceptr,
    count: usize,
    dst_device: CUdevice,
    stream: CUstream,
) -> Result<(), CUresult> {
    prefetch(call, (dev_ptr, count), |state| location_of(state, dst_device), stream)
}

pub(crate) fn cuMemPrefetchAsync_v2(
    call: &Call<'_>,
    dev_ptr: CUdeviceptr,
    count: usize,
    location: CUmemLocation,
    flags: c_uint,
    stream: CUstream,
) -> Result<(), CUresult> {
    if flags != 0 {
        return Err(INVALID_VALUE);
    }
    prefetch(call, (dev_ptr, count), |state| checked(state, location), stream)
}

pub(crate) fn cuMemPrefetchBatchAsync(
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
pub(crate) fn cuMemDiscardBatchAsync(
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
    addresses.iter().zip(&sizes).try_for_each(|(address, size)| migratable(&mut state, *address, *size).map(drop))?;
    drop(state);
    addresses.into_iter().zip(sizes).try_for_each(|(address, size)| overwrite(call, address, size, stream))
}

pub(crate) fn cuMemDiscardAndPrefetchBatchAsync(
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
pub(crate) fn cuMemGetLocationInfo(
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
