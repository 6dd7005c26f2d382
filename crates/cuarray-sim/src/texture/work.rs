//! Textures and surfaces as a launch sees them: images over the memory that their objects name.
//!
//! The table is made when a launch runs, from the objects that exist then. An object whose array or memory is gone is left out,
//! so that its use fails as that of a destroyed object does.

use crate::objects::array::{Array, Rows, texel_size};
use crate::objects::texture::{TextureObject, linear, of_array, rows};
use crate::state::State;
use cuarray_abi::*;
use cuarray_ptx::{
    AddressMode, ChannelKind, FilterMode, Format, Geometry, Level, Opaque, ReadMode, Sampler, Surface, Texture,
    TextureImage, Textures,
};
use std::sync::Arc;

/// The format of texels; `None` for formats that arrays cannot have.
fn format(format: CUarray_format, channels: u32) -> Option<Format> {
    texel_size(format, channels).ok()?;
    let kind = match format {
        CU_AD_FORMAT_UNSIGNED_INT8 => ChannelKind::Unsigned8,
        CU_AD_FORMAT_UNSIGNED_INT16 => ChannelKind::Unsigned16,
        CU_AD_FORMAT_UNSIGNED_INT32 => ChannelKind::Unsigned32,
        CU_AD_FORMAT_SIGNED_INT8 => ChannelKind::Signed8,
        CU_AD_FORMAT_SIGNED_INT16 => ChannelKind::Signed16,
        CU_AD_FORMAT_SIGNED_INT32 => ChannelKind::Signed32,
        CU_AD_FORMAT_HALF => ChannelKind::Half,
        CU_AD_FORMAT_FLOAT => ChannelKind::Float,
        CU_AD_FORMAT_UNORM_INT8X1..=CU_AD_FORMAT_UNORM_INT8X4 => ChannelKind::UnsignedNorm8,
        CU_AD_FORMAT_UNORM_INT16X1..=CU_AD_FORMAT_UNORM_INT16X4 => ChannelKind::UnsignedNorm16,
        CU_AD_FORMAT_SNORM_INT8X1..=CU_AD_FORMAT_SNORM_INT8X4 => ChannelKind::SignedNorm8,
        CU_AD_FORMAT_SNORM_INT16X1..=CU_AD_FORMAT_SNORM_INT16X4 => ChannelKind::SignedNorm16,
        _ => return None,
    };
    Some(Format { kind, channels })
}

/// The format of a resource view; `None` for block-compressed formats.
pub(crate) fn format_of_view(view: CUresourceViewFormat) -> Option<(CUarray_format, u32)> {
    const FORMATS: [CUarray_format; 8] = [
        CU_AD_FORMAT_UNSIGNED_INT8,
        CU_AD_FORMAT_SIGNED_INT8,
        CU_AD_FORMAT_UNSIGNED_INT16,
        CU_AD_FORMAT_SIGNED_INT16,
        CU_AD_FORMAT_UNSIGNED_INT32,
        CU_AD_FORMAT_SIGNED_INT32,
        CU_AD_FORMAT_HALF,
        CU_AD_FORMAT_FLOAT,
    ];
    // Each format has three numbers in a row, with 1, 2 and 4 channels.
    let index = view.checked_sub(CU_RES_VIEW_FORMAT_UINT_1X8)?;
    Some((*FORMATS.get(index as usize / 3)?, 1 << (index % 3)))
}

/// An image of arrays, which are the levels of one array.
fn image_of(levels: &[&Array]) -> Option<TextureImage> {
    let descriptor = levels.first()?.descriptor;
    let (layered, cube) = (descriptor.Flags & CUDA_ARRAY3D_LAYERED != 0, descriptor.Flags & CUDA_ARRAY3D_CUBEMAP != 0);
    let (geometry, layers) = match (cube, layered) {
        (true, true) => (Geometry::CubeLayered, descriptor.Depth / 6),
        (true, false) => (Geometry::Cube, 1),
        (false, true) if descriptor.Height == 0 => (Geometry::OneDLayered, descriptor.Depth),
        (false, true) => (Geometry::TwoDLayered, descriptor.Depth),
        (false, false) if descriptor.Depth > 0 => (Geometry::ThreeD, 1),
        (false, false) if descriptor.Height > 0 => (Geometry::TwoD, 1),
        (false, false) => (Geometry::OneD, 1),
    };
    let level = |array: &&Array| {
        let of: Rows = array.rows();
        let depth = if geometry == Geometry::ThreeD { of.depth } else { 1 };
        let extents = [array.descriptor.Width as u32, of.height as u32, depth as u32];
        Level { address: array.address, extents, pitch: of.pitch, slice_pitch: of.slice() }
    };
    Some(TextureImage {
        geometry,
        format: format(descriptor.Format, descriptor.NumChannels)?,
        layers: layers as u32,
        linear: false,
        levels: levels.iter().map(level).collect(),
    })
}

