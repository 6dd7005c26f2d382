//! Driver calls as events of the race detector: the edges that they add, and their effects on memory.
//!
//! This module translates; [`cuarray_races`] computes. [`edges`] translates work in streams and the waits for it,
//! [`bodies`] the nodes of conditional nodes;
//! [`handles`] translates the objects that a program creates and destroys; [`host`] and [`uploads`] translate the host's own accesses.
//! Allocations and modules are translated in their own folders.
//! `docs/explanation/happens-before.md` names the page of the manual for each edge. While findings are off, no function
//! has an effect.

pub(crate) mod bodies;
pub(crate) mod caller;
pub(crate) mod edges;
pub(crate) mod handles;
pub(crate) mod host;
mod reached;
pub(crate) mod uploads;
