//! Integer arithmetic.
//!
//! PTX manual: [integer
//! arithmetic](https://docs.nvidia.com/cuda/parallel-thread-execution/#integer-arithmetic-instructions); bit
//! operations are in [`bits`], the others in `integer_operations`.

use super::bits::{self, Operation};
use super::builder::Builder;
use super::draft::{Draft, Operand, Results};
use super::integer_operations::Form;
use super::operand::Modifiers;
use crate::Error;
use crate::grammar::ast::Instruction;
use crate::grammar::types::Type;
use crate::machine::lanes::{map_coded, map2};
use crate::machine::program::Exec;

impl<'a> Builder<'_, 'a> {
    pub(super) fn integer(&mut self, instruction: &'a Instruction<'a>, words: &mut Modifiers<'a>) -> Result<(), Error> {
        let opcode = instruction.opcode;
        let wide = words.take("wide");
        let half = words.one_of(&["lo", "hi"]);
        let saturates = words.take("sat");
        let amount = words.take("shiftamt");
        let wraps = words.one_of(&["clamp", "wrap"]);
        let relu = words.take("relu");
        let ty = words.ty();
        let ty = self.needed(instruction, ty)?;
        if matches!(ty, Type::U16x2 | Type::S16x2) {
            if saturates || half.is_some() || wide {
                return self.refuse(instruction);
            }
            return self.integer_pairs(instruction, ty, relu);
        }
        match opcode {
            "dp4a" | "dp2a" => return self.dot_product(instruction, words, ty, half),
            "bfi" => return self.insert(instruction, ty),
            _ => {}
        }
        let form = Form { ty, wide, high: half == Some(1), saturates, relu };
        let operation = match opcode {
            "add" | "sub" | "min" | "max" => form.of_two(opcode),
            "mul" | "mul24" => form.product(opcode),
            "mad" | "mad24" => form.product_and_sum(opcode),
            "sad" => form.absolute_difference_and_sum(),
            "div" | "rem" => form.quotient(opcode),
            "abs" | "neg" => form.of_one(opcode),
            _ => bits::operation(opcode, ty, amount, wraps),
        };
        let Some(Operation { exec, target, sources }) = operation else { return self.refuse(instruction) };
        self.plain(instruction, exec, target, &sources, 0)
    }

    /// `add`, `min` and `max` of pairs of 16 bits.
    fn integer_pairs(&mut self, instruction: &'a Instruction<'a>, ty: Type, relu: bool) -> Result<(), Error> {
        let signed = ty == Type::S16x2;
        let exec: Exec = match (instruction.opcode, signed, relu) {
            ("add", _, false) => map2(|a: u32, b: u32| in_pairs(a, b, u16::wrapping_add)),
            ("min", false, false) => map2(|a: u32, b: u32| in_pairs(a, b, u16::min)),
            ("max", false, false) => map2(|a: u32, b: u32| in_pairs(a, b, u16::max)),
            ("min", true, false) => map2(|a: u32, b: u32| in_pairs(a, b, |a, b| (a as i16).min(b as i16) as u16)),
            ("max", true, false) => map2(|a: u32, b: u32| in_pairs(a, b, |a, b| (a as i16).max(b as i16) as u16)),
            ("min", true, true) => map2(|a: u32, b: u32| in_pairs(a, b, |a, b| (a as i16).min(b as i16).max(0) as u16)),
            ("max", true, true) => map2(|a: u32, b: u32| in_pairs(a, b, |a, b| (a as i16).max(b as i16).max(0) as u16)),
            _ => return self.refuse(instruction),
        };
        self.plain(instruction, exec, ty, &[ty; 2], 0)
    }

    /// Resolves an instruction with one target, and sources of these types.
    pub(super) fn plain(
        &mut self,
        instruction: &'a Instruction<'a>,
        exec: Exec,
        target: Type,
        types: &[Type],
        code: i64,
    ) -> Result<(), Error> {
        self.count(instruction, &[types.len() + 1])?;
        let mut sources = [Operand::Nothing; 3];
        for ((source, operand), ty) in sources.iter_mut().zip(&instruction.operands[1..]).zip(types) {
            *source = self.source(operand, *ty)?;
        }
        // Functions of three sources receive the first source in place of a missing one.
        let first = sources[0];
        sources.iter_mut().filter(|source| **source == Operand::Nothing).for_each(|source| *source = first);
        let d = self.target(&instruction.operands[0], target)?;
        let [a, b, c] = sources;
        let sums = instruction.opcode == "add" && matches!(target, Type::U64 | Type::S64);
        let results = if sums { Results::Sum } else { Results::Any };
        let draft = Draft { d, a, b, c, imm: code, results, ..self.draft(exec) };
        self.push(draft);
        Ok(())
    }

    /// `dp4a.atype.btype` and `dp2a`: `ty` is the first type.
    fn dot_product(
        &mut self,
        instruction: &'a Instruction<'a>,
        words: &mut Modifiers<'a>,
        ty: Type,
        half: Option<usize>,
    ) -> Result<(), Error> {
        let other = words.ty();
        let other = self.needed(instruction, other)?;
        if ![ty, other].iter().all(|ty| matches!(ty, Type::U32 | Type::S32)) {
            return self.refuse(instruction);
        }
        let code = i64::from(ty == Type::S32) | i64::from(other == Type::S32) << 1 | i64::from(half == Some(1)) << 2;
        let exec = if instruction.opcode == "dp4a" {
            map_coded(|a: u32, b: u32, c: u32, code: i64| {
                let part = |value: u32, index: usize, signed: bool| {
                    let byte = value.to_le_bytes()[index];
                    if signed { i32::from(byte as i8) } else { i32::from(byte) }
                };
                (0..4).fold(c, |sum, index| {
                    let product = part(a, index, code & 1 != 0) * part(b, index, code & 2 != 0);
                    sum.wrapping_add(product as u32)
                })
            })
        } else {
            map_coded(|a: u32, b: u32, c: u32, code: i64| {
                (0..2).fold(c, |sum, index| {
                    let word = (a >> (16 * index)) as u16;
                    let x = if code & 1 != 0 { i32::from(word as i16) } else { i32::from(word) };
                    let byte = (b >> (8 * index + if code & 4 != 0 { 16 } else { 0 })) as u8;
                    let y = if code & 2 != 0 { i32::from(byte as i8) } else { i32::from(byte) };
                    sum.wrapping_add(x.wrapping_mul(y) as u32)
                })
            })
        };
        let signed = if code & 3 == 0 { Type::U32 } else { Type::S32 };
        self.plain(instruction, exec, signed, &[Type::B32, Type::B32, signed], code)
    }
}

fn in_pairs(a: u32, b: u32, f: impl Fn(u16, u16) -> u16) -> u32 {
    u32::from(f(a as u16, b as u16)) | u32::from(f((a >> 16) as u16, (b >> 16) as u16)) << 16
}
