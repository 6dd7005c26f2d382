//! Bit operations on integers: counting, searching, reversing, and fields.
//!
//! PTX manual: [integer
//! arithmetic](https://docs.nvidia.com/cuda/parallel-thread-execution/#integer-arithmetic-instructions), `popc` and
//! the following instructions.

use super::builder::Builder;
use super::by_type::by_type;
use super::draft::Operand;
use crate::Error;
use crate::grammar::ast::Instruction;
use crate::grammar::types::Type;
use crate::machine::lanes::{map_long3, map1, map2, map3};
use crate::machine::program::Exec;

/// An operation with one target.
pub(super) struct Operation {
    pub exec: Exec,
    pub target: Type,
    pub sources: Vec<Type>,
}

/// Looks up an operation for a type. `amount` is set with the modifier `.shiftamt`; `wraps` is 0 with `.clamp`, and 1 with `.wrap`.
pub(super) fn operation(opcode: &str, ty: Type, amount: bool, wraps: Option<usize>) -> Option<Operation> {
    use Type::{B32, B64, S32, S64, U32, U64};
    let (mut target, mut sources) = (ty, vec![ty]);
    let exec: Option<Exec> = match opcode {
        "popc" => {
            target = U32;
            match ty {
                B32 => Some(map1(|a: u32| a.count_ones())),
                B64 => Some(map1(|a: u64| a.count_ones())),
                _ => None,
            }
        }
        "clz" => {
            target = U32;
            match ty {
                B32 => Some(map1(|a: u32| a.leading_zeros())),
                B64 => Some(map1(|a: u64| a.leading_zeros())),
                _ => None,
            }
        }
        "bfind" => {
            target = U32;
            match (ty, amount) {
                (U32, false) => Some(map1(|a: u32| find32(a, false))),
                (U32, true) => Some(map1(|a: u32| find32(a, true))),
                (S32, false) => Some(map1(|a: i32| find32((a ^ (a >> 31)) as u32, false))),
                (S32, true) => Some(map1(|a: i32| find32((a ^ (a >> 31)) as u32, true))),
                (U64, false) => Some(map1(|a: u64| find64(a, false))),
                (U64, true) => Some(map1(|a: u64| find64(a, true))),
                (S64, false) => Some(map1(|a: i64| find64((a ^ (a >> 63)) as u64, false))),
                (S64, true) => Some(map1(|a: i64| find64((a ^ (a >> 63)) as u64, true))),
                _ => None,
            }
        }
        "fns" => {
            sources = vec![B32, B32, S32];
            target = B32;
            (ty == B32).then(|| map3(nth_set))
        }
        "brev" => by_type!(ty, { B32 => u32, B64 => u64 }, map1, |a| a.reverse_bits()),
        "bfe" => {
            sources = vec![ty, U32, U32];
            match ty {
                U32 => Some(map_long3(|a: u32, b: u32, c: u32| extract(u64::from(a), b, c, 32, false) as u32)),
                S32 => Some(map_long3(|a: u32, b: u32, c: u32| extract(u64::from(a), b, c, 32, true) as u32)),
                U64 => Some(map3(|a: u64, b: u32, c: u32| extract(a, b, c, 64, false))),
                S64 => Some(map3(|a: u64, b: u32, c: u32| extract(a, b, c, 64, true))),
                _ => None,
            }
        }
        "bmsk" => {
            sources = vec![B32; 2];
            match (ty, wraps) {
                (B32, Some(0)) => Some(map2(|a: u32, b: u32| mask(u64::from(a), u64::from(b)))),
                (B32, Some(1)) => Some(map2(|a: u32, b: u32| mask(u64::from(a & 31), u64::from(b & 31)))),
                _ => None,
            }
        }
        "szext" => {
            sources = vec![ty, U32];
            match (ty, wraps) {
                (U32, Some(0)) => Some(map2(|a: u32, b: u32| if b >= 32 { a } else { a & ((1 << b) - 1) })),
                (U32, Some(1)) => Some(map2(|a: u32, b: u32| a & ((1 << (b & 31)) - 1))),
                (S32, Some(0)) => Some(map2(|a: i32, b: u32| sign_extend(a, b))),
                (S32, Some(1)) => Some(map2(|a: i32, b: u32| sign_extend(a, b & 31))),
                _ => None,
            }
        }
        _ => None,
    };
    exec.map(|exec| Operation { exec, target, sources })
}