/// Whether device memory is still allocated for work that runs now.
fn is_held(state: &State, address: u64, size: u64) -> bool {
    let held = state.memory.holding(address);
    held.is_some_and(|held| size <= held.size - (address - held.address))
}

/// The image of a resource; `None` if its array or memory is gone.
pub(crate) fn image(state: &State, resource: &CUDA_RESOURCE_DESC) -> Option<TextureImage> {
    let handle = resource.res[0] as usize;
    match resource.resType {
        CU_RESOURCE_TYPE_ARRAY => image_of(&[state.arrays.arrays.get(&CUarray(handle))?]),
        CU_RESOURCE_TYPE_MIPMAPPED_ARRAY => {
            let mipmapped = state.arrays.mipmapped.get(&CUmipmappedArray(handle))?;
            let levels: Vec<&Array> =
                mipmapped.levels.iter().filter_map(|level| state.arrays.arrays.get(level)).collect();
            image_of(&levels)
        }
        CU_RESOURCE_TYPE_LINEAR => {
            let memory = linear(resource);
            let format = format(memory.format, memory.numChannels)?;
            let (size, texel) = (memory.sizeInBytes as u64, u64::from(format.bytes()));
            let extents = [(size / texel) as u32, 1, 1];
            let level = Level { address: memory.devPtr, extents, pitch: size, slice_pitch: size };
            let image = TextureImage { geometry: Geometry::OneD, format, layers: 1, linear: true, levels: vec![level] };
            is_held(state, memory.devPtr, size).then_some(image)
        }
        _ => {
            let memory = rows(resource);
            let format = format(memory.format, memory.numChannels)?;
            let (pitch, height) = (memory.pitchInBytes as u64, memory.height as u64);
            let size = pitch * (height.max(1) - 1) + memory.width as u64 * u64::from(format.bytes());
            let extents = [memory.width as u32, memory.height as u32, 1];
            let level = Level { address: memory.devPtr, extents, pitch, slice_pitch: pitch * height };
            let image =
                TextureImage { geometry: Geometry::TwoD, format, layers: 1, linear: false, levels: vec![level] };
            is_held(state, memory.devPtr, size).then_some(image)
        }
    }
}

/// The image as a resource view restricts it.
fn viewed(mut image: TextureImage, view: &CUDA_RESOURCE_VIEW_DESC) -> TextureImage {
    if let Some((view_format, channels)) = format_of_view(view.format)
        && let Some(format) = format(view_format, channels)
    {
        image.format = format;
    }
    let last = (view.lastMipmapLevel as usize + 1).min(image.levels.len());
    image.levels = image.levels.get(view.firstMipmapLevel as usize..last).unwrap_or_default().to_vec();
    if matches!(image.geometry, Geometry::OneDLayered | Geometry::TwoDLayered | Geometry::CubeLayered) {
        // The slices of a layer of cubes are its six faces.
        let slices = if image.geometry == Geometry::CubeLayered { 6 } else { 1 };
        for level in &mut image.levels {
            level.address += u64::from(view.firstLayer) * slices * level.slice_pitch;
        }
        image.layers = view.lastLayer - view.firstLayer + 1;
    }
    image
}

/// The way to read a texture.
fn sampler(texture: &CUDA_TEXTURE_DESC) -> Sampler {
    let address = |mode| match mode {
        CU_TR_ADDRESS_MODE_WRAP => AddressMode::Wrap,
        CU_TR_ADDRESS_MODE_MIRROR => AddressMode::Mirror,
        CU_TR_ADDRESS_MODE_BORDER => AddressMode::Border,
        _ => AddressMode::Clamp,
    };
    let filter = |mode| if mode == CU_TR_FILTER_MODE_LINEAR { FilterMode::Linear } else { FilterMode::Point };
    Sampler {
        address: texture.addressMode.map(address),
        filter: filter(texture.filterMode),
        mipmap_filter: filter(texture.mipmapFilterMode),
        normalized: texture.flags & CU_TRSF_NORMALIZED_COORDINATES != 0,
        border: texture.borderColor.map(f32::to_bits),
        level_bias: texture.mipmapLevelBias,
        level_clamp: [texture.minMipmapLevelClamp, texture.maxMipmapLevelClamp],
        max_anisotropy: texture.maxAnisotropy.clamp(1, 16),
        seamless_cube: texture.flags & CU_TRSF_SEAMLESS_CUBEMAP != 0,
    }
}

