//! The descriptors of textures, between the runtime and the driver.

use crate::channel;
use crate::result::{Result, cudaError_t};
use crate::types::*;
use cuarray_abi::*;

/// The read mode that returns integers as they are.
const ELEMENT_TYPE: u32 = 0;
/// The read mode that returns integers as floating point.
const NORMALIZED_FLOAT: u32 = 1;

/// The words of a resource's union: an address or handle, a channel descriptor of 20 bytes, and sizes.
type Words = [u64; 7];

/// The channel descriptor in a union.
fn channels(words: &Words) -> cudaChannelFormatDesc {
    let half = |number: usize| (words[number / 2] >> (number % 2 * 32)) as u32;
    let bits = |number| half(number).cast_signed();
    cudaChannelFormatDesc { x: bits(2), y: bits(3), z: bits(4), w: bits(5), f: half(6) }
}

fn put_channels(words: &mut Words, desc: &cudaChannelFormatDesc) {
    let bits = [desc.x, desc.y, desc.z, desc.w].map(|bits| u64::from(bits.cast_unsigned()));
    words[1] = bits[0] | bits[1] << 32;
    words[2] = bits[2] | bits[3] << 32;
    words[3] = u64::from(desc.f);
}

/// The driver's descriptor of a resource.
pub(super) fn to_driver(kind: u32, words: &Words, flags: u32) -> Result<CUDA_RESOURCE_DESC> {
    let mut resource = CUDA_RESOURCE_DESC { resType: kind, res: [0; 16], flags };
    resource.res[0] = words[0];
    if matches!(kind, CU_RESOURCE_TYPE_LINEAR | CU_RESOURCE_TYPE_PITCH2D) {
        let (format, channels) = channel::to_format(&channels(words))?;
        resource.res[1] = u64::from(format) | u64::from(channels) << 32;
        resource.res[2..5].copy_from_slice(&words[4..7]);
    }
    Ok(resource)
}

/// The words of a resource's union, from the driver's descriptor.
pub(super) fn to_runtime(resource: &CUDA_RESOURCE_DESC) -> Words {
    let mut words = [0; 7];
    words[0] = resource.res[0];
    if matches!(resource.resType, CU_RESOURCE_TYPE_LINEAR | CU_RESOURCE_TYPE_PITCH2D) {
        put_channels(&mut words, &channel::of_format(resource.res[1] as u32, (resource.res[1] >> 32) as u32));
        let sizes = if resource.resType == CU_RESOURCE_TYPE_LINEAR { 1 } else { 3 };
        words[4..4 + sizes].copy_from_slice(&resource.res[2..2 + sizes]);
    }
    words
}

/// The driver's descriptor of a texture.
///
/// # Errors
/// `cudaErrorInvalidValue` for an unknown read mode.
pub(super) fn texture_to_driver(texture: &cudaTextureDesc) -> Result<CUDA_TEXTURE_DESC> {
    if texture.readMode > NORMALIZED_FLOAT {
        return Err(cudaError_t::cudaErrorInvalidValue);
    }
    let flag = |set: bool, flag| if set { flag } else { 0 };
    let flags = flag(texture.readMode == ELEMENT_TYPE, CU_TRSF_READ_AS_INTEGER)
        | flag(texture.normalizedCoords != 0, CU_TRSF_NORMALIZED_COORDINATES)
        | flag(texture.sRGB != 0, CU_TRSF_SRGB)
        | flag(texture.disableTrilinearOptimization != 0, CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION)
        | flag(texture.seamlessCubemap != 0, CU_TRSF_SEAMLESS_CUBEMAP);
    Ok(CUDA_TEXTURE_DESC {
        addressMode: texture.addressMode,
        filterMode: texture.filterMode,
        flags,
        maxAnisotropy: texture.maxAnisotropy,
        mipmapFilterMode: texture.mipmapFilterMode,
        mipmapLevelBias: texture.mipmapLevelBias,
        minMipmapLevelClamp: texture.minMipmapLevelClamp,
        maxMipmapLevelClamp: texture.maxMipmapLevelClamp,
        borderColor: texture.borderColor,
        reserved: [0; 12],
    })
}

/// The runtime's descriptor of a texture.
pub(super) fn texture_to_runtime(texture: &CUDA_TEXTURE_DESC) -> cudaTextureDesc {
    let flag = |flag| i32::from(texture.flags & flag != 0);
    cudaTextureDesc {
        addressMode: texture.addressMode,
        filterMode: texture.filterMode,
        readMode: if flag(CU_TRSF_READ_AS_INTEGER) != 0 { ELEMENT_TYPE } else { NORMALIZED_FLOAT },
        sRGB: flag(CU_TRSF_SRGB),
        borderColor: texture.borderColor,
        normalizedCoords: flag(CU_TRSF_NORMALIZED_COORDINATES),
        maxAnisotropy: texture.maxAnisotropy,
        mipmapFilterMode: texture.mipmapFilterMode,
        mipmapLevelBias: texture.mipmapLevelBias,
        minMipmapLevelClamp: texture.minMipmapLevelClamp,
        maxMipmapLevelClamp: texture.maxMipmapLevelClamp,
        disableTrilinearOptimization: flag(CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION),
        seamlessCubemap: flag(CU_TRSF_SEAMLESS_CUBEMAP),
    }
}

/// The driver's view of CUDA 12.
pub(super) fn view_to_driver(view: &cudaResourceViewDesc_of_12) -> CUDA_RESOURCE_VIEW_DESC {
    let cudaResourceViewDesc_of_12 { format, width, height, depth, .. } = *view;
    CUDA_RESOURCE_VIEW_DESC {
        format,
        width,
        height,
        depth,
        firstMipmapLevel: view.firstMipmapLevel,
        lastMipmapLevel: view.lastMipmapLevel,
        firstLayer: view.firstLayer,
        lastLayer: view.lastLayer,
        reserved: [0; 16],
    }
}

/// The view of CUDA 12.
pub(super) fn view_to_runtime(view: &CUDA_RESOURCE_VIEW_DESC) -> cudaResourceViewDesc_of_12 {
    let CUDA_RESOURCE_VIEW_DESC { format, width, height, depth, .. } = *view;
    cudaResourceViewDesc_of_12 {
        format,
        width,
        height,
        depth,
        firstMipmapLevel: view.firstMipmapLevel,
        lastMipmapLevel: view.lastMipmapLevel,
        firstLayer: view.firstLayer,
        lastLayer: view.lastLayer,
    }
}
