//! Structures of arrays and textures. CUDA 13 has longer descriptors of resources and views.

use super::*;
use cuarray_abi::{
    CUDA_ARRAY_MEMORY_REQUIREMENTS, CUDA_ARRAY_SPARSE_PROPERTIES, CUDA_RESOURCE_VIEW_DESC, CUaddress_mode,
    CUfilter_mode, CUresourceViewFormat, CUresourcetype,
};

pub type cudaArrayMemoryRequirements = CUDA_ARRAY_MEMORY_REQUIREMENTS;
pub type cudaArraySparseProperties = CUDA_ARRAY_SPARSE_PROPERTIES;

/// A resource: its type, and room for the fields of each type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct cudaResourceDesc_of_12 {
    pub resType: CUresourcetype,
    pub res: [u64; 7],
}

/// A resource: its type, and room for the fields of each type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct cudaResourceDesc_of_13 {
    pub resType: CUresourcetype,
    pub res: [u64; 16],
    pub flags: c_uint,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct cudaResourceViewDesc_of_12 {
    pub format: CUresourceViewFormat,
    pub width: usize,
    pub height: usize,
    pub depth: usize,
    pub firstMipmapLevel: c_uint,
    pub lastMipmapLevel: c_uint,
    pub firstLayer: c_uint,
    pub lastLayer: c_uint,
}

pub type cudaResourceViewDesc_of_13 = CUDA_RESOURCE_VIEW_DESC;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct cudaTextureDesc {
    pub addressMode: [CUaddress_mode; 3],
    pub filterMode: CUfilter_mode,
    pub readMode: c_uint,
    pub sRGB: c_int,
    pub borderColor: [f32; 4],
    pub normalizedCoords: c_int,
    pub maxAnisotropy: c_uint,
    pub mipmapFilterMode: CUfilter_mode,
    pub mipmapLevelBias: f32,
    pub minMipmapLevelClamp: f32,
    pub maxMipmapLevelClamp: f32,
    pub disableTrilinearOptimization: c_int,
    pub seamlessCubemap: c_int,
}

// A test compares these sizes with the headers of both majors.
const _: () = {
    assert!(size_of::<cudaArrayMemoryRequirements>() == 32);
    assert!(size_of::<cudaArraySparseProperties>() == 48);
    assert!(size_of::<cudaResourceDesc_of_12>() == 64);
    assert!(size_of::<cudaResourceDesc_of_13>() == 144);
    assert!(size_of::<cudaResourceViewDesc_of_12>() == 48);
    assert!(size_of::<cudaResourceViewDesc_of_13>() == 112);
    assert!(size_of::<cudaTextureDesc>() == 72);
};
