//! The trace: one line for every call.
//!
//! A line holds the thread, the exported symbol, the arguments, the result, the duration, and the call site unless the
//! call is a query. Arguments are numbers, and names are texts:
//!
//! ```text
//! [1] cuMemAlloc_v2(dptr=0x7ffd0c0, bytesize=0x400) = CUDA_SUCCESS 3us from train.py:7 in load, called by numba.cuda
//! ```

use crate::memory::probe;
use cuarray_abi::*;
use cuarray_races::site::Site;
use std::any::TypeId;
use std::ffi::{c_char, c_int, c_uint};
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// An argument as one number.
pub(crate) trait Word {
    fn word(&self) -> u64;

    /// The argument as a text, if it is a readable string.
    fn text(&self) -> Option<String> {
        None
    }
}

macro_rules! words {
    ($($ty:ty)*) => {$(impl Word for $ty { fn word(&self) -> u64 { *self as u64 } })*};
}
words! { u8 u16 c_uint c_int u64 usize }

impl Word for f32 {
    fn word(&self) -> u64 {
        self.to_bits().into()
    }
}

macro_rules! handle_words {
    ($($ty:ty)*) => {$(impl Word for $ty { fn word(&self) -> u64 { self.0 as u64 } })*};
}
handle_words! { CUarray CUmipmappedArray CUtexref CUsurfref CUcontext CUstream CUevent CUmodule CUfunction CUlibrary CUkernel CUlinkState CUmemoryPool CUgraph CUgraphNode CUgraphExec CUuserObject CUresult }

impl<T> Word for *mut T {
    fn word(&self) -> u64 {
        *self as u64
    }
}

impl<T: 'static> Word for *const T {
    fn word(&self) -> u64 {
        *self as u64
    }

    /// Entry points pass only strings as `const char *`.
    fn text(&self) -> Option<String> {
        (TypeId::of::<T>() == TypeId::of::<c_char>()).then(|| probe::text_at(*self as u64, 200)).flatten()
    }
}

/// The arguments of a call, as the trace shows them.
pub(crate) fn shown(arguments: &[(&str, &dyn Word)]) -> String {
    let mut line = String::new();
    for (index, (name, argument)) in arguments.iter().enumerate() {
        let comma = if index == 0 { "" } else { ", " };
        let _ = match argument.text() {
            Some(text) => write!(line, "{comma}{name}={text:?}"),
            None => write!(line, "{comma}{name}={:#x}", argument.word()),
        };
    }
    line
}

macro_rules! function_words {
    ($($ty:ty)*) => {$(impl Word for $ty { fn word(&self) -> u64 { self.map_or(0, |function| function as usize as u64) } })*};
}
function_words! { CUstreamCallback CUhostFn CUoccupancyB2DSize }

impl Word for CUmemLocation {
    fn word(&self) -> u64 {
        u64::from(self.kind) << 32 | u64::from(self.id as u32)
    }
}

impl Word for CUipcMemHandle {
    fn word(&self) -> u64 {
        self.reserved.iter().take(8).fold(0, |word, byte: &c_char| word << 8 | u64::from(*byte as u8))
    }
}

impl Word for CUipcEventHandle {
    fn word(&self) -> u64 {
        self.reserved.iter().take(8).fold(0, |word, byte: &c_char| word << 8 | u64::from(*byte as u8))
    }
}

/// An open trace.
pub(crate) struct Trace {
    file: Mutex<File>,
}

impl Trace {
    pub(crate) fn create(path: &Path) -> Result<Trace, String> {
        let file = File::create(path);
        let file = file.map_err(|error| format!("CUARRAY_SIM_TRACE={}: {error}", path.display()))?;
        Ok(Trace { file: Mutex::new(file) })
    }

    /// Writes one call. A failure to write (such as a full disk) does not fail the program.
    pub(crate) fn write(
        &self,
        symbol: &str,
        arguments: &str,
        result: CUresult,
        thread: u64,
        site: &Site,
        took: Duration,
    ) {
        let mut line = format!("[{thread}] {symbol}({arguments}");
        let _ = match result.name() {
            Some(name) => write!(line, ") = {name} {}us", took.as_micros()),
            None => write!(line, ") = {} {}us", result.0, took.as_micros()),
        };
        let _ = if site.is_unknown() { writeln!(line) } else { writeln!(line, " from {site}") };
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = file.write_all(line.as_bytes());
    }
}
