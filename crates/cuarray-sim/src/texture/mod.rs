//! Textures, surfaces, and the arrays that hold their texels: their C functions, and what kernels read of them.
//!
//! Textures and arrays as data are [objects](crate::objects::texture), because the state holds them. Copies of arrays are
//! part of the [copies](crate::copy), which check every kind of place alike.

pub(crate) mod exports;
pub(crate) mod work;
