//! Registration: the calls of the compiler's code that tell the runtime about kernels and variables.
//!
//! Static constructors make these calls, tens of thousands of them when a large library is loaded. So a call only records
//! its arguments: the driver is not opened, and no image is loaded. The first use of a kernel or of a variable loads the image of its
//! binary, once; a refused image is refused again without the driver.
//!
//! A program keeps the handle that `__cudaGetKernel` gives it in a static variable, and ignores the error. So the handle is a record
//! of this module, and the launch loads it: its failure is then the last error.

mod binary;
pub(crate) mod kernel_handles;
mod loading;
mod record;
mod table;

use record::Kernel;
pub(crate) use table::variable_of;
use table::{Variable, kernel_of};

use crate::call::{in_context, put};
use crate::driver::cu;
use crate::result::{Result, cudaError_t};
use crate::types::*;
use cuarray_abi::{Api, CUfunction, CUkernel};
use std::ffi::{c_char, c_int, c_void};
use std::ptr;

/// The kernel that a host function launches, or that a handle of `cudaLibraryGetKernel` means.
///
/// # Errors
/// `cudaErrorInvalidDeviceFunction` for an unknown function; the driver's refusal of the image.
#[inline]
pub(crate) fn kernel(api: &Api, function: *const c_void) -> Result<CUkernel> {
    match kernel_of(function) {
        Some(kernel) => kernel.loaded(api),
        None => kernel_of_handle(api, CUkernel(function.addr())),
    }
}

/// The driver's kernel for a handle of the runtime, which may be one of `__cudaGetKernel`.
///
/// # Errors
/// `cudaErrorInvalidDeviceFunction` for an unknown handle; the driver's refusal of the image.
#[inline]
pub(crate) fn kernel_of_handle(api: &Api, handle: cudaKernel_t) -> Result<CUkernel> {
    match Kernel::of_handle(handle) {
        Some(kernel) => kernel.loaded(api),
        None if kernel_handles::contains(handle) => Ok(handle),
        None => Err(cudaError_t::cudaErrorInvalidDeviceFunction),
    }
}

/// The host function whose kernel is the given kernel of a library, or the given function of a module.
pub(crate) fn host_of(api: &Api, function: CUfunction, kernel: CUkernel) -> Option<*const c_void> {
    let loaded = table::loaded();
    let handle = if kernel.is_null() { CUkernel(function.0) } else { kernel };
    let is_function = |kernel: CUkernel| {
        let mut found = CUfunction::NULL;
        !function.is_null() && cu!(api.cuKernelGetFunction(&raw mut found, kernel)).is_ok() && found == function
    };
    let host = loaded.iter().find(|(_, kernel)| *kernel == handle);
    host.or_else(|| loaded.iter().find(|(_, kernel)| is_function(*kernel))).map(|(host, _)| *host)
}

/// The driver's library of a host function.
pub(crate) fn library_of(api: &Api, function: *const c_void) -> Result<cudaLibrary_t> {
    kernel_of(function).ok_or(cudaError_t::cudaErrorInvalidDeviceFunction)?.library(api)
}

pub(crate) unsafe fn __cudaRegisterFatBinary(fat_cubin: *mut c_void) -> *mut *mut c_void {
    // SAFETY: the compiler's wrapper lives as long as its library.
    let image = unsafe { binary::image(fat_cubin) };
    table::add_binary(image).cast_mut()
}

/// Ends a registration. Nothing waits for it: images are loaded at their first use.
pub(crate) unsafe fn __cudaRegisterFatBinaryEnd(_fat_cubin_handle: *mut *mut c_void) {}

/// Forgets a binary with its kernels and variables. It runs when a library is closed, and at exit, where the driver may have ended.
pub(crate) unsafe fn __cudaUnregisterFatBinary(fat_cubin_handle: *mut *mut c_void) {
    if let Some(binary) = table::remove_binary(fat_cubin_handle) {
        binary.unload();
    }
}

pub(crate) unsafe fn __cudaRegisterFunction(
    fat_cubin_handle: *mut *mut c_void,
    host_fun: *const c_char,
    _device_fun: *mut c_char,
    device_name: *const c_char,
    _thread_limit: c_int,
    _tid: *mut uint3,
    _bid: *mut uint3,
    _b_dim: *mut dim3,
    _g_dim: *mut dim3,
    _w_size: *mut c_int,
) {
    table::add_kernel(fat_cubin_handle, host_fun.cast(), device_name);
}

pub(crate) unsafe fn __cudaRegisterVar(
    fat_cubin_handle: *mut *mut c_void,
    host_var: *mut c_char,
    _device_address: *mut c_char,
    device_name: *const c_char,
    _ext: c_int,
    _size: usize,
    _constant: c_int,
    _global: c_int,
) {
    let variable = Variable { name: device_name, managed: ptr::null_mut() };
    table::add_variable(fat_cubin_handle, host_var.cast(), variable);
}

pub(crate) unsafe fn __cudaRegisterManagedVar(
    fat_cubin_handle: *mut *mut c_void,
    host_var_ptr_address: *mut *mut c_void,
    _device_address: *mut c_char,
    device_name: *const c_char,
    _ext: c_int,
    _size: usize,
    _constant: c_int,
    _global: c_int,
) {
    let variable = Variable { name: device_name, managed: host_var_ptr_address };
    table::add_variable(fat_cubin_handle, host_var_ptr_address.cast(), variable);
}

/// Called before the host's first access to a managed variable of a binary: tells the program the addresses of all of them.
pub(crate) unsafe fn __cudaInitModule(fat_cubin_handle: *mut *mut c_void) -> c_char {
    let Some((binary, variables)) = table::managed_of(fat_cubin_handle) else { return 0 };
    let initialized = in_context(|api| {
        variables.iter().try_for_each(|variable| {
            let (address, _) = variable.place(api, &binary)?;
            // SAFETY: the compiler's code has registered a pointer that it reads after this call.
            unsafe { put(variable.managed, ptr::without_provenance_mut(address as usize)) }
        })
    });
    initialized.is_ok().into()
}

pub(crate) unsafe fn __cudaGetKernel(kernel: *mut cudaKernel_t, entry_func_addr: *const c_void) -> Result {
    let found = kernel_of(entry_func_addr).ok_or(cudaError_t::cudaErrorInvalidDeviceFunction)?;
    // SAFETY: by the contract of this function.
    unsafe { put(kernel, found.handle()) }
}
