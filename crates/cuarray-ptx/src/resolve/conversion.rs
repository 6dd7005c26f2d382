//! Conversions: `cvt`, and conversions between generic and other addresses.
//!
//! PTX manual:
//! [cvt](https://docs.nvidia.com/cuda/parallel-thread-execution/#data-movement-and-conversion-instructions-cvt).

use super::builder::Builder;
use super::draft::{Draft, Operand};
use super::operand::{Modifiers, spelled};
use super::quick_conversion::{quick, quick_pair};
use super::rounding_code::{code, direction, saturated};
use crate::Error;
use crate::float::{self, BF16, F16, F32, F64, Format};
use crate::grammar::ast::{Instruction, Operand as Written};
use crate::grammar::types::{Space, Type, Width};
use crate::machine::address_windows::{LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW};
use crate::machine::cluster;
use crate::machine::lanes::{compare, map_coded, map2, masks};
use crate::machine::program::Constant;

/// The types of a conversion by their number in its code.
const TYPES: [Type; 12] = [
    Type::U8,
    Type::S8,
    Type::U16,
    Type::S16,
    Type::U32,
    Type::S32,
    Type::U64,
    Type::S64,
    Type::F16,
    Type::BF16,
    Type::F32,
    Type::F64,
];

fn number(ty: Type) -> Option<i64> {
    TYPES.iter().position(|known| *known == ty).map(|index| index as i64)
}

fn format(ty: Type) -> Option<Format> {
    match ty {
        Type::F16 => Some(F16),
        Type::BF16 => Some(BF16),
        Type::F32 => Some(F32),
        Type::F64 => Some(F64),
        _ => None,
    }
}

/// The types of `cvt.pack`: name, bits, least number.
const PACKED: [(&str, u32, i32); 8] = [
    ("u2", 2, 0),
    ("s2", 2, -2),
    ("u4", 4, 0),
    ("s4", 4, -8),
    ("u8", 8, 0),
    ("s8", 8, -128),
    ("u16", 16, 0),
    ("s16", 16, -32768),
];

/// Converts bits of one type to bits of another. The code holds rounding and flags, then the two types.
fn converted(bits: u64, how: i64) -> u64 {
    let (from, to) = (TYPES[(how >> 8 & 15) as usize], TYPES[(how >> 12 & 15) as usize]);
    let rounding = direction(how);
    let bits = if from.bits() == 64 { bits } else { bits & ((1 << from.bits()) - 1) };
    let flush =
        |format: Format, bits: u64| if how & code::FLUSH != 0 && format == F32 { format.flush(bits) } else { bits };
    match (format(from), format(to)) {
        (None, None) => {
            let value = signed(from, bits);
            let value = if how & code::SATURATE != 0 {
                let (least, most) = bounds(to);
                value.clamp(least, most)
            } else {
                value
            };
            extended(to, value as u64)
        }
        (None, Some(to)) => {
            let bits = float::from_integer(to, signed(from, bits), rounding);
            saturate(to, bits, how)
        }
        (Some(from_format), None) => {
            let (least, most) = bounds(to);
            let bits = flush(from_format, bits);
            let value = float::to_integer(from_format, bits, rounding, least, most);
            // NaN becomes zero, or the highest bit if 64 bits are involved.
            let value = value.unwrap_or_else(|| match from == Type::F64 || to.bits() == 64 {
                true => 1 << (to.bits() - 1),
                false => 0,
            });
            extended(to, value as u64)
        }
        (Some(from_format), Some(to_format)) => {
            let bits = flush(from_format, bits);
            let bits = if how & code::INTEGRAL != 0 { float::integral(from_format, bits, rounding) } else { bits };
            let bits = if from_format == to_format && !from_format.is_nan(bits) {
                bits
            } else {
                float::convert(from_format, to_format, bits, rounding)
            };
            saturate(to_format, flush(to_format, bits), how)
        }
    }
}

fn saturate(format: Format, bits: u64, how: i64) -> u64 {
    if how & code::SATURATE != 0 {
        let one = (((1 << (format.exponent - 1)) - 1) as u64) << format.fraction;
        return saturated(format, bits, one);
    }
    let infinite = bits & !format.sign() == format.infinity();
    let bits = if how & code::FINITE != 0 && infinite { bits - 1 } else { bits };
    if how & code::RELU != 0 && bits & format.sign() != 0 && !format.is_nan(bits) {
        return 0;
    }
    bits
}

