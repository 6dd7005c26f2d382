//! Texture references, which are deprecated.
//!
//! Driver API: [texture references](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__TEXREF__DEPRECATED.html). The reference of a
//! module is a texture of the module's kernels. A reference that the program creates is bound to nothing that a kernel reads.

mod queries;

use crate::config::textures::limit;
use crate::driver::Call;
use crate::happens_before::handles;
use crate::objects::array::texel_size;
use crate::objects::texture::{TextureReference, linear, of_array, of_linear, of_mipmapped, of_rows};
use crate::parameters::{In, Out};
use crate::state::State;
use crate::texture::exports::object::{array_of, check_linear};
use cuarray_abi::*;
pub(crate) use queries::{
    cuTexRefGetAddress_v2, cuTexRefGetAddressMode, cuTexRefGetArray, cuTexRefGetBorderColor, cuTexRefGetFilterMode,
    cuTexRefGetFlags, cuTexRefGetFormat, cuTexRefGetMaxAnisotropy, cuTexRefGetMipmapFilterMode,
    cuTexRefGetMipmapLevelBias, cuTexRefGetMipmapLevelClamp, cuTexRefGetMipmappedArray,
};
use std::ffi::{c_int, c_uint};

const INVALID_VALUE: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

/// The attribute of the alignment of linear memory.
const ALIGNMENT: c_uint = 14;
const FLAGS: c_uint =
    CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES | CU_TRSF_SRGB | CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION;

/// Changes a reference.
fn change(
    call: &Call<'_>,
    handle: CUtexref,
    change: impl FnOnce(&mut State, CUtexref) -> Result<(), CUresult>,
) -> Result<(), CUresult> {
    let (mut state, _) = call.current()?;
    if !state.textures.references.contains_key(&handle) {
        return Err(INVALID_VALUE);
    }
    change(&mut state, handle)
}

/// Sets a property of the way to read a reference.
fn set(call: &Call<'_>, handle: CUtexref, set: impl FnOnce(&mut TextureReference)) -> Result<(), CUresult> {
    let (mut state, _) = call.current()?;
    set(state.textures.references.get_mut(&handle).ok_or(INVALID_VALUE)?);
    Ok(())
}

/// Reads a property of a reference.
fn get<T>(
    call: &Call<'_>,
    handle: CUtexref,
    property: impl FnOnce(&TextureReference) -> Option<T>,
) -> Result<T, CUresult> {
    let (state, _) = call.current()?;
    state.textures.references.get(&handle).and_then(property).ok_or(INVALID_VALUE)
}

/// Binds a resource that has been checked.
fn bind(state: &mut State, handle: CUtexref, resource: CUDA_RESOURCE_DESC, format: Option<(CUarray_format, u32)>) {
    if let Some(reference) = state.textures.references.get_mut(&handle) {
        reference.bound = Some(resource);
        reference.format = format.unwrap_or(reference.format);
    }
}

pub(crate) fn cuTexRefCreate(call: &Call<'_>, p_tex_ref: Out<'_, CUtexref>) -> Result<(), CUresult> {
    p_tex_ref.present()?;
    let (mut state, context) = call.current()?;
    let handle = CUtexref(crate::handle::fresh());
    state.textures.references.insert(handle, TextureReference::new(context, None));
    handles::created(&mut state, "texture reference", handle.0 as u64);
    p_tex_ref.put(handle)
}

/// The reference of a module ends with the module.
pub(crate) fn cuTexRefDestroy(call: &Call<'_>, tex_ref: CUtexref) -> Result<(), CUresult> {
    let (mut state, _) = call.current()?;
    if state.textures.references.get(&tex_ref).is_none_or(|reference| reference.variable.is_some()) {
        handles::refused_handle(&mut state, tex_ref.0 as u64);
        return Err(INVALID_VALUE);
    }
    state.textures.references.remove(&tex_ref);
    handles::destroyed(&mut state, "texture reference", tex_ref.0 as u64);
    Ok(())
}

