//! `wmma`: matrix products of a warp, with fragments whose layout PTX leaves open.
//!
//! PTX manual:
//! [wmma](https://docs.nvidia.com/cuda/parallel-thread-execution/#warp-level-matrix-instructions-wmma-mma). The fragments
//! here are those of `mma`, tile by tile. So `wmma.mma` becomes several products, and `wmma.load` and `wmma.store` become
//! plain accesses of each lane, which are checked as others are. The multiplicands of `f16` fill some registers twice.

use super::builder::Builder;
use super::draft::{Draft, Operand};
use super::mma::{product_function, shape};
use super::operand::{Modifiers, spelled};
use super::wmma_fragment::{Fragment, accumulator, exists, multiplicand, transposed};
use crate::Error;
use crate::grammar::ast::{Instruction, Operand as Written};
use crate::grammar::types::{Space, Type, Width};
use crate::machine::access_mode::{WIDE, is_wide};
use crate::machine::lanes::{map_coded, map1};
use crate::machine::matrix::element::Element;
use crate::machine::matrix::product::Form;
use crate::machine::matrix::{Sum, begin};
use crate::machine::memory::{load, store};
use crate::machine::program::Exec;
use crate::machine::undefined::Way;

/// Bits of the code of an address: not contiguous, and the position of the bits of an element.
const STRIDED: i64 = 1 << 16;
const BITS: u32 = 8;

/// The address of the first element of a lane's register: `lane` and the leading dimension select it.
fn first_element(address: u64, lane: u32, leading: u32, code: i64) -> u64 {
    let (group, member) = (u64::from(lane / 4), u64::from(lane % 4) * (code as u64 & 0xff));
    let (outer, inner) = if code & STRIDED != 0 { (member, group) } else { (group, member) };
    address.wrapping_add((outer * u64::from(leading) + inner) * (code as u64 >> BITS & 0xff) / 8)
}

