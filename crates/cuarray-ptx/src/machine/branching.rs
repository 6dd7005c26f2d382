//! Control flow: branches, calls, returns, exits and barriers.

use super::access_mode::{scope_code, scope_of, strength_of};
use super::fault::FaultKind;
use super::misuse::MisuseKind;
use super::program::LEFT_OUT;
use super::warp::{Waiting, Warp};
use super::{Flow, Machine};
use crate::machine::program::{FUNCTION_WINDOW, Instruction};
pub(crate) use crate::races::causality::{Fence, proxies};
use crate::races::span::bits;

impl Machine<'_> {
    /// Continues at `target`; returns whether the fragment's turn continues.
    #[inline(always)]
    fn go(&mut self, target: u32) -> Flow {
        let back = target < self.pc;
        self.pc = target;
        if back {
            if !self.warp.fragments.is_empty() {
                self.find_limit();
            }
            if self.executed >= self.turn_end {
                return Flow::Stop;
            }
        }
        Flow::Next
    }

    /// Lets the lanes outside of the mask continue as a separate fragment.
    pub(super) fn leave_rest(&mut self) {
        let rest = self.active & !self.mask;
        if rest != 0 {
            self.part(self.pc, rest, Waiting::Nothing);
            self.active = self.mask;
        }
    }
}

/// `bra`: to `imm`.
pub(crate) unsafe fn branch(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    machine.go(instruction.imm as u32)
}

/// `@p bra`: to `imm` where the predicate `a` holds, or does not hold if `b` is 1.
pub(crate) unsafe fn branch_if(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    // SAFETY: `a` is a predicate.
    let predicate = unsafe { machine.predicate(instruction.a) } ^ instruction.b.wrapping_neg();
    let (taken, target) = (machine.active & predicate, instruction.imm as u32);
    if taken == machine.active {
        return machine.go(target);
    }
    if taken == 0 {
        return Flow::Next;
    }
    let rest = machine.active & !taken;
    // The fragment that is further behind continues.
    if target < machine.pc {
        machine.part(machine.pc, rest, Waiting::Nothing);
        machine.active = taken;
        return machine.go(target);
    }
    machine.part(target, taken, Waiting::Nothing);
    machine.active = rest;
    machine.find_limit();
    Flow::Next
}

/// `brx.idx`: to the further operand with the index `a`, one of `imm`.
pub(crate) unsafe fn branch_indexed(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    machine.leave_rest();
    let mut left = machine.mask;
    while left != 0 {
        let lane = Machine::first(left);
        // SAFETY: `a` is a register of 32 bits.
        let indexes = unsafe { machine.slots::<[u32; 32]>(instruction.a).read() };
        let index = indexes[lane as usize];
        if i64::from(index) >= instruction.imm {
            return machine.fail(FaultKind::InvalidProgramCounter, lane, u64::from(index), 0, false);
        }
        let same = (0..32).filter(|lane| left >> lane & 1 == 1 && indexes[*lane as usize] == index);
        let same = same.fold(0_u32, |mask, lane| mask | 1 << lane);
        left &= !same;
        let target = machine.extra(instruction, index as usize);
        if same == machine.active {
            return machine.go(target);
        }
        machine.part(target, same, Waiting::Nothing);
    }
    machine.active = 0;
    machine.release(machine.frame);
    Flow::Stop
}

/// Moves words of parameters or results between the local memory of two frames. Further operands from `at`: a count,
/// then source, target and number of words for each.
fn pass(machine: &mut Machine<'_>, at: usize, from: u32, to: u32) {
    let operands = &machine.program.operands;
    let count = operands[at] as usize;
    let (mask, Warp { local, written, undefined, .. }) = (machine.mask, &mut *machine.warp);
    for [source, target, words] in operands[at + 1..at + 1 + 3 * count].as_chunks().0 {
        for word in 0..*words as usize {
            let (source, target) = ((from + source) as usize / 8 + word, (to + target) as usize / 8 + word);
            written.copy(mask, source, target);
            if mask == u32::MAX && undefined.is_empty() {
                local.copy_within(source * 32..source * 32 + 32, target * 32);
                continue;
            }
            for lane in bits(mask).map(|lane| lane as usize) {
                local[target * 32 + lane] = local[source * 32 + lane];
                let place = |word: usize| (word * 32 + lane) as u64 * 8;
                undefined.copy(place(source), place(target));
            }
        }
    }
}

/// `call` of the function `imm`. Further operands: the moves of the parameters, then of the results.
pub(crate) unsafe fn call(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    machine.leave_rest();
    enter(machine, instruction, instruction.imm as u32)
}

fn enter(machine: &mut Machine<'_>, instruction: &Instruction, function: u32) -> Flow {
    let at = instruction.extra as usize;
    let (caller, results) = (machine.local_base, at + 1 + 3 * machine.program.operands[at] as usize);
    if !machine.call(function, results as u32) {
        return machine.fail(FaultKind::Stack, Machine::first(machine.mask), 0, 0, false);
    }
    pass(machine, at, caller, machine.local_base);
    if machine.executed >= machine.turn_end { Flow::Stop } else { Flow::Next }
}

