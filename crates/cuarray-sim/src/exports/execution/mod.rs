//! Functions, launches and occupancy.
//!
//! Driver API: [execution control](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EXEC.html),
//! [occupancy](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__OCCUPANCY.html). A launch is checked and enqueued here; its
//! arguments are read during the call. What a compiler would decide (registers, and so occupancy) is estimated from how
//! many values of a thread are alive at once.

mod function;
mod launch;
mod occupancy;

pub(super) use function::*;
pub(super) use launch::*;
pub(super) use occupancy::*;

use cuarray_abi::CUresult;

const INVALID_VALUE: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;
const INVALID_HANDLE: CUresult = CUresult::CUDA_ERROR_INVALID_HANDLE;

/// Shared memory of a block that needs no asking, and the most there is.
const SHARED: u32 = 48 << 10;
const MOST_SHARED: u32 = 232_448;

/// How many multiprocessors a device has.
const MULTIPROCESSORS: u64 = 132;
