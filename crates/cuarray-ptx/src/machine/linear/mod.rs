//! Registers whose values are linear in the bits of the lane number.
//!
//! Most indices, addresses and counters are equal in all lanes of a warp, or differ by a constant from lane to lane. Such a value
//! is a base plus a step for each bit of the lane number. This also describes the thread indices of blocks with 8 or 16 columns. The
//! instructions here compute six numbers in place of 32. Sums and products modulo the width of a register are linear again.
//! Other results are linear if no lane leaves the range of the type, which is checked, so the results are exact.
//!
//! The resolver selects the registers (`resolve::linear`). A *head* precedes the row of such a register, and states where its
//! value is. An instruction that not all lanes execute, or whose result is not linear, completes the rows of its operands and
//! calls its usual function.

mod value;

use super::lanes::{operation, versions};
use super::memory::Slot;
use super::{Flow, Machine};
use crate::machine::program::{CONSTANT, Exec, Instruction};
pub(crate) use value::Linear;

/// The bytes of a head, which precedes the row of a register.
pub(crate) const HEAD: u32 = 64;

/// The positions of operands in `extra`: two bits for each, with 1 for a register with a head and 32 bits, and 2 for 64 bits.
pub(crate) const A: u32 = 8;
pub(crate) const B: u32 = 10;
pub(crate) const C: u32 = 12;
pub(crate) const D: u32 = 14;
/// The bit in `extra` of an instruction whose result is also read as a row.
pub(crate) const ROW_USED: u32 = 1 << 16;
/// The bit in `extra` of an instruction that [`Operation::function`] executes.
pub(crate) const LINEAR: u32 = 1 << 17;

/// Where the value of a register is.
const IN_ROW: u64 = 0;
const IN_HEAD: u64 = 1;
const IN_BOTH: u64 = 2;

#[repr(C, align(64))]
struct Head {
    linear: Linear,
    place: u64,
}

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

/// The head of a register.
///
/// # Safety
/// As for [`Machine::slots`]; the register has a head.
#[inline(always)]
unsafe fn head(machine: &Machine<'_>, operand: u32) -> *mut Head {
    // SAFETY: this function's contract: a head precedes the row.
    unsafe { machine.slots::<Head>(operand).sub(1) }
}

/// The value of a constant, or of a register with a head; `None` if it is in its row.
///
/// # Safety
/// As for [`Machine::slots`].
#[inline(always)]
unsafe fn value<S: Slot>(machine: &Machine<'_>, operand: u32) -> Option<Linear> {
    // SAFETY: this function's contract.
    unsafe {
        if operand & CONSTANT != 0 {
            return Some(Linear::uniform(machine.slots::<S>(operand).read().value()));
        }
        let head = head(machine, operand);
        ((*head).place != IN_ROW).then_some((*head).linear)
    }
}

/// Sets the register `d`, which has a head, in all lanes.
///
/// # Safety
/// The register has slots of this type.
#[inline(always)]
unsafe fn set<S: Slot>(machine: &mut Machine<'_>, instruction: &Instruction, linear: Linear) {
    // SAFETY: this function's contract.
    unsafe {
        let head = head(machine, instruction.d);
        let linear = linear.each(|word| S::of(word).value());
        (*head).linear = linear;
        (*head).place = IN_HEAD;
        if instruction.extra & ROW_USED != 0 {
            machine.slots::<[S; 32]>(instruction.d).write(linear.row());
            (*head).place = IN_BOTH;
        }
    }
}

/// Writes the row of a register whose value is only in its head. `kind` is that of [`A`].
///
/// # Safety
/// As for [`Machine::slots`].
#[inline(always)]
unsafe fn complete(machine: &Machine<'_>, operand: u32, kind: u32) {
    if kind & 3 == 0 {
        return;
    }
    // SAFETY: this function's contract; the kind states the width.
    unsafe {
        let head = head(machine, operand);
        if (*head).place != IN_HEAD {
            return;
        }
        (*head).place = IN_BOTH;
        match kind & 3 {
            1 => machine.slots::<[u32; 32]>(operand).write((*head).linear.row()),
            _ => machine.slots::<[u64; 32]>(operand).write((*head).linear.row()),
        }
    }
}

