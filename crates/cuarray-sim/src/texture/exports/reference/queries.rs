//! Queries of texture references.

use super::{INVALID_VALUE, get};
use crate::driver::Call;
use crate::parameters::put;
use cuarray_abi::*;
use std::ffi::{c_int, c_uint};

/// The handle of an array that is bound, of one resource type.
fn bound(call: &Call<'_>, tex_ref: CUtexref, kind: CUresourcetype) -> Result<u64, CUresult> {
    get(call, tex_ref, |reference| reference.bound.filter(|bound| bound.resType == kind).map(|bound| bound.res[0]))
}

pub(crate) unsafe fn cuTexRefGetAddress_v2(
    call: &Call<'_>,
    pdptr: *mut CUdeviceptr,
    tex_ref: CUtexref,
) -> Result<(), CUresult> {
    let address =
        bound(call, tex_ref, CU_RESOURCE_TYPE_LINEAR).or_else(|_| bound(call, tex_ref, CU_RESOURCE_TYPE_PITCH2D))?;
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(pdptr, address) }
}

pub(crate) unsafe fn cuTexRefGetArray(
    call: &Call<'_>,
    ph_array: *mut CUarray,
    tex_ref: CUtexref,
) -> Result<(), CUresult> {
    let array = bound(call, tex_ref, CU_RESOURCE_TYPE_ARRAY)?;
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(ph_array, CUarray(array as usize)) }
}

pub(crate) unsafe fn cuTexRefGetMipmappedArray(
    call: &Call<'_>,
    ph_mipmapped_array: *mut CUmipmappedArray,
    tex_ref: CUtexref,
) -> Result<(), CUresult> {
    let array = bound(call, tex_ref, CU_RESOURCE_TYPE_MIPMAPPED_ARRAY)?;
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(ph_mipmapped_array, CUmipmappedArray(array as usize)) }
}

pub(crate) unsafe fn cuTexRefGetAddressMode(
    call: &Call<'_>,
    pam: *mut CUaddress_mode,
    tex_ref: CUtexref,
    dim: c_int,
) -> Result<(), CUresult> {
    let dimension = usize::try_from(dim).map_err(|_| INVALID_VALUE)?;
    let mode = get(call, tex_ref, |reference| reference.texture.addressMode.get(dimension).copied())?;
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(pam, mode) }
}

pub(crate) unsafe fn cuTexRefGetFilterMode(
    call: &Call<'_>,
    pfm: *mut CUfilter_mode,
    tex_ref: CUtexref,
) -> Result<(), CUresult> {
    let mode = get(call, tex_ref, |reference| Some(reference.texture.filterMode))?;
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(pfm, mode) }
}

pub(crate) unsafe fn cuTexRefGetFormat(
    call: &Call<'_>,
    p_format: *mut CUarray_format,
    p_num_channels: *mut c_int,
    tex_ref: CUtexref,
) -> Result<(), CUresult> {
    let (format, channels) = get(call, tex_ref, |reference| Some(reference.format))?;
    // SAFETY: the caller's pointers, by the driver's contract; either may be null.
    unsafe {
        if !p_format.is_null() {
            put(p_format, format)?;
        }
        if !p_num_channels.is_null() {
            put(p_num_channels, channels as c_int)?;
        }
    }
    Ok(())
}

pub(crate) unsafe fn cuTexRefGetMipmapFilterMode(
    call: &Call<'_>,
    pfm: *mut CUfilter_mode,
    tex_ref: CUtexref,
) -> Result<(), CUresult> {
    let mode = get(call, tex_ref, |reference| Some(reference.texture.mipmapFilterMode))?;
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(pfm, mode) }
}

pub(crate) unsafe fn cuTexRefGetMipmapLevelBias(
    call: &Call<'_>,
    pbias: *mut f32,
    tex_ref: CUtexref,
) -> Result<(), CUresult> {
    let bias = get(call, tex_ref, |reference| Some(reference.texture.mipmapLevelBias))?;
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(pbias, bias) }
}

pub(crate) unsafe fn cuTexRefGetMipmapLevelClamp(
    call: &Call<'_>,
    pmin_mipmap_level_clamp: *mut f32,
    pmax_mipmap_level_clamp: *mut f32,
    tex_ref: CUtexref,
) -> Result<(), CUresult> {
    let texture = get(call, tex_ref, |reference| Some(reference.texture))?;
    // SAFETY: the caller's pointers, by the driver's contract.
    unsafe {
        put(pmin_mipmap_level_clamp, texture.minMipmapLevelClamp)?;
        put(pmax_mipmap_level_clamp, texture.maxMipmapLevelClamp)
    }
}

pub(crate) unsafe fn cuTexRefGetMaxAnisotropy(
    call: &Call<'_>,
    pmax_aniso: *mut c_int,
    tex_ref: CUtexref,
) -> Result<(), CUresult> {
    let ratio = get(call, tex_ref, |reference| c_int::try_from(reference.texture.maxAnisotropy).ok())?;
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(pmax_aniso, ratio) }
}

pub(crate) unsafe fn cuTexRefGetBorderColor(
    call: &Call<'_>,
    p_border_color: *mut f32,
    tex_ref: CUtexref,
) -> Result<(), CUresult> {
    let color = get(call, tex_ref, |reference| Some(reference.texture.borderColor))?;
    // SAFETY: the caller's array of four numbers, by the driver's contract.
    unsafe { put(p_border_color.cast(), color) }
}

pub(crate) unsafe fn cuTexRefGetFlags(
    call: &Call<'_>,
    p_flags: *mut c_uint,
    tex_ref: CUtexref,
) -> Result<(), CUresult> {
    let flags = get(call, tex_ref, |reference| Some(reference.texture.flags))?;
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(p_flags, flags) }
}
