//! Texture fetches: `tex` and `tld4`.
//!
//! A fetch has three steps. The texture turns the coordinates of each lane into the addresses of texels. The machine loads
//! these texels one after another, for all lanes at once, with the checks and records of other loads. Then the texture
//! computes the result of each lane.

use super::access_mode::Mode;
use super::fault::FaultKind;
use super::memory::Cell;
use super::program::{Instruction, LEFT_OUT};
use super::{Flow, Launch, Machine};
use crate::float::{self, Rounding};
use crate::grammar::types::Space;
use crate::races::cell::Kind;
use crate::texture::fetch::{Detail, Fetch, Footprint, MOST};
use crate::texture::{Geometry, Sampler, Texture};

/// The form of the results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Results {
    /// Four words: integers, or numbers of 32 bits.
    Words,
    /// Four numbers of 16 bits.
    Halves,
    /// Four numbers of 16 bits in two words.
    Pairs,
}

/// The choice of the level of detail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Chosen {
    Base,
    Level,
    Gradients,
}

/// The form of a fetch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Form {
    pub geometry: Geometry,
    /// Whether the coordinates are integers.
    pub integral: bool,
    pub chosen: Chosen,
    pub results: Results,
    /// The component of four texels that `tld4` returns.
    pub component: Option<u32>,
}

/// The further operands: the number of the first of each kind. The results and the predicate are written.
pub(crate) const RESIDENT: usize = 4;
pub(crate) const WRITTEN: usize = 5;
pub(crate) const LAYER: usize = 5;
pub(crate) const COORDINATES: usize = 6;
pub(crate) const DETAIL: usize = 9;
pub(crate) const OFFSET: usize = 15;
pub(crate) const OPERANDS: usize = 18;

/// The geometries by their codes.
pub(crate) const GEOMETRIES: [Geometry; 7] = [
    Geometry::OneD,
    Geometry::TwoD,
    Geometry::ThreeD,
    Geometry::OneDLayered,
    Geometry::TwoDLayered,
    Geometry::Cube,
    Geometry::CubeLayered,
];

/// Encodes a geometry in three bits.
pub(crate) fn geometry_code(geometry: Geometry) -> u32 {
    GEOMETRIES.iter().position(|other| *other == geometry).unwrap_or(0) as u32
}

/// Decodes a geometry of the lowest three bits.
pub(super) fn geometry_of(code: u32) -> Geometry {
    GEOMETRIES.get(code as usize & 7).copied().unwrap_or(Geometry::OneD)
}

impl Form {
    pub(crate) fn code(self) -> u32 {
        let component = self.component.map_or(0, |component| component + 1);
        geometry_code(self.geometry)
            | u32::from(self.integral) << 3
            | (self.chosen as u32) << 4
            | (self.results as u32) << 6
            | component << 8
    }

    fn of(code: u32) -> Form {
        let chosen = [Chosen::Base, Chosen::Level, Chosen::Gradients, Chosen::Base][code as usize >> 4 & 3];
        let results = [Results::Words, Results::Halves, Results::Pairs, Results::Words][code as usize >> 6 & 3];
        Form {
            geometry: geometry_of(code),
            integral: code >> 3 & 1 == 1,
            chosen,
            results,
            component: (code >> 8 & 7).checked_sub(1),
        }
    }
}

/// The value of a register in all lanes.
type Row = [u32; 32];

/// The texture and the sampler of each lane.
struct Bound<'a> {
    textures: [Option<&'a Texture>; 32],
    samplers: [Sampler; 32],
}

impl<'p> Machine<'p> {
    /// The lanes of the mask.
    pub(super) fn lanes(&self) -> impl Iterator<Item = usize> + use<> {
        let mask = self.mask;
        (0..32).filter(move |lane| mask >> lane & 1 == 1)
    }

    /// Reads a further operand of 32 bits; zeros if it is left out.
    ///
    /// # Safety
    /// The operand is left out, or a register or constant of 32 bits.
    pub(super) unsafe fn row(&self, instruction: &Instruction, index: usize) -> Row {
        match self.extra(instruction, index) {
            LEFT_OUT => [0; 32],
            // SAFETY: this function's contract.
            operand => unsafe { self.slots::<Row>(operand).read() },
        }
    }

