//! The last step: blocks are put in order, operands become offsets, jumps become instruction numbers.

use super::block_order::order;
use super::builder::Built;
use super::draft::{Access, Draft, Next, Operand, ProgramConstants, Results, sources, writes};
use super::guesses;
use super::in_place;
use super::linear::Heads;
use super::registers::{Places, places, successors};
use super::shapes::shape_bits;
use super::stored;
use super::template::{narrow, template};
use crate::Error;
use crate::grammar::types::Width;
use crate::machine::access_mode::{GUESS, IN_PLACE, SHARED, space, unused_bits};
use crate::machine::branching;
use crate::machine::linear::LINEAR;
use crate::machine::program::LEFT_OUT;
use crate::machine::program::{CONSTANT, Constant, Exec, Function, Instruction, Location, Program, Reached, UNGUARDED};
use crate::machine::template::{Pattern, Template};
use crate::machine::undefined::{Register, Way};
use rustc_hash::FxHashSet;

/// The maximum number of instructions of a program, and of register bytes of a warp.
const MAX_SIZE: usize = 1 << 24;
const WIDEST: u32 = 1 << 26;

/// Whether an instruction may be in a run; see [`UNGUARDED`].
fn can_run_on(draft: &Draft) -> bool {
    draft.guard.is_none() && draft.next == Next::On && (draft.access != Access::None || draft.per_lane)
}

/// How undefined values reach the results of a draft. Any instruction with a head in its result computes it.
fn way(draft: &Draft, heads: &Heads) -> Way {
    match draft.next {
        Next::On if writes(draft).any(|register| heads.has[register as usize]) => Way::Computes,
        Next::On => draft.way,
        Next::Jump { .. } | Next::Indexed(_) => Way::Branches,
        Next::End => Way::Ends,
    }
}

/// A function with all that is known of it before its code has a place.
pub(super) struct Prepared {
    built: Built,
    order: Vec<usize>,
    places: Places,
    sources: stored::Sources,
    guesses: FxHashSet<in_place::Place>,
    updates: in_place::Updates,
}

/// Orders a function's blocks, places its registers, and finds the uses of its values.
pub(super) fn prepare(built: Built) -> Prepared {
    let next: Vec<Vec<usize>> = built.blocks.iter().map(successors).collect();
    let order = order(&next);
    Prepared {
        places: places(&built.blocks, &order, &built.widths, &built.constants),
        sources: stored::sources_of(&built),
        guesses: guesses::guesses(&built.blocks),
        updates: in_place::updates(&built.blocks),
        order,
        built,
    }
}

/// Appends a function's code to a program, and its constants to those of the program.
pub(super) fn encode(
    mut prepared: Prepared,
    program: &mut Program,
    constants: &mut ProgramConstants,
    number: usize,
) -> Result<(), Error> {
    let constant_places = declare(&mut prepared.built, program, constants, number);
    let line = prepared.built.blocks.iter().find_map(|block| Some(block.drafts.first()?.location.line)).unwrap_or(0);
    if prepared.places.frame > WIDEST || program.code.len() > MAX_SIZE {
        return Err(Error::unsupported(line, &program.functions[number].name, "the function is too large"));
    }
    describe(&mut prepared, &mut program.functions[number]);
    program.functions[number].start = program.code.len() as u32;
    let starts = vec![u32::MAX; prepared.built.blocks.len()];
    let (jumps, tables, in_runs) = (Vec::new(), Vec::new(), Vec::new());
    let mut encoder = Encoder { prepared: &prepared, program, constant_places, starts, jumps, tables, in_runs };
    for position in 0..prepared.order.len() {
        encoder.block(position);
    }
    encoder.end(number, line);
    encoder.update_in_place();
    encoder.resolve();
    Ok(())
}

/// Adds a function's variables and constants to the program, and returns the places of the constants.
fn declare(built: &mut Built, program: &mut Program, constants: &mut ProgramConstants, number: usize) -> Vec<u32> {
    let (own_variables, first) = (program.variables.len() as u32, built.first_variable);
    let final_number = |number: u32| number.checked_sub(first).map_or(number, |own| own_variables + own);
    program.variables.append(&mut built.variables);
    program.reserves |= built.reserves;
    program.functions[number].shared = built.shared.iter().map(|number| final_number(*number)).collect();
    let place = |(value, width): &(Constant, Width)| match value {
        Constant::Variable(number, offset) => {
            constants.place(Constant::Variable(final_number(*number), *offset), *width)
        }
        Constant::Bits(_) => constants.place(*value, *width),
    };
    built.constants.iter().map(place).collect()
}

