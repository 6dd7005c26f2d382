//! The limits of arrays, textures and surfaces, as attributes of a device.
//!
//! By the technical specifications in the CUDA C++ programming guide, which are those of all simulated compute capabilities.

/// The attributes by their number in the header.
const LIMITS: &[(u32, i32)] = &[
    (14, 512),     // alignment of linear memory
    (21, 131_072), // 1-D width
    (22, 131_072),
    (23, 65_536), // 2-D width and height
    (24, 16_384),
    (25, 16_384),
    (26, 16_384), // 3-D extents
    (27, 32_768),
    (28, 32_768),
    (29, 2_048), // layered 2-D width, height and layers
    (30, 512),   // alignment of surfaces
    (42, 32_768),
    (43, 2_048), // layered 1-D width and layers
    (44, 1),
    (45, 32_768),
    (46, 32_768), // gathers, width and height
    (47, 8_192),
    (48, 8_192),
    (49, 32_768), // 3-D extents, alternative
    (51, 32),     // alignment of the pitch
    (52, 32_768),
    (53, 32_768),
    (54, 2_046), // cubes; layered cubes and their faces
    (55, 32_768),
    (56, 131_072),
    (57, 65_536), // surfaces: 1-D, 2-D
    (58, 16_384),
    (59, 16_384),
    (60, 16_384), // surfaces: 3-D
    (61, 32_768),
    (62, 2_048), // surfaces: layered 1-D
    (63, 32_768),
    (64, 32_768),
    (65, 2_048), // surfaces: layered 2-D
    (66, 32_768),
    (67, 32_768),
    (68, 2_046),        // surfaces: cubes and layered cubes
    (69, LINEAR_WIDTH), // linear memory, 1-D
    (70, 131_072),
    (71, 65_000),
    (72, 2_097_120), // linear memory, 2-D width, height and pitch
    (73, 32_768),
    (74, 32_768),
    (77, 32_768), // mipmapped 2-D width and height, 1-D width
];

/// The most texels of a 1-D texture over linear memory.
pub(crate) const LINEAR_WIDTH: i32 = 1 << 28;

/// The value of an attribute about arrays, textures and surfaces; `None` for other attributes.
pub(crate) fn limit(attribute: u32) -> Option<i32> {
    LIMITS.iter().find(|(number, _)| *number == attribute).map(|(_, value)| *value)
}
