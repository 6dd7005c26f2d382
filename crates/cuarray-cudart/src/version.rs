//! Versions of the driver and of this runtime: the newest CUDA of each major whose header the list follows.
//!
//! Runtime API: [version management](https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART____VERSION.html).

use crate::call::put;
use crate::driver;
use crate::result::Result;
use std::ffi::c_int;

/// The version of `libcudart.so.12`.
pub(crate) const VERSION_12: c_int = 12090;
/// The version of `libcudart.so.13`.
pub(crate) const VERSION_13: c_int = 13050;

/// The newest CUDA that the driver supports; 0 without a driver.
pub(crate) unsafe fn cudaDriverGetVersion(driver_version: *mut c_int) -> Result {
    // SAFETY: by the contract of this function.
    unsafe { put(driver_version, driver::version()) }
}

pub(crate) unsafe fn cudaRuntimeGetVersion(runtime_version: *mut c_int) -> Result {
    // SAFETY: by the contract of this function.
    unsafe { put(runtime_version, VERSION_13) }
}

/// The version of the runtime of CUDA 12.
pub(crate) unsafe fn cudaRuntimeGetVersion_v1(runtime_version: *mut c_int) -> Result {
    // SAFETY: by the contract of this function.
    unsafe { put(runtime_version, VERSION_12) }
}
