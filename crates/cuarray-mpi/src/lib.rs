//! The shared library `libcuarray-mpi.so`, in front of an MPI library: it reports accesses of device memory to the simulated driver.
//!
//! MPI's profiling interface (MPI 4.1, chapter 15) gives each function a second name, `PMPI_Send` for `MPI_Send`. This library defines
//! functions under the first name. Each reports the bytes that the call accesses and calls the function of the second name. The
//! simulated driver compares the reported accesses with the work of devices. An access of a nonblocking call lasts until its request is waited for.
//!
//! One library serves all MPI libraries. Handles are `int` in MPICH and its relatives, and pointers in Open MPI and in the standard ABI of
//! MPI 5. A parameter of either type takes one register or one word of the stack on 64-bit Linux (System V ABI for x86-64, AAPCS64),
//! so the functions here take and pass on whole words ([`Handle`]). Handles in memory have the size that [`library`] finds.
//!
//! Calls without device memory, and processes without the simulated driver, are passed on without effect.

mod calls;
mod collectives;
mod completion;
mod driver;
mod layout;
mod library;
mod point_to_point;
mod requests;

use std::ffi::c_int;

/// The address of a buffer.
type Address = usize;
/// An opaque handle, as it is passed: an `int` in the lower half, or a pointer.
type Handle = usize;
/// `MPI_Count` and `MPI_Aint`.
type Count = i64;

/// The result of a call that succeeded, in every MPI library.
const SUCCESS: c_int = 0;

/// Defines functions of MPI that report accesses and pass the call on. `blocking` calls return when the accesses are over. `nonblocking` ones
/// have one more parameter: the request until whose completion the accesses last.
macro_rules! wrap {
    ($mode:ident $name:ident($($arg:ident: $ty:ty),* $(,)?) |$call:ident| $report:expr) => {
        wrap! { @$mode $name ($($arg: $ty),*) $call $report }
    };
    (@blocking $name:ident ($($arg:ident: $ty:ty),*) $call:ident $report:expr) => {
        /// The function of MPI with this name.
        ///
        /// # Safety
        /// The arguments are as MPI defines them.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $ty),*) -> ::std::ffi::c_int {
            let real = wrap!(@real $name ($($arg)*));
            // SAFETY: the function has this name in every MPI library, and words take `int`s and pointers alike.
            let real: unsafe extern "C" fn($($ty),*) -> ::std::ffi::c_int = unsafe { ::std::mem::transmute(real) };
            crate::calls::report(concat!(stringify!($name), "\0"), false, |$call| $report);
            // SAFETY: by this function's contract.
            unsafe { real($($arg),*) }
        }
    };
    (@nonblocking $name:ident ($($arg:ident: $ty:ty),*) $call:ident $report:expr) => {
        /// The function of MPI with this name.
        ///
        /// # Safety
        /// The arguments are as MPI defines them.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $ty,)* request: crate::Address) -> ::std::ffi::c_int {
            let real = wrap!(@real $name ($($arg)*));
            // SAFETY: as for a blocking function.
            let real: unsafe extern "C" fn($($ty,)* crate::Address) -> ::std::ffi::c_int = unsafe { ::std::mem::transmute(real) };
            let held = crate::calls::report(concat!(stringify!($name), "\0"), true, |$call| $report);
            // SAFETY: by this function's contract.
            let result = unsafe { real($($arg,)* request) };
            // SAFETY: the call has succeeded, so the request is set.
            unsafe { crate::requests::begun(result, request, held) };
            result
        }
    };
    (@real $name:ident ($($arg:ident)*)) => {{
        static REAL: crate::library::Function = crate::library::Function::new(concat!("P", stringify!($name), "\0"));
        let Some(real) = REAL.get() else { return crate::library::missing(stringify!($name)) };
        if !(true $(&& REAL.takes($arg))*) {
            return crate::library::TOO_LARGE;
        }
        real
    }};
}
use wrap;
