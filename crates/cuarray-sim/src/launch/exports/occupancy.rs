//! Occupancy: the number of blocks that run at once.

use super::Shape;
use super::kernel::{cluster, most_cluster, shape_of};
use super::{INVALID_CLUSTER_SIZE, INVALID_VALUE, dynamic_shared};
use crate::config::Config;
use crate::driver::Call;
use crate::objects::code::ResolvedKernel;
use crate::parameters::{In, Out};
use cuarray_abi::*;
use std::ffi::{c_int, c_uint};

/// The number of blocks of a function that fit on a multiprocessor.
fn active_blocks(call: &Call<'_>, func: CUfunction, block_size: c_int, dynamic: usize) -> Result<c_int, CUresult> {
    let resolved = call.current()?.0.code.resolve(func)?;
    let threads = u32::try_from(block_size).ok().filter(|threads| *threads > 0).ok_or(INVALID_VALUE)?;
    let capability = call.driver.settings().compute_capability;
    Ok(resolved.blocks(threads, dynamic as u64, capability) as c_int)
}

pub(crate) fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
    call: &Call<'_>,
    num_blocks: Out<'_, c_int>,
    func: CUfunction,
    block_size: c_int,
    dynamic_smem_size: usize,
) -> Result<(), CUresult> {
    num_blocks.present()?;
    let blocks = active_blocks(call, func, block_size, dynamic_smem_size)?;
    num_blocks.put(blocks)
}

pub(crate) fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    call: &Call<'_>,
    num_blocks: Out<'_, c_int>,
    func: CUfunction,
    block_size: c_int,
    dynamic_smem_size: usize,
    flags: c_uint,
) -> Result<(), CUresult> {
    if flags > 1 {
        return Err(INVALID_VALUE);
    }
    cuOccupancyMaxActiveBlocksPerMultiprocessor(call, num_blocks, func, block_size, dynamic_smem_size)
}

pub(crate) fn cuOccupancyMaxPotentialBlockSize(
    call: &Call<'_>,
    min_grid_size: Out<'_, c_int>,
    block_size: Out<'_, c_int>,
    func: CUfunction,
    block_size_to_dynamic_smem_size: CUoccupancyB2DSize,
    dynamic_smem_size: usize,
    block_size_limit: c_int,
) -> Result<(), CUresult> {
    min_grid_size.present()?;
    block_size.present()?;
    let resolved = call.current()?.0.code.resolve(func)?;
    let capability = call.driver.settings().compute_capability;
    let limit = u32::try_from(block_size_limit).map_err(|_| INVALID_VALUE)?;
    let most = if limit == 0 { resolved.max_threads() } else { limit.min(resolved.max_threads()) };
    let mut best = (0, 0, 0);
    for threads in (1..=most.div_ceil(32)).rev().map(|warps| (warps * 32).min(most)) {
        let dynamic = match block_size_to_dynamic_smem_size {
            // SAFETY: the caller's function, which takes block sizes. The driver's lock is not held.
            Some(function) => unsafe { function(threads as c_int) },
            None => dynamic_smem_size,
        };
        let blocks = resolved.blocks(threads, dynamic as u64, capability);
        if blocks * threads > best.0 {
            best = (blocks * threads, threads, blocks);
        }
    }
    min_grid_size.put((u64::from(best.2) * u64::from(call.driver.settings().multiprocessors)) as c_int)?;
    block_size.put(best.1 as c_int)
}

pub(crate) fn cuOccupancyMaxPotentialBlockSizeWithFlags(
    call: &Call<'_>,
    min_grid_size: Out<'_, c_int>,
    block_size: Out<'_, c_int>,
    func: CUfunction,
    block_size_to_dynamic_smem_size: CUoccupancyB2DSize,
    dynamic_smem_size: usize,
    block_size_limit: c_int,
    flags: c_uint,
) -> Result<(), CUresult> {
    if flags > 1 {
        return Err(INVALID_VALUE);
    }
    let by_size = block_size_to_dynamic_smem_size;
    cuOccupancyMaxPotentialBlockSize(
        call,
        min_grid_size,
        block_size,
        func,
        by_size,
        dynamic_smem_size,
        block_size_limit,
    )
}

pub(crate) fn cuOccupancyAvailableDynamicSMemPerBlock(
    call: &Call<'_>,
    dynamic_smem_size: Out<'_, usize>,
    func: CUfunction,
    num_blocks: c_int,
    block_size: c_int,
) -> Result<(), CUresult> {
    dynamic_smem_size.present()?;
    let wanted = u32::try_from(num_blocks).ok().filter(|blocks| *blocks > 0).ok_or(INVALID_VALUE)?;
    let threads = u32::try_from(block_size).ok().filter(|threads| *threads > 0).ok_or(INVALID_VALUE)?;
    let resolved = call.current()?.0.code.resolve(func)?;
    let capability = call.driver.settings().compute_capability;
    let most = u64::from(dynamic_shared(&resolved));
    // Bisect for the most memory with which that many blocks still fit.
    let (mut low, mut high) = (0, most);
    if resolved.blocks(threads, 0, capability) < wanted {
        return Err(INVALID_VALUE);
    }
    while low < high {
        let middle = (low + high).div_ceil(2);
        if resolved.blocks(threads, middle, capability) >= wanted { low = middle } else { high = middle - 1 }
    }
    dynamic_smem_size.put(low as usize)
}

/// The number of clusters of a size that fit on a device at once.
fn active_clusters(resolved: &ResolvedKernel, shape: &Shape, blocks: u32, settings: &Config) -> u64 {
    let threads = shape.threads.iter().try_fold(1_u32, |product, extent| product.checked_mul(*extent)).unwrap_or(0);
    let fitting = resolved.blocks(threads, shape.shared.into(), settings.compute_capability);
    let resident = u64::from(fitting) * u64::from(settings.multiprocessors);
    resident / u64::from(blocks)
}

pub(crate) fn cuOccupancyMaxActiveClusters(
    call: &Call<'_>,
    num_clusters: Out<'_, c_int>,
    func: CUfunction,
    config: In<'_, CUlaunchConfig>,
) -> Result<(), CUresult> {
    num_clusters.present()?;
    let (shape, _) = shape_of(call, config)?;
    let resolved = call.current()?.0.code.resolve(func)?;
    let settings = call.driver.settings();
    // Without clusters, each block is its own cluster.
    let extents = cluster(&resolved, &shape, settings.compute_capability)?.unwrap_or([1; 3]);
    let clusters = active_clusters(&resolved, &shape, extents.iter().product(), &settings);
    num_clusters.put(clusters as c_int)
}

pub(crate) fn cuOccupancyMaxPotentialClusterSize(
    call: &Call<'_>,
    cluster_size: Out<'_, c_int>,
    func: CUfunction,
    config: In<'_, CUlaunchConfig>,
) -> Result<(), CUresult> {
    cluster_size.present()?;
    let (shape, _) = shape_of(call, config)?;
    let resolved = call.current()?.0.code.resolve(func)?;
    let settings = call.driver.settings();
    if settings.compute_capability.0 < 9 {
        return Err(INVALID_CLUSTER_SIZE);
    }
    let most = most_cluster(&resolved, &shape);
    let sizes = (0..=most.ilog2()).rev().map(|power| 1 << power);
    let size = sizes.into_iter().find(|size| active_clusters(&resolved, &shape, *size, &settings) > 0);
    cluster_size.put(size.unwrap_or(0) as c_int)
}
