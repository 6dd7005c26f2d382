//! Surface objects.
//!
//! Driver API: [surface objects](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__SURFOBJECT.html).

use super::object::array_of;
use crate::driver::Call;
use crate::happens_before::handles;
use crate::objects::texture::SurfaceObject;
use crate::parameters::{In, Out};
use cuarray_abi::*;

const INVALID_VALUE: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

/// The array needs `CUDA_ARRAY3D_SURFACE_LDST`.
pub(crate) fn cuSurfObjectCreate(
    call: &Call<'_>,
    p_surf_object: Out<'_, CUsurfObject>,
    p_res_desc: In<'_, CUDA_RESOURCE_DESC>,
) -> Result<(), CUresult> {
    p_surf_object.present()?;
    p_res_desc.present()?;
    let (mut state, context) = call.current()?;
    let resource = p_res_desc.read()?;
    if resource.flags != 0 || resource.resType != CU_RESOURCE_TYPE_ARRAY {
        return Err(INVALID_VALUE);
    }
    let array = array_of(&mut state, &resource)?;
    if array.is_none_or(|(array, _)| array.Flags & CUDA_ARRAY3D_SURFACE_LDST == 0) {
        return Err(INVALID_VALUE);
    }
    let handle = crate::handle::fresh() as CUsurfObject;
    state.textures.surfaces.insert(handle, SurfaceObject { context, resource });
    handles::created(&mut state, "surface object", handle);
    p_surf_object.put(handle)
}

/// Waits for nothing: a launch that runs later does not find the object.
pub(crate) fn cuSurfObjectDestroy(call: &Call<'_>, surf_object: CUsurfObject) -> Result<(), CUresult> {
    let (mut state, _) = call.current()?;
    if state.textures.surfaces.remove(&surf_object).is_none() {
        handles::refused_handle(&mut state, surf_object);
        return Err(INVALID_VALUE);
    }
    handles::destroyed(&mut state, "surface object", surf_object);
    Ok(())
}

pub(crate) fn cuSurfObjectGetResourceDesc(
    call: &Call<'_>,
    p_res_desc: Out<'_, CUDA_RESOURCE_DESC>,
    surf_object: CUsurfObject,
) -> Result<(), CUresult> {
    let (mut state, _) = call.current()?;
    let Some(resource) = state.textures.surfaces.get(&surf_object).map(|object| object.resource) else {
        handles::refused_handle(&mut state, surf_object);
        return Err(INVALID_VALUE);
    };
    p_res_desc.put(resource)
}