/// `call` of the function with the address `a`.
pub(crate) unsafe fn call_address(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    // SAFETY: `a` is a register of 64 bits.
    let addresses = unsafe { machine.slots::<[u64; 32]>(instruction.a).read() };
    let lane = Machine::first(machine.mask);
    let address = addresses[lane as usize];
    // Lanes that call another function follow in a separate fragment.
    let same = (0..32).filter(|lane| machine.mask >> lane & 1 == 1 && addresses[*lane as usize] == address);
    let same = same.fold(0_u32, |mask, lane| mask | 1 << lane);
    let others = machine.mask & !same;
    if others != 0 {
        machine.part(machine.pc - 1, others, Waiting::Nothing);
        machine.active &= !others;
        machine.mask = same;
    }
    machine.leave_rest();
    let number = address.checked_sub(FUNCTION_WINDOW).filter(|offset| offset % 16 == 0).map(|offset| offset / 16);
    let function =
        number.and_then(|number| Some((number, machine.program.functions.get(usize::try_from(number).ok()?)?)));
    // A function of another shape would have its parameters at other places.
    let shape = instruction.imm as u64;
    match function
        .filter(|(_, function)| !function.entry && function.start != function.end && function.shape() == shape)
    {
        Some((number, _)) => enter(machine, instruction, number as u32),
        None => machine.fail(FaultKind::InvalidProgramCounter, lane, address, 0, false),
    }
}

/// `ret` of a function.
pub(crate) unsafe fn finish(machine: &mut Machine<'_>, _: &Instruction) -> Flow {
    let frame = &machine.warp.frames[machine.frame as usize];
    let (results, parent, from) = (frame.results as usize, frame.parent, frame.local_base);
    let to = machine.warp.frames[parent as usize].local_base;
    pass(machine, results, from, to);
    if !machine.finish_call() || machine.executed >= machine.turn_end { Flow::Stop } else { Flow::Next }
}

/// `exit`, and `ret` of a kernel.
pub(crate) unsafe fn exit(machine: &mut Machine<'_>, _: &Instruction) -> Flow {
    machine.exit();
    if machine.active == 0 { Flow::Stop } else { Flow::Next }
}

/// `trap`.
pub(crate) unsafe fn trap(machine: &mut Machine<'_>, _: &Instruction) -> Flow {
    machine.fail(FaultKind::Trap, Machine::first(machine.mask), 0, 0, false)
}

/// `brkpt`.
pub(crate) unsafe fn breakpoint(machine: &mut Machine<'_>, _: &Instruction) -> Flow {
    machine.fail(FaultKind::IllegalInstruction, Machine::first(machine.mask), 0, 0, false)
}

/// The code of a proxy fence, times its spaces as bits.
pub(crate) const PROXY_FENCE: i64 = 1 << 8;

/// `membar` and `fence`: memory is written in program order, so they only order threads for race detection.
/// `imm` has the code of the fence, or 0 if the fence orders no accesses of threads and bulk copies.
pub(crate) unsafe fn fence(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    if instruction.imm != 0 && machine.recorder.ordering.is_some() {
        let fence = fence_of(instruction.imm);
        if !fence.initializations {
            machine.recorder.note_fence(strength_of(fence.scope), fence.releases, fence.acquires);
        }
    }
    machine.watch_fence(instruction.imm);
    Flow::Next
}

/// Encodes a fence as an immediate.
pub(crate) fn fence_code(fence: Fence) -> i64 {
    let bits = u8::from(fence.acquires)
        | u8::from(fence.releases) << 1
        | u8::from(fence.total) << 2
        | u8::from(fence.initializations) << 3
        | u8::from(fence.restricted) << 6;
    i64::from(bits) | i64::from(scope_code(fence.scope)) << 4
}

/// Decodes a fence.
pub(super) fn fence_of(code: i64) -> Fence {
    let scope = scope_of((code >> 4) as u32);
    let bit = |number: u32| code >> number & 1 != 0;
    Fence { acquires: bit(0), releases: bit(1), total: bit(2), initializations: bit(3), restricted: bit(6), scope }
}

/// Hints without an effect here.
pub(crate) unsafe fn nothing(_: &mut Machine<'_>, _: &Instruction) -> Flow {
    Flow::Next
}

/// `nanosleep` for `a` nanoseconds, or a wait of unknown length: ends the turn.
pub(crate) unsafe fn sleep(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    machine.executed += 100;
    if instruction.a != LEFT_OUT {
        // SAFETY: `a` is a register of 32 bits.
        let times = unsafe { machine.slots::<[u32; 32]>(instruction.a).read() };
        let longest = (0..32).filter(|lane| machine.mask >> lane & 1 == 1).map(|lane| times[lane]).max();
        // A thread sleeps for a millisecond at most.
        machine.warp.slept += machine.launch.cycles(longest.unwrap_or(0).min(1_000_000).into());
        machine.block.slept = machine.block.slept.max(machine.warp.slept);
    }
    if machine.executed >= machine.turn_end { Flow::Stop } else { Flow::Next }
}

