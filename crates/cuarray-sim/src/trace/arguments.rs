//! The arguments of calls, as the trace shows them: numbers, and texts for names.

use crate::pages::probe;
use cuarray_abi::*;
use std::any::TypeId;
use std::ffi::{c_char, c_int, c_uint};
use std::fmt::Write as _;

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
handle_words! { CUarray CUmipmappedArray CUtexref CUsurfref CUcontext CUstream CUevent CUmodule CUfunction CUlibrary CUkernel CUlinkState CUmemoryPool CUgraph CUgraphNode CUgraphExec CUuserObject CUgreenCtx CUdevResourceDesc CUresult CUlogsCallbackHandle CUasyncCallbackHandle }

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
function_words! { CUstreamCallback CUhostFn CUgraphRecaptureCallback CUoccupancyB2DSize CUlogsCallback CUasyncCallback }

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
