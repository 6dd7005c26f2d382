//! The work that all C functions share.

use crate::handle::{self, Handle};
use crate::status::Outcome;
use crate::types::{cublasHandle_t, cublasStatus_t};
use cuarray_stream_work::LibraryCall;
use std::ffi::CStr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

/// Runs a function without a handle. No panic unwinds into the caller.
pub(crate) fn plain(name: &'static CStr, f: impl FnOnce() -> Outcome) -> cublasStatus_t {
    let guarded = AssertUnwindSafe(|| {
        let _call = LibraryCall::begin(name);
        f()
    });
    match catch_unwind(guarded) {
        Ok(Ok(())) => cublasStatus_t::SUCCESS,
        Ok(Err(status)) => status,
        Err(_) => cublasStatus_t::INTERNAL_ERROR,
    }
}

/// Runs a function of a handle.
pub(crate) fn with_handle(
    name: &'static CStr,
    handle: cublasHandle_t,
    f: impl FnOnce(&Handle) -> Outcome,
) -> cublasStatus_t {
    plain(name, || f(&*handle::find(handle)?))
}

/// The name of a function for the driver.
pub(crate) const fn c_name(name: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(name.as_bytes()) {
        Ok(name) => name,
        Err(_) => c"cublas",
    }
}

/// Refuses a call, and prints the first one of each function: the program may hide the status.
#[doc(hidden)]
pub fn refuse(library: &str, function: &str, told: &AtomicBool) -> cublasStatus_t {
    use std::io::Write;
    if !told.swap(true, Ordering::Relaxed) {
        // Standard error may be closed.
        let _ = writeln!(
            std::io::stderr(),
            "cuarray-sim: {function} is not supported: {library} is a stand-in with a part of cuBLAS. \
             CUARRAY_SIM_{}=0 leaves the real library in place.",
            if library.starts_with("libcublasLt") { "CUBLASLT" } else { "CUBLAS" }
        );
    }
    cublasStatus_t::NOT_SUPPORTED
}
