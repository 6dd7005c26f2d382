//! Jumps that skip a few blocks in some lanes of a warp.
//!
//! The interpreter lets the lanes that do not jump execute the blocks, and the others wait behind them, where all meet again. If the blocks end
//! with a jump forwards, the others execute those in between, and all meet at its target. So does the code here, without a second fragment: it leaves
//! lanes out, also those that jump from one of the blocks to the place where all meet. Each register that the blocks write is in its row, where
//! these lanes keep their values.

use super::cache::Emitted;
use super::context::{LANES, LEFT_OUT_LANES, LEFT_OUT_WIDE_LANES, MASKED, OTHERS};
use super::emitter::{ACTIVE, EXECUTED, Emitter, Stub};
use super::flow::{Block, Set};
use super::hulls::Hulls;
use super::leaving::Skips;
use super::value::Kind;
use crate::grammar::types::Width;
use crate::machine::Machine;
use crate::machine::program::Instruction;
use crate::machine::template::Template;
use iced_x86::code_asm::*;
use std::mem::offset_of;
use std::ops::Range;

const MASK: i32 = offset_of!(Machine<'static>, mask) as i32;
const WRITE: i32 = offset_of!(Machine<'static>, write) as i32;
pub(super) const COUNTED_LANES: i32 = offset_of!(Machine<'static>, lanes) as i32;

/// The most instructions that a jump skips. More take long anyway.
const LONGEST: u32 = 64;

/// The blocks from one up to a target, which some lanes skip, and those up to an end, which only these lanes execute.
pub(super) struct Masked {
    at: CodeLabel,
    /// The jump, and the start of its block.
    pc: u32,
    start: u32,
    block: usize,
    target: usize,
    end: usize,
    kinds: Vec<Kind>,
}

impl Emitter<'_> {
    /// The label of code for lanes that diverge at the jump `pc` to `target`, which others do not take. `None` if the interpreter has to
    /// execute the jump. The lanes that jump are in `eax` there.
    pub(super) fn diverging(&mut self, pc: u32, target: usize, other: usize) -> Option<CodeLabel> {
        let (flow, program) = (self.known.flow, self.known.program);
        let last = flow.blocks.get(other..target)?.last()?;
        let jump = program.code[last.end as usize - 1].imm as u32;
        let joins = program.patterns[last.end as usize - 1].template == Some(Template::Branch);
        let index = if joins { flow.starting.get(&jump).copied().filter(|end| *end > target)? } else { target };
        let (blocks, end) = (flow.blocks.get(other..index)?, flow.blocks[index].start);
        let plain = |block: &Block| {
            let last = (block.end - 1) as usize;
            let stays = match program.patterns[last].template {
                Some(Template::Branch) => joins && block.end == flow.blocks[target].start,
                Some(Template::BranchIf) => program.code[last].imm == i64::from(end) && block.end < end,
                _ => true,
            };
            stays && !block.foreign && !block.steps
        };
        let follow = blocks.iter().map(|block| block.end).eq(blocks[1..].iter().map(|block| block.start).chain([end]));
        let short = blocks[0].start == pc + 1 && end - blocks[0].start <= LONGEST;
        let journals = !self.known.recorded || self.known.journal;
        if !(follow && short && journals && self.known.whole && blocks.iter().all(plain)) {
            return None;
        }
        let at = self.asm.create_label();
        let (start, kinds) = (self.start, self.kinds.clone());
        self.stubs.push(Stub::Masked(Box::new(Masked { at, pc, start, block: other, target, end: index, kinds })));
        Some(at)
    }

    /// Executes blocks in the lanes that do not skip them, and those for the others.
    pub(super) fn masked(&mut self, masked: Masked) -> Emitted {
        let Masked { at, pc, start, block: first, target, end, kinds } = masked;
        let (flow, program) = (self.known.flow, self.known.program);
        let (joined, others) = (&flow.blocks[end], flow.blocks[target..end].first());
        self.set(at)?;
        self.asm.mov(dword_ptr(r12 + MASKED), eax)?;
        self.asm.mov(dword_ptr(r12 + OTHERS), eax)?;
        self.cache.clear();
        self.kinds = kinds;
        let mut kept = joined.live_in.clone();
        if let Some(block) = others {
            kept.join(&block.live_in);
        }
        (self.live, self.live_behind) = (kept.clone(), kept.clone());
        self.live.join(&flow.blocks[first].live_in);
        for pc in flow.blocks[first].start..joined.start {
            for register in program.operands_of.written(pc as usize) {
                let Some(number) = flow.register(register.place()) else { continue };
                if self.kinds[number] != Kind::Row && register.width() != Width::Predicate {
                    if kept.has(number) {
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
        self.known.whole = false;
        self.masked_blocks(first..target, Skips { to: joined.start, others: others.map(|block| block.start) }, &kept)?;
        if others.is_some() {
            self.asm.mov(eax, dword_ptr(r12 + OTHERS))?;
            self.asm.not(eax)?;
            self.asm.mov(dword_ptr(r12 + MASKED), eax)?;
            self.leave_lanes_out()?;
            self.masked_blocks(target..end, Skips { to: joined.start, others: None }, &joined.live_in)?;
        }
        (self.known.whole, self.skips) = (true, None);
        self.asm.mov(dword_ptr(r12 + MASKED), 0)?;
        for place in [ACTIVE, MASK, WRITE] {
            self.asm.mov(dword_ptr(rbx + place), -1)?;
        }
        self.prepare(end)?;
        self.enter(end)
    }

    /// Executes blocks in the lanes that take part. The others, and those that leave the blocks early, have values in the `kept` registers.
    fn masked_blocks(&mut self, blocks: Range<usize>, skips: Skips, kept: &Set) -> Emitted {
        let (flow, program) = (self.known.flow, self.known.program);
        self.skips = Some(skips);
        let behind = self.asm.create_label();
        for block in &flow.blocks[blocks] {
            let last = block.end - 1;
            let jump = program.patterns[last as usize].template;
            let jumps = matches!(jump, Some(Template::Branch | Template::BranchIf));
            self.start = block.start;
            self.hulls = Hulls::of(program, block);
            let live = flow.live(program, block);
            for pc in block.start..if jumps { last } else { block.end } {
                let at = (pc - block.start) as usize;
                self.live.clone_from(&live[at]);
                self.live.join(kept);
                self.live_behind.clone_from(&live[at + 1]);
                self.live_behind.join(kept);
                self.instruction(pc)?;
                self.cache.unlock();
            }
            self.flush(&block.live_out)?;
            // The parts that are held have no values in the other lanes.
            self.cache.clear();
            self.count_masked((block.end - block.start) as i32)?;
            if jump == Some(Template::BranchIf) {
                self.skip_rest(last, behind)?;
            }
        }
        self.set(behind)
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
