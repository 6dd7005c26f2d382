//! Programs, and their execution: blocks, warps and instructions.
//!
//! A [`Machine`] executes one block at a time. A warp's registers are rows of 32 lanes, and each instruction is one
//! function that works on a row (`lanes`, `memory`, `atomic`, `exchange`, `branching`). Diverged threads of a warp are
//! *fragments* (`warp`): each has an instruction pointer and a mask of lanes. The fragment that is furthest behind
//! runs, and fragments that reach the same instruction merge.
//!
//! The code is ordered so that fragments merge at the immediate post-dominator. Correctness does not depend on that
//! order: as on GPUs since compute capability 7.0, a thread may wait for another thread of its warp without a
//! deadlock.
//!
//! Blocks are distributed over the cores (`grid`) if the kernel cannot observe their order.

pub(crate) mod access_mode;
mod access_rows;
pub(crate) mod address_windows;
pub(crate) mod alloca;
pub(crate) mod asynchronous;
pub(crate) mod atomic;
pub(crate) mod atomic128;
mod barrier_use;
mod block;
pub(crate) mod branching;
pub(crate) mod cluster;
mod deadlock;
pub(crate) mod dependent;
pub(crate) mod device_runtime;
#[cfg(target_arch = "x86_64")]
mod direct;
#[cfg(not(target_arch = "x86_64"))]
#[path = "direct_portable.rs"]
mod direct;
#[cfg(target_arch = "x86_64")]
mod direct_recorded;
pub(crate) mod exchange;
mod fault;
mod grid;
mod grid_sync;
mod guard;
mod interpreter;
pub(crate) mod lanes;
mod launch;
pub(crate) mod linear;
mod locate;
mod locate_lane;
pub(crate) mod matrix;
mod members;
pub(crate) mod memory;
pub(crate) mod memory_model;
mod misuse;
#[cfg(target_arch = "x86_64")]
pub(crate) mod native;
#[cfg(not(target_arch = "x86_64"))]
#[path = "native_portable.rs"]
pub(crate) mod native;
mod pattern;
mod polls;
mod printf;
mod processor;
pub(crate) mod program;
mod recorder;
mod region;
pub(crate) mod services;
pub(crate) mod special;
mod stored_where_loaded;
mod succession;
pub(crate) mod surface;
pub(crate) mod template;
pub(crate) mod texture;
pub(crate) mod texture_query;
mod touched_range;
mod turns;
pub(crate) mod undefined;
mod waiting;
mod warp;
mod watch;
mod writers;

pub use fault::{Fault, FaultKind, Progress};
pub use grid::execute;
pub(crate) use interpreter::Machine;
pub use launch::{Code, Launch, NoService, Outcome, Outlook, Service};
pub use misuse::{Misuse, MisuseKind, Used};
pub use region::{AccessKind, Alias, Region, Strength};
pub use touched_range::{Pieces, TouchedRange};
pub use turns::KernelOrder;
pub use waiting::{Reason, WaitingThreads};
pub use writers::{Writer, WriterState};

#[cfg(all(test, target_arch = "x86_64"))]
pub(crate) use processor::wide as has_vectors;

/// How execution continues after an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Flow {
    /// With the next instruction.
    Next,
    /// Not at once: the fragment has ended, waits, has used up its turn, or has failed.
    Stop,
}
