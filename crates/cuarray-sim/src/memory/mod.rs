//! Memory: its C functions, who may access it, and its allocation, mapping and release.
//!
//! Allocations as data are [objects](crate::objects::allocation), because the state holds them, and their bytes are
//! [pages](crate::pages). Functions that enqueue work on memory stand above captures, with the [copies](crate::copy),
//! the [pools](crate::objects::pool) and the [operations](crate::objects::memory_operation) of streams.

pub(crate) mod allocations;
pub(crate) mod device_memory;
pub(crate) mod exports;
pub(crate) mod graph_memory;
pub(crate) mod mappings;
pub(crate) mod new_allocation;
pub(crate) mod places;
pub(crate) mod races;
pub(crate) mod unwaited_exports;
