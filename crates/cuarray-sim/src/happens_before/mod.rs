//! Driver calls as events of the race detector: the edges that they add, and their effects on memory.
//!
//! This module translates; [`cuarray_races`] computes. [`edges`] translates work in streams and the waits for it,
//! [`bodies`] the nodes of conditional nodes;
//! [`calls`] translates allocations, frees, handles and refusals; [`host`] and [`uploads`] translate the host's own accesses.
//! `docs/explanation/happens-before.md` names the page of the manual for each edge. While findings are off, no function
//! has an effect.

pub(crate) mod bodies;
pub(crate) mod caller;
pub(crate) mod calls;
pub(crate) mod edges;
pub(crate) mod host;
mod reached;
pub(crate) mod uploads;
