//! The basic blocks of a function, and the registers that are live at their ends.

use crate::grammar::types::Width;
use crate::machine::linear::Operation;
use crate::machine::program::{Function, Program, UNGUARDED};
use crate::machine::template::Template;
use rustc_hash::FxHashMap;

/// A register: its place in the frame and its width.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Register {
    pub place: u32,
    pub width: Width,
}

/// A set of registers, as bits.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Set(Vec<u64>);

impl Set {
    fn new(registers: usize) -> Set {
        Set(vec![0; registers.div_ceil(64)])
    }

    pub(super) fn has(&self, register: usize) -> bool {
        self.0[register / 64] >> (register % 64) & 1 == 1
    }

    fn add(&mut self, register: usize) {
        self.0[register / 64] |= 1 << (register % 64);
    }

    fn remove(&mut self, register: usize) {
        self.0[register / 64] &= !(1 << (register % 64));
    }

    /// Adds the members of another set. Returns whether the set has grown.
    pub(super) fn join(&mut self, other: &Set) -> bool {
        let mut grown = false;
        for (word, more) in self.0.iter_mut().zip(&other.0) {
            grown |= *more & !*word != 0;
            *word |= more;
        }
        grown
    }

    /// The set without some members.
    pub(super) fn without(&self, members: impl Iterator<Item = usize>) -> Set {
        let mut rest = self.clone();
        members.for_each(|register| rest.remove(register));
        rest
    }

    pub(super) fn members(&self) -> impl Iterator<Item = usize> {
        let bits = |(word, bits): (usize, &u64)| {
            let bits = *bits;
            (0..64).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| word * 64 + bit)
        };
        self.0.iter().enumerate().flat_map(bits)
    }
}

/// A basic block.
pub(super) struct Block {
    /// The first instruction, and the one behind the last.
    pub start: u32,
    pub end: u32,
    /// Whether the interpreter executes the block, which is one instruction.
    pub foreign: bool,
    /// Whether the block is one instruction that is not in a run, behind which code goes on.
    pub steps: bool,
    /// The blocks that can follow.
    pub next: Vec<usize>,
    pub live_in: Set,
    pub live_out: Set,
}

/// The blocks of a function, in the order of the code.
pub(super) struct Flow {
    pub registers: Vec<Register>,
    pub numbers: FxHashMap<u32, usize>,
    pub blocks: Vec<Block>,
    /// The special registers that the code reads.
    pub specials: Vec<i64>,
    /// The block that begins at an instruction, for each instruction of the function.
    pub starting: FxHashMap<u32, usize>,
}

/// Whether an instruction only stops for faults: it is in a run, or a guarded operation on registers.
fn runs(program: &Program, pc: u32) -> bool {
    let computes = matches!(program.patterns[pc as usize].template, Some(Template::Integer(_) | Template::Further(_)));
    program.code[pc as usize].guard > UNGUARDED || computes
}

fn is_jump(program: &Program, pc: u32) -> bool {
    matches!(program.patterns[pc as usize].template, Some(Template::Branch | Template::BranchIf))
}

impl Flow {
    pub(super) fn of(program: &Program, function: &Function) -> Flow {
        let code = function.start..function.end;
        let starts = starts(program, function);
        let mut flow = Flow {
            registers: Vec::new(),
            numbers: FxHashMap::default(),
            blocks: Vec::new(),
            specials: Vec::new(),
            starting: FxHashMap::default(),
        };
        for pc in code.clone() {
            let registers =
                program.operands_of.read(pc as usize).iter().chain(program.operands_of.written(pc as usize));
            for register in registers {
                flow.number(register.place(), register.width());
            }
            let number = program.code[pc as usize].imm;
            if program.patterns[pc as usize].template == Some(Template::Integer(Operation::Special))
                && !flow.specials.contains(&number)
            {
                flow.specials.push(number);
            }
            if let Some((guard, _)) = guard(program, pc) {
                flow.number(guard, Width::Predicate);
            }
        }
        let mut start = code.start;
        for pc in code.clone() {
            let ends = pc + 1 == code.end || starts[(pc + 1 - code.start) as usize];
            if ends {
                let apart = start == pc && !runs(program, pc) && !is_jump(program, pc);
                let steps = apart && program.patterns[pc as usize].falls && pc + 1 < code.end;
                flow.starting.insert(start, flow.blocks.len());
                let none = Set::new(flow.registers.len());
                let (live_in, live_out) = (none.clone(), none);
                flow.blocks.push(Block {
                    start,
                    end: pc + 1,
                    foreign: apart && !steps,
                    steps,
                    next: Vec::new(),
                    live_in,
                    live_out,
                });
                start = pc + 1;
            }
        }
        flow.link(program);
        flow.find_live(program);
        flow
    }

