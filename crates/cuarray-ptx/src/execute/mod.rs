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

pub(super) mod asynchronous;
pub(super) mod atomic;
mod block;
pub(super) mod collective;
pub(super) mod control;
mod grid;
pub(super) mod lanes;
mod locate;
mod machine;
pub(super) mod memory;
mod race;
mod region;
pub(super) mod services;
pub(super) mod special;
pub(super) mod stack;
mod warp;
pub(super) mod wide_atomic;

pub use grid::{Launch, Outcome, execute};
pub(crate) use machine::Machine;
pub use machine::{Fault, FaultKind};
pub use race::{Access, Race};
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
