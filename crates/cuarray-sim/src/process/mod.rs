//! The driver of a process: the selection of the driver for a call, and the output at process exit.

pub(crate) mod current;
pub(crate) mod exit;
pub(crate) mod report;
pub(crate) mod statistics;
pub(crate) mod summary;
