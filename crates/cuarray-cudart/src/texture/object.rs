//! Creation, destruction and queries of texture and surface objects, in the layouts of both majors.

use super::descriptors::{
    texture_to_driver, texture_to_runtime, to_driver, to_runtime, view_to_driver, view_to_runtime,
};
use crate::call::{present, put};
use crate::driver::cu;
use crate::result::Result;
use crate::types::*;
use cuarray_abi::{Api, CUDA_RESOURCE_DESC, CUDA_RESOURCE_VIEW_DESC, CUDA_TEXTURE_DESC};

/// Reads a resource of CUDA 13.
unsafe fn resource_of_13(desc: *const cudaResourceDesc_of_13) -> Result<CUDA_RESOURCE_DESC> {
    present(desc)?;
    // SAFETY: by the contract of this function.
    let desc = unsafe { desc.read_unaligned() };
    let [a, b, c, d, e, f, g, ..] = desc.res;
    to_driver(desc.resType, &[a, b, c, d, e, f, g], desc.flags)
}

/// Reads a resource of CUDA 12.
unsafe fn resource_of_12(desc: *const cudaResourceDesc_of_12) -> Result<CUDA_RESOURCE_DESC> {
    present(desc)?;
    // SAFETY: by the contract of this function.
    let desc = unsafe { desc.read_unaligned() };
    to_driver(desc.resType, &desc.res, 0)
}

fn resource_for_13(resource: &CUDA_RESOURCE_DESC) -> cudaResourceDesc_of_13 {
    let mut res = [0; 16];
    res[..7].copy_from_slice(&to_runtime(resource));
    cudaResourceDesc_of_13 { resType: resource.resType, res, flags: resource.flags }
}

fn resource_for_12(resource: &CUDA_RESOURCE_DESC) -> cudaResourceDesc_of_12 {
    cudaResourceDesc_of_12 { resType: resource.resType, res: to_runtime(resource) }
}

unsafe fn create(
    api: &Api,
    p_tex_object: *mut cudaTextureObject_t,
    resource: &CUDA_RESOURCE_DESC,
    p_tex_desc: *const cudaTextureDesc,
    view: *const CUDA_RESOURCE_VIEW_DESC,
) -> Result {
    present(p_tex_object)?;
    present(p_tex_desc)?;
    // SAFETY: by the contract of this function.
    let texture = texture_to_driver(&unsafe { p_tex_desc.read_unaligned() })?;
    cu!(api.cuTexObjectCreate(p_tex_object, resource, &raw const texture, view))
}

pub(crate) unsafe fn cudaCreateTextureObject(
    api: &Api,
    p_tex_object: *mut cudaTextureObject_t,
    p_res_desc: *const cudaResourceDesc_of_13,
    p_tex_desc: *const cudaTextureDesc,
    p_res_view_desc: *const cudaResourceViewDesc_of_13,
) -> Result {
    // SAFETY: by the contract of this function; the view has the driver's layout.
    unsafe { create(api, p_tex_object, &resource_of_13(p_res_desc)?, p_tex_desc, p_res_view_desc) }
}

pub(crate) unsafe fn cudaCreateTextureObject_v1(
    api: &Api,
    p_tex_object: *mut cudaTextureObject_t,
    p_res_desc: *const cudaResourceDesc_of_12,
    p_tex_desc: *const cudaTextureDesc,
    p_res_view_desc: *const cudaResourceViewDesc_of_12,
) -> Result {
    // SAFETY: by the contract of this function; a null view means none.
    let view = (!p_res_view_desc.is_null()).then(|| view_to_driver(&unsafe { p_res_view_desc.read_unaligned() }));
    let view = view.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: by the contract of this function.
    unsafe { create(api, p_tex_object, &resource_of_12(p_res_desc)?, p_tex_desc, view) }
}

pub(crate) unsafe fn cudaDestroyTextureObject(api: &Api, tex_object: cudaTextureObject_t) -> Result {
    cu!(api.cuTexObjectDestroy(tex_object))
}

/// The driver's descriptor of a texture object's resource.
fn resource_of(api: &Api, tex_object: cudaTextureObject_t) -> Result<CUDA_RESOURCE_DESC> {
    let mut resource = CUDA_RESOURCE_DESC::default();
    cu!(api.cuTexObjectGetResourceDesc(&raw mut resource, tex_object))?;
    Ok(resource)
}

