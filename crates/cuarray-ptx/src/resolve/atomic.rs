//! Atomic operations and reductions: `atom` and `red`.
//!
//! PTX manual: [`atom`](https://docs.nvidia.com/cuda/parallel-thread-execution/#parallel-synchronization-and-communication-instructions-atom).

use super::atomic_operation::Atomic;
use super::builder::Builder;
use super::draft::{Draft, Operand, Results};
use super::operand::{Modifiers, spelled};
use super::rounding_code::{both, quiet32, quiet64};
use super::wide_atomic::Vectored;
use crate::Error;
use crate::float::lanewise::{Binary16, Brain16, sum16};
use crate::grammar::ast::{Instruction, Operand as Written};
use crate::grammar::types::{Space, Type};
use crate::machine::access_mode::COMPARES;
use crate::machine::atomic::atomic;
use crate::machine::program::Exec;
use crate::machine::template::Update;
use crate::machine::undefined::Way;

impl<'a> Builder<'_, 'a> {
    pub(super) fn atomic(&mut self, instruction: &'a Instruction<'a>, words: &mut Modifiers<'a>) -> Result<(), Error> {
        if words.rest().contains(&"async") {
            self.built().writes_otherwise = true;
            return self.asynchronous_store(instruction, words);
        }
        let ordering = self.ordering(words);
        words.drop_hints(&["L1", "L2", "level", "noftz"]);
        let space = words.space().unwrap_or(Space::Generic);
        if matches!(space, Space::Local | Space::Const | Space::Param) {
            return Err(self.wrong(&spelled(instruction), "atomic operations access global and shared memory only"));
        }
        let operation = words.one_of(&["and", "or", "xor", "cas", "exch", "add", "inc", "dec", "min", "max"]);
        let operation = self.needed(instruction, operation)?;
        let ty = words.ty();
        let ty = self.needed(instruction, ty)?;
        let reduces = instruction.opcode == "red";
        let compares = operation == 3;
        if let Some(count) = words.one_of(&["v2", "v4", "v8"]).map(|index| 2_usize << index) {
            let what = match operation {
                5 => Vectored::Add,
                8 => Vectored::Min,
                9 => Vectored::Max,
                _ => return self.refuse(instruction),
            };
            self.built().writes_otherwise = true;
            return self.atomic_vector(instruction, space, what, count, ty, &ordering);
        }
        if ty == Type::B128 && !reduces && (compares || operation == 4) {
            self.built().writes_otherwise = true;
            return self.atomic128(instruction, space, compares, &ordering);
        }
        if reduces && (compares || operation == 4) {
            return self.refuse(instruction);
        }
        let exec = operations(operation, ty);
        let exec = self.needed(instruction, exec)?;
        let operands = &instruction.operands;
        let wanted = usize::from(!reduces) + 2 + usize::from(compares);
        self.count(instruction, &[wanted, wanted + 1])?;
        let mut rest = operands.iter();
        let mut d = Operand::Nothing;
        if !reduces
            && let Some(target) = rest.next()
            && *target != Written::Nothing
        {
            d = self.target(target, ty)?;
        }
        let (Some(address), Some(value)) = (rest.next(), rest.next()) else { return self.refuse(instruction) };
        let written = address;
        let mut address = self.address(written, space)?;
        self.check_access(written, (space, None), true, &mut address)?;
        // An exchange does not depend on the old contents.
        (address.mode.releases, address.mode.updates) = (ordering.releases, operation != 4);
        address.mode.strength = ordering.strength;
        (address.mode.acquires, address.mode.scope) = (ordering.acquires, ordering.scope);
        if !matches!(address.mode.space, Space::Global | Space::Generic | Space::Shared) {
            return self.refuse(instruction);
        }
        let b = self.source(value, ty)?;
        let other = match rest.next() {
            Some(other) if compares => self.source(other, ty)?,
            _ => Operand::Nothing,
        };
        let reducible = !compares && operation != 4;
        let exact = reducible && (!ty.is_float() || operation > 7);
        let shared = address.mode.space == Space::Shared;
        let swaps = if compares { COMPARES } else { 0 };
        let (a, c) = (address.base, Operand::Number(address.mode.code() | swaps));
        let results = if compares { Results::CompareAndSwap } else { Results::Any };
        let way = Way::Accesses;
        let update = update(operation, ty);
        let imm = address.offset;
        let draft = Draft { d, a, b, c, extra: vec![other], imm, results, way, update, ..self.draft(exec) };
        self.push_atomic(draft, Atomic { place: (0, 0), shared, ordering, reducible, exact });
        Ok(())
    }

    /// Notes the atomic operations of the function, once it is known which of their results are read.
    ///
    /// A reduction is an operation whose destination is left out: see the manual about `_`. So is one whose result nothing reads, as numba's
    /// compiler emits it. One that acquires keeps its result, because threads can acquire without the value.
    pub(super) fn note_atomics(&mut self, atomics: &[Atomic]) {
        let read = self.read_registers();
        for Atomic { place, shared, ordering, reducible, exact } in atomics {
            let draft = self.draft_at(*place);
            if let Operand::Register(register) = draft.d
                && *reducible
                && !ordering.acquires
                && !read.contains(&register)
            {
                draft.d = Operand::Nothing;
            }
            let has_result = draft.d != Operand::Nothing;
            self.note_hand_over(*shared, ordering, has_result);
            if !shared {
                // Only exact operations without a result commute.
                self.built().ordered |= has_result || !exact;
                self.note_atomic(ordering.releases, has_result, ordering.strength);
            }
        }
    }
}

