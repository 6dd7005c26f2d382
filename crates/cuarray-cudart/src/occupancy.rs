//! Occupancy: the blocks and clusters of a kernel that fit on a multiprocessor.
//!
//! The driver's functions take a kernel where they take a function.
//!
//! Runtime API: [occupancy](https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__OCCUPANCY.html).

use crate::call::present;
use crate::driver::cu;
use crate::execution::{as_function, driver_config};
use crate::registration::kernel;
use crate::result::Result;
use crate::types::*;
use cuarray_abi::Api;
use std::ffi::{c_int, c_uint, c_void};

pub(crate) unsafe fn cudaOccupancyMaxActiveBlocksPerMultiprocessor(
    api: &Api,
    num_blocks: *mut c_int,
    func: *const c_void,
    block_size: c_int,
    dynamic_s_mem_size: usize,
) -> Result {
    // SAFETY: by the contract of this function.
    unsafe {
        cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(api, num_blocks, func, block_size, dynamic_s_mem_size, 0)
    }
}

pub(crate) unsafe fn cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    api: &Api,
    num_blocks: *mut c_int,
    func: *const c_void,
    block_size: c_int,
    dynamic_s_mem_size: usize,
    flags: c_uint,
) -> Result {
    present(num_blocks)?;
    let function = as_function(kernel(api, func)?);
    cu!(api.cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        num_blocks,
        function,
        block_size,
        dynamic_s_mem_size,
        flags
    ))
}

pub(crate) unsafe fn cudaOccupancyAvailableDynamicSMemPerBlock(
    api: &Api,
    dynamic_smem_size: *mut usize,
    func: *const c_void,
    num_blocks: c_int,
    block_size: c_int,
) -> Result {
    present(dynamic_smem_size)?;
    let function = as_function(kernel(api, func)?);
    cu!(api.cuOccupancyAvailableDynamicSMemPerBlock(dynamic_smem_size, function, num_blocks, block_size))
}

pub(crate) unsafe fn cudaOccupancyMaxPotentialClusterSize(
    api: &Api,
    cluster_size: *mut c_int,
    func: *const c_void,
    launch_config: *const cudaLaunchConfig_t,
) -> Result {
    present(cluster_size)?;
    // SAFETY: by the contract of this function.
    let config = unsafe { driver_config(launch_config)? };
    let function = as_function(kernel(api, func)?);
    cu!(api.cuOccupancyMaxPotentialClusterSize(cluster_size, function, &raw const config))
}

pub(crate) unsafe fn cudaOccupancyMaxActiveClusters(
    api: &Api,
    num_clusters: *mut c_int,
    func: *const c_void,
    launch_config: *const cudaLaunchConfig_t,
) -> Result {
    present(num_clusters)?;
    // SAFETY: by the contract of this function.
    let config = unsafe { driver_config(launch_config)? };
    let function = as_function(kernel(api, func)?);
    cu!(api.cuOccupancyMaxActiveClusters(num_clusters, function, &raw const config))
}
