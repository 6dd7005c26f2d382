//! Texture objects.
//!
//! Driver API: [texture objects](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__TEXOBJECT.html). An object keeps the
//! descriptors that it was created from. A launch reads the memory that they name when it runs.

use crate::config::textures::{LINEAR_WIDTH, limit};
use crate::driver::Call;
use crate::happens_before::handles;
use crate::memory::allocations;
use crate::objects::allocation::Declared;
use crate::objects::array::texel_size;
use crate::objects::texture::{TextureObject, linear, rows};
use crate::parameters::{In, Out};
use crate::state::State;
use crate::texture::work::format_of_view;
use cuarray_abi::*;
use cuarray_races::finding::AccessKind;
use std::ffi::c_uint;

const INVALID_VALUE: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

/// The attributes of the alignments of linear memory and of its pitch.
const ALIGNMENT: c_uint = 14;
const PITCH_ALIGNMENT: c_uint = 51;

const FLAGS: c_uint = CU_TRSF_READ_AS_INTEGER
    | CU_TRSF_NORMALIZED_COORDINATES
    | CU_TRSF_SRGB
    | CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION
    | CU_TRSF_SEAMLESS_CUBEMAP;

/// Whether a number is positive and at most the limit of an attribute.
fn within(number: usize, attribute: c_uint) -> bool {
    number > 0 && limit(attribute).is_some_and(|limit| number <= limit as usize)
}

fn is_aligned(number: u64, attribute: c_uint) -> bool {
    limit(attribute).is_some_and(|limit| number.is_multiple_of(limit as u64))
}

/// Checks that device memory is allocated.
fn check_memory(state: &State, address: u64, size: u64) -> Result<(), CUresult> {
    allocations::side(state, address, size, Declared::Device, AccessKind::Read).map(drop)
}

/// The array, or the first level of a mipmapped array, of a resource; `None` for linear memory.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for an unknown handle; a destroyed one is a finding.
pub(super) fn array_of(
    state: &mut State,
    resource: &CUDA_RESOURCE_DESC,
) -> Result<Option<(CUDA_ARRAY3D_DESCRIPTOR, usize)>, CUresult> {
    let handle = resource.res[0] as usize;
    let found = match resource.resType {
        CU_RESOURCE_TYPE_ARRAY => state.arrays.arrays.get(&CUarray(handle)).map(|array| (array.descriptor, 1)),
        CU_RESOURCE_TYPE_MIPMAPPED_ARRAY => state.arrays.mipmapped.get(&CUmipmappedArray(handle)).and_then(|array| {
            let first = state.arrays.arrays.get(array.levels.first()?)?;
            Some((first.descriptor, array.levels.len()))
        }),
        _ => return Ok(None),
    };
    if found.is_none() {
        handles::refused_handle(state, resource.res[0]);
    }
    found.map(Some).ok_or(INVALID_VALUE)
}

/// Checks linear memory of one or two dimensions.
pub(super) fn check_linear(state: &State, resource: &CUDA_RESOURCE_DESC) -> Result<(), CUresult> {
    if resource.resType == CU_RESOURCE_TYPE_LINEAR {
        let memory = linear(resource);
        let texel = texel_size(memory.format, memory.numChannels)?;
        let texels = memory.sizeInBytes as u64 / texel;
        if !is_aligned(memory.devPtr, ALIGNMENT) || texels == 0 || texels > LINEAR_WIDTH as u64 {
            return Err(INVALID_VALUE);
        }
        return check_memory(state, memory.devPtr, memory.sizeInBytes as u64);
    }
    let memory = rows(resource);
    let texel = texel_size(memory.format, memory.numChannels)?;
    if !within(memory.width, 70) || !within(memory.height, 71) || !within(memory.pitchInBytes, 72) {
        return Err(INVALID_VALUE);
    }
    let (pitch, width) = (memory.pitchInBytes as u64, memory.width as u64 * texel);
    if !is_aligned(memory.devPtr, ALIGNMENT) || !is_aligned(pitch, PITCH_ALIGNMENT) || pitch < width {
        return Err(INVALID_VALUE);
    }
    check_memory(state, memory.devPtr, pitch * (memory.height as u64 - 1) + width)
}

/// Checks the way to read a texture of a resource.
fn check_texture(
    texture: &CUDA_TEXTURE_DESC,
    resource: &CUDA_RESOURCE_DESC,
    array: Option<&CUDA_ARRAY3D_DESCRIPTOR>,
) -> Result<(), CUresult> {
    let modes = texture.addressMode.iter().all(|mode| *mode <= CU_TR_ADDRESS_MODE_BORDER);
    let filters = texture.filterMode.max(texture.mipmapFilterMode) <= CU_TR_FILTER_MODE_LINEAR;
    let mipmapped = resource.resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    let normalized = texture.flags & CU_TRSF_NORMALIZED_COORDINATES != 0;
    let seamless = texture.flags & CU_TRSF_SEAMLESS_CUBEMAP != 0;
    let cube = array.is_some_and(|array| array.Flags & CUDA_ARRAY3D_CUBEMAP != 0);
    let valid = modes && filters && texture.flags & !FLAGS == 0 && (normalized || !mipmapped) && (cube || !seamless);
    if valid { Ok(()) } else { Err(INVALID_VALUE) }
}

