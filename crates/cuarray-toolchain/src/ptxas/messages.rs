//! The messages of a run, in the assembler's form.

use cuarray_ptx::Error;

/// The messages of a run.
#[derive(Debug, Default)]
pub(super) struct Messages {
    lines: Vec<String>,
    /// Whether warnings are left out: `--disable-warnings`.
    pub quiet: bool,
    /// Whether warnings are errors: `--warning-as-error`.
    pub strict: bool,
    failed: bool,
}

impl Messages {
    /// Adds a warning; with `--warning-as-error`, an error.
    pub fn warning(&mut self, text: &str) {
        match (self.quiet, self.strict) {
            (true, _) => {}
            (false, true) => self.error(text),
            (false, false) => self.lines.push(format!("ptxas warning : {text}")),
        }
    }

    /// Adds information for `--verbose`.
    pub fn info(&mut self, text: &str) {
        self.lines.push(format!("ptxas info    : {text}"));
    }

    /// Adds an indented line to the information before it.
    pub fn detail(&mut self, text: &str) {
        self.lines.push(format!("    {text}"));
    }

    /// Adds an error, after which the check goes on.
    pub fn error(&mut self, text: &str) {
        self.failed = true;
        self.lines.push(format!("ptxas error   : {text}"));
    }

    /// Adds an error of a place in a file.
    pub fn error_at(&mut self, file: &str, error: &Error) {
        self.failed = true;
        let Error { line, token, message, .. } = error;
        // The grammar names the expected text; other errors are about the meaning.
        self.lines.push(if message.starts_with("expected") {
            format!("ptxas {file}, line {line}; fatal   : Parsing error near '{token}': syntax error, {message}")
        } else if error.unsupported {
            format!(
                "ptxas {file}, line {line}; error   : '{token}': {message} (valid PTX that cuarray-sim does not run)"
            )
        } else {
            format!("ptxas {file}, line {line}; error   : '{token}': {message}")
        });
    }

    /// Adds an error of a place in a file that ends the check.
    pub fn fatal_at(&mut self, file: &str, line: u32, text: &str) {
        self.failed = true;
        self.lines.push(format!("ptxas {file}, line {line}; fatal   : {text}"));
    }

    /// Adds an error for an input that cannot be read.
    pub fn unreadable(&mut self, name: &str) {
        self.failed = true;
        self.fatal(&format!("Input file '{name}' could not be opened"));
    }

    /// Adds an error that ends the run.
    pub fn fatal(&mut self, text: &str) {
        self.lines.push(format!("ptxas fatal   : {text}"));
    }

    /// Ends a run that reported errors. Returns whether it did.
    pub fn abort_after_errors(&mut self) -> bool {
        if self.failed {
            self.fatal("Ptx assembly aborted due to errors");
        }
        self.failed
    }

    /// All messages, a line each.
    pub fn text(&self) -> String {
        self.lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect()
    }
}