/// Executes an instruction by its usual function.
///
/// # Safety
/// As for [`Exec`].
#[inline(never)]
unsafe fn by_lanes(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    // SAFETY: this function's contract; the resolver set the kinds, and put the usual function in the program.
    unsafe {
        let kinds = instruction.extra;
        complete(machine, instruction.a, kinds >> A);
        complete(machine, instruction.b, kinds >> B);
        complete(machine, instruction.c, kinds >> C);
        begin_row(machine, instruction);
        machine.program.by_lanes[instruction.imm as usize](machine, instruction)
    }
}

/// Prepares the row of the register `d` for an instruction that writes lanes of it.
///
/// # Safety
/// As for [`Machine::slots`].
#[inline(always)]
unsafe fn begin_row(machine: &mut Machine<'_>, instruction: &Instruction) {
    let kind = instruction.extra >> D & 3;
    if kind != 0 {
        // SAFETY: this function's contract.
        unsafe {
            complete(machine, instruction.d, kind);
            (*head(machine, instruction.d)).place = IN_ROW;
        }
    }
}

impl Machine<'_> {
    /// Sets the register `d` to one value, in the lanes that may be written.
    ///
    /// # Safety
    /// `d` is a register of this width, and the instruction has its kind.
    #[inline(always)]
    pub(super) unsafe fn set_uniform<S: Slot>(&mut self, instruction: &Instruction, value: S) {
        // SAFETY: this function's contract.
        unsafe {
            if instruction.extra >> D & 3 != 0 && self.write == u32::MAX {
                set::<S>(self, instruction, Linear::uniform(value.value()));
            } else {
                begin_row(self, instruction);
                self.broadcast(instruction.d, value);
            }
        }
    }

    /// Sets the register `d`, in the lanes that may be written.
    ///
    /// # Safety
    /// As for [`Machine::set_uniform`].
    pub(super) unsafe fn set_lanes<S: Slot>(&mut self, instruction: &Instruction, values: &[u64; 32]) {
        // SAFETY: this function's contract.
        unsafe {
            if instruction.extra >> D & 3 != 0
                && self.write == u32::MAX
                && let Some(linear) = Linear::of(values)
            {
                return set::<S>(self, instruction, linear);
            }
            begin_row(self, instruction);
            let target = self.slots::<S>(instruction.d);
            for lane in (0..32).filter(|lane| self.write >> lane & 1 == 1) {
                target.add(lane).write(S::of(values[lane]));
            }
        }
    }

    /// Sets the register `d` to consecutive numbers.
    ///
    /// # Safety
    /// As for [`Machine::set_uniform`].
    #[inline(always)]
    pub(super) unsafe fn set_consecutive<S: Slot>(&mut self, instruction: &Instruction, first: u32) {
        let linear = Linear { base: first.into(), steps: [1, 2, 4, 8, 16] };
        // SAFETY: this function's contract.
        unsafe {
            if instruction.extra >> D & 3 != 0 && self.write == u32::MAX {
                set::<S>(self, instruction, linear);
            } else {
                self.set_lanes::<S>(instruction, &linear.row());
            }
        }
    }

    /// The addresses of an access, if they are linear.
    ///
    /// # Safety
    /// `instruction` is a load or store that `memory` executes.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(super) unsafe fn linear_address(&self, instruction: &Instruction) -> Option<Linear> {
        if instruction.extra >> A & 3 == 0 {
            return None;
        }
        // SAFETY: this function's contract. The kind tells that the operand is a register with a head.
        unsafe { value::<u64>(self, instruction.a) }
    }

    /// Writes the addresses of an access to their row.
    ///
    /// # Safety
    /// `instruction` is a load or store that `memory` executes.
    #[inline(always)]
    pub(super) unsafe fn complete_address(&self, instruction: &Instruction) {
        // SAFETY: this function's contract.
        unsafe { complete(self, instruction.a, instruction.extra >> A) }
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
