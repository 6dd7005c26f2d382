//! Surface references, which are deprecated.
//!
//! Driver API: [surface references](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__SURFREF__DEPRECATED.html).

use super::object::array_of;
use crate::driver::Call;
use crate::objects::texture::of_array;
use crate::parameters::Out;
use cuarray_abi::*;
use std::ffi::c_uint;

const INVALID_VALUE: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

/// The array needs `CUDA_ARRAY3D_SURFACE_LDST`.
pub(crate) fn cuSurfRefSetArray(
    call: &Call<'_>,
    surf_ref: CUsurfref,
    array: CUarray,
    flags: c_uint,
) -> Result<(), CUresult> {
    let (mut state, _) = call.current()?;
    let known = array_of(&mut state, &of_array(array))?;
    if flags != 0 || known.is_none_or(|(known, _)| known.Flags & CUDA_ARRAY3D_SURFACE_LDST == 0) {
        return Err(INVALID_VALUE);
    }
    state.textures.surface_references.get_mut(&surf_ref).ok_or(INVALID_VALUE)?.array = Some(array);
    Ok(())
}

pub(crate) fn cuSurfRefGetArray(
    call: &Call<'_>,
    ph_array: Out<'_, CUarray>,
    surf_ref: CUsurfref,
) -> Result<(), CUresult> {
    let (state, _) = call.current()?;
    let array = state.textures.surface_references.get(&surf_ref).and_then(|reference| reference.array);
    ph_array.put(array.ok_or(INVALID_VALUE)?)
}
