//! Modules and libraries: their C functions, the program in an image, its loading and unloading, and links.
//!
//! Modules and libraries as data are [objects](crate::objects::code), because the state holds them.

pub(crate) mod exports;
mod jit;
pub(crate) mod loading;
mod races;
