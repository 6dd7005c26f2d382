//! Images: where the texels of an array, or of linear memory, lie.

use super::format::Format;

/// The dimensions of an image, and the form of the coordinates that find a texel in it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Geometry {
    /// A row of texels.
    OneD,
    /// Rows of texels.
    TwoD,
    /// Slices of rows.
    ThreeD,
    /// Layers of one row.
    OneDLayered,
    /// Layers of rows.
    TwoDLayered,
    /// The six faces of a cube, one after another: +x, -x, +y, -y, +z, -z.
    Cube,
    /// Layers of cubes, with six faces each.
    CubeLayered,
}

/// The texels of one level of detail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Level {
    /// The device address of the first texel.
    pub address: u64,
    /// Texels along x, y and z; 1 along a dimension that the image lacks. Layers and faces do not count.
    pub extents: [u32; 3],
    /// The distance between rows in bytes.
    pub pitch: u64,
    /// The distance in bytes between slices of a 3-D image, layers, or faces of a cube.
    pub slice_pitch: u64,
}

/// The texels of a texture or surface, in device memory.
///
/// A resource view is a separate image: with the format of the view, and only its levels and layers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Image {
    /// The dimensions.
    pub geometry: Geometry,
    /// The format of the texels.
    pub format: Format,
    /// The layers of a layered image; for layers of cubes, the number of cubes. 1 if the image has no layers.
    pub layers: u32,
    /// Whether the texels are linear memory of one dimension: fetches outside of it return zeros, without a sampler.
    pub linear: bool,
    /// The levels of a mipmap, the largest first; one level without a mipmap.
    pub levels: Vec<Level>,
}

impl Image {
    /// Whether an instruction of a geometry can access the image. Faces of cubes are layers too.
    pub(crate) fn suits(&self, geometry: Geometry) -> bool {
        let cubes = matches!(self.geometry, Geometry::Cube | Geometry::CubeLayered);
        self.geometry == geometry || geometry == Geometry::TwoDLayered && cubes
    }

    /// The number of layers for an instruction of a geometry.
    pub(crate) fn layers(&self, geometry: Geometry) -> u32 {
        let cubes = matches!(self.geometry, Geometry::Cube | Geometry::CubeLayered);
        let faces = if cubes && geometry == Geometry::TwoDLayered { 6 } else { 1 };
        self.layers.max(1).saturating_mul(faces)
    }

    /// The slice of a layer. The last layer takes the place of those behind it.
    pub(crate) fn layer(&self, geometry: Geometry, layer: u32) -> u64 {
        match geometry {
            Geometry::OneDLayered | Geometry::TwoDLayered => layer.min(self.layers(geometry) - 1).into(),
            _ => 0,
        }
    }

    /// The slice of a face in a layer of cubes.
    pub(crate) fn face(&self, layer: u32, face: u32) -> u64 {
        let layer = if self.geometry == Geometry::CubeLayered { layer.min(self.layers.max(1) - 1) } else { 0 };
        u64::from(layer) * 6 + u64::from(face)
    }

    /// The address of a texel by its column, row and depth in a layer.
    pub(crate) fn address(&self, level: &Level, [column, row, depth]: [u32; 3], layer: u64) -> u64 {
        let texel = u64::from(column) * u64::from(self.format.bytes());
        let row = u64::from(row).wrapping_mul(level.pitch);
        let slice = (u64::from(depth) + layer).wrapping_mul(level.slice_pitch);
        level.address.wrapping_add(texel).wrapping_add(row).wrapping_add(slice)
    }
}
