//! Attributes of kernels.

use crate::call::{present, put};
use crate::context;
use crate::driver::cu;
use crate::registration::{kernel, kernel_handles, library_of};
use crate::result::{Result, cudaError_t};
use crate::types::*;
use cuarray_abi::{Api, CUfunction};
use std::ffi::{c_char, c_int, c_void};

/// The first attribute that a program may set, and the number of attributes.
const SETTABLE: cudaFuncAttribute = 8;
const ATTRIBUTES: cudaFuncAttribute = 16;

pub(crate) unsafe fn cudaFuncGetAttributes(api: &Api, attr: *mut cudaFuncAttributes, func: *const c_void) -> Result {
    present(attr)?;
    let (kernel, device) = (kernel(api, func)?, context::device(api)?);
    let get = |attribute: c_int| {
        let mut value = 0;
        cu!(api.cuKernelGetAttribute(&raw mut value, attribute as _, kernel, device)).map(|()| value)
    };
    // A driver may not know the newer attributes.
    let newer = |attribute| get(attribute).unwrap_or(0);
    let size = |attribute| get(attribute).map(|value| usize::try_from(value).unwrap_or(0));
    let attributes = cudaFuncAttributes {
        sharedSizeBytes: size(1)?,
        constSizeBytes: size(2)?,
        localSizeBytes: size(3)?,
        maxThreadsPerBlock: get(0)?,
        numRegs: get(4)?,
        ptxVersion: get(5)?,
        binaryVersion: get(6)?,
        cacheModeCA: get(7)?,
        maxDynamicSharedSizeBytes: get(8)?,
        preferredShmemCarveout: newer(9),
        clusterDimMustBeSet: newer(10),
        requiredClusterWidth: newer(11),
        requiredClusterHeight: newer(12),
        requiredClusterDepth: newer(13),
        nonPortableClusterSizeAllowed: newer(14),
        clusterSchedulingPolicyPreference: newer(15),
        reserved: [0; 16],
    };
    // SAFETY: by the contract of this function.
    unsafe { put(attr, attributes) }
}

pub(crate) unsafe fn cudaFuncSetAttribute(
    api: &Api,
    func: *const c_void,
    attr: cudaFuncAttribute,
    value: c_int,
) -> Result {
    let kernel = kernel(api, func)?;
    if !(SETTABLE..ATTRIBUTES).contains(&attr) {
        return Err(cudaError_t::cudaErrorInvalidValue);
    }
    let device = context::device(api)?;
    cu!(api.cuKernelSetAttribute(attr as _, value, kernel, device))
}

pub(crate) unsafe fn cudaFuncSetCacheConfig(api: &Api, func: *const c_void, cache_config: cudaFuncCache) -> Result {
    let (kernel, device) = (kernel(api, func)?, context::device(api)?);
    cu!(api.cuKernelSetCacheConfig(kernel, cache_config as _, device))
}

/// The width of shared memory's banks is fixed in the devices that this runtime supports.
pub(crate) unsafe fn cudaFuncSetSharedMemConfig(api: &Api, func: *const c_void, config: cudaSharedMemConfig) -> Result {
    kernel(api, func)?;
    if config > 2 { Err(cudaError_t::cudaErrorInvalidValue) } else { Ok(()) }
}

pub(crate) unsafe fn cudaFuncGetName(api: &Api, name: *mut *const c_char, func: *const c_void) -> Result {
    present(name)?;
    let kernel = kernel(api, func)?;
    cu!(api.cuKernelGetName(name, kernel))
}

pub(crate) unsafe fn cudaFuncGetParamInfo(
    api: &Api,
    func: *const c_void,
    param_index: usize,
    param_offset: *mut usize,
    param_size: *mut usize,
) -> Result {
    present(param_offset)?;
    let kernel = kernel(api, func)?;
    cu!(api.cuKernelGetParamInfo(kernel, param_index, param_offset, param_size))
}

pub(crate) unsafe fn cudaFuncGetParamCount(api: &Api, func: *const c_void, param_count: *mut usize) -> Result {
    present(param_count)?;
    let kernel = kernel(api, func)?;
    cu!(api.cuKernelGetParamCount(kernel, param_count))
}

pub(crate) unsafe fn cudaGetFuncBySymbol(
    api: &Api,
    function_ptr: *mut cudaFunction_t,
    symbol_ptr: *const c_void,
) -> Result {
    present(function_ptr)?;
    let kernel = kernel(api, symbol_ptr)?;
    let mut function = CUfunction::default();
    cu!(api.cuKernelGetFunction(&raw mut function, kernel))?;
    // SAFETY: by the contract of this function.
    unsafe { put(function_ptr, function) }
}

/// Unlike `__cudaGetKernel`, gives the driver's handle, which the program may pass to the driver.
pub(crate) unsafe fn cudaGetKernel(api: &Api, kernel_ptr: *mut cudaKernel_t, entry_func_addr: *const c_void) -> Result {
    present(kernel_ptr)?;
    let kernel = kernel(api, entry_func_addr)?;
    kernel_handles::add(library_of(api, entry_func_addr)?, &[kernel]);
    // SAFETY: by the contract of this function.
    unsafe { put(kernel_ptr, kernel) }
}
