//! The driver of a process: which one a call uses, and what it writes at the end.

pub(crate) mod current;
pub(crate) mod exit;
pub(crate) mod report;
pub(crate) mod statistics;
