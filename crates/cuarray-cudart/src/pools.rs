//! The stream-ordered allocator and its pools.
//!
//! A null pointer, which an allocation of no bytes is, is freed without a driver call.
//!
//! Runtime API: [stream-ordered allocator](https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__MEMORY__POOLS.html).

use crate::call::{present, put};
use crate::driver::{cu, further};
use crate::memory::{address, allocated, pointer};
use crate::result::Result;
use crate::types::*;
use cuarray_abi::{Api, CUdeviceptr};
use std::ffi::{c_int, c_uint, c_ulonglong, c_void};

pub(crate) unsafe fn cudaDeviceGetDefaultMemPool(api: &Api, mem_pool: *mut cudaMemPool_t, device: c_int) -> Result {
    present(mem_pool)?;
    cu!(api.cuDeviceGetDefaultMemPool(mem_pool, device))
}

pub(crate) unsafe fn cudaDeviceSetMemPool(api: &Api, device: c_int, mem_pool: cudaMemPool_t) -> Result {
    cu!(api.cuDeviceSetMemPool(device, mem_pool))
}

pub(crate) unsafe fn cudaDeviceGetMemPool(api: &Api, mem_pool: *mut cudaMemPool_t, device: c_int) -> Result {
    present(mem_pool)?;
    cu!(api.cuDeviceGetMemPool(mem_pool, device))
}

pub(crate) unsafe fn cudaMemGetDefaultMemPool(
    api: &Api,
    mem_pool: *mut cudaMemPool_t,
    location: *mut cudaMemLocation,
    type_: cudaMemAllocationType,
) -> Result {
    present(mem_pool)?;
    present(location)?;
    cu!(api.cuMemGetDefaultMemPool(mem_pool, location, type_))
}

pub(crate) unsafe fn cudaMemGetMemPool(
    api: &Api,
    mem_pool: *mut cudaMemPool_t,
    location: *mut cudaMemLocation,
    type_: cudaMemAllocationType,
) -> Result {
    present(mem_pool)?;
    present(location)?;
    cu!(api.cuMemGetMemPool(mem_pool, location, type_))
}

pub(crate) unsafe fn cudaMemSetMemPool(
    api: &Api,
    location: *mut cudaMemLocation,
    type_: cudaMemAllocationType,
    mem_pool: cudaMemPool_t,
) -> Result {
    present(location)?;
    cu!(api.cuMemSetMemPool(location, type_, mem_pool))
}

pub(crate) unsafe fn cudaMallocAsync(
    api: &Api,
    dev_ptr: *mut *mut c_void,
    size: usize,
    h_stream: cudaStream_t,
) -> Result {
    // SAFETY: by the contract of this function.
    unsafe { allocated(dev_ptr, |address| cu!(api.cuMemAllocAsync(address, size, h_stream))) }
}

pub(crate) unsafe fn cudaFreeAsync(api: &Api, dev_ptr: *mut c_void, h_stream: cudaStream_t) -> Result {
    if dev_ptr.is_null() {
        return Ok(());
    }
    cu!(api.cuMemFreeAsync(address(dev_ptr), h_stream))
}

pub(crate) unsafe fn cudaMallocFromPoolAsync(
    api: &Api,
    ptr: *mut *mut c_void,
    size: usize,
    mem_pool: cudaMemPool_t,
    stream: cudaStream_t,
) -> Result {
    // SAFETY: by the contract of this function.
    unsafe { allocated(ptr, |address| cu!(api.cuMemAllocFromPoolAsync(address, size, mem_pool, stream))) }
}

pub(crate) unsafe fn cudaMemPoolCreate(
    api: &Api,
    mem_pool: *mut cudaMemPool_t,
    pool_props: *const cudaMemPoolProps,
) -> Result {
    present(mem_pool)?;
    present(pool_props)?;
    cu!(api.cuMemPoolCreate(mem_pool, pool_props))
}

pub(crate) unsafe fn cudaMemPoolDestroy(api: &Api, mem_pool: cudaMemPool_t) -> Result {
    cu!(api.cuMemPoolDestroy(mem_pool))
}

