//! Jumps that lanes of a warp take apart from each other.
//!
//! The interpreter runs the lanes that are earliest in the code, up to the first ones that wait behind them, and lanes that meet go on together.
//! The code does so too, without a second fragment, for the blocks of a *region*: those that lanes may execute between the jump and the first
//! block that all of them reach. The lanes that wait for a block execute it, and then wait for its targets. Each register that the blocks write
//! is in its row, where the other lanes keep their values.

use super::cache::Emitted;
use super::context::{LANES, LEFT_OUT_LANES, LEFT_OUT_WIDE_LANES, RUNNING, WAITING, WAITING_LANES, WAITING_SINCE};
use super::emitter::{ACTIVE, EXECUTED, Emitter, Stub, TURN_END};
use super::flow::{Block, Flow, Register, Set};
use super::hulls::Hulls;
use super::value::Kind;
use crate::grammar::types::Width;
use crate::machine::Machine;
use crate::machine::program::Instruction;
use crate::machine::template::Template;
use crate::machine::warp::TURN;
use iced_x86::code_asm::*;
use std::mem::offset_of;

const MASK: i32 = offset_of!(Machine<'static>, mask) as i32;
const WRITE: i32 = offset_of!(Machine<'static>, write) as i32;
const ROTATED: i32 = offset_of!(Machine<'static>, rotated) as i32;
const WARP_END: i32 = offset_of!(Machine<'static>, warp_end) as i32;
pub(super) const COUNTED_LANES: i32 = offset_of!(Machine<'static>, lanes) as i32;

/// The most instructions of a region. More take long anyway.
const LONGEST: u32 = 128;

/// The blocks that lanes may execute between a jump and the block that all of them reach, which is the end.
#[derive(Clone, PartialEq)]
struct Blocks {
    first: usize,
    end: usize,
}

/// A jump that some lanes take to `target`, and the others not.
pub(super) struct Divergence {
    at: CodeLabel,
    before: CodeLabel,
    /// The jump, and the start of its block.
    pc: u32,
    start: u32,
    target: usize,
    other: usize,
    blocks: Blocks,
    kinds: Vec<Kind>,
}

/// The code of a region, for registers of some kinds in front of it.
pub(super) struct Region {
    /// The places of the blocks, and of the end.
    heads: Vec<CodeLabel>,
    blocks: Blocks,
    kinds: Vec<Kind>,
    /// The registers that have values in front of some of its blocks, or behind it.
    kept: Set,
}

impl Blocks {
    /// The region of a jump to one of two blocks. `None` if it is long, or has instructions that are not in a run.
    fn between(flow: &Flow, [one, other]: [usize; 2]) -> Option<Blocks> {
        let mut region = Blocks { first: one.min(other), end: one.max(other) };
        loop {
            let before = region.clone();
            let blocks = flow.blocks.get(before.first..before.end)?;
            let instructions: u32 = blocks.iter().map(|block| block.end - block.start).sum();
            let runs = blocks.iter().all(|block| !block.foreign && !block.steps);
            if !runs || instructions > LONGEST || blocks.len() >= WAITING {
                return None;
            }
            for next in blocks.iter().flat_map(|block| &block.next) {
                region = Blocks { first: region.first.min(*next), end: region.end.max(*next) };
            }
            if region == before {
                return flow.blocks.get(region.end).is_some().then_some(region);
            }
        }
    }

    /// The lanes that wait for a block.
    fn waiting(&self, block: usize) -> AsmMemoryOperand {
        dword_ptr(r12 + (WAITING_LANES + 4 * (block - self.first) as i32))
    }
}

impl Emitter<'_> {
    /// The label of code for lanes that diverge at the jump `pc` to `target`, which others do not take. `None` if the interpreter has to
    /// execute the jump, to which `before` leaves. The lanes that jump are in `eax` there.
    pub(super) fn diverging(&mut self, pc: u32, target: usize, other: usize, before: CodeLabel) -> Option<CodeLabel> {
        let journals = !self.known.recorded || self.known.journal;
        if !journals || !self.known.whole || target == other {
            return None;
        }
        let blocks = Blocks::between(self.known.flow, [target, other])?;
        let at = self.asm.create_label();
        let (start, kinds) = (self.start, self.kinds.clone());
        self.divergences.push(Divergence { at, before, pc, start, target, other, blocks, kinds });
        Some(at)
    }

    /// The kinds of registers in front of a region, once those that it writes are in their rows.
    fn kinds_in(&self, blocks: &Blocks, kinds: &[Kind]) -> Vec<Kind> {
        let (mut kinds, flow) = (kinds.to_vec(), self.known.flow);
        for pc in flow.blocks[blocks.first].start..flow.blocks[blocks.end].start {
            let written = self.known.program.operands_of.written(pc as usize);
            let numbers = written.iter().filter_map(|register| flow.register(register.place()));
            numbers.for_each(|number| kinds[number] = Kind::Row);
        }
        kinds
    }

    /// The number of a region with the code for some blocks, if registers have these kinds in front of it. Several jumps to one place share a
    /// region.
    fn region_of(&mut self, blocks: &Blocks, kinds: &[Kind]) -> usize {
        let fits = |region: &Region| {
            let around = region.blocks.end == blocks.end && region.blocks.first <= blocks.first;
            around && {
                let kinds = self.kinds_in(&region.blocks, kinds);
                region.kept.members().all(|register| region.kinds[register] == kinds[register])
            }
        };
        if let Some(number) = self.regions.iter().position(fits) {
            return number;
        }
        // The lanes that do not execute a block wait for another one, or have left them all.
        let flow = self.known.flow;
        let mut kept = flow.blocks[blocks.end].live_in.clone();
        for block in &flow.blocks[blocks.first..blocks.end] {
            kept.join(&block.live_in);
        }
        let heads = (blocks.first..=blocks.end).map(|_| self.asm.create_label()).collect();
        let kinds = self.kinds_in(blocks, kinds);
        self.regions.push(Region { heads, blocks: blocks.clone(), kinds, kept });
        let number = self.regions.len() - 1;
        self.stubs.push(Stub::Region(number));
        number
    }

    /// Lets the lanes of a jump wait for its two blocks, and goes to the region.
    pub(super) fn divergence(&mut self, divergence: Divergence) -> Emitted {
        let Divergence { at, before, pc, start, target, other, blocks: own, kinds } = divergence;
        let number = self.region_of(&own, &kinds);
        let Region { ref heads, ref blocks, kinds: ref behind, ref kept } = self.regions[number];
        let (head, blocks) = (heads[own.first - blocks.first], blocks.clone());
        let (behind, kept) = (behind.clone(), kept.clone());
        self.set(at)?;
        // Until it chooses lanes again, the interpreter does not go back to those that are further behind.
        self.asm.cmp(byte_ptr(rbx + ROTATED), 0)?;
        self.asm.jne(before)?;
        let count = (pc + 1 - start) as i32;
        if target < other {
            // The turn may end behind a jump backwards.
            self.asm.mov(rdx, qword_ptr(rbx + EXECUTED))?;
            self.asm.add(rdx, count)?;
            self.asm.cmp(rdx, qword_ptr(rbx + TURN_END))?;
            self.asm.jae(before)?;
        }
        self.asm.add(qword_ptr(rbx + EXECUTED), count)?;
        self.wait(&blocks, target, eax)?;
        self.asm.not(eax)?;
        self.wait(&blocks, other, eax)?;
        self.asm.mov(dword_ptr(r12 + RUNNING), target.min(other) as i32)?;
        self.cache.clear();
        (self.live, self.live_behind) = (kept.clone(), kept.clone());
        self.kinds = kinds;
        let linear = |register: &usize| behind[*register] != self.kinds[*register];
        for register in kept.members().filter(linear).collect::<Vec<_>>() {
            let Register { place, width } = self.known.flow.registers[register];
            if width != Width::Predicate {
                self.write_row(place, width == Width::W64)?;
            }
        }
        self.asm.jmp(head)
    }

    /// Executes the blocks of a region in the lanes that wait for them.
    pub(super) fn region(&mut self, number: usize) -> Emitted {
        let Region { ref heads, ref blocks, ref kinds, ref kept } = self.regions[number];
        let (heads, blocks, kept) = (heads.clone(), blocks.clone(), kept.clone());
        let Blocks { first, end } = blocks;
        self.kinds.clone_from(kinds);
        self.cache.clear();
        let flow = self.known.flow;
        self.known.whole = false;
        self.waits = Some(flow.blocks[first..=end].iter().map(|block| block.start).collect());
        for index in first..end {
            let block = &flow.blocks[index];
            self.set(heads[index - first])?;
            self.asm.mov(eax, blocks.waiting(index))?;
            self.asm.test(eax, eax)?;
            self.asm.je(heads[index + 1 - first])?;
            self.asm.mov(blocks.waiting(index), 0)?;
            self.take_part()?;
            self.begin_turn(index)?;
            self.region_block(block, &kept)?;
            self.leave_block(index, &blocks, &heads, &kept)?;
        }
        self.set(heads[end - first])?;
        (self.known.whole, self.waits) = (true, None);
        self.asm.mov(blocks.waiting(end), 0)?;
        for place in [ACTIVE, MASK, WRITE] {
            self.asm.mov(dword_ptr(rbx + place), -1)?;
        }
        self.cache.clear();
        self.prepare(end)?;
        self.enter(end)
    }

    /// Lets the lanes in a register wait for a block, if there are any.
    fn wait(&mut self, blocks: &Blocks, block: usize, lanes: AsmRegister32) -> Emitted {
        let others = self.asm.create_label();
        self.asm.cmp(blocks.waiting(block), 0)?;
        self.asm.jne(others)?;
        self.asm.mov(rdx, qword_ptr(rbx + EXECUTED))?;
        self.asm.mov(qword_ptr(r12 + (WAITING_SINCE + 8 * (block - blocks.first) as i32)), rdx)?;
        self.set(others)?;
        self.asm.or(blocks.waiting(block), lanes)
    }

    /// Begins a turn if other lanes than those that have run before execute a block: the interpreter does so too.
    fn begin_turn(&mut self, block: usize) -> Emitted {
        let on = self.asm.create_label();
        self.asm.cmp(dword_ptr(r12 + RUNNING), block as i32)?;
        self.asm.je(on)?;
        self.asm.mov(rax, qword_ptr(rbx + EXECUTED))?;
        self.asm.add(rax, TURN as i32)?;
        self.asm.mov(rcx, qword_ptr(rbx + WARP_END))?;
        self.asm.cmp(rax, rcx)?;
        self.asm.cmova(rax, rcx)?;
        self.asm.mov(qword_ptr(rbx + TURN_END), rax)?;
        self.set(on)
    }

    /// Lets the lanes that have executed a block wait for the next ones.
    fn leave_block(&mut self, index: usize, blocks: &Blocks, heads: &[CodeLabel], kept: &Set) -> Emitted {
        let (flow, program) = (self.known.flow, self.known.program);
        let last = flow.blocks[index].end as usize - 1;
        let Instruction { a, b, imm, .. } = program.code[last];
        self.asm.mov(eax, dword_ptr(rbx + ACTIVE))?;
        let target = flow.starting.get(&(imm as u32)).copied().unwrap_or(blocks.end);
        let target = match program.patterns[last].template {
            Some(Template::Branch) => {
                self.asm.mov(ecx, eax)?;
                target
            }
            Some(Template::BranchIf) => {
                self.asm.mov(ecx, Self::predicate(a))?;
                if b == 1 {
                    self.asm.not(ecx)?;
                }
                self.asm.and(ecx, eax)?;
                target
            }
            _ => {
                self.wait(blocks, index + 1, eax)?;
                return self.asm.mov(dword_ptr(r12 + RUNNING), index as i32 + 1);
            }
        };
        // The lanes that jump, and those that go on.
        self.wait(blocks, target, ecx)?;
        self.asm.xor(eax, ecx)?;
        self.wait(blocks, index + 1, eax)?;
        // The lanes that are further behind run first.
        let back = target <= index;
        let (early, late) = if back { (target, index + 1) } else { (index + 1, target) };
        self.asm.mov(edx, late as i32)?;
        self.asm.mov(esi, early as i32)?;
        if back {
            self.asm.test(ecx, ecx)?
        } else {
            self.asm.test(eax, eax)?
        }
        self.asm.cmovne(edx, esi)?;
        self.asm.mov(dword_ptr(r12 + RUNNING), edx)?;
        if !back {
            return Ok(());
        }
        self.asm.je(heads[index + 1 - blocks.first])?;
        self.asm.mov(rax, qword_ptr(rbx + EXECUTED))?;
        self.asm.cmp(rax, qword_ptr(rbx + TURN_END))?;
        self.asm.jb(heads[target - blocks.first])?;
        // The turn of these lanes ends.
        for place in [ACTIVE, MASK, WRITE] {
            self.asm.mov(dword_ptr(rbx + place), ecx)?;
        }
        self.asm.mov(blocks.waiting(target), 0)?;
        let leaving = self.leaving_region(flow.blocks[target].start, kept);
        self.asm.jmp(leaving)
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
