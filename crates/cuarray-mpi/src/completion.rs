//! Waits for requests, tests of them, and the starts of persistent ones.

use crate::requests::{Named, named};
use crate::{Address, SUCCESS, wrap};
use std::ffi::{CStr, c_int};

/// Defines functions over a list of requests. `before` has the requests as they are before the call, and `after` runs if the call has succeeded.
macro_rules! complete {
    ($($name:ident($($arg:ident: $ty:ty),*) [$list:expr, $count:expr] |$before:ident, $text:ident| $after:expr;)*) => {$(
        /// The function of MPI with this name.
        ///
        /// # Safety
        /// The arguments are as MPI defines them.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $ty),*) -> c_int {
            let real = wrap!(@real $name ());
            // SAFETY: the function has this name and these parameters in every MPI library.
            let real: unsafe extern "C" fn($($ty),*) -> c_int = unsafe { std::mem::transmute(real) };
            // SAFETY: by this function's contract.
            let $before = unsafe { named($list, $count) };
            // SAFETY: by this function's contract.
            let result = unsafe { real($($arg),*) };
            if result == SUCCESS {
                let $text = c_name(concat!(stringify!($name), "\0"));
                $after;
            }
            result
        }
    )*};
}

fn c_name(name: &'static str) -> &'static CStr {
    CStr::from_bytes_with_nul(name.as_bytes()).unwrap_or(c"MPI")
}

/// The number at an address that a call has set.
fn number(at: *const c_int) -> c_int {
    // SAFETY: the call has succeeded, so it has set the number.
    unsafe { at.read() }
}

/// Ends the requests whose numbers a call has written.
fn listed(before: &[Named], count: c_int, indices: *const c_int, name: &CStr) {
    for place in 0..usize::try_from(count).unwrap_or(0) {
        // SAFETY: the call has written that many numbers.
        let index = unsafe { indices.add(place).read() };
        chosen(before, index, name);
    }
}

/// Ends the request of a number; `MPI_UNDEFINED` is negative.
fn chosen(before: &[Named], index: c_int, name: &CStr) {
    if let Some(request) = usize::try_from(index).ok().and_then(|index| before.get(index)) {
        request.completed(name);
    }
}

fn all(before: &[Named], name: &CStr) {
    before.iter().for_each(|request| request.completed(name));
}

complete! {
    MPI_Wait(request: Address, status: Address) [request, 1] |before, name| all(&before, name);
    MPI_Test(request: Address, flag: *mut c_int, status: Address) [request, 1] |before, name| if number(flag) != 0 { all(&before, name) };
    MPI_Waitall(count: c_int, requests: Address, statuses: Address) [requests, count] |before, name| all(&before, name);
    MPI_Testall(count: c_int, requests: Address, flag: *mut c_int, statuses: Address) [requests, count]
        |before, name| if number(flag) != 0 { all(&before, name) };
    MPI_Waitany(count: c_int, requests: Address, index: *mut c_int, status: Address) [requests, count]
        |before, name| chosen(&before, number(index), name);
    MPI_Testany(count: c_int, requests: Address, index: *mut c_int, flag: *mut c_int, status: Address) [requests, count]
        |before, name| if number(flag) != 0 { chosen(&before, number(index), name) };
    MPI_Waitsome(count: c_int, requests: Address, ended: *mut c_int, indices: *mut c_int, statuses: Address) [requests, count]
        |before, name| listed(&before, number(ended), indices, name);
    MPI_Testsome(count: c_int, requests: Address, ended: *mut c_int, indices: *mut c_int, statuses: Address) [requests, count]
        |before, name| listed(&before, number(ended), indices, name);
    MPI_Request_free(request: Address) [request, 1] |before, _name| before.iter().for_each(|request| request.freed());
}

/// The function of MPI with this name.
///
/// # Safety
/// The argument is as MPI defines it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Start(request: Address) -> c_int {
    let real = wrap!(@real MPI_Start ());
    // SAFETY: the function has this name and this parameter in every MPI library.
    let real: unsafe extern "C" fn(Address) -> c_int = unsafe { std::mem::transmute(real) };
    // SAFETY: by this function's contract.
    unsafe { named(request, 1) }.into_iter().for_each(Named::started);
    // SAFETY: by this function's contract.
    unsafe { real(request) }
}

/// The function of MPI with this name.
///
/// # Safety
/// The arguments are as MPI defines them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Startall(count: c_int, requests: Address) -> c_int {
    let real = wrap!(@real MPI_Startall ());
    // SAFETY: the function has this name and these parameters in every MPI library.
    let real: unsafe extern "C" fn(c_int, Address) -> c_int = unsafe { std::mem::transmute(real) };
    // SAFETY: by this function's contract.
    unsafe { named(requests, count) }.into_iter().for_each(Named::started);
    // SAFETY: by this function's contract.
    unsafe { real(count, requests) }
}
