//! The bulk copy engine without tensor maps, and asynchronous stores: `cp.async.bulk`, `cp.reduce.async.bulk`,
//! `st.async`, `red.async`.
//!
//! PTX manual:
//! [cp.async.bulk](https://docs.nvidia.com/cuda/parallel-thread-execution/#data-movement-and-conversion-instructions-cp-async-bulk),
//! [st.async](https://docs.nvidia.com/cuda/parallel-thread-execution/#data-movement-and-conversion-instructions-st-async).

use super::builder::Builder;
use super::draft::{Draft, Operand};
use super::operand::Modifiers;
use super::rounding_code::extreme;
use crate::Error;
use crate::float::{self, BF16, F16, Format, Rounding};
use crate::grammar::ast::{Instruction, Operand as Written};
use crate::grammar::types::{Space, Type};
use crate::machine::asynchronous::bulk;
use crate::machine::program::Exec;

/// The operations of reductions by number.
const OPERATIONS: [&str; 8] = ["and", "or", "xor", "add", "inc", "dec", "min", "max"];

/// The words of a copy that signals an `mbarrier`, from the types of its memory.
const COMPLETES: &str = "mbarrier::complete_tx::bytes";

impl<'a> Builder<'_, 'a> {
    /// Base, offset and mode of an address, for an instruction with several.
    fn position(
        &mut self,
        instruction: &Instruction<'a>,
        operand: &'a Written<'a>,
        space: Space,
    ) -> Result<(Operand, [Operand; 2]), Error> {
        let (base, offset, mode) = self.place(operand, space)?;
        let offset = i32::try_from(offset).map_or_else(|_| self.refuse(instruction), Ok)?;
        Ok((base, [Operand::Number(offset as u32), Operand::Number(mode)]))
    }

    /// `cp.async.bulk` and `cp.reduce.async.bulk`, without `reduce`.
    pub(super) fn bulk(&mut self, instruction: &'a Instruction<'a>, words: &mut Modifiers<'a>) -> Result<(), Error> {
        let reduces = instruction.modifiers.contains(&"reduce");
        if !words.take("async") || !words.take("bulk") || words.rest().contains(&"tensor") {
            return self.refuse(instruction);
        }
        let operands = &instruction.operands;
        if words.take("commit_group") {
            self.count(instruction, &[0])?;
            let draft = self.draft(bulk::commit);
            self.push(draft);
            return Ok(());
        }
        if words.take("wait_group") {
            let a = Operand::Number(u32::from(words.take("read")));
            let [Written::Integer(kept)] = operands.as_slice() else { return self.refuse(instruction) };
            let draft = Draft { a, imm: i64::from(*kept as u32), ..self.draft(bulk::wait) };
            self.push(draft);
            return Ok(());
        }
        let (of_group, of_barrier) = (words.take("bulk_group"), words.take(COMPLETES));
        let (multicast, hinted) = (words.take("multicast::cluster"), words.take("L2::cache_hint"));
        let masked = words.take("cp_mask");
        let (to, from) = (words.space(), words.space());
        let exec = if reduces {
            let operation = words.one_of(&OPERATIONS);
            let operation = self.needed(instruction, operation)?;
            words.take("noftz");
            let ty = words.ty();
            let ty = self.needed(instruction, ty)?;
            // The order of blocks shows in sums of floating-point numbers.
            self.built().ordered |= ty.is_float() && operation == 3 && to == Some(Space::Global);
            let exec = reduction(operation, ty, Place::Range);
            (self.needed(instruction, exec)?, ty.size() as i64)
        } else {
            (bulk::copy as Exec, 0)
        };
        let fits = match (to, from) {
            (Some(Space::Shared), Some(Space::Global)) => of_barrier && !of_group && !reduces && !masked,
            (Some(Space::Shared), Some(Space::Shared)) => of_barrier && !of_group && !multicast && !masked,
            (Some(Space::Global), Some(Space::Shared)) => of_group && !of_barrier && !multicast,
            _ => false,
        };
        let (Some(to), Some(from), true) = (to, from, fits) else { return self.refuse(instruction) };
        self.built().hand_over.strong = true;
        let further = usize::from(of_barrier) + usize::from(multicast) + usize::from(hinted) + usize::from(masked);
        self.count(instruction, &[3 + further])?;
        let (target, [target_offset, target_mode]) = self.position(instruction, &operands[0], to)?;
        let (source, [source_offset, source_mode]) = self.position(instruction, &operands[1], from)?;
        let size = self.source(&operands[2], Type::U32)?;
        let mut extra = vec![source_offset, source_mode, target_offset, target_mode];
        extra.extend([Operand::Nothing; 5]);
        let mut rest = operands[3..].iter();
        if of_barrier && let Some(barrier) = rest.next() {
            let (base, [offset, mode]) = self.position(instruction, barrier, Space::Shared)?;
            (extra[4], extra[5], extra[6]) = (base, offset, mode);
        }
        if multicast && let Some(blocks) = rest.next() {
            extra[7] = self.source(blocks, Type::B16)?;
        }
        if hinted && let Some(policy) = rest.next() {
            self.source(policy, Type::B64)?;
        }
        if masked && let Some(bytes) = rest.next() {
            extra[8] = self.source(bytes, Type::B16)?;
        }
        let (exec, imm) = exec;
        let draft = Draft { a: source, b: target, c: size, extra, imm, ..self.draft(exec) };
        self.push(draft);
        Ok(())
    }

    /// `st.async` and `red.async` to shared memory.
    pub(super) fn asynchronous_store(
        &mut self,
        instruction: &'a Instruction<'a>,
        words: &mut Modifiers<'a>,
    ) -> Result<(), Error> {
        let reduces = instruction.opcode == "red";
        if words.rest().contains(&"global") {
            // The manual lets the access happen at once.
            words.take("async");
            return if reduces { self.atomic(instruction, words) } else { self.memory(instruction, words) };
        }
        for word in ["async", "weak", "relaxed", "cluster"] {
            words.take(word);
        }
        let space = words.space();
        if !words.take(COMPLETES) || space.is_some_and(|space| space != Space::Shared) {
            return self.refuse(instruction);
        }
        let vector = words.one_of(&["v2", "v4"]).map(|index| 2_usize << index);
        let operation = words.one_of(&OPERATIONS);
        let ty = words.ty();
        let ty = self.needed(instruction, ty)?;
        if reduces && vector.is_some() || reduces != operation.is_some() || !matches!(ty.size(), 4 | 8) {
            return self.refuse(instruction);
        }
        self.count(instruction, &[3])?;
        self.built().hand_over.strong = true;
        let operands = &instruction.operands;
        // The space is optional, because the operands can only be in shared memory.
        let (a, [offset, mode]) = self.position(instruction, &operands[0], space.unwrap_or(Space::Shared))?;
        let (base, [at, barrier_mode]) = self.position(instruction, &operands[2], Space::Shared)?;
        let values: Vec<&'a Written<'a>> = match (&operands[1], vector) {
            (Written::Vector(values), Some(count)) if values.len() == count => values.iter().collect(),
            (Written::Vector(_), _) | (_, Some(_)) => return self.refuse(instruction),
            (value, None) => vec![value],
        };
        let mut extra = vec![offset, mode, base, at, barrier_mode];
        for value in &values {
            extra.push(self.source(value, ty)?);
        }
        let exec = match operation {
            Some(operation) => {
                let exec = reduction(operation, ty, Place::Element);
                self.needed(instruction, exec)?
            }
            None => bulk::store,
        };
        let (b, c) = (Operand::Number(values.len() as u32), Operand::Number(ty.size() as u32));
        let draft = Draft { a, b, c, extra, ..self.draft(exec) };
        self.push(draft);
        Ok(())
    }
}

