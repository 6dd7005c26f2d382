//! Moves, comparisons and selections.
//!
//! PTX manual: [mov](https://docs.nvidia.com/cuda/parallel-thread-execution/#data-movement-and-conversion-instructions-mov),
//! [comparison and selection](https://docs.nvidia.com/cuda/parallel-thread-execution/#comparison-and-selection-instructions).

use super::super::ast::{Instruction, Operand as Written};
use super::super::execute::lanes::{compare, map1, map2, map3, masks, select};
use super::super::float::{self, BF16, F16, F64, Format, Rounding};
use super::super::program::Exec;
use super::super::types::{Type, Width};
use super::Error;
use super::builder::{Builder, Draft, Operand};
use super::operand::Modifiers;

const NOTHING: Operand = Operand::Nothing;

impl<'a> Builder<'_, 'a> {
    pub(super) fn mov(&mut self, instruction: &'a Instruction<'a>, words: &mut Modifiers<'a>) -> Result<(), Error> {
        self.count(instruction, &[2])?;
        let (target, source) = (&instruction.operands[0], &instruction.operands[1]);
        // `mov.v2.u32` of vector registers.
        let vector = words.one_of(&["v2", "v4"]);
        let ty = words.ty();
        let ty = self.needed(instruction, ty)?;
        if vector.is_some() {
            let (Written::Name(target), Written::Name(source)) = (target, source) else {
                return self.refuse(instruction);
            };
            let pairs = self.find_vector(target).zip(self.find_vector(source));
            let pairs = pairs.map(|(d, a)| d.iter().zip(a).map(|(d, a)| (d.0, a.0)).collect::<Vec<_>>());
            for (d, a) in self.needed(instruction, pairs)? {
                self.copy(ty, Operand::Register(d), Operand::Register(a));
            }
            return Ok(());
        }
        match (target, source) {
            (Written::Vector(targets), source) => self.unpack(instruction, ty, targets, source),
            (target, Written::Vector(sources)) => self.join(instruction, ty, target, sources),
            (Written::Name(target), source) if ty == Type::Pred => {
                let a = self.predicate(source)?;
                let d = self.predicate_target(target)?;
                self.emit(masks(|a, _| a), d, [a, a, NOTHING]);
                Ok(())
            }
            (target, source) => {
                let a = self.source(source, ty)?;
                let d = self.target(target, ty)?;
                self.copy(ty, d, a);
                Ok(())
            }
        }
    }

    pub(super) fn copy(&mut self, ty: Type, d: Operand, a: Operand) {
        let exec = match ty.width() {
            Width::W64 => map1(|a: u64| a),
            Width::W128 => copy128,
            _ => map1(|a: u32| a),
        };
        self.emit(exec, d, [a, NOTHING, NOTHING]);
    }

    /// `mov.b64 {lo, hi}, a`: parts of a value into registers.
    fn unpack(
        &mut self,
        instruction: &'a Instruction<'a>,
        ty: Type,
        targets: &'a [Written<'a>],
        source: &'a Written<'a>,
    ) -> Result<(), Error> {
        let a = self.source(source, ty)?;
        let part = self.needed(instruction, part(ty, targets.len()))?;
        // Where a target is the source too, it is written after all are read.
        let mut parts = Vec::new();
        for (index, target) in targets.iter().enumerate() {
            if *target == Written::Nothing {
                continue;
            }
            let d = self.target(target, part)?;
            let spare = Operand::Register(self.register(part.width()));
            let by = self.bits(Type::U32, index as u64 * u64::from(part.bits()));
            let exec: Exec = match (ty.width(), part.bits()) {
                (Width::W128, _) => half128,
                (Width::W64, 32) => map2(|a: u64, by: u32| (a >> by) as u32),
                (Width::W64, 16) => map2(|a: u64, by: u32| (a >> by) as u32 & 0xffff),
                (Width::W64, 8) => map2(|a: u64, by: u32| (a >> by) as u32 & 0xff),
                (_, 16) => map2(|a: u32, by: u32| a >> by & 0xffff),
                (_, 8) => map2(|a: u32, by: u32| a >> by & 0xff),
                _ => return self.refuse(instruction),
            };
            let draft = Draft { d: spare, a, b: by, imm: index as i64, ..self.draft(exec) };
            self.push(draft);
            parts.push((d, spare));
        }
        for (d, spare) in parts {
            self.copy(part, d, spare);
        }
        Ok(())
    }

    /// `mov.b64 d, {lo, hi}`: registers as parts of a value.
    fn join(
        &mut self,
        instruction: &'a Instruction<'a>,
        ty: Type,
        target: &'a Written<'a>,
        sources: &'a [Written<'a>],
    ) -> Result<(), Error> {
        let part = self.needed(instruction, part(ty, sources.len()))?;
        let d = self.target(target, ty)?;
        if ty.width() == Width::W128 {
            let (a, b) = (self.source(&sources[0], part)?, self.source(&sources[1], part)?);
            self.emit(join128, d, [a, b, NOTHING]);
            return Ok(());
        }
        let mut all = None;
        for (index, source) in sources.iter().enumerate() {
            let a = self.source(source, part)?;
            let by = self.bits(Type::U32, index as u64 * u64::from(part.bits()));
            let next = Operand::Register(self.register(ty.width()));
            let before = match all {
                Some(before) => before,
                None => self.bits(ty, 0),
            };
            let exec: Exec = match (ty.width(), part.bits()) {
                (Width::W64, 32) => map3(|before: u64, a: u32, by: u32| before | u64::from(a) << by),
                (Width::W64, 16) => map3(|before: u64, a: u16, by: u32| before | u64::from(a) << by),
                (Width::W64, 8) => map3(|before: u64, a: u8, by: u32| before | u64::from(a) << by),
                (_, 16) => map3(|before: u32, a: u16, by: u32| before | u32::from(a) << by),
                (_, 8) => map3(|before: u32, a: u8, by: u32| before | u32::from(a) << by),
                _ => return self.refuse(instruction),
            };
            self.emit_always(exec, next, [before, a, by]);
            all = Some(next);
        }
        let all = self.needed(instruction, all)?;
        self.copy(ty, d, all);
        Ok(())
    }

    /// A value of 128 bits into two registers, and out of them.
    pub(super) fn split128(&mut self, source: Operand, low: Operand, high: Operand) {
        for (d, imm) in [(low, 0), (high, 1)] {
            let draft = Draft { d, a: source, imm, ..self.draft(half128) };
            self.push(draft);
        }
    }

    pub(super) fn join128(&mut self, d: Operand, low: Operand, high: Operand) {
        self.emit(join128, d, [low, high, NOTHING]);
    }

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
                    // -0 is not less than 0; neither is, flushed, what is subnormal.
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
            _ => return Err(self.wrong("setp", "the target is no predicate")),
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
            // The common form goes straight to its target.
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

    /// `setp.lt.f16x2 p|q, a, b`: `p` of the lower halves, `q` of the upper ones.
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
}

