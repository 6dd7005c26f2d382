//! Texture and surface objects.
//!
//! An object of the runtime is an object of the driver; only the descriptors differ. Those of resources and views are shorter in
//! CUDA 12 than in CUDA 13.
//!
//! Runtime API: [texture objects](https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TEXTURE__OBJECT.html) and
//! [surface objects](https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__SURFACE__OBJECT.html).

mod descriptors;
mod object;

pub(crate) use object::*;

use crate::call::put;
use crate::channel::{self, descriptor};
use crate::result::Result;
use crate::types::*;
use cuarray_abi::Api;
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

pub(crate) unsafe fn cudaGetChannelDesc(
    api: &Api,
    desc: *mut cudaChannelFormatDesc,
    array: cudaArray_const_t,
) -> Result {
    let found = descriptor(api, array)?;
    // SAFETY: by the contract of this function.
    unsafe { put(desc, channel::of_format(found.Format, found.NumChannels)) }
}
