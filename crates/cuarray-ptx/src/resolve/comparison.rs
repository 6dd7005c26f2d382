//! Comparisons and selections.
//!
//! PTX manual: [comparison and
//! selection](https://docs.nvidia.com/cuda/parallel-thread-execution/#comparison-and-selection-instructions).

use super::builder::Builder;
use super::draft::Operand;
use super::operand::Modifiers;
use crate::Error;
use crate::float::{self, BF16, F16, F64, Format, Rounding};
use crate::grammar::ast::{Instruction, Operand as Written};
use crate::grammar::types::{Type, Width};
use crate::machine::lanes::{compare, map1, map2, map3, masks, select};
use crate::machine::program::Exec;

const NOTHING: Operand = Operand::Nothing;

impl<'a> Builder<'_, 'a> {
    pub(super) fn comparison(
        &mut self,
        instruction: &'a Instruction<'a>,
        words: &mut Modifiers<'a>,
    ) -> Result<(), Error> {
        let operands = &instruction.operands;
        match instruction.opcode {
            "selp" => {
                let ty = words.ty();
                let ty = self.needed(instruction, ty)?;
                self.count(instruction, &[4])?;
                let (a, b) = (self.source(&operands[1], ty)?, self.source(&operands[2], ty)?);
                let c = self.predicate(&operands[3])?;
                let d = self.target(&operands[0], ty)?;
                let exec = if ty.width() == Width::W64 { select::<u64>() } else { select::<u32>() };
                self.emit(exec, d, [a, b, c]);
                Ok(())
            }
            "slct" => {
                let flush = words.take("ftz");
                let ty = words.ty();
                let ty = self.needed(instruction, ty)?;
                let by = words.ty();
                let by = self.needed(instruction, by)?;
                let exec = match (ty.width(), by) {
                    (Width::W32, Type::S32) => map3(|a: u32, b: u32, c: i32| if c >= 0 { a } else { b }),
                    (Width::W64, Type::S32) => map3(|a: u64, b: u64, c: i32| if c >= 0 { a } else { b }),
                    // Neither -0 nor a flushed subnormal number is less than 0.
                    (Width::W32, Type::F32) if flush => {
                        map3(|a: u32, b: u32, c: f32| if c >= 0.0 || c.is_subnormal() { a } else { b })
                    }
                    (Width::W64, Type::F32) if flush => {
                        map3(|a: u64, b: u64, c: f32| if c >= 0.0 || c.is_subnormal() { a } else { b })
                    }
                    (Width::W32, Type::F32) => map3(|a: u32, b: u32, c: f32| if c >= 0.0 { a } else { b }),
                    (Width::W64, Type::F32) => map3(|a: u64, b: u64, c: f32| if c >= 0.0 { a } else { b }),
                    _ => return self.refuse(instruction),
                };
                self.plain(instruction, exec, ty, &[ty, ty, by], 0)
            }
            "setp" => self.setp(instruction, words),
            _ => self.set(instruction, words),
        }
    }

    /// `setp.lt.and.s32 p|q, a, b, c`.
    fn setp(&mut self, instruction: &'a Instruction<'a>, words: &mut Modifiers<'a>) -> Result<(), Error> {
        let flush = words.take("ftz");
        let joined = words.one_of(&["and", "or", "xor"]);
        let test = words.one_of(TESTS);
        let test = self.needed(instruction, test)?;
        let ty = words.ty();
        let ty = self.needed(instruction, ty)?;
        self.count(instruction, &[if joined.is_some() { 4 } else { 3 }])?;
        let operands = &instruction.operands;
        let (p, q) = match &operands[0] {
            Written::Name(p) => (Some(*p), None),
            Written::Pair(p, q) => (Some(*p).filter(|p| *p != "_"), Some(*q).filter(|q| *q != "_")),
            Written::Nothing => (None, None),
            _ => return Err(self.wrong("setp", "the target is not a predicate")),
        };
        let (a, b) = (self.source(&operands[1], ty)?, self.source(&operands[2], ty)?);
        if matches!(ty, Type::F16x2 | Type::BF16x2) {
            return self.setp_pair(instruction, ty, test, (a, b), (p, q), joined);
        }
        let exec = comparison(test, ty, flush);
        let exec = self.needed(instruction, exec)?;
        let c = joined.map(|_| self.predicate(&operands[3])).transpose()?;
        let holds = Operand::Register(self.register(Width::Predicate));
        match (p, q, c) {
            // The common form writes its target directly.
            (Some(p), None, None) => {
                let p = self.predicate_target(p)?;
                self.emit(exec, p, [a, b, NOTHING]);
            }
            _ => {
                self.emit(exec, holds, [a, b, NOTHING]);
                let (first, second) = match joined {
                    Some(0) => (masks(|a, c| a & c), masks(|a, c| !a & c)),
                    Some(1) => (masks(|a, c| a | c), masks(|a, c| !a | c)),
                    Some(_) => (masks(|a, c| a ^ c), masks(|a, c| !a ^ c)),
                    None => (masks(|a, _| a), masks(|a, _| !a)),
                };
                let c = c.unwrap_or(holds);
                let spare = Operand::Register(self.register(Width::Predicate));
                self.emit(first, spare, [holds, c, NOTHING]);
                if let Some(q) = q {
                    let q = self.predicate_target(q)?;
                    self.emit(second, q, [holds, c, NOTHING]);
                }
                if let Some(p) = p {
                    let p = self.predicate_target(p)?;
                    self.emit(masks(|a, _| a), p, [spare, spare, NOTHING]);
                }
            }
        }
        Ok(())
    }

    /// `setp.lt.f16x2 p|q, a, b`: `p` is the result for the lower halves, `q` for the upper halves.
    fn setp_pair(
        &mut self,
        instruction: &'a Instruction<'a>,
        ty: Type,
        test: usize,
        (a, b): (Operand, Operand),
        (p, q): (Option<&'a str>, Option<&'a str>),
        joined: Option<usize>,
    ) -> Result<(), Error> {
        let half = if ty == Type::F16x2 { Type::F16 } else { Type::BF16 };
        let exec = comparison(test, half, false);
        let exec = self.needed(instruction, exec)?;
        if joined.is_some() {
            return self.refuse(instruction);
        }
        let mut upper = Vec::new();
        for operand in [a, b] {
            let shifted = Operand::Register(self.register(Width::W32));
            self.emit_always(map1(|a: u32| a >> 16), shifted, [operand, NOTHING, NOTHING]);
            upper.push(shifted);
        }
        if let Some(p) = p {
            let p = self.predicate_target(p)?;
            self.emit(exec, p, [a, b, NOTHING]);
        }
        if let Some(q) = q {
            let q = self.predicate_target(q)?;
            self.emit(exec, q, [upper[0], upper[1], NOTHING]);
        }
        Ok(())
    }

    /// `set.lt.and.u32.f32 d, a, b, c`: all ones, or 1.0, where the comparison holds.
    fn set(&mut self, instruction: &'a Instruction<'a>, words: &mut Modifiers<'a>) -> Result<(), Error> {
        let flush = words.take("ftz");
        let joined = words.one_of(&["and", "or", "xor"]);
        let test = words.one_of(TESTS);
        let test = self.needed(instruction, test)?;
        let to = words.ty();
        let to = self.needed(instruction, to)?;
        let ty = words.ty();
        let ty = self.needed(instruction, ty)?;
        self.count(instruction, &[if joined.is_some() { 4 } else { 3 }])?;
        let operands = &instruction.operands;
        let (a, b) = (self.source(&operands[1], ty)?, self.source(&operands[2], ty)?);
        if matches!(ty, Type::F16x2 | Type::BF16x2) {
            let joined = joined.map(|joined| self.predicate(&operands[3]).map(|c| (joined, c))).transpose()?;
            return self.set_pair(instruction, (to, ty), test, (a, b), joined);
        }
        let exec = comparison(test, ty, flush);
        let exec = self.needed(instruction, exec)?;
        let mut holds = Operand::Register(self.register(Width::Predicate));
        self.emit_always(exec, holds, [a, b, NOTHING]);
        if let Some(joined) = joined {
            let c = self.predicate(&operands[3])?;
            let exec = [masks(|a, c| a & c), masks(|a, c| a | c), masks(|a, c| a ^ c)][joined];
            let both = Operand::Register(self.register(Width::Predicate));
            self.emit_always(exec, both, [holds, c, NOTHING]);
            holds = both;
        }
        let yes = match to {
            Type::U32 | Type::S32 => u64::from(u32::MAX),
            Type::U16 | Type::S16 => 0xffff,
            Type::F32 => u64::from(1_f32.to_bits()),
            Type::F16 => 0x3c00,
            Type::BF16 => 0x3f80,
            _ => return self.refuse(instruction),
        };
        let (yes, no) = (self.bits(to, yes), self.bits(to, 0));
        let d = self.target(&operands[0], to)?;
        self.emit(select::<u32>(), d, [yes, no, holds]);
        Ok(())
    }

    /// `set.lt.u32.f16x2 d, a, b`: all ones, or 1.0, in each half where the comparison holds.
    fn set_pair(
        &mut self,
        instruction: &'a Instruction<'a>,
        (to, ty): (Type, Type),
        test: usize,
        (a, b): (Operand, Operand),
        joined: Option<(usize, Operand)>,
    ) -> Result<(), Error> {
        let yes = match to {
            Type::U32 | Type::S32 => 0xffff,
            Type::F16x2 if ty == to => 0x3c00,
            Type::BF16x2 if ty == to => 0x3f80,
            _ => return self.refuse(instruction),
        };
        let exec = comparison(test, if ty == Type::F16x2 { Type::F16 } else { Type::BF16 }, false);
        let exec = self.needed(instruction, exec)?;
        let no = self.bits(Type::B32, 0);
        let mut halves = Vec::new();
        for shift in [0, 16] {
            let by = self.bits(Type::U32, shift);
            let mut parts = [a, b];
            for part in &mut parts {
                let half = Operand::Register(self.register(Width::W32));
                self.emit_always(map2(|a: u32, by: u32| a >> by & 0xffff), half, [*part, by, NOTHING]);
                *part = half;
            }
            let mut holds = Operand::Register(self.register(Width::Predicate));
            self.emit_always(exec, holds, [parts[0], parts[1], NOTHING]);
            if let Some((joined, c)) = joined {
                let exec = [masks(|a, c| a & c), masks(|a, c| a | c), masks(|a, c| a ^ c)][joined];
                let both = Operand::Register(self.register(Width::Predicate));
                self.emit_always(exec, both, [holds, c, NOTHING]);
                holds = both;
            }
            let (yes, half) = (self.bits(Type::B32, yes << shift), Operand::Register(self.register(Width::W32)));
            self.emit_always(select::<u32>(), half, [yes, no, holds]);
            halves.push(half);
        }
        let d = self.target(&instruction.operands[0], Type::B32)?;
        self.emit(map2(|a: u32, b: u32| a | b), d, [halves[0], halves[1], NOTHING]);
        Ok(())
    }
}

