//! The operations of integer arithmetic, by their form.
//!
//! PTX manual: [integer
//! arithmetic](https://docs.nvidia.com/cuda/parallel-thread-execution/#integer-arithmetic-instructions). A division by zero
//! returns all ones, as on GPUs; the manual does not define it.

use super::bits::Operation;
use super::by_type::by_type;
use crate::grammar::types::Type;
use crate::grammar::types::Type::{S16, S32, S64, U16, U32, U64};
use crate::machine::lanes::{map_long3, map1, map2, map3};
use crate::machine::program::Exec;

/// The form of an operation, by the modifiers of its instruction.
#[derive(Clone, Copy)]
pub(super) struct Form {
    pub ty: Type,
    /// Whether a product has twice the width of its factors.
    pub wide: bool,
    /// Whether the result is the upper half of a product.
    pub high: bool,
    pub saturates: bool,
    /// Whether negative results become zero.
    pub relu: bool,
}

impl Form {
    /// An operation whose target and sources have one type.
    fn of(self, count: usize, exec: Option<Exec>) -> Option<Operation> {
        Some(Operation { exec: exec?, target: self.ty, sources: vec![self.ty; count] })
    }

    /// `abs` and `neg`.
    pub(super) fn of_one(self, opcode: &str) -> Option<Operation> {
        let exec = match opcode {
            "abs" => by_type!(self.ty, { S16 => i16, S32 => i32, S64 => i64 }, map1, |a| a.wrapping_abs()),
            _ => by_type!(self.ty, { S16 => i16, S32 => i32, S64 => i64 }, map1, |a| a.wrapping_neg()),
        };
        self.of(1, exec)
    }

    /// `add`, `sub`, `min` and `max`.
    pub(super) fn of_two(self, opcode: &str) -> Option<Operation> {
        let limited = if matches!(opcode, "add" | "sub") { self.saturates } else { self.relu };
        let exec: Option<Exec> = match (opcode, self.ty) {
            ("add", S32) if limited => Some(map2(|a: i32, b: i32| a.saturating_add(b))),
            ("sub", S32) if limited => Some(map2(|a: i32, b: i32| a.saturating_sub(b))),
            ("min", S32) if limited => Some(map2(|a: i32, b: i32| a.min(b).max(0))),
            ("max", S32) if limited => Some(map2(|a: i32, b: i32| a.max(b).max(0))),
            _ if limited => None,
            ("add", ty) => {
                by_type!(ty, { U16 | S16 => u16, U32 | S32 => u32, U64 | S64 => u64 }, map2, |a, b| a.wrapping_add(b))
            }
            ("sub", ty) => {
                by_type!(ty, { U16 | S16 => u16, U32 | S32 => u32, U64 | S64 => u64 }, map2, |a, b| a.wrapping_sub(b))
            }
            ("min", ty) => {
                by_type!(ty, { U16 => u16, S16 => i16, U32 => u32, S32 => i32, U64 => u64, S64 => i64 }, map2, |a, b| a.min(b))
            }
            (_, ty) => {
                by_type!(ty, { U16 => u16, S16 => i16, U32 => u32, S32 => i32, U64 => u64, S64 => i64 }, map2, |a, b| a.max(b))
            }
        };
        self.of(2, exec)
    }

    /// `mul` and `mul24`.
    pub(super) fn product(self, opcode: &str) -> Option<Operation> {
        match opcode {
            "mul" if self.wide => Some(Operation { target: doubled(self.ty), ..self.of(2, wide_product(self.ty))? }),
            "mul" if self.high => self.of(2, high_product(self.ty)),
            "mul" => self.of(2, low_product(self.ty)),
            _ => self.of(2, self.product_of_24_bits()),
        }
    }

    fn product_of_24_bits(self) -> Option<Exec> {
        match (self.ty, self.high) {
            (U32, false) => Some(map2(|a: u32, b: u32| product24(a, b) as u32)),
            (U32, true) => Some(map2(|a: u32, b: u32| (product24(a, b) >> 16) as u32)),
            (S32, false) => Some(map2(|a: i32, b: i32| signed_product24(a, b) as i32)),
            (S32, true) => Some(map2(|a: i32, b: i32| (signed_product24(a, b) >> 16) as i32)),
            _ => None,
        }
    }

    /// `mad` and `mad24`.
    pub(super) fn product_and_sum(self, opcode: &str) -> Option<Operation> {
        match opcode {
            "mad" if self.wide => {
                let target = doubled(self.ty);
                Some(Operation { exec: wide_sum(self.ty)?, target, sources: vec![self.ty, self.ty, target] })
            }
            "mad" => self.of(3, self.sum()),
            _ => self.of(3, self.sum_of_24_bits()),
        }
    }

