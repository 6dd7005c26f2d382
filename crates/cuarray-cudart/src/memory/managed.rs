//! Managed memory: allocation, advice, and prefetches.

use super::{address, allocated};
use crate::call::present;
use crate::driver::cu;
use crate::result::Result;
use crate::types::*;
use cuarray_abi::Api;
use std::ffi::{c_int, c_uint, c_void};

pub(crate) unsafe fn cudaMallocManaged(api: &Api, dev_ptr: *mut *mut c_void, size: usize, flags: c_uint) -> Result {
    // SAFETY: by the contract of this function.
    unsafe { allocated(dev_ptr, |address| cu!(api.cuMemAllocManaged(address, size, flags))) }
}

pub(crate) unsafe fn cudaMemPrefetchAsync(
    api: &Api,
    dev_ptr: *const c_void,
    count: usize,
    location: cudaMemLocation,
    flags: c_uint,
    stream: cudaStream_t,
) -> Result {
    cu!(api.cuMemPrefetchAsync_v2(address(dev_ptr), count, location, flags, stream))
}

pub(crate) use cudaMemPrefetchAsync as cudaMemPrefetchAsync_v2;

/// The prefetch of CUDA 12, whose destination is a device, or -1 for the host.
pub(crate) unsafe fn cudaMemPrefetchAsync_v1(
    api: &Api,
    dev_ptr: *const c_void,
    count: usize,
    dst_device: c_int,
    stream: cudaStream_t,
) -> Result {
    cu!(api.cuMemPrefetchAsync(address(dev_ptr), count, dst_device, stream))
}

pub(crate) unsafe fn cudaMemAdvise(
    api: &Api,
    dev_ptr: *const c_void,
    count: usize,
    advice: cudaMemoryAdvise,
    location: cudaMemLocation,
) -> Result {
    cu!(api.cuMemAdvise_v2(address(dev_ptr), count, advice, location))
}

pub(crate) use cudaMemAdvise as cudaMemAdvise_v2;

/// The advice of CUDA 12, which names a device, or -1 for the host.
pub(crate) unsafe fn cudaMemAdvise_v1(
    api: &Api,
    dev_ptr: *const c_void,
    count: usize,
    advice: cudaMemoryAdvise,
    device: c_int,
) -> Result {
    cu!(api.cuMemAdvise(address(dev_ptr), count, advice, device))
}

pub(crate) unsafe fn cudaMemRangeGetAttribute(
    api: &Api,
    data: *mut c_void,
    data_size: usize,
    attribute: cudaMemRangeAttribute,
    dev_ptr: *const c_void,
    count: usize,
) -> Result {
    present(data)?;
    cu!(api.cuMemRangeGetAttribute(data, data_size, attribute, address(dev_ptr), count))
}

pub(crate) unsafe fn cudaMemRangeGetAttributes(
    api: &Api,
    data: *mut *mut c_void,
    data_sizes: *mut usize,
    attributes: *mut cudaMemRangeAttribute,
    num_attributes: usize,
    dev_ptr: *const c_void,
    count: usize,
) -> Result {
    present(data)?;
    present(data_sizes)?;
    present(attributes)?;
    cu!(api.cuMemRangeGetAttributes(data, data_sizes, attributes, num_attributes, address(dev_ptr), count))
}
