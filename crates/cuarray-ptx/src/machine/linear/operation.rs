//! The functions of instructions on linear values: each takes the short way, or calls the usual function of the instruction.

use super::{Linear, by_lanes, set, set_equal, uniform, value};
use crate::machine::lanes::operation;
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

/// Sets the register `d` from uniform values. Returns `false` if a value may differ between lanes, or if not all lanes may be written.
#[inline(always)]
unsafe fn equal1<A: Slot, D: Slot, F: Fn(Linear) -> Option<Linear> + Copy>(
    machine: &mut Machine<'_>,
    instruction: &Instruction,
) -> bool {
    let f = operation::<F>();
    // SAFETY: the operands are constants, or registers with heads, of these types, which the resolver checked.
    unsafe {
        if machine.write == u32::MAX
            && let Some(a) = uniform::<A>(machine, instruction.a)
            && let Some(result) = f(a)
        {
            set_equal(machine, instruction, D::of(result.base));
            return true;
        }
    }
    false
}

#[inline(always)]
unsafe fn equal2<A: Slot, B: Slot, D: Slot, F: Fn(Linear, Linear) -> Option<Linear> + Copy>(
    machine: &mut Machine<'_>,
    instruction: &Instruction,
) -> bool {
    let f = operation::<F>();
    // SAFETY: as above.
    unsafe {
        if machine.write == u32::MAX
            && let Some(a) = uniform::<A>(machine, instruction.a)
            && let Some(b) = uniform::<B>(machine, instruction.b)
            && let Some(result) = f(a, b)
        {
            set_equal(machine, instruction, D::of(result.base));
            return true;
        }
    }
    false
}

#[inline(always)]
unsafe fn equal3<A: Slot, B: Slot, C: Slot, D: Slot, F: Fn(Linear, Linear, Linear) -> Option<Linear> + Copy>(
    machine: &mut Machine<'_>,
    instruction: &Instruction,
) -> bool {
    let f = operation::<F>();
    // SAFETY: as above.
    unsafe {
        if machine.write == u32::MAX
            && let Some(a) = uniform::<A>(machine, instruction.a)
            && let Some(b) = uniform::<B>(machine, instruction.b)
            && let Some(c) = uniform::<C>(machine, instruction.c)
            && let Some(result) = f(a, b, c)
        {
            set_equal(machine, instruction, D::of(result.base));
            return true;
        }
    }
    false
}

#[inline(always)]
unsafe fn equal_select<S: Slot>(machine: &mut Machine<'_>, instruction: &Instruction) -> bool {
    // SAFETY: as above; `c` is a predicate.
    unsafe {
        let Some(side) = side(machine, instruction) else { return false };
        if machine.write == u32::MAX
            && let Some(value) = uniform::<S>(machine, side)
        {
            set_equal(machine, instruction, S::of(value.base));
            return true;
        }
    }
    false
}

#[inline(always)]
unsafe fn equal_compare<S: Slot>(machine: &mut Machine<'_>, instruction: &Instruction) -> bool {
    // SAFETY: as above; `d` is a predicate.
    unsafe {
        if machine.write == u32::MAX
            && let Some(a) = uniform::<S>(machine, instruction.a)
            && let Some(b) = uniform::<S>(machine, instruction.b)
        {
            let (test, signed) = test(instruction);
            let (a, b) = (a.base, b.base);
            let order = match (signed, size_of::<S>()) {
                (true, 8) => (a as i64).cmp(&(b as i64)),
                (true, _) => (a as i32).cmp(&(b as i32)),
                _ => a.cmp(&b),
            };
            let holds = match test {
                Test::Equal => order.is_eq(),
                Test::NotEqual => order.is_ne(),
                Test::Less => order.is_lt(),
                Test::LessOrEqual => order.is_le(),
                Test::Greater => order.is_gt(),
                Test::GreaterOrEqual => order.is_ge(),
            };
            machine.set_predicate(instruction.d, u32::from(holds).wrapping_neg());
            return true;
        }
    }
    false
}

