//! The C functions of modules, libraries and links, by the groups of the manual.
// Names and parameters are the driver's.
#![allow(non_snake_case, clippy::too_many_arguments)]

pub(crate) mod library;
pub(crate) mod link;
pub(crate) mod module;