/// The comparisons, in the order of [`comparison`].
const TESTS: &[&str] = &[
    "eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan",
];

macro_rules! integers {
    ($test:expr, $lane:ty) => {
        match $test {
            0 => Some(compare(|a: $lane, b: $lane| a == b)),
            1 => Some(compare(|a: $lane, b: $lane| a != b)),
            2 | 6 => Some(compare(|a: $lane, b: $lane| a < b)),
            3 | 7 => Some(compare(|a: $lane, b: $lane| a <= b)),
            4 | 8 => Some(compare(|a: $lane, b: $lane| a > b)),
            5 | 9 => Some(compare(|a: $lane, b: $lane| a >= b)),
            _ => None,
        }
    };
}

macro_rules! floats {
    ($test:expr, $lane:ty, |$x:ident| $value:expr) => {{
        macro_rules! with {
            ($a:ident, $b:ident, $holds:expr) => {
                Some(compare(|a: $lane, b: $lane| {
                    let $x = a;
                    let $a = $value;
                    let $x = b;
                    let $b = $value;
                    $holds
                }))
            };
        }
        match $test {
            0 => with!(a, b, a == b),
            // For unordered numbers this test is false.
            1 => with!(a, b, a < b || a > b),
            2 => with!(a, b, a < b),
            3 => with!(a, b, a <= b),
            4 => with!(a, b, a > b),
            5 => with!(a, b, a >= b),
            10 => with!(a, b, !(a < b || a > b)),
            11 => with!(a, b, a != b),
            12 => with!(a, b, !(a >= b)),
            13 => with!(a, b, !(a > b)),
            14 => with!(a, b, !(a <= b)),
            15 => with!(a, b, !(a < b)),
            16 => with!(a, b, !a.is_nan() && !b.is_nan()),
            17 => with!(a, b, a.is_nan() || b.is_nan()),
            _ => None,
        }
    }};
}