/// Binds an array of either kind.
fn set_array(call: &Call<'_>, tex_ref: CUtexref, resource: CUDA_RESOURCE_DESC, flags: c_uint) -> Result<(), CUresult> {
    change(call, tex_ref, |state, handle| {
        let array = array_of(state, &resource)?;
        let (array, _) = array.filter(|_| flags == CU_TRSA_OVERRIDE_FORMAT).ok_or(INVALID_VALUE)?;
        bind(state, handle, resource, Some((array.Format, array.NumChannels)));
        Ok(())
    })
}

pub(crate) fn cuTexRefSetArray(
    call: &Call<'_>,
    tex_ref: CUtexref,
    array: CUarray,
    flags: c_uint,
) -> Result<(), CUresult> {
    set_array(call, tex_ref, of_array(array), flags)
}

pub(crate) fn cuTexRefSetMipmappedArray(
    call: &Call<'_>,
    tex_ref: CUtexref,
    mipmapped_array: CUmipmappedArray,
    flags: c_uint,
) -> Result<(), CUresult> {
    set_array(call, tex_ref, of_mipmapped(mipmapped_array), flags)
}

/// Binds the memory from the aligned address before `dptr` on, whose distance is the byte offset.
pub(crate) fn cuTexRefSetAddress_v2(
    call: &Call<'_>,
    byte_offset: Out<'_, usize>,
    tex_ref: CUtexref,
    dptr: CUdeviceptr,
    bytes: usize,
) -> Result<(), CUresult> {
    let alignment = limit(ALIGNMENT).map_or(1, |alignment| alignment as u64);
    let offset = dptr % alignment;
    if offset != 0 && byte_offset.is_null() {
        return Err(INVALID_VALUE);
    }
    change(call, tex_ref, |state, handle| {
        let (format, channels) = state.textures.references.get(&handle).ok_or(INVALID_VALUE)?.format;
        let resource = of_linear(CUDA_RESOURCE_LINEAR {
            devPtr: dptr - offset,
            format,
            numChannels: channels,
            sizeInBytes: bytes.checked_add(offset as usize).filter(|_| bytes > 0).ok_or(INVALID_VALUE)?,
        });
        check_linear(state, &resource)?;
        bind(state, handle, resource, None);
        Ok(())
    })?;
    byte_offset.put_if_present(offset as usize);
    Ok(())
}

pub(crate) fn cuTexRefSetAddress2D_v3(
    call: &Call<'_>,
    tex_ref: CUtexref,
    desc: In<'_, CUDA_ARRAY_DESCRIPTOR>,
    dptr: CUdeviceptr,
    pitch: usize,
) -> Result<(), CUresult> {
    let CUDA_ARRAY_DESCRIPTOR { Width, Height, Format, NumChannels } = desc.read()?;
    let resource = of_rows(CUDA_RESOURCE_PITCH2D {
        devPtr: dptr,
        format: Format,
        numChannels: NumChannels,
        width: Width,
        height: Height,
        pitchInBytes: pitch,
    });
    change(call, tex_ref, |state, handle| {
        check_linear(state, &resource)?;
        bind(state, handle, resource, Some((Format, NumChannels)));
        Ok(())
    })
}

// An older symbol with the same signature.
pub(crate) use self::cuTexRefSetAddress2D_v3 as cuTexRefSetAddress2D_v2;

/// Also changes the format of linear memory that is bound already.
pub(crate) fn cuTexRefSetFormat(
    call: &Call<'_>,
    tex_ref: CUtexref,
    fmt: CUarray_format,
    num_packed_components: c_int,
) -> Result<(), CUresult> {
    let channels = c_uint::try_from(num_packed_components).map_err(|_| INVALID_VALUE)?;
    texel_size(fmt, channels)?;
    change(call, tex_ref, |state, handle| {
        let reference = state.textures.references.get_mut(&handle).ok_or(INVALID_VALUE)?;
        reference.format = (fmt, channels);
        if let Some(bound) = reference.bound.as_mut().filter(|bound| bound.resType == CU_RESOURCE_TYPE_LINEAR) {
            *bound = of_linear(CUDA_RESOURCE_LINEAR { format: fmt, numChannels: channels, ..linear(bound) });
        }
        Ok(())
    })
}

