//! Textures and surfaces: the objects behind their handles, and the arithmetic of a texture fetch.
//!
//! A kernel names a texture or surface by a handle of 64 bits. The caller of a launch gives a table of [`Textures`] that
//! finds the object of a handle. The texels of an object are ordinary device memory, in rows. So a fetch has addresses, and
//! the machine checks and records them as those of other loads.
//!
//! This folder knows no machine. It turns coordinates into addresses of texels with weights, and texels into results.
//! The machine loads the texels between these two steps.
//!
//! CUDA C++ Programming Guide: [texture fetching](https://docs.nvidia.com/cuda/cuda-c-programming-guide/#texture-fetching).

mod axis;
mod cube;
mod detail;
pub(crate) mod fetch;
pub(crate) mod format;
pub(crate) mod image;
pub(crate) mod sampler;
pub(crate) mod surface;
pub(crate) mod table;

pub use format::{ChannelKind, Format};
pub use image::{Geometry, Image, Level};
pub use sampler::{AddressMode, FilterMode, ReadMode, Sampler};
pub use table::{Opaque, Surface, Texture, Textures};