impl<'a> Builder<'_, 'a> {
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

/// The type of one of so many parts of a value.
fn part(ty: Type, parts: usize) -> Option<Type> {
    Some(match ty.bits().checked_div(parts as u32)? {
        _ if !matches!(parts, 2 | 4 | 8) => return None,
        64 => Type::B64,
        32 => Type::B32,
        16 => Type::B16,
        8 => Type::B8,
        _ => return None,
    })
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
            // Unordered numbers are not "not equal" here.
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
        F16 => floats!(test, u16, |x| widened(super::super::float::F16, x)),
        BF16 => floats!(test, u16, |x| widened(super::super::float::BF16, x)),
        _ => None,
    }
}

fn widened(format: Format, bits: u16) -> f64 {
    debug_assert!(format == F16 || format == BF16);
    f64::from_bits(float::convert(format, F64, bits.into(), Rounding::Near))
}

use super::super::execute::{Flow, Machine};
use super::super::program::Instruction as Code;

/// # Safety
/// The operands are registers of 128 bits.
unsafe fn copy128(machine: &mut Machine<'_>, instruction: &Code) -> Flow {
    // SAFETY: this function's contract: two rows of 64-bit slots.
    unsafe {
        let (d, a) = (machine.slots::<u64>(instruction.d), machine.slots::<u64>(instruction.a));
        for lane in (0..64).filter(|lane| machine.mask >> (lane % 32) & 1 == 1) {
            d.add(lane).write(a.add(lane).read());
        }
    }
    Flow::Next
}

/// # Safety
/// `a` is a register of 128 bits, `d` one of 64.
unsafe fn half128(machine: &mut Machine<'_>, instruction: &Code) -> Flow {
    // SAFETY: this function's contract.
    unsafe {
        let (d, a) = (machine.slots::<u64>(instruction.d), machine.slots::<u64>(instruction.a));
        for lane in (0..32).filter(|lane| machine.mask >> lane & 1 == 1) {
            d.add(lane).write(a.add(lane + 32 * (instruction.imm as usize & 1)).read());
        }
    }
    Flow::Next
}

/// # Safety
/// `d` is a register of 128 bits, `a` and `b` are of 64.
unsafe fn join128(machine: &mut Machine<'_>, instruction: &Code) -> Flow {
    // SAFETY: this function's contract.
    unsafe {
        let d = machine.slots::<u64>(instruction.d);
        let (a, b) = (machine.slots::<u64>(instruction.a), machine.slots::<u64>(instruction.b));
        for lane in (0..32).filter(|lane| machine.mask >> lane & 1 == 1) {
            d.add(lane).write(a.add(lane).read());
            d.add(lane + 32).write(b.add(lane).read());
        }
    }
    Flow::Next
}
