//! Accesses to surfaces: `suld`, `sust` and `sured`.

use super::access_mode::Mode;
use super::atomic::Word;
use super::fault::FaultKind;
use super::memory::Cell;
use super::program::{Instruction, LEFT_OUT};
use super::texture::{bytes_at, geometry_code, geometry_of};
use super::{Flow, Launch, Machine, Strength};
use crate::grammar::types::Space;
use crate::races::cell::{Kind, digest};
use crate::texture::surface::{Outside, Place};
use crate::texture::{ChannelKind, Geometry, Surface, format};

/// The form of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Form {
    pub geometry: Geometry,
    pub outside: Outside,
    /// The size of an element in bytes.
    pub bytes: u32,
    /// The number of elements: 1, 2 or 4.
    pub count: u32,
    /// Whether the first coordinate counts samples, and elements are converted to the surface's format.
    pub samples: bool,
    /// Whether the registers have 64 bits.
    pub wide: bool,
    /// The operation of `sured`: the index in [`OPERATIONS`].
    pub operation: u32,
    /// Whether a reduction compares signed numbers.
    pub signed: bool,
}

/// The operations of `sured` by their codes.
pub(crate) const OPERATIONS: [&str; 5] = ["add", "min", "max", "and", "or"];

/// The further operands: the number of the first of each kind, after four elements.
pub(crate) const LAYER: usize = 4;
pub(crate) const COORDINATES: usize = 5;
pub(crate) const OPERANDS: usize = 8;

impl Form {
    pub(crate) fn code(self) -> u32 {
        geometry_code(self.geometry)
            | (self.outside as u32) << 3
            | self.bytes << 5
            | self.count << 9
            | u32::from(self.samples) << 12
            | u32::from(self.wide) << 13
            | self.operation << 14
            | u32::from(self.signed) << 17
    }

    fn of(code: u32) -> Form {
        Form {
            geometry: geometry_of(code),
            outside: Outside::ALL.get(code as usize >> 3 & 3).copied().unwrap_or(Outside::Trap),
            bytes: code >> 5 & 0xf,
            count: code >> 9 & 7,
            samples: code >> 12 & 1 == 1,
            wide: code >> 13 & 1 == 1,
            operation: code >> 14 & 7,
            signed: code >> 17 & 1 == 1,
        }
    }
}

/// The surface of each lane.
type Surfaces<'a> = [Option<&'a Surface>; 32];

