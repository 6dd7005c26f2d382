//! Logic, shifts and permutations.
//!
//! PTX manual: [logic and shift
//! instructions](https://docs.nvidia.com/cuda/parallel-thread-execution/#logic-and-shift-instructions).

use super::builder::Builder;
use super::by_type::by_type;
use super::draft::{Draft, Operand};
use super::operand::Modifiers;
use crate::Error;
use crate::grammar::ast::{Instruction, Operand as Written};
use crate::grammar::types::Type;
use crate::machine::lanes::{compare, map_coded, map_long3, map1, map2, map3, masks};
use crate::machine::program::Exec;

impl<'a> Builder<'_, 'a> {
    pub(super) fn logic(&mut self, instruction: &'a Instruction<'a>, words: &mut Modifiers<'a>) -> Result<(), Error> {
        use Type::{B16, B32, B64, S16, S32, S64, U16, U32, U64};
        let opcode = instruction.opcode;
        let (left, right) = (words.take("l"), words.take("r"));
        let wraps = words.one_of(&["clamp", "wrap"]);
        let joined = words.one_of(&["and", "or"]).filter(|_| opcode == "lop3");
        let mode = words.one_of(&["f4e", "b4e", "rc8", "ecl", "ecr", "rc16"]);
        let ty = words.ty();
        let ty = self.needed(instruction, ty)?;
        if ty == Type::Pred {
            return self.predicates(instruction);
        }
        let mut types = vec![ty; 2];
        let exec: Option<Exec> = match opcode {
            "and" => by_type!(ty, { B16 => u16, B32 => u32, B64 => u64 }, map2, |a, b| a & b),
            "or" => by_type!(ty, { B16 => u16, B32 => u32, B64 => u64 }, map2, |a, b| a | b),
            "xor" => by_type!(ty, { B16 => u16, B32 => u32, B64 => u64 }, map2, |a, b| a ^ b),
            "not" => {
                types = vec![ty];
                by_type!(ty, { B16 => u16, B32 => u32, B64 => u64 }, map1, |a| !a)
            }
            "cnot" => {
                types = vec![ty];
                match ty {
                    B16 => Some(map1(|a: u16| u16::from(a == 0))),
                    B32 => Some(map1(|a: u32| u32::from(a == 0))),
                    B64 => Some(map1(|a: u64| u64::from(a == 0))),
                    _ => None,
                }
            }
            "shl" => {
                types = vec![ty, U32];
                match ty {
                    B16 => Some(map2(|a: u16, b: u32| if b > 15 { 0 } else { a << b })),
                    B32 => Some(map2(|a: u32, b: u32| if b > 31 { 0 } else { a << b })),
                    B64 => Some(map2(|a: u64, b: u32| if b > 63 { 0 } else { a << b })),
                    _ => None,
                }
            }
            "shr" => {
                types = vec![ty, U32];
                match ty {
                    B16 | U16 => Some(map2(|a: u16, b: u32| if b > 15 { 0 } else { a >> b })),
                    B32 | U32 => Some(map2(|a: u32, b: u32| if b > 31 { 0 } else { a >> b })),
                    B64 | U64 => Some(map2(|a: u64, b: u32| if b > 63 { 0 } else { a >> b })),
                    S16 => Some(map2(|a: i16, b: u32| a >> b.min(15))),
                    S32 => Some(map2(|a: i32, b: u32| a >> b.min(31))),
                    S64 => Some(map2(|a: i64, b: u32| a >> b.min(63))),
                    _ => None,
                }
            }
            "shf" => {
                types = vec![B32, B32, U32];
                match (ty, left, right, wraps) {
                    (B32, true, false, Some(0)) => Some(map3(|a: u32, b: u32, c: u32| {
                        ((u64::from(b) << 32 | u64::from(a)) << c.min(32) >> 32) as u32
                    })),
                    (B32, true, false, Some(1)) => Some(map3(|a: u32, b: u32, c: u32| {
                        ((u64::from(b) << 32 | u64::from(a)) << (c & 31) >> 32) as u32
                    })),
                    (B32, false, true, Some(0)) => {
                        Some(map3(|a: u32, b: u32, c: u32| ((u64::from(b) << 32 | u64::from(a)) >> c.min(32)) as u32))
                    }
                    (B32, false, true, Some(1)) => {
                        Some(map3(|a: u32, b: u32, c: u32| ((u64::from(b) << 32 | u64::from(a)) >> (c & 31)) as u32))
                    }
                    _ => None,
                }
            }
            "prmt" => {
                let exec = (ty == B32).then(|| permutation(mode.is_some()));
                let exec = self.needed(instruction, exec)?;
                return self.plain(instruction, exec, ty, &[B32; 3], mode.unwrap_or(0) as i64);
            }
            "lop3" => return self.lop3(instruction, ty, joined),
            _ => None,
        };
        let Some(exec) = exec else { return self.refuse(instruction) };
        self.plain(instruction, exec, ty, &types, 0)
    }

    fn predicates(&mut self, instruction: &'a Instruction<'a>) -> Result<(), Error> {
        let exec = match instruction.opcode {
            "and" => masks(|a, b| a & b),
            "or" => masks(|a, b| a | b),
            "xor" => masks(|a, b| a ^ b),
            "not" => masks(|a, _| !a),
            _ => return self.refuse(instruction),
        };
        let one = instruction.opcode == "not";
        self.count(instruction, &[if one { 2 } else { 3 }])?;
        let a = self.predicate(&instruction.operands[1])?;
        let b = if one { a } else { self.predicate(&instruction.operands[2])? };
        let d = match &instruction.operands[0] {
            Written::Name(name) => self.predicate_target(name)?,
            _ => return Err(self.wrong(instruction.opcode, "the target is not a predicate")),
        };
        self.emit(exec, d, [a, b, Operand::Nothing]);
        Ok(())
    }

    /// `lop3`, and its form with a predicate: `lop3.or.b32 d|p, a, b, c, table, q`.
    fn lop3(&mut self, instruction: &'a Instruction<'a>, ty: Type, joined: Option<usize>) -> Result<(), Error> {
        self.count(instruction, &[if joined.is_some() { 6 } else { 5 }])?;
        let operands = &instruction.operands;
        let Written::Integer(table) = &operands[4] else {
            return Err(self.wrong(instruction.opcode, "the table of lop3 must be a number"));
        };
        if ty != Type::B32 || *table > 255 {
            return self.refuse(instruction);
        }
        let sources = [self.source(&operands[1], ty)?, self.source(&operands[2], ty)?, self.source(&operands[3], ty)?];
        let (d, p) = match (&operands[0], joined) {
            (Written::Pair("_", p), Some(_)) => (Operand::Register(self.register(ty.width())), Some(*p)),
            (Written::Pair(d, p), Some(_)) => (self.target(&Written::Name(d), ty)?, Some(*p)),
            (target, None) => (self.target(target, ty)?, None),
            _ => return Err(self.wrong(instruction.opcode, "the target is not a register and a predicate")),
        };
        let exec = map_coded(|a: u32, b: u32, c: u32, table: i64| {
            (0..8).filter(|row| table >> row & 1 == 1).fold(0, |all, row| {
                let a = if row & 4 != 0 { a } else { !a };
                let b = if row & 2 != 0 { b } else { !b };
                let c = if row & 1 != 0 { c } else { !c };
                all | (a & b & c)
            })
        });
        let [a, b, c] = sources;
        let draft = Draft { d, a, b, c, imm: *table as i64, ..self.draft(exec) };
        self.push(draft);
        if let (Some(p), Some(joined)) = (p, joined) {
            let q = self.predicate(&operands[5])?;
            let p = self.predicate_target(p)?;
            let zero = self.bits(ty, 0);
            let differs = Operand::Register(self.register(Type::Pred.width()));
            self.emit(compare(|a: u32, b: u32| a != b), differs, [d, zero, Operand::Nothing]);
            let exec = if joined == 0 { masks(|a, b| a & b) } else { masks(|a, b| a | b) };
            self.emit(exec, p, [differs, q, Operand::Nothing]);
        }
        Ok(())
    }
}