/// The operation for generated code, by its index among the names in [`Builder::atomic`].
fn update(operation: usize, ty: Type) -> Option<(Update, bool)> {
    let signed = ty.is_signed();
    let update = match operation {
        0 => Update::And,
        1 => Update::Or,
        2 => Update::Xor,
        4 => Update::Exchange,
        5 if matches!(ty, Type::F32 | Type::F64) => Update::FloatAdd,
        5 if !ty.is_float() => Update::Add,
        8 => Update::Minimum { signed },
        9 => Update::Maximum { signed },
        _ => return None,
    };
    matches!(ty.size(), 4 | 8).then_some((update, ty.size() == 8))
}

/// The function of an atomic operation, by its index among the names in [`Builder::atomic`].
fn operations(operation: usize, ty: Type) -> Option<Exec> {
    use Type::{B16, B32, B64, F32, F64, S32, S64, U32, U64};
    Some(match (operation, ty) {
        (0, B32) => atomic(|old: u32, b, _| old & b),
        (0, B64) => atomic(|old: u64, b, _| old & b),
        (1, B32) => atomic(|old: u32, b, _| old | b),
        (1, B64) => atomic(|old: u64, b, _| old | b),
        (2, B32) => atomic(|old: u32, b, _| old ^ b),
        (2, B64) => atomic(|old: u64, b, _| old ^ b),
        (3, B16) => atomic(|old: u16, b, c| if old == b { c } else { old }),
        (3, B32 | U32 | S32) => atomic(|old: u32, b, c| if old == b { c } else { old }),
        (3, B64 | U64 | S64) => atomic(|old: u64, b, c| if old == b { c } else { old }),
        (4, B32 | U32 | S32) => atomic(|_: u32, b, _| b),
        (4, B64 | U64 | S64) => atomic(|_: u64, b, _| b),
        (5, U32 | S32) => atomic(|old: u32, b, _| old.wrapping_add(b)),
        (5, U64 | S64) => atomic(|old: u64, b, _| old.wrapping_add(b)),
        (5, F32) => atomic(|old: f32, b: f32, _| quiet32(old + b)),
        (5, F64) => atomic(|old: f64, b: f64, _| quiet64(old + b)),
        (5, Type::F16) => atomic(|old: u16, b: u16, _| sum16::<Binary16>(old, b)),
        (5, Type::BF16) => atomic(|old: u16, b: u16, _| sum16::<Brain16>(old, b)),
        (5, Type::F16x2) => atomic(|old: u32, b: u32, _| both(old, b, b, |old, b, _| sum16::<Binary16>(old, b))),
        (5, Type::BF16x2) => atomic(|old: u32, b: u32, _| both(old, b, b, |old, b, _| sum16::<Brain16>(old, b))),
        (6, U32) => atomic(|old: u32, b, _| if old >= b { 0 } else { old + 1 }),
        (7, U32) => atomic(|old: u32, b, _| if old == 0 || old > b { b } else { old - 1 }),
        (8, U32) => atomic(|old: u32, b: u32, _| old.min(b)),
        (8, S32) => atomic(|old: i32, b: i32, _| old.min(b)),
        (8, U64) => atomic(|old: u64, b: u64, _| old.min(b)),
        (8, S64) => atomic(|old: i64, b: i64, _| old.min(b)),
        (9, U32) => atomic(|old: u32, b: u32, _| old.max(b)),
        (9, S32) => atomic(|old: i32, b: i32, _| old.max(b)),
        (9, U64) => atomic(|old: u64, b: u64, _| old.max(b)),
        (9, S64) => atomic(|old: i64, b: i64, _| old.max(b)),
        _ => return None,
    })
}
