//! Execution control: launches of kernels and of host functions, and attributes of kernels.
//!
//! A kernel is the address of its host function, or a handle. Bad dimensions are refused here with
//! `cudaErrorInvalidConfiguration`, since the driver calls them an invalid value.
//!
//! Runtime API: [execution control](https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__EXECUTION.html).

mod attributes;
mod configuration;
mod launch;

pub(crate) use attributes::*;
pub(crate) use configuration::*;
pub(crate) use launch::*;
