//! Effects of work and of immediate calls on the state: memory.

pub(crate) mod conditions;
pub(crate) mod memory_operations;
pub(crate) mod node_access;
