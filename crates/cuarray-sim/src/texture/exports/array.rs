//! Arrays and mipmapped arrays.
//!
//! Driver API: [memory management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html). An array is an
//! allocation without an address. Its layout is opaque on a GPU; here its texels lie in rows, so that races, leaks, and uses of
//! freed or unwritten memory are found as on other memory.

use crate::config::textures::limit;
use crate::driver::{Call, Guard};
use crate::happens_before::handles;
use crate::memory::device_memory;
use crate::objects::allocation::Kind;
use crate::objects::array::{self, Array, Mipmapped, Rows, texel_size};
use crate::parameters::{In, Out};
use crate::state::State;
use cuarray_abi::*;
use std::ffi::c_uint;

const INVALID_VALUE: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;
const INVALID_HANDLE: CUresult = CUresult::CUDA_ERROR_INVALID_HANDLE;

/// The flags that this driver accepts. Attachments to graphics have no effect, because nothing can map an array there.
const FLAGS: c_uint = CUDA_ARRAY3D_LAYERED
    | CUDA_ARRAY3D_SURFACE_LDST
    | CUDA_ARRAY3D_CUBEMAP
    | CUDA_ARRAY3D_TEXTURE_GATHER
    | CUDA_ARRAY3D_DEPTH_TEXTURE
    | CUDA_ARRAY3D_COLOR_ATTACHMENT;
/// The flags of the header that this driver refuses.
const REFUSED_FLAGS: c_uint = CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING | CUDA_ARRAY3D_VIDEO_ENCODE_DECODE;

/// The attributes that limit width, height and depth; 0 stands for an extent that must be 0.
type Limits = [c_uint; 3];

/// The limits of the kind of an array: of every such array, and of one for surfaces. Two rows of the first are alternatives.
fn limits(descriptor: &CUDA_ARRAY3D_DESCRIPTOR, mipmapped: bool) -> (&'static [Limits], Limits) {
    let layered = descriptor.Flags & CUDA_ARRAY3D_LAYERED != 0;
    let cube = descriptor.Flags & CUDA_ARRAY3D_CUBEMAP != 0;
    let gathers = descriptor.Flags & CUDA_ARRAY3D_TEXTURE_GATHER != 0;
    match (cube, layered, descriptor.Height > 0, descriptor.Depth > 0) {
        (true, true, ..) => (&[[53, 53, 54]], [67, 67, 68]),
        (true, false, ..) => (&[[52, 52, 54]], [66, 66, 68]),
        (false, true, false, _) => (&[[42, 0, 43]], [61, 0, 62]),
        (false, true, true, _) => (&[[27, 28, 29]], [63, 64, 65]),
        (false, false, _, true) => (&[[24, 25, 26], [47, 48, 49]], [58, 59, 60]),
        (false, false, true, false) if gathers => (&[[45, 46, 0]], [56, 57, 0]),
        (false, false, true, false) if mipmapped => (&[[73, 74, 0]], [56, 57, 0]),
        (false, false, true, false) => (&[[22, 23, 0]], [56, 57, 0]),
        (false, false, false, false) if mipmapped => (&[[77, 0, 0]], [55, 0, 0]),
        (false, false, false, false) => (&[[21, 0, 0]], [55, 0, 0]),
    }
}

/// Whether each extent is from 1 to its limit, or 0 where the kind of the array has none.
fn fits(descriptor: &CUDA_ARRAY3D_DESCRIPTOR, limits: Limits) -> bool {
    let extents = [descriptor.Width, descriptor.Height, descriptor.Depth];
    extents.iter().zip(limits).all(|(extent, attribute)| match attribute {
        0 => *extent == 0,
        _ => *extent > 0 && limit(attribute).is_some_and(|limit| *extent <= limit as usize),
    })
}

/// Checks a descriptor.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for an extent, a format or a combination of flags that the manual excludes.
/// `CUDA_ERROR_NOT_SUPPORTED`, explained on standard error, for arrays that this driver does not have.
fn check(call: &Call<'_>, descriptor: &CUDA_ARRAY3D_DESCRIPTOR, mipmapped: bool) -> Result<(), CUresult> {
    let flags = descriptor.Flags;
    if flags & !(FLAGS | REFUSED_FLAGS) != 0 {
        return Err(INVALID_VALUE);
    }
    texel_size(descriptor.Format, descriptor.NumChannels).inspect_err(|code| {
        if *code == CUresult::CUDA_ERROR_NOT_SUPPORTED {
            let format = descriptor.Format;
            call.driver.explain(&format!("an array of format {format:#x} is refused: block-compressed and video formats have no texels of their own"));
        }
    })?;
    let cube = flags & CUDA_ARRAY3D_CUBEMAP != 0;
    let layered = flags & CUDA_ARRAY3D_LAYERED != 0;
    let faces = if layered { descriptor.Depth.is_multiple_of(6) } else { descriptor.Depth == 6 };
    let gathers_2d = descriptor.Height > 0 && descriptor.Depth == 0 && !cube && !layered;
    if cube && (descriptor.Width != descriptor.Height || !faces)
        || flags & CUDA_ARRAY3D_TEXTURE_GATHER != 0 && !gathers_2d
    {
        return Err(INVALID_VALUE);
    }
    let (always, surface) = limits(descriptor, mipmapped);
    let is_surface = flags & CUDA_ARRAY3D_SURFACE_LDST != 0;
    if !always.iter().any(|limits| fits(descriptor, *limits)) || is_surface && !fits(descriptor, surface) {
        return Err(INVALID_VALUE);
    }
    if flags & REFUSED_FLAGS != 0 {
        call.driver.explain(&format!("an array with flags {flags:#x} is refused: sparse arrays, arrays without memory and arrays for video engines are not simulated"));
        return Err(CUresult::CUDA_ERROR_NOT_SUPPORTED);
    }
    Ok(())
}

