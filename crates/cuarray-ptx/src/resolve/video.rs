//! Video instructions: arithmetic on parts of words, one at a time or all of a word at once.
//!
//! PTX manual: [scalar](https://docs.nvidia.com/cuda/parallel-thread-execution/#scalar-video-instructions) and
//! [SIMD](https://docs.nvidia.com/cuda/parallel-thread-execution/#simd-video-instructions) video instructions. NVRTC
//! emits `vabsdiff2` and `vabsdiff4` for `__vabsdiffu4`, `__vsadu4` and similar intrinsics; inline assembly uses the
//! others. Results are computed in 128 bits, then saturated, combined with a third operand, or inserted into a part of
//! it. The bits of the code encode the modifiers.

use super::builder::Builder;
use super::draft::{Draft, Operand};
use super::operand::Modifiers;
use crate::Error;
use crate::grammar::ast::{Instruction, Operand as Written};
use crate::grammar::types::Type;
use crate::machine::lanes::map_coded;

/// The operations by number; comparisons follow.
const OPERATIONS: [&str; 8] = ["add", "sub", "absdiff", "min", "max", "avrg", "shl", "shr"];
const COMPARISONS: [&str; 6] = ["eq", "ne", "lt", "le", "gt", "ge"];

/// The bits of a code above the four of the operation.
mod code {
    pub(super) const SIGNED_RESULT: i64 = 1 << 4;
    pub(super) const SIGNED_A: i64 = 1 << 5;
    pub(super) const SIGNED_B: i64 = 1 << 6;
    pub(super) const SATURATES: i64 = 1 << 7;
    pub(super) const WRAPS: i64 = 1 << 8;
    /// The use of the third operand in two bits: 0 for none, then as in [`super::SECOND`].
    pub(super) const SECOND: u32 = 9;
    /// The first bits of the selectors of `a`, `b` and the target.
    pub(super) const A: u32 = 12;
    pub(super) const B: u32 = 28;
    pub(super) const TARGET: u32 = 44;
    // Flags of `vmad`, which has no operation.
    pub(super) const PLUS_ONE: i64 = 1;
    pub(super) const NEGATED_PRODUCT: i64 = 2;
    pub(super) const NEGATED_C: i64 = 4;
    /// The right shift of the sum: five bits.
    pub(super) const SCALE: u32 = 48;
}

const SECOND: [&str; 3] = ["add", "min", "max"];

/// A part of a word as a number: the whole word, a byte or a half.
fn part(word: u32, selector: i64, signed: bool) -> i128 {
    let (bits, at) = place(selector & 7);
    field(u64::from(word), bits, at, signed)
}

/// The size and position of a selected part: 0 is the word, then four bytes, then two halves.
fn place(selector: i64) -> (u32, u32) {
    match selector {
        1..=4 => (8, 8 * (selector as u32 - 1)),
        5 | 6 => (16, 16 * (selector as u32 - 5)),
        _ => (32, 0),
    }
}

fn field(word: u64, bits: u32, at: u32, signed: bool) -> i128 {
    let field = i128::from(word >> at) & ((1 << bits) - 1);
    if signed && field >> (bits - 1) & 1 == 1 { field - (1 << bits) } else { field }
}

