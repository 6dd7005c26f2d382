//! The trace as text: one line for every call.
//!
//! A line holds the thread, the exported symbol, the arguments, the result, the duration, and the call site unless the
//! call is a query:
//!
//! ```text
//! [1] cuMemAlloc_v2(dptr=0x7ffd0c0, bytesize=0x400) = CUDA_SUCCESS 3us from train.py:7 in load, called by numba.cuda
//! ```

use super::Made;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::sync::{Mutex, PoisonError};

/// An open trace of lines.
pub(crate) struct Lines {
    file: Mutex<File>,
}

impl Lines {
    pub(super) fn new(file: File) -> Lines {
        Lines { file: Mutex::new(file) }
    }

    /// Writes one call. A failure to write (such as a full disk) does not fail the program.
    pub(super) fn write(&self, call: &Made<'_>, arguments: &str) {
        let Made { symbol, result, thread, site, .. } = call;
        let took = call.took.as_micros();
        let mut line = format!("[{thread}] {symbol}({arguments}");
        let _ = match result.name() {
            Some(name) => write!(line, ") = {name} {took}us"),
            None => write!(line, ") = {} {took}us", result.0),
        };
        let _ = if site.is_unknown() { writeln!(line) } else { writeln!(line, " from {site}") };
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = file.write_all(line.as_bytes());
    }
}
