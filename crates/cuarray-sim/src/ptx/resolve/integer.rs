//! Integer arithmetic.
//!
//! PTX manual: [integer arithmetic](https://docs.nvidia.com/cuda/parallel-thread-execution/#integer-arithmetic-instructions), and
//! [with carry](https://docs.nvidia.com/cuda/parallel-thread-execution/#extended-precision-integer-arithmetic-instructions). A division
//! by zero, which the manual leaves open, answers all ones, as GPUs do.

use super::super::ast::Instruction;
use super::super::execute::lanes::{map_coded, map1, map2, map3};
use super::super::execute::{Flow, Machine};
use super::super::program::{Exec, Instruction as Code};
use super::super::types::Type;
use super::Error;
use super::builder::{Builder, Draft, Operand};
use super::operand::Modifiers;

/// The same operation on the types of several widths.
macro_rules! by_type {
    ($ty:expr, { $($pattern:pat => $lane:ty),* $(,)? }, $map:ident, |$a:ident| $body:expr) => {
        match $ty { $($pattern => Some($map(|$a: $lane| $body)),)* _ => None }
    };
    ($ty:expr, { $($pattern:pat => $lane:ty),* $(,)? }, $map:ident, |$a:ident, $b:ident| $body:expr) => {
        match $ty { $($pattern => Some($map(|$a: $lane, $b: $lane| $body)),)* _ => None }
    };
    ($ty:expr, { $($pattern:pat => $lane:ty),* $(,)? }, $map:ident, |$a:ident, $b:ident, $c:ident| $body:expr) => {
        match $ty { $($pattern => Some($map(|$a: $lane, $b: $lane, $c: $lane| $body)),)* _ => None }
    };
}
pub(super) use by_type;

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
        use Type::{B32, B64, S16, S32, S64, U16, U32, U64};
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
            "popc" => {
                target_type = U32;
                match ty {
                    B32 => Some(map1(|a: u32| a.count_ones())),
                    B64 => Some(map1(|a: u64| a.count_ones())),
                    _ => None,
                }
            }
            "clz" => {
                target_type = U32;
                match ty {
                    B32 => Some(map1(|a: u32| a.leading_zeros())),
                    B64 => Some(map1(|a: u64| a.leading_zeros())),
                    _ => None,
                }
            }
            "bfind" => {
                target_type = U32;
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
                types = vec![B32, B32, S32];
                target_type = B32;
                (ty == B32).then(|| map3(nth_set))
            }
            "brev" => by_type!(ty, { B32 => u32, B64 => u64 }, map1, |a| a.reverse_bits()),
            "bfe" => {
                types = vec![ty, U32, U32];
                match ty {
                    U32 => Some(map3(|a: u32, b: u32, c: u32| extract(u64::from(a), b, c, 32, false) as u32)),
                    S32 => Some(map3(|a: u32, b: u32, c: u32| extract(u64::from(a), b, c, 32, true) as u32)),
                    U64 => Some(map3(|a: u64, b: u32, c: u32| extract(a, b, c, 64, false))),
                    S64 => Some(map3(|a: u64, b: u32, c: u32| extract(a, b, c, 64, true))),
                    _ => None,
                }
            }
            "bfi" => return self.insert(instruction, ty),
            "bmsk" => {
                types = vec![B32; 2];
                match (ty, wraps) {
                    (B32, Some(0)) => Some(map2(|a: u32, b: u32| mask(u64::from(a), u64::from(b)))),
                    (B32, Some(1)) => Some(map2(|a: u32, b: u32| mask(u64::from(a & 31), u64::from(b & 31)))),
                    _ => None,
                }
            }
            "szext" => {
                types = vec![ty, U32];
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

    /// An instruction with one target, and sources of these types.
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
        // Functions that take three sources are given some where there are less.
        let first = sources[0];
        sources.iter_mut().filter(|source| **source == Operand::Nothing).for_each(|source| *source = first);
        let d = self.target(&instruction.operands[0], target)?;
        let [a, b, c] = sources;
        let draft = Draft { d, a, b, c, imm: code, ..self.draft(exec) };
        self.push(draft);
        Ok(())
    }

    /// `bfi`: four sources, of which the last two become one.
    fn insert(&mut self, instruction: &'a Instruction<'a>, ty: Type) -> Result<(), Error> {
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
            Type::B32 => map3(|a: u32, b: u32, c: u32| put_bits(u64::from(a), u64::from(b), c, 32) as u32),
            Type::B64 => map3(|a: u64, b: u64, c: u32| put_bits(a, b, c, 64)),
            _ => return self.refuse(instruction),
        };
        self.emit(exec, d, [a, b, packed]);
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

    /// Arithmetic with the carry flag.
    pub(super) fn carried(&mut self, instruction: &'a Instruction<'a>, words: &mut Modifiers<'a>) -> Result<(), Error> {
        let sets = words.take("cc");
        let half = words.one_of(&["lo", "hi"]);
        let ty = words.ty();
        let ty = self.needed(instruction, ty)?;
        let opcode = instruction.opcode;
        let (takes, subtracts) = (opcode.ends_with('c'), opcode.starts_with("sub"));
        let product = opcode.starts_with("mad");
        self.count(instruction, &[if product { 4 } else { 3 }])?;
        let operands = &instruction.operands;
        let mut a = self.source(&operands[1], ty)?;
        let mut b = self.source(&operands[2], ty)?;
        if product {
            let exec = if half == Some(1) { high_product(ty) } else { low_product(ty) };
            let exec = self.needed(instruction, exec)?;
            let register = Operand::Register(self.register(ty.width()));
            self.emit_always(exec, register, [a, b, Operand::Nothing]);
            a = register;
            b = self.source(&operands[3], ty)?;
        }
        let d = self.target(&operands[0], ty)?;
        let exec: Exec = match (ty, subtracts) {
            (Type::U32 | Type::S32 | Type::B32, false) => carry32::<false>,
            (Type::U32 | Type::S32 | Type::B32, true) => carry32::<true>,
            (Type::U64 | Type::S64 | Type::B64, false) => carry64::<false>,
            (Type::U64 | Type::S64 | Type::B64, true) => carry64::<true>,
            _ => return self.refuse(instruction),
        };
        let carry = Operand::Register(self.carry());
        // Which carries there are: into the sum, and out of it.
        let spare = Operand::Register(self.register(Type::Pred.width()));
        let out = if sets { carry } else { spare };
        let draft =
            Draft { d, a, b, c: carry, extra: vec![out], written: 1, imm: i64::from(takes), ..self.draft(exec) };
        self.push(draft);
        Ok(())
    }
}

