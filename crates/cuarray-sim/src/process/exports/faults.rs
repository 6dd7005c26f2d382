//! C functions beyond the driver API, with which tools inject faults.

use crate::config::Fault;
use crate::driver::Driver;
use crate::parameters::{Out, Received, Text};
use crate::process::current;
use crate::process::exports::schedule::{read, tool};
use cuarray_abi::*;
use std::ffi::c_char;
use std::sync::atomic::Ordering;

/// Injects a fault whose `call` counts from the next call of its symbol.
pub(crate) fn inject(driver: &Driver, fault: Fault) -> Result<(), String> {
    let index = ENTRY_POINTS.iter().position(|entry| entry.symbol == fault.symbol);
    let index = index.ok_or_else(|| format!("no entry point has the symbol {}", fault.symbol))?;
    if fault.call == 0 {
        return Err(format!("a fault for {} at call 0: calls are counted from 1", fault.symbol));
    }
    driver.inject(fault, driver.calls_of[index].load(Ordering::Relaxed));
    Ok(())
}

/// Makes a later call of the calling thread's driver fail. `fault` has the form of `CUARRAY_SIM_FAULTS`, where calls are counted from
/// now on: `cuMemAlloc_v2:1:CUDA_ERROR_OUT_OF_MEMORY` makes the next allocation fail. The failed call has no other effect. Returns
/// `CUDA_ERROR_INVALID_VALUE` if the text is no fault.
///
/// # Safety
/// `fault` is null or a nul-terminated string.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuarraySimFailNext(fault: *const c_char) -> CUresult {
    tool(|| {
        // SAFETY: by this function's contract.
        let fault: Fault =
            read(unsafe { Text::received(fault) })?.parse().map_err(|()| CUresult::CUDA_ERROR_INVALID_VALUE)?;
        let driver = current::driver().ok_or(CUresult::CUDA_ERROR_DEINITIALIZED)?;
        inject(&driver, fault).map_err(|_| CUresult::CUDA_ERROR_INVALID_VALUE)
    })
}

/// Removes the injected faults that no call has reached, and writes their number.
///
/// # Safety
/// `left` is null or writable.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuarraySimClearFaults(left: *mut u64) -> CUresult {
    tool(|| {
        let driver = current::driver().ok_or(CUresult::CUDA_ERROR_DEINITIALIZED)?;
        let count = driver.clear_faults() as u64;
        // SAFETY: by this function's contract.
        unsafe { Out::received(left) }.put_if_present(count);
        Ok(())
    })
}
