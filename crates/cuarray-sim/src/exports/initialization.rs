//! Initialization, version, errors, and lookup of entry points by name.
//!
//! Driver API: [initialization](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__INITIALIZE.html), [entry
//! points](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__DRIVER__ENTRY__POINT.html). Everything here except
//! `cuInit` works before initialization.

use super::*;
use std::ffi::CStr;

pub(super) unsafe fn cuInit(call: &Call<'_>, flags: c_uint) -> Result<(), CUresult> {
    if flags != 0 {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    call.driver.initialize()
}

pub(super) unsafe fn cuDriverGetVersion(call: &Call<'_>, driver_version: *mut c_int) -> Result<(), CUresult> {
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(driver_version, call.driver.settings().driver_version) }
}

/// Unlike [`cuGetProcAddress_v2`], returns `CUDA_ERROR_NOT_FOUND` if there is no function, because it has no status.
pub(super) unsafe fn cuGetProcAddress(
    call: &Call<'_>,
    symbol: *const c_char,
    pfn: *mut *mut c_void,
    driver_version: c_int,
    flags: u64,
) -> Result<(), CUresult> {
    // SAFETY: the caller's pointers, by the driver's contract.
    match unsafe { look_up(call, symbol, pfn, driver_version, flags)? } {
        CU_GET_PROC_ADDRESS_SUCCESS => Ok(()),
        _ => Err(CUresult::CUDA_ERROR_NOT_FOUND),
    }
}

/// Writes a null address and a status, and succeeds, if there is no function of the name at this version.
pub(super) unsafe fn cuGetProcAddress_v2(
    call: &Call<'_>,
    symbol: *const c_char,
    pfn: *mut *mut c_void,
    driver_version: c_int,
    flags: u64,
    symbol_found: *mut CUdriverProcAddressQueryResult,
) -> Result<(), CUresult> {
    // SAFETY: the caller's pointers, by the driver's contract.
    let status = unsafe { look_up(call, symbol, pfn, driver_version, flags)? };
    if !symbol_found.is_null() {
        // SAFETY: the caller's pointer, by the driver's contract.
        unsafe { put(symbol_found, status)? };
    }
    Ok(())
}

/// Writes the address of the newest function of a name at a version, or null, and returns the status of the search.
unsafe fn look_up(
    call: &Call<'_>,
    symbol: *const c_char,
    pfn: *mut *mut c_void,
    driver_version: c_int,
    flags: u64,
) -> Result<CUdriverProcAddressQueryResult, CUresult> {
    present(symbol)?;
    present(pfn)?;
    let known = CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    if flags & !known != 0 || flags == known {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    // SAFETY: a nul-terminated string, by the driver's contract.
    let name = unsafe { CStr::from_ptr(symbol) }.to_string_lossy();
    let meanings = meanings(&name);
    let newest = call.driver.settings().driver_version.min(driver_version);
    let meaning = meanings.iter().rev().find(|meaning| meaning.since <= newest);
    let status = match meaning {
        Some(_) => CU_GET_PROC_ADDRESS_SUCCESS,
        None if meanings.is_empty() => CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND,
        None => CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT,
    };
    // Without flags, the variant of this call decides.
    let per_thread = flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM || (flags == 0 && call.per_thread);
    let address = meaning.map_or(0, |meaning| if per_thread { meaning.per_thread } else { meaning.legacy });
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(pfn, address as *mut c_void)? };
    if meanings.is_empty() {
        call.driver.count_refused(&name);
    }
    Ok(status)
}

pub(super) unsafe fn cuGetErrorName(_: &Call<'_>, error: CUresult, p_str: *mut *const c_char) -> Result<(), CUresult> {
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(p_str, error.c_name().map_or(std::ptr::null(), CStr::as_ptr))? };
    error.c_name().map(|_| ()).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)
}

pub(super) unsafe fn cuGetErrorString(
    _: &Call<'_>,
    error: CUresult,
    p_str: *mut *const c_char,
) -> Result<(), CUresult> {
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(p_str, error.c_description().map_or(std::ptr::null(), CStr::as_ptr))? };
    error.c_description().map(|_| ()).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)
}

/// Refuses the call: these tables are undocumented. [`export_table::explain`](super::export_table) names the caller.
pub(super) unsafe fn cuGetExportTable(
    _: &Call<'_>,
    pp_export_table: *mut *const c_void,
    p_export_table_id: *const CUuuid,
) -> Result<(), CUresult> {
    present(p_export_table_id)?;
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(pp_export_table, std::ptr::null())? };
    Err(CUresult::CUDA_ERROR_NOT_FOUND)
}
