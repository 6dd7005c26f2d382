//! The functions that generated code calls. They do not unwind.

use super::context::{Context, Site};
use crate::machine::access_mode::{GENERIC, GLOBAL, SHARED, space};
use crate::machine::branching::{self, BarrierKind};
use crate::machine::program::{Exec, Instruction, LEFT_OUT, UNGUARDED};
use crate::machine::{Flow, Machine, region};
use crate::races::order::BARRIERS;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Executes an instruction for generated code. Returns whether the fragment stops.
///
/// # Safety
/// Generated code of the running function calls this with its machine, and with an instruction of the program.
pub(super) unsafe extern "C" fn call(machine: *mut Machine<'static>, instruction: *const Instruction) -> u32 {
    // SAFETY: this function's contract. The caller's reference to the machine is not used while generated code runs.
    let (machine, instruction) = unsafe { (&mut *machine, &*instruction) };
    let flow = guarded(machine, |machine| {
        machine.catch_up();
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
        machine.catch_up();
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
        machine.end_turns();
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

/// As [`step`], for an atomic operation on shared memory, whose memory is remembered for the next time.
///
/// # Safety
/// As for [`call_access`].
pub(super) unsafe extern "C" fn step_atomic(
    machine: *mut Machine<'static>,
    instruction: *const Instruction,
    site: u32,
    sites: *mut Site,
) -> u32 {
    // SAFETY: this function's contract.
    let result = unsafe { step(machine, instruction) };
    // SAFETY: as above. `step` has ended its use of the machine.
    let machine = unsafe { &mut *machine };
    if result == ON && machine.journal.on {
        let wide = machine.program.patterns[machine.pc as usize - 1].update.is_some_and(|(_, wide)| wide);
        let address = machine.addresses[Machine::first(machine.active) as usize];
        if let Some(found) = machine.written_shared(address, if wide { 8 } else { 4 }) {
            // SAFETY: this function's contract.
            unsafe { sites.add(site as usize).write(found) };
        }
    }
    result
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
    // SAFETY: this function's contract. The caller's references to the machine and the context are not used while generated code runs.
    let (running, context, plain) = unsafe { (&mut *machine, &mut *context, &*instruction) };
    running.end_turns();
    if running.panic.is_some() {
        return STOPS;
    }
    let all = plain.guard == UNGUARDED && plain.b == LEFT_OUT;
    if all && running.active == u32::MAX && running.warp.fragments.is_empty() && running.warp.apart.is_empty() {
        // SAFETY: `a` is a register or constant of 32 bits.
        let number = unsafe { running.slots::<u32>(plain.a).read() } as usize;
        if number < BARRIERS {
            // This is what `step` does for all threads of the block, without what else an instruction can do.
            let mut last = false;
            let flow = guarded(running, |machine| {
                machine.settle_journal();
                last = machine.arrive(number, None, 0, BarrierKind::Sync);
                if last || machine.pass_to_next(context, Some(exit)) { Flow::Next } else { Flow::Stop }
            });
            return match flow {
                Flow::Next if !last => PASSED,
                Flow::Next if running.polls.live => LEAVES,
                Flow::Next => {
                    running.begin_cohort(context, number);
                    ON
                }
                _ => STOPS,
            };
        }
    }
    // SAFETY: this function's contract.
    let result = unsafe { step(machine, instruction) };
    // SAFETY: as above. `step` has ended its use of the machine.
    if result == STOPS && unsafe { (*machine).pass_to_next(context, Some(exit)) } { PASSED } else { result }
}

/// Records that a warp of the cohort arrives at the barrier. Returns whether that has failed.
///
/// # Safety
/// As for [`call`].
pub(super) unsafe extern "C" fn watch_arrival(machine: *mut Machine<'static>) -> u32 {
    // SAFETY: as for `call`.
    let machine = unsafe { &mut *machine };
    let flow = guarded(machine, |machine| {
        machine.settle_journal();
        machine.watch_arrival();
        Flow::Next
    });
    u32::from(flow == Flow::Stop)
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
    running.end_turns();
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

/// Executes a load or store of any addresses for generated code, and remembers its memory for the next time.
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
        let index = machine.found[machine.pc as usize - 1] as usize;
        let found = match space(instruction.c) {
            GENERIC | GLOBAL => machine.site_in(index, span.into()),
            SHARED if machine.journal.on => {
                let lane = Machine::first(machine.active) as usize;
                machine.written_shared(machine.addresses[lane], span.into())
            }
            _ => None,
        };
        if let Some(found) = found {
            // SAFETY: this function's contract.
            unsafe { sites.add(site as usize).write(found) };
        }
    }
    stops
}

/// Looks for the memory of a load or store whose addresses are linear, and whose site has other memory. `lowest` is the least address, and
/// `span` the bytes from there on. Returns the host's address of it if generated code can make the access itself, or zero.
///
/// # Safety
/// As for [`call_access`].
pub(super) unsafe extern "C" fn find(
    machine: *mut Machine<'static>,
    instruction: *const Instruction,
    site: u32,
    span: u32,
    sites: *mut Site,
    lowest: u64,
) -> u64 {
    // SAFETY: this function's contract. The caller's reference to the machine is not used while generated code runs.
    let (machine, instruction) = unsafe { (&mut *machine, &*instruction) };
    let mut found = None;
    guarded(machine, |machine| {
        machine.catch_up();
        // SAFETY: this function's contract.
        found = unsafe { machine.find_memory(instruction, site, (lowest, span.into()), sites) };
        Flow::Next
    });
    found.unwrap_or(0)
}

impl Machine<'_> {
    /// The facts that generated code takes for unchanged behind an instruction: the fragment's place and lanes, and the number of others.
    fn place(&self) -> (u32, u32, u32, usize) {
        (self.pc, self.frame, self.active, self.warp.fragments.len())
    }

    /// Finds the memory of an access of the instruction in front of the place of the machine, as [`find`] does.
    ///
    /// # Safety
    /// The sites are those of the running code, and nothing else accesses them meanwhile.
    unsafe fn find_memory(
        &mut self,
        instruction: &Instruction,
        site: u32,
        (lowest, span): (u64, u64),
        sites: *mut Site,
    ) -> Option<u64> {
        match space(instruction.c) {
            GENERIC | GLOBAL => {
                let index = region::find(self.launch.regions, lowest, lowest.checked_add(span)?)?;
                let found = self.site_in(index, span)?;
                // SAFETY: this function's contract.
                unsafe { sites.add(site as usize).write(found) };
                Some(lowest.wrapping_add(found.shift))
            }
            SHARED if self.journal.on => {
                // SAFETY: this function's contract.
                let is_found = unsafe { self.find_written(site, (lowest, span), sites) };
                is_found.then(|| self.block.shared_base() as u64 + lowest)
            }
            _ => None,
        }
    }

    /// The site of an access of the instruction in front of the place of the machine to a region, whose addresses span so many bytes.
    fn site_in(&mut self, index: usize, span: u64) -> Option<Site> {
        let region = self.launch.regions.get(index)?;
        let stores = self.program.operands_of.written(self.pc as usize - 1).is_empty();
        let places = (region.end - region.start).checked_sub(span)? + 1;
        let shift = region.host.wrapping_sub(region.start);
        let possible = (region.writable || !stores) && (!self.journal.on || self.journals_region(index, stores));
        possible.then_some(Site { start: region.start, places, shift, region: index as u64 })
    }
}
