//! The driver's types for arrays, textures and surfaces.
//!
//! An array has an opaque layout, so it has a handle and no address. Texture and surface objects are numbers of 64 bits,
//! which programs pass to kernels.
//!
//! Driver API: [data types](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__TYPES.html).
#![allow(non_camel_case_types, non_snake_case, missing_docs)]

use crate::CUdeviceptr;
use crate::types::{constants, handles};
use std::ffi::c_uint;

handles! {
    /// An array.
    CUarray;
    /// An array with several levels of detail.
    CUmipmappedArray;
    /// A texture reference.
    CUtexref;
    /// A surface reference.
    CUsurfref;
}

/// A texture object; 0 is none.
pub type CUtexObject = u64;
/// A surface object; 0 is none.
pub type CUsurfObject = u64;

constants! {
    CUarray_format = c_uint {
        CU_AD_FORMAT_UNSIGNED_INT8 = 0x01, CU_AD_FORMAT_UNSIGNED_INT16 = 0x02, CU_AD_FORMAT_UNSIGNED_INT32 = 0x03,
        CU_AD_FORMAT_SIGNED_INT8 = 0x08, CU_AD_FORMAT_SIGNED_INT16 = 0x09, CU_AD_FORMAT_SIGNED_INT32 = 0x0a,
        CU_AD_FORMAT_HALF = 0x10, CU_AD_FORMAT_FLOAT = 0x20, CU_AD_FORMAT_NV12 = 0xb0,
        CU_AD_FORMAT_UNORM_INT8X1 = 0xc0, CU_AD_FORMAT_UNORM_INT8X2 = 0xc1, CU_AD_FORMAT_UNORM_INT8X4 = 0xc2,
        CU_AD_FORMAT_UNORM_INT16X1 = 0xc3, CU_AD_FORMAT_UNORM_INT16X2 = 0xc4, CU_AD_FORMAT_UNORM_INT16X4 = 0xc5,
        CU_AD_FORMAT_SNORM_INT8X1 = 0xc6, CU_AD_FORMAT_SNORM_INT8X2 = 0xc7, CU_AD_FORMAT_SNORM_INT8X4 = 0xc8,
        CU_AD_FORMAT_SNORM_INT16X1 = 0xc9, CU_AD_FORMAT_SNORM_INT16X2 = 0xca, CU_AD_FORMAT_SNORM_INT16X4 = 0xcb,
        CU_AD_FORMAT_BC1_UNORM = 0x91, CU_AD_FORMAT_BC7_UNORM_SRGB = 0x9e, CU_AD_FORMAT_P010 = 0x9f,
        CU_AD_FORMAT_P016 = 0xa1, CU_AD_FORMAT_Y410 = 0xa9, CU_AD_FORMAT_Y416 = 0xb1,
        CU_AD_FORMAT_YUV444_16BIT_SEMIPLANAR = 0xb5, CU_AD_FORMAT_UNORM_INT_101010_2 = 0x50,
        CU_AD_FORMAT_UINT16_PLANAR_444 = 0x5e,
    }
    CUaddress_mode = c_uint {
        CU_TR_ADDRESS_MODE_WRAP = 0, CU_TR_ADDRESS_MODE_CLAMP = 1, CU_TR_ADDRESS_MODE_MIRROR = 2,
        CU_TR_ADDRESS_MODE_BORDER = 3,
    }
    CUfilter_mode = c_uint { CU_TR_FILTER_MODE_POINT = 0, CU_TR_FILTER_MODE_LINEAR = 1 }
    CUresourcetype = c_uint {
        CU_RESOURCE_TYPE_ARRAY = 0, CU_RESOURCE_TYPE_MIPMAPPED_ARRAY = 1, CU_RESOURCE_TYPE_LINEAR = 2,
        CU_RESOURCE_TYPE_PITCH2D = 3,
    }
    CUresourceViewFormat = c_uint {
        CU_RES_VIEW_FORMAT_NONE = 0x00, CU_RES_VIEW_FORMAT_UINT_1X8 = 0x01, CU_RES_VIEW_FORMAT_UINT_2X8 = 0x02,
        CU_RES_VIEW_FORMAT_UINT_4X8 = 0x03, CU_RES_VIEW_FORMAT_SINT_1X8 = 0x04, CU_RES_VIEW_FORMAT_SINT_2X8 = 0x05,
        CU_RES_VIEW_FORMAT_SINT_4X8 = 0x06, CU_RES_VIEW_FORMAT_UINT_1X16 = 0x07, CU_RES_VIEW_FORMAT_UINT_2X16 = 0x08,
        CU_RES_VIEW_FORMAT_UINT_4X16 = 0x09, CU_RES_VIEW_FORMAT_SINT_1X16 = 0x0a, CU_RES_VIEW_FORMAT_SINT_2X16 = 0x0b,
        CU_RES_VIEW_FORMAT_SINT_4X16 = 0x0c, CU_RES_VIEW_FORMAT_UINT_1X32 = 0x0d, CU_RES_VIEW_FORMAT_UINT_2X32 = 0x0e,
        CU_RES_VIEW_FORMAT_UINT_4X32 = 0x0f, CU_RES_VIEW_FORMAT_SINT_1X32 = 0x10, CU_RES_VIEW_FORMAT_SINT_2X32 = 0x11,
        CU_RES_VIEW_FORMAT_SINT_4X32 = 0x12, CU_RES_VIEW_FORMAT_FLOAT_1X16 = 0x13,
        CU_RES_VIEW_FORMAT_FLOAT_2X16 = 0x14, CU_RES_VIEW_FORMAT_FLOAT_4X16 = 0x15,
        CU_RES_VIEW_FORMAT_FLOAT_1X32 = 0x16, CU_RES_VIEW_FORMAT_FLOAT_2X32 = 0x17,
        CU_RES_VIEW_FORMAT_FLOAT_4X32 = 0x18, CU_RES_VIEW_FORMAT_UNSIGNED_BC1 = 0x19,
        CU_RES_VIEW_FORMAT_UNSIGNED_BC7 = 0x22,
    }
}

