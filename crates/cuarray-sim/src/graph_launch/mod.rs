//! Executable graphs: instantiation, launches as work in streams, and updates.

pub(crate) mod exec;
pub(crate) mod update;
