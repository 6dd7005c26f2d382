//! The generated code of a program: compiled when a launch asks for it, and kept as long as the program.

use super::access::is_inline_update;
use super::cache::offsets;
use super::emitter::{Assembled, assemble};
use super::executable::Executable;
use super::flow::{Block, Flow};
use super::journal::{Journaled, is_usual};
use super::leaving::Exit;
use super::linear_rows::{LinearRegister, Offsets};
use super::value::{Kind, Known, Steps, ThreadShape, numbers};
use super::written::Pattern;
use crate::grammar::types::Width;
use crate::machine::access_mode::KEPT;
use crate::machine::linear::{A, D, LINEAR, Operation};
use crate::machine::program::{Instruction, Program, UNGUARDED};
use crate::machine::template::Template;
use rustc_hash::FxHashMap;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The instructions that have to be executed for each one of a kernel before code is generated: as many as take as long in the
/// interpreter as the generation.
const WORTH: u64 = 256;

/// The most instructions of a function for which code is generated. The time of the analysis grows faster than the function.
const LONGEST: u32 = 1 << 14;

/// The numbers of instructions whose gain an instruction costs that is a step, and a recorded access.
const STEP: usize = 2;
const RECORDED: usize = 5;

/// A variant of the code of a function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Variant {
    pub shape: ThreadShape,
    /// Whether all lanes take part.
    pub whole: bool,
    /// Whether registers are expected to have linear values; see `value`.
    pub expects: bool,
    /// Whether accesses are recorded.
    pub recorded: bool,
    /// Whether recorded accesses may be in the journal.
    pub journal: bool,
}

/// The code of functions; nothing where it cannot be generated.
type Functions = FxHashMap<(u32, Variant), Option<Arc<Compiled>>>;

/// The generated code of a program, and what generation needs.
#[derive(Default)]
pub(crate) struct Generated {
    /// The plain instructions, which observe shapes anew or keep them.
    plain: [OnceLock<Vec<Instruction>>; 2],
    numbers: OnceLock<FxHashMap<u32, u64>>,
    /// The executed instructions of warps, by kernel.
    heat: OnceLock<Vec<AtomicU64>>,
    compiled: Mutex<Functions>,
    offsets: Mutex<FxHashMap<(Steps, Width), Arc<Offsets>>>,
}

/// A place where generated code can be entered.
pub(super) struct Entry {
    pub offset: usize,
    /// The instruction behind the block.
    pub end: u32,
    pub foreign: bool,
    /// Whether special registers are read from there on, before code is entered again.
    pub specials: bool,
    /// The registers that are expected to have linear values.
    pub linear: Vec<LinearRegister>,
}

/// The generated code of a function.
pub(super) struct Compiled {
    pub memory: Executable,
    /// The first instruction of the function, and for each of its instructions the block that begins there, or `u32::MAX`.
    pub start: u32,
    pub starting: Vec<u32>,
    pub entries: Vec<Entry>,
    pub exits: Vec<Exit>,
    /// The number of registers.
    pub registers: usize,
    pub sites: u32,
    pub patterns: FxHashMap<u32, Pattern>,
    pub specials: Vec<i64>,
    /// Whether the next warp can begin where one ends; see `following`.
    pub follows: bool,
    /// Whether linear values are expected; see [`Variant`].
    pub expects: bool,
    /// Whether there is a journal, and the accesses that may be in it.
    pub journal: bool,
    pub journaled: Vec<Journaled>,
}

impl Compiled {
    /// The block that expects just the linear registers of an exit, if that is one of this code.
    pub(super) fn resumes(&self, exit: NonNull<Exit>) -> Option<u32> {
        self.exits.get(self.number(exit))?.resumes
    }

    /// Whether the code can be entered at the start of the function in a warp that starts.
    pub(super) fn starts(&self) -> bool {
        self.expects && self.entries.first().is_some_and(|entry| !entry.foreign && entry.linear.is_empty())
    }

    /// Makes room for the scalars that the code has.
    pub(super) fn fit(&self, scalars: &mut Vec<u64>) {
        let count = self.registers + self.specials.len();
        if scalars.len() < count {
            scalars.resize(count, 0);
        }
    }

    /// The number of an exit of this code.
    pub(super) fn number(&self, exit: NonNull<Exit>) -> usize {
        (exit.as_ptr() as usize).wrapping_sub(self.exits.as_ptr() as usize) / size_of::<Exit>()
    }
}