/// A texture from its parts.
fn texture(image: TextureImage, described: &CUDA_TEXTURE_DESC) -> Texture {
    let integers = described.flags & CU_TRSF_READ_AS_INTEGER != 0;
    let read = if integers { ReadMode::Element } else { ReadMode::NormalizedFloat };
    Texture { image, sampler: sampler(described), read, srgb: described.flags & CU_TRSF_SRGB != 0 }
}

fn texture_of_object(state: &State, object: &TextureObject) -> Option<Texture> {
    let image = image(state, &object.resource)?;
    let image = match &object.view {
        Some(view) => viewed(image, view),
        None => image,
    };
    Some(texture(image, &object.texture))
}

/// The textures and surfaces that exist now, for a launch.
pub(crate) fn table(state: &State) -> Textures {
    let mut table = Textures::default();
    let all = &state.textures;
    if all.is_empty() {
        return table;
    }
    for (handle, object) in &all.objects {
        if let Some(texture) = texture_of_object(state, object) {
            table.textures.insert(*handle, Arc::new(texture));
        }
    }
    for (handle, object) in &all.surfaces {
        if let Some(image) = image(state, &object.resource) {
            table.surfaces.insert(*handle, Arc::new(Surface { image }));
        }
    }
    for reference in all.references.values() {
        if let (Some((_, address)), Some(bound)) = (reference.variable, &reference.bound)
            && let Some(image) = image(state, bound)
        {
            table.textures.insert(address, Arc::new(texture(image, &reference.texture)));
        }
    }
    for reference in all.surface_references.values() {
        let resource = reference.array.map(of_array);
        if let Some(image) = resource.and_then(|resource| image(state, &resource)) {
            table.surfaces.insert(reference.address, Arc::new(Surface { image }));
        }
    }
    for module in state.code.modules.values() {
        let address_of = |number: u32| module.addresses.get(number as usize).copied().unwrap_or(0);
        table.samplers.extend(module.program.samplers(address_of));
    }
    table
}

/// The reason why a launch did not find the object of a handle.
pub(crate) enum Missing {
    /// The handle of a destroyed object or array, or a number that is no handle.
    Handle(u64),
    /// Memory that has been freed.
    Memory { address: u64, size: u64 },
}

/// The reason why the table does not have a handle.
pub(crate) fn missing(state: &State, handle: u64) -> Missing {
    let all = &state.textures;
    let object = all.objects.get(&handle).map(|object| object.resource);
    let object = object.or_else(|| all.surfaces.get(&handle).map(|object| object.resource));
    let resource = object.or_else(|| {
        let reference =
            all.references.values().find(|reference| reference.variable.is_some_and(|(_, address)| address == handle));
        reference.and_then(|reference| reference.bound)
    });
    let resource = resource.or_else(|| {
        let reference = all.surface_references.values().find(|reference| reference.address == handle);
        reference.and_then(|reference| reference.array).map(of_array)
    });
    match resource {
        Some(resource) if resource.resType == CU_RESOURCE_TYPE_LINEAR => {
            Missing::Memory { address: resource.res[0], size: linear(&resource).sizeInBytes as u64 }
        }
        Some(resource) if resource.resType == CU_RESOURCE_TYPE_PITCH2D => {
            let memory = rows(&resource);
            Missing::Memory { address: memory.devPtr, size: (memory.pitchInBytes * memory.height) as u64 }
        }
        Some(resource) => Missing::Handle(resource.res[0]),
        None => Missing::Handle(handle),
    }
}

/// The address of an opaque variable of a module.
pub(crate) fn variable(
    state: &State,
    module: CUmodule,
    name: &str,
    is_wanted: fn(&Opaque) -> bool,
) -> Result<u64, CUresult> {
    let module = state.code.modules.get(&module).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)?;
    let variables = module.program.variables().iter().zip(&module.addresses);
    let found =
        variables.filter(|(variable, _)| variable.name == name && variable.opaque.as_ref().is_some_and(is_wanted));
    found.map(|(_, address)| *address).next().ok_or(CUresult::CUDA_ERROR_NOT_FOUND)
}
