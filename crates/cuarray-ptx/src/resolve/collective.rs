//! Instructions of several threads of a warp.
//!
//! PTX manual:
//! [vote](https://docs.nvidia.com/cuda/parallel-thread-execution/#parallel-synchronization-and-communication-instructions-vote-sync),
//! [shfl](https://docs.nvidia.com/cuda/parallel-thread-execution/#data-movement-and-conversion-instructions-shfl-sync).
//! The forms without `.sync` use the threads that are converged at that moment.

use super::builder::Builder;
use super::draft::{Draft, Operand};
use super::operand::Modifiers;
use crate::Error;
use crate::grammar::ast::{Instruction, Operand as Written};
use crate::grammar::types::{Type, Width};
use crate::machine::exchange as exec;

impl<'a> Builder<'_, 'a> {
    /// Resolves a register and a predicate: `d|p`, or one of them alone.
    fn pair(&mut self, operand: &'a Written<'a>, ty: Type) -> Result<(Operand, Operand), Error> {
        match operand {
            Written::Pair(d, p) => {
                let d = if *d == "_" { Operand::Nothing } else { self.target(&Written::Name(d), ty)? };
                let p = if *p == "_" { Operand::Nothing } else { self.predicate_target(p)? };
                Ok((d, p))
            }
            target => Ok((self.target(target, ty)?, Operand::Nothing)),
        }
    }

    pub(super) fn collective(
        &mut self,
        instruction: &'a Instruction<'a>,
        words: &mut Modifiers<'a>,
    ) -> Result<(), Error> {
        let sync = words.take("sync");
        let draft = match instruction.opcode {
            "activemask" => self.active_mask(instruction, words)?,
            "shfl" => self.shuffle(instruction, words, sync)?,
            "vote" => self.vote(instruction, words, sync)?,
            "match" => self.matched(instruction, words)?,
            "redux" => self.reduction(instruction, words)?,
            _ => self.election(instruction)?,
        };
        let exchange = !matches!(instruction.opcode, "activemask" | "elect");
        self.push(Draft { exchange, ..draft });
        Ok(())
    }

    /// `activemask`.
    fn active_mask(&mut self, instruction: &'a Instruction<'a>, words: &mut Modifiers<'a>) -> Result<Draft, Error> {
        let operands = &instruction.operands;
        words.ty();
        self.count(instruction, &[1])?;
        let d = self.target(&operands[0], Type::B32)?;
        Ok(Draft { d, ..self.draft(exec::active_mask) })
    }

    /// `shfl`.
    fn shuffle(
        &mut self,
        instruction: &'a Instruction<'a>,
        words: &mut Modifiers<'a>,
        sync: bool,
    ) -> Result<Draft, Error> {
        let operands = &instruction.operands;
        let mode = words.one_of(&["up", "down", "bfly", "idx"]);
        let mode = self.needed(instruction, mode)?;
        words.ty();
        self.count(instruction, &[if sync { 5 } else { 4 }])?;
        let (d, p) = self.pair(&operands[0], Type::B32)?;
        let d = if d == Operand::Nothing { Operand::Register(self.register(Width::W32)) } else { d };
        let a = self.source(&operands[1], Type::B32)?;
        let (b, c) = (self.source(&operands[2], Type::B32)?, self.source(&operands[3], Type::B32)?);
        let members = match operands.get(4) {
            Some(members) => self.source(members, Type::B32)?,
            None => self.bits(Type::B32, u64::from(u32::MAX)),
        };
        let written = usize::from(p != Operand::Nothing);
        let extra = vec![p, members];
        let imm = if sync { 0 } else { exec::WITHOUT_SYNC };
        let exec = match mode {
            0 => exec::shuffle::<exec::Up>(),
            1 => exec::shuffle::<exec::Down>(),
            2 => exec::shuffle::<exec::Butterfly>(),
            _ => exec::shuffle::<exec::Index>(),
        };
        Ok(Draft { d, a, b, c, extra, written, imm, ..self.draft(exec) })
    }

    /// `vote`.
    fn vote(
        &mut self,
        instruction: &'a Instruction<'a>,
        words: &mut Modifiers<'a>,
        sync: bool,
    ) -> Result<Draft, Error> {
        let operands = &instruction.operands;
        let mode = words.one_of(&["all", "any", "uni", "ballot"]);
        let mode = self.needed(instruction, mode)?;
        words.ty();
        self.count(instruction, &[if sync { 3 } else { 2 }])?;
        let a = self.predicate(&operands[1])?;
        let b = match operands.get(2) {
            Some(members) => self.source(members, Type::B32)?,
            None => self.bits(Type::B32, u64::from(u32::MAX)),
        };
        let d = match (&operands[0], mode) {
            (target, 3) => self.target(target, Type::B32)?,
            (Written::Name(name), _) => self.predicate_target(name)?,
            _ => return Err(self.wrong("vote", "the target is not a predicate")),
        };
        Ok(Draft { d, a, b, c: Operand::Number(u32::from(sync)), imm: mode as i64, ..self.draft(exec::vote) })
    }

    /// `match`.
    fn matched(&mut self, instruction: &'a Instruction<'a>, words: &mut Modifiers<'a>) -> Result<Draft, Error> {
        let operands = &instruction.operands;
        let mode = words.one_of(&["any", "all"]);
        let mode = self.needed(instruction, mode)?;
        let ty = words.ty();
        let ty = self.needed(instruction, ty)?;
        self.count(instruction, &[3])?;
        let (d, p) = self.pair(&operands[0], Type::B32)?;
        let d = if d == Operand::Nothing { Operand::Register(self.register(Width::W32)) } else { d };
        let (a, b) = (self.source(&operands[1], ty)?, self.source(&operands[2], Type::B32)?);
        let written = usize::from(p != Operand::Nothing);
        let function = match ty {
            Type::B32 => exec::match32,
            Type::B64 => exec::match64,
            _ => return self.refuse(instruction),
        };
        Ok(Draft { d, a, b, extra: vec![p], written, imm: mode as i64, ..self.draft(function) })
    }

    /// `redux`.
    fn reduction(&mut self, instruction: &'a Instruction<'a>, words: &mut Modifiers<'a>) -> Result<Draft, Error> {
        let operands = &instruction.operands;
        let operation = words.one_of(&["add", "min", "max", "and", "or", "xor"]);
        let operation = self.needed(instruction, operation)?;
        let (nan, absolute) = (words.take("NaN"), words.take("abs"));
        let ty = words.ty();
        if (nan || absolute) && ty != Some(Type::F32) {
            return self.refuse(instruction);
        }
        let number = match (operation, ty) {
            (1 | 2, Some(Type::F32)) => operation + 7 + if nan { 2 } else { 0 },
            (0, Some(Type::U32 | Type::S32)) => 0,
            (1 | 2, Some(Type::U32)) => operation,
            (1 | 2, Some(Type::S32)) => operation + 2,
            (3..=5, Some(Type::B32)) => operation + 2,
            _ => return self.refuse(instruction),
        };
        self.count(instruction, &[3])?;
        let d = self.target(&operands[0], Type::B32)?;
        let (a, b) = (self.source(&operands[1], Type::B32)?, self.source(&operands[2], Type::B32)?);
        let imm = number as i64 | if absolute { exec::ABSOLUTE } else { 0 };
        Ok(Draft { d, a, b, imm, ..self.draft(exec::reduce) })
    }

    /// `elect`.
    fn election(&mut self, instruction: &'a Instruction<'a>) -> Result<Draft, Error> {
        let operands = &instruction.operands;
        self.count(instruction, &[2])?;
        let (d, p) = self.pair(&operands[0], Type::B32)?;
        let a = self.source(&operands[1], Type::B32)?;
        if p == Operand::Nothing {
            return Err(self.wrong("elect", "the predicate of the election is missing"));
        }
        Ok(Draft { d, a, extra: vec![p], written: 1, ..self.draft(exec::elect) })
    }
}