/// Checks a view of an array with a number of levels.
///
/// # Errors
/// `CUDA_ERROR_NOT_SUPPORTED`, explained on standard error, for block-compressed formats.
fn check_view(
    call: &Call<'_>,
    view: &CUDA_RESOURCE_VIEW_DESC,
    array: &CUDA_ARRAY3D_DESCRIPTOR,
    levels: usize,
) -> Result<(), CUresult> {
    if (CU_RES_VIEW_FORMAT_UNSIGNED_BC1..=CU_RES_VIEW_FORMAT_UNSIGNED_BC7).contains(&view.format) {
        call.driver.explain("a view with a block-compressed format is refused: such formats are not simulated");
        return Err(CUresult::CUDA_ERROR_NOT_SUPPORTED);
    }
    let texel = |format, channels| texel_size(format, channels).ok();
    let format = view.format == CU_RES_VIEW_FORMAT_NONE
        || format_of_view(view.format)
            .is_some_and(|(format, channels)| texel(format, channels) == texel(array.Format, array.NumChannels));
    let extents = [view.width, view.height, view.depth] == [array.Width, array.Height, array.Depth];
    let in_levels = view.firstMipmapLevel <= view.lastMipmapLevel && (view.lastMipmapLevel as usize) < levels;
    let layers = match array.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP) {
        CUDA_ARRAY3D_LAYERED => array.Depth,
        flags if flags & CUDA_ARRAY3D_LAYERED != 0 => array.Depth / 6,
        _ => 1,
    };
    let in_layers = view.firstLayer <= view.lastLayer && (view.lastLayer as usize) < layers;
    if format && extents && in_levels && in_layers { Ok(()) } else { Err(INVALID_VALUE) }
}

pub(crate) fn cuTexObjectCreate(
    call: &Call<'_>,
    p_tex_object: Out<'_, CUtexObject>,
    p_res_desc: In<'_, CUDA_RESOURCE_DESC>,
    p_tex_desc: In<'_, CUDA_TEXTURE_DESC>,
    p_res_view_desc: In<'_, CUDA_RESOURCE_VIEW_DESC>,
) -> Result<(), CUresult> {
    p_tex_object.present()?;
    p_res_desc.present()?;
    p_tex_desc.present()?;
    let (mut state, context) = call.current()?;
    let (resource, texture, view) = (p_res_desc.read()?, p_tex_desc.read()?, p_res_view_desc.given());
    if resource.flags != 0 || resource.resType > CU_RESOURCE_TYPE_PITCH2D {
        return Err(INVALID_VALUE);
    }
    let array = array_of(&mut state, &resource)?;
    check_texture(&texture, &resource, array.as_ref().map(|(array, _)| array))?;
    match (&array, &view) {
        (Some((array, levels)), Some(view)) => check_view(call, view, array, *levels)?,
        (Some(_), None) => {}
        (None, Some(_)) => return Err(INVALID_VALUE),
        (None, None) => check_linear(&state, &resource)?,
    }
    let handle = crate::handle::fresh() as CUtexObject;
    state.textures.objects.insert(handle, TextureObject { context, resource, texture, view });
    handles::created(&mut state, "texture object", handle);
    p_tex_object.put(handle)
}

/// Waits for nothing: a launch that runs later does not find the object.
pub(crate) fn cuTexObjectDestroy(call: &Call<'_>, tex_object: CUtexObject) -> Result<(), CUresult> {
    let (mut state, _) = call.current()?;
    if state.textures.objects.remove(&tex_object).is_none() {
        handles::refused_handle(&mut state, tex_object);
        return Err(INVALID_VALUE);
    }
    handles::destroyed(&mut state, "texture object", tex_object);
    Ok(())
}

/// Reads a property of a texture object; a destroyed object is a finding.
fn of_object<T>(
    call: &Call<'_>,
    handle: CUtexObject,
    property: impl Fn(&TextureObject) -> Option<T>,
) -> Result<T, CUresult> {
    let (mut state, _) = call.current()?;
    let Some(object) = state.textures.objects.get(&handle) else {
        handles::refused_handle(&mut state, handle);
        return Err(INVALID_VALUE);
    };
    property(object).ok_or(INVALID_VALUE)
}

pub(crate) fn cuTexObjectGetResourceDesc(
    call: &Call<'_>,
    p_res_desc: Out<'_, CUDA_RESOURCE_DESC>,
    tex_object: CUtexObject,
) -> Result<(), CUresult> {
    let resource = of_object(call, tex_object, |object| Some(object.resource))?;
    p_res_desc.put(resource)
}

pub(crate) fn cuTexObjectGetTextureDesc(
    call: &Call<'_>,
    p_tex_desc: Out<'_, CUDA_TEXTURE_DESC>,
    tex_object: CUtexObject,
) -> Result<(), CUresult> {
    let texture = of_object(call, tex_object, |object| Some(object.texture))?;
    p_tex_desc.put(texture)
}

pub(crate) fn cuTexObjectGetResourceViewDesc(
    call: &Call<'_>,
    p_res_view_desc: Out<'_, CUDA_RESOURCE_VIEW_DESC>,
    tex_object: CUtexObject,
) -> Result<(), CUresult> {
    let view = of_object(call, tex_object, |object| object.view)?;
    p_res_view_desc.put(view)
}