#[allow(clippy::neg_cmp_op_on_partial_ord, clippy::double_comparisons)] // unordered numbers are neither less nor greater
fn comparison(test: usize, ty: Type, flush: bool) -> Option<Exec> {
    use Type::{B16, B32, B64, BF16, F16, F32, F64, S16, S32, S64, U16, U32, U64};
    let equality = test < 2;
    match ty {
        U16 => integers!(test, u16),
        U32 => integers!(test, u32),
        U64 => integers!(test, u64),
        B16 if equality => integers!(test, u16),
        B32 if equality => integers!(test, u32),
        B64 if equality => integers!(test, u64),
        S16 if !(6..10).contains(&test) => integers!(test, i16),
        S32 if !(6..10).contains(&test) => integers!(test, i32),
        S64 if !(6..10).contains(&test) => integers!(test, i64),
        F32 if flush => floats!(test, f32, |x| if x.is_subnormal() { 0.0 } else { x }),
        F32 => floats!(test, f32, |x| x),
        F64 => floats!(test, f64, |x| x),
        F16 => floats!(test, u16, |x| widened(crate::float::F16, x)),
        BF16 => floats!(test, u16, |x| widened(crate::float::BF16, x)),
        _ => None,
    }
}

fn widened(format: Format, bits: u16) -> f64 {
    debug_assert!(format == F16 || format == BF16);
    f64::from_bits(float::convert(format, F64, bits.into(), Rounding::Near))
}