impl Generated {
    /// The instructions of a program without linear values. Generated code calls them, and the
    /// interpreter executes them in its place. They observe the shape of their addresses anew, if generated code accesses memory itself.
    pub(in crate::machine) fn plain<'p>(&'p self, program: &Program, keeps_shapes: bool) -> &'p Vec<Instruction> {
        let all = || (0..program.code.len()).map(|pc| plain(program, pc, keeps_shapes)).collect();
        self.plain[usize::from(keeps_shapes)].get_or_init(all)
    }

    fn heat(&self, program: &Program) -> &[AtomicU64] {
        self.heat.get_or_init(|| program.functions.iter().map(|_| AtomicU64::new(0)).collect())
    }

    /// The instructions of warps that a launch of a kernel has to execute before code is generated for it.
    pub(in crate::machine) fn worth(&self, program: &Program, kernel: u32) -> u64 {
        let function = &program.functions[kernel as usize];
        let length = u64::from(function.end - function.start);
        (WORTH * length).saturating_sub(self.heat(program)[kernel as usize].load(Ordering::Relaxed))
    }

    /// Whether generated code for a kernel is expected to be faster than the interpreter. The values come to their rows before an instruction
    /// that is not in a run, which takes as long as [`STEP`] other instructions save. If accesses are `recorded`, their functions execute
    /// them, which is slower without linear values, unless the launch has a journal for them. Threads that wait for others by
    /// strong accesses are the interpreter's business while they poll, so their values change places often.
    pub(in crate::machine) fn pays(program: &Program, kernel: u32, recorded: bool, journals: bool) -> bool {
        let function = &program.functions[kernel as usize];
        let (start, end) = (function.start as usize, function.end as usize);
        let (code, patterns) = (&program.code[start..end], &program.patterns[start..end]);
        let costs = code.iter().zip(patterns).zip(function.start..).map(|((instruction, pattern), pc)| {
            let jumps = matches!(pattern.template, Some(Template::Branch | Template::BranchIf));
            match instruction.guard <= UNGUARDED && pattern.falls && !jumps {
                true if is_inline_update(program, pc) && (journals || !recorded) => 0,
                true => STEP,
                false if pattern.accesses && recorded && !(journals && is_usual(instruction)) => RECORDED,
                false => 0,
            }
        });
        let waits = program.hand_over(kernel).strong;
        costs.sum::<usize>() <= code.len() && !waits
    }

    /// Records the executed instructions of a launch of a kernel.
    pub(in crate::machine) fn executed(&self, program: &Program, kernel: u32, instructions: u64) {
        self.heat(program)[kernel as usize].fetch_add(instructions, Ordering::Relaxed);
    }

    /// The differences of the lanes of a register with these steps from the first lane. A predicate has none.
    pub(super) fn offsets(&self, steps: Steps, width: Width) -> Arc<Offsets> {
        let parts = match width {
            Width::Predicate => 0,
            Width::W64 => 8,
            Width::W32 | Width::W128 => 4,
        };
        let mut known = self.offsets.lock().unwrap_or_else(PoisonError::into_inner);
        let all = || (0..parts).map(|part| offsets(steps, part, width == Width::W64)).collect();
        known.entry((steps, width)).or_insert_with(all).clone()
    }

    /// The code of a function. `None` if it cannot be generated.
    pub(super) fn compiled(&self, program: &Program, function: u32, variant: Variant) -> Option<Arc<Compiled>> {
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        compiled
            .entry((function, variant))
            .or_insert_with(|| self.compile(program, function, variant).map(Arc::new))
            .clone()
    }

    /// The number of functions that have code, in any variant.
    #[cfg(test)]
    pub(crate) fn functions(&self) -> usize {
        let compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        compiled.values().flatten().count()
    }

    /// The number of entries that the code can make in a journal.
    #[cfg(test)]
    pub(crate) fn journaled(&self) -> usize {
        let compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        compiled.values().flatten().map(|code| code.journaled.len()).sum()
    }

    fn compile(&self, program: &Program, number: u32, variant: Variant) -> Option<Compiled> {
        let function = &program.functions[number as usize];
        if !function.is_defined() || function.end - function.start > LONGEST {
            return None;
        }
        let flow = Flow::of(program, function);
        let numbers = self.numbers.get_or_init(|| numbers(program));
        let Variant { shape, whole, expects, recorded, journal } = variant;
        let known = Known { program, function, flow: &flow, numbers, shape, whole, recorded, journal };
        // An error means that an instruction cannot be encoded, as for an offset beyond 32 bits.
        let assembled = assemble(known, self.plain(program, recorded && !journal), expects).ok()?;
        let Assembled { code, mut exits, expected, offsets, sites, patterns, journaled, follows } = assembled;
        let memory = Executable::new(&code)?;
        let entries = flow.blocks.iter().zip(offsets).zip(expected).map(|((block, offset), kinds)| {
            let linear = kinds.iter().enumerate().filter_map(|(register, kind)| match kind {
                Kind::Linear(steps) => Some(LinearRegister::new(known, register, *steps)),
                Kind::Row => None,
            });
            Entry { offset, end: block.end, foreign: block.foreign, specials: false, linear: linear.collect() }
        });
        let mut entries: Vec<Entry> = entries.collect();
        for (entry, reads) in entries.iter_mut().zip(flow.reaching(|block| reads_special(program, block))) {
            entry.specials = reads;
        }
        for exit in &mut exits {
            let is_same = |entry: &Entry| {
                let same = |(one, other): (&LinearRegister, &LinearRegister)| one.is_same(other);
                exit.linear.len() == entry.linear.len() && exit.linear.iter().zip(&entry.linear).all(same)
            };
            exit.resumes = exit.resumes.filter(|next| entries.get(*next as usize).is_some_and(is_same));
        }
        let mut starting = vec![u32::MAX; (function.end - function.start) as usize];
        for (pc, index) in &flow.starting {
            starting[(pc - function.start) as usize] = *index as u32;
        }
        let (start, registers, specials) = (function.start, flow.registers.len(), flow.specials);
        Some(Compiled {
            memory,
            start,
            starting,
            entries,
            exits,
            registers,
            sites,
            patterns,
            specials,
            follows,
            expects,
            journal,
            journaled,
        })
    }
}

fn reads_special(program: &Program, block: &Block) -> bool {
    let special = Some(Template::Integer(Operation::Special));
    (block.start..block.end).any(|pc| program.patterns[pc as usize].template == special)
}

fn plain(program: &Program, pc: usize, keeps_shapes: bool) -> Instruction {
    let (mut instruction, pattern) = (program.code[pc], program.patterns[pc]);
    if pattern.has_kinds {
        if instruction.extra & LINEAR != 0
            && let Some(by_lanes) = program.by_lanes.get(instruction.imm as usize)
        {
            instruction.exec = *by_lanes;
        }
        instruction.extra &= !((1 << (D + 2)) - (1 << A));
    }
    if pattern.accesses && !keeps_shapes {
        instruction.c &= !KEPT;
    }
    instruction
}
