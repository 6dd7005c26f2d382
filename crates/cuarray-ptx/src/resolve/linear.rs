//! The registers that `machine::linear` keeps as a base and steps.
//!
//! All instructions that write such a register are operations there, on constants and other such registers. Any instruction may
//! read it: if one needs the row of its values, each instruction that writes the register writes the row too.

use super::builder::Builder;
use super::draft::{Access, Block, Draft, Next, Operand, reads, writes};
use crate::grammar::ast::Instruction;
use crate::grammar::types::{Type, Width};
use crate::machine::linear::{A, B, C, D, Operation, ROW_USED, Test};
use crate::machine::program::Constant;

/// Returns the operation of an instruction on integers of 32 or 64 bits.
fn operation(instruction: &Instruction<'_>) -> Option<Operation> {
    let words = instruction.modifiers.as_slice();
    let ty = Type::named(words.last()?)?;
    if !matches!(ty.width(), Width::W32 | Width::W64) || ty.bits() < 32 {
        return None;
    }
    let signed = ty.is_signed();
    let scalars = |words: &[&str]| words.len() == 1;
    Some(match (instruction.opcode, &words[..words.len() - 1]) {
        ("selp", []) => Operation::Select,
        _ if ty.is_float() || !is_scalar(ty) => return None,
        ("add", []) => Operation::Add,
        ("sub", []) => Operation::Subtract,
        ("neg", []) => Operation::Negate,
        ("mul", ["lo"]) => Operation::Multiply,
        ("mul", ["wide"]) if ty.bits() == 32 => Operation::MultiplyWide { signed },
        ("mad", ["lo"]) => Operation::MultiplyAdd,
        ("shl", []) => Operation::ShiftLeft,
        ("shr", []) => Operation::ShiftRight { signed },
        ("and", []) => Operation::And,
        ("or", []) => Operation::Or,
        ("xor", []) => Operation::Xor,
        ("not", []) => Operation::Not,
        ("cvta", ["to", _]) => Operation::Subtract,
        ("cvta", [_]) => Operation::Add,
        ("setp", [test]) => Operation::Compare { test: self::test(test)?, signed },
        ("cvt", to) if scalars(to) => conversion(Type::named(to[0])?, ty)?,
        _ => return None,
    })
}

/// Whether a type is one integer of 32 or 64 bits.
fn is_scalar(ty: Type) -> bool {
    matches!(ty, Type::B32 | Type::U32 | Type::S32 | Type::B64 | Type::U64 | Type::S64)
}

fn test(word: &str) -> Option<Test> {
    Some(match word {
        "eq" => Test::Equal,
        "ne" => Test::NotEqual,
        "lt" | "lo" => Test::Less,
        "le" | "ls" => Test::LessOrEqual,
        "gt" | "hi" => Test::Greater,
        "ge" | "hs" => Test::GreaterOrEqual,
        _ => return None,
    })
}

fn conversion(to: Type, from: Type) -> Option<Operation> {
    if !is_scalar(to) {
        return None;
    }
    Some(match (to.bits(), from.bits()) {
        (64, 32) => Operation::Extend { signed: from.is_signed() },
        (32, 64) => Operation::Truncate,
        _ => Operation::Copy,
    })
}

impl<'a> Builder<'_, 'a> {
    /// Marks the last draft of an instruction with its operation on linear values.
    pub(super) fn mark_linear(&mut self, instruction: &Instruction<'a>) {
        let Some(operation) = operation(instruction) else { return };
        self.change_last(|last| {
            if last.linear.is_none() && last.per_lane && last.access == Access::None && last.imm == 0 {
                last.linear = Some(operation);
            }
        });
    }
}

/// The widths of the values that an operation reads as `a`, `b` and `c`, for the width of its result, or of compared values.
fn widths_read(operation: Operation, width: Width) -> [Option<Width>; 3] {
    let (one, narrow) = (Some(width), Some(Width::W32));
    match operation {
        Operation::Special | Operation::Parameter => [None; 3],
        Operation::Copy | Operation::Negate | Operation::Not => [one, None, None],
        Operation::Add
        | Operation::Subtract
        | Operation::Multiply
        | Operation::And
        | Operation::Or
        | Operation::Xor
        | Operation::Select
        | Operation::Compare { .. } => [one, one, None],
        Operation::MultiplyAdd => [one; 3],
        Operation::MultiplyWide { .. } => [narrow, narrow, None],
        Operation::Extend { .. } => [narrow, None, None],
        Operation::Truncate => [Some(Width::W64), None, None],
        Operation::ShiftLeft | Operation::ShiftRight { .. } => [one, narrow, None],
    }
}

