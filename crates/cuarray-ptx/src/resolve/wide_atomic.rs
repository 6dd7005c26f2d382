//! `atom` and `red` of vectors and of 128 bits.
//!
//! PTX manual:
//! [atom](https://docs.nvidia.com/cuda/parallel-thread-execution/#parallel-synchronization-and-communication-instructions-atom).

use super::atomic_operation::Ordering;
use super::builder::Builder;
use super::draft::{Draft, Operand};
use super::rounding_code::{both, extreme16, quiet32};
use crate::Error;
use crate::float::lanewise::{Binary16, Brain16, Half, sum16};
use crate::grammar::ast::{Instruction, Operand as Written};
use crate::grammar::types::{Space, Type};
use crate::machine::access_mode::{COMPARES, UPDATES};
use crate::machine::atomic128::{atomic128, vector};
use crate::machine::program::Exec;
use crate::machine::undefined::Way;

/// The operations on vectors.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Vectored {
    Add,
    Min,
    Max,
}

/// The implementation of an operation on vectors of a type.
fn operation(operation: Vectored, ty: Type) -> Option<Exec> {
    Some(match ty {
        Type::F32 if operation == Vectored::Add => vector(|old: f32, b: f32| quiet32(old + b)),
        Type::F16 => half::<Binary16>(operation),
        Type::BF16 => half::<Brain16>(operation),
        Type::F16x2 => pair::<Binary16>(operation),
        Type::BF16x2 => pair::<Brain16>(operation),
        _ => return None,
    })
}

/// An operation on numbers of 16 bits.
fn half<H: Half + 'static>(operation: Vectored) -> Exec {
    match operation {
        Vectored::Add => vector(|old: u16, b: u16| sum16::<H>(old, b)),
        Vectored::Min => vector(|old: u16, b: u16| extreme16::<H>(old, b, false)),
        Vectored::Max => vector(|old: u16, b: u16| extreme16::<H>(old, b, true)),
    }
}

/// An operation on pairs of them.
fn pair<H: Half + 'static>(operation: Vectored) -> Exec {
    match operation {
        Vectored::Add => vector(|old: u32, b: u32| both(old, b, b, |old, b, _| sum16::<H>(old, b))),
        Vectored::Min => vector(|old: u32, b: u32| both(old, b, b, |old, b, _| extreme16::<H>(old, b, false))),
        Vectored::Max => vector(|old: u32, b: u32| both(old, b, b, |old, b, _| extreme16::<H>(old, b, true))),
    }
}

impl<'a> Builder<'_, 'a> {
    /// `atom.global.add.v2.f32 {d, e}, [a], {b, c}`. Each element is updated atomically.
    pub(super) fn atomic_vector(
        &mut self,
        instruction: &'a Instruction<'a>,
        space: Space,
        what: Vectored,
        count: usize,
        ty: Type,
        ordering: &Ordering,
    ) -> Result<(), Error> {
        let fits = match ty {
            Type::F32 | Type::F16x2 | Type::BF16x2 => count <= 4,
            _ => true,
        };
        let exec = operation(what, ty).filter(|_| fits && matches!(space, Space::Global | Space::Generic));
        let exec = self.needed(instruction, exec)?;
        let reduces = instruction.opcode == "red";
        let (targets, rest) = match instruction.operands.as_slice() {
            rest if reduces => (None, rest),
            [targets, rest @ ..] => (Some(targets), rest),
            [] => return self.refuse(instruction),
        };
        // A cache policy may follow.
        let ([address, Written::Vector(sources)] | [address, Written::Vector(sources), _]) = rest else {
            return self.refuse(instruction);
        };
        let nothing = vec![Written::Nothing; count];
        let targets = match targets {
            Some(Written::Vector(targets)) => targets,
            Some(Written::Nothing) | None => &nothing,
            _ => return self.refuse(instruction),
        };
        if sources.len() != count || targets.len() != count {
            return Err(
                self.wrong(instruction.opcode, "the vector and the instruction differ in the number of elements")
            );
        }
        let (a, offset, mode) = self.place(address, space)?;
        let Ok(offset) = i32::try_from(offset) else { return self.refuse(instruction) };
        let mut extra = vec![Operand::Number(offset as u32)];
        for target in targets {
            extra.push(if *target == Written::Nothing { Operand::Nothing } else { self.target(target, ty)? });
        }
        for source in sources {
            extra.push(self.source(source, ty)?);
        }
        // The targets follow the offset. It counts as written too, which is harmless, because it is an immediate.
        let written = 1 + count;
        self.built().ordered = true;
        self.note_hand_over(false, ordering, !reduces);
        self.note_atomic(ordering.releases, !reduces, ordering.strength);
        let mode = mode | UPDATES | ordering.bits();
        let draft = Draft {
            a,
            c: Operand::Number(mode),
            extra,
            written,
            imm: count as i64,
            way: Way::Uses,
            ..self.draft(exec)
        };
        self.push(draft);
        Ok(())
    }

    /// `atom.exch.b128 d, [a], b` and `atom.cas.b128 d, [a], b, c`.
    pub(super) fn atomic128(
        &mut self,
        instruction: &'a Instruction<'a>,
        space: Space,
        compares: bool,
        ordering: &Ordering,
    ) -> Result<(), Error> {
        let wanted = 3 + usize::from(compares);
        self.count(instruction, &[wanted, wanted + 1])?;
        let operands = &instruction.operands;
        let d = match &operands[0] {
            Written::Nothing => Operand::Nothing,
            target => self.target(target, Type::B128)?,
        };
        let (a, imm, mode) = self.place(&operands[1], space)?;
        let b = self.source(&operands[2], Type::B128)?;
        let other = if compares { self.source(&operands[3], Type::B128)? } else { Operand::Nothing };
        self.built().ordered = true;
        self.note_hand_over(space == Space::Shared, ordering, d != Operand::Nothing);
        self.note_atomic(ordering.releases, d != Operand::Nothing, ordering.strength);
        let mode = mode | ordering.bits();
        let c = Operand::Number(if compares { mode | UPDATES | COMPARES } else { mode });
        let draft = Draft { d, a, b, c, extra: vec![other], imm, way: Way::Uses, ..self.draft(atomic128) };
        self.push(draft);
        Ok(())
    }
}
