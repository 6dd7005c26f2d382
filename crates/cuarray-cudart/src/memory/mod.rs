//! Memory management: allocations of the device and of the host.
//!
//! An allocation of no bytes succeeds with a null pointer, except of managed memory, and a null pointer is freed without a driver call.
//!
//! Runtime API: [memory management](https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__MEMORY.html).

mod host;
mod managed;
mod managed_batches;
mod pitched;

pub(crate) use host::*;
pub(crate) use managed::*;
pub(crate) use managed_batches::*;
pub(crate) use pitched::*;

use crate::call::{present, put};
use crate::driver::cu;
use crate::result::Result;
use cuarray_abi::{Api, CUdeviceptr};
use std::ffi::c_void;
use std::ptr;

/// The device address that a pointer of the runtime is.
#[inline]
pub(crate) fn address(pointer: *const c_void) -> CUdeviceptr {
    pointer.addr() as CUdeviceptr
}

/// The pointer of the runtime for a device address.
#[inline]
pub(crate) fn pointer(address: CUdeviceptr) -> *mut c_void {
    ptr::without_provenance_mut(address as usize)
}

/// Writes the address that `allocate` gives.
///
/// # Safety
/// `out` is null or writable.
pub(crate) unsafe fn allocated(out: *mut *mut c_void, allocate: impl FnOnce(*mut CUdeviceptr) -> Result) -> Result {
    present(out)?;
    let mut address = 0;
    allocate(&raw mut address)?;
    // SAFETY: by this function's contract.
    unsafe { put(out, pointer(address)) }
}

pub(crate) unsafe fn cudaMalloc(api: &Api, dev_ptr: *mut *mut c_void, size: usize) -> Result {
    // SAFETY: by the contract of this function.
    unsafe { allocated(dev_ptr, |address| if size == 0 { Ok(()) } else { cu!(api.cuMemAlloc_v2(address, size)) }) }
}

pub(crate) unsafe fn cudaFree(api: &Api, dev_ptr: *mut c_void) -> Result {
    if dev_ptr.is_null() {
        return Ok(());
    }
    cu!(api.cuMemFree_v2(address(dev_ptr)))
}

pub(crate) unsafe fn cudaMemGetInfo(api: &Api, free: *mut usize, total: *mut usize) -> Result {
    present(free)?;
    present(total)?;
    cu!(api.cuMemGetInfo_v2(free, total))
}
