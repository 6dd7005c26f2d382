//! Arrays and mipmapped arrays.
//!
//! An array of the runtime is an array of the driver. A channel descriptor, with the bits of each channel, becomes the driver's
//! format and number of channels.
//!
//! Runtime API: [memory management](https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__MEMORY.html).

mod contiguous;
mod rows;

pub(crate) use contiguous::*;
pub(crate) use rows::*;

use crate::call::{present, put};
use crate::channel::{self, descriptor, unknown};
use crate::driver::cu;
use crate::result::Result;
use crate::types::*;
use cuarray_abi::{Api, CUDA_ARRAY3D_DESCRIPTOR};
use std::ffi::{c_int, c_uint};

/// Reads a channel descriptor, and makes the driver's descriptor of an array.
unsafe fn described(
    desc: *const cudaChannelFormatDesc,
    extent: cudaExtent,
    flags: c_uint,
) -> Result<CUDA_ARRAY3D_DESCRIPTOR> {
    present(desc)?;
    // SAFETY: by the contract of this function.
    let (format, channels) = channel::to_format(&unsafe { desc.read_unaligned() })?;
    Ok(CUDA_ARRAY3D_DESCRIPTOR {
        Width: extent.width,
        Height: extent.height,
        Depth: extent.depth,
        Format: format,
        NumChannels: channels,
        Flags: flags,
    })
}

pub(crate) unsafe fn cudaMallocArray(
    api: &Api,
    array: *mut cudaArray_t,
    desc: *const cudaChannelFormatDesc,
    width: usize,
    height: usize,
    flags: c_uint,
) -> Result {
    // SAFETY: by the contract of this function.
    unsafe { cudaMalloc3DArray(api, array, desc, cudaExtent { width, height, depth: 0 }, flags) }
}

pub(crate) unsafe fn cudaMalloc3DArray(
    api: &Api,
    array: *mut cudaArray_t,
    desc: *const cudaChannelFormatDesc,
    extent: cudaExtent,
    flags: c_uint,
) -> Result {
    present(array)?;
    // SAFETY: by the contract of this function.
    let descriptor = unsafe { described(desc, extent, flags)? };
    cu!(api.cuArray3DCreate_v2(array, &raw const descriptor))
}

pub(crate) unsafe fn cudaFreeArray(api: &Api, array: cudaArray_t) -> Result {
    if array.is_null() {
        return Ok(());
    }
    cu!(api.cuArrayDestroy(array)).map_err(unknown)
}

pub(crate) unsafe fn cudaMallocMipmappedArray(
    api: &Api,
    mipmapped_array: *mut cudaMipmappedArray_t,
    desc: *const cudaChannelFormatDesc,
    extent: cudaExtent,
    num_levels: c_uint,
    flags: c_uint,
) -> Result {
    present(mipmapped_array)?;
    // SAFETY: by the contract of this function.
    let descriptor = unsafe { described(desc, extent, flags)? };
    cu!(api.cuMipmappedArrayCreate(mipmapped_array, &raw const descriptor, num_levels))
}

pub(crate) unsafe fn cudaFreeMipmappedArray(api: &Api, mipmapped_array: cudaMipmappedArray_t) -> Result {
    if mipmapped_array.is_null() {
        return Ok(());
    }
    cu!(api.cuMipmappedArrayDestroy(mipmapped_array)).map_err(unknown)
}

pub(crate) unsafe fn cudaGetMipmappedArrayLevel(
    api: &Api,
    level_array: *mut cudaArray_t,
    mipmapped_array: cudaMipmappedArray_const_t,
    level: c_uint,
) -> Result {
    cu!(api.cuMipmappedArrayGetLevel(level_array, mipmapped_array, level))
}

pub(crate) unsafe fn cudaArrayGetInfo(
    api: &Api,
    desc: *mut cudaChannelFormatDesc,
    extent: *mut cudaExtent,
    flags: *mut c_uint,
    array: cudaArray_t,
) -> Result {
    let found = descriptor(api, array)?;
    // SAFETY: by the contract of this function; each output may be null.
    unsafe {
        if !desc.is_null() {
            put(desc, channel::of_format(found.Format, found.NumChannels))?;
        }
        if !extent.is_null() {
            put(extent, cudaExtent { width: found.Width, height: found.Height, depth: found.Depth })?;
        }
        if !flags.is_null() {
            put(flags, found.Flags)?;
        }
    }
    Ok(())
}

pub(crate) unsafe fn cudaArrayGetPlane(
    api: &Api,
    p_plane_array: *mut cudaArray_t,
    h_array: cudaArray_t,
    plane_idx: c_uint,
) -> Result {
    cu!(api.cuArrayGetPlane(p_plane_array, h_array, plane_idx))
}

pub(crate) unsafe fn cudaArrayGetMemoryRequirements(
    api: &Api,
    memory_requirements: *mut cudaArrayMemoryRequirements,
    array: cudaArray_t,
    device: c_int,
) -> Result {
    cu!(api.cuArrayGetMemoryRequirements(memory_requirements, array, device))
}

pub(crate) unsafe fn cudaMipmappedArrayGetMemoryRequirements(
    api: &Api,
    memory_requirements: *mut cudaArrayMemoryRequirements,
    mipmap: cudaMipmappedArray_t,
    device: c_int,
) -> Result {
    cu!(api.cuMipmappedArrayGetMemoryRequirements(memory_requirements, mipmap, device))
}

pub(crate) unsafe fn cudaArrayGetSparseProperties(
    api: &Api,
    sparse_properties: *mut cudaArraySparseProperties,
    array: cudaArray_t,
) -> Result {
    cu!(api.cuArrayGetSparseProperties(sparse_properties, array))
}

pub(crate) unsafe fn cudaMipmappedArrayGetSparseProperties(
    api: &Api,
    sparse_properties: *mut cudaArraySparseProperties,
    mipmap: cudaMipmappedArray_t,
) -> Result {
    cu!(api.cuMipmappedArrayGetSparseProperties(sparse_properties, mipmap))
}