    fn number(&mut self, place: u32, width: Width) -> usize {
        *self.numbers.entry(place).or_insert_with(|| {
            self.registers.push(Register { place, width });
            self.registers.len() - 1
        })
    }

    /// The number of the register at a place.
    pub(super) fn register(&self, place: u32) -> Option<usize> {
        self.numbers.get(&place).copied()
    }

    fn link(&mut self, program: &Program) {
        for index in 0..self.blocks.len() {
            let last = self.blocks[index].end - 1;
            let pattern = program.patterns[last as usize];
            let mut next = Vec::new();
            if is_jump(program, last) {
                next.extend(self.starting.get(&(program.code[last as usize].imm as u32)));
            }
            if pattern.falls && index + 1 < self.blocks.len() {
                next.push(index + 1);
            }
            if pattern.indexed {
                next.extend(targets(program, last).iter().filter_map(|target| self.starting.get(target)));
            }
            next.dedup();
            self.blocks[index].next = next;
        }
    }

    fn find_live(&mut self, program: &Program) {
        let count = self.registers.len();
        loop {
            let mut changed = false;
            for index in (0..self.blocks.len()).rev() {
                let mut out = Set::new(count);
                for next in self.blocks[index].next.clone() {
                    out.join(&self.blocks[next].live_in);
                }
                let mut live = out.clone();
                for pc in (self.blocks[index].start..self.blocks[index].end).rev() {
                    self.step_back(program, pc, &mut live);
                }
                changed |= self.blocks[index].live_in.join(&live);
                self.blocks[index].live_out = out;
            }
            if !changed {
                return;
            }
        }
    }

    /// For each block, whether generated code that is entered there can reach one for which `f` holds.
    pub(super) fn reaching(&self, f: impl Fn(&Block) -> bool) -> Vec<bool> {
        let mut reaching: Vec<bool> = self.blocks.iter().map(|block| !block.foreign && f(block)).collect();
        loop {
            let mut changed = false;
            for (index, block) in self.blocks.iter().enumerate().rev().filter(|(_, block)| !block.foreign) {
                if !reaching[index] && block.next.iter().any(|next| reaching[*next]) {
                    (reaching[index], changed) = (true, true);
                }
            }
            if !changed {
                return reaching;
            }
        }
    }

    /// Changes the set of live registers behind an instruction to the set before it.
    fn step_back(&self, program: &Program, pc: u32, live: &mut Set) {
        let registers = &program.operands_of;
        let guard = guard(program, pc);
        if guard.is_none() {
            let written = registers.written(pc as usize).iter().filter_map(|register| self.register(register.place()));
            written.for_each(|register| live.remove(register));
        }
        let read =
            registers.read(pc as usize).iter().map(|register| register.place()).chain(guard.map(|(place, _)| place));
        read.filter_map(|place| self.register(place)).for_each(|register| live.add(register));
    }

    /// The live registers before each instruction of a block, and behind the last.
    pub(super) fn live(&self, program: &Program, block: &Block) -> Vec<Set> {
        let mut sets = vec![block.live_out.clone()];
        for pc in (block.start..block.end).rev() {
            let mut live = sets[sets.len() - 1].clone();
            self.step_back(program, pc, &mut live);
            sets.push(live);
        }
        sets.reverse();
        sets
    }
}

/// The place of the guard of an instruction, and whether it is negated.
pub(super) fn guard(program: &Program, pc: u32) -> Option<(u32, bool)> {
    let guard = program.code[pc as usize].guard;
    (guard < UNGUARDED).then_some((guard >> 1, guard & 1 == 1))
}

/// The targets of a jump by an index.
fn targets(program: &Program, pc: u32) -> &[u32] {
    let jump = &program.code[pc as usize];
    &program.operands[jump.extra as usize..][..jump.imm as usize]
}

/// For each instruction of a function, and for its end, whether a block begins there.
fn starts(program: &Program, function: &Function) -> Vec<bool> {
    let mut starts = vec![false; (function.end - function.start) as usize + 1];
    let mut begin = |pc: u32| {
        if let Some(place) = pc.checked_sub(function.start).and_then(|at| starts.get_mut(at as usize)) {
            *place = true;
        }
    };
    begin(function.start);
    for pc in function.start..function.end {
        let instruction = &program.code[pc as usize];
        if is_jump(program, pc) {
            begin(instruction.imm as u32);
            begin(pc + 1);
        } else if !runs(program, pc) {
            begin(pc);
            begin(pc + 1);
        }
        if program.patterns[pc as usize].indexed {
            targets(program, pc).iter().for_each(|target| begin(*target));
        }
    }
    starts
}
