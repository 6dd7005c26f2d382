//! The C functions of streams and their attributes, by the groups of the manual.
// Names and parameters are the driver's.
#![allow(non_snake_case, clippy::too_many_arguments)]

pub(crate) mod attributes;
pub(crate) mod stream;