    /// Finds the textures and samplers of the lanes.
    ///
    /// # Safety
    /// Operand `a` is a handle. Operand `b` is one too, or is left out.
    unsafe fn bound(&mut self, instruction: &Instruction, geometry: Geometry) -> Result<Bound<'p>, Flow> {
        // SAFETY: this function's contract.
        let (handles, samplers) = unsafe {
            let samplers = (instruction.b != LEFT_OUT).then(|| self.slots::<[u64; 32]>(instruction.b).read());
            (self.slots::<[u64; 32]>(instruction.a).read(), samplers)
        };
        let launch: &'p Launch<'p> = self.launch;
        let mut bound = Bound { textures: [None; 32], samplers: [Sampler::default(); 32] };
        let mut last: Option<(u64, &'p Texture)> = None;
        for lane in self.lanes() {
            let handle = handles[lane];
            let found = match last {
                Some((known, texture)) if known == handle => Some(texture),
                _ => launch.textures.textures.get(&handle).map(|texture| &**texture),
            };
            let Some(texture) = found else {
                return Err(self.fail(FaultKind::NoTexture, lane as u32, handle, 0, false));
            };
            if !texture.image.suits(geometry) {
                return Err(self.fail(FaultKind::OtherGeometry, lane as u32, handle, 0, false));
            }
            last = Some((handle, texture));
            bound.textures[lane] = Some(texture);
            bound.samplers[lane] = match samplers {
                None => texture.sampler,
                Some(samplers) => match launch.textures.samplers.get(&samplers[lane]) {
                    // Coordinates are normalized if both the texture and the sampler say so.
                    Some(sampler) => {
                        Sampler { normalized: sampler.normalized && texture.sampler.normalized, ..*sampler }
                    }
                    None => return Err(self.fail(FaultKind::NoTexture, lane as u32, samplers[lane], 0, false)),
                },
            };
        }
        Ok(bound)
    }

    /// Loads the texels of the lanes' footprints, one of each lane at a time.
    fn load_texels(
        &mut self,
        bound: &Bound<'_>,
        footprints: &[Footprint; 32],
        texels: &mut [[[u8; 16]; 32]; MOST],
    ) -> Flow {
        let whole = self.mask;
        let count = |lane: usize| footprints[lane].taps().len();
        let most = self.lanes().map(count).max().unwrap_or(0);
        for (index, loaded) in texels.iter_mut().enumerate().take(most) {
            let mut rest = 0_u32;
            let mut addresses = [0; 32];
            for lane in self.lanes() {
                if let Some(address) = footprints[lane].taps().get(index).and_then(|tap| tap.address) {
                    addresses[lane] = address;
                    rest |= 1 << lane;
                }
            }
            let size = |lane: usize| bound.textures[lane].map_or(1, |texture| texture.image.format.bytes());
            while rest != 0 {
                // The lanes may have several textures.
                let bytes = size(rest.trailing_zeros() as usize & 31);
                let alike = (0..32).filter(|lane| rest >> lane & 1 == 1 && size(*lane) == bytes);
                self.mask = alike.fold(0, |mask, lane| mask | 1 << lane);
                rest &= !self.mask;
                self.addresses = addresses;
                if self.read_given(bytes) == Flow::Stop {
                    return Flow::Stop;
                }
                for lane in self.lanes() {
                    // SAFETY: `read_given` has resolved the pointers for this many bytes, with that alignment.
                    loaded[lane] = unsafe { bytes_at(self.pointers[lane], bytes) };
                }
                self.mask = whole;
            }
        }
        Flow::Next
    }

    /// Resolves and records a read of the lanes' addresses, by the path of textures and surfaces.
    pub(super) fn read_given(&mut self, size: u32) -> Flow {
        if self.locate_given(size, false) == Flow::Stop {
            return Flow::Stop;
        }
        if self.races.on && !self.is_only_read(self.region as usize) {
            self.touch(Mode::new(Space::Global, true).code(), size, 0, Kind::Read, &[0; 32]);
            if self.launch.strict {
                self.meet_unseen_writes(size);
            }
        }
        Flow::Next
    }
}

