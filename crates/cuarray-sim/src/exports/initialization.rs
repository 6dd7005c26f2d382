//! Initialization, version, errors, and lookup of entry points by name.
//!
//! Driver API: [initialization](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__INITIALIZE.html), [entry
//! points](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__DRIVER__ENTRY__POINT.html). Everything here except
//! `cuInit` works before initialization.

use super::*;
use std::ffi::CStr;

pub(super) fn cuInit(call: &Call<'_>, flags: c_uint) -> Result<(), CUresult> {
    if flags != 0 {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    call.driver.initialize()
}

pub(super) fn cuDriverGetVersion(call: &Call<'_>, driver_version: Out<'_, c_int>) -> Result<(), CUresult> {
    driver_version.put(call.driver.settings().driver_version)
}

/// Unlike [`cuGetProcAddress_v2`], returns `CUDA_ERROR_NOT_FOUND` if there is no function, because it has no status.
pub(super) fn cuGetProcAddress(
    call: &Call<'_>,
    symbol: Text<'_>,
    pfn: Out<'_, *mut c_void>,
    driver_version: c_int,
    flags: u64,
) -> Result<(), CUresult> {
    match look_up(call, symbol, pfn, driver_version, flags)? {
        CU_GET_PROC_ADDRESS_SUCCESS => Ok(()),
        _ => Err(CUresult::CUDA_ERROR_NOT_FOUND),
    }
}

/// Writes a null address and a status, and succeeds, if there is no function of the name at this version.
pub(super) fn cuGetProcAddress_v2(
    call: &Call<'_>,
    symbol: Text<'_>,
    pfn: Out<'_, *mut c_void>,
    driver_version: c_int,
    flags: u64,
    symbol_found: Out<'_, CUdriverProcAddressQueryResult>,
) -> Result<(), CUresult> {
    let status = look_up(call, symbol, pfn, driver_version, flags)?;
    if !symbol_found.is_null() {
        symbol_found.put(status)?;
    }
    Ok(())
}

/// Writes the address of the newest function of a name at a version, or null, and returns the status of the search.
fn look_up(
    call: &Call<'_>,
    symbol: Text<'_>,
    pfn: Out<'_, *mut c_void>,
    driver_version: c_int,
    flags: u64,
) -> Result<CUdriverProcAddressQueryResult, CUresult> {
    let name = symbol.name()?;
    pfn.present()?;
    let known = CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    if flags & !known != 0 || flags == known {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
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
    pfn.put(address as *mut c_void)?;
    if meanings.is_empty() {
        call.driver.count_refused(&name);
    }
    Ok(status)
}

pub(super) fn cuGetErrorName(_: &Call<'_>, error: CUresult, p_str: Out<'_, *const c_char>) -> Result<(), CUresult> {
    p_str.put(error.c_name().map_or(std::ptr::null(), CStr::as_ptr))?;
    error.c_name().map(|_| ()).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)
}

pub(super) fn cuGetErrorString(_: &Call<'_>, error: CUresult, p_str: Out<'_, *const c_char>) -> Result<(), CUresult> {
    p_str.put(error.c_description().map_or(std::ptr::null(), CStr::as_ptr))?;
    error.c_description().map(|_| ()).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)
}

/// Refuses the call, and names its caller: these tables are undocumented.
pub(super) fn cuGetExportTable(
    call: &Call<'_>,
    pp_export_table: Out<'_, *const c_void>,
    p_export_table_id: In<'_, CUuuid>,
) -> Result<(), CUresult> {
    let table = p_export_table_id.read()?;
    export_table::explain(call.driver, call.entry, &table.bytes);
    pp_export_table.put(std::ptr::null())?;
    Err(CUresult::CUDA_ERROR_NOT_FOUND)
}
