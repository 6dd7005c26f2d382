//! The C functions of a library: their guard, their pointers on the host, and what they print about calls that are refused.

use crate::library_call::LibraryCall;
use std::ffi::CStr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

/// The status type of a library.
pub trait Status: Copy {
    /// The status of a function that succeeded.
    const SUCCESS: Self;
    /// The status for a null pointer where the function reads or writes.
    const NULL_POINTER: Self;
    /// The status of a function that failed by a defect of the stand-in.
    const INTERNAL_ERROR: Self;
}

/// Runs a function under its name for the driver. No panic unwinds into the caller.
pub fn guarded<S: Status>(name: &'static CStr, f: impl FnOnce() -> Result<(), S>) -> S {
    let guarded = AssertUnwindSafe(|| {
        let _call = LibraryCall::begin(name);
        f()
    });
    match catch_unwind(guarded) {
        Ok(Ok(())) => S::SUCCESS,
        Ok(Err(status)) => status,
        Err(_) => S::INTERNAL_ERROR,
    }
}

/// The name of a function for the driver, from a text that ends with a zero byte.
pub const fn c_name(name: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(name.as_bytes()) {
        Ok(name) => name,
        Err(_) => c"a function of a library",
    }
}

/// Writes through a pointer of the caller of a C function.
///
/// # Errors
/// [`Status::NULL_POINTER`].
#[expect(
    clippy::not_unsafe_ptr_arg_deref,
    reason = "the caller is a C function, whose contract says what its pointers are"
)]
pub fn write<V, S: Status>(to: *mut V, value: V) -> Result<(), S> {
    if to.is_null() {
        return Err(S::NULL_POINTER);
    }
    // SAFETY: the pointer is not null, and by the contract of the C function may be written. A caller may pass any alignment.
    unsafe { to.write_unaligned(value) };
    Ok(())
}

/// Reads values behind a pointer of the caller of a C function.
///
/// # Errors
/// [`Status::NULL_POINTER`].
#[expect(
    clippy::not_unsafe_ptr_arg_deref,
    reason = "the caller is a C function, whose contract says what its pointers are"
)]
pub fn read<V: Copy, S: Status>(from: *const V, count: usize) -> Result<Vec<V>, S> {
    if from.is_null() {
        return Err(S::NULL_POINTER);
    }
    // SAFETY: the pointer is not null, and by the contract of the C function there are as many values. A caller may pass any alignment.
    Ok((0..count).map(|index| unsafe { from.add(index).read_unaligned() }).collect())
}

/// A library as its messages name it.
#[derive(Clone, Copy, Debug)]
pub struct Library {
    /// NVIDIA's name, such as `cuFFT`.
    pub name: &'static str,
    /// The environment variable that leaves the real library in place.
    pub switch: &'static str,
}

impl Library {
    /// Prints once that something of a file is not supported: the program may hide the status.
    pub fn refuse(&self, file: &str, what: &str, told: &AtomicBool) {
        use std::io::Write;
        if !told.swap(true, Ordering::Relaxed) {
            // Standard error may be closed.
            let _ = writeln!(
                std::io::stderr(),
                "cuarray-sim: {what} is not supported: {file} is a stand-in with a part of {}. {}=0 leaves the real library in place.",
                self.name,
                self.switch
            );
        }
    }
}
