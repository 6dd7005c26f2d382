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
    /// Whether no module defines the token. It is the whole name then, as a linker states it.
    pub undefined: bool,
}

impl Error {
    pub(crate) fn new(line: u32, token: &str, message: &str) -> Error {
        let (token, message) = (readable(token), message.to_owned());
        Error { module: String::new(), line, token, message, unsupported: false, undefined: false }
    }

    pub(crate) fn undefined(line: u32, name: &str, message: &str) -> Error {
        Error { token: escaped(name).collect(), undefined: true, ..Error::new(line, "", message) }
    }

    pub(crate) fn unsupported(line: u32, token: &str, message: &str) -> Error {
        Error { unsupported: true, ..Error::new(line, token, message) }
    }

    /// Adds the name of the module.
    pub(crate) fn in_module(self, name: &str) -> Error {
        let module = if self.undefined { escaped(name).collect() } else { readable(name) };
        Error { module, ..self }
    }

    /// The message of NVIDIA's linkers for an undefined name.
    pub fn undefined_reference(&self) -> Option<String> {
        let Error { module, token, .. } = self;
        self.undefined.then(|| format!("error   : Undefined reference to '{token}' in '{module}'"))
    }
}

/// The characters of a text for a message, with control characters escaped.
fn escaped(text: &str) -> impl Iterator<Item = String> {
    text.chars().map(|c| if c.is_control() { c.escape_default().to_string() } else { c.to_string() })
}

/// The first 80 characters of a text for a message.
fn readable(text: &str) -> String {
    escaped(text).take(80).collect()
}

impl std::error::Error for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}; '{}': {}", self.line, self.token, self.message)
    }
}
