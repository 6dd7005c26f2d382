//! Cache policies: `createpolicy`.
//!
//! PTX manual:
//! [createpolicy](https://docs.nvidia.com/cuda/parallel-thread-execution/#data-movement-and-conversion-instructions-createpolicy).
//! A policy is an opaque value of 64 bits that only changes how memory is cached, so it is zero here.

use super::builder::Builder;
use super::operand::Modifiers;
use crate::Error;
use crate::grammar::ast::{Instruction, Operand as Written};
use crate::grammar::types::{Space, Type};

impl<'a> Builder<'_, 'a> {
    pub(super) fn policy(&mut self, instruction: &'a Instruction<'a>, words: &mut Modifiers<'a>) -> Result<(), Error> {
        let kind = words.one_of(&["fractional", "range", "cvt"]);
        let kind = self.needed(instruction, kind)?;
        words.take("global");
        words.drop_hints(&["L2"]);
        if words.ty() != Some(Type::B64) {
            return Err(self.wrong("createpolicy", "the type of a policy is .b64"));
        }
        let operands = &instruction.operands;
        match kind {
            0 => self.count(instruction, &[1, 2])?,
            1 => {
                self.count(instruction, &[4])?;
                self.place(&operands[1], Space::Global)?;
                self.source(&operands[2], Type::U32)?;
                self.source(&operands[3], Type::U32)?;
            }
            _ => {
                self.count(instruction, &[2])?;
                self.source(&operands[1], Type::B64)?;
            }
        }
        if kind == 0
            && let Some(fraction) = operands.get(1)
            && !matches!(fraction, Written::Single(_) | Written::Double(_) | Written::Integer(_))
        {
            self.source(fraction, Type::F32)?;
        }
        let d = self.target(&operands[0], Type::B64)?;
        let zero = self.bits(Type::B64, 0);
        self.copy(Type::B64, d, zero);
        Ok(())
    }
}