pub const CUDA_ARRAY3D_LAYERED: c_uint = 0x01;
pub const CUDA_ARRAY3D_SURFACE_LDST: c_uint = 0x02;
pub const CUDA_ARRAY3D_CUBEMAP: c_uint = 0x04;
pub const CUDA_ARRAY3D_TEXTURE_GATHER: c_uint = 0x08;
pub const CUDA_ARRAY3D_DEPTH_TEXTURE: c_uint = 0x10;
pub const CUDA_ARRAY3D_COLOR_ATTACHMENT: c_uint = 0x20;
pub const CUDA_ARRAY3D_SPARSE: c_uint = 0x40;
pub const CUDA_ARRAY3D_DEFERRED_MAPPING: c_uint = 0x80;
pub const CUDA_ARRAY3D_VIDEO_ENCODE_DECODE: c_uint = 0x100;
/// `cuTexRefSetArray`: the reference takes the format of the array.
pub const CU_TRSA_OVERRIDE_FORMAT: c_uint = 0x01;
pub const CU_TRSF_READ_AS_INTEGER: c_uint = 0x01;
pub const CU_TRSF_NORMALIZED_COORDINATES: c_uint = 0x02;
pub const CU_TRSF_SRGB: c_uint = 0x10;
pub const CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION: c_uint = 0x20;
pub const CU_TRSF_SEAMLESS_CUBEMAP: c_uint = 0x40;
/// `cuParamSetTexRef`: the only valid texture unit.
pub const CU_PARAM_TR_DEFAULT: i32 = -1;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct CUDA_ARRAY_DESCRIPTOR {
    pub Width: usize,
    pub Height: usize,
    pub Format: CUarray_format,
    pub NumChannels: c_uint,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct CUDA_ARRAY3D_DESCRIPTOR {
    pub Width: usize,
    pub Height: usize,
    pub Depth: usize,
    pub Format: CUarray_format,
    pub NumChannels: c_uint,
    pub Flags: c_uint,
}

#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct CUDA_ARRAY_SPARSE_PROPERTIES {
    pub tileExtent: [c_uint; 3],
    pub miptailFirstLevel: c_uint,
    pub miptailSize: u64,
    pub flags: c_uint,
    pub reserved: [c_uint; 4],
}

#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct CUDA_ARRAY_MEMORY_REQUIREMENTS {
    pub size: usize,
    pub alignment: usize,
    pub reserved: [c_uint; 4],
}

/// A resource of a texture or surface: its type, and room for the fields of each type.
///
/// `res` holds one of an array's handle, a mipmapped array's handle, [`CUDA_RESOURCE_LINEAR`] and
/// [`CUDA_RESOURCE_PITCH2D`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct CUDA_RESOURCE_DESC {
    pub resType: CUresourcetype,
    pub res: [u64; 16],
    pub flags: c_uint,
}

/// `CUDA_RESOURCE_DESC.res` of linear memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct CUDA_RESOURCE_LINEAR {
    pub devPtr: CUdeviceptr,
    pub format: CUarray_format,
    pub numChannels: c_uint,
    pub sizeInBytes: usize,
}

/// `CUDA_RESOURCE_DESC.res` of rows in device memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct CUDA_RESOURCE_PITCH2D {
    pub devPtr: CUdeviceptr,
    pub format: CUarray_format,
    pub numChannels: c_uint,
    pub width: usize,
    pub height: usize,
    pub pitchInBytes: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct CUDA_TEXTURE_DESC {
    pub addressMode: [CUaddress_mode; 3],
    pub filterMode: CUfilter_mode,
    pub flags: c_uint,
    pub maxAnisotropy: c_uint,
    pub mipmapFilterMode: CUfilter_mode,
    pub mipmapLevelBias: f32,
    pub minMipmapLevelClamp: f32,
    pub maxMipmapLevelClamp: f32,
    pub borderColor: [f32; 4],
    pub reserved: [i32; 12],
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct CUDA_RESOURCE_VIEW_DESC {
    pub format: CUresourceViewFormat,
    pub width: usize,
    pub height: usize,
    pub depth: usize,
    pub firstMipmapLevel: c_uint,
    pub lastMipmapLevel: c_uint,
    pub firstLayer: c_uint,
    pub lastLayer: c_uint,
    pub reserved: [c_uint; 16],
}

// Sizes from the driver's header on a 64-bit machine.
const _: () = {
    assert!(size_of::<CUDA_ARRAY_DESCRIPTOR>() == 24);
    assert!(size_of::<CUDA_ARRAY3D_DESCRIPTOR>() == 40);
    assert!(size_of::<CUDA_ARRAY_SPARSE_PROPERTIES>() == 48);
    assert!(size_of::<CUDA_ARRAY_MEMORY_REQUIREMENTS>() == 32);
    assert!(size_of::<CUDA_RESOURCE_DESC>() == 144);
    assert!(size_of::<CUDA_RESOURCE_LINEAR>() == 24);
    assert!(size_of::<CUDA_RESOURCE_PITCH2D>() == 40);
    assert!(size_of::<CUDA_TEXTURE_DESC>() == 104);
    assert!(size_of::<CUDA_RESOURCE_VIEW_DESC>() == 112);
};
