//! The CUDA runtime over the documented driver API.
//!
//! The crates `cuarray-cudart-12` and `cuarray-cudart-13` are the shared libraries `libcudart.so.12` and `libcudart.so.13`: this
//! crate's functions under their C names. The driver is found by `dlopen`. It may be any driver; nothing here knows the simulated
//! one. Only documented functions of the driver are called.
//!
//! From top to bottom: `exports` makes the C functions from the one list in `entry_points`. `call` is the work that they share.
//! Each chapter of the runtime's manual is a module. `context` finds the context of a thread, `thread` has its state, and
//! `driver` opens the driver. A function that is not there returns `cudaErrorNotSupported`, is counted, and traced
//! (`CUARRAY_CUDART_TRACE=refusals` or `=calls`).
//!
//! # How a chapter is added
//!
//! 1. In `entry_points.rs`, replace `refused` in the chapter's lines by the level: `host`, `driver`, or `context`. A chapter is a
//!    module of this crate with the chapter's name: `stream.rs`, or `memory/mod.rs` that re-exports the functions of its files.
//! 2. Write a function with the name and the parameters of the line, as `pub(crate) unsafe fn` that returns [`Result`](result::Result).
//!    At the levels `driver` and `context` its first parameter is `api: &Api`, the driver's functions. The functions for a
//!    twin (`_ptsz`, `_ptds`) read a null stream as the per-thread default stream, so pass streams on as they are.
//! 3. Call the driver by `cu!(api.cuMemAlloc_v2(...))`, which gives `Ok(())` or the runtime's error; write outputs by `put`.
//!    The wrapper has opened the driver and bound a context. It remembers the error, traces, and stops panics. A function of
//!    level `context` may be called twice, if the thread had lost its context: call the driver before any other effect.
//! 4. If the majors differ in a signature, the list has two lines: the function of CUDA 12 ends in `_v1`.
//! 5. A structure that is `c_void` in `types.rs` becomes a structure there, or in the chapter. Assert its size at compile time
//!    (`assert!(size_of::<cudaExtent>() == 24);`): a test in Python compares the assertions with the headers. If the majors
//!    differ, its names end in `_of_12` and `_of_13`.
//! 6. Tests are in `tests/`, by chapter. They call `cuarray_cudart::v13::cudaMalloc`, on the simulated driver (`tests/driver`).
// Names and parameters are the runtime's.
#![allow(non_snake_case, clippy::too_many_arguments)]

#[cfg(not(target_pointer_width = "64"))]
compile_error!("the runtime's structures have their layout on machines of 64 bits");

mod call;
mod channel;
mod context;
mod driver;
mod entry_points;
mod exports;
mod result;
mod runtime_call;
mod thread;
mod trace;
pub mod types;

mod array;
mod device;
mod entry_point;
mod error;
mod error_log;
mod event;
mod execution;
mod execution_context;
mod graph;
mod ipc;
mod library;
mod memory;
mod occupancy;
mod peer;
mod pools;
mod profiler;
mod registration;
mod stream;
mod symbols;
mod texture;
mod thread_deprecated;
mod transfer;
mod unified;
mod version;

pub use exports::{ENTRY_POINTS, EntryPoint};
pub use result::cudaError_t;

/// The functions of `libcudart.so.12`.
pub mod v12 {
    use crate::driver::NullStream;
    use crate::exports::{function, functions};
    use crate::result::cudaError_t;
    use crate::types::*;
    use std::ffi::{c_char, c_int, c_uint, c_ulonglong, c_void};

    const MAJOR: u32 = 12;
    crate::__entry_points!([functions] v12);
}

/// The functions of `libcudart.so.13`.
pub mod v13 {
    use crate::driver::NullStream;
    use crate::exports::{function, functions};
    use crate::result::cudaError_t;
    use crate::types::*;
    use std::ffi::{c_char, c_int, c_uint, c_ulonglong, c_void};

    const MAJOR: u32 = 13;
    crate::__entry_points!([functions] v13);
}

/// The functions that the runtime does not have and that were called, with the number of calls.
pub fn refusals() -> Vec<(&'static str, u64)> {
    trace::refusals()
}