pub(crate) unsafe fn cudaMemPoolTrimTo(api: &Api, mem_pool: cudaMemPool_t, min_bytes_to_keep: usize) -> Result {
    cu!(api.cuMemPoolTrimTo(mem_pool, min_bytes_to_keep))
}

pub(crate) unsafe fn cudaMemPoolSetAttribute(
    api: &Api,
    mem_pool: cudaMemPool_t,
    attr: cudaMemPoolAttr,
    value: *mut c_void,
) -> Result {
    present(value)?;
    cu!(api.cuMemPoolSetAttribute(mem_pool, attr, value))
}

pub(crate) unsafe fn cudaMemPoolGetAttribute(
    api: &Api,
    mem_pool: cudaMemPool_t,
    attr: cudaMemPoolAttr,
    value: *mut c_void,
) -> Result {
    present(value)?;
    cu!(api.cuMemPoolGetAttribute(mem_pool, attr, value))
}

pub(crate) unsafe fn cudaMemPoolSetAccess(
    api: &Api,
    mem_pool: cudaMemPool_t,
    desc_list: *const cudaMemAccessDesc,
    count: usize,
) -> Result {
    cu!(api.cuMemPoolSetAccess(mem_pool, desc_list, count))
}

pub(crate) unsafe fn cudaMemPoolGetAccess(
    api: &Api,
    flags: *mut cudaMemAccessFlags,
    mem_pool: cudaMemPool_t,
    location: *mut cudaMemLocation,
) -> Result {
    present(flags)?;
    present(location)?;
    cu!(api.cuMemPoolGetAccess(flags, mem_pool, location))
}

pub(crate) unsafe fn cudaMemPoolExportToShareableHandle(
    _api: &Api,
    shareable_handle: *mut c_void,
    mem_pool: cudaMemPool_t,
    handle_type: cudaMemAllocationHandleType,
    flags: c_uint,
) -> Result {
    present(shareable_handle)?;
    let flags = c_ulonglong::from(flags);
    further!(cuMemPoolExportToShareableHandle(
        shareable_handle => *mut c_void,
        mem_pool => cudaMemPool_t,
        handle_type => cudaMemAllocationHandleType,
        flags => c_ulonglong,
    ))
}

/// The handle is a value in the form of a pointer, and may be zero.
pub(crate) unsafe fn cudaMemPoolImportFromShareableHandle(
    _api: &Api,
    mem_pool: *mut cudaMemPool_t,
    shareable_handle: *mut c_void,
    handle_type: cudaMemAllocationHandleType,
    flags: c_uint,
) -> Result {
    present(mem_pool)?;
    let flags = c_ulonglong::from(flags);
    further!(cuMemPoolImportFromShareableHandle(
        mem_pool => *mut cudaMemPool_t,
        shareable_handle => *mut c_void,
        handle_type => cudaMemAllocationHandleType,
        flags => c_ulonglong,
    ))
}

pub(crate) unsafe fn cudaMemPoolExportPointer(
    _api: &Api,
    export_data: *mut cudaMemPoolPtrExportData,
    ptr: *mut c_void,
) -> Result {
    present(export_data)?;
    further!(cuMemPoolExportPointer(export_data => *mut cudaMemPoolPtrExportData, address(ptr) => CUdeviceptr))
}

pub(crate) unsafe fn cudaMemPoolImportPointer(
    _api: &Api,
    ptr: *mut *mut c_void,
    mem_pool: cudaMemPool_t,
    export_data: *mut cudaMemPoolPtrExportData,
) -> Result {
    present(ptr)?;
    present(export_data)?;
    let mut address = 0;
    further!(cuMemPoolImportPointer(
        &raw mut address => *mut CUdeviceptr,
        mem_pool => cudaMemPool_t,
        export_data => *mut cudaMemPoolPtrExportData,
    ))?;
    // SAFETY: by the contract of this function.
    unsafe { put(ptr, pointer(address)) }
}
