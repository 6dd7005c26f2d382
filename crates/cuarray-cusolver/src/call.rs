//! The work that all C functions share.

use crate::handle::{self, Handle};
use crate::status::{INVALID_VALUE, NOT_SUPPORTED, Outcome};
use crate::types::{cusolverDnHandle_t, cusolverStatus_t};
use cuarray_stream_work::LibraryCall;
use std::ffi::CStr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

/// Runs a function without a handle. No panic unwinds into the caller.
pub(crate) fn plain(name: &'static CStr, f: impl FnOnce() -> Outcome) -> cusolverStatus_t {
    let guarded = AssertUnwindSafe(|| {
        let _call = LibraryCall::begin(name);
        f()
    });
    match catch_unwind(guarded) {
        Ok(Ok(())) => cusolverStatus_t::SUCCESS,
        Ok(Err(status)) => status,
        Err(_) => cusolverStatus_t::INTERNAL_ERROR,
    }
}

/// Runs a function of a handle.
pub(crate) fn with_handle(
    name: &'static CStr,
    handle: cusolverDnHandle_t,
    f: impl FnOnce(&Handle) -> Outcome,
) -> cusolverStatus_t {
    plain(name, || f(&*handle::find(handle)?))
}

/// The name of a function for the driver.
pub(crate) const fn c_name(name: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(name.as_bytes()) {
        Ok(name) => name,
        Err(_) => c"cusolver",
    }
}

/// Writes through a pointer of the caller.
pub(crate) fn write<V>(to: *mut V, value: V) -> Outcome {
    if to.is_null() {
        return Err(INVALID_VALUE);
    }
    // SAFETY: the pointer is not null, and by the contract of the C function may be written. A caller may pass any alignment.
    unsafe { to.write_unaligned(value) };
    Ok(())
}

/// Refuses a call, and prints the first one of each function: the program may hide the status.
#[doc(hidden)]
pub fn refuse(library: &str, function: &str, told: &AtomicBool) -> cusolverStatus_t {
    use std::io::Write;
    if !told.swap(true, Ordering::Relaxed) {
        // Standard error may be closed.
        let _ = writeln!(
            std::io::stderr(),
            "cuarray-sim: {function} is not supported: {library} is a stand-in with a part of cuSOLVER. \
             CUARRAY_SIM_CUSOLVER=0 leaves the real library in place."
        );
    }
    NOT_SUPPORTED
}
