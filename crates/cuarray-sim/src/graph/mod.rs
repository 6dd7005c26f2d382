//! Executable graphs: their C functions, instantiation, launches as work in streams, and updates.
//!
//! [`exports`] has the functions of graphs, nodes and executable graphs. Nodes and edges as data are [objects](crate::objects::graph_data);
//! changes of them are in [`graph_structure`](crate::graph_structure), because captures make nodes too.

mod bodies;
mod exec;
pub(crate) mod exports;
mod layout;
mod steps;
mod update;
