//! The emitter: blocks, jumps, and the ways out of generated code.
//!
//! A function of the code is entered at a block, and returns the number of an [`Exit`]. It calls functions of the machine only through
//! [`calls::call`], which does not unwind, so no frame of generated code is ever unwound, and there is no unwind information for it.
//!
//! Registers: `rbx` is the machine, `rbp` the scalars, `r12` the context, `r13` the sites, `r14` the constants, `r15` the frame.

use super::cache::{Cache, Emitted, HOLDING, Y};
use super::calls;
use super::context::{CONSTANTS, FRAME, LIMIT, SAVED, SCALARS, SITES, STABLE};
use super::flow::{Register, Set, guard};
use super::hulls::Hulls;
use super::journal::Journaled;
use super::leaving::Exit;
use super::value::{Computed, Kind, Known};
use super::written::Pattern;
use crate::grammar::types::Width;
use crate::machine::Machine;
use crate::machine::program::Instruction;
use crate::machine::template::Template;
use iced_x86::code_asm::*;
use rustc_hash::FxHashMap;
use std::mem::offset_of;
use std::sync::Arc;

pub(super) const ACTIVE: i32 = offset_of!(Machine<'static>, active) as i32;
const PC: i32 = offset_of!(Machine<'static>, pc) as i32;
const MACHINE_LIMIT: i32 = offset_of!(Machine<'static>, limit) as i32;
pub(super) const EXECUTED: i32 = offset_of!(Machine<'static>, executed) as i32;
pub(super) const TURN_END: i32 = offset_of!(Machine<'static>, turn_end) as i32;

/// Code that is rarely executed, behind the rest.
pub(super) enum Stub {
    /// Leaves by an exit, with the values of the cache.
    Leave { at: CodeLabel, exit: u32, cache: Box<Cache>, live: Set },
    /// Leaves by the exit of a step, or by the one behind it, as the step has told.
    Stepped { at: CodeLabel, exit: u32 },
    /// The region with a number.
    Region(usize),
    /// Executes an access by its function.
    Access(Box<super::access::Missed>),
    /// Empties the journal.
    Full { at: CodeLabel, back: CodeLabel },
}

pub(super) struct Emitter<'p> {
    pub asm: CodeAssembler,
    pub known: Known<'p>,
    /// The instructions that calls execute.
    pub plain: &'p [Instruction],
    /// The kinds of the registers at the start of each block, and now.
    pub expected: Vec<Vec<Kind>>,
    pub kinds: Vec<Kind>,
    pub cache: Cache,
    /// Whether results may have other NaNs than the one of the GPU; see [`Held::noisy`](super::cache::Held::noisy).
    pub noise: bool,
    /// The place of the guard of the emitted instruction, and whether it is negated.
    pub guard: Option<(u32, bool)>,
    /// Where some lanes of the warp wait that do not execute the emitted block, although `known` is about code for all.
    pub waits: Option<Arc<[u32]>>,
    /// The accesses of the block that are checked together; see `access`.
    pub hulls: Hulls,
    /// The registers that are live before the emitted instruction, and behind it.
    pub live: Set,
    pub live_behind: Set,
    pub exits: Vec<Exit>,
    pub stubs: Vec<Stub>,
    /// The jumps that lanes take apart from each other, in the order of the code, and their regions.
    pub divergences: Vec<super::divergence::Divergence>,
    pub regions: Vec<super::divergence::Region>,
    pub sites: u32,
    /// The accesses that may be in the table of written ones, by site.
    pub patterns: FxHashMap<u32, Pattern>,
    /// The accesses that may be in the journal.
    pub journaled: Vec<Journaled>,
    /// The start of the emitted block.
    pub start: u32,
    pub blocks: Vec<CodeLabel>,
    leave: CodeLabel,
    pub save: CodeLabel,
    pub restore: CodeLabel,
    pool: FxHashMap<[u32; 8], CodeLabel>,
}

/// The generated code of a function, before it has a place.
pub(super) struct Assembled {
    pub code: Vec<u8>,
    pub exits: Vec<Exit>,
    pub expected: Vec<Vec<Kind>>,
    /// The offsets of the blocks in the code.
    pub offsets: Vec<usize>,
    pub sites: u32,
    pub patterns: FxHashMap<u32, Pattern>,
    pub journaled: Vec<Journaled>,
    pub follows: bool,
}

/// Generates the code of a function. `expects` states whether the kinds of registers at the starts of blocks are expected; otherwise all
/// values are in rows there.
pub(super) fn assemble(known: Known<'_>, plain: &[Instruction], expects: bool) -> Emitted<Assembled> {
    let mut asm = CodeAssembler::new(64)?;
    let expected = match expects {
        true => known.expected(),
        false => vec![vec![Kind::Row; known.flow.registers.len()]; known.flow.blocks.len()],
    };
    let blocks = known.flow.blocks.iter().map(|_| asm.create_label()).collect();
    let [leave, save, restore] = [asm.create_label(), asm.create_label(), asm.create_label()];
    let mut emitter = Emitter {
        asm,
        known,
        plain,
        expected,
        kinds: Vec::new(),
        cache: Cache::default(),
        noise: false,
        waits: None,
        guard: None,
        hulls: Hulls::default(),
        live: Set::default(),
        live_behind: Set::default(),
        exits: Vec::new(),
        stubs: Vec::new(),
        divergences: Vec::new(),
        regions: Vec::new(),
        sites: 0,
        patterns: FxHashMap::default(),
        journaled: Vec::new(),
        start: 0,
        blocks,
        leave,
        save,
        restore,
        pool: FxHashMap::default(),
    };
    emitter.begin()?;
    for index in 0..known.flow.blocks.len() {
        emitter.block(index)?;
    }
    emitter.end()
}

impl Emitter<'_> {
    /// The entry: `extern "C" fn(machine, context, block) -> exit`.
    fn begin(&mut self) -> Emitted {
        for register in [rbx, rbp, r12, r13, r14, r15] {
            self.asm.push(register)?;
        }
        // The stack is aligned to 16 bytes for calls.
        self.asm.sub(rsp, 8)?;
        self.asm.mov(rbx, rdi)?;
        self.asm.mov(r12, rsi)?;
        self.asm.mov(r15, qword_ptr(r12 + FRAME))?;
        self.asm.mov(r14, qword_ptr(r12 + CONSTANTS))?;
        self.asm.mov(r13, qword_ptr(r12 + SITES))?;
        self.asm.mov(rbp, qword_ptr(r12 + SCALARS))?;
        self.asm.jmp(rdx)
    }

    /// Whether some lanes do not execute the emitted block.
    pub(super) fn masks(&self) -> bool {
        self.waits.is_some()
    }

    pub(super) fn set(&mut self, mut label: CodeLabel) -> Emitted {
        self.asm.set_label(&mut label)?;
        // Each label needs its own instruction.
        self.asm.zero_bytes()
    }

    /// Emits the shared parts, the stubs and the numbers, and encodes all.
    fn end(mut self) -> Emitted<Assembled> {
        let leave = self.leave;
        self.set(leave)?;
        self.asm.vzeroupper()?;
        self.asm.add(rsp, 8)?;
        for register in [r15, r14, r13, r12, rbp, rbx] {
            self.asm.pop(register)?;
        }
        self.asm.ret()?;
        let (save, restore) = (self.save, self.restore);
        self.set(save)?;
        for (at, register) in Y.iter().enumerate().take(HOLDING) {
            self.asm.vmovdqu(ymmword_ptr(r12 + SAVED + 32 * at as i32), *register)?;
        }
        self.asm.ret()?;
        self.set(restore)?;
        for (at, register) in Y.iter().enumerate().take(HOLDING) {
            self.asm.vmovdqu(*register, ymmword_ptr(r12 + SAVED + 32 * at as i32))?;
        }
        self.asm.ret()?;
        // The first of several jumps up to one place has the largest region.
        for divergence in std::mem::take(&mut self.divergences) {
            self.divergence(divergence)?;
        }
        // A stub may need further ones.
        while let Some(stub) = self.stubs.pop() {
            match stub {
                Stub::Leave { at, exit, cache, live } => {
                    self.set(at)?;
                    self.cache = *cache;
                    self.flush(&live)?;
                    self.asm.mov(eax, exit)?;
                    self.asm.jmp(leave)?;
                }
                Stub::Stepped { at, exit } => {
                    self.set(at)?;
                    self.asm.add(eax, exit as i32 - 1)?;
                    self.asm.jmp(leave)?;
                }
                Stub::Region(number) => self.region(number)?,
                Stub::Access(missed) => self.missed(*missed)?,
                Stub::Full { at, back } => self.full(at, back)?,
            }
        }
        let pool: Vec<_> = self.pool.drain().collect();
        for (words, mut label) in pool {
            self.asm.set_label(&mut label)?;
            self.asm.dd(&words)?;
        }
        let options = iced_x86::BlockEncoderOptions::RETURN_NEW_INSTRUCTION_OFFSETS;
        let encoded = self.asm.assemble_options(0, options)?;
        let offsets =
            self.blocks.iter().map(|label| Ok(encoded.label_ip(label)? as usize)).collect::<Emitted<Vec<usize>>>()?;
        let follows = self.follows();
        let Emitter { exits, expected, sites, patterns, journaled, .. } = self;
        Ok(Assembled { code: encoded.inner.code_buffer, exits, expected, offsets, sites, patterns, journaled, follows })
    }

    /// The place of 32 bytes behind the code.
    pub(super) fn pooled(&mut self, words: [u32; 8]) -> CodeLabel {
        let asm = &mut self.asm;
        *self.pool.entry(words).or_insert_with(|| asm.create_label())
    }

    /// Whether the code continues with another warp where one waits or ends.
    pub(super) fn passes(&self) -> bool {
        self.known.whole && (!self.known.recorded || self.known.journal)
    }

    fn block(&mut self, index: usize) -> Emitted {
        let flow = self.known.flow;
        let block = &flow.blocks[index];
        // The label remembers where it is set.
        self.asm.set_label(&mut self.blocks[index])?;
        self.asm.zero_bytes()?;
        self.start = block.start;
        if self.passes() && calls::is_whole_exit(&self.known.program.code[block.start as usize]) {
            return self.end_of_warp(index);
        }
        let leaving = self.leaving_at(index, false);
        if block.foreign {
            return self.asm.jmp(leaving);
        }
        self.asm.cmp(dword_ptr(rbx + MACHINE_LIMIT), block.end as i32)?;
        self.asm.jb(leaving)?;
        self.kinds.clone_from(&self.expected[index]);
        self.cache.clear();
        self.hulls = Hulls::of(self.known.program, block);
        let live = flow.live(self.known.program, block);
        if block.steps {
            self.live.clone_from(&live[0]);
            self.live_behind.clone_from(&live[1]);
            return self.step(index);
        }
        for pc in block.start..block.end {
            let at = (pc - block.start) as usize;
            self.live.clone_from(&live[at]);
            self.live_behind.clone_from(&live[at + 1]);
            match self.known.program.patterns[pc as usize].template {
                Some(Template::Branch) => return self.jump(pc, None, block.next[0]),
                Some(Template::BranchIf) => {
                    let target = flow.starting.get(&(self.known.program.code[pc as usize].imm as u32)).copied();
                    return self.jump(pc, target, index + 1);
                }
                _ => self.instruction(pc)?,
            }
            self.cache.unlock();
        }
        self.prepare(index + 1)?;
        self.asm.add(qword_ptr(rbx + EXECUTED), (block.end - block.start) as i32)?;
        self.enter(index + 1)
    }

    /// Emits the jump at the end of a block: to `target` if it depends on a predicate, and otherwise to `other`.
    fn jump(&mut self, pc: u32, target: Option<usize>, other: usize) -> Emitted {
        let Instruction { a, b, .. } = self.known.program.code[pc as usize];
        self.prepare(other)?;
        if let Some(target) = target {
            self.prepare(target)?;
        }
        let live = self.live.clone();
        let before = self.leaving(pc, &live);
        if let Some(target) = target {
            let falls = self.asm.create_label();
            self.asm.mov(eax, Self::predicate(a))?;
            if b == 1 {
                self.asm.not(eax)?;
            }
            if !self.known.whole {
                self.asm.and(eax, dword_ptr(rbx + ACTIVE))?;
            }
            self.asm.test(eax, eax)?;
            self.asm.je(falls)?;
            self.asm.cmp(eax, dword_ptr(rbx + ACTIVE))?;
            // Threads that diverge are the business of the interpreter, unless they meet soon.
            let diverging = self.diverging(pc, target, other, before).unwrap_or(before);
            self.asm.jne(diverging)?;
            self.go(pc, target, before)?;
            self.set(falls)?;
        }
        self.go(pc, other, before)
    }

    /// Continues with a block behind the instruction `pc`.
    fn go(&mut self, pc: u32, index: usize, before: CodeLabel) -> Emitted {
        let back = self.known.flow.blocks[index].start <= pc;
        if back {
            self.asm.cmp(dword_ptr(r12 + STABLE), 0)?;
            self.asm.je(before)?;
        }
        self.asm.add(qword_ptr(rbx + EXECUTED), (pc + 1 - self.start) as i32)?;
        if back {
            let stopping = self.leaving_at(index, true);
            self.asm.mov(eax, dword_ptr(r12 + LIMIT))?;
            self.asm.mov(dword_ptr(rbx + MACHINE_LIMIT), eax)?;
            self.asm.mov(rax, qword_ptr(rbx + EXECUTED))?;
            self.asm.cmp(rax, qword_ptr(rbx + TURN_END))?;
            self.asm.jae(stopping)?;
        }
        self.enter(index)
    }

    /// Jumps to a block.
    pub(super) fn enter(&mut self, index: usize) -> Emitted {
        let block = &self.known.flow.blocks[index];
        let expected = &self.expected[index];
        let mut members = block.live_in.members();
        if members.all(|register| expected[register] == Kind::Row || expected[register] == self.kinds[register]) {
            let label = self.blocks[index];
            return self.asm.jmp(label);
        }
        // A value that the analysis takes for linear is not. The interpreter goes on, and the next entry is without expectations.
        let (live, kinds) = (block.live_in.clone(), self.kinds.clone());
        let exit = self.exit(block.start, 0, false, &live, &kinds);
        let at = self.asm.create_label();
        self.stubs.push(Stub::Leave { at, exit, cache: Box::new(self.cache), live });
        self.asm.jmp(at)
    }

    /// Puts the values where a block expects them.
    pub(super) fn prepare(&mut self, index: usize) -> Emitted {
        let flow = self.known.flow;
        let live = &flow.blocks[index].live_in;
        for register in live.members() {
            let Register { place, width } = flow.registers[register];
            let differs = self.kinds[register] != self.expected[index][register];
            if differs && self.kinds[register] != Kind::Row && width != Width::Predicate {
                self.write_row(place, width == Width::W64)?;
            }
        }
        self.flush(live)
    }

    pub(super) fn instruction(&mut self, pc: u32) -> Emitted {
        let pattern = self.known.program.patterns[pc as usize];
        match pattern.template {
            Some(Template::Load | Template::Store) if self.access(pc)? => return Ok(()),
            None if self.narrow_access(pc)? => return Ok(()),
            Some(Template::Integer(_) | Template::Further(_)) => {
                self.guard = guard(self.known.program, pc);
                let computed = match self.masks() {
                    true => Computed::Rows,
                    false => self.known.computed(&self.kinds, pc),
                };
                self.count_guarded()?;
                if let Computed::Once(_, check) = computed {
                    self.check(pc, check)?;
                }
                if self.compute(pc, computed)? {
                    self.guard = None;
                    return Ok(());
                }
            }
            _ => {}
        }
        self.call(pc)
    }

    /// Leaves the lanes whose guard does not hold out of the count.
    pub(super) fn count_guarded(&mut self) -> Emitted {
        let Some((place, negated)) = self.guard else { return Ok(()) };
        self.asm.mov(eax, Self::predicate(place))?;
        if !negated {
            self.asm.not(eax)?;
        }
        self.asm.and(eax, dword_ptr(rbx + ACTIVE))?;
        self.asm.popcnt(eax, eax)?;
        self.asm.sub(qword_ptr(rbx + super::divergence::COUNTED_LANES), rax)
    }

    /// Executes an instruction by its function.
    pub(super) fn call(&mut self, pc: u32) -> Emitted {
        let live = self.live.clone();
        self.write_read_rows(pc)?;
        self.flush(&live)?;
        self.cache.clear();
        self.emit_call(pc, calls::call as *const () as u64)?;
        let rest = self.live_if_stopped(pc);
        let failing = self.failing(pc, &rest);
        self.asm.test(eax, eax)?;
        self.asm.jne(failing)?;
        for register in self.known.program.operands_of.written(pc as usize) {
            self.set_kind(register.place(), Kind::Row);
        }
        Ok(())
    }

    /// The registers that are read behind an instruction whose function stops, without its results. After a fault, nothing reads them. With
    /// records, the function also stops where it meets an undefined value, or where accesses can no longer be in the journal.
    pub(super) fn live_if_stopped(&self, pc: u32) -> Set {
        if !self.known.recorded {
            return Set::default();
        }
        let written = self.known.program.operands_of.written(pc as usize);
        self.live_behind.without(written.iter().filter_map(|register| self.known.flow.register(register.place())))
    }

    /// Writes the rows of the registers that an instruction reads, where they are linear.
    pub(super) fn write_read_rows(&mut self, pc: u32) -> Emitted {
        for register in self.known.program.operands_of.read(pc as usize) {
            let is_linear = self.known.kind(&self.kinds, register.place()) != Kind::Row;
            if is_linear && register.width() != Width::Predicate {
                self.write_row(register.place(), register.width() == Width::W64)?;
            }
        }
        Ok(())
    }

    /// Calls a function with the machine and the instruction.
    pub(super) fn emit_call(&mut self, pc: u32, function: u64) -> Emitted {
        self.asm.mov(dword_ptr(rbx + PC), pc as i32 + 1)?;
        self.asm.mov(rdi, rbx)?;
        self.asm.mov(rsi, &raw const self.plain[pc as usize] as u64)?;
        self.asm.mov(rax, function)?;
        self.asm.vzeroupper()?;
        self.asm.call(rax)
    }
}
