//! The driver's calls as events of the detector: which call puts what before what, and what it does to memory.
//!
//! [`cuarray_races`] computes; this module translates. [`edges`] has the calls that enqueue, wait, allocate and free;
//! [`host`] has the host's own accesses to memory that devices use. `docs/explanation/happens-before.md` names the page of the manual for
//! each edge. Every function does nothing while findings are off.

mod edges;
mod host;
