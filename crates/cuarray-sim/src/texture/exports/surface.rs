//! Surface objects.
//!
//! Driver API: [surface objects](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__SURFOBJECT.html).

use super::object::array_of;
use crate::driver::Call;
use crate::happens_before::calls;
use crate::objects::texture::SurfaceObject;
use crate::parameters::{present, put};
use cuarray_abi::*;

const INVALID_VALUE: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

/// The array needs `CUDA_ARRAY3D_SURFACE_LDST`.
pub(crate) unsafe fn cuSurfObjectCreate(
    call: &Call<'_>,
    p_surf_object: *mut CUsurfObject,
    p_res_desc: *const CUDA_RESOURCE_DESC,
) -> Result<(), CUresult> {
    present(p_surf_object)?;
    present(p_res_desc)?;
    let (mut state, context) = call.current()?;
    // SAFETY: the caller's descriptor, by the driver's contract; it may be unaligned.
    let resource = unsafe { p_res_desc.read_unaligned() };
    if resource.flags != 0 || resource.resType != CU_RESOURCE_TYPE_ARRAY {
        return Err(INVALID_VALUE);
    }
    let array = array_of(&mut state, &resource)?;
    if array.is_none_or(|(array, _)| array.Flags & CUDA_ARRAY3D_SURFACE_LDST == 0) {
        return Err(INVALID_VALUE);
    }
    let handle = crate::handle::fresh() as CUsurfObject;
    state.textures.surfaces.insert(handle, SurfaceObject { context, resource });
    calls::created(&mut state, "surface object", handle);
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(p_surf_object, handle) }
}

/// Waits for nothing: a launch that runs later does not find the object.
pub(crate) unsafe fn cuSurfObjectDestroy(call: &Call<'_>, surf_object: CUsurfObject) -> Result<(), CUresult> {
    let (mut state, _) = call.current()?;
    if state.textures.surfaces.remove(&surf_object).is_none() {
        calls::refused_handle(&mut state, surf_object);
        return Err(INVALID_VALUE);
    }
    calls::destroyed(&mut state, "surface object", surf_object);
    Ok(())
}

pub(crate) unsafe fn cuSurfObjectGetResourceDesc(
    call: &Call<'_>,
    p_res_desc: *mut CUDA_RESOURCE_DESC,
    surf_object: CUsurfObject,
) -> Result<(), CUresult> {
    let (mut state, _) = call.current()?;
    let Some(resource) = state.textures.surfaces.get(&surf_object).map(|object| object.resource) else {
        calls::refused_handle(&mut state, surf_object);
        return Err(INVALID_VALUE);
    };
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(p_res_desc, resource) }
}
