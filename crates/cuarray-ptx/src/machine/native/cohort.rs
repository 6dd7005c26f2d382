//! Warps of a block that take turns at a barrier without leaving generated code.
//!
//! All warps of a block often meet at one barrier again and again, and nothing else happens there. The code passes the turn on by itself then: to
//! the next warp in the order of turns, or to none if the warp is the last that arrives. So it needs a jump in place of a call. The turns are
//! those of [`Machine::pass_on`]. The waiting fragments and the state of the barrier come to their places when the cohort ends: before anything but
//! code and the functions of instructions in runs.

use super::cache::Emitted;
use super::calls;
use super::context::{Context, NUMBER, offsets};
use super::emitter::{EXECUTED, Emitter};
use super::leaving::Exit;
use super::run::Deferred;
use crate::machine::Machine;
use crate::machine::program::{LEFT_OUT, UNGUARDED};
use crate::machine::warp::{Fragment, Waiting};
use iced_x86::code_asm::*;

/// A warp of a cohort. All but the running one wait at the barrier.
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct Member {
    /// The code at which the warp goes on.
    resume: u64,
    /// The member whose turn is next.
    next: u64,
    /// The place of the warp in the list of the block's warps.
    slot: u64,
    registers: u64,
    scalars: u64,
    frame: u32,
    local_base: u32,
    /// The exit at which the warp would have left the code, and the instruction behind the barrier.
    exit: u32,
    pc: u32,
}

/// The warps of a block that take turns at a barrier. Generated code reads and writes all of it.
#[derive(Default)]
#[repr(C)]
pub(crate) struct Cohort {
    /// The number of the barrier, plus one. Zero if there is no cohort.
    barrier: u32,
    count: u32,
    /// The members that wait for the barrier to be completed, and how often it was completed.
    arrived: u32,
    completed: u32,
    /// The running member.
    running: u64,
    members: [Member; 32],
    /// The cohorts that have ended early, or were not possible, without a longer one since then, and the completions of barriers since then.
    vain: u32,
    put_off: u32,
    /// How often the barrier had been completed when the cohort began.
    before: u32,
    /// The address of the exits of the running code.
    exits: u64,
}

/// The cohorts that may end early, and the completions of a barrier without which one does. Then few of the completions are tried.
const MOST_VAIN: u32 = 8;
const EARLY: u32 = 2;
const SELDOM: u32 = 16;

impl Cohort {
    #[inline(always)]
    pub(super) fn is_on(&self) -> bool {
        self.barrier != 0
    }

    fn place(&self, member: u64) -> usize {
        (member as usize).wrapping_sub(self.members.as_ptr() as usize) / size_of::<Member>()
    }
}

