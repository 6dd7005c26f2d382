//! The last step: blocks are put in order, operands become offsets, jumps become instruction numbers.

use super::block_order::order;
use super::builder::Built;
use super::draft::{Draft, Next, Operand};
use super::registers::{places, successors};
use crate::Error;
use crate::machine::branching;
use crate::machine::program::LEFT_OUT;
use crate::machine::program::{CONSTANT, Exec, Instruction, Program, UNGUARDED};

/// The maximum number of instructions of a program, and of register bytes of a warp.
const MAX_SIZE: usize = 1 << 24;
const WIDEST: u32 = 1 << 26;

/// Appends a function's code to a program.
pub(super) fn encode(built: Built, program: &mut Program, number: usize) -> Result<(), Error> {
    let next: Vec<Vec<usize>> = built.blocks.iter().map(successors).collect();
    let order = order(&next);
    let places = places(&built.blocks, &order, &built.widths);
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
    function.shared = built.shared;
    function.calls = built.calls;
    function.calls_address = built.calls_address;
    function.ordered = built.ordered;
    function.grid_wide = built.grid_wide;
    function.publishes = built.publishes;
    function.observes = built.observes;
    function.publishes_to_host = built.publishes_to_host;
    function.start = program.code.len() as u32;
    let mut starts = vec![u32::MAX; built.blocks.len()];
    // Jump targets are block numbers until all blocks have addresses.
    let mut jumps: Vec<(usize, usize)> = Vec::new();
    let mut tables: Vec<(usize, Vec<usize>)> = Vec::new();
    let place = |operand: Operand| match operand {
        Operand::Nothing => LEFT_OUT,
        Operand::Register(register) => places.of[register as usize],
        Operand::Constant(place) => place | CONSTANT,
        Operand::Number(number) => number,
    };
    for (position, index) in order.iter().enumerate() {
        starts[*index] = program.code.len() as u32;
        for draft in &built.blocks[*index].drafts {
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
            let (d, a, b, c) = (place(*d), place(*a), place(*b), place(*c));
            program.code.push(Instruction { exec: *exec, guard, extra: at, d, a, b, c, imm: *imm });
            program.locations.push(*location);
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
