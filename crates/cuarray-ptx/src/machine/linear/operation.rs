//! The functions of instructions on linear values: each takes the short way, or calls the usual function of the instruction.

use super::{Linear, by_lanes, set, value};
use crate::machine::lanes::{operation, versions};
use crate::machine::memory::Slot;
use crate::machine::program::{Exec, Instruction};
use crate::machine::{Flow, Machine};

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

/// A comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Test {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

const TESTS: [Test; 6] =
    [Test::Equal, Test::NotEqual, Test::Less, Test::LessOrEqual, Test::Greater, Test::GreaterOrEqual];
/// The bit in the code of a signed comparison.
const SIGNED: u32 = 8;

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
            Operation::Compare { test, signed } => Some(test as u32 | if signed { SIGNED } else { 0 }),
            _ => None,
        }
    }
}

#[inline(always)]
unsafe fn body1<A: Slot, D: Slot, F: Fn(Linear) -> Option<Linear> + Copy>(
    machine: &mut Machine<'_>,
    instruction: &Instruction,
) -> Flow {
    let f = operation::<F>();
    // SAFETY: the operands are constants, or registers with heads, of these types, which the resolver checked.
    unsafe {
        if machine.write == u32::MAX
            && let Some(a) = value::<A>(machine, instruction.a)
            && let Some(result) = f(a)
        {
            set::<D>(machine, instruction, result);
            return Flow::Next;
        }
        by_lanes(machine, instruction)
    }
}

#[inline(always)]
unsafe fn body2<A: Slot, B: Slot, D: Slot, F: Fn(Linear, Linear) -> Option<Linear> + Copy>(
    machine: &mut Machine<'_>,
    instruction: &Instruction,
) -> Flow {
    let f = operation::<F>();
    // SAFETY: as above.
    unsafe {
        if machine.write == u32::MAX
            && let Some(a) = value::<A>(machine, instruction.a)
            && let Some(b) = value::<B>(machine, instruction.b)
            && let Some(result) = f(a, b)
        {
            set::<D>(machine, instruction, result);
            return Flow::Next;
        }
        by_lanes(machine, instruction)
    }
}

#[inline(always)]
unsafe fn body3<A: Slot, B: Slot, C: Slot, D: Slot, F: Fn(Linear, Linear, Linear) -> Option<Linear> + Copy>(
    machine: &mut Machine<'_>,
    instruction: &Instruction,
) -> Flow {
    let f = operation::<F>();
    // SAFETY: as above.
    unsafe {
        if machine.write == u32::MAX
            && let Some(a) = value::<A>(machine, instruction.a)
            && let Some(b) = value::<B>(machine, instruction.b)
            && let Some(c) = value::<C>(machine, instruction.c)
            && let Some(result) = f(a, b, c)
        {
            set::<D>(machine, instruction, result);
            return Flow::Next;
        }
        by_lanes(machine, instruction)
    }
}

#[inline(always)]
unsafe fn body_select<S: Slot>(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    // SAFETY: as above; `c` is a predicate.
    unsafe {
        let chosen = machine.predicate(instruction.c);
        let side = if chosen & machine.mask == machine.mask {
            instruction.a
        } else if chosen & machine.mask == 0 {
            instruction.b
        } else {
            return by_lanes(machine, instruction);
        };
        match value::<S>(machine, side).filter(|_| machine.write == u32::MAX) {
            Some(value) => set::<S>(machine, instruction, value),
            None => return by_lanes(machine, instruction),
        }
    }
    Flow::Next
}

#[inline(always)]
unsafe fn body_compare<S: Slot>(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    // SAFETY: as above; `d` is a predicate.
    unsafe {
        let (test, signed) = (TESTS[instruction.c as usize % SIGNED as usize % 6], instruction.c & SIGNED != 0);
        if machine.write == u32::MAX
            && let Some(a) = value::<S>(machine, instruction.a)
            && let Some(b) = value::<S>(machine, instruction.b)
            && let Some(a) = a.bounds::<S>(signed)
            && let Some(b) = b.bounds::<S>(signed)
            && let Some(holds) = holds(test, a, b)
        {
            machine.set_predicate(instruction.d, u32::from(holds).wrapping_neg());
            return Flow::Next;
        }
        by_lanes(machine, instruction)
    }
}

/// Whether a comparison of two numbers between bounds holds; `None` if the bounds do not decide it.
#[inline(always)]
fn holds(test: Test, a: (i128, i128), b: (i128, i128)) -> Option<bool> {
    let less = if a.1 < b.0 { Some(true) } else { (a.0 >= b.1).then_some(false) };
    let greater = if a.0 > b.1 { Some(true) } else { (a.1 <= b.0).then_some(false) };
    let differ = || {
        if less == Some(true) || greater == Some(true) {
            Some(true)
        } else {
            (a.0 == a.1 && b.0 == b.1).then_some(a.0 != b.0)
        }
    };
    match test {
        Test::Equal => Some(!differ()?),
        Test::NotEqual => differ(),
        Test::Less => less,
        Test::LessOrEqual => Some(!greater?),
        Test::Greater => greater,
        Test::GreaterOrEqual => Some(!less?),
    }
}

versions! {
    /// `d = f(a)`, if that is linear.
    fn map1<A: Slot, D: Slot, F: Fn(Linear) -> Option<Linear>>(F) = body1;
}
versions! {
    /// `d = f(a, b)`, if that is linear.
    fn map2<A: Slot, B: Slot, D: Slot, F: Fn(Linear, Linear) -> Option<Linear>>(F) = body2;
}
versions! {
    /// `d = f(a, b, c)`, if that is linear.
    fn map3<A: Slot, B: Slot, C: Slot, D: Slot, F: Fn(Linear, Linear, Linear) -> Option<Linear>>(F) = body3;
}
versions! {
    /// `d = c ? a : b`, where `c` is a predicate.
    fn select<S: Slot>() = body_select;
}
versions! {
    /// Sets the predicate `d` where the comparison in `c` holds.
    fn compare<S: Slot>() = body_compare;
}
