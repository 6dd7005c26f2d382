//! Textures and surfaces, which need no more than the description of a channel.
//!
//! Runtime API: [texture objects](https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TEXTURE__OBJECT.html).

use crate::types::{cudaChannelFormatDesc, cudaChannelFormatKind};
use std::ffi::c_int;

pub(crate) unsafe fn cudaCreateChannelDesc(
    x: c_int,
    y: c_int,
    z: c_int,
    w: c_int,
    f: cudaChannelFormatKind,
) -> cudaChannelFormatDesc {
    cudaChannelFormatDesc { x, y, z, w, f }
}