/// Sets the register `d` from linear values, or by the usual function of the instruction.
#[inline(always)]
unsafe fn linear1<A: Slot, D: Slot, F: Fn(Linear) -> Option<Linear> + Copy>(
    machine: &mut Machine<'_>,
    instruction: &Instruction,
) -> Flow {
    let f = operation::<F>();
    // SAFETY: as above.
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
unsafe fn linear2<A: Slot, B: Slot, D: Slot, F: Fn(Linear, Linear) -> Option<Linear> + Copy>(
    machine: &mut Machine<'_>,
    instruction: &Instruction,
) -> Flow {
    let f = operation::<F>();
    // SAFETY: as above.
    unsafe {
        if machine.write == u32::MAX
            && let Some(a) = value::<A>(machine, instruction.a)
        {
            // The compiler simplifies the operation with a uniform value.
            let result = match uniform::<B>(machine, instruction.b) {
                Some(b) => f(a, b),
                None => value::<B>(machine, instruction.b).and_then(|b| f(a, b)),
            };
            if let Some(result) = result {
                set::<D>(machine, instruction, result);
                return Flow::Next;
            }
        }
        by_lanes(machine, instruction)
    }
}

#[inline(always)]
unsafe fn linear3<A: Slot, B: Slot, C: Slot, D: Slot, F: Fn(Linear, Linear, Linear) -> Option<Linear> + Copy>(
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
unsafe fn linear_select<S: Slot>(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    // SAFETY: as above.
    unsafe {
        if machine.write == u32::MAX
            && let Some(side) = side(machine, instruction)
            && let Some(value) = value::<S>(machine, side)
        {
            set::<S>(machine, instruction, value);
            return Flow::Next;
        }
        by_lanes(machine, instruction)
    }
}

#[inline(always)]
unsafe fn linear_compare<S: Slot>(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    // SAFETY: as above; `d` is a predicate.
    unsafe {
        let (test, signed) = test(instruction);
        if machine.write == u32::MAX
            && let Some(a) = value::<S>(machine, instruction.a)
            && let Some(b) = value::<S>(machine, instruction.b)
            && let Some(holds) = compared::<S>(test, signed, a, b)
        {
            machine.set_predicate(instruction.d, u32::from(holds).wrapping_neg());
            return Flow::Next;
        }
        by_lanes(machine, instruction)
    }
}

/// The operand that all lanes select; `None` if they do not select the same.
///
/// # Safety
/// `c` is a predicate.
#[inline(always)]
unsafe fn side(machine: &Machine<'_>, instruction: &Instruction) -> Option<u32> {
    // SAFETY: this function's contract.
    let chosen = unsafe { machine.predicate(instruction.c) } & machine.mask;
    if chosen == machine.mask { Some(instruction.a) } else { (chosen == 0).then_some(instruction.b) }
}

/// The test of a comparison, and whether its numbers are signed.
#[inline(always)]
fn test(instruction: &Instruction) -> (Test, bool) {
    (TESTS[instruction.c as usize % SIGNED as usize % 6], instruction.c & SIGNED != 0)
}

/// Whether a comparison holds in all lanes; `None` if the bounds of the values do not decide it.
#[inline(always)]
fn compared<S: Slot>(test: Test, signed: bool, a: Linear, b: Linear) -> Option<bool> {
    if signed {
        holds(test, a.signed_bounds::<S>()?, b.signed_bounds::<S>()?)
    } else {
        holds(test, a.unsigned_bounds::<S>()?, b.unsigned_bounds::<S>()?)
    }
}

/// Whether a comparison of two numbers between bounds holds; `None` if the bounds do not decide it.
#[inline(always)]
fn holds<T: Ord + Copy>(test: Test, a: (T, T), b: (T, T)) -> Option<bool> {
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

/// Defines `$name`, which returns a function for this processor: it calls `$equal`, and `$linear` if that returns `false`. `$linear` is a
/// function of its own, so that the short way saves no registers.
macro_rules! ways {
    ($(#[$doc:meta])* fn $name:ident<$($generic:ident: $bound:path),*>($($operation:ident)?) = $equal:ident, $linear:ident;) => {
        $(#[$doc])*
        fn $name<$($generic: $bound),*>($(_: $operation)?) -> Exec
        where $($operation: Copy + 'static,)? $($generic: 'static),* {
            #[inline(never)]
            unsafe fn other<$($generic: $bound),*>(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow
            where $($operation: Copy,)? {
                // SAFETY: this function's contract.
                unsafe { $linear::<$($generic),*>(machine, instruction) }
            }
            unsafe fn base<$($generic: $bound),*>(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow
            where $($operation: Copy,)? {
                // SAFETY: this function's contract.
                unsafe {
                    if $equal::<$($generic),*>(machine, instruction) {
                        return Flow::Next;
                    }
                    other::<$($generic),*>(machine, instruction)
                }
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
            #[inline(never)]
            unsafe fn other_wide<$($generic: $bound),*>(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow
            where $($operation: Copy,)? {
                // SAFETY: this function's contract.
                unsafe { $linear::<$($generic),*>(machine, instruction) }
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
            unsafe fn wide<$($generic: $bound),*>(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow
            where $($operation: Copy,)? {
                // SAFETY: this function's contract.
                unsafe {
                    if $equal::<$($generic),*>(machine, instruction) {
                        return Flow::Next;
                    }
                    other_wide::<$($generic),*>(machine, instruction)
                }
            }
            #[cfg(target_arch = "x86_64")]
            if crate::machine::processor::wide() {
                return wide::<$($generic),*>;
            }
            base::<$($generic),*>
        }
    };
}

ways! {
    /// `d = f(a)`, if that is linear.
    fn map1<A: Slot, D: Slot, F: Fn(Linear) -> Option<Linear>>(F) = equal1, linear1;
}
ways! {
    /// `d = f(a, b)`, if that is linear.
    fn map2<A: Slot, B: Slot, D: Slot, F: Fn(Linear, Linear) -> Option<Linear>>(F) = equal2, linear2;
}
ways! {
    /// `d = f(a, b, c)`, if that is linear.
    fn map3<A: Slot, B: Slot, C: Slot, D: Slot, F: Fn(Linear, Linear, Linear) -> Option<Linear>>(F) = equal3, linear3;
}
ways! {
    /// `d = c ? a : b`, where `c` is a predicate.
    fn select<S: Slot>() = equal_select, linear_select;
}
ways! {
    /// Sets the predicate `d` where the comparison in `c` holds.
    fn compare<S: Slot>() = equal_compare, linear_compare;
}
