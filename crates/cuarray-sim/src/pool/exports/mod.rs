//! The C functions of pools and of allocations in the order of a stream, by the groups of the manual.
// Names and parameters are the driver's.
#![allow(non_snake_case)]

pub(crate) mod locations;
pub(crate) mod pool;
