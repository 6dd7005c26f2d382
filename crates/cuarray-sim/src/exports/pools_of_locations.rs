//! The default and the current memory pool of a location.
//!
//! Driver API: [stream ordered memory
//! allocator](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MALLOC__ASYNC.html). Simulated devices have pools of
//! their own memory. Pools of host memory and of managed memory are not supported, and the attributes of the devices say so.

use super::device::{cuDeviceGetDefaultMemPool, cuDeviceGetMemPool, cuDeviceSetMemPool};
use super::*;

/// The device whose pool is meant.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for an unknown location or kind; `CUDA_ERROR_NOT_SUPPORTED` for host and managed memory.
///
/// # Safety
/// `location` is null or readable.
unsafe fn device_of(location: *const CUmemLocation, kind: CUmemAllocationType) -> Result<CUdevice, CUresult> {
    present(location)?;
    // SAFETY: by this function's contract; the location may be unaligned.
    let CUmemLocation { kind: place, id } = unsafe { location.read_unaligned() };
    match (place, kind) {
        (CU_MEM_LOCATION_TYPE_DEVICE, CU_MEM_ALLOCATION_TYPE_PINNED) => Ok(id),
        (CU_MEM_LOCATION_TYPE_HOST | CU_MEM_LOCATION_TYPE_HOST_NUMA, CU_MEM_ALLOCATION_TYPE_PINNED)
        | (
            CU_MEM_LOCATION_TYPE_INVALID
            | CU_MEM_LOCATION_TYPE_DEVICE
            | CU_MEM_LOCATION_TYPE_HOST
            | CU_MEM_LOCATION_TYPE_HOST_NUMA,
            CU_MEM_ALLOCATION_TYPE_MANAGED,
        ) => Err(CUresult::CUDA_ERROR_NOT_SUPPORTED),
        _ => Err(CUresult::CUDA_ERROR_INVALID_VALUE),
    }
}

pub(super) unsafe fn cuMemGetDefaultMemPool(
    call: &Call<'_>,
    pool_out: *mut CUmemoryPool,
    location: *mut CUmemLocation,
    kind: CUmemAllocationType,
) -> Result<(), CUresult> {
    // SAFETY: the caller's pointers, by the driver's contract.
    unsafe { cuDeviceGetDefaultMemPool(call, pool_out, device_of(location, kind)?) }
}

pub(super) unsafe fn cuMemGetMemPool(
    call: &Call<'_>,
    pool: *mut CUmemoryPool,
    location: *mut CUmemLocation,
    kind: CUmemAllocationType,
) -> Result<(), CUresult> {
    // SAFETY: the caller's pointers, by the driver's contract.
    unsafe { cuDeviceGetMemPool(call, pool, device_of(location, kind)?) }
}

pub(super) unsafe fn cuMemSetMemPool(
    call: &Call<'_>,
    location: *mut CUmemLocation,
    kind: CUmemAllocationType,
    pool: CUmemoryPool,
) -> Result<(), CUresult> {
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { cuDeviceSetMemPool(call, device_of(location, kind)?, pool) }
}
