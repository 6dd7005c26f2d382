//! The last step: blocks are put in order, operands become offsets, jumps become instruction numbers.

use super::block_order::order;
use super::builder::Built;
use super::draft::{Access, Draft, Next, Operand, ProgramConstants, Results};
use super::fusion;
use super::guesses;
use super::in_place;
use super::registers::{Places, places, reads, successors, writes};
use super::shapes::shape_bits;
use super::stored;
use crate::Error;
use crate::grammar::types::Width;
use crate::machine::access_mode::{GUESS, IN_PLACE, unused_bits};
use crate::machine::branching;
use crate::machine::exchange::USED_AT_ONCE;
use crate::machine::fused::loads_and_multiply_add;
use crate::machine::linear::LINEAR;
use crate::machine::program::LEFT_OUT;
use crate::machine::program::{CONSTANT, Constant, Exec, Instruction, Program, Reached, UNGUARDED};
use rustc_hash::{FxHashMap, FxHashSet};

/// The maximum number of instructions of a program, and of register bytes of a warp.
const MAX_SIZE: usize = 1 << 24;
const WIDEST: u32 = 1 << 26;

/// Whether the instructions after a shuffle write its result, or a value computed from it, to memory in all lanes. A guarded
/// instruction, a selection by a predicate, a branch and a further shuffle may leave out the lanes with an undefined value.
fn is_used_at_once(shuffle: &Draft, after: &[Draft], widths: &[Width]) -> bool {
    let mut undefined: FxHashSet<u32> = writes(shuffle).collect();
    for draft in after {
        let depends = reads(draft).any(|read| undefined.contains(&read));
        if depends {
            let is_predicate = |read: u32| widths[read as usize] == Width::Predicate;
            let may_leave_out = draft.guard.is_some()
                || draft.results == Results::Shuffle
                || draft.next != Next::On
                || reads(draft).any(is_predicate);
            if may_leave_out {
                return false;
            }
            // Only an effect besides registers, such as a store.
            if writes(draft).next().is_none() {
                return true;
            }
            undefined.extend(writes(draft));
        } else {
            writes(draft).for_each(|register| _ = undefined.remove(&register));
        }
    }
    false
}

/// Whether an instruction may be in a run; see [`UNGUARDED`].
fn can_run_on(draft: &Draft) -> bool {
    draft.guard.is_none() && draft.next == Next::On && (draft.access != Access::None || draft.per_lane)
}

/// A function with all that is known of it before its code has a place.
pub(super) struct Prepared {
    built: Built,
    order: Vec<usize>,
    places: Places,
    sources: Option<FxHashMap<in_place::Place, u64>>,
    guesses: FxHashSet<in_place::Place>,
    read_counts: Vec<u32>,
    updates: in_place::Updates,
}

/// Orders a function's blocks, places its registers, and finds the uses of its values.
pub(super) fn prepare(built: Built) -> Prepared {
    let next: Vec<Vec<usize>> = built.blocks.iter().map(successors).collect();
    let order = order(&next);
    Prepared {
        places: places(&built.blocks, &order, &built.widths, &built.constants),
        sources: stored::sources_of_stores(&built),
        guesses: guesses::guesses(&built.blocks),
        read_counts: fusion::read_counts(&built.blocks, built.widths.len()),
        updates: in_place::updates(&built.blocks),
        order,
        built,
    }
}

