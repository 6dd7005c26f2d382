//! Texture and surface objects and references: creation, queries and destruction.

mod kernels;
mod objects;
mod references;

use crate::program::*;

const FLOAT: CUarray_format = CU_AD_FORMAT_FLOAT;

/// An array of floats.
fn array(program: &Program, [width, height, depth]: [usize; 3], flags: u32) -> CUarray {
    let descriptor = CUDA_ARRAY3D_DESCRIPTOR {
        Width: width,
        Height: height,
        Depth: depth,
        Format: FLOAT,
        NumChannels: 1,
        Flags: flags,
    };
    let mut array = CUarray(0);
    ok!(program, cuArray3DCreate_v2(&mut array, &descriptor));
    array
}

/// A mipmapped array of floats with four levels.
fn mipmapped(program: &Program) -> CUmipmappedArray {
    let descriptor = CUDA_ARRAY3D_DESCRIPTOR { Width: 8, Height: 8, Depth: 0, Format: FLOAT, NumChannels: 1, Flags: 0 };
    let mut mipmapped = CUmipmappedArray(0);
    ok!(program, cuMipmappedArrayCreate(&mut mipmapped, &descriptor, 4));
    mipmapped
}

/// The resource of an object with a handle.
fn resource(kind: CUresourcetype, handle: usize) -> CUDA_RESOURCE_DESC {
    let mut resource = CUDA_RESOURCE_DESC { resType: kind, ..CUDA_RESOURCE_DESC::default() };
    resource.res[0] = handle as u64;
    resource
}

/// A resource of linear memory.
fn linear(address: u64, format: CUarray_format, channels: u32, size: usize) -> CUDA_RESOURCE_DESC {
    let mut resource = resource(CU_RESOURCE_TYPE_LINEAR, address as usize);
    resource.res[1] = u64::from(format) | u64::from(channels) << 32;
    resource.res[2] = size as u64;
    resource
}

/// A resource of rows of floats.
fn rows(address: u64, width: usize, height: usize, pitch: usize) -> CUDA_RESOURCE_DESC {
    let mut resource = resource(CU_RESOURCE_TYPE_PITCH2D, address as usize);
    resource.res[1] = u64::from(FLOAT) | 1 << 32;
    resource.res[2..5].copy_from_slice(&[width as u64, height as u64, pitch as u64]);
    resource
}

fn clamped() -> CUDA_TEXTURE_DESC {
    CUDA_TEXTURE_DESC { addressMode: [CU_TR_ADDRESS_MODE_CLAMP; 3], ..CUDA_TEXTURE_DESC::default() }
}

fn normalized() -> CUDA_TEXTURE_DESC {
    CUDA_TEXTURE_DESC { flags: CU_TRSF_NORMALIZED_COORDINATES, ..clamped() }
}

/// The name of the error of creating a texture object; `None` if it was created.
fn refusal(
    program: &Program,
    resource: CUDA_RESOURCE_DESC,
    texture: CUDA_TEXTURE_DESC,
    view: Option<CUDA_RESOURCE_VIEW_DESC>,
) -> Option<&'static str> {
    let mut object = 0;
    let view = view.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    let result = call!(program, cuTexObjectCreate(&mut object, &resource, &texture, view));
    if result.is_success() {
        ok!(program, cuTexObjectDestroy(object));
        return None;
    }
    result.name()
}

const INVALID: Option<&str> = Some("CUDA_ERROR_INVALID_VALUE");
