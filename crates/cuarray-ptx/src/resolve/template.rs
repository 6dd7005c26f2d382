//! The templates of instructions; see `machine::template`.

use super::builder::Builder;
use super::draft::{Access, Draft, Next, Operand};
use super::linear::operation_of;
use crate::grammar::ast::{Instruction, Operand as Written};
use crate::grammar::types::{Type, Width};
use crate::machine::linear::Operation;
use crate::machine::program::Constant;
use crate::machine::template::{Arithmetic, Narrow, Template};

/// The comparisons of floating-point numbers, as AVX encodes them.
const COMPARISONS: [(&str, u8); 14] = [
    ("eq", 0x00),
    ("ne", 0x0c),
    ("lt", 0x11),
    ("le", 0x12),
    ("gt", 0x1e),
    ("ge", 0x1d),
    ("equ", 0x08),
    ("neu", 0x04),
    ("ltu", 0x19),
    ("leu", 0x1a),
    ("gtu", 0x16),
    ("geu", 0x15),
    ("num", 0x07),
    ("nan", 0x03),
];

/// Returns the operation of an instruction that sets one register or predicate, by its text, with the number of its sources.
fn arithmetic(instruction: &Instruction<'_>) -> Option<(Arithmetic, usize)> {
    use Arithmetic::*;
    let words = instruction.modifiers.as_slice();
    let (last, words) = words.split_last()?;
    if *last == "pred" {
        return match (instruction.opcode, words) {
            ("and", []) => Some((MaskAnd, 2)),
            ("or", []) => Some((MaskOr, 2)),
            ("xor", []) => Some((MaskXor, 2)),
            ("not", []) => Some((MaskNot, 1)),
            _ => None,
        };
    }
    let ty = Type::named(last)?;
    let nearest = matches!(words, [] | ["rn"]);
    let quick = nearest || ty == Type::F32 && matches!(words, ["approx" | "full"]);
    Some(match (instruction.opcode, ty) {
        ("min", Type::U32 | Type::S32 | Type::U64 | Type::S64) if words.is_empty() => {
            (Minimum { signed: ty.is_signed() }, 2)
        }
        ("max", Type::U32 | Type::S32 | Type::U64 | Type::S64) if words.is_empty() => {
            (Maximum { signed: ty.is_signed() }, 2)
        }
        ("mad", Type::U32 | Type::S32) if words == ["wide"] => (MultiplyAddWide { signed: ty.is_signed() }, 3),
        ("add", Type::F32 | Type::F64) if nearest => (FloatAdd, 2),
        ("sub", Type::F32 | Type::F64) if nearest => (FloatSubtract, 2),
        ("mul", Type::F32 | Type::F64) if nearest => (FloatMultiply, 2),
        ("fma" | "mad", Type::F32 | Type::F64) if nearest => (FloatFused, 3),
        ("div", Type::F32 | Type::F64) if quick => (FloatDivide, 2),
        ("sqrt", Type::F32 | Type::F64) if quick => (FloatRoot, 1),
        ("rcp", Type::F32 | Type::F64) if quick => (FloatReciprocal, 1),
        ("neg", Type::F32 | Type::F64) if words.is_empty() => (FloatNegate, 1),
        ("abs", Type::F32 | Type::F64) if words.is_empty() => (FloatAbsolute, 1),
        ("min", Type::F32) if words.is_empty() => (FloatMinimum, 2),
        ("max", Type::F32) if words.is_empty() => (FloatMaximum, 2),
        ("setp", Type::F32 | Type::F64) => {
            let [test] = words else { return None };
            (FloatCompare(COMPARISONS.iter().find(|(name, _)| name == test)?.1), 2)
        }
        ("cvt", Type::S32) if matches!(words, ["rn", "f32" | "f64"]) => (FloatFromSigned, 1),
        ("cvt", Type::F32) if words == ["f64"] => (FloatWiden, 1),
        ("cvt", Type::F64) if words == ["rn", "f32"] => (FloatNarrow, 1),
        ("cvt", Type::F32) if words == ["rzi", "s32"] => (SignedFromFloat, 1),
        _ => return None,
    })
}

impl<'a> Builder<'_, 'a> {
    /// Marks the last draft of an instruction with its operation, if that is not one on linear values.
    pub(super) fn mark_arithmetic(&mut self, instruction: &Instruction<'a>) {
        let Some((arithmetic, sources)) = arithmetic(instruction) else { return };
        if instruction.operands.len() != sources + 1 || !matches!(instruction.operands[0], Written::Name(_)) {
            return;
        }
        self.change_last(|last| {
            let is_plain = last.linear.is_none() && last.per_lane && last.access == Access::None && last.imm == 0;
            if is_plain && last.extra.is_empty() && last.next == Next::On {
                last.arithmetic = Some(arithmetic);
            }
        });
    }
}

