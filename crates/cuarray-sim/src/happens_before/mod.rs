//! Driver calls as events of the race detector: the edges that they add, and their effects on memory.
//!
//! This module translates; [`cuarray_races`] computes. [`edges`] translates the calls that enqueue, wait, allocate
//! and free; [`host`] translates the host's own accesses. `docs/explanation/happens-before.md` names the page of the
//! manual for each edge. While findings are off, no function has an effect.

mod edges;
mod host;
