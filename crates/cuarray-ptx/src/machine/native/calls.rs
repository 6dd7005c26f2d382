//! The functions that generated code calls. They do not unwind.

use super::context::{Context, Site};
use crate::machine::access_mode::{GENERIC, GLOBAL, SHARED, is_wide, space};
use crate::machine::branching;
use crate::machine::program::{Exec, Instruction, UNGUARDED};
use crate::machine::{Flow, Machine};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Executes an instruction for generated code. Returns whether the fragment stops.
///
/// # Safety
/// Generated code of the running function calls this with its machine, and with an instruction of the program.
pub(super) unsafe extern "C" fn call(machine: *mut Machine<'static>, instruction: *const Instruction) -> u32 {
    // SAFETY: this function's contract. The caller's reference to the machine is not used while generated code runs.
    let (machine, instruction) = unsafe { (&mut *machine, &*instruction) };
    let flow = guarded(machine, |machine| {
        machine.settle_journal();
        // SAFETY: the machine runs the program of the instruction, in a frame of its function.
        unsafe { (instruction.exec)(machine, instruction) }
    });
    u32::from(flow == Flow::Stop || !machine.may_journal())
}

/// Records what the journal has, because it has no place for a further entry.
///
/// # Safety
/// Generated code of the running function calls this with its machine.
pub(super) unsafe extern "C" fn settle(machine: *mut Machine<'static>) {
    // SAFETY: as for `call`.
    let machine = unsafe { &mut *machine };
    guarded(machine, |machine| {
        machine.settle_journal();
        Flow::Next
    });
}

/// Calls `f`. Generated code has no unwind information, so a panic stops the fragment, and waits until the code has returned.
fn guarded(machine: &mut Machine<'static>, f: impl FnOnce(&mut Machine<'static>) -> Flow) -> Flow {
    catch_unwind(AssertUnwindSafe(|| f(&mut *machine))).unwrap_or_else(|panic| {
        machine.panic = Some(panic);
        Flow::Stop
    })
}

/// The results of [`step`]: generated code goes on, the fragment stops, or the interpreter goes on.
const ON: u32 = 0;
const STOPS: u32 = 1;
const LEAVES: u32 = 2;
/// A result of [`arrive`] and [`end`]: another warp goes on, at the block that the context has.
pub(super) const PASSED: u32 = 3;

/// Executes an instruction that is not in a run, as the interpreter does. It is counted already.
///
/// # Safety
/// As for [`call`].
pub(super) unsafe extern "C" fn step(machine: *mut Machine<'static>, instruction: *const Instruction) -> u32 {
    let (active, executed, before) = {
        // SAFETY: this function's contract. The caller's reference to the machine is not used while generated code runs.
        let (machine, instruction) = unsafe { (&mut *machine, &*instruction) };
        let mut mask = machine.active;
        if instruction.guard < UNGUARDED {
            // SAFETY: a guard is a predicate of the frame.
            let predicate = unsafe { machine.predicate(instruction.guard >> 1) };
            mask &= predicate ^ (instruction.guard & 1).wrapping_neg();
        }
        // Generated code counts all lanes of the fragment.
        machine.lanes = machine.lanes.wrapping_sub(u64::from((machine.active & !mask).count_ones()));
        if mask == 0 {
            return ON;
        }
        (machine.mask, machine.write) = (mask, mask | machine.warp.dead);
        (machine.active, machine.executed, machine.place())
    };
    // SAFETY: this function's contract.
    let stops = unsafe { call(machine, instruction) } != 0;
    // SAFETY: as above.
    let machine = unsafe { &mut *machine };
    // Time that a thread sleeps counts as instructions, but not for its lanes.
    let slept = machine.executed - executed;
    machine.lanes = machine.lanes.wrapping_sub(slept * u64::from(active.count_ones()));
    (machine.mask, machine.write) = (active, active | machine.warp.dead);
    match stops {
        true => STOPS,
        false if machine.place() == before && !machine.polls.live => ON,
        false => LEAVES,
    }
}

/// Whether an instruction is a barrier that threads of the block wait for, without a result.
pub(super) fn is_plain_barrier(instruction: &Instruction) -> bool {
    std::ptr::fn_addr_eq(instruction.exec, branching::barrier as Exec) && instruction.imm & !branching::ALIGNED == 0
}

