//! Texture and surface references of modules, which are deprecated.
//!
//! Driver API: [module management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MODULE__DEPRECATED.html). A reference is
//! an opaque variable of the module (`.texref`, `.surfref`).

use crate::driver::Call;
use crate::objects::texture::{SurfaceReference, TextureReference};
use crate::parameters::{Out, Text};
use crate::texture::work::variable;
use cuarray_abi::*;
use cuarray_ptx::Opaque;

pub(crate) fn cuModuleGetTexRef(
    call: &Call<'_>,
    p_tex_ref: Out<'_, CUtexref>,
    hmod: CUmodule,
    name: Text<'_>,
) -> Result<(), CUresult> {
    p_tex_ref.present()?;
    let name = name.name()?;
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
    p_tex_ref.put(handle)
}

pub(crate) fn cuModuleGetSurfRef(
    call: &Call<'_>,
    p_surf_ref: Out<'_, CUsurfref>,
    hmod: CUmodule,
    name: Text<'_>,
) -> Result<(), CUresult> {
    p_surf_ref.present()?;
    let name = name.name()?;
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
    p_surf_ref.put(handle)
}
