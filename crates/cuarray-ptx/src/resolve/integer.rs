//! Integer arithmetic.
//!
//! PTX manual: [integer
//! arithmetic](https://docs.nvidia.com/cuda/parallel-thread-execution/#integer-arithmetic-instructions); bit
//! operations are in [`bits`]. A division by zero returns all ones, as on GPUs; the manual does not define it.

use super::bits;
use super::builder::Builder;
use super::by_type::by_type;
use super::draft::{Draft, Operand, Results};
use super::operand::Modifiers;
use crate::Error;
use crate::grammar::ast::Instruction;
use crate::grammar::types::Type;
use crate::machine::lanes::{map_coded, map1, map2, map3};
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
        use Type::{S16, S32, S64, U16, U32, U64};
        if matches!(ty, Type::U16x2 | Type::S16x2) {
            if saturates || half.is_some() || wide {
                return self.refuse(instruction);
            }
            return self.integer_pairs(instruction, ty, relu);
        }
        let mut target_type = ty;
        let mut types = vec![ty];
        let exec: Option<Exec> = match opcode {
            "dp4a" | "dp2a" => return self.dot_product(instruction, words, ty, half),
            "add" => {
                types = vec![ty; 2];
                match (ty, saturates) {
                    (S32, true) => Some(map2(|a: i32, b: i32| a.saturating_add(b))),
                    (_, true) => None,
                    _ => {
                        by_type!(ty, { U16 | S16 => u16, U32 | S32 => u32, U64 | S64 => u64 }, map2, |a, b| a.wrapping_add(b))
                    }
                }
            }
            "sub" => {
                types = vec![ty; 2];
                match (ty, saturates) {
                    (S32, true) => Some(map2(|a: i32, b: i32| a.saturating_sub(b))),
                    (_, true) => None,
                    _ => {
                        by_type!(ty, { U16 | S16 => u16, U32 | S32 => u32, U64 | S64 => u64 }, map2, |a, b| a.wrapping_sub(b))
                    }
                }
            }
            "mul" if wide => {
                types = vec![ty; 2];
                target_type = doubled(ty);
                wide_product(ty)
            }
            "mul" => {
                types = vec![ty; 2];
                if half == Some(1) { high_product(ty) } else { low_product(ty) }
            }
            "mad" if wide => {
                target_type = doubled(ty);
                types = vec![ty, ty, target_type];
                match ty {
                    U16 => Some(map3(|a: u16, b: u16, c: u32| (u32::from(a) * u32::from(b)).wrapping_add(c))),
                    S16 => Some(map3(|a: i16, b: i16, c: i32| (i32::from(a) * i32::from(b)).wrapping_add(c))),
                    U32 => Some(map3(|a: u32, b: u32, c: u64| (u64::from(a) * u64::from(b)).wrapping_add(c))),
                    S32 => Some(map3(|a: i32, b: i32, c: i64| (i64::from(a) * i64::from(b)).wrapping_add(c))),
                    _ => None,
                }
            }
            "mad" => {
                types = vec![ty; 3];
                match (half, saturates) {
                    (Some(1), true) if ty == S32 => Some(map3(|a: i32, b: i32, c: i32| {
                        (((i64::from(a) * i64::from(b)) >> 32) as i32).saturating_add(c)
                    })),
                    (_, true) => None,
                    (Some(1), _) => match ty {
                        U16 => Some(map3(|a: u16, b: u16, c: u16| {
                            ((u32::from(a) * u32::from(b)) >> 16).wrapping_add(u32::from(c)) as u16
                        })),
                        S16 => Some(map3(|a: i16, b: i16, c: i16| {
                            ((i32::from(a) * i32::from(b)) >> 16).wrapping_add(i32::from(c)) as i16
                        })),
                        U32 => Some(map3(|a: u32, b: u32, c: u32| {
                            (((u64::from(a) * u64::from(b)) >> 32) as u32).wrapping_add(c)
                        })),
                        S32 => Some(map3(|a: i32, b: i32, c: i32| {
                            (((i64::from(a) * i64::from(b)) >> 32) as i32).wrapping_add(c)
                        })),
                        U64 => Some(map3(|a: u64, b: u64, c: u64| {
                            (((u128::from(a) * u128::from(b)) >> 64) as u64).wrapping_add(c)
                        })),
                        S64 => Some(map3(|a: i64, b: i64, c: i64| {
                            (((i128::from(a) * i128::from(b)) >> 64) as i64).wrapping_add(c)
                        })),
                        _ => None,
                    },
                    _ => {
                        by_type!(ty, { U16 | S16 => u16, U32 | S32 => u32, U64 | S64 => u64 }, map3, |a, b, c| a.wrapping_mul(b).wrapping_add(c))
                    }
                }
            }
            "mul24" => {
                types = vec![ty; 2];
                let high = half == Some(1);
                match (ty, high) {
                    (U32, false) => Some(map2(|a: u32, b: u32| product24(a, b) as u32)),
                    (U32, true) => Some(map2(|a: u32, b: u32| (product24(a, b) >> 16) as u32)),
                    (S32, false) => Some(map2(|a: i32, b: i32| signed_product24(a, b) as i32)),
                    (S32, true) => Some(map2(|a: i32, b: i32| (signed_product24(a, b) >> 16) as i32)),
                    _ => None,
                }
            }
            "mad24" => {
                types = vec![ty; 3];
                match (ty, half == Some(1), saturates) {
                    (U32, false, false) => {
                        Some(map3(|a: u32, b: u32, c: u32| (product24(a, b) as u32).wrapping_add(c)))
                    }
                    (U32, true, false) => {
                        Some(map3(|a: u32, b: u32, c: u32| ((product24(a, b) >> 16) as u32).wrapping_add(c)))
                    }
                    (S32, false, false) => {
                        Some(map3(|a: i32, b: i32, c: i32| (signed_product24(a, b) as i32).wrapping_add(c)))
                    }
                    (S32, true, false) => {
                        Some(map3(|a: i32, b: i32, c: i32| ((signed_product24(a, b) >> 16) as i32).wrapping_add(c)))
                    }
                    (S32, true, true) => {
                        Some(map3(|a: i32, b: i32, c: i32| ((signed_product24(a, b) >> 16) as i32).saturating_add(c)))
                    }
                    _ => None,
                }
            }
            "sad" => {
                types = vec![ty; 3];
                match ty {
                    U16 => Some(map3(|a: u16, b: u16, c: u16| a.abs_diff(b).wrapping_add(c))),
                    S16 => Some(map3(|a: i16, b: i16, c: i16| (a.abs_diff(b) as i16).wrapping_add(c))),
                    U32 => Some(map3(|a: u32, b: u32, c: u32| a.abs_diff(b).wrapping_add(c))),
                    S32 => Some(map3(|a: i32, b: i32, c: i32| (a.abs_diff(b) as i32).wrapping_add(c))),
                    U64 => Some(map3(|a: u64, b: u64, c: u64| a.abs_diff(b).wrapping_add(c))),
                    S64 => Some(map3(|a: i64, b: i64, c: i64| (a.abs_diff(b) as i64).wrapping_add(c))),
                    _ => None,
                }
            }
            "div" => {
                types = vec![ty; 2];
                match ty {
                    U16 => Some(map2(|a: u16, b: u16| a.checked_div(b).unwrap_or(u16::MAX))),
                    S16 => Some(map2(|a: i16, b: i16| if b == 0 { -1 } else { a.wrapping_div(b) })),
                    U32 => Some(map2(|a: u32, b: u32| a.checked_div(b).unwrap_or(u32::MAX))),
                    S32 => Some(map2(|a: i32, b: i32| if b == 0 { -1 } else { a.wrapping_div(b) })),
                    U64 => Some(map2(|a: u64, b: u64| a.checked_div(b).unwrap_or(u64::MAX))),
                    S64 => Some(map2(|a: i64, b: i64| if b == 0 { -1 } else { a.wrapping_div(b) })),
                    _ => None,
                }
            }
            "rem" => {
                types = vec![ty; 2];
                match ty {
                    U16 => Some(map2(|a: u16, b: u16| a.checked_rem(b).unwrap_or(a))),
                    S16 => Some(map2(|a: i16, b: i16| if b == 0 { a } else { a.wrapping_rem(b) })),
                    U32 => Some(map2(|a: u32, b: u32| a.checked_rem(b).unwrap_or(a))),
                    S32 => Some(map2(|a: i32, b: i32| if b == 0 { a } else { a.wrapping_rem(b) })),
                    U64 => Some(map2(|a: u64, b: u64| a.checked_rem(b).unwrap_or(a))),
                    S64 => Some(map2(|a: i64, b: i64| if b == 0 { a } else { a.wrapping_rem(b) })),
                    _ => None,
                }
            }
            "abs" => by_type!(ty, { S16 => i16, S32 => i32, S64 => i64 }, map1, |a| a.wrapping_abs()),
            "neg" => by_type!(ty, { S16 => i16, S32 => i32, S64 => i64 }, map1, |a| a.wrapping_neg()),
            "min" => {
                types = vec![ty; 2];
                match (ty, relu) {
                    (S32, true) => Some(map2(|a: i32, b: i32| a.min(b).max(0))),
                    (_, true) => None,
                    _ => {
                        by_type!(ty, { U16 => u16, S16 => i16, U32 => u32, S32 => i32, U64 => u64, S64 => i64 }, map2, |a, b| a.min(b))
                    }
                }
            }
            "max" => {
                types = vec![ty; 2];
                match (ty, relu) {
                    (S32, true) => Some(map2(|a: i32, b: i32| a.max(b).max(0))),
                    (_, true) => None,
                    _ => {
                        by_type!(ty, { U16 => u16, S16 => i16, U32 => u32, S32 => i32, U64 => u64, S64 => i64 }, map2, |a, b| a.max(b))
                    }
                }
            }
            "bfi" => return self.insert(instruction, ty),
            _ => bits::operation(opcode, ty, amount, wraps).map(|operation| {
                (target_type, types) = (operation.target, operation.sources);
                operation.exec
            }),
        };
        let Some(exec) = exec else { return self.refuse(instruction) };
        self.plain(instruction, exec, target_type, &types, 0)
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

