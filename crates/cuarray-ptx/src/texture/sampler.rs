//! Samplers: how coordinates find texels, and how texels become a result.

/// The treatment of coordinates outside of the image.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum AddressMode {
    /// The image repeats. Without normalized coordinates, the mode is [`AddressMode::Clamp`].
    Wrap,
    /// The nearest texel of the edge.
    #[default]
    Clamp,
    /// The image repeats, and every second copy is reversed. Without normalized coordinates, the mode is [`AddressMode::Clamp`].
    Mirror,
    /// The border colour.
    Border,
}

/// The choice among the texels, or levels of detail, near a coordinate.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum FilterMode {
    /// The nearest one.
    #[default]
    Point,
    /// A mean of the nearest ones. A texture that returns integers has no mean, and uses the nearest one.
    Linear,
}

/// The conversion of the texels of integer formats.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum ReadMode {
    /// Integers are returned as they are.
    #[default]
    Element,
    /// Integers of 8 and 16 bits are returned as floating point from 0 to 1, or from -1 to 1 if they are signed.
    NormalizedFloat,
}

/// The state of a sampler.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sampler {
    /// The address modes along x, y and z.
    pub address: [AddressMode; 3],
    /// The filter between texels of a level.
    pub filter: FilterMode,
    /// The filter between levels of a mipmap.
    pub mipmap_filter: FilterMode,
    /// Whether coordinates from 0 to 1 span the image. Otherwise a unit is one texel.
    pub normalized: bool,
    /// The colour outside of the image in [`AddressMode::Border`]: the bits of floating-point numbers, or of integers for a
    /// texture that returns integers.
    pub border: [u32; 4],
    /// A number that is added to a level of detail.
    pub level_bias: f32,
    /// The least and the greatest level of detail.
    pub level_clamp: [f32; 2],
    /// The greatest ratio of anisotropic filtering. Every value is treated as 1.
    pub max_anisotropy: u32,
    /// Whether a linear filter at the edge of a cube's face uses texels of the neighbouring faces.
    pub seamless_cube: bool,
}

impl Default for Sampler {
    /// The nearest texel, by unnormalized coordinates that are clamped.
    fn default() -> Sampler {
        Sampler {
            address: [AddressMode::Clamp; 3],
            filter: FilterMode::Point,
            mipmap_filter: FilterMode::Point,
            normalized: false,
            border: [0; 4],
            level_bias: 0.0,
            level_clamp: [0.0, f32::MAX],
            max_anisotropy: 1,
            seamless_cube: false,
        }
    }
}