/// The widths of the result and of the sources of an operation, if the result, or the compared values, have this width.
fn widths_of(arithmetic: Arithmetic, width: Width) -> (Width, [Option<Width>; 3]) {
    use Arithmetic::*;
    let (one, narrow, predicate) = (Some(width), Some(Width::W32), Some(Width::Predicate));
    match arithmetic {
        Minimum { .. } | Maximum { .. } => (width, [one, one, None]),
        FloatAdd | FloatSubtract | FloatMultiply | FloatDivide | FloatMinimum | FloatMaximum => {
            (width, [one, one, None])
        }
        FloatFused => (width, [one; 3]),
        FloatRoot | FloatReciprocal | FloatNegate | FloatAbsolute => (width, [one, None, None]),
        FloatCompare(_) => (Width::Predicate, [one, one, None]),
        MultiplyAddWide { .. } => (Width::W64, [narrow, narrow, Some(Width::W64)]),
        FloatFromSigned => (width, [narrow, None, None]),
        FloatWiden => (Width::W64, [narrow, None, None]),
        FloatNarrow => (Width::W32, [Some(Width::W64), None, None]),
        SignedFromFloat => (Width::W32, [narrow, None, None]),
        MaskAnd | MaskOr | MaskXor => (Width::Predicate, [predicate, predicate, None]),
        MaskNot => (Width::Predicate, [predicate, None, None]),
    }
}

/// The element of a plain load or store of fewer than 32 bits, from or to a register of 32 bits, without a guard.
pub(super) fn narrow(draft: &Draft, widths: &[Width], constants: &[(Constant, Width)]) -> Option<Narrow> {
    if draft.guard.is_some() || !draft.extra.is_empty() {
        return None;
    }
    let (operand, size, stores) = match draft.access {
        Access::Load(size @ (1 | 2)) => (draft.d, size, false),
        Access::Store(size @ (1 | 2)) => (draft.b, size, true),
        _ => return None,
    };
    let width = match operand {
        Operand::Register(register) => widths.get(register as usize)?,
        Operand::Constant(index) => &constants.get(index as usize)?.1,
        _ => return None,
    };
    (*width == Width::W32).then_some(Narrow { size: size as u8, signed: draft.signed, stores })
}

/// Returns the template of a draft, and whether its result, or the compared values, have 64 bits.
pub(super) fn template(draft: &Draft, widths: &[Width], constants: &[(Constant, Width)]) -> Option<(Template, bool)> {
    let width_of = |operand: Operand| match operand {
        Operand::Register(register) => widths.get(register as usize).copied(),
        Operand::Constant(index) => constants.get(index as usize).map(|(_, width)| *width),
        _ => None,
    };
    if !draft.extra.is_empty() {
        return None;
    }
    // The template of an instruction with a guard is that of the same one without it, if each lane computes its own result.
    let computes = draft.next == Next::On && draft.access == Access::None;
    if draft.guard.is_some() && !computes {
        return None;
    }
    match draft.next {
        Next::Jump { always: true, .. } => return Some((Template::Branch, false)),
        Next::Jump { always: false, .. } => {
            let is_branch = matches!((draft.a, draft.b), (Operand::Register(_), Operand::Number(0 | 1)));
            return is_branch.then_some((Template::BranchIf, false));
        }
        Next::On => {}
        Next::Indexed(_) | Next::End => return None,
    }
    let fills = |operand: Operand, bytes: u32| match width_of(operand)? {
        Width::W32 => (bytes == 4).then_some(false),
        Width::W64 => (bytes == 8).then_some(true),
        _ => None,
    };
    match draft.access {
        Access::Load(bytes) => return Some((Template::Load, fills(draft.d, bytes)?)),
        Access::Store(bytes) => return Some((Template::Store, fills(draft.b, bytes)?)),
        Access::Parameter(bytes) => {
            return Some((Template::Integer(Operation::Parameter), fills(draft.d, bytes)?));
        }
        Access::None if !draft.per_lane => return None,
        Access::None => {}
    }
    if let Some((operation, width)) = operation_of(draft, widths, constants) {
        let of_launch = matches!(operation, Operation::Special | Operation::Parameter);
        return (draft.guard.is_none() || !of_launch).then_some((Template::Integer(operation), width == Width::W64));
    }
    let arithmetic = draft.arithmetic?;
    let compares = matches!(arithmetic, Arithmetic::FloatCompare(_));
    let width = width_of(if compares { draft.a } else { draft.d })?;
    let (result, read) = widths_of(arithmetic, width);
    let fits = width_of(draft.d) == Some(result)
        && read
            .into_iter()
            .zip([draft.a, draft.b, draft.c])
            .all(|(width, operand)| width.is_none() || width == width_of(operand));
    fits.then_some((Template::Further(arithmetic), width == Width::W64))
}
