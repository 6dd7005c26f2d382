//! The C functions of memory, virtual memory and pointers, by the groups of the manual.
// Names and parameters are the driver's.
#![allow(non_snake_case, clippy::too_many_arguments)]

pub(crate) mod memory;
pub(crate) mod pointer;
pub(crate) mod virtual_memory;