impl<'a> Builder<'_, 'a> {
    /// `st.bulk`: fills shared memory with zeros.
    pub(super) fn fill(&mut self, instruction: &'a Instruction<'a>, words: &mut Modifiers<'a>) -> Result<(), Error> {
        words.take("bulk");
        words.take("weak");
        let space = words.space().unwrap_or(Space::Generic);
        self.count(instruction, &[3])?;
        let operands = &instruction.operands;
        if operands[2] != Written::Integer(0) {
            return self.refuse(instruction);
        }
        let (a, offset) = self.position(instruction, &operands[0], space)?;
        let c = self.source(&operands[1], Type::B64)?;
        let draft = Draft { a, c, extra: offset.to_vec(), ..self.draft(bulk::fill) };
        self.push(draft);
        Ok(())
    }
}

/// The memory that a reduction applies to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// A range, by `cp.reduce.async.bulk`.
    Range,
    /// An element, by `red.async`.
    Element,
}

/// The function of a reduction.
fn reduction(operation: usize, ty: Type, place: Place) -> Option<Exec> {
    use Type::{B32, B64, F32, F64, S32, S64, U32, U64};
    macro_rules! with {
        ($f:expr) => {
            match place {
                Place::Range => bulk::reduce($f),
                Place::Element => bulk::store_reduce($f),
            }
        };
    }
    let of_range = place == Place::Range;
    Some(match (OPERATIONS[operation], ty) {
        ("and", B32 | B64) => with!(|a, b| a & b),
        ("or", B32 | B64) => with!(|a, b| a | b),
        ("xor", B32 | B64) => with!(|a, b| a ^ b),
        ("add", U32 | S32 | U64) => with!(|a, b| a.wrapping_add(b)),
        ("add", S64) if of_range => with!(|a, b| a.wrapping_add(b)),
        ("inc", U32) => with!(|a, b| if a >= b { 0 } else { a + 1 }),
        ("dec", U32) => with!(|a, b| if a == 0 || a > b { b } else { a - 1 }),
        ("min", U32 | U64) => with!(|a, b| a.min(b)),
        ("max", U32 | U64) => with!(|a, b| a.max(b)),
        ("min", S32) => with!(|a, b| (a as i32).min(b as i32) as u32 as u64),
        ("max", S32) => with!(|a, b| (a as i32).max(b as i32) as u32 as u64),
        ("min", S64) => with!(|a, b| (a as i64).min(b as i64) as u64),
        ("max", S64) => with!(|a, b| (a as i64).max(b as i64) as u64),
        ("add", F32) if of_range => with!(|a, b| sum(float::F32, a, b)),
        ("add", F64) if of_range => with!(|a, b| sum(float::F64, a, b)),
        ("add", Type::F16) if of_range => with!(|a, b| sum(F16, a, b)),
        ("add", Type::BF16) if of_range => with!(|a, b| sum(BF16, a, b)),
        ("min", Type::F16) if of_range => with!(|a, b| extreme(F16, a, b, false, 0)),
        ("max", Type::F16) if of_range => with!(|a, b| extreme(F16, a, b, true, 0)),
        ("min", Type::BF16) if of_range => with!(|a, b| extreme(BF16, a, b, false, 0)),
        ("max", Type::BF16) if of_range => with!(|a, b| extreme(BF16, a, b, true, 0)),
        _ => return None,
    })
}

fn sum(format: Format, a: u64, b: u64) -> u64 {
    float::add(format, a, b, Rounding::Near)
}
