//! The CUDA driver: loaded at run time, called through a table, with one function here for each driver call.
//!
//! **Driver, not runtime.** All CUDA libraries in a process share the driver API, whichever runtime each was built with. Handles
//! and addresses of one library are valid in all. The driver is loaded and never linked: a program that uses this crate starts on
//! a machine without a GPU, and gets an error only when it asks for one.
//!
//! **Safety.** Each object owns its handle or borrows it, and its documentation says which. It holds its [`Context`], which holds
//! the [`Driver`], so no object outlives what it needs. A call pushes its context and pops it on return, so other libraries of the
//! process keep the current context they chose. Functions on raw addresses ([`copy`], [`fill`]) are `unsafe`, because no type can
//! prove that an address is valid. Launches are `unsafe`, because no type describes what a kernel does.
//!
//! **Errors.** An [`Error`](crate::Error) has the result code and the name of the call in the driver's manual. If the driver lacks
//! an entry point, an older equivalent is called; without one, the call returns a separate error. No function panics.
//!
//! **Drops.** A destructor cannot return an error. The objects of a destroyed context, and of a driver that has shut
//! down, no longer exist, so these two failures count as success. [`Driver::take_drop_error`] returns the first of
//! all other failures.
//!
//! **Process exit.** The driver shuts down when the process exits. A later drop makes no call, and its result is
//! `CUDA_ERROR_DEINITIALIZED`.
//!
//! ```
//! use cuarray::{Driver, Stream, driver::Allocation};
//!
//! # cuarray::__simulated!(driver);
//! let context = driver.default_context()?; // the thread's current one, or the first device's
//! let stream = Stream::non_blocking(&context)?;
//! let memory = Allocation::device(&context, 1 << 20)?;
//! assert!(stream.is_done()? && memory.device_ptr() != 0);
//! // Each object is released when dropped, and the thread keeps its current context.
//! # Ok::<(), cuarray::Error>(())
//! ```
//!
//! Driver API: [the manual](https://docs.nvidia.com/cuda/cuda-driver-api/index.html).

mod capture;
pub(crate) mod context;
mod context_state;
pub mod copy;
mod current;
mod deferred;
mod deferred_list;
pub(crate) mod device;
pub(crate) mod event;
mod event_pool;
pub mod fill;
mod fork;
mod graph;
mod idle_events;
mod ipc;
#[cfg(feature = "python")]
mod legacy;
#[cfg(feature = "python")]
mod lent_pool;
mod library;
mod load;
pub(crate) mod loaded;
mod memory;
mod pointer;
pub(crate) mod process_end;
mod relaxed;
mod shared_pool;
pub(crate) mod stream;
mod table;

pub(crate) use capture::CaptureStatus;
pub(crate) use context::Context;
pub(crate) use context_state::ContextData;
pub use cuarray_abi::{Api, CUcontext, CUresult};
pub use current::Current;
pub(crate) use device::Device;
pub(crate) use event::Event;
pub(crate) use event_pool::PooledEvent;
pub(crate) use ipc::{IpcMemHandle, IpcMemory};
pub use memory::{Allocation, MemoryKind};
pub use pointer::PointerAttributes;
pub(crate) use shared_pool::SharedPools;
pub(crate) use stream::Stream;

pub(crate) use loaded::{Driver, of_another_driver};

use crate::Result;
use crate::interpreter::lock;
pub(crate) use deferred::{DeferredRelease, Library, never_release};
pub(crate) use graph::keep_with_graph;

/// Calls an entry point of a table: `call!(driver, cuMemAlloc_v2(&mut address, len))`.
///
/// `a | b (…)` calls `b` if the driver lacks `a`; both take the same arguments. Use it inside `unsafe`.
macro_rules! call {
    ($driver:expr, $newer:ident | $older:ident ($($argument:expr),* $(,)?)) => {
        if $driver.api().$newer.is_some() {
            call!($driver, $newer($($argument),*))
        } else {
            call!($driver, $older($($argument),*))
        }
    };
    ($driver:expr, $symbol:ident ($($argument:expr),* $(,)?)) => {
        match $driver.api().$symbol {
            Some(function) => $crate::driver::check(
                const { $crate::driver::manual_name(stringify!($symbol)) },
                if $crate::driver::process_end::has_come() {
                    $crate::driver::CUresult::CUDA_ERROR_DEINITIALIZED
                } else if const { $crate::driver::can_block(stringify!($symbol)) } {
                    $crate::interpreter::driver_call(|| function($($argument),*))
                } else {
                    function($($argument),*)
                },
            ),
            None => Err($crate::Error::missing_symbol(stringify!($symbol))),
        }
    };
}
pub(crate) use call;

