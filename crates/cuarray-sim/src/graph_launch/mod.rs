//! Executable graphs: instantiation, launches as work in streams, and updates.

mod bodies;
pub(crate) mod exec;
mod layout;
mod steps;
pub(crate) mod update;
