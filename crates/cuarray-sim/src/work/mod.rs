//! Effects of work and of immediate calls on the state: memory.

pub(crate) mod allocations;
pub(crate) mod conditions;
pub(crate) mod graph_memory;
pub(crate) mod mappings;
pub(crate) mod memory_operations;
pub(crate) mod new_allocation;
pub(crate) mod node_access;
pub(crate) mod pools;
pub(crate) mod words;