/// Allocates the texels of an array.
fn allocate(call: &Call<'_>, size: Option<u64>) -> Result<(u64, CUcontext), CUresult> {
    let address = device_memory::allocate(call, size.ok_or(INVALID_VALUE)?, Kind::Array)?;
    let state = call.lock();
    let allocation = state.memory.starting_at(address).ok_or(CUresult::CUDA_ERROR_UNKNOWN)?;
    Ok((address, allocation.context))
}

fn create(call: &Call<'_>, p_handle: Out<'_, CUarray>, descriptor: CUDA_ARRAY3D_DESCRIPTOR) -> Result<(), CUresult> {
    drop(call.current()?);
    check(call, &descriptor, false)?;
    let (address, context) = allocate(call, Rows::of(&descriptor).size())?;
    let handle = CUarray(crate::handle::fresh());
    let array = Array { context, address, descriptor, level_of: None };
    call.lock().arrays.arrays.insert(handle, array);
    p_handle.put(handle)
}

pub(crate) fn cuArrayCreate_v2(
    call: &Call<'_>,
    p_handle: Out<'_, CUarray>,
    p_allocate_array: In<'_, CUDA_ARRAY_DESCRIPTOR>,
) -> Result<(), CUresult> {
    p_handle.present()?;
    let given = p_allocate_array.read()?;
    let CUDA_ARRAY_DESCRIPTOR { Width, Height, Format, NumChannels } = given;
    create(call, p_handle, CUDA_ARRAY3D_DESCRIPTOR { Width, Height, Depth: 0, Format, NumChannels, Flags: 0 })
}

pub(crate) fn cuArray3DCreate_v2(
    call: &Call<'_>,
    p_handle: Out<'_, CUarray>,
    p_allocate_array: In<'_, CUDA_ARRAY3D_DESCRIPTOR>,
) -> Result<(), CUresult> {
    p_handle.present()?;
    p_allocate_array.present()?;
    create(call, p_handle, p_allocate_array.read()?)
}

/// The array of a handle that a program passed.
fn array_of(state: &State, handle: CUarray) -> Result<&Array, CUresult> {
    state.arrays.arrays.get(&handle).ok_or(INVALID_HANDLE)
}

fn mipmapped_of(state: &State, handle: CUmipmappedArray) -> Result<&Mipmapped, CUresult> {
    state.arrays.mipmapped.get(&handle).ok_or(INVALID_HANDLE)
}

pub(crate) fn cuArrayGetDescriptor_v2(
    call: &Call<'_>,
    p_array_descriptor: Out<'_, CUDA_ARRAY_DESCRIPTOR>,
    array: CUarray,
) -> Result<(), CUresult> {
    let (state, _) = call.current()?;
    let CUDA_ARRAY3D_DESCRIPTOR { Width, Height, Format, NumChannels, .. } = array_of(&state, array)?.descriptor;
    p_array_descriptor.put(CUDA_ARRAY_DESCRIPTOR { Width, Height, Format, NumChannels })
}

pub(crate) fn cuArray3DGetDescriptor_v2(
    call: &Call<'_>,
    p_array_descriptor: Out<'_, CUDA_ARRAY3D_DESCRIPTOR>,
    array: CUarray,
) -> Result<(), CUresult> {
    let (state, _) = call.current()?;
    p_array_descriptor.put(array_of(&state, array)?.descriptor)
}

/// Forgets a handle; a later use of it is a finding.
fn forget(state: &mut State, handle: CUarray) {
    state.arrays.arrays.remove(&handle);
    handles::destroyed(state, "array", handle.0 as u64);
}

/// Runs the work that may still use the array first, as `cuMemFree` does. A level is destroyed with its mipmapped array only.
pub(crate) fn cuArrayDestroy(call: &Call<'_>, array: CUarray) -> Result<(), CUresult> {
    let (mut state, current) = call.current()?;
    let known = array_of(&state, array)?;
    if known.level_of.is_some() {
        return Err(INVALID_HANDLE);
    }
    let address = known.address;
    forget(&mut state, array);
    device_memory::free(call, state, address, current);
    Ok(())
}

