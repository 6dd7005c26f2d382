//! The resolver: from parsed modules to a program.
//!
//! Several modules are resolved together, which links them. `symbols` collects their definitions. `builder` keeps the
//! registers, constants and blocks of each function. Each family of instructions has a file (`integer`, `bits`,
//! `logic`, `floating`, `conversion`, `narrow`, `video`, `movement`, `comparison`, `memory`, `control`, `collective`
//! and others). `block_order`, `registers` and `encode` produce the final code.

mod asynchronous;
mod bits;
mod block_order;
mod builder;
mod bulk;
mod by_type;
mod carry;
mod collective;
mod comparison;
mod control;
mod conversion;
mod draft;
mod element;
mod encode;
mod floating;
mod fusion;
mod guesses;
mod in_place;
mod instruction;
mod integer;
mod linear;
mod logic;
mod matrix;
mod mbarrier;
mod memory;
mod mixed;
mod mma;
mod movement;
mod narrow;
mod operand;
mod policy;
mod registers;
mod sampler;
mod shapes;
mod stack;
mod stored;
mod surface;
mod symbols;
mod texture;
mod unsupported;
mod video;
mod wide_atomic;
mod wmma;
mod wmma_fragment;

use crate::grammar::ast::Module;
use crate::machine::program::Program;
use crate::{Error, cores};

/// Resolves and links modules: an extern declaration of one refers to a definition in another.
///
/// # Errors
/// For undefined names, operands that do not fit, and unsupported instructions, with the line.
pub(crate) fn resolve(modules: &[Module<'_>]) -> Result<Program, Error> {
    program(modules, false)
}

/// Resolves modules that are linked with others later: extern functions and variables need no definition. The result
/// cannot run.
///
/// # Errors
/// As for [`resolve`].
pub(crate) fn resolve_relocatable(modules: &[Module<'_>]) -> Result<Program, Error> {
    program(modules, true)
}

/// The functions that are resolved at once. More would take more memory.
const AT_ONCE: usize = 1024;

fn program(modules: &[Module<'_>], relocatable: bool) -> Result<Program, Error> {
    let symbols = symbols::Symbols::collect(modules, relocatable)?;
    let mut program = symbols.program(modules)?;
    let mut constants = draft::ProgramConstants::default();
    let bodies = symbols.definitions.iter().enumerate();
    let bodies: Vec<_> = bodies.filter_map(|(number, definition)| Some((number, definition.body?))).collect();
    for bodies in bodies.chunks(AT_ONCE) {
        let prepared = cores::map(bodies, |(_, (module, function))| {
            let mut builder = builder::Builder::new(&symbols, *module, function);
            builder.body()?;
            Ok(encode::prepare(builder.finish()))
        });
        for ((number, _), prepared) in bodies.iter().zip(prepared) {
            encode::encode(prepared?, &mut program, &mut constants, *number)?;
        }
    }
    program.constants = constants.list;
    Ok(program)
}
