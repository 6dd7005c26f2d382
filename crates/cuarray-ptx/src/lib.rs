//! Kernels: PTX read, resolved and executed.
//!
//! From text to results in four steps, each in files of its own. `lexer` and `parser` make an `ast` of the text. `resolve`
//! gives every name its meaning and every instruction the one function that executes it, finds the order of the code in
//! which diverged threads meet again, and shares registers among values; out comes a compact [`program`]. `link` joins
//! several modules before that, and `fatbin` finds PTX in containers. `execute` runs a program, a warp at a time: each instruction for
//! 32 threads at once, so that its dispatch costs little. `float` is exact arithmetic in every rounding mode.
//!
//! What is not supported fails the load by its name and line; nothing is skipped.

mod ast;
mod execute;
mod fatbin;
mod float;
mod image;
mod lexer;
mod parser;
mod program;
mod resolve;
mod types;

pub use execute::memory::{SHARED_WINDOW, in_window};
pub use execute::{
    Access, AccessKind, Fault, FaultKind, Launch, NoService, Outcome, Race, Region, Service, TouchedRange, execute,
};
pub use image::{Image, Refusal};
pub use program::{Function, Location, Parameter, Program, Variable};
pub use types::Space;

use std::fmt;

/// Makes a program of an image: reads, links and resolves its modules.
///
/// # Errors
/// For what is no PTX, names that are not defined, and what is not supported, with the name of the module.
pub fn load(image: &Image) -> Result<Program, (String, Error)> {
    let mut modules = Vec::new();
    for (name, text) in &image.modules {
        modules.push(parser::parse(text).map_err(|error| (readable(name), error))?);
    }
    let mut program = resolve::resolve(&modules).map_err(|error| (String::new(), error))?;
    program.max_registers = image.max_registers;
    Ok(program)
}

/// The start of a text, for a message: containers may have any characters in theirs.
fn readable(text: &str) -> String {
    let shown = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    text.chars().take(80).map(shown).collect()
}

/// Why PTX was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The line of the PTX text, counted from 1.
    pub line: u32,
    /// The token or instruction that is wrong.
    pub token: String,
    /// The reason.
    pub message: String,
    /// Whether the text is PTX, but more than this driver can execute.
    pub unsupported: bool,
}

impl Error {
    fn new(line: u32, token: &str, message: &str) -> Error {
        let token = readable(token);
        Error { line, token, message: message.to_owned(), unsupported: false }
    }

    fn unsupported(line: u32, token: &str, message: &str) -> Error {
        Error { unsupported: true, ..Error::new(line, token, message) }
    }
}

impl std::error::Error for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}; '{}': {}", self.line, self.token, self.message)
    }
}

#[cfg(test)]
mod tests;