pub(crate) fn cuTexRefSetAddressMode(
    call: &Call<'_>,
    tex_ref: CUtexref,
    dim: c_int,
    am: CUaddress_mode,
) -> Result<(), CUresult> {
    let dimension = usize::try_from(dim).ok().filter(|dim| *dim < 3 && am <= CU_TR_ADDRESS_MODE_BORDER);
    let dimension = dimension.ok_or(INVALID_VALUE)?;
    set(call, tex_ref, |reference| reference.texture.addressMode[dimension] = am)
}

/// Checks a filter mode.
fn filter(mode: CUfilter_mode) -> Result<CUfilter_mode, CUresult> {
    if mode <= CU_TR_FILTER_MODE_LINEAR { Ok(mode) } else { Err(INVALID_VALUE) }
}

pub(crate) fn cuTexRefSetFilterMode(call: &Call<'_>, tex_ref: CUtexref, fm: CUfilter_mode) -> Result<(), CUresult> {
    let mode = filter(fm)?;
    set(call, tex_ref, |reference| reference.texture.filterMode = mode)
}

pub(crate) fn cuTexRefSetMipmapFilterMode(
    call: &Call<'_>,
    tex_ref: CUtexref,
    fm: CUfilter_mode,
) -> Result<(), CUresult> {
    let mode = filter(fm)?;
    set(call, tex_ref, |reference| reference.texture.mipmapFilterMode = mode)
}

pub(crate) fn cuTexRefSetMipmapLevelBias(call: &Call<'_>, tex_ref: CUtexref, bias: f32) -> Result<(), CUresult> {
    set(call, tex_ref, |reference| reference.texture.mipmapLevelBias = bias)
}

pub(crate) fn cuTexRefSetMipmapLevelClamp(
    call: &Call<'_>,
    tex_ref: CUtexref,
    min_mipmap_level_clamp: f32,
    max_mipmap_level_clamp: f32,
) -> Result<(), CUresult> {
    set(call, tex_ref, |reference| {
        reference.texture.minMipmapLevelClamp = min_mipmap_level_clamp;
        reference.texture.maxMipmapLevelClamp = max_mipmap_level_clamp;
    })
}

pub(crate) fn cuTexRefSetMaxAnisotropy(call: &Call<'_>, tex_ref: CUtexref, max_aniso: c_uint) -> Result<(), CUresult> {
    set(call, tex_ref, |reference| reference.texture.maxAnisotropy = max_aniso)
}

/// Needs a dimension with the address mode of a border.
pub(crate) fn cuTexRefSetBorderColor(
    call: &Call<'_>,
    tex_ref: CUtexref,
    p_border_color: In<'_, f32>,
) -> Result<(), CUresult> {
    // SAFETY: by the manual, the list has four numbers.
    let color = unsafe { p_border_color.cast::<[f32; 4]>() }.read()?;
    if !get(call, tex_ref, |reference| Some(reference.texture.addressMode))?.contains(&CU_TR_ADDRESS_MODE_BORDER) {
        return Err(INVALID_VALUE);
    }
    set(call, tex_ref, |reference| reference.texture.borderColor = color)
}

pub(crate) fn cuTexRefSetFlags(call: &Call<'_>, tex_ref: CUtexref, flags: c_uint) -> Result<(), CUresult> {
    if flags & !FLAGS != 0 {
        return Err(INVALID_VALUE);
    }
    set(call, tex_ref, |reference| reference.texture.flags = flags)
}