/// Sets what the program says of a function.
fn describe(prepared: &mut Prepared, function: &mut Function) {
    let Prepared { built, places, sources, .. } = prepared;
    function.frame = places.frame;
    function.cleared = std::mem::take(&mut places.cleared);
    function.registers = places.words;
    function.local = built.local.max(function.local);
    function.local_variables = built.local_variables;
    function.calls = std::mem::take(&mut built.calls);
    function.calls_address = built.calls_address;
    function.ordered = built.ordered;
    function.grid_wide = built.grid_wide;
    function.publishes = built.publishes;
    function.observes = built.observes;
    function.publishes_to_host = built.publishes_to_host;
    function.waits = built.waits;
    function.hand_over = built.hand_over;
    function.loads_addresses = sources.loaded;
    function.stored = sources.stores.as_ref().map(|stores| {
        let mut words: Vec<u64> = stores.values().copied().collect();
        words.sort_unstable();
        words.dedup();
        words
    });
}

/// A function whose code is appended to a program.
struct Encoder<'a> {
    prepared: &'a Prepared,
    program: &'a mut Program,
    constant_places: Vec<u32>,
    /// The first instruction of each block; [`u32::MAX`] for one without code.
    starts: Vec<u32>,
    /// Instructions with their targets: jump targets are block numbers until all blocks have addresses.
    jumps: Vec<(usize, usize)>,
    tables: Vec<(usize, Vec<usize>)>,
    /// The instructions that may be in a run.
    in_runs: Vec<usize>,
}

