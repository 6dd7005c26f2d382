//! Driver calls as events of the race detector: the edges that they add, and their effects on memory.
//!
//! This module translates; [`cuarray_races`] computes. [`edges`] has the work in streams and the waits for it; [`calls`]
//! has allocations, frees, handles and refusals; [`host`] has the host's own accesses. `docs/explanation/happens-before.md`
//! gives the page of the manual for each edge. Every function does nothing while findings are off.

pub(crate) mod calls;
pub(crate) mod edges;
pub(crate) mod host;
