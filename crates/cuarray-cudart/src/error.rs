//! Error handling: the last error of the thread, names and texts.
//!
//! Runtime API: [error handling](https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__ERROR.html).

use crate::result::cudaError_t;
use crate::thread;
use std::ffi::c_char;

/// Returns the last error and forgets it, unless it is one that no later call can succeed after.
pub(crate) unsafe fn cudaGetLastError() -> cudaError_t {
    thread::with(|thread| {
        let last = thread.last.get();
        if !last.is_sticky() {
            thread.last.set(cudaError_t::cudaSuccess);
        }
        last
    })
}

pub(crate) unsafe fn cudaPeekAtLastError() -> cudaError_t {
    thread::with(|thread| thread.last.get())
}

pub(crate) unsafe fn cudaGetErrorName(error: cudaError_t) -> *const c_char {
    error.name().unwrap_or(c"unrecognized error code").as_ptr()
}

pub(crate) unsafe fn cudaGetErrorString(error: cudaError_t) -> *const c_char {
    error.text().unwrap_or(c"unrecognized error code").as_ptr()
}
