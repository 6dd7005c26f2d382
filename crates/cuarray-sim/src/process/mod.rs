//! The driver of a process: the selection of the driver for a call, and the output at process exit, and the
//! C functions of its log and for tools.

pub(crate) mod current;
pub(crate) mod exit;
pub(crate) mod exports;
mod family;
pub(crate) mod report;
mod reported;
pub(crate) mod statistics;
pub(crate) mod summary;
