//! Launches.

use crate::call::present;
use crate::driver::cu;
use crate::registration::{kernel, kernel_of_handle};
use crate::result::{Result, cudaError_t};
use crate::types::*;
use cuarray_abi::{Api, CUfunction, CUkernel, CUlaunchConfig};
use std::ffi::{c_uint, c_void};
use std::ptr;

/// Refuses dimensions that no device has.
#[inline]
pub(crate) fn check_dimensions(grid: dim3, block: dim3) -> Result {
    let fits = |value: c_uint, limit: c_uint| (1..=limit).contains(&value);
    let grid = fits(grid.x, 0x7fff_ffff) && fits(grid.y, 0xffff) && fits(grid.z, 0xffff);
    let block = fits(block.x, 1024) && fits(block.y, 1024) && fits(block.z, 64) && block.x * block.y * block.z <= 1024;
    if grid && block { Ok(()) } else { Err(cudaError_t::cudaErrorInvalidConfiguration) }
}

/// The driver's launch functions take a kernel where they take a function.
#[inline]
pub(crate) fn as_function(kernel: CUkernel) -> CUfunction {
    CUfunction(kernel.0)
}

/// The dynamic shared memory, as the driver counts it.
#[inline]
pub(crate) fn shared_bytes(size: usize) -> Result<c_uint> {
    c_uint::try_from(size).map_err(|_| cudaError_t::cudaErrorInvalidValue)
}

#[inline]
unsafe fn launch(
    api: &Api,
    kernel: CUkernel,
    grid: dim3,
    block: dim3,
    args: *mut *mut c_void,
    shared_mem: usize,
    stream: cudaStream_t,
) -> Result {
    check_dimensions(grid, block)?;
    let (function, shared) = (as_function(kernel), shared_bytes(shared_mem)?);
    cu!(api.cuLaunchKernel(
        function,
        grid.x,
        grid.y,
        grid.z,
        block.x,
        block.y,
        block.z,
        shared,
        stream,
        args,
        ptr::null_mut()
    ))
}

pub(crate) unsafe fn cudaLaunchKernel(
    api: &Api,
    func: *const c_void,
    grid_dim: dim3,
    block_dim: dim3,
    args: *mut *mut c_void,
    shared_mem: usize,
    stream: cudaStream_t,
) -> Result {
    // SAFETY: by the contract of this function.
    unsafe { launch(api, kernel(api, func)?, grid_dim, block_dim, args, shared_mem, stream) }
}

pub(crate) unsafe fn __cudaLaunchKernel(
    api: &Api,
    kernel: cudaKernel_t,
    grid_dim: dim3,
    block_dim: dim3,
    args: *mut *mut c_void,
    shared_mem: usize,
    stream: cudaStream_t,
) -> Result {
    // SAFETY: by the contract of this function.
    unsafe { launch(api, kernel_of_handle(api, kernel)?, grid_dim, block_dim, args, shared_mem, stream) }
}

pub(crate) unsafe fn cudaLaunchCooperativeKernel(
    api: &Api,
    func: *const c_void,
    grid_dim: dim3,
    block_dim: dim3,
    args: *mut *mut c_void,
    shared_mem: usize,
    stream: cudaStream_t,
) -> Result {
    let kernel = kernel(api, func)?;
    check_dimensions(grid_dim, block_dim)?;
    let (function, shared) = (as_function(kernel), shared_bytes(shared_mem)?);
    cu!(api.cuLaunchCooperativeKernel(
        function,
        grid_dim.x,
        grid_dim.y,
        grid_dim.z,
        block_dim.x,
        block_dim.y,
        block_dim.z,
        shared,
        stream,
        args
    ))
}

/// The driver's form of a configuration.
///
/// # Safety
/// `config` is null, or points to a configuration whose attributes are as its manual says.
pub(crate) unsafe fn driver_config(config: *const cudaLaunchConfig_t) -> Result<CUlaunchConfig> {
    present(config)?;
    // SAFETY: by the contract of this function.
    let config = unsafe { config.read_unaligned() };
    if config.numAttrs != 0 {
        present(config.attrs)?;
    }
    check_dimensions(config.gridDim, config.blockDim)?;
    Ok(CUlaunchConfig {
        gridDimX: config.gridDim.x,
        gridDimY: config.gridDim.y,
        gridDimZ: config.gridDim.z,
        blockDimX: config.blockDim.x,
        blockDimY: config.blockDim.y,
        blockDimZ: config.blockDim.z,
        sharedMemBytes: shared_bytes(config.dynamicSmemBytes)?,
        hStream: config.stream,
        attrs: config.attrs.cast(),
        numAttrs: config.numAttrs,
    })
}

pub(crate) unsafe fn cudaLaunchKernelExC(
    api: &Api,
    config: *const cudaLaunchConfig_t,
    func: *const c_void,
    args: *mut *mut c_void,
) -> Result {
    present(config)?;
    let kernel = kernel(api, func)?;
    // SAFETY: by the contract of this function.
    let config = unsafe { driver_config(config)? };
    cu!(api.cuLaunchKernelEx(&raw const config, as_function(kernel), args, ptr::null_mut()))
}

pub(crate) unsafe fn cudaLaunchHostFunc(
    api: &Api,
    stream: cudaStream_t,
    fn_: cudaHostFn_t,
    user_data: *mut c_void,
) -> Result {
    fn_.ok_or(cudaError_t::cudaErrorInvalidValue)?;
    cu!(api.cuLaunchHostFunc(stream, fn_, user_data))
}

pub(crate) unsafe fn cudaLaunchHostFunc_v2(
    api: &Api,
    stream: cudaStream_t,
    fn_: cudaHostFn_t,
    user_data: *mut c_void,
    sync_mode: c_uint,
) -> Result {
    fn_.ok_or(cudaError_t::cudaErrorInvalidValue)?;
    cu!(api.cuLaunchHostFunc_v2(stream, fn_, user_data, sync_mode))
}

/// Every supported device computes with doubles, so there is nothing to convert.
pub(crate) unsafe fn cudaSetDoubleForDevice(d: *mut f64) -> Result {
    present(d)
}

pub(crate) unsafe fn cudaSetDoubleForHost(d: *mut f64) -> Result {
    present(d)
}