impl Machine<'_> {
    /// Lets all warps of the block take turns at a barrier that the running warp has just completed. All others have to wait there, each with all
    /// its lanes, and have to go on in the running code.
    #[inline]
    pub(super) fn begin_cohort(&mut self, context: &mut Context, number: usize) {
        if self.cohort.vain >= MOST_VAIN {
            self.cohort.put_off += 1;
            if !self.cohort.put_off.is_multiple_of(SELDOM) {
                return;
            }
        }
        if !self.form_cohort(context, number) {
            self.cohort.vain = self.cohort.vain.saturating_add(1);
        }
    }

    fn form_cohort(&mut self, context: &mut Context, number: usize) -> bool {
        let (count, index) = (self.block.warps.len(), self.round.index);
        let whole = self.block.live as usize == count * 32 && self.active == u32::MAX && self.limit == u32::MAX;
        let usual = whole && self.block.slept == 0 && !self.turns.is_random() && !self.round.ended;
        if !usual || count < 2 || self.warp.poll.armed {
            return false;
        }
        // SAFETY: the running code is kept as long as the program.
        let compiled = unsafe { &*context.compiled };
        let turn = self.block.barriers[number].turn;
        for place in 0..count {
            let to = self.turns.warp(place, 0, count);
            let slot = &raw mut self.block.warps[to] as u64;
            let next = &raw const self.cohort.members[(place + 1) % count] as u64;
            let (warp, frame, resume) = if to == index {
                (&mut self.warp, context.number, 0)
            } else {
                let warp = &mut self.block.warps[to];
                let [Fragment { mask: u32::MAX, frame, waiting, .. }] = *warp.fragments.as_slice() else {
                    return false;
                };
                let Some(Deferred { exit, frame: of }) = warp.deferred.as_ref() else { return false };
                let Some(block) = compiled.resumes(*exit).filter(|_| *of == frame) else { return false };
                let waits = matches!(waiting, Waiting::Barrier { number: at, turn: passed, result: false }
                    if usize::from(at) == number && passed.wrapping_add(1) == turn);
                if !waits || !warp.plain || warp.poll.armed || !warp.apart.is_empty() {
                    return false;
                }
                (warp, frame, compiled.memory.at(compiled.entries[block as usize].offset) as u64)
            };
            let of = &mut warp.frames[frame as usize];
            let (registers, local_base) = (of.registers.as_mut_ptr() as u64, of.local_base);
            let (mut exit, mut pc) = (0, 0);
            if let (Some(deferred), [fragment]) = (warp.deferred.as_ref(), warp.fragments.as_slice()) {
                exit = compiled.number(deferred.exit) as u32;
                pc = fragment.pc;
            }
            let scalars = warp.scalars.as_mut_ptr() as u64;
            self.cohort.members[place] = Member { resume, next, slot, registers, scalars, frame, local_base, exit, pc };
            if to == index {
                self.cohort.running = &raw const self.cohort.members[place] as u64;
            }
        }
        for (_, warp) in self.block.warps.iter_mut().enumerate().filter(|(at, _)| *at != index) {
            warp.fragments.clear();
            warp.deferred = None;
        }
        self.cohort.exits = compiled.exits.as_ptr() as u64;
        (self.cohort.barrier, self.cohort.count, self.cohort.before) = (number as u32 + 1, count as u32, turn);
        (self.cohort.arrived, self.cohort.completed) = (0, 0);
        (self.resumed, self.forced, self.rotated) = (false, false, false);
        (context.stable, context.limit) = (1, self.limit);
        true
    }

    /// Ends the cohort, if there is one: the waiting warps, the barrier and the round of turns become what they would be without it.
    #[inline(always)]
    pub(super) fn end_cohort(&mut self) {
        if self.cohort.is_on() {
            self.disband();
        }
    }

    fn disband(&mut self) {
        let Cohort { count, arrived, completed, running, before, .. } = self.cohort;
        let (number, turn, count) = (self.cohort.barrier as usize - 1, before.wrapping_add(completed), count as usize);
        self.cohort.barrier = 0;
        self.cohort.vain = if completed < EARLY { self.cohort.vain.saturating_add(1) } else { 0 };
        let at = self.cohort.place(running);
        let barrier = &mut self.block.barriers[number];
        if completed > 0 {
            (barrier.turn, barrier.result) = (turn, (count as u32 * 32, 0));
        }
        barrier.arrived_lanes.resize(count.max(barrier.arrived_lanes.len()), 0);
        for distance in 1..count {
            let member = &self.cohort.members[(at + distance) % count];
            let to = self.turns.warp((at + distance) % count, 0, count);
            // The members in front of the running one have arrived since the barrier was completed.
            let has_arrived = count - distance <= arrived as usize;
            let waiting = Waiting::Barrier {
                number: number as u8,
                turn: turn.wrapping_sub(u32::from(!has_arrived)),
                result: false,
            };
            let (pc, mask, frame, ran) = (member.pc, u32::MAX, member.frame, self.executed);
            let warp = &mut self.block.warps[to];
            warp.fragments.push(Fragment { pc, mask, frame, waiting, ran });
            let exits = self.cohort.exits as *const Exit;
            // SAFETY: the exit is one of the running code.
            let exit = unsafe { &*exits.add(member.exit as usize) };
            warp.deferred = Some(Deferred { exit: exit.into(), frame });
            if has_arrived {
                barrier.arrived_lanes[to] = u32::MAX;
            }
            if count - distance == arrived as usize {
                let thread = warp.number * 32;
                barrier.first = crate::machine::block::Arrival { pc: pc - 1, thread, result: false };
            }
        }
        barrier.arrived = arrived * 32;
        if arrived > 0 || completed > 0 {
            self.round.done = false;
        }
        (self.round.index, self.round.place) = (self.turns.warp(at, 0, count), at + 1);
        self.shapes.forget();
    }

    /// Records that the running member of the cohort arrives at the barrier, in a launch that is watched. The last one completes it.
    pub(super) fn watch_arrival(&mut self) {
        let number = self.cohort.barrier as usize - 1;
        let warp = (self.warp.number, self.warp.dead);
        if let Some(watched) = self.block.watched.as_mut() {
            watched.arrive(number, warp.0, u32::MAX, true);
        }
        if self.cohort.arrived + 1 == self.cohort.count {
            self.block.completed(number, true, warp);
        }
    }
}

offsets! {
    Machine<'static>:
    BARRIER = cohort.barrier;
    COUNT = cohort.count;
    ARRIVED = cohort.arrived;
    COMPLETED = cohort.completed;
    RUNNING = cohort.running;
    WARP = warp;
    BASES = bases;
    FRAME_NUMBER = frame;
    LOCAL_BASE = local_base;
    CHANGES = block.changes;
    ROUND_BEFORE = round.before;
    ROUND_CHANGES = round.changes;
    ROUND_WAITS = round.waits;
}

