//! Entry points of the driver, by name and version.
//!
//! The twins of these functions prefer the driver's functions for per-thread default streams, as the driver's own twin does.
//! A name that the driver does not know is no error: the status tells.
//!
//! Runtime API: [driver entry point access](https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__DRIVER__ENTRY__POINT.html).

use crate::call::{present, put};
use crate::driver::cu;
use crate::result::{Result, cudaError_t};
use crate::types::*;
use crate::version::{VERSION_12, VERSION_13};
use cuarray_abi::Api;
use std::ffi::{c_char, c_int, c_uint, c_ulonglong, c_void};
use std::ptr;

/// `cudaDriverEntryPointSymbolNotFound`
const SYMBOL_NOT_FOUND: cudaDriverEntryPointQueryResult = 1;

pub(crate) unsafe fn cudaGetDriverEntryPointByVersion(
    api: &Api,
    symbol: *const c_char,
    func_ptr: *mut *mut c_void,
    cuda_version: c_uint,
    flags: c_ulonglong,
    driver_status: *mut cudaDriverEntryPointQueryResult,
) -> Result {
    present(symbol)?;
    present(func_ptr)?;
    let version = c_int::try_from(cuda_version).map_err(|_| cudaError_t::cudaErrorInvalidValue)?;
    let (mut function, mut status) = (ptr::null_mut(), SYMBOL_NOT_FOUND);
    match cu!(api.cuGetProcAddress_v2(symbol, &raw mut function, version, flags, &raw mut status)) {
        Ok(()) | Err(cudaError_t::cudaErrorSymbolNotFound) => {}
        Err(error) => return Err(error),
    }
    // SAFETY: by the contract of this function.
    unsafe {
        put(func_ptr, function)?;
        if !driver_status.is_null() {
            put(driver_status, status)?;
        }
    }
    Ok(())
}

pub(crate) unsafe fn cudaGetDriverEntryPoint(
    api: &Api,
    symbol: *const c_char,
    func_ptr: *mut *mut c_void,
    flags: c_ulonglong,
    driver_status: *mut cudaDriverEntryPointQueryResult,
) -> Result {
    // SAFETY: by the contract of this function.
    unsafe { cudaGetDriverEntryPointByVersion(api, symbol, func_ptr, VERSION_13.cast_unsigned(), flags, driver_status) }
}

/// The entry points of CUDA 12.
pub(crate) unsafe fn cudaGetDriverEntryPoint_v1(
    api: &Api,
    symbol: *const c_char,
    func_ptr: *mut *mut c_void,
    flags: c_ulonglong,
    driver_status: *mut cudaDriverEntryPointQueryResult,
) -> Result {
    // SAFETY: by the contract of this function.
    unsafe { cudaGetDriverEntryPointByVersion(api, symbol, func_ptr, VERSION_12.cast_unsigned(), flags, driver_status) }
}
