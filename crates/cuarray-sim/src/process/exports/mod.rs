//! C functions about the driver of the process: its error log, and those beyond the driver API, with which tools read findings,
//! set schedules and inject faults.
// Names and parameters are the driver's.
#![allow(non_snake_case)]

pub(crate) mod faults;
mod findings;
mod host_accesses;
pub(crate) mod library_calls;
pub(crate) mod logs;
mod schedule;
mod statistics;
mod suballocations;
