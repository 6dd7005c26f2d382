//! The functions of instructions on linear values: each takes the short way, or calls the usual function of the instruction.

use super::comparison::{compared, compared_equal, decoded};
use super::{Linear, all_take_part, are_known, by_lanes, set, set_equal, uniform, value};
use crate::machine::lanes::operation;
use crate::machine::memory::Slot;
use crate::machine::program::{Exec, Instruction};
use crate::machine::{Flow, Machine};

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
            let (test, signed) = decoded(instruction.c);
            let holds = compared_equal::<S>(test, signed, a.base, b.base);
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
        let (test, signed) = decoded(instruction.c);
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

/// Defines `$name`, which returns a function for this processor: it calls `$equal`, and if that returns `false`, it calls `$linear` or the
/// usual function. `$linear` is a separate function, so that the other ways save no registers.
macro_rules! ways {
    ($(#[$doc:meta])* fn $name:ident<$($generic:ident: $bound:path),*>($($operation:ident)?) = $equal:ident, $linear:ident if $known:ident;) => {
        $(#[$doc])*
        pub(super) fn $name<$($generic: $bound),*>($(_: $operation)?) -> Exec
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
                        Flow::Next
                    } else if $known(machine, instruction) {
                        other::<$($generic),*>(machine, instruction)
                    } else {
                        by_lanes(machine, instruction)
                    }
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
                        Flow::Next
                    } else if $known(machine, instruction) {
                        other_wide::<$($generic),*>(machine, instruction)
                    } else {
                        by_lanes(machine, instruction)
                    }
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
    fn map1<A: Slot, D: Slot, F: Fn(Linear) -> Option<Linear>>(F) = equal1, linear1 if are_known;
}
ways! {
    /// `d = f(a, b)`, if that is linear.
    fn map2<A: Slot, B: Slot, D: Slot, F: Fn(Linear, Linear) -> Option<Linear>>(F) = equal2, linear2 if are_known;
}
ways! {
    /// `d = f(a, b, c)`, if that is linear.
    fn map3<A: Slot, B: Slot, C: Slot, D: Slot, F: Fn(Linear, Linear, Linear) -> Option<Linear>>(F) = equal3, linear3 if are_known;
}
ways! {
    /// `d = c ? a : b`, where `c` is a predicate.
    fn select<S: Slot>() = equal_select, linear_select if all_take_part;
}
ways! {
    /// Sets the predicate `d` where the comparison in `c` holds.
    fn compare<S: Slot>() = equal_compare, linear_compare if are_known;
}
