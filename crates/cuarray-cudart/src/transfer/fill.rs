//! Fills with the low byte of a value.

use super::*;
use crate::call::present;
use crate::driver::cu;
use cuarray_abi::Api;
use std::ffi::c_int;

/// The byte that a value stands for.
#[inline]
fn byte(value: c_int) -> u8 {
    value.to_le_bytes()[0]
}

pub(crate) unsafe fn cudaMemset(api: &Api, dev_ptr: *mut c_void, value: c_int, count: usize) -> Result {
    if count == 0 {
        return Ok(());
    }
    cu!(api.cuMemsetD8_v2(address(dev_ptr), byte(value), count))
}

pub(crate) unsafe fn cudaMemsetAsync(
    api: &Api,
    dev_ptr: *mut c_void,
    value: c_int,
    count: usize,
    stream: cudaStream_t,
) -> Result {
    if count == 0 {
        return Ok(());
    }
    cu!(api.cuMemsetD8Async(address(dev_ptr), byte(value), count, stream))
}

pub(crate) unsafe fn cudaMemset2D(
    api: &Api,
    dev_ptr: *mut c_void,
    pitch: usize,
    value: c_int,
    width: usize,
    height: usize,
) -> Result {
    if width == 0 || height == 0 {
        return Ok(());
    }
    cu!(api.cuMemsetD2D8_v2(address(dev_ptr), pitch, byte(value), width, height))
}

pub(crate) unsafe fn cudaMemset2DAsync(
    api: &Api,
    dev_ptr: *mut c_void,
    pitch: usize,
    value: c_int,
    width: usize,
    height: usize,
    stream: cudaStream_t,
) -> Result {
    if width == 0 || height == 0 {
        return Ok(());
    }
    cu!(api.cuMemsetD2D8Async(address(dev_ptr), pitch, byte(value), width, height, stream))
}

/// Calls `fill` with the address and the number of rows of each part of a volume that is one run of rows.
fn each_run(
    pitched: &cudaPitchedPtr,
    extent: cudaExtent,
    mut fill: impl FnMut(CUdeviceptr, usize) -> Result,
) -> Result {
    if extent.width == 0 || extent.height == 0 || extent.depth == 0 {
        return Ok(());
    }
    present(pitched.ptr)?;
    let (start, invalid) = (address(pitched.ptr), cudaError_t::cudaErrorInvalidValue);
    if extent.depth == 1 || extent.height == pitched.ysize {
        return fill(start, extent.height.checked_mul(extent.depth).ok_or(invalid)?);
    }
    if extent.height > pitched.ysize {
        return Err(invalid);
    }
    let slice = pitched.pitch.checked_mul(pitched.ysize).ok_or(invalid)?;
    // The last slice must lie in the address space before the first is filled.
    slice.checked_mul(extent.depth).and_then(|bytes| bytes.checked_add(start as usize)).ok_or(invalid)?;
    (0..extent.depth).try_for_each(|index| fill(start + (slice * index) as CUdeviceptr, extent.height))
}

pub(crate) unsafe fn cudaMemset3D(
    api: &Api,
    pitched_dev_ptr: cudaPitchedPtr,
    value: c_int,
    extent: cudaExtent,
) -> Result {
    each_run(&pitched_dev_ptr, extent, |start, rows| {
        cu!(api.cuMemsetD2D8_v2(start, pitched_dev_ptr.pitch, byte(value), extent.width, rows))
    })
}

pub(crate) unsafe fn cudaMemset3DAsync(
    api: &Api,
    pitched_dev_ptr: cudaPitchedPtr,
    value: c_int,
    extent: cudaExtent,
    stream: cudaStream_t,
) -> Result {
    each_run(&pitched_dev_ptr, extent, |start, rows| {
        cu!(api.cuMemsetD2D8Async(start, pitched_dev_ptr.pitch, byte(value), extent.width, rows, stream))
    })
}
