//! Conversions to and from narrow floating-point formats: pairs of 8, 6 and 4 bits, the powers of two `ue8m0`, and `tf32`,
//! which has the fraction of `f16` and the exponent of `f32`.
//!
//! PTX manual: [alternate floating-point data
//! formats](https://docs.nvidia.com/cuda/parallel-thread-execution/#alternate-floating-point-data-formats). The narrow
//! formats differ in what their greatest codes mean, so a number is rounded as if its exponent had no limit, and then
//! limited to the greatest finite code.

use super::builder::Builder;
use super::draft::Draft;
use super::operand::Modifiers;
use super::rounding_code::direction;
use crate::Error;
use crate::float::{self, BF16, F16, F32, F64, Format, Rounding};
use crate::grammar::ast::Instruction;
use crate::grammar::types::Type;
use crate::machine::lanes::map_coded;

/// A narrow format with a sign.
struct Narrow {
    name: &'static str,
    /// The bits of the fraction, and the bias of the exponent.
    fraction: u32,
    bias: i32,
    /// The greatest finite code without its sign.
    most: u32,
    /// The bit of the sign.
    sign: u32,
    /// The distance of the two numbers of a pair in bits.
    step: u32,
    /// Whether the codes beyond `most` are NaN, but for the infinity of `e5m2`.
    special: bool,
}

const NARROW: [Narrow; 5] = [
    Narrow { name: "e4m3x2", fraction: 3, bias: 7, most: 0x7e, sign: 0x80, step: 8, special: true },
    Narrow { name: "e5m2x2", fraction: 2, bias: 15, most: 0x7b, sign: 0x80, step: 8, special: true },
    Narrow { name: "e2m3x2", fraction: 3, bias: 1, most: 0x1f, sign: 0x20, step: 8, special: false },
    Narrow { name: "e3m2x2", fraction: 2, bias: 3, most: 0x1f, sign: 0x20, step: 8, special: false },
    Narrow { name: "e2m1x2", fraction: 1, bias: 1, most: 0x7, sign: 0x8, step: 4, special: false },
];
/// The code of the infinity of `e5m2`.
const INFINITY: u32 = 0x7c;
const NAN: u32 = 0x7f;

/// `tf32` without the bits below its fraction.
const TF32: Format = Format { fraction: 10, exponent: 8, nan: 0x3ffff };
/// The number of bits below the fraction of `tf32`.
const PLACES: u32 = 13;

/// The bits of the code of a conversion with the number of the narrow format.
const FORMAT: i64 = 7;
/// Flags in the code of a conversion.
const RELU: i64 = 8;
/// `ue8m0` rounds up, and saturates.
const UP: i64 = 16;
const FINITE: i64 = 32;
/// The position of the rounding mode in the code.
const DIRECTION: u32 = 8;

/// The other types of conversions, which have more bits.
const WIDE: [(Type, Format); 3] = [(Type::F32, F32), (Type::F16x2, F16), (Type::BF16x2, BF16)];

/// Narrows a number, saturated to the finite numbers.
fn narrowed(from: Format, bits: u64, code: i64) -> u32 {
    let Narrow { fraction, bias, most, sign, special, .. } = NARROW[(code & FORMAT) as usize];
    if from.is_nan(bits) {
        return if special { NAN } else { most };
    }
    let sign = if bits & from.sign() != 0 { sign } else { 0 };
    if sign != 0 && code & RELU != 0 {
        return 0;
    }
    let magnitude = f64::from_bits(float::convert(from, F64, bits & !from.sign(), Rounding::Near));
    if magnitude == 0.0 {
        return sign;
    }
    if magnitude.is_infinite() {
        return sign | most;
    }
    // A number of f32 is never subnormal in f64.
    let exponent = ((magnitude.to_bits() >> 52) as i32 - 1023).max(1 - bias);
    let digits = (magnitude * 2_f64.powi(fraction as i32 - exponent)).round_ties_even();
    // Digits beyond the fraction carry into the exponent.
    let rounded = f64::from(exponent + bias - 1) * f64::from(1_u32 << fraction) + digits;
    sign | (rounded as u32).min(most)
}

/// Widens a number to a format that represents all numbers of the narrow one.
fn widened(bits: u32, to: Format, code: i64) -> u32 {
    let Narrow { fraction, bias, most, sign, special, .. } = NARROW[(code & FORMAT) as usize];
    let (negative, magnitude) = (bits & sign != 0, bits & (sign - 1));
    let infinite = special && fraction == 2 && magnitude == INFINITY;
    if magnitude > most && !infinite {
        return to.nan as u32;
    }
    if negative && code & RELU != 0 {
        return 0;
    }
    let (exponent, digits) = ((magnitude >> fraction) as i32, magnitude & ((1 << fraction) - 1));
    let digits = if exponent > 0 { digits | 1 << fraction } else { digits };
    let value = f64::from(digits) * 2_f64.powi(exponent.max(1) - bias - fraction as i32);
    let wide = if infinite { to.infinity() } else { float::convert(F64, to, value.to_bits(), Rounding::Near) };
    wide as u32 | if negative { to.sign() as u32 } else { 0 }
}

/// Narrows the magnitude of a number to the exponent of a power of two.
fn to_power(from: Format, bits: u64, code: i64) -> u32 {
    // Both formats have the exponents of `ue8m0`.
    let magnitude = bits & !from.sign();
    let exponent = (magnitude >> from.fraction) as u32;
    if from.is_nan(bits) {
        return 0xff;
    }
    let (digits, smallest) = (magnitude & ((1 << from.fraction) - 1), 1 << (from.fraction - 1));
    let up = code & UP != 0 && digits != 0 && magnitude > smallest && exponent < 0xff;
    let exponent = exponent + u32::from(up);
    if code & FINITE != 0 { exponent.min(0xfe) } else { exponent }
}

