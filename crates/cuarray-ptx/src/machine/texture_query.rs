//! Queries of textures, surfaces and samplers: `txq`, `suq` and `istypep`.

use super::fault::FaultKind;
use super::program::{Instruction, LEFT_OUT};
use super::{Flow, Launch, Machine};
use crate::texture::{ChannelKind, Geometry, Image, ReadMode};

/// The attributes that `txq` and `suq` return, by their codes.
pub(crate) const ATTRIBUTES: [&str; 11] = [
    "width",
    "height",
    "depth",
    "channel_data_type",
    "channel_order",
    "array_size",
    "num_mipmap_levels",
    "num_samples",
    "memory_layout",
    "normalized_coords",
    "force_unnormalized_coords",
];

/// The attribute of the coordinates of a texture, and that of a sampler.
const NORMALIZED: usize = 9;
const UNNORMALIZED: usize = 10;

/// The attribute of an image's level.
fn attribute(image: &Image, read: ReadMode, code: usize, level: usize) -> u32 {
    let extents = image.levels.get(level).map_or([0; 3], |level| level.extents);
    match code {
        0..=2 => extents[code],
        3 => data_type(image.format.kind, read),
        // The orders R, RG and RGBA of OpenCL.
        4 => match image.format.channels {
            1 => 0x10b0,
            2 => 0x10b2,
            _ => 0x10b5,
        },
        5 => match image.geometry {
            Geometry::OneDLayered | Geometry::TwoDLayered | Geometry::CubeLayered => image.layers,
            _ => 0,
        },
        6 => image.levels.len() as u32,
        7 => 1,
        _ => image.linear.into(),
    }
}

/// The number of a channel data type, as OpenCL has it.
fn data_type(kind: ChannelKind, read: ReadMode) -> u32 {
    let promoted = read == ReadMode::NormalizedFloat;
    match kind {
        ChannelKind::SignedNorm8 => 0x10d0,
        ChannelKind::SignedNorm16 => 0x10d1,
        ChannelKind::UnsignedNorm8 => 0x10d2,
        ChannelKind::UnsignedNorm16 => 0x10d3,
        ChannelKind::Signed8 => {
            if promoted {
                0x10d0
            } else {
                0x10d7
            }
        }
        ChannelKind::Signed16 => {
            if promoted {
                0x10d1
            } else {
                0x10d8
            }
        }
        ChannelKind::Signed32 => 0x10d9,
        ChannelKind::Unsigned8 => {
            if promoted {
                0x10d2
            } else {
                0x10da
            }
        }
        ChannelKind::Unsigned16 => {
            if promoted {
                0x10d3
            } else {
                0x10db
            }
        }
        ChannelKind::Unsigned32 => 0x10dc,
        ChannelKind::Half => 0x10dd,
        ChannelKind::Float => 0x10de,
    }
}

/// `txq` or `suq`: `d` is the attribute `imm` of the object with the handle `a`, at the level `b`. `c` tells whether the object
/// is a surface.
pub(crate) unsafe fn query(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    let (code, surfaces) = (instruction.imm as usize, instruction.c == 1);
    // SAFETY: the resolver checked that `a` is a handle, and `b` is left out or has 32 bits.
    let (handles, levels) = unsafe {
        let levels = match instruction.b {
            LEFT_OUT => [0; 32],
            level => machine.slots::<[u32; 32]>(level).read(),
        };
        (machine.slots::<[u64; 32]>(instruction.a).read(), levels)
    };
    let table = machine.launch.textures;
    for lane in machine.lanes() {
        let (handle, level) = (handles[lane], levels[lane] as usize);
        let texture = table.textures.get(&handle).filter(|_| !surfaces);
        let sampler = table.samplers.get(&handle).or(texture.map(|texture| &texture.sampler));
        let value = match (code, texture) {
            (NORMALIZED, Some(texture)) => Some(texture.sampler.normalized.into()),
            (UNNORMALIZED, _) if !surfaces => sampler.map(|sampler| u32::from(!sampler.normalized)),
            (NORMALIZED | UNNORMALIZED, _) => None,
            (_, Some(texture)) => Some(attribute(&texture.image, texture.read, code, level)),
            (_, None) => {
                let surface = table.surfaces.get(&handle).filter(|_| surfaces);
                surface.map(|surface| attribute(&surface.image, ReadMode::Element, code, level))
            }
        };
        let Some(value) = value else {
            return machine.fail(FaultKind::NoTexture, lane as u32, handle, 0, false);
        };
        // SAFETY: the resolver checked that `d` is a register of 32 bits.
        unsafe { machine.slots::<u32>(instruction.d).add(lane).write(value) };
    }
    Flow::Next
}

/// `istypep`: sets the predicate `d` if the handle `a` is one of the kind `imm`: texture, sampler or surface.
pub(crate) unsafe fn is_type(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    let launch: &Launch<'_> = machine.launch;
    let table = launch.textures;
    // SAFETY: the resolver checked that `a` has 64 bits.
    let handles = unsafe { machine.slots::<[u64; 32]>(instruction.a).read() };
    let is = |handle: &u64| match instruction.imm {
        0 => table.textures.contains_key(handle),
        1 => table.samplers.contains_key(handle),
        _ => table.surfaces.contains_key(handle),
    };
    let holds = machine.lanes().filter(|lane| is(&handles[*lane])).fold(0, |all, lane| all | 1 << lane);
    // SAFETY: the resolver checked that `d` is a predicate.
    unsafe { machine.set_predicate(instruction.d, holds) };
    Flow::Next
}
