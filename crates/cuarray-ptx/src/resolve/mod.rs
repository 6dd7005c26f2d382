//! The resolver: from parsed modules to a program.
//!
//! Several modules are resolved together, which links them. `symbols` collects their definitions. `builder` keeps the
//! registers, constants and blocks of each function. Each family of instructions has a file (`integer`, `bits`,
//! `logic`, `floating`, `conversion`, `narrow`, `video`, `movement`, `comparison`, `memory`, `atomic`, `control`, `collective`
//! and others). `block_order`, `registers` and `encode` produce the final code.

mod address;
mod asynchronous;
mod atomic;
mod atomic_operation;
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
mod guesses;
mod in_place;
mod integer;
mod integer_operations;
mod linear;
mod logic;
mod matrix;
mod mbarrier;
mod memory;
mod mixed;
mod mma;
mod movement;
mod narrow;
mod opcodes;
mod operand;
mod ordering;
mod policy;
mod quick_conversion;
mod registers;
mod rounded;
mod rounding_code;
mod sampler;
mod shapes;
mod stack;
mod stored;
mod surface;
mod symbols;
mod template;
mod texture;
mod unsupported;
mod video;
mod wide_atomic;
mod wmma;
mod wmma_fragment;

use crate::grammar::ast::{Body, Function, Module};
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

fn program(modules: &[Module<'_>], relocatable: bool) -> Result<Program, Error> {
    let symbols = symbols::Symbols::collect(modules, relocatable)?;
    let mut program = symbols.program(modules)?;
    let mut constants = draft::ProgramConstants::default();
    let functions =
        modules.iter().enumerate().flat_map(|(module, all)| all.functions.iter().map(move |one| (module, one)));
    let bodies: Vec<_> = functions.filter_map(|(module, function)| Some((module, function, function.body?))).collect();
    let prepare = |(module, function, body): &(usize, &Function<'_>, Body<'_>)| {
        let statements = body.statements()?;
        let Some(number) = symbols.number(*module, function) else { return Ok(None) };
        let mut builder = builder::Builder::new(&symbols, *module, function);
        builder.body(&statements)?;
        Ok(Some((number, encode::prepare(builder.finish()))))
    };
    cores::map(&bodies, prepare, |(module, ..), prepared| {
        let encoded = prepared.and_then(|prepared| match prepared {
            Some((number, prepared)) => encode::encode(prepared, &mut program, &mut constants, number),
            None => Ok(()),
        });
        encoded.map_err(|error: Error| error.in_module(modules[*module].name))
    })?;
    symbols::place_shared(&mut program);
    program.constants = constants.list;
    // The linker counts the variables of relocatable code.
    let kernels = bodies.iter().filter(|(_, function, _)| function.entry && !relocatable);
    for (module, function, _) in kernels {
        let Some(&number) = program.kernels.get(function.name) else { continue };
        let bytes = program.shared_bytes(number);
        if bytes > MOST_STATIC_SHARED {
            let message = format!(
                "the kernel uses too much static shared memory ({bytes:#x} bytes, {MOST_STATIC_SHARED:#x} at most): use \
                 dynamic shared memory"
            );
            return Err(Error::new(function.line, function.name, &message).in_module(modules[*module].name));
        }
    }
    Ok(program)
}

/// The most static shared memory of a kernel, on every architecture.
const MOST_STATIC_SHARED: u64 = 48 << 10;
