//! Arithmetic on pairs of `f32`, and on `f32` with operands of 16 bits.
//!
//! PTX manual: [floating-point
//! instructions](https://docs.nvidia.com/cuda/parallel-thread-execution/#floating-point-instructions), [mixed precision
//! instructions](https://docs.nvidia.com/cuda/parallel-thread-execution/#mixed-precision-floating-point-instructions).

use super::builder::Builder;
use super::draft::Draft;
use super::floating::{Operation, computed};
use super::operand::Modifiers;
use super::rounding_code::code;
use crate::Error;
use crate::float::{self, BF16, F16, F32, Format, Rounding};
use crate::grammar::ast::Instruction;
use crate::grammar::types::Type;
use crate::machine::lanes::map_coded;

/// Applies an operation to both halves of 64 bits.
fn halves(operation: Operation, a: u64, b: u64, c: u64, code: i64) -> u64 {
    let half = |shift: u32| {
        let part = |value: u64| value >> shift & 0xffff_ffff;
        computed(operation, F32, part(a), part(b), part(c), code) << shift
    };
    half(0) | half(32)
}

/// Widens a number of 16 bits, which is exact.
fn wide(format: Format, bits: u32) -> u64 {
    float::convert(format, F32, (bits & 0xffff).into(), Rounding::Near)
}

/// An operation whose operands but the last one have 16 bits.
fn mixed(operation: Operation, format: Format, a: u32, b: u32, c: u32, code: i64) -> u32 {
    (match operation {
        Operation::Fma => computed(operation, F32, wide(format, a), wide(format, b), c.into(), code),
        _ => computed(operation, F32, wide(format, a), b.into(), 0, code),
    }) as u32
}

impl<'a> Builder<'_, 'a> {
    /// Whether an instruction is one of this file.
    pub(super) fn is_mixed(words: &Modifiers<'a>) -> bool {
        let types = words.rest().iter().filter(|word| Type::named(word).is_some()).count();
        words.rest().contains(&"f32x2") || types == 2
    }

    /// `add`, `sub`, `mul` and `fma` with `.f32x2`, `.f32.f16` or `.f32.bf16`.
    pub(super) fn mixed(&mut self, instruction: &'a Instruction<'a>, words: &mut Modifiers<'a>) -> Result<(), Error> {
        let pairs = words.take("f32x2");
        let (flush, saturate) = (words.take("ftz"), words.take("sat"));
        let mut how = words.one_of(&["rn", "rz", "rm", "rp"]).unwrap_or(0) as i64;
        how |= if flush { code::FLUSH } else { 0 } | if saturate { code::SATURATE } else { 0 };
        if flush && !pairs || saturate && pairs {
            return self.refuse(instruction);
        }
        macro_rules! of {
            ($operation:ident, $ty:expr) => {
                match $ty {
                    None => Some(map_coded(|a: u64, b: u64, c: u64, code: i64| {
                        halves(Operation::$operation, a, b, c, code)
                    })),
                    Some(Type::F16) => Some(map_coded(|a: u32, b: u32, c: u32, code: i64| {
                        mixed(Operation::$operation, F16, a, b, c, code)
                    })),
                    Some(Type::BF16) => Some(map_coded(|a: u32, b: u32, c: u32, code: i64| {
                        mixed(Operation::$operation, BF16, a, b, c, code)
                    })),
                    _ => None,
                }
            };
        }
        let ty = match pairs {
            true => None,
            false if words.ty() == Some(Type::F32) => words.ty(),
            false => return self.refuse(instruction),
        };
        let exec = match instruction.opcode {
            "add" => of!(Add, ty),
            "sub" => of!(Sub, ty),
            "mul" if pairs => of!(Mul, ty),
            "fma" => of!(Fma, ty),
            _ => None,
        };
        let exec = self.needed(instruction, exec)?;
        let sources = if instruction.opcode == "fma" { 3 } else { 2 };
        self.count(instruction, &[sources + 1])?;
        let (narrow, whole) = ty.map_or((Type::B64, Type::B64), |ty| (ty, Type::F32));
        let operands = &instruction.operands;
        let a = self.source(&operands[1], narrow)?;
        let b = self.source(&operands[2], if sources == 3 { narrow } else { whole })?;
        let c = if sources == 3 { self.source(&operands[3], whole)? } else { b };
        let d = self.target(&operands[0], whole)?;
        let draft = Draft { d, a, b, c, imm: how, ..self.draft(exec) };
        self.push(draft);
        Ok(())
    }
}
