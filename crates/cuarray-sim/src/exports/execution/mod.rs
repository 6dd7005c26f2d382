//! Functions, launches and occupancy.
//!
//! Driver API: [execution control](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EXEC.html),
//! [occupancy](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__OCCUPANCY.html). Launches are checked and
//! enqueued here; their arguments are read during the call. Register counts, and so occupancy, are estimated from the
//! number of values of a thread that are live at once.

mod function;
mod launch;
mod occupancy;

pub(super) use function::*;
pub(super) use launch::*;
pub(super) use occupancy::*;

use cuarray_abi::CUresult;

const INVALID_VALUE: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;
const INVALID_CLUSTER_SIZE: CUresult = CUresult::CUDA_ERROR_INVALID_CLUSTER_SIZE;
const INVALID_HANDLE: CUresult = CUresult::CUDA_ERROR_INVALID_HANDLE;

/// The shared memory of a block that a kernel may use without opting in to more.
const SHARED: u32 = 48 << 10;
const MOST_SHARED: u32 = 232_448;

/// The number of multiprocessors of a device.
const MULTIPROCESSORS: u64 = 132;