fn signed(ty: Type, bits: u64) -> i128 {
    match ty {
        Type::S8 => i128::from(bits as i8),
        Type::S16 => i128::from(bits as i16),
        Type::S32 => i128::from(bits as i32),
        Type::S64 => i128::from(bits as i64),
        _ => i128::from(bits),
    }
}

fn bounds(ty: Type) -> (i128, i128) {
    let bits = ty.bits();
    if ty.is_signed() { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) }
}

/// An integer of a type in 64 bits, extended by its sign if it is signed.
fn extended(ty: Type, bits: u64) -> u64 {
    match ty {
        Type::U8 => bits & 0xff,
        Type::S8 => bits as i8 as u64,
        Type::U16 => bits & 0xffff,
        Type::S16 => bits as i16 as u64,
        Type::U32 => bits & 0xffff_ffff,
        Type::S32 => bits as i32 as u64,
        _ => bits,
    }
}

impl<'a> Builder<'_, 'a> {
    pub(super) fn convert(&mut self, instruction: &'a Instruction<'a>, words: &mut Modifiers<'a>) -> Result<(), Error> {
        if words.take("pack") {
            return self.pack(instruction, words);
        }
        if words.rest().contains(&"rs") {
            // Stochastic rounding: the manual leaves the use of the random bits open.
            return self.refuse(instruction);
        }
        if Self::is_narrow(words) {
            return self.convert_narrow(instruction, words);
        }
        if words.rest().contains(&"tf32") {
            return self.convert_tf32(instruction, words);
        }
        let flush = words.take("ftz");
        let sat = words.take("sat");
        let relu = words.take("relu");
        let finite = words.take("satfinite");
        let integral = words.one_of(&["rni", "rzi", "rmi", "rpi"]);
        let rounding = words.one_of(&["rn", "rz", "rm", "rp", "rna"]);
        let to = words.ty();
        let to = self.needed(instruction, to)?;
        let from = words.ty();
        let from = self.needed(instruction, from)?;
        if matches!(to, Type::F16x2 | Type::BF16x2) && from == Type::F32 {
            let flags = if relu { code::RELU } else { 0 } | if finite { code::FINITE } else { 0 };
            return self.convert_pair(instruction, to, rounding.unwrap_or(0) as i64 | flags);
        }
        let fits = match (from.is_float(), to.is_float()) {
            (false, false) => integral.or(rounding).is_none(),
            (true, false) => integral.is_some() && rounding.is_none(),
            (false, true) => rounding.is_some() && integral.is_none(),
            (true, true) if to.bits() < from.bits() => rounding.is_some() && integral.is_none(),
            (true, true) if from == to => rounding.is_none(),
            (true, true) => true,
        };
        if !fits {
            return Err(self.wrong(&spelled(instruction), "the rounding modifier does not fit the types"));
        }
        let (Some(from_number), Some(to_number)) = (number(from), number(to)) else { return self.refuse(instruction) };
        let mut how = integral.or(rounding).unwrap_or(0) as i64 | from_number << 8 | to_number << 12;
        for (set, bit) in [
            (flush, code::FLUSH),
            (sat, code::SATURATE),
            (relu, code::RELU),
            (integral.is_some(), code::INTEGRAL),
            (finite, code::FINITE),
        ] {
            how |= if set { bit } else { 0 };
        }
        // Between floating-point formats of one size, the absence of a mode means that only the flags apply.
        self.count(instruction, &[2])?;
        let operands = &instruction.operands;
        let (a, declared) = self.wide_source(&operands[1], from)?;
        let (d, target) = self.wide_target(&operands[0], to)?;
        if to.is_float() && target.width() != to.width() {
            return self.refuse(instruction);
        }
        let (wide_source, wide_target) = (declared.width() == Width::W64, target.width() == Width::W64);
        // A register wider than the result is filled by sign extension. A 16-bit register or float keeps 16 bits only.
        let narrow16 = target.bits() == 16 || to.bits() == 16 && to.is_float();
        if let Some(exec) = quick((from, to), how, (wide_source, wide_target), narrow16) {
            self.emit(exec, d, [a, Operand::Nothing, Operand::Nothing]);
            return Ok(());
        }
        let exec = match (wide_source, wide_target) {
            (false, false) if narrow16 => {
                map_coded(|a: u32, _: u32, _: u32, how: i64| converted(a.into(), how) as u32 & 0xffff)
            }
            (true, false) if narrow16 => {
                map_coded(|a: u64, _: u64, _: u64, how: i64| converted(a, how) as u32 & 0xffff)
            }
            (false, false) => map_coded(|a: u32, _: u32, _: u32, how: i64| converted(a.into(), how) as u32),
            (true, false) => map_coded(|a: u64, _: u64, _: u64, how: i64| converted(a, how) as u32),
            (false, true) => map_coded(|a: u32, _: u32, _: u32, how: i64| converted(a.into(), how)),
            (true, true) => map_coded(|a: u64, _: u64, _: u64, how: i64| converted(a, how)),
        };
        let draft = Draft { d, a, b: a, c: a, imm: how, ..self.draft(exec) };
        self.push(draft);
        Ok(())
    }

    /// `cvt.rn.f16x2.f32 d, a, b`: `a` becomes the upper half.
    fn convert_pair(&mut self, instruction: &'a Instruction<'a>, to: Type, how: i64) -> Result<(), Error> {
        self.count(instruction, &[3])?;
        let operands = &instruction.operands;
        let (a, b) = (self.source(&operands[1], Type::F32)?, self.source(&operands[2], Type::F32)?);
        let d = self.target(&operands[0], Type::B32)?;
        let half = if to == Type::F16x2 { Type::F16 } else { Type::BF16 };
        let types = number(Type::F32).unwrap_or(0) << 8 | number(half).unwrap_or(0) << 12;
        let by_digits = || {
            map_coded(|a: u32, b: u32, _: u32, how: i64| {
                (converted(a.into(), how) as u32) << 16 | (converted(b.into(), how) as u32 & 0xffff)
            })
        };
        let exec = quick_pair(to, how).unwrap_or_else(by_digits);
        let draft = Draft { d, a, b, c: a, imm: how | types, ..self.draft(exec) };
        self.push(draft);
        Ok(())
    }

    /// `cvt.pack.sat.u8.s32.b32 d, a, b, c`: saturates `a` and `b`, puts `b` lowest, and bits of `c` above. `u16` fills `d`.
    fn pack(&mut self, instruction: &'a Instruction<'a>, words: &mut Modifiers<'a>) -> Result<(), Error> {
        let sat = words.take("sat");
        let to = words.next().and_then(|to| PACKED.iter().position(|(name, ..)| *name == to));
        let (from, rest) = (words.ty(), words.ty());
        let (Some(to), Some(Type::S32), true) = (to, from, sat) else { return self.refuse(instruction) };
        if rest != (PACKED[to].1 < 16).then_some(Type::B32) {
            return self.refuse(instruction);
        }
        self.count(instruction, &[if rest.is_some() { 4 } else { 3 }])?;
        let operands = &instruction.operands;
        let (a, b) = (self.source(&operands[1], Type::S32)?, self.source(&operands[2], Type::S32)?);
        let c = match operands.get(3) {
            Some(c) => self.source(c, Type::B32)?,
            None => self.bits(Type::B32, 0),
        };
        let d = self.target(&operands[0], Type::B32)?;
        let exec = map_coded(|a: u32, b: u32, c: u32, to: i64| {
            let (_, bits, least) = PACKED[to as usize];
            let ones = (1_u32 << bits) - 1;
            let part = |value: u32| (value as i32).clamp(least, least + ones as i32) as u32 & ones;
            part(b) | part(a) << bits | c.checked_shl(2 * bits).unwrap_or(0)
        });
        let draft = Draft { d, a, b, c, imm: to as i64, ..self.draft(exec) };
        self.push(draft);
        Ok(())
    }

    /// `mapa` and `getctarank`.
    fn cluster_address(&mut self, instruction: &'a Instruction<'a>, words: &mut Modifiers<'a>) -> Result<(), Error> {
        let operands = &instruction.operands;
        if words.rest().contains(&"shared::cta") || words.space().is_some_and(|space| space != Space::Shared) {
            return self.refuse(instruction);
        }
        let ty = words.ty().filter(|ty| matches!(ty, Type::U32 | Type::U64));
        let ty = self.needed(instruction, ty)?;
        self.count(instruction, &[if instruction.opcode == "mapa" { 3 } else { 2 }])?;
        let a = self.source(&operands[1], ty)?;
        if instruction.opcode == "getctarank" {
            let d = self.target(&operands[0], Type::U32)?;
            let draft = Draft { d, a, imm: i64::from(ty == Type::U64), ..self.draft(cluster::rank) };
            self.push(draft);
            return Ok(());
        }
        let d = self.target(&operands[0], ty)?;
        let b = self.source(&operands[2], Type::U32)?;
        let exec = match ty {
            Type::U64 => map2(cluster::mapped),
            _ => map2(|a: u32, rank: u32| cluster::mapped(a.into(), rank) as u32),
        };
        self.emit(exec, d, [a, b, Operand::Nothing]);
        Ok(())
    }

    /// `cvta`, `isspacep`, `mapa`.
    pub(super) fn space(&mut self, instruction: &'a Instruction<'a>, words: &mut Modifiers<'a>) -> Result<(), Error> {
        let operands = &instruction.operands;
        if matches!(instruction.opcode, "mapa" | "getctarank") {
            return self.cluster_address(instruction, words);
        }
        let to = words.take("to");
        let of_cluster = words.rest().contains(&"shared::cluster");
        let space = words.space();
        let space = self.needed(instruction, space)?;
        self.count(instruction, &[2])?;
        let window = match space {
            Space::Shared => SHARED_WINDOW,
            Space::Local => LOCAL_WINDOW,
            Space::Param => PARAM_WINDOW,
            _ => 0,
        };
        if instruction.opcode == "isspacep" {
            let a = self.source(&operands[1], Type::U64)?;
            let Written::Name(name) = &operands[0] else {
                return Err(self.wrong("isspacep", "the target is not a predicate"));
            };
            let d = self.predicate_target(name)?;
            if space == Space::Shared && !of_cluster {
                let draft = Draft { d, a, ..self.draft(cluster::is_own_shared) };
                self.push(draft);
                return Ok(());
            }
            if space == Space::Const {
                let is_constant = self.is_constant_address(a);
                self.emit(masks(|is_constant, _| is_constant), d, [is_constant, is_constant, Operand::Nothing]);
                return Ok(());
            }
            if space == Space::Global {
                // The window of a kernel's parameters is in the global one, and constant memory is not.
                let (is_constant, param) =
                    (self.is_constant_address(a), Operand::Register(self.register(Width::Predicate)));
                let window = self.constant(Constant::Bits(PARAM_WINDOW), Width::W64);
                let outside = compare(|a: u64, param: u64| a >> 56 == 0 || a >> 56 == param >> 56);
                self.emit_always(outside, param, [a, window, Operand::Nothing]);
                self.emit(
                    masks(|global, is_constant| global & !is_constant),
                    d,
                    [param, is_constant, Operand::Nothing],
                );
                return Ok(());
            }
            let window = self.constant(Constant::Bits(window), Width::W64);
            self.emit(compare(|a: u64, window: u64| a >> 56 == window >> 56), d, [a, window, Operand::Nothing]);
            return Ok(());
        }
        let ty = words.ty();
        let ty = self.needed(instruction, ty)?;
        if ty != Type::U64 {
            return Err(self.wrong(&spelled(instruction), "generic addresses have 64 bits"));
        }
        let (d, a) = (self.target(&operands[0], ty)?, self.source(&operands[1], ty)?);
        let named = match &operands[1] {
            Written::Name(name) | Written::Sum(name, _) => self.space_of(name).map(|own| (*name, own)),
            _ => None,
        };
        if let Some((name, own)) = named {
            self.match_space(name, own, space)?;
        }
        // The parameters of a function are in local memory.
        let window =
            if named.is_some() && space == Space::Param && !self.function.entry { LOCAL_WINDOW } else { window };
        let by = self.constant(Constant::Bits(window), Width::W64);
        let exec = if to {
            map2(|a: u64, window: u64| a.wrapping_sub(window))
        } else {
            map2(|a: u64, window: u64| a.wrapping_add(window))
        };
        self.emit(exec, d, [a, by, Operand::Nothing]);
        Ok(())
    }
}
