//! The C functions of devices, contexts, primary contexts, green contexts, their events and core dumps, by the groups of the manual.
// Names and parameters are the driver's.
#![allow(non_snake_case, clippy::too_many_arguments)]

pub(crate) mod context;
pub(crate) mod coredump;
pub(crate) mod device;
pub(crate) mod events;
pub(crate) mod green_context;
pub(crate) mod notifications;
pub(crate) mod primary_context;
pub(crate) mod profiler;