impl<'a> Builder<'_, 'a> {
    pub(super) fn wmma(&mut self, instruction: &'a Instruction<'a>, words: &mut Modifiers<'a>) -> Result<(), Error> {
        if !words.take("sync") {
            return self.sync_aligned(instruction, words);
        }
        // Older versions have the instructions without this modifier.
        words.take("aligned");
        let kind = words.one_of(&["load", "store", "mma"]);
        let kind = self.needed(instruction, kind)?;
        let size = words.rest().iter().find_map(|word| shape(word).map(|size| (*word, size)));
        let (name, size) = self.needed(instruction, size)?;
        words.take(name);
        self.requires(instruction, &format!(".{name}"), 70, if size == [16, 16, 16] { (6, 0) } else { (6, 1) })?;
        if kind == 2 { self.wmma_product(instruction, words, size) } else { self.wmma_move(instruction, words, size) }
    }

    /// Checks the target and version for a type of multiplicands.
    fn wmma_needs(&self, instruction: &Instruction<'_>, element: Element) -> Result<(), Error> {
        let (feature, target, version) = match element {
            Element::S8 | Element::U8 => ("WMMA with integer types", 72, (6, 3)),
            Element::S4 | Element::U4 | Element::B1 => ("WMMA with sub-byte integer types", 75, (6, 3)),
            Element::BF16 | Element::TF32 => ("WMMA with .bf16/.tf32 FP types", 80, (7, 0)),
            Element::F64 => ("WMMA with fp64 types", 80, (7, 0)),
            _ => return Ok(()),
        };
        self.requires(instruction, feature, target, version)
    }

    /// `wmma.load` and `wmma.store`.
    fn wmma_move(
        &mut self,
        instruction: &'a Instruction<'a>,
        words: &mut Modifiers<'a>,
        [m, n, k]: [u32; 3],
    ) -> Result<(), Error> {
        let wrong = |builder: &Self, message: &str| Err(builder.wrong(&spelled(instruction), message));
        let which = words.one_of(&["a", "b", "c", "d"]);
        let which = self.needed(instruction, which)?;
        let loads = instruction.modifiers.contains(&"load");
        let by_columns = words.one_of(&["row", "col"]);
        let by_columns = self.needed(instruction, by_columns)? == 1;
        let cluster = instruction.modifiers.contains(&"shared::cluster");
        let space = words.space().unwrap_or(Space::Generic);
        if cluster || !matches!(space, Space::Generic | Space::Global | Space::Shared) || loads == (which == 3) {
            return wrong(self, &format!("State space incorrect for instruction '{}'", instruction.opcode));
        }
        let fragment = if which < 2 {
            let element = self.next_as(instruction, words, Element::named)?;
            self.wmma_needs(instruction, element)?;
            if !exists(element, [m, n, k]) || (element.bits() < 8 && by_columns != (which == 1)) {
                return wrong(self, "the manual has no such shape, type and layout");
            }
            if which == 0 { multiplicand(element, [m, k]) } else { transposed(element, [n, k]) }
        } else {
            let sum = self.next_as(instruction, words, Sum::named)?;
            let has = |element: Element| exists(element, [m, n, k]);
            let fits = match sum {
                Sum::F16 => has(Element::F16),
                Sum::F32 => has(Element::F16) || has(Element::TF32),
                Sum::F64 => has(Element::F64),
                Sum::S32 => has(Element::S8) || has(Element::S4) || has(Element::B1),
            };
            if !fits {
                return wrong(self, "the manual has no such shape and type");
            }
            accumulator(sum, [m, n])
        };
        self.count(instruction, &[2, 3])?;
        let operands = &instruction.operands;
        let (value, place) = if loads { (0, 1) } else { (1, 0) };
        let ty = fragment.held.register();
        let registers = self.fragment(instruction, (value, &operands[value]), ty, fragment.registers, loads)?;
        // The rows of `B` in memory are the columns of the fragment.
        let contiguous = by_columns == (which == 1);
        let leading = match operands.get(2) {
            Some(stride) => self.source(stride, Type::U32)?,
            None => self.bits(Type::U32, fragment.size[usize::from(contiguous)].into()),
        };
        let (address, mode) = self.wmma_address(&operands[place], space)?;
        let bytes = (fragment.registers * ty.size() as usize) as u32;
        let draft = Draft {
            a: address,
            b: leading,
            c: self.all_lanes(),
            imm: i64::from(bytes) | i64::from(fragment.held.bits()) << 16 | i64::from(!loads) << 32,
            way: Way::Uses,
            ..self.draft(begin)
        };
        self.push(draft);
        self.wmma_accesses(&fragment, &registers, (address, leading, mode), contiguous, loads);
        Ok(())
    }

    /// Resolves the address of a matrix as a generic or other address of 64 bits, and its mode.
    fn wmma_address(&mut self, operand: &'a Written<'a>, space: Space) -> Result<(Operand, u32), Error> {
        let (base, offset, mode) = self.place(operand, space)?;
        let address = Operand::Register(self.register(Width::W64));
        let exec: Exec = if is_wide(mode) {
            map_coded(|a: u64, _: u64, _: u64, code: i64| a.wrapping_add(code as u64))
        } else {
            map_coded(|a: u32, _: u32, _: u32, code: i64| u64::from(a.wrapping_add(code as u32)))
        };
        let draft = Draft { d: address, a: base, b: base, c: base, imm: offset, ..self.draft(exec) };
        self.push(draft);
        Ok((address, mode | WIDE))
    }

    /// Adds the loads or stores of a fragment.
    fn wmma_accesses(
        &mut self,
        fragment: &Fragment,
        registers: &[Operand],
        (address, leading, mode): (Operand, Operand, u32),
        contiguous: bool,
        loads: bool,
    ) {
        let bits = fragment.held.bits();
        // The lane's elements in one register, and how many of them one access moves.
        let packed = (32 / bits).max(1);
        let together = if contiguous { packed } else { 1 };
        let lane = self.lane_number();
        let first = Operand::Register(self.register(Width::W64));
        let code = i64::from(fragment.each) | i64::from(bits) << BITS | if contiguous { 0 } else { STRIDED };
        let draft =
            Draft { d: first, a: address, b: lane, c: leading, imm: code, ..self.draft(map_coded(first_element)) };
        self.push(draft);
        // All addresses are computed first: a target may be a register of the address.
        let mut accesses = Vec::new();
        for (index, [row, column]) in fragment.places.iter().enumerate() {
            for part in 0..packed / together {
                let (outer, inner) = if contiguous { (*row, *column) } else { (*column + part, *row) };
                let start = self.later_row(first, leading, i64::from(outer * bits));
                accesses.push((index, part, start, i64::from(inner * bits / 8)));
            }
        }
        let width = bits * together;
        let (load, store): (Exec, Exec) = match width {
            8 => (load::<u8, u32>(), store::<u8, u32>()),
            16 => (load::<u16, u32>(), store::<u16, u32>()),
            32 => (load::<u32, u32>(), store::<u32, u32>()),
            _ => (load::<u64, u64>(), store::<u64, u64>()),
        };
        let c = Operand::Number(mode);
        for (index, part, a, imm) in accesses {
            let register = registers[index];
            let whole = packed == together;
            let shift = i64::from(part * bits);
            if !loads {
                let mut b = register;
                if !whole {
                    b = Operand::Register(self.register(Width::W32));
                    let exec = map_coded(|a: u32, _: u32, _: u32, code: i64| a >> code);
                    let draft = Draft { d: b, a: register, b: register, c: register, imm: shift, ..self.draft(exec) };
                    self.push(draft);
                }
                let draft = Draft { a, b, c, imm, way: Way::Accesses, ..self.draft(store) };
                self.push(draft);
                continue;
            }
            let wide = width == 64;
            let needs_other = !whole || register == Operand::Nothing;
            let d = if needs_other {
                Operand::Register(self.register(if wide { Width::W64 } else { Width::W32 }))
            } else {
                register
            };
            let draft = Draft { d, a, c, imm, way: Way::Accesses, ..self.draft(load) };
            self.push(draft);
            if !whole && register != Operand::Nothing {
                // The first part sets the register, the others are added.
                let old = if part == 0 { self.bits(Type::U32, 0) } else { register };
                let exec = map_coded(|a: u32, b: u32, _: u32, code: i64| a | b << code);
                let draft = Draft { d: register, a: old, b: d, c: d, imm: shift, ..self.draft(exec) };
                self.push(draft);
            }
        }
        if loads {
            for index in fragment.places.len()..registers.len() {
                let (from, to) = (registers[index % fragment.places.len()], registers[index]);
                if from != Operand::Nothing && to != Operand::Nothing {
                    self.emit(map1(|a: u32| a), to, [from, Operand::Nothing, Operand::Nothing]);
                }
            }
        }
    }

    /// The register with the lane's number.
    fn lane_number(&mut self) -> Operand {
        let register = Operand::Register(self.register(Width::W32));
        let draft = Draft { d: register, ..self.draft(crate::machine::matrix::lane_numbers) };
        self.push(draft);
        register
    }

    /// The address a number of rows further on, in bits of a row of one element.
    fn later_row(&mut self, first: Operand, leading: Operand, bits: i64) -> Operand {
        if bits == 0 {
            return first;
        }
        let later = Operand::Register(self.register(Width::W64));
        let exec = map_coded(|a: u64, b: u32, _: u32, code: i64| a.wrapping_add(u64::from(b) * code as u64 / 8));
        let draft = Draft { d: later, a: first, b: leading, c: leading, imm: bits, ..self.draft(exec) };
        self.push(draft);
        later
    }

    /// `wmma.mma`.
    #[expect(clippy::too_many_lines, reason = "checks, fragments and tiles share the shape of the product")]
    fn wmma_product(
        &mut self,
        instruction: &'a Instruction<'a>,
        words: &mut Modifiers<'a>,
        size: [u32; 3],
    ) -> Result<(), Error> {
        let wrong = |builder: &Self| {
            Err(builder.wrong(&spelled(instruction), "Unexpected instruction types specified for 'wmma.mma'"))
        };
        let layouts: Vec<&str> = words.rest().iter().copied().filter(|word| matches!(*word, "row" | "col")).collect();
        words.drop_hints(&["row", "col"]);
        let saturates = words.take("satfinite");
        let rounding = words.one_of(&["rn", "rz", "rm", "rp"]);
        let counts_bits = words.take("popc");
        let combination = words.one_of(&["xor", "and"]);
        let d = self.next_as(instruction, words, Sum::named)?;
        let element = if words.rest().len() == 1 {
            Element::F16
        } else {
            let element = self.next_as(instruction, words, Element::named)?;
            if self.next_as(instruction, words, Element::named)? != element || element == Element::F16 {
                return wrong(self);
            }
            element
        };
        let c = self.next_as(instruction, words, Sum::named)?;
        let sums = match element {
            Element::F16 => matches!(c, Sum::F16 | Sum::F32) && matches!(d, Sum::F16 | Sum::F32),
            Element::F64 => (c, d) == (Sum::F64, Sum::F64),
            _ if element.is_integer() || element == Element::B1 => (c, d) == (Sum::S32, Sum::S32),
            _ => (c, d) == (Sum::F32, Sum::F32),
        };
        let fits = layouts.len() == 2
            && (element.bits() >= 8 || layouts == ["row", "col"])
            && (!saturates || element.is_integer())
            && (rounding.is_none() || element == Element::F64)
            && (counts_bits, combination.is_some()) == (element == Element::B1, element == Element::B1);
        if !fits || !sums || !exists(element, size) {
            return wrong(self);
        }
        self.wmma_needs(instruction, element)?;
        let conjunction = combination == Some(1);
        if conjunction {
            self.requires(instruction, ".and on wmma", 80, (7, 1))?;
        }
        self.count(instruction, &[4])?;
        let [m, n, k] = size;
        let held = [
            accumulator(d, [m, n]),
            multiplicand(element, [m, k]),
            transposed(element, [n, k]),
            accumulator(c, [m, n]),
        ];
        let mut all = Vec::new();
        for (index, fragment) in held.iter().enumerate() {
            let operand = (index, &instruction.operands[index]);
            let ty = fragment.held.register();
            all.push(self.fragment(instruction, operand, ty, fragment.registers, index == 0)?);
        }
        let rows = m.min(16);
        let slabs = k / (4 * held[1].each);
        let rounding = rounding.unwrap_or(0) as u32;
        let form = Form { a: element, b: element, c, d, rows, slabs, saturates, conjunction, rounding };
        let exec = product_function(element);
        let tiles = ((m / rows) * (n / 8)) as usize;
        // A register that is written by one tile and read by another needs a copy.
        let read_elsewhere = |register: &Operand, tile: usize| {
            let others = all[3].iter().enumerate().filter(|(index, _)| index / form.sums(c) != tile);
            all[1].contains(register)
                || all[2].contains(register)
                || others.into_iter().any(|(_, other)| other == register)
        };
        let copies = (0..all[0].len())
            .any(|index| all[0][index] != Operand::Nothing && read_elsewhere(&all[0][index], index / form.sums(d)));
        let wide = if d == Sum::F64 { Width::W64 } else { Width::W32 };
        let targets: Vec<Operand> = match copies {
            true => all[0].iter().map(|_| Operand::Register(self.register(wide))).collect(),
            false => all[0].clone(),
        };
        for tile in 0..tiles {
            let (row, column) = (tile / (n / 8) as usize, tile % (n / 8) as usize);
            let part = |operands: &[Operand], index: usize, count: usize| operands[index * count..][..count].to_vec();
            let mut extra = part(&targets, tile, form.sums(d));
            extra.extend(part(&all[3], tile, form.sums(c)));
            extra.extend(part(&all[1], row, (slabs * rows / 8) as usize));
            extra.extend(part(&all[2], column, slabs as usize));
            // The first tile waits for all lanes.
            extra.push(if tile == 0 { self.all_lanes() } else { Operand::Nothing });
            let draft = Draft { extra, written: form.sums(d), imm: form.code(), ..self.draft(exec) };
            self.push(draft);
        }
        for (from, to) in targets.iter().zip(&all[0]).filter(|(from, to)| from != to && **to != Operand::Nothing) {
            let exec = if wide == Width::W64 { map1(|a: u64| a) } else { map1(|a: u32| a) };
            self.emit(exec, *to, [*from, Operand::Nothing, Operand::Nothing]);
        }
        Ok(())
    }
}
