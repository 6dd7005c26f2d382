//! A C function by which a stand-in for a library of NVIDIA's names the calls of the driver that it makes for one call of its own.
//!
//! Findings then say that `cublasSgemm_v2` reads the matrix B at the user's line, where otherwise an asynchronous copy of the stand-in would
//! read it. The program cannot reach the staging memory and the host functions of the stand-in, so they have no findings. No thread
//! learns from such a host function that earlier work is done.

use crate::parameters::{Received, Text};
use crate::process::exports::findings::with_driver;
use crate::process::exports::host_accesses::kept;
use crate::site::{self, Entry, ReturnPlace};
use crate::thread::{self, LibraryCall};
use cuarray_abi::*;
use cuarray_races::site::Site;
use std::ffi::{c_char, c_int};

/// Names the function of the CUDA runtime that this thread is in, by `length` bytes at `name`; null ends it. Findings then name that function,
/// which the program called, in place of the driver's.
///
/// # Safety
/// `name` is null, or its bytes live until the thread calls this function again.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuarraySimRuntimeCall(name: *const u8, length: usize) {
    thread::with(|thread| thread.runtime_call.set((!name.is_null()).then_some((name, length))));
}

/// The name of the runtime's function that this thread is in.
pub(crate) fn runtime_call() -> Option<&'static str> {
    let (name, length) = thread::with(|thread| thread.runtime_call.get()).flatten()?;
    // SAFETY: by the contract of `cuarraySimRuntimeCall`, whose next call sets another name.
    let name = unsafe { std::slice::from_raw_parts(name, length) };
    std::str::from_utf8(name).ok().map(kept)
}

/// Begins a call of the library's function `function` in this thread, or names the function's `argument` that the thread's next calls of
/// the driver access; null for none. Unwritten bytes of an argument are a finding unless `may_ignore` is 1. A null `function` ends the call.
///
/// # Safety
/// Both are null or strings that end with a nul.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuarraySimLibraryCall(
    function: *const c_char,
    argument: *const c_char,
    may_ignore: c_int,
) -> CUresult {
    static PLACE: ReturnPlace = ReturnPlace::new();
    let entry = Entry { place: &PLACE, anchor: site::stack_pointer!() };
    // SAFETY: by this function's contract.
    let (function, argument) = unsafe { (Text::received(function), Text::received(argument)) };
    with_driver(|driver| {
        let name = function.name().ok();
        let argument = argument.name().ok().map(|argument| format!("argument {argument}").into());
        let may_ignore = may_ignore != 0;
        let lost = CUresult::CUDA_ERROR_DEINITIALIZED;
        if thread::with(|thread| thread.in_host_function.get()).ok_or(lost)? {
            return Err(CUresult::CUDA_ERROR_NOT_PERMITTED);
        }
        let current = thread::library_call();
        let call = match (name, current) {
            (None, _) => None,
            (Some(name), Some(call)) if call.name == name => Some(LibraryCall { argument, may_ignore, ..call }),
            (Some(name), _) => {
                let site = if driver.names_sites() { site::capture(entry) } else { Site::unknown().clone() };
                Some(LibraryCall { name: kept(&name), site, argument, may_ignore })
            }
        };
        thread::with(|thread| thread.library_call.replace(call)).ok_or(lost).map(drop)
    })
}
