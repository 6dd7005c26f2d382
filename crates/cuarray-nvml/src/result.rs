//! The results of NVML, and writing through pointers of the caller.

use std::ffi::{CStr, c_char, c_uint};

/// `nvmlReturn_t`.
#[allow(non_camel_case_types)]
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct nvmlReturn_t(c_uint);

impl nvmlReturn_t {
    pub(crate) const SUCCESS: Self = Self(0);
    pub(crate) const UNINITIALIZED: Self = Self(1);
    pub(crate) const INVALID_ARGUMENT: Self = Self(2);
    pub(crate) const NOT_SUPPORTED: Self = Self(3);
    pub(crate) const NOT_FOUND: Self = Self(6);
    pub(crate) const INSUFFICIENT_SIZE: Self = Self(7);
    pub(crate) const DRIVER_NOT_LOADED: Self = Self(9);
    pub(crate) const LIBRARY_NOT_FOUND: Self = Self(12);
    pub(crate) const ARGUMENT_VERSION_MISMATCH: Self = Self(25);
    pub(crate) const UNKNOWN: Self = Self(999);
}

pub(crate) type Outcome = Result<(), nvmlReturn_t>;

/// The C result of a function.
pub(crate) fn answer(outcome: Outcome) -> nvmlReturn_t {
    outcome.err().unwrap_or(nvmlReturn_t::SUCCESS)
}

/// Writes a value through a pointer of the caller.
///
/// # Safety
/// The pointer is null or may be written.
pub(crate) unsafe fn write<T>(to: *mut T, value: T) -> Outcome {
    if to.is_null() {
        return Err(nvmlReturn_t::INVALID_ARGUMENT);
    }
    // SAFETY: the pointer is not null, and by the contract may be written. A caller may pass any alignment.
    unsafe { to.write_unaligned(value) };
    Ok(())
}

/// Writes a text and its nul into a buffer of the caller.
///
/// # Safety
/// The pointer is null or points to `length` bytes that may be written.
pub(crate) unsafe fn write_text(to: *mut c_char, length: c_uint, text: &str) -> Outcome {
    if to.is_null() {
        return Err(nvmlReturn_t::INVALID_ARGUMENT);
    }
    if text.len() >= length as usize {
        return Err(nvmlReturn_t::INSUFFICIENT_SIZE);
    }
    // SAFETY: the buffer has room for the text and its nul.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr().cast(), to, text.len());
        to.add(text.len()).write(0);
    }
    Ok(())
}

/// A text of the caller.
///
/// # Safety
/// The pointer is null or points to a string.
pub(crate) unsafe fn read_text(from: *const c_char) -> Result<String, nvmlReturn_t> {
    if from.is_null() {
        return Err(nvmlReturn_t::INVALID_ARGUMENT);
    }
    // SAFETY: by the contract the pointer points to a string.
    let text = unsafe { CStr::from_ptr(from) };
    text.to_str().map(str::to_owned).map_err(|_| nvmlReturn_t::INVALID_ARGUMENT)
}

/// `nvmlErrorString`: the text of a result.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlErrorString(result: c_uint) -> *const c_char {
    let text = match result {
        0 => c"Success",
        1 => c"Uninitialized",
        2 => c"Invalid Argument",
        3 => c"Not Supported",
        4 => c"Insufficient Permissions",
        5 => c"Already Initialized",
        6 => c"Not Found",
        7 => c"Insufficient Size",
        8 => c"Insufficient External Power",
        9 => c"Driver Not Loaded",
        10 => c"Timeout",
        11 => c"Interrupt Request Issue",
        12 => c"NVML Shared Library Not Found",
        13 => c"Function Not Found",
        14 => c"Corrupted infoROM",
        15 => c"GPU is lost",
        16 => c"GPU requires reset",
        17 => c"The operating system has blocked the request.",
        18 => c"RM has detected an NVML/RM version mismatch.",
        19 => c"GPU is currently in use",
        20 => c"Insufficient Memory",
        21 => c"No data",
        22 => c"The vGPU operation is not available with ECC",
        23 => c"Insufficient Resources",
        24 => c"Frequency not supported",
        25 => c"Argument version mismatch",
        26 => c"Deprecated",
        27 => c"Not Ready",
        28 => c"GPU not found",
        29 => c"Invalid state",
        30 => c"Reset type not supported",
        _ => c"Unknown Error",
    };
    text.as_ptr()
}