/// `prmt`, with or without a mode.
fn permutation(with_mode: bool) -> Exec {
    match with_mode {
        true => map_coded(|a: u32, b: u32, c: u32, mode: i64| permute(a, b, c, mode)),
        false => map_long3(selected),
    }
}

/// `prmt`: bytes of two words, selected by an operand.
#[inline(always)]
fn selected(a: u32, b: u32, c: u32) -> u32 {
    let bytes = u64::from(b) << 32 | u64::from(a);
    let mut all = 0;
    for index in 0..4 {
        let selector = u64::from(c >> (4 * index));
        let byte = (bytes >> (8 * (selector & 7))) as u32 & 0xff;
        // The fourth bit of a selector copies the sign bit of the byte to all its bits.
        let sign = 0xff * (byte >> 7);
        all |= (if selector & 8 == 0 { byte } else { sign }) << (8 * index);
    }
    all
}

/// `prmt` with a mode.
fn permute(a: u32, b: u32, c: u32, mode: i64) -> u32 {
    let bytes = (u64::from(b) << 32 | u64::from(a)).to_le_bytes();
    let at = (c & 3) as usize;
    let chosen: [usize; 4] = match mode {
        0 => [at, at + 1, at + 2, at + 3],
        1 => [at, (at + 7) % 8, (at + 6) % 8, (at + 5) % 8],
        2 => [at; 4],
        3 => [at, at.max(1), at.max(2), at.max(3)],
        4 => [0, at.min(1), at.min(2), at],
        _ => [at % 2 * 2, at % 2 * 2 + 1, at % 2 * 2, at % 2 * 2 + 1],
    };
    u32::from_le_bytes(chosen.map(|index| bytes[index]))
}
