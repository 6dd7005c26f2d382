//! A C function by which caching allocators of a program tell which parts of their memory are in use.
//!
//! The driver sees one allocation, from which PyTorch or CuPy makes many arrays. Advice for a race between the work of two arrays in the
//! same bytes then names both arrays, and the call that keeps the allocator from giving out the memory too early.

use crate::parameters::{Received, Text};
use crate::process::exports::findings::with_driver;
use crate::site::{self, Entry, ReturnPlace};
use cuarray_abi::*;
use std::ffi::c_char;

/// Says that the caching allocator `allocator` (`torch`, `cupy`) gives out memory that begins at `address`; with a null `allocator`, that the
/// memory goes back to it.
///
/// # Safety
/// `allocator` is null or a string that ends with a nul.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuarraySimSuballocation(allocator: *const c_char, address: u64) -> CUresult {
    static PLACE: ReturnPlace = ReturnPlace::new();
    let entry = Entry { place: &PLACE, anchor: site::stack_pointer!() };
    // SAFETY: by this function's contract.
    let allocator = unsafe { Text::received(allocator) }.name().ok();
    with_driver(|driver| {
        if driver.ready().is_err() || !driver.finds() {
            return Ok(());
        }
        match allocator {
            Some(allocator) => {
                let site = site::capture(entry);
                driver.lock().detector.suballocate(allocator.into(), address, site);
            }
            None => driver.lock().detector.release_suballocation(address),
        }
        Ok(())
    })
}
