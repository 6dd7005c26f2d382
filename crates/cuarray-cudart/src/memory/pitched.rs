//! Allocations of rows with a pitch.

use super::pointer;
use crate::call::{present, put};
use crate::driver::cu;
use crate::result::{Result, cudaError_t};
use crate::types::*;
use cuarray_abi::Api;
use std::ffi::{c_uint, c_void};
use std::ptr;

/// The element size for which the driver chooses a pitch: that of the widest access of a kernel.
const ELEMENT_SIZE: c_uint = 16;

/// Allocates rows, and returns their address and pitch.
fn rows(api: &Api, width: usize, height: usize) -> Result<(*mut c_void, usize)> {
    if width == 0 || height == 0 {
        return Ok((ptr::null_mut(), 0));
    }
    let (mut address, mut pitch) = (0, 0);
    cu!(api.cuMemAllocPitch_v2(&raw mut address, &raw mut pitch, width, height, ELEMENT_SIZE))?;
    Ok((pointer(address), pitch))
}

pub(crate) unsafe fn cudaMallocPitch(
    api: &Api,
    dev_ptr: *mut *mut c_void,
    pitch: *mut usize,
    width: usize,
    height: usize,
) -> Result {
    present(dev_ptr)?;
    present(pitch)?;
    let (memory, bytes) = rows(api, width, height)?;
    // SAFETY: by the contract of this function.
    unsafe {
        put(dev_ptr, memory)?;
        put(pitch, bytes)
    }
}

pub(crate) unsafe fn cudaMalloc3D(api: &Api, pitched_dev_ptr: *mut cudaPitchedPtr, extent: cudaExtent) -> Result {
    present(pitched_dev_ptr)?;
    let height = extent.height.checked_mul(extent.depth).ok_or(cudaError_t::cudaErrorInvalidValue)?;
    let (ptr, pitch) = rows(api, extent.width, height)?;
    // SAFETY: by the contract of this function.
    unsafe { put(pitched_dev_ptr, cudaPitchedPtr { ptr, pitch, xsize: extent.width, ysize: extent.height }) }
}
