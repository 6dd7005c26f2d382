//! Queries of texture references.

use super::{INVALID_VALUE, get};
use crate::driver::Call;
use crate::parameters::Out;
use cuarray_abi::*;
use std::ffi::{c_int, c_uint};

/// The handle of an array that is bound, of one resource type.
fn bound(call: &Call<'_>, tex_ref: CUtexref, kind: CUresourcetype) -> Result<u64, CUresult> {
    get(call, tex_ref, |reference| reference.bound.filter(|bound| bound.resType == kind).map(|bound| bound.res[0]))
}

pub(crate) fn cuTexRefGetAddress_v2(
    call: &Call<'_>,
    pdptr: Out<'_, CUdeviceptr>,
    tex_ref: CUtexref,
) -> Result<(), CUresult> {
    let address =
        bound(call, tex_ref, CU_RESOURCE_TYPE_LINEAR).or_else(|_| bound(call, tex_ref, CU_RESOURCE_TYPE_PITCH2D))?;
    pdptr.put(address)
}

pub(crate) fn cuTexRefGetArray(call: &Call<'_>, ph_array: Out<'_, CUarray>, tex_ref: CUtexref) -> Result<(), CUresult> {
    let array = bound(call, tex_ref, CU_RESOURCE_TYPE_ARRAY)?;
    ph_array.put(CUarray(array as usize))
}

pub(crate) fn cuTexRefGetMipmappedArray(
    call: &Call<'_>,
    ph_mipmapped_array: Out<'_, CUmipmappedArray>,
    tex_ref: CUtexref,
) -> Result<(), CUresult> {
    let array = bound(call, tex_ref, CU_RESOURCE_TYPE_MIPMAPPED_ARRAY)?;
    ph_mipmapped_array.put(CUmipmappedArray(array as usize))
}

pub(crate) fn cuTexRefGetAddressMode(
    call: &Call<'_>,
    pam: Out<'_, CUaddress_mode>,
    tex_ref: CUtexref,
    dim: c_int,
) -> Result<(), CUresult> {
    let dimension = usize::try_from(dim).map_err(|_| INVALID_VALUE)?;
    let mode = get(call, tex_ref, |reference| reference.texture.addressMode.get(dimension).copied())?;
    pam.put(mode)
}

pub(crate) fn cuTexRefGetFilterMode(
    call: &Call<'_>,
    pfm: Out<'_, CUfilter_mode>,
    tex_ref: CUtexref,
) -> Result<(), CUresult> {
    let mode = get(call, tex_ref, |reference| Some(reference.texture.filterMode))?;
    pfm.put(mode)
}

pub(crate) fn cuTexRefGetFormat(
    call: &Call<'_>,
    p_format: Out<'_, CUarray_format>,
    p_num_channels: Out<'_, c_int>,
    tex_ref: CUtexref,
) -> Result<(), CUresult> {
    let (format, channels) = get(call, tex_ref, |reference| Some(reference.format))?;
    p_format.put_if_present(format);
    p_num_channels.put_if_present(channels as c_int);
    Ok(())
}

pub(crate) fn cuTexRefGetMipmapFilterMode(
    call: &Call<'_>,
    pfm: Out<'_, CUfilter_mode>,
    tex_ref: CUtexref,
) -> Result<(), CUresult> {
    let mode = get(call, tex_ref, |reference| Some(reference.texture.mipmapFilterMode))?;
    pfm.put(mode)
}

pub(crate) fn cuTexRefGetMipmapLevelBias(
    call: &Call<'_>,
    pbias: Out<'_, f32>,
    tex_ref: CUtexref,
) -> Result<(), CUresult> {
    let bias = get(call, tex_ref, |reference| Some(reference.texture.mipmapLevelBias))?;
    pbias.put(bias)
}

pub(crate) fn cuTexRefGetMipmapLevelClamp(
    call: &Call<'_>,
    pmin_mipmap_level_clamp: Out<'_, f32>,
    pmax_mipmap_level_clamp: Out<'_, f32>,
    tex_ref: CUtexref,
) -> Result<(), CUresult> {
    let texture = get(call, tex_ref, |reference| Some(reference.texture))?;
    pmin_mipmap_level_clamp.put(texture.minMipmapLevelClamp)?;
    pmax_mipmap_level_clamp.put(texture.maxMipmapLevelClamp)
}

pub(crate) fn cuTexRefGetMaxAnisotropy(
    call: &Call<'_>,
    pmax_aniso: Out<'_, c_int>,
    tex_ref: CUtexref,
) -> Result<(), CUresult> {
    let ratio = get(call, tex_ref, |reference| c_int::try_from(reference.texture.maxAnisotropy).ok())?;
    pmax_aniso.put(ratio)
}

pub(crate) fn cuTexRefGetBorderColor(
    call: &Call<'_>,
    p_border_color: Out<'_, f32>,
    tex_ref: CUtexref,
) -> Result<(), CUresult> {
    let color = get(call, tex_ref, |reference| Some(reference.texture.borderColor))?;
    // SAFETY: by the manual, the list has four numbers.
    unsafe { p_border_color.cast::<[f32; 4]>() }.put(color)
}

pub(crate) fn cuTexRefGetFlags(call: &Call<'_>, p_flags: Out<'_, c_uint>, tex_ref: CUtexref) -> Result<(), CUresult> {
    let flags = get(call, tex_ref, |reference| Some(reference.texture.flags))?;
    p_flags.put(flags)
}
