//! Dynamic local memory: `alloca`, `stacksave` and `stackrestore`.
//!
//! PTX manual: [stack
//! manipulation](https://docs.nvidia.com/cuda/parallel-thread-execution/#stack-manipulation-instructions).

use super::builder::Builder;
use super::draft::{Draft, Operand};
use super::operand::Modifiers;
use crate::Error;
use crate::grammar::ast::{Instruction, Operand as Written};
use crate::grammar::types::Type;
use crate::machine::alloca;
use crate::machine::program::Exec;

/// The alignment of an `alloca` that has no operand for the alignment.
const DEFAULT_ALIGN: u64 = 8;
/// The greatest alignment that `alloca` accepts.
const MAX_ALIGN: u64 = 1 << 23;

impl<'a> Builder<'_, 'a> {
    pub(super) fn stack(&mut self, instruction: &'a Instruction<'a>, words: &mut Modifiers<'a>) -> Result<(), Error> {
        let ty = words.ty().filter(|ty| matches!(ty, Type::U32 | Type::U64));
        let ty = self.needed(instruction, ty)?;
        let operands = &instruction.operands;
        let wide = ty == Type::U64;
        let pick = |narrow: Exec, broad: Exec| if wide { broad } else { narrow };
        let (exec, targets, sources) = match instruction.opcode {
            "alloca" => (pick(alloca::allocate::<u32>, alloca::allocate::<u64>), 1, 1),
            "stacksave" => (pick(alloca::save::<u32>, alloca::save::<u64>), 1, 0),
            _ => (pick(alloca::restore::<u32>, alloca::restore::<u64>), 0, 1),
        };
        let mut align = DEFAULT_ALIGN;
        match operands.get(2) {
            Some(Written::Integer(alignment)) if instruction.opcode == "alloca" => {
                if !alignment.is_power_of_two() || *alignment > MAX_ALIGN {
                    return Err(self.wrong("alloca", "the alignment is not a power of two up to 2^23"));
                }
                align = align.max(*alignment);
            }
            _ => self.count(instruction, &[targets + sources])?,
        }
        let d = if targets == 1 { self.target(&operands[0], ty)? } else { Operand::Nothing };
        let a = if sources == 1 { self.source(&operands[targets], ty)? } else { Operand::Nothing };
        let draft = Draft { d, a, imm: align as i64, ..self.draft(exec) };
        self.push(draft);
        Ok(())
    }
}