impl<'a> Builder<'_, 'a> {
    /// `bfi`: four sources; start and length are packed into one.
    pub(super) fn insert(&mut self, instruction: &'a Instruction<'a>, ty: Type) -> Result<(), Error> {
        self.count(instruction, &[5])?;
        let operands = &instruction.operands;
        let (a, b) = (self.source(&operands[1], ty)?, self.source(&operands[2], ty)?);
        let (start, length) = (self.source(&operands[3], Type::U32)?, self.source(&operands[4], Type::U32)?);
        let packed = Operand::Register(self.register(Type::U32.width()));
        self.emit_always(
            map2(|start: u32, length: u32| start & 255 | (length & 255) << 8),
            packed,
            [start, length, Operand::Nothing],
        );
        let d = self.target(&operands[0], ty)?;
        let exec = match ty {
            Type::B32 => map_long3(|a: u32, b: u32, c: u32| put_bits(u64::from(a), u64::from(b), c, 32) as u32),
            Type::B64 => map3(|a: u64, b: u64, c: u32| put_bits(a, b, c, 64)),
            _ => return self.refuse(instruction),
        };
        self.emit(exec, d, [a, b, packed]);
        Ok(())
    }
}

/// `bfind`: the position of the highest bit, or its distance from the top; all ones for zero.
fn find32(a: u32, amount: bool) -> u32 {
    match a {
        0 => u32::MAX,
        _ if amount => a.leading_zeros(),
        _ => 31 - a.leading_zeros(),
    }
}

fn find64(a: u64, amount: bool) -> u32 {
    match a {
        0 => u32::MAX,
        _ if amount => a.leading_zeros(),
        _ => 63 - a.leading_zeros(),
    }
}

/// `fns`: the n-th set bit from a position on, upwards or downwards.
fn nth_set(mask: u32, base: u32, offset: i32) -> u32 {
    let base = base & 31;
    if offset == 0 {
        return if mask >> base & 1 == 1 { base } else { u32::MAX };
    }
    let mut left = offset.unsigned_abs();
    let places: Vec<u32> = if offset > 0 { (base..32).collect() } else { (0..=base).rev().collect() };
    for place in places {
        if mask >> place & 1 == 1 {
            left -= 1;
            if left == 0 {
                return place;
            }
        }
    }
    u32::MAX
}

/// `bfe`: a field, extended by its sign if it is signed.
#[inline(always)]
fn extract(a: u64, start: u32, length: u32, bits: u32, signed: bool) -> u64 {
    let (start, length) = (start & 255, length & 255);
    let top = (start + length).wrapping_sub(1).min(bits - 1);
    let sign = signed && length != 0 && a >> top & 1 == 1;
    let field = if start >= bits { 0 } else { a >> start };
    let kept = length.min(bits.saturating_sub(start));
    let ones = if kept >= 64 { u64::MAX } else { (1 << kept) - 1 };
    if sign { field | !ones } else { field & ones }
}

/// `bfi`: the low bits of `a` inserted into `b`; start and length of the field are packed.
#[inline(always)]
fn put_bits(a: u64, b: u64, packed: u32, bits: u32) -> u64 {
    let (start, length) = (packed & 255, packed >> 8 & 255);
    let ones = if length >= 64 { u64::MAX } else { (1 << length) - 1 };
    let field = if start >= bits { 0 } else { ones << start };
    (b & !field) | ((a << (start & 63)) & field)
}

/// `bmsk`: `length` ones from a position on.
fn mask(start: u64, length: u64) -> u32 {
    if start >= 32 {
        return 0;
    }
    let ones = if length >= 32 { u64::from(u32::MAX) } else { (1 << length) - 1 };
    (ones << start) as u32
}

/// `szext.s32`: the low bits, extended by their sign.
fn sign_extend(a: i32, bits: u32) -> i32 {
    match bits {
        0 => 0,
        32.. => a,
        _ => a << (32 - bits) >> (32 - bits),
    }
}