impl<'p> Machine<'p> {
    /// Finds the surfaces of the lanes, and sets the addresses of the lanes that access them. `size` gives the bytes of an
    /// access. Returns the lanes whose access is inside.
    ///
    /// # Safety
    /// The operands are those of a surface instruction.
    unsafe fn places(
        &mut self,
        instruction: &Instruction,
        form: Form,
        write: bool,
        size: impl Fn(&Surface) -> u32,
    ) -> Result<(Surfaces<'p>, u32), Flow> {
        // SAFETY: this function's contract.
        let (handles, layers, coordinates) = unsafe {
            let coordinates = [0, 1, 2].map(|axis| self.row(instruction, COORDINATES + axis));
            (self.slots::<[u64; 32]>(instruction.a).read(), self.row(instruction, LAYER), coordinates)
        };
        let launch: &'p Launch<'p> = self.launch;
        let (mut surfaces, mut inside): (Surfaces<'p>, u32) = ([None; 32], 0);
        for lane in self.lanes() {
            let handle = handles[lane];
            let Some(surface) = launch.textures.surfaces.get(&handle).map(|surface| &**surface) else {
                return Err(self.fail(FaultKind::NoTexture, lane as u32, handle, 0, write));
            };
            if !surface.image.suits(form.geometry) {
                return Err(self.fail(FaultKind::OtherGeometry, lane as u32, handle, 0, write));
            }
            let place = Place {
                geometry: form.geometry,
                coordinates: coordinates.map(|row| row[lane] as i32),
                layer: layers[lane],
                samples: form.samples,
                size: size(surface),
            };
            match surface.address(&place, form.outside) {
                Some(address) => {
                    self.addresses[lane] = address;
                    inside |= 1 << lane;
                }
                None if form.outside == Outside::Trap => {
                    return Err(self.fail(FaultKind::OutsideSurface, lane as u32, handle, place.size, write));
                }
                None => {}
            }
            surfaces[lane] = Some(surface);
        }
        Ok((surfaces, inside))
    }

    /// Resolves and records a store of `size` bytes at the lanes' addresses, and writes the bytes in words.
    ///
    /// # Safety
    /// `size` is 1, 2, 4, 8 or 16.
    unsafe fn write_given(&mut self, size: u32, bytes: &[[u8; 16]; 32]) -> Flow {
        if self.locate_given(size, true) == Flow::Stop {
            return Flow::Stop;
        }
        let word = size.min(8);
        for at in (0..size).step_by(word as usize) {
            let value = |lane: usize| {
                let mut value = [0; 8];
                for (target, source) in value.iter_mut().zip(bytes[lane].iter().skip(at as usize).take(word as usize)) {
                    *target = *source;
                }
                u64::from_le_bytes(value)
            };
            if self.races.on {
                let digests = std::array::from_fn(|lane| digest(value(lane)));
                self.touch(Mode::new(Space::Global, true).code(), word, at, Kind::Write, &digests);
            }
            for lane in self.lanes() {
                // SAFETY: `locate_given` has resolved the pointers for all bytes, with their alignment.
                unsafe {
                    let pointer = self.pointers[lane].add(at as usize);
                    match word {
                        1 => u8::set(pointer, value(lane)),
                        2 => u16::set(pointer, value(lane)),
                        4 => u32::set(pointer, value(lane)),
                        _ => u64::set(pointer, value(lane)),
                    }
                }
            }
        }
        Flow::Next
    }
}

/// `suld.b`: the first further operands are the targets.
pub(crate) unsafe fn load(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    let form = Form::of(instruction.c);
    let size = form.bytes * form.count;
    let all = machine.mask;
    // SAFETY: the resolver checked the operands.
    let inside = match unsafe { machine.places(instruction, form, false, |_| size) } {
        Ok((_, inside)) => inside,
        Err(flow) => return flow,
    };
    let mut loaded = [[0_u8; 16]; 32];
    if inside != 0 {
        machine.mask = inside;
        if machine.read_given(size) == Flow::Stop {
            return Flow::Stop;
        }
        for lane in machine.lanes() {
            // SAFETY: `read_given` has resolved the pointers for this many bytes, with that alignment.
            loaded[lane] = unsafe { bytes_at(machine.pointers[lane], size) };
        }
        machine.mask = all;
    }
    for index in 0..form.count {
        let target = machine.extra(instruction, index as usize);
        if target == LEFT_OUT {
            continue;
        }
        for lane in machine.lanes() {
            let bits = u128::from_le_bytes(loaded[lane]) >> (8 * index * form.bytes);
            let value = bits as u64 & (u64::MAX >> (64 - 8 * form.bytes));
            // SAFETY: the resolver checked the width of the register.
            unsafe {
                match form.wide {
                    true => machine.slots::<u64>(target).add(lane).write(value),
                    false => machine.slots::<u32>(target).add(lane).write(value as u32),
                }
            }
        }
    }
    Flow::Next
}

/// The sources of a store, as one number for each lane.
///
/// # Safety
/// The first further operands are the sources.
unsafe fn sources(machine: &Machine<'_>, instruction: &Instruction, form: Form) -> [[u64; 4]; 32] {
    let mut values = [[0; 4]; 32];
    for index in 0..form.count as usize & 7 {
        let source = machine.extra(instruction, index);
        for lane in machine.lanes() {
            // SAFETY: the resolver checked the width of the register.
            let value = unsafe {
                match form.wide {
                    true => machine.slots::<u64>(source).add(lane).read(),
                    false => machine.slots::<u32>(source).add(lane).read().into(),
                }
            };
            values[lane][index & 3] = value;
        }
    }
    values
}

/// `sust`: the first further operands are the sources.
pub(crate) unsafe fn store(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    let form = Form::of(instruction.c);
    let size = |surface: &Surface| if form.samples { surface.image.format.bytes() } else { form.bytes * form.count };
    // SAFETY: the resolver checked the operands.
    let (values, placed) =
        unsafe { (sources(machine, instruction, form), machine.places(instruction, form, true, size)) };
    let (surfaces, inside) = match placed {
        Ok(placed) => placed,
        Err(flow) => return flow,
    };
    let mut bytes = [[0_u8; 16]; 32];
    let mut sizes = [0_u32; 32];
    for lane in machine.lanes() {
        let Some(surface) = surfaces[lane] else { continue };
        sizes[lane] = size(surface);
        bytes[lane] = match form.samples {
            true => format::stored(surface.image.format, values[lane].map(|value| value as u32)),
            false => {
                let mask = u64::MAX >> (64 - 8 * form.bytes);
                let place = |index: usize| u128::from(values[lane][index] & mask) << (8 * form.bytes * index as u32);
                (0..form.count as usize).fold(0, |all, index| all | place(index)).to_le_bytes()
            }
        };
    }
    let (all, mut rest) = (machine.mask, inside);
    while rest != 0 {
        let bytes_of = sizes[rest.trailing_zeros() as usize & 31];
        machine.mask =
            (0..32).filter(|lane| rest >> lane & 1 == 1 && sizes[*lane] == bytes_of).fold(0, |m, lane| m | 1 << lane);
        rest &= !machine.mask;
        // SAFETY: the size is that of an access or a texel.
        if unsafe { machine.write_given(bytes_of, &bytes) } == Flow::Stop {
            return Flow::Stop;
        }
    }
    machine.mask = all;
    Flow::Next
}

/// `sured`: the first further operand is the value.
pub(crate) unsafe fn reduce(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    let form = Form::of(instruction.c);
    // SAFETY: the resolver checked the operands.
    let (values, placed) =
        unsafe { (sources(machine, instruction, form), machine.places(instruction, form, true, |_| form.bytes)) };
    let (surfaces, inside) = match placed {
        Ok(placed) => placed,
        Err(flow) => return flow,
    };
    if inside == 0 {
        return Flow::Next;
    }
    let all = std::mem::replace(&mut machine.mask, inside);
    machine.recorder.updates = true;
    let flow = machine.locate_given(form.bytes, true);
    machine.recorder.updates = false;
    if flow == Flow::Stop {
        return Flow::Stop;
    }
    if machine.races.on {
        // The reduction is an atomic operation of the device whose result nothing uses.
        let mode = Mode { updates: true, strength: Strength::Device, ..Mode::new(Space::Global, true) };
        let operation = Instruction { c: mode.code(), d: LEFT_OUT, ..*instruction };
        machine.watch_atomic(&operation, (form.bytes, 1), false, 0);
    }
    for lane in machine.lanes() {
        let signed = match surfaces[lane] {
            Some(surface) if form.samples => matches!(
                surface.image.format.kind,
                ChannelKind::Signed8 | ChannelKind::Signed16 | ChannelKind::Signed32
            ),
            _ => form.signed,
        };
        let (value, pointer) = (values[lane][0], machine.pointers[lane]);
        // SAFETY: `locate_given` has resolved the pointers for the word, with its alignment.
        unsafe {
            match form.bytes {
                8 => _ = u64::update(pointer, |old| reduced(form.operation, signed, 64, old, value)),
                _ => _ = u32::update(pointer, |old| reduced(form.operation, signed, 32, old.into(), value) as u32),
            }
        }
    }
    machine.mask = all;
    Flow::Next
}

/// The result of a reduction of numbers with `bits` bits.
fn reduced(operation: u32, signed: bool, bits: u32, old: u64, value: u64) -> u64 {
    let (mask, shift) = (u64::MAX >> (64 - bits), 64 - bits);
    let (old, value) = (old & mask, value & mask);
    let with_sign = |number: u64| (number << shift) as i64 >> shift;
    let least = if signed { with_sign(old) <= with_sign(value) } else { old <= value };
    match operation {
        0 => old.wrapping_add(value) & mask,
        1 if least => old,
        1 => value,
        2 if least => value,
        2 => old,
        3 => old & value,
        _ => old | value,
    }
}
