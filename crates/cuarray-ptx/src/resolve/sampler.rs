//! Opaque variables, and the state of samplers that modules define.
//!
//! PTX manual: [texture, sampler and surface
//! types](https://docs.nvidia.com/cuda/parallel-thread-execution/#texture-sampler-and-surface-types).

use crate::Error;
use crate::grammar::ast::{self, Variable};
use crate::grammar::types::Space;
use crate::texture::{AddressMode, FilterMode, Opaque, Sampler};

/// The kind of a variable whose contents are opaque, with the state of a sampler.
pub(super) fn opaque(variable: &Variable<'_>) -> Result<Option<Opaque>, Error> {
    let wrong = |token: &str, message: &str| Err(Error::new(variable.line, token, message));
    let Some(opaque) = &variable.opaque else { return Ok(None) };
    if variable.space != Space::Global {
        return wrong(
            variable.name,
            "a texture, sampler or surface is a variable in global memory, or a parameter of a kernel",
        );
    }
    if variable.elements != 1 {
        return wrong(variable.name, "an array of textures, samplers or surfaces does not exist");
    }
    let attributes = match opaque {
        ast::Opaque::Texture => return Ok(Some(Opaque::Texture)),
        ast::Opaque::Surface => return Ok(Some(Opaque::Surface)),
        ast::Opaque::Sampler(attributes) => attributes,
    };
    // The texture tells whether its coordinates are normalized; the sampler can only switch that off.
    let mut sampler = Sampler { normalized: true, ..Sampler::default() };
    for (name, value) in attributes {
        match (*name, *value) {
            ("filter_mode", "nearest") => sampler.filter = FilterMode::Point,
            ("filter_mode", "linear") => sampler.filter = FilterMode::Linear,
            ("force_unnormalized_coords", "0") => sampler.normalized = true,
            ("force_unnormalized_coords", "1") => sampler.normalized = false,
            ("addr_mode_0" | "addr_mode_1" | "addr_mode_2", mode) => {
                let axis = usize::from(name.as_bytes()[name.len() - 1] - b'0');
                sampler.address[axis] = match mode {
                    "wrap" => AddressMode::Wrap,
                    "mirror" => AddressMode::Mirror,
                    "clamp_to_edge" => AddressMode::Clamp,
                    "clamp_to_border" => AddressMode::Border,
                    "clamp_ogl" => {
                        let message = "the address mode clamp_ogl is not supported";
                        return Err(Error::unsupported(variable.line, mode, message));
                    }
                    _ => return wrong(mode, "the address mode does not exist"),
                };
            }
            ("filter_mode" | "force_unnormalized_coords", _) => {
                return wrong(value, "the attribute does not have this value");
            }
            _ => return wrong(name, "a sampler does not have this attribute"),
        }
    }
    Ok(Some(Opaque::Sampler(sampler)))
}
