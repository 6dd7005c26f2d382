//! Conversions to and from narrow floating-point formats: `e4m3x2` and `e5m2x2`, which are pairs of 8 bits, and
//! `tf32`, which has the fraction of `f16` and the exponent of `f32`.
//!
//! PTX manual: [alternate floating-point data
//! formats](https://docs.nvidia.com/cuda/parallel-thread-execution/#alternate-floating-point-data-formats). `e5m2`
//! follows the pattern of other formats. `e4m3` has no infinity: its greatest exponent holds numbers too. So an
//! `e4m3` number is computed in [`E5M3`], a format with one more exponent bit: the bits of `x` in `e4m3` are those of `x / 2⁸` there.

use super::builder::Builder;
use super::draft::Draft;
use super::floating::direction;
use super::operand::Modifiers;
use crate::Error;
use crate::float::{self, F16, F32, F64, Format, Rounding};
use crate::grammar::ast::Instruction;
use crate::grammar::types::Type;
use crate::machine::lanes::map_coded;

const E5M2: Format = Format { fraction: 2, exponent: 5, nan: 0x7f };
/// `e4m3` with one more bit of exponent.
const E5M3: Format = Format { fraction: 3, exponent: 5, nan: 0xff };
/// The factor between `e4m3` and `E5M3`.
const SCALE: f64 = 256.0;
const NAN: u64 = 0x7f;
/// `tf32` without the bits below its fraction.
const TF32: Format = Format { fraction: 10, exponent: 8, nan: 0x3ffff };
/// The number of bits below the fraction of `tf32`.
const PLACES: u32 = 13;

/// Flags in the code of a conversion.
const E4M3: i64 = 1;
const RELU: i64 = 2;
/// The position of the rounding mode in the code.
const DIRECTION: u32 = 4;

/// Narrows a number, saturated to the finite numbers.
fn narrowed(from: Format, bits: u64, code: i64) -> u32 {
    if from.is_nan(bits) {
        return NAN as u32;
    }
    let sign = if bits & from.sign() != 0 { 0x80 } else { 0 };
    if sign != 0 && code & RELU != 0 {
        return 0;
    }
    let magnitude = f64::from_bits(float::convert(from, F64, bits & !from.sign(), Rounding::Near));
    let (format, scaled, most) = match code & E4M3 {
        0 => (E5M2, magnitude, 0x7b),
        _ => (E5M3, magnitude / SCALE, 0x7e),
    };
    float::convert(F64, format, scaled.to_bits(), Rounding::Near).min(most) as u32 | sign
}

/// Widens a number to `f16`, which represents all numbers of the narrow formats.
fn widened(bits: u64, code: i64) -> u32 {
    let (sign, magnitude) = (bits & 0x80, bits & 0x7f);
    let (format, scale, is_nan) = match code & E4M3 {
        0 => (E5M2, 1.0, E5M2.is_nan(magnitude)),
        _ => (E5M3, SCALE, magnitude == NAN),
    };
    if is_nan {
        return F16.nan as u32;
    }
    if sign != 0 && code & RELU != 0 {
        return 0;
    }
    let value = f64::from_bits(float::convert(format, F64, magnitude, Rounding::Near)) * scale;
    float::convert(F64, F16, value.to_bits(), Rounding::Near) as u32 | (sign as u32) << 8
}

/// Rounds a number to `tf32` with zeros below its fraction; NaN has ones there.
fn to_tf32(bits: u32, code: i64) -> u32 {
    let bits = u64::from(bits);
    if F32.is_nan(bits) {
        return F32.nan as u32;
    }
    if code & RELU != 0 && bits & F32.sign() != 0 {
        return 0;
    }
    (float::convert(F32, TF32, bits, direction(code >> DIRECTION)) as u32) << PLACES
}

impl<'a> Builder<'_, 'a> {
    /// `cvt.rna.tf32.f32 d, a`.
    pub(super) fn convert_tf32(
        &mut self,
        instruction: &'a Instruction<'a>,
        words: &mut Modifiers<'a>,
    ) -> Result<(), Error> {
        let code = if words.take("relu") { RELU } else { 0 };
        let rounding = match words.one_of(&["rn", "rz", "rna"]) {
            Some(2) => 4,
            Some(mode) => mode as i64,
            None => return self.refuse(instruction),
        };
        if !words.take("tf32") || words.ty() != Some(Type::F32) {
            return self.refuse(instruction);
        }
        let exec = map_coded(|a: u32, _: u32, _: u32, code: i64| to_tf32(a, code));
        self.plain(instruction, exec, Type::B32, &[Type::F32], code | rounding << DIRECTION)
    }

    /// `cvt.rn.satfinite.e4m3x2.f32 d, a, b`, `cvt.rn.satfinite.e4m3x2.f16x2 d, a`, `cvt.rn.f16x2.e4m3x2 d, a`.
    pub(super) fn convert_narrow(
        &mut self,
        instruction: &'a Instruction<'a>,
        words: &mut Modifiers<'a>,
    ) -> Result<(), Error> {
        let narrow = words.one_of(&["e5m2x2", "e4m3x2"]);
        let mut code = self.needed(instruction, narrow)? as i64;
        let narrows = matches!(instruction.modifiers.iter().rev().nth(1), Some(&("e4m3x2" | "e5m2x2")));
        code |= if words.take("relu") { RELU } else { 0 };
        if !words.take("rn") || words.take("satfinite") != narrows {
            return self.refuse(instruction);
        }
        let other = words.ty();
        let operands = &instruction.operands;
        let (exec, sources) = match (narrows, other) {
            (true, Some(Type::F32)) => (
                map_coded(|a: u32, b: u32, _: u32, code: i64| {
                    (narrowed(F32, a.into(), code) << 8 | narrowed(F32, b.into(), code)) as u16
                }),
                [Type::F32, Type::F32].as_slice(),
            ),
            (true, Some(Type::F16x2)) => (
                map_coded(|a: u32, _: u32, _: u32, code: i64| {
                    let half = |shift: u32| narrowed(F16, u64::from(a >> shift & 0xffff), code);
                    (half(16) << 8 | half(0)) as u16
                }),
                [Type::F16x2].as_slice(),
            ),
            (false, Some(Type::F16x2)) => (
                map_coded(|a: u16, _: u16, _: u16, code: i64| {
                    widened(u64::from(a >> 8), code) << 16 | widened(u64::from(a & 0xff), code)
                }),
                [Type::B16].as_slice(),
            ),
            _ => return self.refuse(instruction),
        };
        self.count(instruction, &[sources.len() + 1])?;
        let a = self.source(&operands[1], sources[0])?;
        let b = match sources.get(1) {
            Some(ty) => self.source(&operands[2], *ty)?,
            None => a,
        };
        let d = self.target(&operands[0], if narrows { Type::B16 } else { Type::B32 })?;
        let draft = Draft { d, a, b, c: a, imm: code, ..self.draft(exec) };
        self.push(draft);
        Ok(())
    }
}