    fn sum(self) -> Option<Exec> {
        let Form { ty, high, saturates, .. } = self;
        match ty {
            S32 if high && saturates => {
                Some(map3(|a: i32, b: i32, c: i32| (((i64::from(a) * i64::from(b)) >> 32) as i32).saturating_add(c)))
            }
            _ if saturates => None,
            _ if high => high_sum(ty),
            _ => {
                by_type!(ty, { U16 | S16 => u16, U32 | S32 => u32, U64 | S64 => u64 }, map3, |a, b, c| a.wrapping_mul(b).wrapping_add(c))
            }
        }
    }

    fn sum_of_24_bits(self) -> Option<Exec> {
        match (self.ty, self.high, self.saturates) {
            (U32, false, false) => Some(map3(|a: u32, b: u32, c: u32| (product24(a, b) as u32).wrapping_add(c))),
            (U32, true, false) => Some(map3(|a: u32, b: u32, c: u32| ((product24(a, b) >> 16) as u32).wrapping_add(c))),
            (S32, false, false) => Some(map3(|a: i32, b: i32, c: i32| (signed_product24(a, b) as i32).wrapping_add(c))),
            (S32, true, false) => {
                Some(map3(|a: i32, b: i32, c: i32| ((signed_product24(a, b) >> 16) as i32).wrapping_add(c)))
            }
            (S32, true, true) => {
                Some(map3(|a: i32, b: i32, c: i32| ((signed_product24(a, b) >> 16) as i32).saturating_add(c)))
            }
            _ => None,
        }
    }

    /// `sad`.
    pub(super) fn absolute_difference_and_sum(self) -> Option<Operation> {
        let exec: Option<Exec> = match self.ty {
            U16 => Some(map3(|a: u16, b: u16, c: u16| a.abs_diff(b).wrapping_add(c))),
            S16 => Some(map3(|a: i16, b: i16, c: i16| (a.abs_diff(b) as i16).wrapping_add(c))),
            U32 => Some(map3(|a: u32, b: u32, c: u32| a.abs_diff(b).wrapping_add(c))),
            S32 => Some(map3(|a: i32, b: i32, c: i32| (a.abs_diff(b) as i32).wrapping_add(c))),
            U64 => Some(map3(|a: u64, b: u64, c: u64| a.abs_diff(b).wrapping_add(c))),
            S64 => Some(map3(|a: i64, b: i64, c: i64| (a.abs_diff(b) as i64).wrapping_add(c))),
            _ => None,
        };
        self.of(3, exec)
    }

    /// `div` and `rem`.
    pub(super) fn quotient(self, opcode: &str) -> Option<Operation> {
        let exec: Option<Exec> = match (opcode, self.ty) {
            ("div", U16) => Some(map2(|a: u16, b: u16| a.checked_div(b).unwrap_or(u16::MAX))),
            ("div", S16) => Some(map2(|a: i16, b: i16| if b == 0 { -1 } else { a.wrapping_div(b) })),
            ("div", U32) => Some(map_long3(|a: u32, b: u32, _: u32| if b == 0 { u32::MAX } else { quotient(a, b) })),
            ("div", S32) => Some(map_long3(|a: i32, b: i32, _: i32| if b == 0 { -1 } else { signed_quotient(a, b) })),
            ("div", U64) => Some(map2(|a: u64, b: u64| a.checked_div(b).unwrap_or(u64::MAX))),
            ("div", S64) => Some(map2(|a: i64, b: i64| if b == 0 { -1 } else { a.wrapping_div(b) })),
            ("rem", U16) => Some(map2(|a: u16, b: u16| a.checked_rem(b).unwrap_or(a))),
            ("rem", S16) => Some(map2(|a: i16, b: i16| if b == 0 { a } else { a.wrapping_rem(b) })),
            ("rem", U32) => Some(map_long3(
                |a: u32, b: u32, _: u32| if b == 0 { a } else { a.wrapping_sub(quotient(a, b).wrapping_mul(b)) },
            )),
            ("rem", S32) => {
                Some(map_long3(
                    |a: i32, b: i32, _: i32| {
                        if b == 0 { a } else { a.wrapping_sub(signed_quotient(a, b).wrapping_mul(b)) }
                    },
                ))
            }
            ("rem", U64) => Some(map2(|a: u64, b: u64| a.checked_rem(b).unwrap_or(a))),
            ("rem", S64) => Some(map2(|a: i64, b: i64| if b == 0 { a } else { a.wrapping_rem(b) })),
            _ => None,
        };
        self.of(2, exec)
    }
}

