//! C functions by which a library reports accesses of the host to device memory: those of MPI (`crates/cuarray-mpi`).
//!
//! The driver sees no access of the host to device memory that the host can read. A library that knows of one reports it before it begins.

use crate::driver::Driver;
use crate::happens_before::host;
use crate::parameters::{Out, Received, Text};
use crate::process::exports::findings::with_driver;
use crate::process::reported::{self, Bytes};
use crate::site::{Entry, ReturnPlace};
use crate::{host_access, site, thread};
use cuarray_abi::*;
use cuarray_races::Caller;
use std::collections::BTreeSet;
use std::ffi::{c_char, c_int};
use std::sync::{Mutex, PoisonError};

/// The most names of functions that are kept. Later ones are shown as `library call`.
const NAMES: usize = 1024;

/// The name of a function, which findings keep until the end of the process.
pub(super) fn kept(name: &str) -> &'static str {
    static KEPT: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name) {
        return known;
    }
    if names.len() >= NAMES {
        return "library call";
    }
    let name: &'static str = String::leak(name.to_owned());
    names.insert(name);
    name
}

/// Calls `f` as the function `name` of the program, whose call site is outside of the library that reports.
fn while_calling(name: Text<'_>, entry: Entry<'_>, f: impl FnOnce(&Driver)) -> CUresult {
    with_driver(|driver| {
        let name = kept(&name.name()?);
        let thread = thread::with(|thread| (thread.number, thread.in_host_function.get()));
        let (number, inside) = thread.ok_or(CUresult::CUDA_ERROR_DEINITIALIZED)?;
        if inside {
            return Err(CUresult::CUDA_ERROR_NOT_PERMITTED);
        }
        if driver.ready().is_err() || !driver.finds() {
            return Ok(());
        }
        let caller = Caller { site: site::capture(entry), ..Caller::new(number, name) };
        thread::while_calling(Some(caller), || {
            if host_access::any_logged() {
                host::take_host_accesses(&mut driver.lock());
            }
            f(driver);
            host::settle_host_access(&mut driver.lock());
        });
        Ok(())
    })
}

/// Reports that the host is about to access `height` rows of `width` bytes, `pitch` bytes apart, in the function `name`. The access is a
/// write unless `writes` is 0. Memory that is on no device is ignored.
///
/// Without `lasting`, the access ends before the thread's next call. Otherwise a number is written there, with which
/// [`cuarraySimHostAccessEnds`] ends it; 0 if the bytes are on no device.
///
/// # Safety
/// `name` is null or a string that ends with a nul; `lasting` is null or writable.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuarraySimHostAccess(
    name: *const c_char,
    writes: c_int,
    address: u64,
    width: usize,
    pitch: usize,
    height: usize,
    lasting: *mut u64,
) -> CUresult {
    static PLACE: ReturnPlace = ReturnPlace::new();
    let entry = Entry { place: &PLACE, anchor: site::stack_pointer!() };
    let fresh = (!lasting.is_null()).then(|| crate::handle::fresh() as u64);
    // SAFETY: by this function's contract.
    let name = unsafe { Text::received(name) };
    // SAFETY: as above.
    let lasting = unsafe { Out::received(lasting) };
    let bytes = Bytes { address, width: width as u64, pitch: pitch as u64, height: height as u64 };
    let mut number = 0;
    let result = while_calling(name, entry, |driver| {
        number = reported::begins(&mut driver.lock(), bytes, writes != 0, fresh);
    });
    lasting.put_if_present(number);
    result
}

/// Ends an access that lasts: the host has waited for it in the function `name`. Numbers of no access have no effect.
///
/// # Safety
/// `name` is null or a string that ends with a nul.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuarraySimHostAccessEnds(name: *const c_char, number: u64) -> CUresult {
    static PLACE: ReturnPlace = ReturnPlace::new();
    let entry = Entry { place: &PLACE, anchor: site::stack_pointer!() };
    // SAFETY: by this function's contract.
    let name = unsafe { Text::received(name) };
    while_calling(name, entry, |driver| reported::ends(&mut driver.lock(), number))
}
