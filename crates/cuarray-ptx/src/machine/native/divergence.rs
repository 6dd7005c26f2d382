//! Jumps that skip one block in some lanes of a warp.
//!
//! The interpreter lets the lanes that do not jump execute the block, and the others wait behind it, where all meet again. So does the
//! code here, without a second fragment: it leaves the lanes that jump out. Each register that the block writes is in its row, where these
//! lanes keep their values. The block only ends otherwise by a fault, after which nothing asks for the other fragment.

use super::cache::Emitted;
use super::context::{LANES, LEFT_OUT_LANES, LEFT_OUT_WIDE_LANES, MASKED};
use super::emitter::{ACTIVE, EXECUTED, Emitter, Stub};
use super::hulls::Hulls;
use super::value::Kind;
use crate::grammar::types::Width;
use crate::machine::Machine;
use crate::machine::template::Template;
use iced_x86::code_asm::*;
use std::mem::offset_of;

const MASK: i32 = offset_of!(Machine<'static>, mask) as i32;
const WRITE: i32 = offset_of!(Machine<'static>, write) as i32;
pub(super) const COUNTED_LANES: i32 = offset_of!(Machine<'static>, lanes) as i32;

/// The most instructions of a block that a jump skips. A longer one takes long anyway.
const LONGEST: u32 = 64;

/// A block that some lanes skip.
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
        let (block, behind) = (flow.blocks.get(other)?, &flow.blocks[target]);
        let jumps =
            |pc: u32| matches!(program.patterns[pc as usize].template, Some(Template::Branch | Template::BranchIf));
        let skips = block.start == pc + 1 && block.end == behind.start && block.end - block.start <= LONGEST;
        let plain = !block.foreign && !block.steps && !jumps(block.end - 1);
        if !skips || !plain || !self.known.whole || self.known.recorded && !self.known.journal {
            return None;
        }
        let at = self.asm.create_label();
        let (start, kinds) = (self.start, self.kinds.clone());
        self.stubs.push(Stub::Masked(Box::new(Masked { at, pc, start, block: other, target, kinds })));
        Some(at)
    }

    /// Executes a block in the lanes that do not skip it.
    pub(super) fn masked(&mut self, masked: Masked) -> Emitted {
        let Masked { at, pc, start, block: index, target, kinds } = masked;
        let (flow, program) = (self.known.flow, self.known.program);
        let block = &flow.blocks[index];
        self.set(at)?;
        self.asm.mov(dword_ptr(r12 + MASKED), eax)?;
        self.cache.clear();
        self.kinds = kinds;
        let live = flow.live(program, block);
        (self.live, self.live_behind) = (block.live_in.clone(), block.live_in.clone());
        for pc in block.start..block.end {
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
        (self.start, self.known.whole, self.skips_to) = (block.start, false, Some(flow.blocks[target].start));
        self.hulls = Hulls::of(program, block);
        for pc in block.start..block.end {
            let at = (pc - block.start) as usize;
            self.live.clone_from(&live[at]);
            self.live_behind.clone_from(&live[at + 1]);
            self.instruction(pc)?;
            self.cache.unlock();
        }
        self.flush(&block.live_out)?;
        (self.known.whole, self.skips_to) = (true, None);
        // The parts that are held have no values in the other lanes.
        self.cache.clear();
        let count = (block.end - block.start) as i32;
        self.asm.add(qword_ptr(rbx + EXECUTED), count)?;
        self.asm.mov(eax, dword_ptr(r12 + MASKED))?;
        self.asm.popcnt(eax, eax)?;
        self.asm.imul_3(eax, eax, count)?;
        self.asm.sub(qword_ptr(rbx + COUNTED_LANES), rax)?;
        self.asm.mov(dword_ptr(r12 + MASKED), 0)?;
        for place in [ACTIVE, MASK, WRITE] {
            self.asm.mov(dword_ptr(rbx + place), -1)?;
        }
        self.prepare(target)?;
        self.enter(target)
    }

    /// Lets the lanes in `eax` not take part. All other lanes do.
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
