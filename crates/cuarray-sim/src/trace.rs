//! The trace: one line for every call.
//!
//! A line holds the thread, the exported symbol, the arguments as numbers, the result, the duration, and the call site
//! unless the call is a query:
//!
//! ```text
//! [1] cuMemAlloc_v2(dptr=0x7ffd0c0, bytesize=0x400) = CUDA_SUCCESS 3us from train.py:7 in load, called by numba.cuda
//! ```

use cuarray_abi::*;
use cuarray_races::site::Site;
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
handle_words! { CUcontext CUstream CUevent CUmodule CUfunction CUlibrary CUkernel CUlinkState CUmemoryPool CUgraph CUgraphNode CUgraphExec CUuserObject CUresult }

impl<T> Word for *mut T {
    fn word(&self) -> u64 {
        *self as u64
    }
}

impl<T> Word for *const T {
    fn word(&self) -> u64 {
        *self as u64
    }
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
        arguments: &[(&str, u64)],
        result: CUresult,
        thread: u64,
        site: &Site,
        took: Duration,
    ) {
        let mut line = format!("[{thread}] {symbol}(");
        for (index, (name, word)) in arguments.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            let _ = write!(line, "{comma}{name}={word:#x}");
        }
        let _ = match result.name() {
            Some(name) => write!(line, ") = {name} {}us", took.as_micros()),
            None => write!(line, ") = {} {}us", result.0, took.as_micros()),
        };
        let _ = if site.is_unknown() { writeln!(line) } else { writeln!(line, " from {site}") };
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = file.write_all(line.as_bytes());
    }
}
