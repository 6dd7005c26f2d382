//! Texture and surface objects, and texture and surface references.
//!
//! An object is a number that a program passes to its kernels. It keeps the descriptors that it was created from. The memory
//! belongs to the program, and may be freed before the object.

use cuarray_abi::*;
use std::collections::BTreeMap;

/// A texture object.
pub(crate) struct TextureObject {
    pub context: CUcontext,
    pub resource: CUDA_RESOURCE_DESC,
    pub texture: CUDA_TEXTURE_DESC,
    pub view: Option<CUDA_RESOURCE_VIEW_DESC>,
}

/// A surface object.
pub(crate) struct SurfaceObject {
    pub context: CUcontext,
    pub resource: CUDA_RESOURCE_DESC,
}

/// A texture reference: of a module, or one that the program created.
pub(crate) struct TextureReference {
    pub context: CUcontext,
    /// The module, and the address of its variable; `None` for a reference that the program created.
    pub variable: Option<(CUmodule, u64)>,
    /// The array or memory that is bound to it.
    pub bound: Option<CUDA_RESOURCE_DESC>,
    /// The format and channels that `cuTexRefSetFormat` set.
    pub format: (CUarray_format, u32),
    /// The way to read it.
    pub texture: CUDA_TEXTURE_DESC,
}

/// A surface reference of a module.
pub(crate) struct SurfaceReference {
    pub module: CUmodule,
    /// The address of the module's variable.
    pub address: u64,
    pub array: Option<CUarray>,
}

/// All textures and surfaces of a driver. The tables are ordered, so that a launch finds its objects in a fixed order.
#[derive(Default)]
pub(crate) struct Textures {
    pub objects: BTreeMap<CUtexObject, TextureObject>,
    pub surfaces: BTreeMap<CUsurfObject, SurfaceObject>,
    pub references: BTreeMap<CUtexref, TextureReference>,
    pub surface_references: BTreeMap<CUsurfref, SurfaceReference>,
}

impl TextureReference {
    /// A new reference: a texture of floats, read by the nearest texel and clamped.
    pub(crate) fn new(context: CUcontext, variable: Option<(CUmodule, u64)>) -> TextureReference {
        let texture = CUDA_TEXTURE_DESC {
            addressMode: [CU_TR_ADDRESS_MODE_CLAMP; 3],
            maxAnisotropy: 1,
            ..CUDA_TEXTURE_DESC::default()
        };
        TextureReference { context, variable, bound: None, format: (CU_AD_FORMAT_FLOAT, 1), texture }
    }
}

impl Textures {
    /// Removes the objects of a context that is being destroyed; returns their kinds and handles.
    pub(crate) fn close_context(&mut self, context: CUcontext) -> Vec<(&'static str, u64)> {
        self.references.retain(|_, reference| reference.context != context);
        let textures = self.objects.iter().filter(|(_, object)| object.context == context);
        let mut gone: Vec<(&'static str, u64)> = textures.map(|(handle, _)| ("texture object", *handle)).collect();
        let surfaces = self.surfaces.iter().filter(|(_, object)| object.context == context);
        gone.extend(surfaces.map(|(handle, _)| ("surface object", *handle)));
        self.objects.retain(|_, object| object.context != context);
        self.surfaces.retain(|_, object| object.context != context);
        gone
    }

    /// Whether no launch can find a texture or surface.
    pub(crate) fn is_empty(&self) -> bool {
        self.objects.is_empty()
            && self.surfaces.is_empty()
            && self.references.is_empty()
            && self.surface_references.is_empty()
    }

    /// Removes the references of modules that are no longer loaded.
    pub(crate) fn close_modules(&mut self, is_loaded: impl Fn(CUmodule) -> bool) {
        self.references.retain(|_, reference| reference.variable.is_none_or(|(module, _)| is_loaded(module)));
        self.surface_references.retain(|_, reference| is_loaded(reference.module));
    }
}

/// A resource of an array.
pub(crate) fn of_array(array: CUarray) -> CUDA_RESOURCE_DESC {
    let mut resource = CUDA_RESOURCE_DESC { resType: CU_RESOURCE_TYPE_ARRAY, ..CUDA_RESOURCE_DESC::default() };
    resource.res[0] = array.0 as u64;
    resource
}

/// A resource of a mipmapped array.
pub(crate) fn of_mipmapped(array: CUmipmappedArray) -> CUDA_RESOURCE_DESC {
    let mut resource =
        CUDA_RESOURCE_DESC { resType: CU_RESOURCE_TYPE_MIPMAPPED_ARRAY, ..CUDA_RESOURCE_DESC::default() };
    resource.res[0] = array.0 as u64;
    resource
}

/// The fields of a resource of linear memory.
pub(crate) fn linear(resource: &CUDA_RESOURCE_DESC) -> CUDA_RESOURCE_LINEAR {
    let [address, second, size, ..] = resource.res;
    CUDA_RESOURCE_LINEAR {
        devPtr: address,
        format: second as u32,
        numChannels: (second >> 32) as u32,
        sizeInBytes: size as usize,
    }
}

/// The fields of a resource of rows.
pub(crate) fn rows(resource: &CUDA_RESOURCE_DESC) -> CUDA_RESOURCE_PITCH2D {
    let [address, second, width, height, pitch, ..] = resource.res;
    CUDA_RESOURCE_PITCH2D {
        devPtr: address,
        format: second as u32,
        numChannels: (second >> 32) as u32,
        width: width as usize,
        height: height as usize,
        pitchInBytes: pitch as usize,
    }
}

/// A resource of linear memory.
pub(crate) fn of_linear(memory: CUDA_RESOURCE_LINEAR) -> CUDA_RESOURCE_DESC {
    let mut resource = CUDA_RESOURCE_DESC { resType: CU_RESOURCE_TYPE_LINEAR, ..CUDA_RESOURCE_DESC::default() };
    let second = u64::from(memory.format) | u64::from(memory.numChannels) << 32;
    resource.res[..3].copy_from_slice(&[memory.devPtr, second, memory.sizeInBytes as u64]);
    resource
}

/// A resource of rows.
pub(crate) fn of_rows(memory: CUDA_RESOURCE_PITCH2D) -> CUDA_RESOURCE_DESC {
    let mut resource = CUDA_RESOURCE_DESC { resType: CU_RESOURCE_TYPE_PITCH2D, ..CUDA_RESOURCE_DESC::default() };
    let second = u64::from(memory.format) | u64::from(memory.numChannels) << 32;
    let CUDA_RESOURCE_PITCH2D { devPtr, width, height, pitchInBytes, .. } = memory;
    resource.res[..5].copy_from_slice(&[devPtr, second, width as u64, height as u64, pitchInBytes as u64]);
    resource
}