/// As [`step`], for a plain barrier: if the warp waits there, another one that waits at the same barrier may go on in its place. `exit` is the
/// way out of a warp that waits.
///
/// # Safety
/// As for [`call`], with the context of the running code.
pub(super) unsafe extern "C" fn arrive(
    machine: *mut Machine<'static>,
    instruction: *const Instruction,
    context: *mut Context,
    exit: u32,
) -> u32 {
    // SAFETY: this function's contract.
    let result = unsafe { step(machine, instruction) };
    // SAFETY: as above. `step` has ended its use of the machine.
    if result == STOPS && unsafe { (*machine).pass_to_next(&mut *context, Some(exit)) } { PASSED } else { result }
}

/// Whether an instruction ends the threads that execute it, in all lanes.
pub(super) fn is_whole_exit(instruction: &Instruction) -> bool {
    std::ptr::fn_addr_eq(instruction.exec, branching::exit as Exec) && instruction.guard == UNGUARDED
}

/// As [`step`], for an instruction that ends all threads of the warp: the next warp of the block may begin or go on in its place.
///
/// # Safety
/// As for [`arrive`].
pub(super) unsafe extern "C" fn end(
    machine: *mut Machine<'static>,
    instruction: *const Instruction,
    context: *mut Context,
) -> u32 {
    // SAFETY: this function's contract. The caller's reference to the machine is not used while generated code runs.
    let (running, context) = unsafe { (&mut *machine, &mut *context) };
    let mut passed = false;
    guarded(running, |machine| {
        machine.settle_journal();
        passed = machine.replace_by_next(context);
        Flow::Next
    });
    if passed {
        return PASSED;
    }
    if running.panic.is_some() {
        return STOPS;
    }
    // SAFETY: this function's contract.
    let result = unsafe { step(machine, instruction) };
    // SAFETY: as above. `step` has ended its use of the machine.
    if result == STOPS && unsafe { (*machine).pass_to_next(context, None) } { PASSED } else { result }
}

/// Executes a load or store for generated code, and remembers its memory for the next time.
///
/// # Safety
/// As for [`call`]; `sites` are those of the running code, and `site` is one of them.
pub(super) unsafe extern "C" fn call_access(
    machine: *mut Machine<'static>,
    instruction: *const Instruction,
    site: u32,
    span: u32,
    sites: *mut Site,
) -> u32 {
    // SAFETY: this function's contract.
    let stops = unsafe { call(machine, instruction) };
    if stops == 0 {
        // SAFETY: `call` has ended its use of the machine, and generated code does not use it before this function returns.
        let (machine, instruction) = unsafe { (&mut *machine, &*instruction) };
        match machine.found_memory(instruction, span.into()) {
            // SAFETY: this function's contract.
            Some(found) => unsafe { sites.add(site as usize).write(found) },
            // SAFETY: as above.
            None => unsafe { machine.note_written(instruction, site, sites) },
        }
    }
    stops
}

impl Machine<'_> {
    /// The facts that generated code takes for unchanged behind an instruction: the fragment's place and lanes, and the number of others.
    fn place(&self) -> (u32, u32, u32, usize) {
        (self.pc, self.frame, self.active, self.warp.fragments.len())
    }

    /// The address of a lane, without the offset of the instruction.
    ///
    /// # Safety
    /// The instruction is an access that was executed in the running frame, so its addresses are in a register or constant of the width that its
    /// mode states. The lane is less than 32.
    pub(super) unsafe fn address_of(&self, instruction: &Instruction, lane: usize) -> u64 {
        // SAFETY: this function's contract.
        unsafe {
            match is_wide(instruction.c) {
                true => self.slots::<u64>(instruction.a).add(lane).read(),
                false => self.slots::<u32>(instruction.a).add(lane).read().into(),
            }
        }
    }

    /// The memory that the last access of an instruction has found, for accesses whose addresses span so many bytes.
    fn found_memory(&mut self, instruction: &Instruction, span: u64) -> Option<Site> {
        let pc = self.pc as usize - 1;
        match space(instruction.c) {
            GENERIC | GLOBAL => {}
            SHARED if self.journal.on => {
                let lane = Machine::first(self.active) as usize;
                // SAFETY: the access was executed.
                let address = unsafe { self.address_of(instruction, lane) };
                return self.written_shared(address.wrapping_add_signed(instruction.imm), span);
            }
            _ => return None,
        }
        let index = self.found[pc] as usize;
        let region = self.launch.regions.get(index)?;
        let stores = self.program.operands_of.written(pc).is_empty();
        let places = (region.end - region.start).checked_sub(span)? + 1;
        let shift = region.host.wrapping_sub(region.start);
        let possible = (region.writable || !stores) && (!self.journal.on || self.journals_region(index, stores));
        possible.then_some(Site { start: region.start, places, shift, region: index as u64 })
    }
}
