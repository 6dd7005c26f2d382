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

mod comparison;
mod execution;
mod operation;
mod value;

use super::memory::Slot;
use super::{Flow, Machine};
use crate::machine::program::{CONSTANT, Instruction};
pub(crate) use comparison::Test;
pub(crate) use operation::Operation;
pub(crate) use value::Linear;

/// The bytes of a head, which precedes the row of a register.
pub(crate) const HEAD: u32 = 64;

/// The positions of operands in `extra`: two bits for each, with 1 for a register with a head and 32 bits, and 2 for 64 bits.
pub(crate) const A: u32 = 8;
pub(crate) const B: u32 = 10;
pub(crate) const C: u32 = 12;
pub(crate) const D: u32 = 14;

/// The kind of the operand at such a position; 0 has no head.
#[inline(always)]
pub(crate) fn head_kind(extra: u32, at: u32) -> u32 {
    extra >> at & 3
}
/// The bit in `extra` of an instruction whose result is also read as a row.
pub(crate) const ROW_USED: u32 = 1 << 16;
/// The bit in `extra` of an instruction that [`Operation::function`] executes.
pub(crate) const LINEAR: u32 = 1 << 17;

/// The place of a register's value: in its row, unless bits state more.
const IN_ROW: u64 = 0;
/// The head has the value too.
const IN_HEAD: u64 = 1;
/// The head has the value, which is equal in all lanes. Its steps are not written.
const UNIFORM: u64 = 2;
/// The row does not have the value.
const NO_ROW: u64 = 4;

