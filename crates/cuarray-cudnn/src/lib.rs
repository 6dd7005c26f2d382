//! The shared library `libcudnn.so.9`: a stand-in with the functions that a library calls at its start.
//!
//! XLA creates a handle for each device and asks for the version before it compiles anything, even if no operation needs cuDNN. Handles,
//! versions and error texts work. Every other documented function is exported, because PyTorch binds all of its imports when it is
//! loaded. Such a function prints its name once and answers `CUDNN_STATUS_NOT_SUPPORTED`.

mod refused;

use cuarray_stand_in::report_use;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::ptr;
use std::sync::Once;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The version of the interface: that of the newest cuDNN 9 whose functions are exported.
const VERSION: (c_int, c_int, c_int) = (9, 28, 1);

#[allow(non_camel_case_types)]
type cudnnStatus_t = c_uint;

const CUDNN_STATUS_SUCCESS: cudnnStatus_t = 0;
const CUDNN_STATUS_NOT_SUPPORTED: cudnnStatus_t = 3000;
const CUDNN_STATUS_BAD_PARAM: cudnnStatus_t = 2000;
const CUDNN_STATUS_BAD_PARAM_NULL_POINTER: cudnnStatus_t = 2002;

/// The target of `cudnnHandle_t`.
pub struct Handle {
    stream: AtomicPtr<c_void>,
}

/// Gives an exported function the version node of the library.
macro_rules! node {
    ($name:ident) => {
        #[cfg(versioned)]
        ::std::arch::global_asm!(concat!(".symver ", stringify!($name), ", ", stringify!($name), "@@libcudnn.so.9"));
    };
}
use node;

/// Prints a line on standard error. Standard error may be closed, so a failure is ignored.
fn print(line: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// `cudnnCreate`.
///
/// # Safety
/// `handle` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnCreate(handle: *mut *mut Handle) -> cudnnStatus_t {
    if handle.is_null() {
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    }
    static REPORT: Once = Once::new();
    REPORT.call_once(|| report_use("libcudnn.so.9"));
    let created = Box::into_raw(Box::new(Handle { stream: AtomicPtr::new(ptr::null_mut()) }));
    // SAFETY: the pointer is not null, and by the contract may be written.
    unsafe { handle.write(created) };
    CUDNN_STATUS_SUCCESS
}
node!(cudnnCreate);

/// `cudnnDestroy`.
///
/// # Safety
/// `handle` is null or was created, and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnDestroy(handle: *mut Handle) -> cudnnStatus_t {
    if handle.is_null() {
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    }
    // SAFETY: by the contract the handle comes from `cudnnCreate`, and this is its only use.
    drop(unsafe { Box::from_raw(handle) });
    CUDNN_STATUS_SUCCESS
}
node!(cudnnDestroy);

/// `cudnnSetStream`.
///
/// # Safety
/// `handle` is null or was created.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnSetStream(handle: *mut Handle, stream: *mut c_void) -> cudnnStatus_t {
    // SAFETY: by the contract the handle is null or alive.
    let Some(handle) = (unsafe { handle.as_ref() }) else { return CUDNN_STATUS_BAD_PARAM_NULL_POINTER };
    handle.stream.store(stream, Ordering::Release);
    CUDNN_STATUS_SUCCESS
}
node!(cudnnSetStream);

/// `cudnnGetStream`.
///
/// # Safety
/// `handle` is null or was created; `stream` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnGetStream(handle: *mut Handle, stream: *mut *mut c_void) -> cudnnStatus_t {
    // SAFETY: by the contract the handle is null or alive.
    let Some(handle) = (unsafe { handle.as_ref() }) else { return CUDNN_STATUS_BAD_PARAM_NULL_POINTER };
    if stream.is_null() {
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    }
    // SAFETY: the pointer is not null, and by the contract may be written.
    unsafe { stream.write(handle.stream.load(Ordering::Acquire)) };
    CUDNN_STATUS_SUCCESS
}
node!(cudnnGetStream);

/// `cudnnGetVersion`.
#[unsafe(no_mangle)]
pub extern "C" fn cudnnGetVersion() -> usize {
    (VERSION.0 * 10_000 + VERSION.1 * 100 + VERSION.2).unsigned_abs() as usize
}
node!(cudnnGetVersion);

/// `cudnnGetMaxDeviceVersion`: compute capability 12.0.
#[unsafe(no_mangle)]
pub extern "C" fn cudnnGetMaxDeviceVersion() -> usize {
    1200
}
node!(cudnnGetMaxDeviceVersion);

/// `cudnnGetCudartVersion`: the CUDA 13 runtime.
#[unsafe(no_mangle)]
pub extern "C" fn cudnnGetCudartVersion() -> usize {
    13_000
}
node!(cudnnGetCudartVersion);

/// `cudnnGetProperty`: a part of the version.
///
/// # Safety
/// `value` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnGetProperty(kind: c_uint, value: *mut c_int) -> cudnnStatus_t {
    let part = match kind {
        0 => VERSION.0,
        1 => VERSION.1,
        2 => VERSION.2,
        _ => return CUDNN_STATUS_BAD_PARAM,
    };
    if value.is_null() {
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    }
    // SAFETY: the pointer is not null, and by the contract may be written.
    unsafe { value.write(part) };
    CUDNN_STATUS_SUCCESS
}
node!(cudnnGetProperty);

/// `cudnnGetErrorString`: the name of a status.
#[unsafe(no_mangle)]
pub extern "C" fn cudnnGetErrorString(status: cudnnStatus_t) -> *const c_char {
    let name = match status {
        CUDNN_STATUS_SUCCESS => c"CUDNN_STATUS_SUCCESS",
        1001 => c"CUDNN_STATUS_NOT_INITIALIZED",
        CUDNN_STATUS_BAD_PARAM => c"CUDNN_STATUS_BAD_PARAM",
        CUDNN_STATUS_BAD_PARAM_NULL_POINTER => c"CUDNN_STATUS_BAD_PARAM_NULL_POINTER",
        CUDNN_STATUS_NOT_SUPPORTED => c"CUDNN_STATUS_NOT_SUPPORTED",
        4000 => c"CUDNN_STATUS_INTERNAL_ERROR",
        5000 => c"CUDNN_STATUS_EXECUTION_FAILED",
        _ => c"CUDNN_UNKNOWN_STATUS",
    };
    name.as_ptr()
}
node!(cudnnGetErrorString);

/// `cudnnGetLastErrorString`: the only error that work can meet here.
///
/// # Safety
/// `message` is null or has `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnGetLastErrorString(message: *mut c_char, size: usize) {
    const TEXT: &[u8] = b"libcudnn.so.9 of cuarray-sim is a stand-in without kernels";
    if message.is_null() || size == 0 {
        return;
    }
    let length = TEXT.len().min(size - 1);
    // SAFETY: the buffer has room for that many bytes and a nul.
    unsafe {
        ptr::copy_nonoverlapping(TEXT.as_ptr().cast(), message, length);
        message.add(length).write(0);
    }
}
node!(cudnnGetLastErrorString);

/// Exports checks of the sub-libraries, whose functions are all in this file.
macro_rules! checks {
    ($($name:ident)*) => {$(
        #[doc = concat!("`", stringify!($name), "`.")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() -> cudnnStatus_t {
            CUDNN_STATUS_SUCCESS
        }
        node!($name);
    )*};
}

checks! {
    cudnnGraphVersionCheck
    cudnnOpsVersionCheck
    cudnnCnnVersionCheck
    cudnnAdvVersionCheck
}
