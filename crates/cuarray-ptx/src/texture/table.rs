//! The textures and surfaces that a launch can use, by their handles.

use super::image::Image;
use super::sampler::{ReadMode, Sampler};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A texture: an image and the way to read it.
#[derive(Clone, PartialEq, Debug)]
pub struct Texture {
    /// The texels.
    pub image: Image,
    /// The sampler, which an instruction with its own sampler replaces.
    pub sampler: Sampler,
    /// The conversion of integers.
    pub read: ReadMode,
    /// Whether unsigned channels of 8 bits that are read as floating point hold sRGB, apart from the fourth channel.
    pub srgb: bool,
}

/// A surface: an image that kernels read and write without a sampler.
#[derive(Clone, PartialEq, Debug)]
pub struct Surface {
    /// The texels, of one level.
    pub image: Image,
}

/// The kind of a module variable whose contents are opaque. Its address is the handle of the object that is bound to it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Opaque {
    /// `.texref`.
    Texture,
    /// `.samplerref`, with its initial state.
    Sampler(Sampler),
    /// `.surfref`.
    Surface,
}

/// The objects by handle. A handle is a number that the caller has chosen, or the address of an [`Opaque`] variable.
#[derive(Clone, Default, Debug)]
pub struct Textures {
    /// The textures.
    pub textures: BTreeMap<u64, Arc<Texture>>,
    /// The surfaces.
    pub surfaces: BTreeMap<u64, Arc<Surface>>,
    /// The samplers of modules whose samplers are independent of their textures.
    pub samplers: BTreeMap<u64, Sampler>,
}

impl Textures {
    /// A table without objects.
    pub const NONE: &'static Textures =
        &Textures { textures: BTreeMap::new(), surfaces: BTreeMap::new(), samplers: BTreeMap::new() };
}