/// Appends a function's code to a program, and its constants to those of the program.
pub(super) fn encode(
    prepared: Prepared,
    program: &mut Program,
    constants: &mut ProgramConstants,
    number: usize,
) -> Result<(), Error> {
    let Prepared { built, order, places, sources, guesses, read_counts, updates } = prepared;
    let own_variables = program.variables.len() as u32;
    let final_number = |number: u32| match number.checked_sub(built.first_variable) {
        Some(own) => own_variables + own,
        None => number,
    };
    program.variables.extend(built.variables);
    program.reserves |= built.reserves;
    let constant_places = built.constants.iter().map(|(value, width)| match value {
        Constant::Variable(number, offset) => {
            constants.place(Constant::Variable(final_number(*number), *offset), *width)
        }
        Constant::Bits(_) => constants.place(*value, *width),
    });
    let constant_places: Vec<u32> = constant_places.collect();
    let function = &mut program.functions[number];
    let line = built.blocks.iter().find_map(|block| Some(block.drafts.first()?.location.line)).unwrap_or(0);
    if places.frame > WIDEST || program.code.len() > MAX_SIZE {
        return Err(Error::unsupported(line, &function.name, "the function is too large"));
    }
    function.frame = places.frame;
    function.cleared = places.cleared;
    function.registers = places.words;
    function.local = built.local.max(function.local);
    function.local_variables = built.local_variables;
    function.shared = built.shared.into_iter().map(final_number).collect();
    function.calls = built.calls;
    function.calls_address = built.calls_address;
    function.ordered = built.ordered;
    function.grid_wide = built.grid_wide;
    function.publishes = built.publishes;
    function.observes = built.observes;
    function.publishes_to_host = built.publishes_to_host;
    function.waits = built.waits;
    function.hand_over = built.hand_over;
    function.stored = sources.as_ref().map(|stores| {
        let mut words: Vec<u64> = stores.values().copied().collect();
        words.sort_unstable();
        words.dedup();
        words
    });
    function.start = program.code.len() as u32;
    let mut starts = vec![u32::MAX; built.blocks.len()];
    // Jump targets are block numbers until all blocks have addresses.
    let mut jumps: Vec<(usize, usize)> = Vec::new();
    let mut tables: Vec<(usize, Vec<usize>)> = Vec::new();
    let place = |operand: Operand| match operand {
        Operand::Nothing => LEFT_OUT,
        Operand::Register(register) => places.of[register as usize],
        Operand::Constant(index) => constant_places[index as usize] | CONSTANT,
        Operand::Number(number) => number,
    };
    let mut in_runs = Vec::new();
    for (position, index) in order.iter().enumerate() {
        starts[*index] = program.code.len() as u32;
        let shapes = shape_bits(&built.blocks[*index]);
        let mut end_of_product = 0;
        for (at_draft, draft) in built.blocks[*index].drafts.iter().enumerate() {
            let Draft { exec, d, a, b, c, extra, imm, guard, location, .. } = draft;
            if let Next::Jump { to, always } = &draft.next {
                if *always && order.get(position + 1) == Some(to) {
                    continue;
                }
                jumps.push((program.code.len(), *to));
            }
            let at = program.operands.len() as u32;
            if let Next::Indexed(targets) = &draft.next {
                tables.push((at as usize, targets.clone()));
                program.operands.resize(program.operands.len() + targets.len(), 0);
            } else {
                program.operands.extend(extra.iter().map(|operand| place(*operand)));
            }
            let guard =
                guard.map_or(UNGUARDED, |(register, negated)| places.of[register as usize] << 1 | u32::from(negated));
            let (d, a, mut b, mut c) = (place(*d), place(*a), place(*b), place(*c));
            if shapes[at_draft] != 0 {
                c |= shapes[at_draft];
            }
            let mut imm = *imm;
            match draft.results {
                Results::Any | Results::CompareAndSwap | Results::Sum | Results::MultiplyAdd => {}
                Results::Load if guesses.contains(&(*index, at_draft)) => c |= GUESS,
                Results::Load => {}
                Results::Vector => c |= unused_bits(places.unused.get(&(*index, at_draft)).copied().unwrap_or(0)),
                Results::Shuffle => {
                    let after = &built.blocks[*index].drafts[at_draft + 1..];
                    imm |= if is_used_at_once(draft, after, &built.widths) { USED_AT_ONCE } else { 0 };
                }
            }
            let (mut exec, mut at) = (*exec, at);
            if draft.extra.is_empty() && !matches!(draft.next, Next::Indexed(_)) {
                let (bits, operation) = places.heads.encoded(draft, &built.widths, &built.constants);
                at = bits;
                if let Some((operation, width)) = operation
                    && let Some(function) = operation.function(width == Width::W64)
                {
                    imm = program.by_lanes.len() as i64;
                    program.by_lanes.push(std::mem::replace(&mut exec, function));
                    c = operation.code().unwrap_or(c);
                    at |= LINEAR;
                }
            }
            let rest = (&built.blocks[*index].drafts[at_draft..], &shapes[at_draft..]);
            if let Some(used) = fusion::multiply_add(rest.0, rest.1, &read_counts) {
                (exec, at) = (loads_and_multiply_add(exec), at | used);
                if at_draft >= end_of_product
                    && let Some(product) = fusion::inner_product(rest.0, rest.1, &read_counts)
                {
                    end_of_product = at_draft + 3 * product.offsets.len();
                    b = program.inner_products.len() as u32;
                    program.inner_products.push(product);
                }
            }
            program.code.push(Instruction { exec, guard, extra: at, d, a, b, c, imm });
            program.locations.push(*location);
            if can_run_on(draft) {
                in_runs.push(program.code.len() - 1);
            }
        }
    }
    // Execution never passes the end of a function.
    let exec: Exec = if function.entry { branching::exit } else { branching::finish };
    let nowhere = LEFT_OUT;
    program.code.push(Instruction {
        exec,
        guard: UNGUARDED,
        extra: 0,
        d: nowhere,
        a: nowhere,
        b: nowhere,
        c: nowhere,
        imm: 0,
    });
    program.locations.push(crate::machine::program::Location { line, ..Default::default() });
    program.functions[number].end = program.code.len() as u32;
    // A block that nothing reaches has no code. Only jumps at the end of a block are left out.
    let number = |(block, index): &in_place::Place| {
        Some(starts[*block]).filter(|start| *start != u32::MAX).map(|start| start + *index as u32)
    };
    for pair in &updates.pairs {
        if let (Some(load), Some(store)) = (number(&pair.load), number(&pair.store)) {
            program.updates.insert((load, store), pair.update);
            [load, store].into_iter().for_each(|pc| program.code[pc as usize].c |= IN_PLACE);
        }
    }
    let stores = sources.iter().flatten();
    program.store_words.extend(stores.filter_map(|(store, words)| Some((number(store)?, *words))));
    for (load, stores) in &updates.reached {
        let Some(load) = number(load) else { continue };
        let stores = stores
            .iter()
            .filter_map(|(store, exchanged)| Some(Reached { store: number(store)?, exchanged: *exchanged }));
        let stores: Vec<_> = stores.collect();
        stores.iter().for_each(|reached| program.code[reached.store as usize].c |= IN_PLACE);
        program.reached.insert(load, stores);
    }
    for at in in_runs.into_iter().rev() {
        let following = program.code.get(at + 1).and_then(|next| next.guard.checked_sub(UNGUARDED)).unwrap_or(0);
        program.code[at].guard = UNGUARDED + following + 1;
    }
    for (at, block) in jumps {
        program.code[at].imm = i64::from(starts[block]);
    }
    for (at, targets) in tables {
        for (index, block) in targets.iter().enumerate() {
            program.operands[at + index] = starts[*block];
        }
    }
    Ok(())
}
