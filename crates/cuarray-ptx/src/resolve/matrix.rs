//! `ldmatrix`, `stmatrix` and `movmatrix`.
//!
//! PTX manual:
//! [ldmatrix](https://docs.nvidia.com/cuda/parallel-thread-execution/#warp-level-matrix-instructions-ldmatrix),
//! [stmatrix](https://docs.nvidia.com/cuda/parallel-thread-execution/#warp-level-matrix-instructions-stmatrix),
//! [movmatrix](https://docs.nvidia.com/cuda/parallel-thread-execution/#warp-level-matrix-instructions-movmatrix).

use super::builder::Builder;
use super::draft::{Draft, Operand};
use super::operand::{Modifiers, spelled};
use crate::Error;
use crate::grammar::ast::{Instruction, Operand as Written};
use crate::grammar::types::{Space, Type};
use crate::machine::matrix::movement::{Distribution, Form, Source, load, store, transpose};

impl<'a> Builder<'_, 'a> {
    /// Checks that the module's target and version have a feature of an instruction, with the messages of NVIDIA's assembler.
    pub(super) fn requires(
        &self,
        instruction: &Instruction<'_>,
        feature: &str,
        target: u32,
        version: (u32, u32),
    ) -> Result<(), Error> {
        self.requires_for(&spelled(instruction), feature, target, version)
    }

    /// As `requires`, for any token of the source.
    pub(super) fn requires_for(
        &self,
        token: &str,
        feature: &str,
        target: u32,
        version: (u32, u32),
    ) -> Result<(), Error> {
        let (own_version, own_target) = self.symbols.header(self.module);
        let message = if target_number(own_target).is_some_and(|number| number < target) {
            format!("Feature '{feature}' requires .target sm_{target} or higher")
        } else if own_version < version {
            let (major, minor) = version;
            format!("Feature '{feature}' requires PTX ISA .version {major}.{minor} or later")
        } else {
            return Ok(());
        };
        Err(self.wrong(token, &message))
    }

    /// Checks a feature of targets from `sm_100` on, for one architecture (`a`) or a family of them (`f`) only.
    fn requires_specific(&self, instruction: &Instruction<'_>, feature: &str) -> Result<(), Error> {
        let (_, target) = self.symbols.header(self.module);
        if target_number(target).is_some_and(|number| number >= 100) && target.ends_with(['a', 'f']) {
            return self.requires(instruction, feature, 100, (8, 6));
        }
        Err(self.wrong(&spelled(instruction), &format!("Feature '{feature}' not supported on .target '{target}'")))
    }

    /// Takes `.sync.aligned`, which all instructions of a warp on matrices have.
    pub(super) fn sync_aligned(&self, instruction: &Instruction<'_>, words: &mut Modifiers<'a>) -> Result<(), Error> {
        for word in ["sync", "aligned"] {
            if !words.take(word) {
                let message = format!(".{word} modifier required for instruction '{}'", instruction.opcode);
                return Err(self.wrong(&spelled(instruction), &message));
            }
        }
        Ok(())
    }

    /// Resolves a vector of registers, or of values.
    pub(super) fn fragment(
        &mut self,
        instruction: &Instruction<'_>,
        (argument, operand): (usize, &'a Written<'a>),
        ty: Type,
        count: usize,
        written: bool,
    ) -> Result<Vec<Operand>, Error> {
        let Written::Vector(elements) = operand else {
            return Err(self.wrong(&spelled(instruction), &format!("Vector expected for argument {argument}")));
        };
        if elements.len() != count {
            let opcode = instruction.opcode;
            let message =
                format!("Vector of size {count} is expected for argument {argument} of instruction '{opcode}'");
            return Err(self.wrong(&spelled(instruction), &message));
        }
        let element = |element: &'a Written<'a>| match element {
            Written::Nothing if written => Ok(Operand::Nothing),
            element if written => self.target(element, ty),
            element => self.source(element, ty),
        };
        elements.iter().map(element).collect()
    }

    /// The mask of all lanes.
    pub(super) fn all_lanes(&mut self) -> Operand {
        self.bits(Type::B32, u64::from(u32::MAX))
    }

    /// The form of `ldmatrix` or `stmatrix`.
    fn matrix_form(
        &mut self,
        instruction: &'a Instruction<'a>,
        words: &mut Modifiers<'a>,
        loads: bool,
    ) -> Result<Form, Error> {
        let shape = words.one_of(&["m8n8", "m8n16", "m16n16", "m16n8"]);
        let shape = self.needed(instruction, shape)?;
        let count = words.one_of(&["x1", "x2", "x4"]).map(|index| 1 << index);
        let count: u32 = self.needed(instruction, count)?;
        let by_columns = words.take("trans");
        let converts = words.take("b8x16");
        let format = words.one_of(&["b16", "b8", "b4x16_p64", "b6x16_p32"]);
        let format = self.needed(instruction, format)?;
        let wrong = |message: &str| Err(self.wrong(&spelled(instruction), message));
        let source = match format {
            2 => Source::Bits4,
            3 => Source::Bits6,
            _ => Source::Whole,
        };
        let distribution = match (shape, loads) {
            (0, _) if format == 0 => match by_columns {
                true => Distribution::Columns16,
                false => Distribution::Rows,
            },
            (1, true) if converts && source != Source::Whole && !by_columns => {
                self.requires_specific(instruction, ".m8n16")?;
                Distribution::Rows
            }
            (2, true) | (3, false) if format > 0 && converts == (source != Source::Whole) => {
                let name = ["m8n8", "m8n16", "m16n16", "m16n8"][shape];
                self.requires_specific(instruction, &format!(".{name}"))?;
                if !by_columns {
                    let opcode = instruction.opcode;
                    return wrong(&format!("Modifier '.trans' required for instruction {opcode} with shape '.{name}'"));
                }
                if loads && count == 4 {
                    return wrong("Incorrect no. of matrix: 4 for ldmatrix with shape '.m16n16'");
                }
                if loads { Distribution::PairedColumns8 } else { Distribution::Columns8 }
            }
            _ => return wrong("Incorrect instruction type specified for this shape"),
        };
        let rows = if shape == 2 { 16 } else { 8 } * count;
        let registers = if shape == 2 { 2 * count } else { count };
        Ok(Form { rows, registers, distribution, source })
    }

    pub(super) fn matrix(&mut self, instruction: &'a Instruction<'a>, words: &mut Modifiers<'a>) -> Result<(), Error> {
        self.sync_aligned(instruction, words)?;
        self.count(instruction, &[2])?;
        let operands = &instruction.operands;
        if instruction.opcode == "movmatrix" {
            self.requires(instruction, "movmatrix", 75, (7, 8))?;
            if !words.take("m8n8") || !words.take("b16") {
                return self.refuse(instruction);
            }
            if !words.take("trans") {
                return Err(self.wrong(&spelled(instruction), ".trans modifier required for instruction 'movmatrix'"));
            }
            let (d, a) = (self.target(&operands[0], Type::B32)?, self.source(&operands[1], Type::B32)?);
            let draft = Draft { d, a, b: self.all_lanes(), ..self.draft(transpose) };
            self.push(draft);
            return Ok(());
        }
        let loads = instruction.opcode == "ldmatrix";
        let (target, version) = if loads { (75, (6, 5)) } else { (90, (7, 8)) };
        self.requires(instruction, instruction.opcode, target, version)?;
        let form = self.matrix_form(instruction, words, loads)?;
        let cluster = instruction.modifiers.contains(&"shared::cluster");
        let space = words.space().unwrap_or(Space::Generic);
        if cluster || !matches!(space, Space::Shared | Space::Generic) {
            let message = format!("State space incorrect for instruction '{}'", instruction.opcode);
            return Err(self.wrong(&spelled(instruction), &message));
        }
        let (value, address) = if loads { (0, 1) } else { (1, 0) };
        let count = form.registers as usize;
        let mut extra = self.fragment(instruction, (value, &operands[value]), Type::B32, count, loads)?;
        // These instructions access shared memory only, so an address of 32 bits is one there.
        let space = if self.has_narrow_base(&operands[address]) { Space::Shared } else { space };
        let (a, imm, mode) = self.place(&operands[address], space)?;
        let written = if loads { count } else { 0 };
        extra.extend([self.all_lanes(), Operand::Number(form.code())]);
        let (d, c) = (Operand::Number(count as u32), Operand::Number(mode));
        let draft = Draft { d, a, c, extra, written, imm, ..self.draft(if loads { load } else { store }) };
        self.push(draft);
        Ok(())
    }
}

/// The number of a target such as `sm_90a`.
fn target_number(target: &str) -> Option<u32> {
    let name = target.strip_prefix("sm_").or_else(|| target.strip_prefix("compute_"))?;
    name.trim_end_matches(|letter: char| !letter.is_ascii_digit()).parse().ok()
}