pub(crate) unsafe fn cudaGetTextureObjectResourceDesc(
    api: &Api,
    p_res_desc: *mut cudaResourceDesc_of_13,
    tex_object: cudaTextureObject_t,
) -> Result {
    // SAFETY: by the contract of this function.
    unsafe { put(p_res_desc, resource_for_13(&resource_of(api, tex_object)?)) }
}

pub(crate) unsafe fn cudaGetTextureObjectResourceDesc_v1(
    api: &Api,
    p_res_desc: *mut cudaResourceDesc_of_12,
    tex_object: cudaTextureObject_t,
) -> Result {
    // SAFETY: by the contract of this function.
    unsafe { put(p_res_desc, resource_for_12(&resource_of(api, tex_object)?)) }
}

pub(crate) unsafe fn cudaGetTextureObjectTextureDesc(
    api: &Api,
    p_tex_desc: *mut cudaTextureDesc,
    tex_object: cudaTextureObject_t,
) -> Result {
    let mut texture = CUDA_TEXTURE_DESC::default();
    cu!(api.cuTexObjectGetTextureDesc(&raw mut texture, tex_object))?;
    // SAFETY: by the contract of this function.
    unsafe { put(p_tex_desc, texture_to_runtime(&texture)) }
}

pub(crate) unsafe fn cudaGetTextureObjectResourceViewDesc(
    api: &Api,
    p_res_view_desc: *mut cudaResourceViewDesc_of_13,
    tex_object: cudaTextureObject_t,
) -> Result {
    cu!(api.cuTexObjectGetResourceViewDesc(p_res_view_desc, tex_object))
}

pub(crate) unsafe fn cudaGetTextureObjectResourceViewDesc_v1(
    api: &Api,
    p_res_view_desc: *mut cudaResourceViewDesc_of_12,
    tex_object: cudaTextureObject_t,
) -> Result {
    let mut view = CUDA_RESOURCE_VIEW_DESC::default();
    cu!(api.cuTexObjectGetResourceViewDesc(&raw mut view, tex_object))?;
    // SAFETY: by the contract of this function.
    unsafe { put(p_res_view_desc, view_to_runtime(&view)) }
}

pub(crate) unsafe fn cudaCreateSurfaceObject(
    api: &Api,
    p_surf_object: *mut cudaSurfaceObject_t,
    p_res_desc: *const cudaResourceDesc_of_13,
) -> Result {
    // SAFETY: by the contract of this function.
    let resource = unsafe { resource_of_13(p_res_desc)? };
    cu!(api.cuSurfObjectCreate(p_surf_object, &raw const resource))
}

pub(crate) unsafe fn cudaCreateSurfaceObject_v1(
    api: &Api,
    p_surf_object: *mut cudaSurfaceObject_t,
    p_res_desc: *const cudaResourceDesc_of_12,
) -> Result {
    // SAFETY: by the contract of this function.
    let resource = unsafe { resource_of_12(p_res_desc)? };
    cu!(api.cuSurfObjectCreate(p_surf_object, &raw const resource))
}

pub(crate) unsafe fn cudaDestroySurfaceObject(api: &Api, surf_object: cudaSurfaceObject_t) -> Result {
    cu!(api.cuSurfObjectDestroy(surf_object))
}

/// The driver's descriptor of a surface object's resource.
fn resource_of_surface(api: &Api, surf_object: cudaSurfaceObject_t) -> Result<CUDA_RESOURCE_DESC> {
    let mut resource = CUDA_RESOURCE_DESC::default();
    cu!(api.cuSurfObjectGetResourceDesc(&raw mut resource, surf_object))?;
    Ok(resource)
}

pub(crate) unsafe fn cudaGetSurfaceObjectResourceDesc(
    api: &Api,
    p_res_desc: *mut cudaResourceDesc_of_13,
    surf_object: cudaSurfaceObject_t,
) -> Result {
    // SAFETY: by the contract of this function.
    unsafe { put(p_res_desc, resource_for_13(&resource_of_surface(api, surf_object)?)) }
}

pub(crate) unsafe fn cudaGetSurfaceObjectResourceDesc_v1(
    api: &Api,
    p_res_desc: *mut cudaResourceDesc_of_12,
    surf_object: cudaSurfaceObject_t,
) -> Result {
    // SAFETY: by the contract of this function.
    unsafe { put(p_res_desc, resource_for_12(&resource_of_surface(api, surf_object)?)) }
}
