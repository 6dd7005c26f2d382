//! Warps of a block that begin where another one has ended, within generated code.
//!
//! The warps of a block mostly run one after the other, each from the start of the kernel to its end. Only the registers of a warp's place in
//! its block differ, so the code puts those of the next warp in place, and begins again. The number of threads that have ended, and whatever else
//! others look at, is brought up to date before any function of the machine runs.

use super::access::{JOURNAL_LAST, JOURNAL_NEXT};
use super::cache::Emitted;
use super::compiled::Compiled;
use super::context::{Context, DUE, LONGEST, LONGEST_TURN, offsets};
use super::emitter::{EXECUTED, Emitter, TURN_END};
use super::journal::{Entry, NEXT_WARP};
use crate::machine::Machine;
use crate::machine::special::{REGISTERS, Read};
use iced_x86::code_asm::*;
use std::mem::offset_of;

/// The warps that may begin within generated code, and those that have ended there. Generated code reads and writes all of it.
#[derive(Default)]
#[repr(C)]
pub(crate) struct Following {
    /// The warps behind the running one that have not started, and whose lanes all have threads.
    left: u32,
    /// The warps that have ended, and for which [`Machine::catch_up`] has not been called.
    ended: u32,
    /// The address of the special registers of the next warp.
    row: u64,
}

/// The most bytes of registers that the code clears.
const MOST_CLEARED: u32 = 256;

/// The places of a function's special registers that differ between the warps of a block.
fn varying(specials: &[i64]) -> impl Iterator<Item = usize> {
    let varies = |number: &i64| matches!(REGISTERS[*number as usize].1, Read::Thread(_) | Read::Warp(_));
    specials.iter().enumerate().filter(move |(_, number)| varies(number)).map(|(index, _)| index)
}

impl Machine<'_> {
    /// The special registers that differ between the warps of a block, for each warp.
    pub(super) fn special_rows(&mut self, compiled: &Compiled) -> Vec<u64> {
        let own = self.warp.number;
        let mut rows = Vec::new();
        for number in 0..self.launch.block_threads() / 32 {
            self.warp.number = number;
            rows.extend(varying(&compiled.specials).map(|index| self.special(compiled.specials[index])));
        }
        self.warp.number = own;
        rows
    }

    /// Finds the warps that may begin within the code behind the running one.
    #[inline]
    pub(super) fn find_following(&mut self, compiled: &Compiled, context: &Context) {
        self.following.left = 0;
        let next = self.round.index + 1;
        let unstarted = self.block.unstarted.checked_shr(next as u32).unwrap_or(0);
        let alone = self.active == u32::MAX && self.warp.fragments.is_empty() && !self.has_clusters();
        if unstarted & 1 == 0 || !alone || !compiled.follows || !compiled.starts() || !self.turns.is_forward() {
            return;
        }
        let of_kernel = self.warp.frames[self.frame as usize].parent == u32::MAX;
        if !of_kernel || self.block.has_barriers() || !self.races.early.is_empty() || self.round.place != next {
            return;
        }
        let full = self.launch.block_threads() / 32;
        self.following.left = unstarted.trailing_ones().min(full.saturating_sub(next as u32));
        let row = next * varying(&compiled.specials).count();
        self.following.row = context.rows.wrapping_add(8 * row as u64);
    }

    /// Ends the warps that have ended within the code, and begins the one that it has begun last.
    #[inline(always)]
    pub(super) fn catch_up(&mut self) {
        if self.following.ended > 0 {
            self.end_followed();
        }
    }

    /// Ends the turns that code takes by itself, before anything but the function of an instruction in a run.
    #[inline(always)]
    pub(super) fn end_turns(&mut self) {
        self.end_cohort();
        self.catch_up();
        self.following.left = 0;
    }

    fn end_followed(&mut self) {
        let ended = std::mem::take(&mut self.following.ended);
        let (first, function) = (self.warp.number, &self.program.functions[self.launch.kernel as usize]);
        let number = first + ended;
        // The journal has the accesses of all these warps.
        self.settle_journal();
        if let Some(watched) = self.block.watched.as_mut() {
            (first..number).for_each(|warp| watched.exit(warp, u32::MAX));
        }
        let threads = ended * 32;
        self.block.live -= threads;
        self.grid.threads_ended(threads);
        self.clusters[self.block.cluster].barrier.threads_ended(threads);
        self.block.unstarted &= u32::MAX.checked_shl(number + 1).unwrap_or(0);
        (self.round.waits, self.round.index, self.round.place) = (false, number as usize, number as usize + 1);
        self.warp.begin(number, 32, function);
        self.warp.known = Some(self.launch.kernel);
        (self.polls.live, self.polls.ended, self.resumed, self.forced) = (false, false, false, false);
        self.shapes.forget();
    }
}

