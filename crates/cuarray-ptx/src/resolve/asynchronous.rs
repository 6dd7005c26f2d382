//! `cp.async`: copies from global to shared memory, and waits for them.
//!
//! PTX manual:
//! [cp.async](https://docs.nvidia.com/cuda/parallel-thread-execution/#data-movement-and-conversion-instructions-cp-async).
//! `bulk` has the copies of the bulk copy engine.

use super::builder::Builder;
use super::draft::{Draft, Operand};
use super::operand::Modifiers;
use crate::Error;
use crate::grammar::ast::{Instruction, Operand as Written};
use crate::grammar::types::{Space, Type, Width};
use crate::machine::access_mode::is_wide;
use crate::machine::asynchronous::copies;
use crate::machine::branching::nothing;

impl<'a> Builder<'_, 'a> {
    pub(super) fn asynchronous(
        &mut self,
        instruction: &'a Instruction<'a>,
        words: &mut Modifiers<'a>,
    ) -> Result<(), Error> {
        if words.rest().starts_with(&["async", "bulk", "prefetch", "L2"]) {
            // A prefetch changes no memory.
            self.count(instruction, &[2, 3])?;
            self.place(&instruction.operands[0], Space::Global)?;
            self.source(&instruction.operands[1], Type::U32)?;
            words.drop_hints(&["async", "bulk", "prefetch", "L2"]);
            words.space();
            let draft = self.draft(nothing);
            self.push(draft);
            return Ok(());
        }
        if words.take("reduce") || words.rest().contains(&"bulk") {
            return self.bulk(instruction, words);
        }
        if !words.take("async") {
            return self.refuse(instruction);
        }
        if words.take("mbarrier") {
            return self.asynchronous_arrival(instruction, words);
        }
        if let Some(kind) = words.one_of(&["commit_group", "wait_group", "wait_all"]) {
            let imm = match (kind, instruction.operands.as_slice()) {
                (0, []) | (2, []) => -1,
                (1, [Written::Integer(kept)]) => i64::from(*kept as u32),
                _ => return self.refuse(instruction),
            };
            let draft = Draft { imm, ..self.draft(if kind == 0 { copies::commit } else { copies::wait }) };
            self.push(draft);
            return Ok(());
        }
        let cached = words.one_of(&["ca", "cg"]);
        words.drop_hints(&["L2"]);
        let (to, from) = (words.space(), words.space());
        let operands = &instruction.operands;
        self.count(instruction, &[3, 4, 5])?;
        let size = match operands[2] {
            Written::Integer(size @ (4 | 8)) if cached == Some(0) => size,
            Written::Integer(16) if cached.is_some() => 16,
            _ => return self.refuse(instruction),
        };
        if (to, from) != (Some(Space::Shared), Some(Space::Global)) {
            return self.refuse(instruction);
        }
        let (target, target_offset, mode) = self.place(&operands[0], Space::Shared)?;
        let (source, source_offset, source_mode) = self.place(&operands[1], Space::Global)?;
        let narrow = |offset: i64| i32::try_from(offset).ok().map(|offset| Operand::Number(offset as u32));
        let (Some(from), Some(to), true) = (narrow(source_offset), narrow(target_offset), is_wide(source_mode)) else {
            return self.refuse(instruction);
        };
        let (mut count, mut ignored) = (Operand::Nothing, Operand::Nothing);
        match operands.get(3) {
            Some(Written::Name(name)) => match self.find_register(name) {
                Some((register, Type::Pred)) => ignored = Operand::Register(register),
                // A cache policy has 64 bits.
                Some((_, declared)) if declared.width() == Width::W64 => {}
                _ => count = self.source(&operands[3], Type::U32)?,
            },
            Some(other) => count = self.source(other, Type::U32)?,
            None => {}
        }
        let wide = Operand::Number(u32::from(is_wide(mode)));
        let draft = Draft {
            a: source,
            b: target,
            extra: vec![from, wide, to, count, ignored],
            imm: size as i64,
            ..self.draft(copies::copy)
        };
        self.push(draft);
        Ok(())
    }
}
