//! The graph interface: descriptors with attributes, which describe operations, graphs of operations, and plans.
//!
//! There is one engine, which computes each graph on the host, operation by operation.

mod attention;
mod attributes;
mod band_mask;
mod descriptor;
mod execution;
mod kinds;
mod moved;
mod operation;
mod plan;
mod pointwise;
mod product;
mod random;
mod softmax;
mod text;

pub(crate) use descriptor::{create, destroy, finalize, get, set};
pub(crate) use execution::{execute, workspace_size};
