//! The C functions of arrays, texture objects, surface objects and the deprecated references, by the groups of the manual.
// Names and parameters are the driver's.
#![allow(non_snake_case, clippy::too_many_arguments)]

pub(crate) mod array;
pub(crate) mod object;
pub(crate) mod reference;
pub(crate) mod surface;
pub(crate) mod surface_reference;
pub(crate) mod variable;