offsets! {
    Member:
    MEMBER_RESUME = resume;
    MEMBER_NEXT = next;
    MEMBER_SLOT = slot;
    MEMBER_REGISTERS = registers;
    MEMBER_SCALARS = scalars;
    MEMBER_FRAME = frame;
    MEMBER_LOCAL_BASE = local_base;
    MEMBER_EXIT = exit;
    MEMBER_PC = pc;
}

impl Emitter<'_> {
    /// Emits the turns of a cohort at a barrier: the code goes on at `behind`, in the next warp, or in this one if it is the last that arrives.
    /// Goes on here if there is no cohort, or something else is due. A warp that waits could leave the code by `exit`.
    pub(super) fn take_turns(&mut self, pc: u32, behind: CodeLabel, exit: u32) -> Emitted {
        let barrier = &self.known.program.code[pc as usize];
        // The number is a constant.
        if barrier.a >> 31 == 0 || barrier.b != LEFT_OUT || barrier.guard != UNGUARDED {
            return Ok(());
        }
        let [other, last] = [self.asm.create_label(), self.asm.create_label()];
        self.asm.mov(ecx, dword_ptr(r14 + (barrier.a & 0x7fff_ffff) as i32))?;
        self.asm.inc(ecx)?;
        self.asm.cmp(ecx, dword_ptr(rbx + BARRIER))?;
        self.asm.jne(other)?;
        self.check_turn(other)?;
        if self.known.journal {
            self.emit_call(pc, calls::watch_arrival as *const () as u64)?;
            self.asm.test(eax, eax)?;
            self.asm.jne(other)?;
        }
        self.asm.mov(ecx, dword_ptr(rbx + ARRIVED))?;
        self.asm.inc(ecx)?;
        self.asm.cmp(ecx, dword_ptr(rbx + COUNT))?;
        self.asm.je(last)?;
        self.asm.mov(dword_ptr(rbx + ARRIVED), ecx)?;
        let (running, next) = (rdx, rsi);
        self.asm.mov(running, qword_ptr(rbx + RUNNING))?;
        self.asm.lea(rax, qword_ptr(behind))?;
        self.asm.mov(qword_ptr(running + MEMBER_RESUME), rax)?;
        self.asm.mov(dword_ptr(running + MEMBER_EXIT), exit)?;
        self.asm.mov(dword_ptr(running + MEMBER_PC), pc + 1)?;
        self.asm.mov(next, qword_ptr(running + MEMBER_NEXT))?;
        self.asm.mov(qword_ptr(rbx + RUNNING), next)?;
        // In the list, another warp stands for the running one.
        self.asm.mov(rdi, qword_ptr(running + MEMBER_SLOT))?;
        self.asm.mov(r8, qword_ptr(rbx + WARP))?;
        self.asm.mov(r9, qword_ptr(rdi))?;
        self.asm.mov(qword_ptr(rdi), r8)?;
        self.asm.mov(rdi, qword_ptr(next + MEMBER_SLOT))?;
        self.asm.mov(r8, qword_ptr(rdi))?;
        self.asm.mov(qword_ptr(rdi), r9)?;
        self.asm.mov(qword_ptr(rbx + WARP), r8)?;
        self.asm.mov(r15, qword_ptr(next + MEMBER_REGISTERS))?;
        self.asm.mov(qword_ptr(rbx + BASES), r15)?;
        self.asm.mov(rbp, qword_ptr(next + MEMBER_SCALARS))?;
        self.asm.mov(eax, dword_ptr(next + MEMBER_FRAME))?;
        self.asm.mov(dword_ptr(rbx + FRAME_NUMBER), eax)?;
        self.asm.mov(dword_ptr(r12 + NUMBER), eax)?;
        self.asm.mov(eax, dword_ptr(next + MEMBER_LOCAL_BASE))?;
        self.asm.mov(dword_ptr(rbx + LOCAL_BASE), eax)?;
        self.asm.mov(rax, qword_ptr(rbx + EXECUTED))?;
        self.take_time()?;
        // The first member begins a new round.
        let same_round = self.asm.create_label();
        self.asm.cmp(next, running)?;
        self.asm.ja(same_round)?;
        self.asm.mov(qword_ptr(rbx + ROUND_BEFORE), rax)?;
        self.asm.mov(rax, qword_ptr(rbx + CHANGES))?;
        self.asm.mov(qword_ptr(rbx + ROUND_CHANGES), rax)?;
        self.asm.mov(byte_ptr(rbx + ROUND_WAITS), 1)?;
        self.set(same_round)?;
        self.asm.jmp(qword_ptr(next + MEMBER_RESUME))?;
        self.set(last)?;
        self.asm.mov(dword_ptr(rbx + ARRIVED), 0)?;
        self.asm.inc(dword_ptr(rbx + COMPLETED))?;
        self.asm.jmp(behind)?;
        self.set(other)
    }
}
