//! Jumps that skip a few blocks in some lanes of a warp.
//!
//! The interpreter lets the lanes that do not jump execute the blocks, and the others wait behind them, where all meet again. So does the
//! code here, without a second fragment: it leaves the lanes that jump out, also those that jump from one of the blocks to their end. Each register
//! that the blocks write is in its row, where these lanes keep their values. The blocks only end otherwise by a fault, after which nothing asks for the other
//! fragment.

use super::cache::Emitted;
use super::context::{LANES, LEFT_OUT_LANES, LEFT_OUT_WIDE_LANES, MASKED};
use super::emitter::{ACTIVE, EXECUTED, Emitter, Stub};
use super::flow::Block;
use super::hulls::Hulls;
use super::value::Kind;
use crate::grammar::types::Width;
use crate::machine::Machine;
use crate::machine::program::Instruction;
use crate::machine::template::Template;
use iced_x86::code_asm::*;
use std::mem::offset_of;

const MASK: i32 = offset_of!(Machine<'static>, mask) as i32;
const WRITE: i32 = offset_of!(Machine<'static>, write) as i32;
pub(super) const COUNTED_LANES: i32 = offset_of!(Machine<'static>, lanes) as i32;

/// The most instructions that a jump skips. More take long anyway.
const LONGEST: u32 = 64;

/// The blocks from one up to a target that some lanes skip.
pub(super) struct Masked {
    at: CodeLabel,
    /// The jump, and the start of its block.
    pc: u32,
    start: u32,
    block: usize,
    target: usize,
    kinds: Vec<Kind>,
}

impl Emitter<'_> {
    /// The label of code for lanes that diverge at the jump `pc` to `target`, which others do not take. `None` if the interpreter has to
    /// execute the jump. The lanes that jump are in `eax` there.
    pub(super) fn diverging(&mut self, pc: u32, target: usize, other: usize) -> Option<CodeLabel> {
        let (flow, program) = (self.known.flow, self.known.program);
        let blocks = flow.blocks.get(other..target).filter(|blocks| !blocks.is_empty())?;
        let end = flow.blocks[target].start;
        let plain = |block: &Block| {
            let last = (block.end - 1) as usize;
            let skips = match program.patterns[last].template {
                Some(Template::Branch) => false,
                Some(Template::BranchIf) => program.code[last].imm == i64::from(end) && block.end < end,
                _ => true,
            };
            skips && !block.foreign && !block.steps
        };
        let follow = blocks.iter().map(|block| block.end).eq(blocks[1..].iter().map(|block| block.start).chain([end]));
        let short = blocks[0].start == pc + 1 && end - blocks[0].start <= LONGEST;
        let journals = !self.known.recorded || self.known.journal;
        if !(follow && short && journals && self.known.whole && blocks.iter().all(plain)) {
            return None;
        }
        let at = self.asm.create_label();
        let (start, kinds) = (self.start, self.kinds.clone());
        self.stubs.push(Stub::Masked(Box::new(Masked { at, pc, start, block: other, target, kinds })));
        Some(at)
    }

    /// Executes blocks in the lanes that do not skip them.
    pub(super) fn masked(&mut self, masked: Masked) -> Emitted {
        let Masked { at, pc, start, block: first, target, kinds } = masked;
        let (flow, program) = (self.known.flow, self.known.program);
        let blocks = &flow.blocks[first..target];
        self.set(at)?;
        self.asm.mov(dword_ptr(r12 + MASKED), eax)?;
        self.cache.clear();
        self.kinds = kinds;
        (self.live, self.live_behind) = (blocks[0].live_in.clone(), blocks[0].live_in.clone());
        for pc in blocks[0].start..flow.blocks[target].start {
            for register in program.operands_of.written(pc as usize) {
                let Some(number) = flow.register(register.place()) else { continue };
                if self.kinds[number] != Kind::Row && register.width() != Width::Predicate {
                    if flow.blocks[target].live_in.has(number) {
                        self.write_row(register.place(), register.width() == Width::W64)?;
                    } else {
                        continue;
                    }
                }
                self.kinds[number] = Kind::Row;
            }
        }
        self.leave_lanes_out()?;
        self.asm.add(qword_ptr(rbx + EXECUTED), (pc + 1 - start) as i32)?;
        (self.known.whole, self.skips_to) = (false, Some(flow.blocks[target].start));
        let behind = self.asm.create_label();
        for block in blocks {
            let last = block.end - 1;
            let jumps = program.patterns[last as usize].template == Some(Template::BranchIf);
            self.start = block.start;
            self.hulls = Hulls::of(program, block);
            let live = flow.live(program, block);
            for pc in block.start..if jumps { last } else { block.end } {
                let at = (pc - block.start) as usize;
                self.live.clone_from(&live[at]);
                self.live_behind.clone_from(&live[at + 1]);
                self.instruction(pc)?;
                self.cache.unlock();
            }
            self.flush(&block.live_out)?;
            // The parts that are held have no values in the other lanes.
            self.cache.clear();
            self.count_masked((block.end - block.start) as i32)?;
            if jumps {
                self.skip_rest(last, behind)?;
            }
        }
        self.set(behind)?;
        (self.known.whole, self.skips_to) = (true, None);
        self.asm.mov(dword_ptr(r12 + MASKED), 0)?;
        for place in [ACTIVE, MASK, WRITE] {
            self.asm.mov(dword_ptr(rbx + place), -1)?;
        }
        self.prepare(target)?;
        self.enter(target)
    }

    /// Counts the instructions of a block in the lanes that execute it.
    fn count_masked(&mut self, count: i32) -> Emitted {
        self.asm.add(qword_ptr(rbx + EXECUTED), count)?;
        self.asm.mov(eax, dword_ptr(r12 + MASKED))?;
        self.asm.popcnt(eax, eax)?;
        self.asm.imul_3(eax, eax, count)?;
        self.asm.sub(qword_ptr(rbx + COUNTED_LANES), rax)
    }

    /// Leaves the lanes out that jump at `pc` to the end of the blocks, which is `behind`. Goes there if all lanes do that take part.
    fn skip_rest(&mut self, pc: u32, behind: CodeLabel) -> Emitted {
        let Instruction { a, b, .. } = self.known.program.code[pc as usize];
        let on = self.asm.create_label();
        self.asm.mov(eax, Self::predicate(a))?;
        if b == 1 {
            self.asm.not(eax)?;
        }
        self.asm.and(eax, dword_ptr(rbx + ACTIVE))?;
        self.asm.je(on)?;
        self.asm.cmp(eax, dword_ptr(rbx + ACTIVE))?;
        self.asm.je(behind)?;
        self.asm.or(dword_ptr(r12 + MASKED), eax)?;
        self.leave_lanes_out()?;
        self.set(on)
    }

    /// Lets the lanes of [`MASKED`] not take part. All other lanes do.
    fn leave_lanes_out(&mut self) -> Emitted {
        self.asm.mov(eax, dword_ptr(r12 + MASKED))?;
        self.asm.vmovd(xmm15, eax)?;
        self.asm.vpbroadcastd(ymm15, xmm15)?;
        for (wide, parts, place) in [(false, 4, LEFT_OUT_LANES), (true, 8, LEFT_OUT_WIDE_LANES)] {
            for part in 0..parts {
                let lane = |word: usize| if wide { 4 * part + word / 2 } else { 8 * part + word };
                let bits = self.pooled(std::array::from_fn(|word| 1 << lane(word)));
                self.asm.vpand(ymm14, ymm15, ymmword_ptr(bits))?;
                self.asm.vpcmpeqd(ymm14, ymm14, ymmword_ptr(bits))?;
                self.asm.vmovdqu(ymmword_ptr(r12 + (place + 32 * part as i32)), ymm14)?;
            }
        }
        // The masks are those of no fragment.
        self.asm.mov(qword_ptr(r12 + LANES), -1)?;
        self.asm.not(eax)?;
        for place in [ACTIVE, MASK, WRITE] {
            self.asm.mov(dword_ptr(rbx + place), eax)?;
        }
        Ok(())
    }
}