#[repr(C, align(64))]
struct Head {
    linear: Linear,
    place: u64,
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

/// The value of a constant, or of a register with a head, if it is known to be equal in all lanes.
///
/// # Safety
/// As for [`Machine::slots`].
#[inline(always)]
unsafe fn uniform<S: Slot>(machine: &Machine<'_>, operand: u32) -> Option<Linear> {
    // SAFETY: this function's contract.
    unsafe {
        if operand & CONSTANT != 0 {
            return Some(Linear::uniform(machine.slots::<S>(operand).read().value()));
        }
        let head = head(machine, operand);
        ((*head).place & UNIFORM != 0).then(|| Linear::uniform((*head).linear.base))
    }
}

/// The value of a constant, or of a register with a head; `None` if it is in its row.
///
/// # Safety
/// As for [`Machine::slots`].
#[inline(always)]
unsafe fn value<S: Slot>(machine: &Machine<'_>, operand: u32) -> Option<Linear> {
    // SAFETY: this function's contract.
    unsafe {
        uniform::<S>(machine, operand).or_else(|| {
            let head = head(machine, operand);
            ((*head).place & IN_HEAD != 0).then(|| Linear::read(&raw const (*head).linear))
        })
    }
}

/// Sets the register `d`, which has a head, in all lanes.
///
/// # Safety
/// The register has slots of this type.
#[inline(always)]
unsafe fn set<S: Slot>(machine: &mut Machine<'_>, instruction: &Instruction, linear: Linear) {
    let linear = linear.each(|word| S::of(word).value());
    // SAFETY: this function's contract.
    unsafe {
        if linear.is_uniform() {
            return set_equal(machine, instruction, S::of(linear.base));
        }
        let head = head(machine, instruction.d);
        (*head).linear = linear;
        (*head).place = IN_HEAD | NO_ROW;
        if instruction.extra & ROW_USED != 0 {
            machine.slots::<[S; 32]>(instruction.d).write(linear.row());
            (*head).place = IN_HEAD;
        }
    }
}

/// Sets the register `d`, which has a head, to one value in all lanes.
///
/// # Safety
/// The register has slots of this type.
#[inline(always)]
unsafe fn set_equal<S: Slot>(machine: &mut Machine<'_>, instruction: &Instruction, value: S) {
    // SAFETY: this function's contract.
    unsafe {
        let head = head(machine, instruction.d);
        (*head).linear.base = value.value();
        (*head).place = UNIFORM | IN_HEAD | NO_ROW;
        if instruction.extra & ROW_USED != 0 {
            machine.slots::<[S; 32]>(instruction.d).write([value; 32]);
            (*head).place = UNIFORM | IN_HEAD;
        }
    }
}

/// Whether the row of a register has its value. `kind` is its [`head_kind`].
///
/// # Safety
/// As for [`Machine::slots`].
#[inline(always)]
unsafe fn is_complete(machine: &Machine<'_>, operand: u32, kind: u32) -> bool {
    // SAFETY: this function's contract; the kind states that there is a head.
    kind == 0 || unsafe { (*head(machine, operand)).place & NO_ROW == 0 }
}

/// Writes the row of a register whose value is only in its head. `kind` is its [`head_kind`].
///
/// # Safety
/// As for [`Machine::slots`].
#[inline(always)]
unsafe fn complete(machine: &Machine<'_>, operand: u32, kind: u32) {
    // SAFETY: this function's contract; the kind states the width.
    unsafe {
        if is_complete(machine, operand, kind) {
            return;
        }
        match kind {
            1 => write_row::<u32>(head(machine, operand), machine.slots(operand)),
            _ => write_row::<u64>(head(machine, operand), machine.slots(operand)),
        }
    }
}

/// Writes the row behind a head.
///
/// # Safety
/// The pointers are those of a register with such slots, whose value is in its head.
unsafe fn write_row<S: Slot>(head: *mut Head, row: *mut [S; 32]) {
    #[inline(always)]
    unsafe fn body<S: Slot>(head: *mut Head, row: *mut [S; 32]) {
        // SAFETY: this function's contract.
        unsafe {
            let place = (*head).place;
            (*head).place = place & !NO_ROW;
            let base = (*head).linear.base;
            row.write(if place & UNIFORM != 0 {
                [S::of(base); 32]
            } else {
                Linear::read(&raw const (*head).linear).row()
            });
        }
    }
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
    unsafe fn wide<S: Slot>(head: *mut Head, row: *mut [S; 32]) {
        // SAFETY: this function's contract.
        unsafe { body(head, row) }
    }
    #[cfg(target_arch = "x86_64")]
    if super::processor::wide() {
        // SAFETY: this function's contract, and the processor has the features.
        return unsafe { wide(head, row) };
    }
    // SAFETY: this function's contract.
    unsafe { body(head, row) }
}

/// Whether all lanes may be written.
#[inline(always)]
fn all_take_part(machine: &Machine<'_>, _: &Instruction) -> bool {
    machine.write == u32::MAX
}

/// Whether all lanes may be written, and the heads of all operands have their values.
///
/// # Safety
/// As for [`Exec`].
#[inline(always)]
unsafe fn are_known(machine: &Machine<'_>, instruction: &Instruction) -> bool {
    let Instruction { a, b, c, extra, .. } = *instruction;
    let is_known = |(operand, at): (u32, u32)| {
        // SAFETY: this function's contract: the bits state which operands have heads.
        head_kind(extra, at) == 0 || unsafe { (*head(machine, operand)).place & IN_HEAD != 0 }
    };
    machine.write == u32::MAX && is_known((a, A)) && is_known((b, B)) && is_known((c, C))
}

/// Executes an instruction by its usual function.
///
/// # Safety
/// As for [`Exec`].
#[inline(never)]
unsafe fn by_lanes(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    let Instruction { a, b, c, d, extra: kinds, .. } = *instruction;
    // SAFETY: this function's contract; the resolver set the kinds, and put the usual function in the program.
    unsafe {
        let ready = is_complete(machine, a, head_kind(kinds, A))
            && is_complete(machine, b, head_kind(kinds, B))
            && is_complete(machine, c, head_kind(kinds, C))
            && (machine.write == u32::MAX || is_complete(machine, d, head_kind(kinds, D)));
        if !ready {
            return by_completed_lanes(machine, instruction);
        }
        if head_kind(kinds, D) != 0 {
            (*head(machine, d)).place = IN_ROW;
        }
        machine.program.by_lanes[instruction.imm as usize](machine, instruction)
    }
}

/// Completes the rows of an instruction's operands, and executes it by its usual function.
///
/// # Safety
/// As for [`Exec`].
#[inline(never)]
unsafe fn by_completed_lanes(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    // SAFETY: this function's contract; the resolver set the kinds, and put the usual function in the program.
    unsafe {
        let kinds = instruction.extra;
        complete(machine, instruction.a, head_kind(kinds, A));
        complete(machine, instruction.b, head_kind(kinds, B));
        complete(machine, instruction.c, head_kind(kinds, C));
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
    let kind = head_kind(instruction.extra, D);
    if kind != 0 {
        // SAFETY: this function's contract.
        unsafe {
            // The other lanes keep their values.
            if machine.write != u32::MAX {
                complete(machine, instruction.d, kind);
            }
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
            if head_kind(instruction.extra, D) != 0 && self.write == u32::MAX {
                set_equal(self, instruction, value);
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
            if head_kind(instruction.extra, D) != 0
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
            if head_kind(instruction.extra, D) != 0 && self.write == u32::MAX {
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
        if head_kind(instruction.extra, A) == 0 {
            return None;
        }
        // SAFETY: this function's contract. The kind tells that the operand is a register with a head.
        unsafe { value::<u64>(self, instruction.a) }
    }

    /// Writes the value of a register with a head to its row.
    ///
    /// # Safety
    /// As for [`Machine::slots`]; the register has a head and this width.
    pub(super) unsafe fn complete_register(&self, operand: u32, wide: bool) {
        // SAFETY: this function's contract.
        unsafe { complete(self, operand, 1 + u32::from(wide)) }
    }

    /// Writes the addresses of an access to their row.
    ///
    /// # Safety
    /// `instruction` is a load or store that `memory` executes.
    #[inline(always)]
    pub(super) unsafe fn complete_address(&self, instruction: &Instruction) {
        // SAFETY: this function's contract.
        unsafe { complete(self, instruction.a, head_kind(instruction.extra, A)) }
    }
}