fn clamped(value: i128, bits: u32, signed: bool) -> i128 {
    if signed { value.clamp(-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { value.clamp(0, (1 << bits) - 1) }
}

/// The result of the operation on two numbers.
fn primary(a: i128, b: i128, code: i64) -> i128 {
    match code & 15 {
        0 => a + b,
        1 => a - b,
        2 => (a - b).abs(),
        3 => a.min(b),
        4 => a.max(b),
        // An average is rounded up if the sum is not negative.
        5 if a + b >= 0 => (a + b + 1) >> 1,
        5 => (a + b) >> 1,
        6 | 7 => {
            let by = if code & code::WRAPS != 0 { b & 31 } else { b.min(32) };
            if code & 15 == 6 { a << by } else { a >> by }
        }
        8 => i128::from(a == b),
        9 => i128::from(a != b),
        10 => i128::from(a < b),
        11 => i128::from(a <= b),
        12 => i128::from(a > b),
        _ => i128::from(a >= b),
    }
}

/// `vadd` and the other scalar instructions.
fn scalar(a: u32, b: u32, c: u32, code: i64) -> u32 {
    let signed = |bit: i64| code & bit != 0;
    let a = part(a, code >> code::A, signed(code::SIGNED_A));
    let b = part(b, code >> code::B, signed(code::SIGNED_B));
    let (bits, at) = place(code >> code::TARGET & 7);
    let mut value = primary(a, b, code);
    if signed(code::SATURATES) {
        value = clamped(value, bits, signed(code::SIGNED_RESULT));
    }
    let third = field(c.into(), 32, 0, signed(code::SIGNED_RESULT));
    value = match code >> code::SECOND & 3 {
        1 => value + third,
        2 => value.min(third),
        3 => value.max(third),
        _ => value,
    };
    put(c, value, bits, at)
}

/// A word with one part replaced.
fn put(word: u32, value: i128, bits: u32, at: u32) -> u32 {
    let ones = (u64::from(u32::MAX) >> (32 - bits)) << at;
    (u64::from(word) & !ones | (value as u64) << at & ones) as u32
}

/// `vadd2`, `vadd4` and the others on parts of `bits` bits.
fn simd(a: u32, b: u32, c: u32, code: i64, bits: u32) -> u32 {
    let signed = |bit: i64| code & bit != 0;
    let both = u64::from(b) << 32 | u64::from(a);
    let chosen = |selectors: i64, index: u32, signed: bool| {
        let selector = (selectors >> (4 * index)) as u32 & 7;
        field(both, bits, selector * bits, signed)
    };
    let accumulates = code >> code::SECOND & 3 == 1;
    (0..32 / bits).filter(|index| code >> code::TARGET >> index & 1 == 1).fold(c, |result, index| {
        let a = chosen(code >> code::A, index, signed(code::SIGNED_A));
        let b = chosen(code >> code::B, index, signed(code::SIGNED_B));
        let mut value = primary(a, b, code);
        if signed(code::SATURATES) {
            value = clamped(value, bits, signed(code::SIGNED_RESULT));
        }
        if accumulates { result.wrapping_add(value as u32) } else { put(result, value, bits, index * bits) }
    })
}

/// `vmad`: a scaled product and sum.
fn product(a: u32, b: u32, c: u32, code: i64) -> u32 {
    let set = |bit: i64| code & bit != 0;
    let a = part(a, code >> code::A, set(code::SIGNED_A));
    let b = part(b, code >> code::B, set(code::SIGNED_B));
    let signed = set(code::SIGNED_A | code::SIGNED_B | code::NEGATED_PRODUCT | code::NEGATED_C);
    let c = field(if set(code::NEGATED_C) { !c } else { c }.into(), 32, 0, signed);
    let product = if set(code::NEGATED_PRODUCT) { !(a * b) } else { a * b };
    // Adding one turns a complement into a negation.
    let one = i128::from(set(code::PLUS_ONE | code::NEGATED_PRODUCT | code::NEGATED_C));
    let sum = (product + c + one) >> (code >> code::SCALE & 31);
    (if set(code::SATURATES) { clamped(sum, 32, signed) } else { sum }) as u32
}

/// Splits an operand into its register and its selector.
fn selected<'a>(operand: &Written<'a>) -> (Written<'a>, Option<&'a str>) {
    let is_selector = |word: &str| word.starts_with(['b', 'h']) && word.len() > 1;
    match operand {
        Written::Component(name, word) if is_selector(word) => (Written::Name(name), Some(word)),
        other => (other.clone(), None),
    }
}

/// The number of a scalar selector, for [`place`].
fn scalar_selector(word: &str) -> Option<i64> {
    ["b0", "b1", "b2", "b3", "h0", "h1"].iter().position(|known| *known == word).map(|index| index as i64 + 1)
}

/// The digits of a SIMD selector, the last one first, each below `bound`.
fn digits(word: &str, bits: u32, bound: u32) -> Option<Vec<u32>> {
    let digits = word.strip_prefix(if bits == 16 { 'h' } else { 'b' })?;
    digits.chars().rev().map(|digit| digit.to_digit(10).filter(|digit| *digit < bound)).collect()
}

impl<'a> Builder<'_, 'a> {
    /// Resolves a video instruction.
    ///
    /// # Errors
    /// For forms that the manual does not define.
    pub(super) fn video(&mut self, instruction: &'a Instruction<'a>, words: &mut Modifiers<'a>) -> Result<(), Error> {
        match instruction.opcode.as_bytes().last() {
            Some(b'2') => self.video_simd(instruction, words, 16),
            Some(b'4') => self.video_simd(instruction, words, 8),
            _ if instruction.opcode == "vmad" => self.video_product(instruction, words),
            _ => self.video_scalar(instruction, words),
        }
    }

    /// Takes the types, and returns their bits and the operation. Comparisons have two types.
    fn video_types(&self, instruction: &Instruction<'_>, words: &mut Modifiers<'a>) -> Result<i64, Error> {
        let name = instruction.opcode.trim_start_matches('v').trim_end_matches(['2', '4']);
        let compares = name == "set";
        let operation = match compares {
            true => words.one_of(&COMPARISONS).map(|index| index + OPERATIONS.len()),
            false if name == "mad" => Some(0),
            false => OPERATIONS.iter().position(|known| *known == name),
        };
        let mut code = self.needed(instruction, operation)? as i64;
        let results: &[i64] = if compares { &[] } else { &[code::SIGNED_RESULT] };
        for bit in results.iter().chain(&[code::SIGNED_A, code::SIGNED_B]) {
            code |= match words.ty() {
                Some(Type::S32) => *bit,
                Some(Type::U32) => 0,
                _ => return self.refuse(instruction),
            };
        }
        Ok(code | if words.take("sat") { code::SATURATES } else { 0 })
    }

    fn video_scalar(&mut self, instruction: &'a Instruction<'a>, words: &mut Modifiers<'a>) -> Result<(), Error> {
        let mut code = self.video_types(instruction, words)?;
        if matches!(instruction.opcode, "vshl" | "vshr") {
            let mode = words.one_of(&["clamp", "wrap"]);
            code |= if self.needed(instruction, mode)? == 1 { code::WRAPS } else { 0 };
            if code & code::SIGNED_B != 0 {
                return self.refuse(instruction);
            }
        }
        let second = words.one_of(&SECOND);
        code |= second.map_or(0, |index| index as i64 + 1) << code::SECOND;
        let operands = &instruction.operands;
        self.count(instruction, &[3, 4])?;
        let (target, into) = selected(&operands[0]);
        // A third operand is only allowed if it is combined or inserted into.
        let wanted = if second.is_some() || into.is_some() { 4 } else { 3 };
        if operands.len() != wanted || (second.is_some() && into.is_some()) {
            return self.refuse(instruction);
        }
        let mut sources = [Operand::Nothing; 3];
        for (index, at) in [(1, code::A), (2, code::B)] {
            let (source, selector) = selected(&operands[index]);
            code |= self.scalar_selector(instruction, selector)? << at;
            sources[index - 1] = self.source(&source, Type::U32)?;
        }
        code |= self.scalar_selector(instruction, into)? << code::TARGET;
        sources[2] = match operands.get(3) {
            Some(third) => self.source(third, Type::U32)?,
            None => sources[0],
        };
        let d = self.target(&target, Type::U32)?;
        let [a, b, c] = sources;
        let draft = Draft { d, a, b, c, imm: code, ..self.draft(map_coded(scalar)) };
        self.push(draft);
        Ok(())
    }

    fn scalar_selector(&self, instruction: &Instruction<'_>, word: Option<&str>) -> Result<i64, Error> {
        match word {
            None => Ok(0),
            Some(word) => self.needed(instruction, scalar_selector(word)),
        }
    }

    fn video_product(&mut self, instruction: &'a Instruction<'a>, words: &mut Modifiers<'a>) -> Result<(), Error> {
        let mut code = self.video_types(instruction, words)? & !code::SIGNED_RESULT;
        let plus_one = words.take("po");
        code |= [0, 7, 15][words.one_of(&["shr7", "shr15"]).map_or(0, |index| index + 1)] << code::SCALE;
        self.count(instruction, &[4])?;
        let operands = &instruction.operands;
        let mut sources = [Operand::Nothing; 3];
        let mut negated = [false; 3];
        for (index, at) in [(1, Some(code::A)), (2, Some(code::B)), (3, None)] {
            let (source, selector) = match &operands[index] {
                Written::Minus(name, selector) => {
                    negated[index - 1] = true;
                    (Written::Name(name), *selector)
                }
                other => selected(other),
            };
            match (at, selector) {
                (Some(at), selector) => code |= self.scalar_selector(instruction, selector)? << at,
                (None, Some(_)) => return self.refuse(instruction),
                (None, None) => {}
            }
            sources[index - 1] = self.source(&source, Type::U32)?;
        }
        let (product, third) = (negated[0] != negated[1], negated[2]);
        if plus_one && negated.contains(&true) || product && third {
            return self.refuse(instruction);
        }
        for (set, bit) in [(plus_one, code::PLUS_ONE), (product, code::NEGATED_PRODUCT), (third, code::NEGATED_C)] {
            code |= if set { bit } else { 0 };
        }
        let d = self.target(&operands[0], Type::U32)?;
        let [a, b, c] = sources;
        let draft = Draft { d, a, b, c, imm: code, ..self.draft(map_coded(self::product)) };
        self.push(draft);
        Ok(())
    }

    fn video_simd(
        &mut self,
        instruction: &'a Instruction<'a>,
        words: &mut Modifiers<'a>,
        bits: u32,
    ) -> Result<(), Error> {
        let mut code = self.video_types(instruction, words)?;
        let accumulates = words.take("add");
        if accumulates && code & code::SATURATES != 0 || matches!(code & 15, 6 | 7) {
            return self.refuse(instruction);
        }
        code |= i64::from(accumulates) << code::SECOND;
        self.count(instruction, &[4])?;
        let operands = &instruction.operands;
        let fields = 32 / bits;
        let mut sources = [Operand::Nothing; 3];
        for (index, at, first) in [(1, code::A, 0), (2, code::B, fields)] {
            let (source, selector) = selected(&operands[index]);
            let chosen = match selector {
                Some(word) => digits(word, bits, 2 * fields).filter(|chosen| chosen.len() == fields as usize),
                None => Some((first..first + fields).collect()),
            };
            let chosen = self.needed(instruction, chosen)?;
            code |= chosen.iter().zip(0..).fold(0, |all, (digit, index)| all | i64::from(*digit) << (4 * index)) << at;
            sources[index - 1] = self.source(&source, Type::U32)?;
        }
        let (target, mask) = selected(&operands[0]);
        let mask = match mask {
            // From the highest to the lowest, each at most once.
            Some(word) => {
                digits(word, bits, fields).filter(|chosen| !chosen.is_empty() && chosen.is_sorted_by(|a, b| a < b))
            }
            None => Some((0..fields).collect()),
        };
        code |= self.needed(instruction, mask)?.iter().fold(0, |all, digit| all | 1 << digit) << code::TARGET;
        sources[2] = self.source(&operands[3], Type::U32)?;
        let d = self.target(&target, Type::U32)?;
        let exec = match bits {
            16 => map_coded(|a: u32, b: u32, c: u32, code: i64| simd(a, b, c, code, 16)),
            _ => map_coded(|a: u32, b: u32, c: u32, code: i64| simd(a, b, c, code, 8)),
        };
        let [a, b, c] = sources;
        let draft = Draft { d, a, b, c, imm: code, ..self.draft(exec) };
        self.push(draft);
        Ok(())
    }
}