macro_rules! carry {
    ($name:ident, $ty:ty) => {
        /// `d = a ± b ± carry`, where `c` is the carry flag if `imm` is 1; the further operand takes the flag that comes out.
        unsafe fn $name<const SUBTRACTS: bool>(machine: &mut Machine<'_>, instruction: &Code) -> Flow {
            // SAFETY: the operands are registers or constants of these types: the resolver has checked their widths.
            unsafe {
                let a = machine.slots::<[$ty; 32]>(instruction.a).read();
                let b = machine.slots::<[$ty; 32]>(instruction.b).read();
                let flag = if instruction.imm == 1 { machine.predicate(instruction.c) } else { 0 };
                let (d, mut out) = (machine.slots::<$ty>(instruction.d), 0_u32);
                for lane in (0..32).filter(|lane| machine.mask >> lane & 1 == 1) {
                    let carry = (flag >> lane & 1) as $ty;
                    let (result, over) = if SUBTRACTS {
                        let (first, one) = a[lane].overflowing_sub(b[lane]);
                        let (second, two) = first.overflowing_sub(carry);
                        (second, one || two)
                    } else {
                        let (first, one) = a[lane].overflowing_add(b[lane]);
                        let (second, two) = first.overflowing_add(carry);
                        (second, one || two)
                    };
                    d.add(lane).write(result);
                    out |= u32::from(over) << lane;
                }
                let target = machine.extra(instruction, 0);
                machine.set_predicate(target, out);
            }
            Flow::Next
        }
    };
}
carry!(carry32, u32);
carry!(carry64, u64);

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

fn high_product(ty: Type) -> Option<Exec> {
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

fn low_product(ty: Type) -> Option<Exec> {
    use Type::{S16, S32, S64, U16, U32, U64};
    by_type!(ty, { U16 | S16 => u16, U32 | S32 => u32, U64 | S64 => u64 }, map2, |a, b| a.wrapping_mul(b))
}

fn product24(a: u32, b: u32) -> u64 {
    u64::from(a & 0xff_ffff) * u64::from(b & 0xff_ffff)
}

fn signed_product24(a: i32, b: i32) -> i64 {
    i64::from(a << 8 >> 8) * i64::from(b << 8 >> 8)
}

/// The place of the highest bit, or how far it is from the top; all ones without one.
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

/// `fns`: the n-th set bit from a place on, upwards or downwards.
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

/// `bfe`: a field, extended by its sign if it has one.
fn extract(a: u64, start: u32, length: u32, bits: u32, signed: bool) -> u64 {
    let (start, length) = (start & 255, length & 255);
    if length == 0 {
        return 0;
    }
    let top = (start + length - 1).min(bits - 1);
    let sign = signed && a >> top & 1 == 1;
    let field = if start >= bits { 0 } else { a >> start };
    let kept = length.min(bits.saturating_sub(start));
    let ones = |count: u32| if count >= 64 { u64::MAX } else { (1 << count) - 1 };
    let field = field & ones(kept);
    if sign { field | !ones(kept) } else { field }
}

/// `bfi`: the low bits of `a` put into `b`; the field's start and length are packed.
fn put_bits(a: u64, b: u64, packed: u32, bits: u32) -> u64 {
    let (start, length) = (packed & 255, packed >> 8 & 255);
    if start >= bits || length == 0 {
        return b;
    }
    let ones = if length >= 64 { u64::MAX } else { (1 << length) - 1 };
    let field = ones << start;
    (b & !field) | ((a << start) & field)
}

/// `bmsk`: so many ones from a place on.
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