/// The kind of a barrier, as stored in `imm`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BarrierKind {
    Sync,
    Arrive,
    /// Counts the threads whose predicate holds; `All` and `Any` test them.
    Count,
    All,
    Any,
}

const KINDS: [BarrierKind; 5] =
    [BarrierKind::Sync, BarrierKind::Arrive, BarrierKind::Count, BarrierKind::All, BarrierKind::Any];

/// A bit beside the kind: all lanes of the warp must execute the barrier.
pub(crate) const ALIGNED: i64 = 8;

/// `bar` and `barrier`: `imm` is the kind, with [`ALIGNED`], `a` the number, `b` the number of threads or left out, `c` the predicate and
/// `d` the target of a reduction.
pub(crate) unsafe fn barrier(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    let kind = KINDS[(instruction.imm & (ALIGNED - 1)) as usize];
    let lane = Machine::first(machine.mask);
    // SAFETY: `a` and `b` are registers of 32 bits, or `b` is left out.
    let (number, expected) = unsafe {
        let number = machine.slots::<u32>(instruction.a).add(lane as usize).read();
        let expected =
            (instruction.b != LEFT_OUT).then(|| machine.slots::<u32>(instruction.b).add(lane as usize).read());
        (number as usize, expected)
    };
    let partial = expected.filter(|expected| *expected == 0 || expected % 32 != 0);
    if number >= crate::races::order::BARRIERS || partial.is_some() {
        partial.iter().for_each(|count| machine.misuse_threads(MisuseKind::PartialCount, lane, (*count, 0), None));
        return machine.fail(FaultKind::IllegalInstruction, lane, 0, 0, false);
    }
    let result = matches!(kind, BarrierKind::Count | BarrierKind::All | BarrierKind::Any);
    if machine.resumed && result {
        machine.resumed = false;
        return reduced(machine, instruction, kind, number);
    }
    machine.leave_rest();
    if instruction.imm & ALIGNED != 0 {
        machine.align();
    }
    // SAFETY: `c` is a predicate where the barrier has a result.
    let held = if result { unsafe { machine.predicate(instruction.c) } } else { 0 };
    match (machine.arrive(number, expected, held, kind), kind) {
        (true, _) if result => reduced(machine, instruction, kind, number),
        (true, _) | (false, BarrierKind::Arrive) => Flow::Next,
        (false, _) => Flow::Stop,
    }
}

impl Machine<'_> {
    /// The lanes of the running instruction arrive at a barrier of the block, with a predicate in the lanes of `held`, where `expected` threads
    /// have to arrive, or all. Returns whether they were the last ones. Otherwise, they wait, except at one without waiting.
    #[inline(always)]
    pub(super) fn arrive(&mut self, number: usize, expected: Option<u32>, held: u32, kind: BarrierKind) -> bool {
        let result = matches!(kind, BarrierKind::Count | BarrierKind::All | BarrierKind::Any);
        self.check_arrival(number, expected, result);
        let warp = (self.warp.number, self.mask, self.warp.dead);
        let turn = self.block.barriers[number].turn;
        if expected.is_some() {
            // The barrier may be completed while other warps have not started.
            self.start_warps();
        }
        let last = self.block.arrive(number, expected, warp, held & self.mask, kind != BarrierKind::Arrive);
        if last {
            self.warp.slept = self.warp.slept.max(self.block.slept);
        } else if kind != BarrierKind::Arrive {
            // The instruction runs again for its result.
            self.pc -= u32::from(result);
            self.leave(Waiting::Barrier { number: number as u8, turn, result });
        }
        last
    }
}

fn reduced(machine: &mut Machine<'_>, instruction: &Instruction, kind: BarrierKind, number: usize) -> Flow {
    let (came, held) = machine.block.barriers[number].result;
    // SAFETY: `d` is a register of 32 bits for a count, else a predicate.
    unsafe {
        match kind {
            BarrierKind::Count => {
                let target = machine.slots::<u32>(instruction.d);
                (0..32).filter(|lane| machine.mask >> lane & 1 == 1).for_each(|lane| target.add(lane).write(held));
            }
            BarrierKind::All => machine.set_predicate(instruction.d, u32::from(held == came).wrapping_neg()),
            _ => machine.set_predicate(instruction.d, u32::from(held > 0).wrapping_neg()),
        }
    }
    Flow::Next
}

/// Waits for all threads of the grid.
pub(crate) unsafe fn grid_barrier(machine: &mut Machine<'_>, _: &Instruction) -> Flow {
    machine.leave_rest();
    machine.search.moved += 1;
    let turn = machine.grid.turn;
    if machine.grid.arrive(machine.mask.count_ones()) {
        return Flow::Next;
    }
    machine.leave(Waiting::Grid(turn));
    Flow::Stop
}