/// The manual's name of a symbol: `cuMemAlloc` for `cuMemAlloc_v2`.
pub(crate) const fn manual_name(symbol: &'static str) -> &'static str {
    let bytes = symbol.as_bytes();
    match bytes {
        [name @ .., b'_', b'v', b'1'..=b'9'] => symbol.split_at(name.len()).0,
        _ => symbol,
    }
}

/// Whether a call of an entry point can wait: for work in a stream, for room in a stream's queue, or for the driver's compiler.
pub(crate) const fn can_block(symbol: &'static str) -> bool {
    const BEGINNINGS: &[&str] = &[
        "cuCtxRecordEvent",
        "cuCtxSynchronize",
        "cuCtxWaitEvent",
        "cuDevicePrimaryCtxRe", // Retain, Release
        "cuEventRecord",
        "cuEventSynchronize",
        "cuGreenCtxRecordEvent",
        "cuGreenCtxWaitEvent",
        "cuIpcCloseMemHandle",
        "cuIpcOpenMemHandle",
        "cuLaunch",
        "cuMemAlloc",
        "cuMemFree",
        "cuMemHostAlloc",
        "cuMemcpy",
        "cuMemset",
        "cuModuleGetFunction",
        "cuModuleLoad",
        "cuModuleUnload",
        "cuStreamSynchronize",
        "cuStreamWaitEvent",
    ];
    let mut index = 0;
    while index < BEGINNINGS.len() {
        if begins_with(symbol.as_bytes(), BEGINNINGS[index].as_bytes()) {
            return true;
        }
        index += 1;
    }
    false
}

const fn begins_with(text: &[u8], beginning: &[u8]) -> bool {
    let mut index = 0;
    while index < beginning.len() {
        if index == text.len() || text[index] != beginning[index] {
            return false;
        }
        index += 1;
    }
    true
}

pub(crate) fn check(call: &'static str, code: CUresult) -> Result<()> {
    if code.is_success() { Ok(()) } else { Err(fork::explained(call, code)) }
}

/// Converts the result of a status query: done, not yet done, or an error.
fn is_ready(result: Result<()>) -> Result<bool> {
    match result {
        Ok(()) => Ok(true),
        Err(error) if error.driver_code() == Some(CUresult::CUDA_ERROR_NOT_READY) => Ok(false),
        Err(error) => Err(error),
    }
}

/// The lock of [`idle_events`], and the lock and flag of [`deferred_list`]. Model tests replace them.
mod sync {
    pub(super) use crate::lock::Lock;
    pub(super) use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
}

const _: () = {
    const fn shareable<T: Send + Sync + 'static>() {}
    shareable::<Driver>();
    shareable::<Device>();
    shareable::<Context>();
    shareable::<Stream>();
    shareable::<Event>();
    shareable::<PooledEvent>();
    shareable::<Allocation>();
    shareable::<IpcMemory>();
};

#[cfg(test)]
mod tests {
    use super::*;
    use cuarray_abi::ENTRY_POINTS;

    #[test]
    fn calls_that_wait_for_work_can_block() {
        for entry in ENTRY_POINTS {
            if entry.flags.edge || entry.group == "transfer" {
                assert!(can_block(entry.symbol), "{}", entry.symbol);
            }
            let is_query = entry.flags.orders && !entry.flags.edge;
            if is_query || entry.group == "pointer" || entry.group == "capture" {
                assert!(!can_block(entry.symbol), "{}", entry.symbol);
            }
        }
        assert!(can_block("cuLaunchKernel") && can_block("cuModuleLoadDataEx") && can_block("cuMemFree_v2"));
        assert!(!can_block("cuCtxGetCurrent") && !can_block("cuMem") && !can_block("cuStreamIsCapturing"));
    }

    #[test]
    fn errors_name_calls_as_the_manual_does() {
        assert_eq!(manual_name("cuMemAlloc_v2"), "cuMemAlloc");
        assert_eq!(manual_name("cuStreamWaitEvent"), "cuStreamWaitEvent");
        assert_eq!(manual_name("cuMemcpy3D_v2"), "cuMemcpy3D");
    }
}
