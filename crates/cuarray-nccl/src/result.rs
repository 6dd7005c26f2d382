//! The results of NCCL, and the message of the last error.

use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int, c_uint};
use std::ptr;

/// `ncclResult_t`.
#[allow(non_camel_case_types)]
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ncclResult_t(c_uint);

impl ncclResult_t {
    pub(crate) const SUCCESS: Self = Self(0);
    pub(crate) const UNHANDLED_CUDA_ERROR: Self = Self(1);
    pub(crate) const SYSTEM_ERROR: Self = Self(2);
    pub(crate) const INVALID_ARGUMENT: Self = Self(4);
    pub(crate) const INVALID_USAGE: Self = Self(5);
    pub(crate) const REMOTE_ERROR: Self = Self(6);
}

/// A failure: its result, and the message that `ncclGetLastError` answers.
#[derive(Clone, Debug)]
pub(crate) struct Error {
    pub(crate) result: ncclResult_t,
    pub(crate) message: String,
}

impl Error {
    pub(crate) fn argument(message: impl Into<String>) -> Self {
        Self { result: ncclResult_t::INVALID_ARGUMENT, message: message.into() }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { result: ncclResult_t::INVALID_USAGE, message: message.into() }
    }

    pub(crate) fn remote(message: impl Into<String>) -> Self {
        Self { result: ncclResult_t::REMOTE_ERROR, message: message.into() }
    }
}

pub(crate) type Outcome<T = ()> = Result<T, Error>;

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// The C result of a function. A failure becomes the last error of this thread.
pub(crate) fn answer(function: &str, outcome: Outcome) -> ncclResult_t {
    let Err(error) = outcome else { return ncclResult_t::SUCCESS };
    let message = format!("{function}: {}", error.message).replace('\0', "");
    LAST.with(|last| *last.borrow_mut() = CString::new(message).unwrap_or_default());
    error.result
}

/// Writes a value through a pointer of the caller.
///
/// # Safety
/// The pointer is null or may be written.
pub(crate) unsafe fn write<T>(name: &str, to: *mut T, value: T) -> Outcome {
    if to.is_null() {
        return Err(Error::argument(format!("{name} is null")));
    }
    // SAFETY: the pointer is not null, and by the contract may be written. A caller may pass any alignment.
    unsafe { to.write_unaligned(value) };
    Ok(())
}

/// `ncclGetErrorString`: the text of a result.
#[unsafe(no_mangle)]
pub extern "C" fn ncclGetErrorString(result: c_uint) -> *const c_char {
    let text = match result {
        0 => c"no error",
        1 => c"a call of the driver failed: ncclGetLastError names it",
        2 => c"a call of the operating system failed",
        3 => c"internal error of the stand-in for NCCL",
        4 => c"invalid argument: ncclGetLastError names it",
        5 => c"invalid usage: ncclGetLastError has the reason",
        6 => c"another rank failed",
        7 => c"the operation is in progress",
        8 => c"timeout",
        _ => c"unknown result",
    };
    text.as_ptr()
}

/// `ncclGetLastError`: the message of this thread's last failure. It is valid until the thread's next failure.
#[unsafe(no_mangle)]
pub extern "C" fn ncclGetLastError(_comm: usize) -> *const c_char {
    LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or(ptr::null())
}

/// The version whose functions are exported: 2.30.7.
const VERSION: c_int = 23_007;

/// `ncclGetVersion`.
///
/// # Safety
/// `version` is null or may be written.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclGetVersion(version: *mut c_int) -> ncclResult_t {
    // SAFETY: the contract is that of `write`.
    answer("ncclGetVersion", unsafe { write("version", version, VERSION) })
}

/// `ncclResetDebugInit`: there is no logging.
#[unsafe(no_mangle)]
pub extern "C" fn ncclResetDebugInit() {}
