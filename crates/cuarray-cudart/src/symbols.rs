//! Variables of modules, by their symbols: `__device__`, `__constant__` and `__managed__`.
//!
//! A symbol is the address of the variable that the compiler made on the host. Its module is loaded at the first use.
//!
//! Runtime API: [memory management](https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__MEMORY.html).

use crate::call::{present, put};
use crate::memory::pointer;
use crate::registration::variable_of;
use crate::result::{Result, cudaError_t};
use crate::transfer::{DEFAULT, DEVICE_TO_DEVICE, DEVICE_TO_HOST, HOST_TO_DEVICE, cudaMemcpy, cudaMemcpyAsync};
use crate::types::*;
use cuarray_abi::{Api, CUdeviceptr};
use std::ffi::c_void;

/// The address and the size of a variable on the device.
///
/// # Errors
/// `cudaErrorInvalidSymbol` for an address that is no symbol; the driver's refusal of the image.
fn find(api: &Api, symbol: *const c_void) -> Result<(CUdeviceptr, usize)> {
    let (binary, variable) = variable_of(symbol).ok_or(cudaError_t::cudaErrorInvalidSymbol)?;
    match variable.place(api, &binary) {
        Err(cudaError_t::cudaErrorSymbolNotFound) => Err(cudaError_t::cudaErrorInvalidSymbol),
        found => found,
    }
}

/// The address of `count` bytes of a variable, from `offset`.
fn place(api: &Api, symbol: *const c_void, count: usize, offset: usize) -> Result<*mut c_void> {
    let (address, size) = find(api, symbol)?;
    if offset.checked_add(count).is_none_or(|end| end > size) {
        return Err(cudaError_t::cudaErrorInvalidValue);
    }
    Ok(pointer(address + offset as CUdeviceptr))
}

/// The target of a copy to a symbol, whose direction is checked first.
pub(crate) fn target(
    api: &Api,
    symbol: *const c_void,
    count: usize,
    offset: usize,
    kind: cudaMemcpyKind,
) -> Result<*mut c_void> {
    match kind {
        HOST_TO_DEVICE | DEVICE_TO_DEVICE | DEFAULT => place(api, symbol, count, offset),
        _ => Err(cudaError_t::cudaErrorInvalidMemcpyDirection),
    }
}

/// The source of a copy from a symbol, whose direction is checked first.
pub(crate) fn source(
    api: &Api,
    symbol: *const c_void,
    count: usize,
    offset: usize,
    kind: cudaMemcpyKind,
) -> Result<*mut c_void> {
    match kind {
        DEVICE_TO_HOST | DEVICE_TO_DEVICE | DEFAULT => place(api, symbol, count, offset),
        _ => Err(cudaError_t::cudaErrorInvalidMemcpyDirection),
    }
}

pub(crate) unsafe fn cudaMemcpyToSymbol(
    api: &Api,
    symbol: *const c_void,
    src: *const c_void,
    count: usize,
    offset: usize,
    kind: cudaMemcpyKind,
) -> Result {
    // SAFETY: by the contract of this function.
    unsafe { cudaMemcpy(api, target(api, symbol, count, offset, kind)?, src, count, kind) }
}

pub(crate) unsafe fn cudaMemcpyFromSymbol(
    api: &Api,
    dst: *mut c_void,
    symbol: *const c_void,
    count: usize,
    offset: usize,
    kind: cudaMemcpyKind,
) -> Result {
    // SAFETY: by the contract of this function.
    unsafe { cudaMemcpy(api, dst, source(api, symbol, count, offset, kind)?, count, kind) }
}

pub(crate) unsafe fn cudaMemcpyToSymbolAsync(
    api: &Api,
    symbol: *const c_void,
    src: *const c_void,
    count: usize,
    offset: usize,
    kind: cudaMemcpyKind,
    stream: cudaStream_t,
) -> Result {
    // SAFETY: by the contract of this function.
    unsafe { cudaMemcpyAsync(api, target(api, symbol, count, offset, kind)?, src, count, kind, stream) }
}

pub(crate) unsafe fn cudaMemcpyFromSymbolAsync(
    api: &Api,
    dst: *mut c_void,
    symbol: *const c_void,
    count: usize,
    offset: usize,
    kind: cudaMemcpyKind,
    stream: cudaStream_t,
) -> Result {
    // SAFETY: by the contract of this function.
    unsafe { cudaMemcpyAsync(api, dst, source(api, symbol, count, offset, kind)?, count, kind, stream) }
}

pub(crate) unsafe fn cudaGetSymbolAddress(api: &Api, dev_ptr: *mut *mut c_void, symbol: *const c_void) -> Result {
    present(dev_ptr)?;
    let (address, _) = find(api, symbol)?;
    // SAFETY: by the contract of this function.
    unsafe { put(dev_ptr, pointer(address)) }
}

pub(crate) unsafe fn cudaGetSymbolSize(api: &Api, size: *mut usize, symbol: *const c_void) -> Result {
    present(size)?;
    let (_, bytes) = find(api, symbol)?;
    // SAFETY: by the contract of this function.
    unsafe { put(size, bytes) }
}
