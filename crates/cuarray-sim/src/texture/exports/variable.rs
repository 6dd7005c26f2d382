//! Texture and surface references of modules, which are deprecated.
//!
//! Driver API: [module management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MODULE__DEPRECATED.html). A reference is
//! an opaque variable of the module (`.texref`, `.surfref`).

use crate::driver::Call;
use crate::objects::texture::{SurfaceReference, TextureReference};
use crate::parameters;
use crate::parameters::{present, put};
use crate::texture::work::variable;
use cuarray_abi::*;
use cuarray_ptx::Opaque;
use std::ffi::c_char;

pub(crate) unsafe fn cuModuleGetTexRef(
    call: &Call<'_>,
    p_tex_ref: *mut CUtexref,
    hmod: CUmodule,
    name: *const c_char,
) -> Result<(), CUresult> {
    present(p_tex_ref)?;
    // SAFETY: the caller's string, by the driver's contract.
    let name = unsafe { parameters::name(name)? };
    let (mut state, context) = call.current()?;
    let address = variable(&state, hmod, &name, |opaque| *opaque == Opaque::Texture)?;
    let place = Some((hmod, address));
    let known = state.textures.references.iter().find(|(_, reference)| reference.variable == place);
    let handle = match known.map(|(handle, _)| *handle) {
        Some(handle) => handle,
        None => {
            let handle = CUtexref(crate::handle::fresh());
            state.textures.references.insert(handle, TextureReference::new(context, place));
            handle
        }
    };
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(p_tex_ref, handle) }
}

pub(crate) unsafe fn cuModuleGetSurfRef(
    call: &Call<'_>,
    p_surf_ref: *mut CUsurfref,
    hmod: CUmodule,
    name: *const c_char,
) -> Result<(), CUresult> {
    present(p_surf_ref)?;
    // SAFETY: the caller's string, by the driver's contract.
    let name = unsafe { parameters::name(name)? };
    let (mut state, _) = call.current()?;
    let address = variable(&state, hmod, &name, |opaque| *opaque == Opaque::Surface)?;
    let references = &mut state.textures.surface_references;
    let known = references.iter().find(|(_, reference)| reference.module == hmod && reference.address == address);
    let handle = match known.map(|(handle, _)| *handle) {
        Some(handle) => handle,
        None => {
            let handle = CUsurfref(crate::handle::fresh());
            references.insert(handle, SurfaceReference { module: hmod, address, array: None });
            handle
        }
    };
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(p_surf_ref, handle) }
}
