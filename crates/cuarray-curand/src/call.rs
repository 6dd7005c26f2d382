//! The work that all C functions share.

use crate::status::{Outcome, curandStatus_t};
use cuarray_stream_work::LibraryCall;
use std::ffi::CStr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

/// Runs a function under its name for the driver. No panic unwinds into the caller.
pub(crate) fn named(name: &'static CStr, f: impl FnOnce() -> Outcome) -> curandStatus_t {
    let guarded = AssertUnwindSafe(|| {
        let _call = LibraryCall::begin(name);
        f()
    });
    match catch_unwind(guarded) {
        Ok(Ok(())) => curandStatus_t::SUCCESS,
        Ok(Err(status)) => status,
        Err(_) => curandStatus_t::INTERNAL_ERROR,
    }
}

/// Prints once that something is not supported: the program may hide the status.
pub(crate) fn refuse(what: &str, told: &AtomicBool) {
    use std::io::Write;
    if !told.swap(true, Ordering::Relaxed) {
        // Standard error may be closed.
        let _ = writeln!(
            std::io::stderr(),
            "cuarray-sim: {what} is not supported: libcurand.so.10 is a stand-in with a part of cuRAND. CUARRAY_SIM_CURAND=0 leaves the \
             real library in place."
        );
    }
}

/// Writes through a pointer of the caller.
pub(crate) fn write<V>(to: *mut V, value: V) -> Outcome {
    if to.is_null() {
        return Err(curandStatus_t::OUT_OF_RANGE);
    }
    // SAFETY: the pointer is not null, and by the contract of the C function may be written. A caller may pass any alignment.
    unsafe { to.write_unaligned(value) };
    Ok(())
}
