//! Functions, launches and occupancy.
//!
//! Driver API: [execution control](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EXEC.html),
//! [occupancy](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__OCCUPANCY.html). Launches are checked and
//! enqueued here; their arguments are read during the call. Register counts, and so occupancy, are estimated from the
//! number of values of a thread that are live at once.
// Names and parameters are the driver's.
#![allow(non_snake_case, clippy::too_many_arguments)]

pub(crate) mod deprecated;
mod function;
mod kernel;
pub(crate) mod kernel_attributes;
mod occupancy;

pub(crate) use function::*;
pub(crate) use kernel::*;
pub(crate) use occupancy::*;

use crate::config::identity::multiprocessor;
use crate::driver::Call;
use crate::objects::code::ResolvedKernel;
use cuarray_abi::CUresult;

const INVALID_VALUE: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;
const INVALID_CLUSTER_SIZE: CUresult = CUresult::CUDA_ERROR_INVALID_CLUSTER_SIZE;
const INVALID_HANDLE: CUresult = CUresult::CUDA_ERROR_INVALID_HANDLE;

/// The shared memory of a block that a kernel may use without opting in to more.
const SHARED: u32 = 48 << 10;

/// The shared memory of a block that a kernel can opt in to.
fn most_shared(call: &Call<'_>) -> u32 {
    multiprocessor(call.driver.settings().compute_capability).shared_of_block
}

/// The dynamic shared memory that a launch can have.
pub(super) fn dynamic_shared(resolved: &ResolvedKernel) -> u32 {
    resolved.settings.max_dynamic_shared.unwrap_or(0).max(SHARED.saturating_sub(resolved.shared()))
}
