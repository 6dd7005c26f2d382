//! The error log of the driver: why calls failed.
//!
//! The log works before the driver is initialized, and explains why the initialization failed. So these functions open the driver
//! and do not initialize it.
//!
//! Runtime API: [error log management](https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__LOGS.html).

use crate::call::present;
use crate::driver::{self, NullStream, cu};
use crate::result::{Result, cudaError_t};
use crate::types::*;
use cuarray_abi::Api;
use std::ffi::{c_char, c_uint, c_void};

fn opened() -> Result<&'static Api> {
    let driver = driver::opened().ok_or(cudaError_t::cudaErrorInsufficientDriver)?;
    Ok(driver.api(NullStream::Legacy))
}

pub(crate) unsafe fn cudaLogsRegisterCallback(
    callback_func: cudaLogsCallback_t,
    user_data: *mut c_void,
    callback_out: *mut cudaLogsCallbackHandle,
) -> Result {
    let api = opened()?;
    cu!(api.cuLogsRegisterCallback(callback_func, user_data, callback_out))
}

pub(crate) unsafe fn cudaLogsUnregisterCallback(callback: cudaLogsCallbackHandle) -> Result {
    let api = opened()?;
    cu!(api.cuLogsUnregisterCallback(callback))
}

pub(crate) unsafe fn cudaLogsCurrent(iterator_out: *mut cudaLogIterator, flags: c_uint) -> Result {
    present(iterator_out)?;
    let api = opened()?;
    cu!(api.cuLogsCurrent(iterator_out, flags))
}

pub(crate) unsafe fn cudaLogsDumpToFile(
    iterator: *mut cudaLogIterator,
    path_to_file: *const c_char,
    flags: c_uint,
) -> Result {
    present(path_to_file)?;
    let api = opened()?;
    cu!(api.cuLogsDumpToFile(iterator, path_to_file, flags))
}

pub(crate) unsafe fn cudaLogsDumpToMemory(
    iterator: *mut cudaLogIterator,
    buffer: *mut c_char,
    size: *mut usize,
    flags: c_uint,
) -> Result {
    present(buffer)?;
    present(size)?;
    let api = opened()?;
    cu!(api.cuLogsDumpToMemory(iterator, buffer, size, flags))
}
