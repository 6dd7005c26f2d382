//! Extensions for tools that have loaded the shared library: the driver's statistics.

use crate::parameters::{Out, Received};
use crate::process::current;
use cuarray_abi::*;
use std::ffi::c_char;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Writes the statistics of the calling thread's driver to `buf`, as JSON and a nul. `buf` has room for `cap` bytes.
/// `len` receives the length of the JSON in bytes. If the JSON does not fit, the call writes only the length and returns
/// `CUDA_ERROR_INVALID_VALUE`. A null `buf` queries the length.
///
/// # Safety
/// `buf` is null or has room for `cap` bytes; `len` is null or writable.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuarraySimStatistics(buf: *mut c_char, cap: usize, len: *mut usize) -> CUresult {
    let guarded = AssertUnwindSafe(|| {
        let driver = current::driver().ok_or(CUresult::CUDA_ERROR_DEINITIALIZED)?;
        if driver.initialized_elsewhere() {
            return Err(CUresult::CUDA_ERROR_NOT_INITIALIZED);
        }
        let text = crate::process::statistics::json(&driver);
        // SAFETY: by this function's contract.
        unsafe { write_text(&text, buf, cap, len) }
    });
    match catch_unwind(guarded) {
        Ok(Ok(())) => CUresult::CUDA_SUCCESS,
        Ok(Err(code)) => code,
        Err(_) => CUresult::CUDA_ERROR_UNKNOWN,
    }
}

/// Makes this process end with lines on standard error if it made no driver call, or if suppressions are unused.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cuarraySimSummarize() -> CUresult {
    crate::process::summary::request();
    CUresult::CUDA_SUCCESS
}

/// Writes a text and a nul to `buf`, with the parameters that all extension functions share.
///
/// # Safety
/// `buf` is null or has room for `cap` bytes; `len` is null or writable.
pub(crate) unsafe fn write_text(text: &str, buf: *mut c_char, cap: usize, len: *mut usize) -> Result<(), CUresult> {
    // SAFETY: this function's contract.
    let (buf, len): (Out<'_, c_char>, Out<'_, usize>) = unsafe { (Out::received(buf), Out::received(len)) };
    len.put(text.len())?;
    if buf.is_null() {
        return Ok(());
    }
    if text.len() >= cap {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    // SAFETY: this function's contract.
    unsafe { buf.put_text(text, cap) }
}
