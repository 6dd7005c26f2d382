//! Page-locked memory of the host.

use crate::call::{present, put};
use crate::driver::cu;
use crate::memory::pointer;
use crate::result::Result;
use cuarray_abi::Api;
use std::ffi::{c_uint, c_void};
use std::ptr;

pub(crate) unsafe fn cudaMallocHost(api: &Api, ptr: *mut *mut c_void, size: usize) -> Result {
    // SAFETY: by the contract of this function.
    unsafe { cudaHostAlloc(api, ptr, size, 0) }
}

pub(crate) unsafe fn cudaHostAlloc(api: &Api, p_host: *mut *mut c_void, size: usize, flags: c_uint) -> Result {
    present(p_host)?;
    let mut memory = ptr::null_mut();
    if size != 0 {
        cu!(api.cuMemHostAlloc(&raw mut memory, size, flags))?;
    }
    // SAFETY: by the contract of this function.
    unsafe { put(p_host, memory) }
}

pub(crate) unsafe fn cudaFreeHost(api: &Api, ptr: *mut c_void) -> Result {
    if ptr.is_null() {
        return Ok(());
    }
    cu!(api.cuMemFreeHost(ptr))
}

pub(crate) unsafe fn cudaHostRegister(api: &Api, ptr: *mut c_void, size: usize, flags: c_uint) -> Result {
    cu!(api.cuMemHostRegister_v2(ptr, size, flags))
}

pub(crate) unsafe fn cudaHostUnregister(api: &Api, ptr: *mut c_void) -> Result {
    cu!(api.cuMemHostUnregister(ptr))
}

pub(crate) unsafe fn cudaHostGetDevicePointer(
    api: &Api,
    p_device: *mut *mut c_void,
    p_host: *mut c_void,
    flags: c_uint,
) -> Result {
    present(p_device)?;
    let mut address = 0;
    cu!(api.cuMemHostGetDevicePointer_v2(&raw mut address, p_host, flags))?;
    // SAFETY: by the contract of this function.
    unsafe { put(p_device, pointer(address)) }
}

pub(crate) unsafe fn cudaHostGetFlags(api: &Api, p_flags: *mut c_uint, p_host: *mut c_void) -> Result {
    present(p_flags)?;
    cu!(api.cuMemHostGetFlags(p_flags, p_host))
}