fn doubled(ty: Type) -> Type {
    match ty {
        U16 => U32,
        S16 => S32,
        U32 => U64,
        _ => S64,
    }
}

fn wide_product(ty: Type) -> Option<Exec> {
    match ty {
        U16 => Some(map2(|a: u16, b: u16| u32::from(a) * u32::from(b))),
        S16 => Some(map2(|a: i16, b: i16| i32::from(a) * i32::from(b))),
        U32 => Some(map2(|a: u32, b: u32| u64::from(a) * u64::from(b))),
        S32 => Some(map2(|a: i32, b: i32| i64::from(a) * i64::from(b))),
        _ => None,
    }
}

pub(super) fn high_product(ty: Type) -> Option<Exec> {
    match ty {
        U16 => Some(map2(|a: u16, b: u16| ((u32::from(a) * u32::from(b)) >> 16) as u16)),
        S16 => Some(map2(|a: i16, b: i16| ((i32::from(a) * i32::from(b)) >> 16) as i16)),
        U32 => Some(map2(|a: u32, b: u32| ((u64::from(a) * u64::from(b)) >> 32) as u32)),
        S32 => Some(map2(|a: i32, b: i32| ((i64::from(a) * i64::from(b)) >> 32) as i32)),
        U64 => Some(map2(|a: u64, b: u64| ((u128::from(a) * u128::from(b)) >> 64) as u64)),
        S64 => Some(map2(|a: i64, b: i64| ((i128::from(a) * i128::from(b)) >> 64) as i64)),
        _ => None,
    }
}

pub(super) fn low_product(ty: Type) -> Option<Exec> {
    by_type!(ty, { U16 | S16 => u16, U32 | S32 => u32, U64 | S64 => u64 }, map2, |a, b| a.wrapping_mul(b))
}

fn wide_sum(ty: Type) -> Option<Exec> {
    match ty {
        U16 => Some(map3(|a: u16, b: u16, c: u32| (u32::from(a) * u32::from(b)).wrapping_add(c))),
        S16 => Some(map3(|a: i16, b: i16, c: i32| (i32::from(a) * i32::from(b)).wrapping_add(c))),
        U32 => Some(map3(|a: u32, b: u32, c: u64| (u64::from(a) * u64::from(b)).wrapping_add(c))),
        S32 => Some(map3(|a: i32, b: i32, c: i64| (i64::from(a) * i64::from(b)).wrapping_add(c))),
        _ => None,
    }
}

fn high_sum(ty: Type) -> Option<Exec> {
    match ty {
        U16 => {
            Some(map3(|a: u16, b: u16, c: u16| ((u32::from(a) * u32::from(b)) >> 16).wrapping_add(u32::from(c)) as u16))
        }
        S16 => {
            Some(map3(|a: i16, b: i16, c: i16| ((i32::from(a) * i32::from(b)) >> 16).wrapping_add(i32::from(c)) as i16))
        }
        U32 => Some(map3(|a: u32, b: u32, c: u32| (((u64::from(a) * u64::from(b)) >> 32) as u32).wrapping_add(c))),
        S32 => Some(map3(|a: i32, b: i32, c: i32| (((i64::from(a) * i64::from(b)) >> 32) as i32).wrapping_add(c))),
        U64 => Some(map3(|a: u64, b: u64, c: u64| (((u128::from(a) * u128::from(b)) >> 64) as u64).wrapping_add(c))),
        S64 => Some(map3(|a: i64, b: i64, c: i64| (((i128::from(a) * i128::from(b)) >> 64) as i64).wrapping_add(c))),
        _ => None,
    }
}

fn product24(a: u32, b: u32) -> u64 {
    u64::from(a & 0xff_ffff) * u64::from(b & 0xff_ffff)
}

fn signed_product24(a: i32, b: i32) -> i64 {
    i64::from(a << 8 >> 8) * i64::from(b << 8 >> 8)
}

/// The quotient of two numbers. It differs from the next integer by at least one part in 2^32, so the quotient in `f64` has the same integer below.
#[inline(always)]
fn quotient(a: u32, b: u32) -> u32 {
    /// The sum of this and an integer has it in the lowest bits.
    const INTEGERS: f64 = 4_503_599_627_370_496.0;
    ((f64::from(a) / f64::from(b)).floor() + INTEGERS).to_bits() as u32
}

/// The quotient of two numbers, towards zero; see [`quotient`]. That of the least number and -1 has no place, and wraps.
#[inline(always)]
fn signed_quotient(a: i32, b: i32) -> i32 {
    let magnitude = quotient(a.unsigned_abs(), b.unsigned_abs()) as i32;
    if a ^ b < 0 { magnitude.wrapping_neg() } else { magnitude }
}
