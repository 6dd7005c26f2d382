//! Prefetches and discards of managed memory in batches, and its locations.

use super::address;
use crate::call::present;
use crate::driver::cu;
use crate::result::Result;
use crate::types::*;
use cuarray_abi::{Api, CUdeviceptr};
use std::ffi::{c_ulonglong, c_void};

pub(crate) unsafe fn cudaMemPrefetchBatchAsync(
    api: &Api,
    dptrs: *mut *mut c_void,
    sizes: *mut usize,
    count: usize,
    prefetch_locs: *mut cudaMemLocation,
    prefetch_loc_idxs: *mut usize,
    num_prefetch_locs: usize,
    flags: c_ulonglong,
    stream: cudaStream_t,
) -> Result {
    let (ranges, locations) = (dptrs.cast::<CUdeviceptr>(), num_prefetch_locs);
    cu!(api.cuMemPrefetchBatchAsync(ranges, sizes, count, prefetch_locs, prefetch_loc_idxs, locations, flags, stream))
}

pub(crate) unsafe fn cudaMemDiscardBatchAsync(
    api: &Api,
    dptrs: *mut *mut c_void,
    sizes: *mut usize,
    count: usize,
    flags: c_ulonglong,
    stream: cudaStream_t,
) -> Result {
    cu!(api.cuMemDiscardBatchAsync(dptrs.cast::<CUdeviceptr>(), sizes, count, flags, stream))
}

pub(crate) unsafe fn cudaMemDiscardAndPrefetchBatchAsync(
    api: &Api,
    dptrs: *mut *mut c_void,
    sizes: *mut usize,
    count: usize,
    prefetch_locs: *mut cudaMemLocation,
    prefetch_loc_idxs: *mut usize,
    num_prefetch_locs: usize,
    flags: c_ulonglong,
    stream: cudaStream_t,
) -> Result {
    let (ranges, locations) = (dptrs.cast::<CUdeviceptr>(), num_prefetch_locs);
    cu!(api.cuMemDiscardAndPrefetchBatchAsync(
        ranges,
        sizes,
        count,
        prefetch_locs,
        prefetch_loc_idxs,
        locations,
        flags,
        stream,
    ))
}

pub(crate) unsafe fn cudaMemGetLocationInfo(
    api: &Api,
    dev_ptr: *mut c_void,
    size: usize,
    summary_granularity: usize,
    sampling_granularity: usize,
    location_out: *mut cudaMemLocation,
) -> Result {
    present(location_out)?;
    let range = address(dev_ptr);
    cu!(api.cuMemGetLocationInfo(range, size, summary_granularity, sampling_granularity, location_out))
}
