//! The ways out of generated code, and the checks that take them.

use super::cache::{Emitted, X};
use super::emitter::{Emitter, Stub};
use super::flow::Set;
use super::linear_rows::LinearRegister;
use super::value::{Check, Kind, Steps};
use crate::grammar::types::Width;
use iced_x86::code_asm::*;
use std::sync::Arc;

/// A way out of generated code.
pub(super) struct Exit {
    /// The next instruction. `None` if the machine has it, as behind a step.
    pub pc: Option<u32>,
    /// The instructions that were executed and not counted.
    pub count: u32,
    /// Whether the fragment stops, as after an instruction that returns [`Flow::Stop`](crate::machine::Flow::Stop).
    pub stops: bool,
    /// The registers whose rows have to be written.
    pub linear: Vec<LinearRegister>,
    /// The block that expects just these linear registers, behind a step.
    pub resumes: Option<u32>,
    /// Where the lanes go on that wait for other blocks, if some may: for each place in [`Context::waiting`](super::context::Context::waiting).
    pub waits: Option<Arc<[u32]>>,
}

impl Emitter<'_> {
    /// Adds an exit. `live` are the registers that are live there, whose kinds are `kinds`.
    pub(super) fn exit(&mut self, pc: u32, count: u32, stops: bool, live: &Set, kinds: &[Kind]) -> u32 {
        let is_value = |register: &usize| self.known.flow.registers[*register].width != Width::Predicate;
        let linear = live.members().filter(is_value).filter_map(|register| match kinds[register] {
            Kind::Linear(steps) => Some(LinearRegister::new(self.known, register, steps)),
            Kind::Row => None,
        });
        let linear = linear.collect();
        self.exits.push(Exit { pc: Some(pc), count, stops, linear, resumes: None, waits: self.waits.clone() });
        self.exits.len() as u32 - 1
    }

    /// Adds an exit where the registers have their kinds.
    fn exit_now(&mut self, pc: u32, count: u32, stops: bool, live: &Set) -> u32 {
        // A copy for each exit takes long in a function with many registers.
        let kinds = std::mem::take(&mut self.kinds);
        let exit = self.exit(pc, count, stops, live, &kinds);
        self.kinds = kinds;
        exit
    }

    /// The label of code that leaves before an instruction of the block, or at its end.
    pub(super) fn leaving(&mut self, pc: u32, live: &Set) -> CodeLabel {
        let exit = self.exit_now(pc, pc - self.start, false, live);
        let at = self.asm.create_label();
        self.stubs.push(Stub::Leave { at, exit, cache: Box::new(self.cache), live: live.clone() });
        at
    }

    /// The label of code that leaves at the start of a block.
    pub(super) fn leaving_at(&mut self, index: usize, stops: bool) -> CodeLabel {
        let block = &self.known.flow.blocks[index];
        let (pc, live, kinds) = (block.start, block.live_in.clone(), std::mem::take(&mut self.expected[index]));
        let exit = self.exit(pc, 0, stops, &live, &kinds);
        self.expected[index] = kinds;
        let at = self.asm.create_label();
        self.stubs.push(Stub::Leave { at, exit, cache: Box::default(), live });
        at
    }

    /// The label of code that leaves in front of a block of a region, at the end of a turn. All values are in the frame, or linear.
    pub(super) fn leaving_region(&mut self, pc: u32, live: &Set) -> CodeLabel {
        let exit = self.exit_now(pc, 0, true, live);
        let at = self.asm.create_label();
        self.stubs.push(Stub::Leave { at, exit, cache: Box::default(), live: Set::default() });
        at
    }

    /// Leaves behind a call for an instruction that stops the fragment. The values of the `live` registers are in the frame, or linear.
    pub(super) fn failing(&mut self, pc: u32, live: &Set) -> CodeLabel {
        let exit = self.exit_now(pc + 1, pc + 1 - self.start, true, live);
        let at = self.asm.create_label();
        self.stubs.push(Stub::Leave { at, exit, cache: Box::default(), live: Set::default() });
        at
    }

    /// Leaves behind a step that has changed more than registers and memory, or that stops the fragment. All values are in the frame, or
    /// linear. `live` are the registers that are read from the instruction on, or behind it.
    pub(super) fn stepped(&mut self, live: &Set, next: usize) -> (CodeLabel, u32) {
        let exit = self.exit_now(0, 0, true, live);
        self.exit_now(0, 0, false, live);
        for exit in &mut self.exits[exit as usize..] {
            (exit.pc, exit.resumes) = (None, Some(next as u32));
        }
        let at = self.asm.create_label();
        self.stubs.push(Stub::Stepped { at, exit });
        (at, exit)
    }

    /// Leaves to the interpreter if the lanes of a value of 32 bits leave the range of its type.
    pub(super) fn check(&mut self, pc: u32, check: Check) -> Emitted {
        let (operand, steps, signed) = match check {
            Check::Nothing => return Ok(()),
            Check::Range(operand, steps, signed) => (operand, steps, signed),
            Check::Sign(operand, steps, wide) => return self.check_sign(pc, operand, steps, wide),
            Check::Within(operand, high, mask, wide) => {
                let live = self.live.clone();
                let base = self.repeated(operand, wide)?;
                let leaving = self.leaving(pc, &live);
                self.asm.vmovd(eax, X[base])?;
                self.asm.and(eax, mask)?;
                self.asm.add(eax, high)?;
                self.asm.cmp(eax, mask)?;
                self.asm.ja(leaving)?;
                self.cache.unlock();
                return Ok(());
            }
        };
        let low: i64 = steps.iter().map(|step| (*step).min(0)).sum();
        let high: i64 = steps.iter().map(|step| (*step).max(0)).sum();
        let live = self.live.clone();
        let base = self.repeated(operand, false)?;
        let leaving = self.leaving(pc, &live);
        let (Ok(low), Ok(high)) = (i32::try_from(low), i32::try_from(high)) else {
            return self.asm.jmp(leaving);
        };
        self.asm.vmovd(eax, X[base])?;
        for distance in [low, high].into_iter().filter(|distance| *distance != 0) {
            self.asm.mov(ecx, eax)?;
            match (signed, distance < 0) {
                (true, _) => {
                    self.asm.add(ecx, distance)?;
                    self.asm.jo(leaving)?;
                }
                (false, false) => {
                    self.asm.add(ecx, distance)?;
                    self.asm.jb(leaving)?;
                }
                (false, true) => {
                    self.asm.sub(ecx, distance.wrapping_neg())?;
                    self.asm.jb(leaving)?;
                }
            }
        }
        self.cache.unlock();
        Ok(())
    }

    /// Leaves to the interpreter if the lanes of a value differ in their signs. The lanes reach over less than half of the range.
    fn check_sign(&mut self, pc: u32, operand: u32, steps: Steps, wide: bool) -> Emitted {
        let low: i64 = steps.iter().map(|step| (*step).min(0)).sum();
        let high: i64 = steps.iter().map(|step| (*step).max(0)).sum();
        let live = self.live.clone();
        let base = self.repeated(operand, wide)?;
        let leaving = self.leaving(pc, &live);
        self.asm.vmovq(rax, X[base])?;
        self.asm.lea(rcx, qword_ptr(rax + high as i32))?;
        self.asm.lea(rdx, qword_ptr(rax + low as i32))?;
        if wide {
            self.asm.xor(rcx, rdx)?
        } else {
            self.asm.xor(ecx, edx)?
        }
        self.asm.js(leaving)?;
        self.cache.unlock();
        Ok(())
    }
}
