//! Parameters of the C functions that many of them have: outputs and names.

use cuarray_abi::CUresult;
use std::ffi::{CStr, c_char};

/// Checks that an output pointer is not null.
pub(crate) fn present<T>(pointer: *const T) -> Result<(), CUresult> {
    if pointer.is_null() { Err(CUresult::CUDA_ERROR_INVALID_VALUE) } else { Ok(()) }
}

/// Writes an output.
///
/// # Safety
/// `pointer` is null or writable.
pub(crate) unsafe fn put<T>(pointer: *mut T, value: T) -> Result<(), CUresult> {
    present(pointer)?;
    // SAFETY: by this function's contract; the pointer may be unaligned.
    unsafe { pointer.write_unaligned(value) };
    Ok(())
}

/// The result of a call that this driver does not support.
pub(crate) fn unsupported() -> Result<(), CUresult> {
    Err(CUresult::CUDA_ERROR_NOT_SUPPORTED)
}

/// A name that a program passed.
///
/// # Safety
/// `name` is null or a nul-terminated string.
pub(crate) unsafe fn name(name: *const c_char) -> Result<String, CUresult> {
    present(name)?;
    // SAFETY: this function's contract.
    Ok(unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned())
}