/// Widens a power of two to `bf16`.
fn of_power(bits: u32) -> u32 {
    match bits & 0xff {
        0xff => BF16.nan as u32,
        // 2⁻¹²⁷ is subnormal.
        0 => 0x40,
        exponent => exponent << 7,
    }
}

/// A conversion of a pair of 32 bits to narrow numbers.
fn pair(from: Format, pair: u32, code: i64, f: impl Fn(Format, u64, i64) -> u32) -> (u32, u32) {
    (f(from, u64::from(pair >> 16), code), f(from, u64::from(pair & 0xffff), code))
}

/// Joins the narrow numbers of a pair.
fn joined((a, b): (u32, u32), code: i64) -> u32 {
    a << NARROW[(code & FORMAT) as usize].step | b
}

/// Widens both numbers of a pair.
fn both(bits: u32, to: Format, code: i64) -> u32 {
    let step = NARROW[(code & FORMAT) as usize].step;
    widened(bits >> step & 0xff, to, code) << 16 | widened(bits & ((1 << step) - 1), to, code)
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
    let rounded = float::convert(F32, TF32, bits, direction(code >> DIRECTION));
    let infinite = rounded & !TF32.sign() == TF32.infinity();
    // The greatest finite number is in front of the infinity.
    (rounded as u32 - u32::from(code & FINITE != 0 && infinite)) << PLACES
}

impl<'a> Builder<'_, 'a> {
    /// `cvt.rna.tf32.f32 d, a`.
    pub(super) fn convert_tf32(
        &mut self,
        instruction: &'a Instruction<'a>,
        words: &mut Modifiers<'a>,
    ) -> Result<(), Error> {
        let code = if words.take("relu") { RELU } else { 0 } | if words.take("satfinite") { FINITE } else { 0 };
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

    /// Whether a conversion has a narrow format.
    pub(super) fn is_narrow(words: &Modifiers<'a>) -> bool {
        words.rest().iter().any(|word| *word == "ue8m0x2" || NARROW.iter().any(|narrow| narrow.name == *word))
    }

    /// `cvt.rn.satfinite.e4m3x2.f32 d, a, b`, `cvt.rn.satfinite.e4m3x2.f16x2 d, a`, `cvt.rn.f16x2.e4m3x2 d, a`, and
    /// these conversions of other formats.
    pub(super) fn convert_narrow(
        &mut self,
        instruction: &'a Instruction<'a>,
        words: &mut Modifiers<'a>,
    ) -> Result<(), Error> {
        let power = words.take("ue8m0x2");
        let narrow = NARROW.iter().position(|narrow| words.take(narrow.name));
        let narrows = instruction.modifiers.last().and_then(|word| Type::named(word)).is_some();
        let (relu, finite) = (words.take("relu"), words.take("satfinite"));
        let rounding = words.one_of(&["rn", "rz", "rp"]);
        let other = words.ty();
        let fits = match (power, narrows) {
            (true, true) => matches!(rounding, Some(1 | 2)) && !relu && other != Some(Type::F16x2),
            (true, false) => rounding == Some(0) && !relu && !finite && other == Some(Type::BF16x2),
            (false, _) => rounding == Some(0) && finite == narrows,
        };
        let wide = WIDE.iter().position(|(ty, _)| Some(*ty) == other).filter(|wide| narrows || *wide > 0);
        let (Some(wide), true) = (wide, fits) else { return self.refuse(instruction) };
        let mut code = narrow.unwrap_or(0) as i64;
        for (set, bit) in [(relu, RELU), (rounding == Some(2), UP), (finite, FINITE)] {
            code |= if set { bit } else { 0 };
        }
        let exec = match (power, narrows, wide) {
            (false, true, 0) => map_coded(|a: u32, b: u32, _: u32, code: i64| {
                joined((narrowed(F32, a.into(), code), narrowed(F32, b.into(), code)), code)
            }),
            (false, true, 1) => {
                map_coded(|a: u32, _: u32, _: u32, code: i64| joined(pair(F16, a, code, narrowed), code))
            }
            (false, true, _) => {
                map_coded(|a: u32, _: u32, _: u32, code: i64| joined(pair(BF16, a, code, narrowed), code))
            }
            (false, false, 1) => map_coded(|a: u32, _: u32, _: u32, code: i64| both(a, F16, code)),
            (false, false, _) => map_coded(|a: u32, _: u32, _: u32, code: i64| both(a, BF16, code)),
            (true, true, 0) => map_coded(|a: u32, b: u32, _: u32, code: i64| {
                to_power(F32, a.into(), code) << 8 | to_power(F32, b.into(), code)
            }),
            (true, true, _) => map_coded(|a: u32, _: u32, _: u32, code: i64| {
                let (a, b) = pair(BF16, a, code, to_power);
                a << 8 | b
            }),
            (true, false, _) => map_coded(|a: u32, _: u32, _: u32, _: i64| of_power(a >> 8) << 16 | of_power(a)),
        };
        let of_pair = if narrow.is_some_and(|narrow| NARROW[narrow].step == 4) { Type::B8 } else { Type::B16 };
        let (target, source) = if narrows { (of_pair, WIDE[wide].0) } else { (WIDE[wide].0, of_pair) };
        let two = narrows && wide == 0;
        self.count(instruction, &[if two { 3 } else { 2 }])?;
        let operands = &instruction.operands;
        let a = self.source(&operands[1], source)?;
        let b = if two { self.source(&operands[2], source)? } else { a };
        let d = self.target(&operands[0], target)?;
        let draft = Draft { d, a, b, c: a, imm: code, ..self.draft(exec) };
        self.push(draft);
        Ok(())
    }
}
