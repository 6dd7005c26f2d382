//! The C functions of graphs, their nodes, executable graphs, and captures, which make graphs.
// Names and parameters are the driver's.
#![allow(non_snake_case, clippy::too_many_arguments)]

pub(crate) mod capture;
pub(crate) mod exec;
pub(crate) mod graph;
pub(crate) mod memory;
pub(crate) mod node;
pub(crate) mod recapture;