impl Encoder<'_> {
    fn place(&self, operand: Operand) -> u32 {
        match operand {
            Operand::Nothing => LEFT_OUT,
            Operand::Register(register) => self.prepared.places.of[register as usize],
            Operand::Constant(index) => self.constant_places[index as usize] | CONSTANT,
            Operand::Number(number) => number,
        }
    }

    /// Appends the block at a position of the order.
    fn block(&mut self, position: usize) {
        let index = self.prepared.order[position];
        let following = self.prepared.order.get(position + 1);
        self.starts[index] = self.program.code.len() as u32;
        let block = &self.prepared.built.blocks[index];
        let shapes = shape_bits(block);
        for (at, draft) in block.drafts.iter().enumerate() {
            if let Next::Jump { to, always } = &draft.next {
                if *always && following == Some(to) {
                    continue;
                }
                self.jumps.push((self.program.code.len(), *to));
            }
            let instruction = self.instruction((index, at), draft, shapes[at]);
            if let (Access::Load(bytes) | Access::Store(bytes), Operand::Number(mode)) = (&draft.access, draft.c)
                && space(mode) == SHARED
            {
                let element = bytes / draft.extra.len().max(1) as u32;
                self.program.shared_elements.insert(self.program.code.len() as u32, element);
            }
            self.program.patterns.push(self.pattern(draft));
            self.program.code.push(instruction);
            self.program.locations.push(draft.location);
            let Prepared { places, built, .. } = self.prepared;
            let register = |register: u32| {
                let (place, width) = (places.of[register as usize], built.widths[register as usize]);
                Register::new(place, width, places.heads.has[register as usize])
            };
            let (read, written) = (sources(draft).map(register), writes(draft).map(register));
            self.program.operands_of.push(way(draft, &places.heads), read, written);
            if can_run_on(draft) {
                self.in_runs.push(self.program.code.len() - 1);
            }
        }
    }

    /// The instruction of a draft, by itself.
    fn instruction(&mut self, (block, at_draft): in_place::Place, draft: &Draft, shape: u32) -> Instruction {
        let built = &self.prepared.built;
        let places = &self.prepared.places;
        let Draft { mut exec, mut imm, .. } = *draft;
        let mut extra = self.program.operands.len() as u32;
        if let Next::Indexed(targets) = &draft.next {
            self.tables.push((extra as usize, targets.clone()));
            self.program.operands.resize(self.program.operands.len() + targets.len(), 0);
        } else {
            let operands: Vec<u32> = draft.extra.iter().map(|operand| self.place(*operand)).collect();
            self.program.operands.extend(operands);
        }
        let guard =
            draft.guard.map_or(UNGUARDED, |(register, negated)| places.of[register as usize] << 1 | u32::from(negated));
        let (d, a, b) = (self.place(draft.d), self.place(draft.a), self.place(draft.b));
        let mut c = self.place(draft.c) | shape;
        match draft.results {
            Results::Any | Results::CompareAndSwap | Results::Sum => {}
            Results::Load if self.prepared.guesses.contains(&(block, at_draft)) => c |= GUESS,
            Results::Load => {}
            Results::Vector => c |= unused_bits(places.unused.get(&(block, at_draft)).copied().unwrap_or(0)),
        }
        if draft.extra.is_empty() && !matches!(draft.next, Next::Indexed(_)) {
            let (bits, operation) = places.heads.encoded(draft, &built.widths, &built.constants);
            extra = bits;
            if let Some((operation, width)) = operation
                && let Some(function) = operation.function(width == Width::W64)
            {
                imm = self.program.by_lanes.len() as i64;
                self.program.by_lanes.push(std::mem::replace(&mut exec, function));
                c = operation.code().unwrap_or(c);
                extra |= LINEAR;
            }
        }
        Instruction { exec, guard, extra, d, a, b, c, imm }
    }

    /// The facts that generated code uses of a draft.
    fn pattern(&self, draft: &Draft) -> Pattern {
        let built = &self.prepared.built;
        let found = template(draft, &built.widths, &built.constants);
        Pattern {
            template: found.map(|(template, _)| template),
            wide: found.is_some_and(|(_, wide)| wide),
            has_kinds: draft.extra.is_empty() && !matches!(draft.next, Next::Indexed(_)),
            accesses: matches!(draft.access, Access::Load(_) | Access::Store(_)),
            update: draft.update,
            narrow: narrow(draft, &built.widths, &built.constants),
            falls: draft.next == Next::On
                || draft.guard.is_some()
                || found.is_some_and(|(template, _)| template == Template::BranchIf),
            indexed: matches!(draft.next, Next::Indexed(_)),
        }
    }

    /// Appends the end, which execution never passes.
    fn end(&mut self, number: usize, line: u32) {
        let exec: Exec = if self.program.functions[number].entry { branching::exit } else { branching::finish };
        let (d, a, b, c) = (LEFT_OUT, LEFT_OUT, LEFT_OUT, LEFT_OUT);
        self.program.code.push(Instruction { exec, guard: UNGUARDED, extra: 0, d, a, b, c, imm: 0 });
        self.program.patterns.push(Pattern::default());
        self.program.locations.push(Location { line, ..Default::default() });
        self.program.operands_of.push(Way::Uses, std::iter::empty(), std::iter::empty());
        self.program.functions[number].end = self.program.code.len() as u32;
    }

    /// The number of an instruction. A block that nothing reaches has no code. Only jumps at the end of a block are left out.
    fn number(&self, (block, index): &in_place::Place) -> Option<u32> {
        Some(self.starts[*block]).filter(|start| *start != u32::MAX).map(|start| start + *index as u32)
    }

    /// Marks the updates in place, and the stores that a loaded value reaches.
    fn update_in_place(&mut self) {
        let prepared = self.prepared;
        for pair in &prepared.updates.pairs {
            if let (Some(load), Some(store)) = (self.number(&pair.load), self.number(&pair.store)) {
                self.program.updates.insert((load, store), pair.update);
                [load, store].into_iter().for_each(|pc| self.program.code[pc as usize].c |= IN_PLACE);
            }
        }
        let words = prepared.sources.stores.iter().flatten();
        let words: Vec<_> = words.filter_map(|(store, words)| Some((self.number(store)?, *words))).collect();
        self.program.store_words.extend(words);
        for (load, stores) in &prepared.updates.reached {
            let Some(load) = self.number(load) else { continue };
            let reached = stores
                .iter()
                .filter_map(|(store, exchanged)| Some(Reached { store: self.number(store)?, exchanged: *exchanged }));
            let reached: Vec<_> = reached.collect();
            reached.iter().for_each(|reached| self.program.code[reached.store as usize].c |= IN_PLACE);
            self.program.reached.insert(load, reached);
        }
    }

    /// Writes the lengths of runs and the targets of jumps.
    fn resolve(self) {
        let Encoder { program, starts, .. } = self;
        for at in self.in_runs.into_iter().rev() {
            let following = program.code.get(at + 1).and_then(|next| next.guard.checked_sub(UNGUARDED)).unwrap_or(0);
            program.code[at].guard = UNGUARDED + following + 1;
        }
        for (at, block) in self.jumps {
            program.code[at].imm = i64::from(starts[block]);
        }
        for (at, targets) in self.tables {
            for (index, block) in targets.iter().enumerate() {
                program.operands[at + index] = starts[*block];
            }
        }
    }
}