fn doubled(ty: Type) -> Type {
    match ty {
        Type::U16 => Type::U32,
        Type::S16 => Type::S32,
        Type::U32 => Type::U64,
        _ => Type::S64,
    }
}

fn wide_product(ty: Type) -> Option<Exec> {
    match ty {
        Type::U16 => Some(map2(|a: u16, b: u16| u32::from(a) * u32::from(b))),
        Type::S16 => Some(map2(|a: i16, b: i16| i32::from(a) * i32::from(b))),
        Type::U32 => Some(map2(|a: u32, b: u32| u64::from(a) * u64::from(b))),
        Type::S32 => Some(map2(|a: i32, b: i32| i64::from(a) * i64::from(b))),
        _ => None,
    }
}

pub(super) fn high_product(ty: Type) -> Option<Exec> {
    match ty {
        Type::U16 => Some(map2(|a: u16, b: u16| ((u32::from(a) * u32::from(b)) >> 16) as u16)),
        Type::S16 => Some(map2(|a: i16, b: i16| ((i32::from(a) * i32::from(b)) >> 16) as i16)),
        Type::U32 => Some(map2(|a: u32, b: u32| ((u64::from(a) * u64::from(b)) >> 32) as u32)),
        Type::S32 => Some(map2(|a: i32, b: i32| ((i64::from(a) * i64::from(b)) >> 32) as i32)),
        Type::U64 => Some(map2(|a: u64, b: u64| ((u128::from(a) * u128::from(b)) >> 64) as u64)),
        Type::S64 => Some(map2(|a: i64, b: i64| ((i128::from(a) * i128::from(b)) >> 64) as i64)),
        _ => None,
    }
}

pub(super) fn low_product(ty: Type) -> Option<Exec> {
    use Type::{S16, S32, S64, U16, U32, U64};
    by_type!(ty, { U16 | S16 => u16, U32 | S32 => u32, U64 | S64 => u64 }, map2, |a, b| a.wrapping_mul(b))
}

fn product24(a: u32, b: u32) -> u64 {
    u64::from(a & 0xff_ffff) * u64::from(b & 0xff_ffff)
}

fn signed_product24(a: i32, b: i32) -> i64 {
    i64::from(a << 8 >> 8) * i64::from(b << 8 >> 8)
}
