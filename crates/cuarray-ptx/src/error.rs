//! Errors of PTX text.

use std::fmt;

/// The reason why a program was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The name of the module; empty if the image names none.
    pub module: String,
    /// The line of the PTX text, counted from 1.
    pub line: u32,
    /// The wrong token or instruction.
    pub token: String,
    /// The reason.
    pub message: String,
    /// Whether the text is valid PTX that this crate does not support.
    pub unsupported: bool,
}

impl Error {
    pub(crate) fn new(line: u32, token: &str, message: &str) -> Error {
        let (token, message) = (readable(token), message.to_owned());
        Error { module: String::new(), line, token, message, unsupported: false }
    }

    pub(crate) fn unsupported(line: u32, token: &str, message: &str) -> Error {
        Error { unsupported: true, ..Error::new(line, token, message) }
    }

    /// Adds the name of the module.
    pub(crate) fn in_module(self, name: &str) -> Error {
        Error { module: readable(name), ..self }
    }
}

/// The first 80 characters of a text for a message, with control characters escaped.
fn readable(text: &str) -> String {
    let shown = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    text.chars().take(80).map(shown).collect()
}

impl std::error::Error for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}; '{}': {}", self.line, self.token, self.message)
    }
}