/// Refuses every array, because no array here has a format of several planes.
pub(crate) fn cuArrayGetPlane(
    call: &Call<'_>,
    p_plane_array: Out<'_, CUarray>,
    array: CUarray,
    _plane_idx: c_uint,
) -> Result<(), CUresult> {
    p_plane_array.present()?;
    let (state, _) = call.current()?;
    array_of(&state, array)?;
    Err(INVALID_VALUE)
}

/// Refuses every array, because none is sparse.
pub(crate) fn cuArrayGetSparseProperties(
    _: &Call<'_>,
    _sparse_properties: Out<'_, CUDA_ARRAY_SPARSE_PROPERTIES>,
    _array: CUarray,
) -> Result<(), CUresult> {
    Err(INVALID_VALUE)
}

/// Refuses every array, because all have memory from the start.
pub(crate) fn cuArrayGetMemoryRequirements(
    _: &Call<'_>,
    _memory_requirements: Out<'_, CUDA_ARRAY_MEMORY_REQUIREMENTS>,
    _array: CUarray,
    _device: CUdevice,
) -> Result<(), CUresult> {
    Err(INVALID_VALUE)
}

/// Refuses every array, because none is sparse.
pub(crate) fn cuMipmappedArrayGetSparseProperties(
    _: &Call<'_>,
    _sparse_properties: Out<'_, CUDA_ARRAY_SPARSE_PROPERTIES>,
    _mipmap: CUmipmappedArray,
) -> Result<(), CUresult> {
    Err(INVALID_VALUE)
}

/// Refuses every array, because all have memory from the start.
pub(crate) fn cuMipmappedArrayGetMemoryRequirements(
    _: &Call<'_>,
    _memory_requirements: Out<'_, CUDA_ARRAY_MEMORY_REQUIREMENTS>,
    _mipmap: CUmipmappedArray,
    _device: CUdevice,
) -> Result<(), CUresult> {
    Err(INVALID_VALUE)
}

/// Creates all levels at once; a number of levels that is too large means all levels that the extents allow.
pub(crate) fn cuMipmappedArrayCreate(
    call: &Call<'_>,
    p_handle: Out<'_, CUmipmappedArray>,
    p_mipmapped_array_desc: In<'_, CUDA_ARRAY3D_DESCRIPTOR>,
    num_mipmap_levels: c_uint,
) -> Result<(), CUresult> {
    p_handle.present()?;
    p_mipmapped_array_desc.present()?;
    drop(call.current()?);
    let descriptor = p_mipmapped_array_desc.read()?;
    check(call, &descriptor, true)?;
    let count = num_mipmap_levels.clamp(1, array::most_levels(&descriptor));
    let (offsets, size) = array::levels(&descriptor, count).ok_or(INVALID_VALUE)?;
    let (address, context) = allocate(call, Some(size))?;
    let mipmapped = CUmipmappedArray(crate::handle::fresh());
    let mut state = call.lock();
    let mut levels = Vec::new();
    for (number, offset) in (0..).zip(offsets) {
        let handle = CUarray(crate::handle::fresh());
        let (address, descriptor) = (address + offset, array::level(&descriptor, number));
        let level = Array { context, address, descriptor, level_of: Some(mipmapped) };
        state.arrays.arrays.insert(handle, level);
        levels.push(handle);
    }
    state.arrays.mipmapped.insert(mipmapped, Mipmapped { context, address, levels });
    p_handle.put(mipmapped)
}

pub(crate) fn cuMipmappedArrayGetLevel(
    call: &Call<'_>,
    p_level_array: Out<'_, CUarray>,
    mipmapped_array: CUmipmappedArray,
    level: c_uint,
) -> Result<(), CUresult> {
    p_level_array.present()?;
    let (state, _) = call.current()?;
    let levels = &mipmapped_of(&state, mipmapped_array)?.levels;
    let handle = levels.get(level as usize).copied().ok_or(INVALID_VALUE)?;
    p_level_array.put(handle)
}

pub(crate) fn cuMipmappedArrayDestroy(call: &Call<'_>, mipmapped_array: CUmipmappedArray) -> Result<(), CUresult> {
    let (mut state, current): (Guard<'_>, _) = call.current()?;
    mipmapped_of(&state, mipmapped_array)?;
    let Some(mipmapped) = state.arrays.mipmapped.remove(&mipmapped_array) else { return Err(INVALID_HANDLE) };
    for level in mipmapped.levels {
        forget(&mut state, level);
    }
    handles::destroyed(&mut state, "mipmapped array", mipmapped_array.0 as u64);
    device_memory::free(call, state, mipmapped.address, current);
    Ok(())
}