/// Reads up to 16 bytes, a power of two.
///
/// # Safety
/// The pointer is valid for the bytes, and aligned for them.
pub(super) unsafe fn bytes_at(pointer: *mut u8, size: u32) -> [u8; 16] {
    // SAFETY: this function's contract.
    let (low, high) = unsafe {
        match size {
            1 => (u8::get(pointer), 0),
            2 => (u16::get(pointer), 0),
            4 => (u32::get(pointer), 0),
            8 => (u64::get(pointer), 0),
            _ => (u64::get(pointer), u64::get(pointer.add(8))),
        }
    };
    (u128::from(high) << 64 | u128::from(low)).to_le_bytes()
}

/// Executes `tex` or `tld4` with the [`Form`] `c`. `a` is the handle of the texture, `b` that of a sampler.
pub(crate) unsafe fn fetch(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    let form = Form::of(instruction.c);
    // SAFETY: the resolver checked the operands.
    let (bound, layers, coordinates, details, offsets) = unsafe {
        let bound = match machine.bound(instruction, form.geometry) {
            Ok(bound) => bound,
            Err(flow) => return flow,
        };
        let coordinates = [0, 1, 2].map(|axis| machine.row(instruction, COORDINATES + axis));
        let details = [0, 1, 2, 3, 4, 5].map(|place| machine.row(instruction, DETAIL + place));
        let offsets = [0, 1, 2].map(|axis| machine.row(instruction, OFFSET + axis));
        (bound, machine.row(instruction, LAYER), coordinates, details, offsets)
    };
    let mut footprints = [Footprint::default(); 32];
    for lane in machine.lanes() {
        let Some(texture) = bound.textures[lane] else { continue };
        let detail = |place: usize| f32::from_bits(details[place][lane]);
        let fetch = Fetch {
            geometry: form.geometry,
            coordinates: coordinates.map(|row| row[lane]),
            integral: form.integral,
            layer: layers[lane],
            offset: offsets.map(|row| row[lane] as i32),
            detail: match form.chosen {
                Chosen::Base => Detail::Base,
                Chosen::Level => Detail::Level(detail(0)),
                Chosen::Gradients => {
                    Detail::Gradients([[detail(0), detail(1), detail(2)], [detail(3), detail(4), detail(5)]])
                }
            },
        };
        let sampler = &bound.samplers[lane];
        footprints[lane] = match form.component {
            Some(_) => texture.gathered(sampler, &fetch),
            None => texture.footprint(sampler, &fetch),
        };
    }
    let mut texels = [[[0; 16]; 32]; MOST];
    if machine.load_texels(&bound, &footprints, &mut texels) == Flow::Stop {
        return Flow::Stop;
    }
    let mut results = [[0_u32; 32]; 4];
    for lane in machine.lanes() {
        let Some(texture) = bound.textures[lane] else { continue };
        let (sampler, footprint) = (&bound.samplers[lane], &footprints[lane]);
        let texel = |index: usize| texels[index & (MOST - 1)][lane];
        let channels = match form.component {
            None => texture.blend(sampler, footprint, texel),
            Some(component) => texture.component(sampler, footprint, component, texel),
        };
        let narrow = |channel: u32| match texture.returns_integers() {
            true => channel & 0xffff,
            false => float::convert(float::F32, float::F16, channel.into(), Rounding::Near) as u32,
        };
        let channels = match form.results {
            Results::Words => channels,
            Results::Halves => channels.map(narrow),
            Results::Pairs => {
                let [a, b, c, d] = channels.map(narrow);
                [a | b << 16, c | d << 16, 0, 0]
            }
        };
        for (row, channel) in results.iter_mut().zip(channels) {
            row[lane] = channel;
        }
    }
    for (index, row) in results.iter().enumerate() {
        let target = machine.extra(instruction, index);
        if target == LEFT_OUT {
            continue;
        }
        for lane in machine.lanes() {
            // SAFETY: the resolver checked that the target is a register of 32 bits.
            unsafe { machine.slots::<u32>(target).add(lane).write(row[lane]) };
        }
    }
    let resident = machine.extra(instruction, RESIDENT);
    if resident != LEFT_OUT {
        // SAFETY: the resolver checked that the target is a predicate.
        unsafe { machine.set_predicate(resident, u32::MAX) };
    }
    Flow::Next
}