/// An operation of a draft, with the width of its result, or of the compared values.
pub(super) fn operation_of(
    draft: &Draft,
    widths: &[Width],
    constants: &[(Constant, Width)],
) -> Option<(Operation, Width)> {
    let operation = draft.linear?;
    let width_of = |operand: Operand| match operand {
        Operand::Register(register) => widths.get(register as usize).copied(),
        Operand::Constant(index) => constants.get(index as usize).map(|(_, width)| *width),
        _ => None,
    };
    let compares = matches!(operation, Operation::Compare { .. });
    let width = width_of(if compares { draft.a } else { draft.d })?;
    let read = widths_read(operation, width).into_iter().zip([draft.a, draft.b, draft.c]);
    let fits = matches!(width, Width::W32 | Width::W64)
        && draft.next == Next::On
        && draft.extra.is_empty()
        && read.into_iter().all(|(width, operand)| width.is_none() || width == width_of(operand));
    fits.then_some((operation, width))
}

/// Whether a draft loads or stores one element, so that it reads a linear address as such.
fn is_access(draft: &Draft) -> bool {
    matches!(draft.access, Access::Load(_) | Access::Store(_)) && draft.extra.is_empty()
}

/// The registers with heads.
#[derive(Default)]
pub(super) struct Heads {
    /// Whether a register has a head.
    pub has: Vec<bool>,
    /// Whether its row is read.
    rows: Vec<bool>,
}

impl Heads {
    /// No register has a head.
    pub(super) fn none(registers: usize) -> Heads {
        Heads { has: vec![false; registers], rows: vec![false; registers] }
    }

    /// Selects the registers. `read_first` tells which ones may be read before they are written.
    pub(super) fn of(
        blocks: &[Block],
        order: &[usize],
        (widths, constants): (&[Width], &[(Constant, Width)]),
        read_first: impl Fn(u32) -> bool,
    ) -> Heads {
        let mut heads = Heads::none(widths.len());
        let drafts = || order.iter().flat_map(|index| &blocks[*index].drafts);
        for register in drafts().flat_map(writes) {
            let width = widths[register as usize];
            heads.has[register as usize] = matches!(width, Width::W32 | Width::W64) && !read_first(register);
        }
        let mut operations = Vec::new();
        for draft in drafts() {
            match operation_of(draft, widths, constants) {
                Some(operation) => operations.push((draft, operation)),
                None => writes(draft).for_each(|register| heads.has[register as usize] = false),
            }
        }
        // The greatest set in which each register depends on others of the set only.
        loop {
            let count = operations.len();
            operations.retain(|(draft, operation)| {
                let known = heads.has_all(draft, *operation);
                if !known {
                    writes(draft).for_each(|register| heads.has[register as usize] = false);
                }
                known
            });
            if operations.len() == count {
                break;
            }
        }
        for draft in drafts() {
            let operation = heads.operation(draft, widths, constants);
            for register in reads(draft) {
                let operand = Operand::Register(register);
                let by_head = operation.is_some() && draft.guard.is_none_or(|(guard, _)| guard != register)
                    || is_access(draft) && draft.a == operand && draft.b != operand;
                heads.rows[register as usize] |= !by_head;
            }
        }
        heads
    }

    fn has(&self, operand: Operand) -> bool {
        matches!(operand, Operand::Register(register) if self.has[register as usize])
    }

    /// The operation of a draft whose operands are constants and registers with heads, with its width.
    fn operation(
        &self,
        draft: &Draft,
        widths: &[Width],
        constants: &[(Constant, Width)],
    ) -> Option<(Operation, Width)> {
        operation_of(draft, widths, constants).filter(|operation| self.has_all(draft, *operation))
    }

    /// Whether the operands of a draft's operation are constants and registers with heads.
    fn has_all(&self, draft: &Draft, (operation, width): (Operation, Width)) -> bool {
        let mut read = widths_read(operation, width).into_iter().zip([draft.a, draft.b, draft.c]);
        let known = read
            .all(|(width, operand)| width.is_none() || matches!(operand, Operand::Constant(_)) || self.has(operand));
        known && (matches!(operation, Operation::Compare { .. }) || self.has(draft.d))
    }

    /// Returns the bits of `extra` for a draft without further operands, and the operation that replaces its function, with its
    /// width.
    pub(super) fn encoded(
        &self,
        draft: &Draft,
        widths: &[Width],
        constants: &[(Constant, Width)],
    ) -> (u32, Option<(Operation, Width)>) {
        let kind = |operand: Operand| match operand {
            Operand::Register(register) if self.has[register as usize] => match widths[register as usize] {
                Width::W64 => 2,
                _ => 1,
            },
            _ => 0,
        };
        let operation = self.operation(draft, widths, constants);
        let mut bits = if is_access(draft) { kind(draft.a) << A } else { 0 };
        if let Some((operation, width)) = operation {
            let read = widths_read(operation, width).into_iter().zip([draft.a, draft.b, draft.c]);
            for ((width, operand), at) in read.zip([A, B, C]) {
                bits |= width.map_or(0, |_| kind(operand) << at);
            }
            bits |= kind(draft.d) << D;
            let row_used = matches!(draft.d, Operand::Register(register) if self.rows[register as usize]);
            bits |= if row_used { ROW_USED } else { 0 };
        }
        (bits, operation)
    }
}
