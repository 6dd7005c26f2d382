//! The objects of a driver as data: streams, events, contexts, devices, allocations, code, graphs, and the work in streams.
//!
//! Nothing here knows the [state](crate::state) that holds them. Methods of objects change only the object itself.

pub(crate) mod allocation;
pub(crate) mod array;
pub(crate) mod build_log;
pub(crate) mod capturing;
pub(crate) mod code;
pub(crate) mod context;
pub(crate) mod copy;
pub(crate) mod coredump;
pub(crate) mod device;
pub(crate) mod event;
pub(crate) mod exported;
pub(crate) mod graph_data;
pub(crate) mod green_context;
pub(crate) mod heap;
pub(crate) mod host_function;
pub(crate) mod launch;
pub(crate) mod launch_attributes;
pub(crate) mod memory_operation;
pub(crate) mod physical;
pub(crate) mod point;
pub(crate) mod pool;
pub(crate) mod running;
pub(crate) mod stream;
pub(crate) mod texture;
pub(crate) mod upload;
pub(crate) mod work;
