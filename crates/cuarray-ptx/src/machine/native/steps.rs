//! Instructions that are not in runs, such as barriers: their functions execute them, and code continues behind them.

use super::cache::Emitted;
use super::calls;
use super::compiled::Compiled;
use super::context::{Context, FRAME, RESUME, SCALARS, Site};
use super::emitter::{EXECUTED, Emitter};
use super::flow::Set;
use super::run::Deferred;
use super::value::Kind;
use super::written::forget_shared;
use crate::grammar::types::Width;
use crate::machine::Machine;
use crate::machine::warp::{Fragment, Warp};
use iced_x86::code_asm::*;

impl Emitter<'_> {
    /// Executes the instruction of a block as the interpreter does.
    pub(super) fn step(&mut self, index: usize) -> Emitted {
        let (pc, program, flow) = (self.start, self.known.program, self.known.flow);
        let written = program.operands_of.written(pc as usize);
        // The lanes that do not take part keep their values.
        for register in written {
            let is_linear = self.known.kind(&self.kinds, register.place()) != Kind::Row;
            if is_linear && register.width() != Width::Predicate {
                self.write_row(register.place(), register.width() == Width::W64)?;
            }
        }
        self.write_read_rows(pc)?;
        self.cache.clear();
        self.asm.add(qword_ptr(rbx + EXECUTED), 1)?;
        let instruction = &program.code[pc as usize];
        let passes = self.passes() && calls::is_plain_barrier(instruction);
        let mut live = self.live.clone();
        live.join(&self.live_behind);
        let numbers = written.iter().filter_map(|register| flow.register(register.place()));
        let live = live.without(numbers);
        if passes {
            let (leaving, exit) = self.stepped(&live, index + 1);
            let on = self.asm.create_label();
            self.take_turns(pc, on, exit)?;
            self.asm.mov(rdx, r12)?;
            self.asm.mov(ecx, exit)?;
            self.emit_call(pc, calls::arrive as *const () as u64)?;
            self.asm.test(eax, eax)?;
            self.asm.je(on)?;
            self.go_on_if_passed(leaving)?;
            self.set(on)?;
            self.prepare(index + 1)?;
            return self.enter(index + 1);
        }
        let inline = self.shared_atomic(pc)?;
        let on = self.asm.create_label();
        match inline {
            Some((missed, site)) => {
                self.asm.jmp(on)?;
                self.set(missed)?;
                self.asm.mov(edx, site)?;
                self.asm.mov(rcx, r13)?;
                self.emit_call(pc, calls::step_atomic as *const () as u64)?;
            }
            None => self.emit_call(pc, calls::step as *const () as u64)?,
        }
        for register in written {
            self.set_kind(register.place(), Kind::Row);
        }
        let (leaving, _) = self.stepped(&live, index + 1);
        self.asm.test(eax, eax)?;
        self.asm.jne(leaving)?;
        if inline.is_some() {
            self.set(on)?;
        }
        self.prepare(index + 1)?;
        self.enter(index + 1)
    }

    /// Continues with another warp if the turn has passed to it. Otherwise, leaves.
    fn go_on_if_passed(&mut self, leaving: CodeLabel) -> Emitted {
        self.asm.cmp(eax, calls::PASSED as i32)?;
        self.asm.jne(leaving)?;
        self.asm.mov(r15, qword_ptr(r12 + FRAME))?;
        self.asm.mov(rbp, qword_ptr(r12 + SCALARS))?;
        self.asm.jmp(qword_ptr(r12 + RESUME))
    }

    /// Ends a warp, and continues with the next one.
    pub(super) fn end_of_warp(&mut self, index: usize) -> Emitted {
        self.asm.add(qword_ptr(rbx + EXECUTED), 1)?;
        self.follow()?;
        let (leaving, _) = self.stepped(&Set::default(), index);
        self.asm.mov(rdx, r12)?;
        self.emit_call(self.start, calls::end as *const () as u64)?;
        self.go_on_if_passed(leaving)
    }
}

impl Machine<'_> {
    /// Begins the next warp of the block in place of the running one, all of whose threads exit, if the running code is that of the kernel.
    #[inline]
    pub(super) fn replace_by_next(&mut self, context: &mut Context) -> bool {
        // SAFETY: the running code is kept as long as the program.
        let compiled = unsafe { &*context.compiled };
        let block = self.block.number;
        // The warp may have read no special registers so far, or those of a function that it has called.
        let known = self.warp.known == Some(self.launch.kernel);
        if !compiled.starts() || !self.replace_ended() {
            return false;
        }
        let same = self.block.number == block;
        if !same {
            self.describe_block(context);
            // SAFETY: the sites are those of the running code, which accesses them when this function has returned.
            unsafe { forget_shared(compiled, context.sites as *mut Site) };
        }
        self.enter_kernel(compiled, context, same && known);
        true
    }

    /// Lets the code go on at the start of the kernel, in a warp that has just started. `known` tells whether the warp has the special registers
    /// of the block.
    #[inline]
    fn enter_kernel(&mut self, compiled: &Compiled, context: &mut Context, known: bool) {
        let entry = &compiled.entries[0];
        if entry.specials {
            self.read_specials(compiled, known);
            self.warp.known = Some(self.launch.kernel);
        }
        context.resume = compiled.memory.at(entry.offset) as u64;
        self.go_on(context);
        self.find_following(compiled, context);
    }

    /// Describes the running warp for the code, which goes on in it.
    #[inline]
    fn go_on(&mut self, context: &mut Context) {
        (self.mask, self.write) = (self.active, self.active | self.warp.dead);
        (context.frame, context.number) = (self.bases[0] as u64, self.frame);
        context.scalars = self.warp.scalars.as_mut_ptr() as u64;
        (context.stable, context.limit) = (1, self.limit);
    }

    /// Lets the next warp run on behind the barrier at which it waited, if its values are as the running code expects them there. `exit` is
    /// the way out at which the running warp would leave, if it waits. Otherwise, it has ended.
    #[inline]
    pub(super) fn pass_to_next(&mut self, context: &mut Context, exit: Option<u32>) -> bool {
        if self.active != 0 || self.fault.is_some() || self.panic.is_some() {
            return false;
        }
        let Some(turn) = self.next_turn() else { return false };
        // SAFETY: the exits are those of the running code, which is kept as long as the program.
        let compiled = unsafe { &*context.compiled };
        let exit = exit.map(|exit| &compiled.exits[exit as usize]);
        let (mut block, of_kernel) = (0, self.warp.frames[self.frame as usize].parent == u32::MAX);
        let waits_there = |warp: &Warp, fragment: &Fragment| {
            let Some(Deferred { exit, frame }) = warp.deferred.as_ref() else { return false };
            if !warp.plain || fragment.mask != u32::MAX || *frame != fragment.frame {
                return false;
            }
            let Some(resumes) = compiled.resumes(*exit) else { return false };
            block = resumes;
            true
        };
        self.warp.deferred = exit.map(|exit| Deferred { exit: exit.into(), frame: context.number });
        if self.pass_on(&turn, waits_there) {
            self.warp.deferred = None;
            context.resume = compiled.memory.at(compiled.entries[block as usize].offset) as u64;
            self.go_on(context);
            return true;
        }
        if of_kernel && compiled.starts() && self.start_next(&turn) {
            compiled.fit(&mut self.warp.scalars);
            self.enter_kernel(compiled, context, false);
            return true;
        }
        self.warp.deferred = None;
        false
    }
}
