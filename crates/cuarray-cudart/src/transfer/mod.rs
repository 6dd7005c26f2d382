//! Copies and fills of linear memory.
//!
//! The direction selects the driver's function. `cudaMemcpyDefault` and a copy within the host let the driver find out
//! where each pointer lies. An empty copy or fill succeeds without the driver.
//!
//! Runtime API: [memory management](https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__MEMORY.html).

mod batches;
mod fill;
mod linear;
mod peer;
mod rows;
mod slices;

pub(crate) use batches::*;
pub(crate) use fill::*;
pub(crate) use linear::*;
pub(crate) use peer::*;
pub(crate) use rows::*;
pub(crate) use slices::*;

use crate::memory::address;
use crate::result::{Result, cudaError_t};
use crate::types::*;
use cuarray_abi::{CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_UNIFIED, CUdeviceptr, CUmemorytype};
use std::ffi::c_void;
use std::ptr;

pub(crate) const HOST_TO_HOST: cudaMemcpyKind = 0;
pub(crate) const HOST_TO_DEVICE: cudaMemcpyKind = 1;
pub(crate) const DEVICE_TO_HOST: cudaMemcpyKind = 2;
pub(crate) const DEVICE_TO_DEVICE: cudaMemcpyKind = 3;
pub(crate) const DEFAULT: cudaMemcpyKind = 4;

/// Refuses an unknown direction.
#[inline]
pub(crate) fn check_kind(kind: cudaMemcpyKind) -> Result {
    if kind > DEFAULT { Err(cudaError_t::cudaErrorInvalidMemcpyDirection) } else { Ok(()) }
}

/// The driver's memory types of the source and of the destination of a copy.
pub(crate) fn memory_types(kind: cudaMemcpyKind) -> (CUmemorytype, CUmemorytype) {
    match kind {
        HOST_TO_DEVICE => (CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE),
        DEVICE_TO_HOST => (CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_HOST),
        DEVICE_TO_DEVICE => (CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_DEVICE),
        _ => (CU_MEMORYTYPE_UNIFIED, CU_MEMORYTYPE_UNIFIED),
    }
}

/// A pointer as the driver's structures have it: as a host pointer, or as a device address.
pub(crate) fn endpoint(kind: CUmemorytype, pointer: *const c_void) -> (*const c_void, CUdeviceptr) {
    if kind == CU_MEMORYTYPE_HOST { (pointer, 0) } else { (ptr::null(), address(pointer)) }
}
