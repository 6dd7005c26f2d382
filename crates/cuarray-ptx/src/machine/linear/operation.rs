//! The operations on linear values, and the functions that execute them.

use super::Linear;
use super::comparison::{self, Test};
use super::execution::{compare, map1, map2, map3, select};
use crate::machine::program::Exec;

/// An operation on linear values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Operation {
    Copy,
    Add,
    Subtract,
    Negate,
    Multiply,
    MultiplyAdd,
    /// From 32 to 64 bits.
    MultiplyWide {
        signed: bool,
    },
    /// From 32 to 64 bits.
    Extend {
        signed: bool,
    },
    /// From 64 to 32 bits.
    Truncate,
    ShiftLeft,
    ShiftRight {
        signed: bool,
    },
    And,
    Or,
    Xor,
    Not,
    Select,
    /// Sets a predicate. The instruction has [`Operation::code`] in its operand `c`.
    Compare {
        test: Test,
        signed: bool,
    },
    /// Reads a special register.
    Special,
    /// Loads a kernel's parameter.
    Parameter,
}

impl Operation {
    /// The function that executes the operation. `wide` states whether the result, or the compared values, have 64 bits. None for
    /// operations whose usual functions know heads.
    pub(crate) fn function(self, wide: bool) -> Option<Exec> {
        macro_rules! by_width {
            ($map:ident, [$($slot:ident),*], $f:expr) => {{
                if wide {
                    type S = u64;
                    $map::<$($slot),*, _>($f)
                } else {
                    type S = u32;
                    $map::<$($slot),*, _>($f)
                }
            }};
        }
        Some(match self {
            Operation::Copy => by_width!(map1, [S, S], Some),
            Operation::Add => by_width!(map2, [S, S, S], |a, b| Some(a.plus(b))),
            Operation::Subtract => by_width!(map2, [S, S, S], |a, b| Some(a.plus(b.scaled(u64::MAX)))),
            Operation::Negate => by_width!(map1, [S, S], |a| Some(a.scaled(u64::MAX))),
            Operation::Multiply => by_width!(map2, [S, S, S], Linear::times),
            Operation::MultiplyAdd => by_width!(map3, [S, S, S, S], |a, b, c| Some(a.times(b)?.plus(c))),
            Operation::MultiplyWide { signed: true } => {
                map2::<u32, u32, u64, _>(|a, b| a.extended(true)?.times(b.extended(true)?))
            }
            Operation::MultiplyWide { signed: false } => {
                map2::<u32, u32, u64, _>(|a, b| a.extended(false)?.times(b.extended(false)?))
            }
            Operation::Extend { signed: true } => map1::<u32, u64, _>(|a| a.extended(true)),
            Operation::Extend { signed: false } => map1::<u32, u64, _>(|a| a.extended(false)),
            Operation::Truncate => map1::<u64, u32, _>(Some),
            Operation::ShiftLeft => by_width!(map2, [S, u32, S], |a, by| a.shifted_left::<S>(by)),
            Operation::ShiftRight { signed: true } => {
                by_width!(map2, [S, u32, S], |a, by| a.shifted_right::<S>(by, true))
            }
            Operation::ShiftRight { signed: false } => {
                by_width!(map2, [S, u32, S], |a, by| a.shifted_right::<S>(by, false))
            }
            Operation::And => by_width!(map2, [S, S, S], |a, b| a.and::<S>(b)),
            Operation::Or => by_width!(map2, [S, S, S], |a, b| a.both_uniform(b, |a, b| a | b)),
            Operation::Xor => by_width!(map2, [S, S, S], |a, b| a.both_uniform(b, |a, b| a ^ b)),
            // The complement of a number is its negative minus one.
            Operation::Not => by_width!(map1, [S, S], |a| Some(a.scaled(u64::MAX).plus(Linear::uniform(u64::MAX)))),
            Operation::Select if wide => select::<u64>(),
            Operation::Select => select::<u32>(),
            Operation::Compare { .. } if wide => compare::<u64>(),
            Operation::Compare { .. } => compare::<u32>(),
            Operation::Special | Operation::Parameter => return None,
        })
    }

    /// The operand `c` of the instruction, if the operation determines it.
    pub(crate) fn code(self) -> Option<u32> {
        match self {
            Operation::Compare { test, signed } => Some(comparison::encoded(test, signed)),
            _ => None,
        }
    }
}
