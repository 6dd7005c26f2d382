//! From what PTX says to what is executed: names get their meaning, and instructions their functions.
//!
//! Several modules are resolved together; that is linking. `symbols` collects what they define; each function then goes
//! through `builder` (which keeps registers, constants and the blocks of code) and the families of instructions (`integer`,
//! `logic`, `floating`, `conversion`, `narrow`, `video`, `movement`, `comparison`, `memory`, `control`, `collective`), and at last
//! through `order` and `registers`, which give the code its final form.

mod asynchronous;
mod bits;
mod block_order;
mod builder;
mod by_type;
mod carry;
mod collective;
mod comparison;
mod control;
mod conversion;
mod encode;
mod floating;
mod instruction;
mod integer;
mod logic;
mod mbarrier;
mod memory;
mod movement;
mod narrow;
mod operand;
mod registers;
mod stack;
mod symbols;
mod video;
mod wide_atomic;

use crate::Error;
use crate::grammar::ast::Module;
use crate::machine::program::Program;

/// Makes a program of modules; what one declares as extern, another one defines.
///
/// # Errors
/// For names that are not defined, operands that do not fit, and instructions that are not supported, with the line.
pub(crate) fn resolve(modules: &[Module<'_>]) -> Result<Program, Error> {
    let symbols = symbols::Symbols::collect(modules)?;
    let mut program = symbols.program(modules)?;
    let mut constants = builder::Constants::default();
    for (number, definition) in symbols.definitions.iter().enumerate() {
        if let Some((module, function)) = definition.body {
            let mut builder = builder::Builder::new(&symbols, module, function, &mut constants);
            builder.body()?;
            encode::encode(builder.finish(), &mut program, number)?;
        }
    }
    program.constants = constants.list;
    Ok(program)
}
