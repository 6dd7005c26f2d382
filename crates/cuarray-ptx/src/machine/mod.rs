//! Execution: a launch's blocks, their warps, their instructions.
//!
//! A [`Machine`] executes one block at a time. A warp's registers are rows of 32 lanes, and an instruction is one function that
//! works on a row (`lanes`, `memory`, `atomic`, `collective`, `control`). Threads of a warp that take different ways are
//! *fragments* of it (`warp`): each has a place in the code and a mask of lanes. The fragment that is furthest behind runs, and
//! fragments that meet at one place become one again. The code was laid out so that this brings them together as early as
//! the manual's immediate post-dominator would; but nothing depends on it: a thread that waits for another one of its warp
//! gets it in the end, as on GPUs since compute capability 7.0.
//!
//! Blocks are spread over the machine's cores (`grid`) if the kernel can not see in which order they ran.

pub(crate) mod alloca;
pub(crate) mod async_copy;
pub(crate) mod atomic;
pub(crate) mod atomic128;
mod block;
pub(crate) mod branching;
pub(crate) mod exchange;
mod fault;
mod grid;
mod interpreter;
pub(crate) mod lanes;
mod locate;
pub(crate) mod memory;
mod printf;
pub(crate) mod program;
mod region;
pub(crate) mod services;
pub(crate) mod special;
mod warp;
mod watch;

pub use fault::{Fault, FaultKind};
pub use grid::{Launch, Outcome, execute};
pub(crate) use interpreter::Machine;
pub use region::{AccessKind, Region, TouchedRange};
pub use services::{NoService, Service};

/// What an instruction leaves to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Flow {
    /// The next one.
    Next,
    /// The fragment does not go on at once: it has ended, waits, has used up its turn, or has failed.
    Stop,
}
