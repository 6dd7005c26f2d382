//! Jumps that lanes of a warp take apart from each other.
//!
//! The interpreter runs the lanes that are earliest in the code, up to the first ones that wait behind them, and lanes that meet go on together.
//! The code does so too, without a second fragment, for blocks whose jumps all go forwards, up to the first block that all lanes reach. Each
//! block is executed by the lanes that wait for it, and adds them to those that wait for its targets. Each register that the blocks write is in
//! its row, where the other lanes keep their values.

use super::cache::Emitted;
use super::context::{LANES, LEFT_OUT_LANES, LEFT_OUT_WIDE_LANES, WAITING, WAITING_LANES};
use super::emitter::{ACTIVE, EXECUTED, Emitter, Stub};
use super::flow::{Block, Set};
use super::hulls::Hulls;
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

/// The most instructions of such blocks. More take long anyway.
const LONGEST: u32 = 64;

/// The blocks from a jump up to the one that all lanes reach.
pub(super) struct Region {
    at: CodeLabel,
    /// The jump, and the start of its block.
    pc: u32,
    start: u32,
    /// The blocks behind the jump, its target, and the block that all lanes reach.
    blocks: Range<usize>,
    target: usize,
    kinds: Vec<Kind>,
}

impl Emitter<'_> {
    /// The label of code for lanes that diverge at the jump `pc` to `target`, which others do not take. `None` if the interpreter has to
    /// execute the jump. The lanes that jump are in `eax` there.
    pub(super) fn diverging(&mut self, pc: u32, target: usize, other: usize) -> Option<CodeLabel> {
        let flow = self.known.flow;
        let journals = !self.known.recorded || self.known.journal;
        if target <= other || !journals || !self.known.whole || flow.blocks[other].start != pc + 1 {
            return None;
        }
        let (mut end, mut index) = (target, other);
        while index < end {
            let block = flow.blocks.get(index)?;
            let follows = flow.blocks.get(index + 1).is_some_and(|next| next.start == block.end);
            let short = block.end - (pc + 1) <= LONGEST && end - other < WAITING;
            if block.foreign || block.steps || !follows || !short {
                return None;
            }
            for next in &block.next {
                if *next <= index {
                    return None;
                }
                end = end.max(*next);
            }
            index += 1;
        }
        let at = self.asm.create_label();
        let (start, kinds) = (self.start, self.kinds.clone());
        self.stubs.push(Stub::Region(Box::new(Region { at, pc, start, blocks: other..end, target, kinds })));
        Some(at)
    }

    /// Executes blocks in the lanes that reach them.
    pub(super) fn region(&mut self, region: Region) -> Emitted {
        let Region { at, pc, start, blocks: Range { start: first, end }, target, kinds } = region;
        let (flow, program) = (self.known.flow, self.known.program);
        let slot = |block: usize| dword_ptr(r12 + (WAITING_LANES + 4 * (block - first) as i32));
        self.set(at)?;
        self.asm.mov(slot(target), eax)?;
        self.asm.not(eax)?;
        self.cache.clear();
        self.kinds = kinds;
        // The lanes that do not execute a block wait for a later one, or have left them all.
        let mut kept = flow.blocks[end].live_in.clone();
        for block in &flow.blocks[first + 1..end] {
            kept.join(&block.live_in);
        }
        (self.live, self.live_behind) = (kept.clone(), kept.clone());
        self.live.join(&flow.blocks[first].live_in);
        for pc in flow.blocks[first].start..flow.blocks[end].start {
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
        self.take_part()?;
        self.asm.add(qword_ptr(rbx + EXECUTED), (pc + 1 - start) as i32)?;
        self.known.whole = false;
        self.waits = Some(flow.blocks[first..=end].iter().map(|block| block.start).collect());
        for index in first..end {
            let block = &flow.blocks[index];
            let behind = self.asm.create_label();
            if index > first {
                self.asm.mov(eax, slot(index))?;
                self.asm.test(eax, eax)?;
                self.asm.je(behind)?;
                self.asm.mov(slot(index), 0)?;
                self.take_part()?;
            }
            self.region_block(block, &kept)?;
            let last = block.end as usize - 1;
            let falls = |emitter: &mut Self| emitter.asm.or(slot(index + 1), eax);
            self.asm.mov(eax, dword_ptr(rbx + ACTIVE))?;
            match program.patterns[last].template {
                Some(Template::Branch) => self.asm.or(slot(block.next[0]), eax)?,
                Some(Template::BranchIf) => {
                    let Instruction { a, b, imm, .. } = program.code[last];
                    let target = flow.starting.get(&(imm as u32)).copied().unwrap_or(end);
                    self.asm.mov(ecx, Self::predicate(a))?;
                    if b == 1 {
                        self.asm.not(ecx)?;
                    }
                    self.asm.and(ecx, eax)?;
                    self.asm.or(slot(target), ecx)?;
                    self.asm.xor(eax, ecx)?;
                    falls(self)?;
                }
                _ => falls(self)?,
            }
            self.set(behind)?;
        }
        (self.known.whole, self.waits) = (true, None);
        self.asm.mov(slot(end), 0)?;
        for place in [ACTIVE, MASK, WRITE] {
            self.asm.mov(dword_ptr(rbx + place), -1)?;
        }
        self.prepare(end)?;
        self.enter(end)
    }

    /// Executes a block but its jump in the lanes that take part. The others have values in the `kept` registers.
    fn region_block(&mut self, block: &Block, kept: &Set) -> Emitted {
        let (flow, program) = (self.known.flow, self.known.program);
        let last = block.end - 1;
        let jumps = matches!(program.patterns[last as usize].template, Some(Template::Branch | Template::BranchIf));
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
        let count = (block.end - block.start) as i32;
        self.asm.add(qword_ptr(rbx + EXECUTED), count)?;
        self.asm.mov(eax, dword_ptr(rbx + ACTIVE))?;
        self.asm.not(eax)?;
        self.asm.popcnt(eax, eax)?;
        self.asm.imul_3(eax, eax, count)?;
        self.asm.sub(qword_ptr(rbx + COUNTED_LANES), rax)
    }

    /// Lets the lanes in `eax` take part, and no others.
    fn take_part(&mut self) -> Emitted {
        for place in [ACTIVE, MASK, WRITE] {
            self.asm.mov(dword_ptr(rbx + place), eax)?;
        }
        self.asm.not(eax)?;
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
        self.asm.mov(qword_ptr(r12 + LANES), -1)
    }
}