offsets! {
    Machine<'static>:
    LEFT = following.left;
    ENDED = following.ended;
    ROW = following.row;
    WARP_END = warp_end;
    POLLS_LIVE = polls.live;
    POLLS_ENDED = polls.ended;
}

impl Emitter<'_> {
    /// Whether code can begin a warp at the start of the function.
    pub(super) fn follows(&self) -> bool {
        let function = self.known.function;
        let cleared: u32 = function.cleared.iter().map(|(_, bytes)| bytes).sum();
        self.passes() && function.entry && function.local == 0 && cleared <= MOST_CLEARED
    }

    /// Jumps to `other` if a turn that begins now would not be the next one, and puts the executed instructions into `rax`.
    pub(super) fn check_turn(&mut self, other: CodeLabel) -> Emitted {
        self.asm.mov(rax, qword_ptr(rbx + EXECUTED))?;
        self.asm.cmp(rax, qword_ptr(rbx + WARP_END))?;
        self.asm.jae(other)?;
        self.asm.cmp(rax, qword_ptr(r12 + DUE))?;
        self.asm.jae(other)?;
        for polls in [POLLS_LIVE, POLLS_ENDED] {
            self.asm.cmp(byte_ptr(rbx + polls), 0)?;
            self.asm.jne(other)?;
        }
        Ok(())
    }

    /// Begins a turn, with the executed instructions in `rax`.
    pub(super) fn take_time(&mut self) -> Emitted {
        for (end, length) in [(WARP_END, LONGEST), (TURN_END, LONGEST_TURN)] {
            self.asm.mov(rcx, rax)?;
            self.asm.add(rcx, qword_ptr(r12 + length))?;
            self.asm.mov(qword_ptr(rbx + end), rcx)?;
        }
        Ok(())
    }

    /// Begins the next warp in place of the running one, which ends. Goes on here if another way is due.
    pub(super) fn follow(&mut self) -> Emitted {
        if !self.follows() {
            return Ok(());
        }
        let other = self.asm.create_label();
        self.asm.cmp(dword_ptr(rbx + LEFT), 0)?;
        self.asm.je(other)?;
        self.check_turn(other)?;
        if self.known.journal {
            self.asm.mov(rcx, qword_ptr(rbx + JOURNAL_NEXT))?;
            self.asm.cmp(rcx, qword_ptr(rbx + JOURNAL_LAST))?;
            self.asm.ja(other)?;
            self.asm.mov(dword_ptr(rcx + offset_of!(Entry, access) as i32), NEXT_WARP as i32)?;
            self.asm.add(rcx, size_of::<Entry>() as i32)?;
            self.asm.mov(qword_ptr(rbx + JOURNAL_NEXT), rcx)?;
        }
        self.asm.dec(dword_ptr(rbx + LEFT))?;
        self.asm.inc(dword_ptr(rbx + ENDED))?;
        self.take_time()?;
        let flow = self.known.flow;
        let places: Vec<usize> = varying(&flow.specials).collect();
        if !places.is_empty() {
            self.asm.mov(rdx, qword_ptr(rbx + ROW))?;
            for (at, place) in places.iter().enumerate() {
                self.asm.mov(rax, qword_ptr(rdx + 8 * at as i32))?;
                self.asm.mov(qword_ptr(rbp + 8 * (flow.registers.len() + place) as i32), rax)?;
            }
            self.asm.add(qword_ptr(rbx + ROW), 8 * places.len() as i32)?;
        }
        for (place, bytes) in &self.known.function.cleared {
            for word in (*place..place + bytes).step_by(4) {
                self.asm.mov(dword_ptr(r15 + word as i32), 0)?;
            }
        }
        let first = self.blocks[0];
        self.asm.jmp(first)?;
        self.set(other)
    }
}
