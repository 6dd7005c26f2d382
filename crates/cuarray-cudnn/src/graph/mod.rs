//! The graph interface: descriptors with attributes, which describe operations, graphs of operations, and plans.
//!
//! There is one engine, which computes each graph of convolutions and pointwise operations on the host.

mod attributes;
mod descriptor;
mod execution;
mod kinds;
mod operation;
mod plan;
mod pointwise;

pub(crate) use descriptor::{create, destroy, finalize, get, set};
pub(crate) use execution::{execute, workspace_size};
