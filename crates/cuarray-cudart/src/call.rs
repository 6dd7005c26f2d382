//! The work that all calls share, by their [level](crate::entry_points): the driver, the context, the last error, the trace,
//! and the guarantee that no panic crosses the C boundary.

use crate::driver::{self, NullStream};
use crate::result::{Result, cudaError_t};
use crate::runtime_call::RuntimeCall;
use crate::types::cudaChannelFormatDesc;
use crate::{context, thread, trace};
use cuarray_abi::Api;
use std::ffi::{c_char, c_uint, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

/// A call of level `raw`.
#[inline]
pub(crate) fn raw<T>(name: &'static str, panicked: T, f: impl FnOnce() -> T) -> T {
    trace::raw(name);
    catch_unwind(AssertUnwindSafe(f)).unwrap_or(panicked)
}

/// A call of level `host`.
#[inline]
pub(crate) fn host(name: &'static str, f: impl FnOnce() -> Result) -> cudaError_t {
    finish(name, catch_unwind(AssertUnwindSafe(f)).unwrap_or(Err(cudaError_t::cudaErrorUnknown)))
}

/// A call of level `driver`.
#[inline]
pub(crate) fn driver(name: &'static str, major: u32, null: NullStream, f: impl FnOnce(&Api) -> Result) -> cudaError_t {
    host(name, || {
        let api = driver::ready(major)?.api(null);
        let _call = RuntimeCall::begin(name);
        f(api)
    })
}

/// A call of level `context`. `f` is called again if the thread has lost the context that it had.
#[inline]
pub(crate) fn context(name: &'static str, major: u32, null: NullStream, f: impl Fn(&Api) -> Result) -> cudaError_t {
    host(name, || {
        let api = driver::ready(major)?.api(null);
        let _call = RuntimeCall::begin(name);
        context::bind(api)?;
        match f(api) {
            Err(cudaError_t::cudaErrorDeviceUninitialized) => again(api, f),
            result => result,
        }
    })
}

/// Work of a `raw` call that needs a context; its error becomes the last error.
pub(crate) fn in_context(f: impl FnOnce(&Api) -> Result) -> Result {
    let result = driver::ready(OLDEST).and_then(|driver| {
        let api = driver.api(NullStream::Legacy);
        context::bind(api)?;
        f(api)
    });
    result.inspect_err(|error| {
        thread::remember(*error);
    })
}

/// The oldest major version of the runtimes here.
const OLDEST: u32 = 12;

#[cold]
fn again(api: &Api, f: impl Fn(&Api) -> Result) -> Result {
    context::unbind();
    context::bind(api)?;
    f(api)
}

#[inline]
fn finish(name: &'static str, result: Result) -> cudaError_t {
    let error = result.err().unwrap_or(cudaError_t::cudaSuccess);
    trace::call(name, error);
    thread::remember(error)
}

/// The value that a `raw` function returns after a panic.
pub(crate) trait Panicked {
    const VALUE: Self;
}

macro_rules! panicked {
    ($($ty:ty = $value:expr;)*) => { $(impl Panicked for $ty { const VALUE: $ty = $value; })* };
}

panicked! {
    () = ();
    c_char = 0;
    c_uint = cudaError_t::cudaErrorUnknown.0;
    cudaError_t = cudaError_t::cudaErrorUnknown;
    *const c_char = c"unknown error".as_ptr();
    *mut *mut c_void = ptr::null_mut();
    cudaChannelFormatDesc = cudaChannelFormatDesc { x: 0, y: 0, z: 0, w: 0, f: 0 };
}

/// Writes an output.
///
/// # Safety
/// `pointer` is null or writable.
#[inline]
pub(crate) unsafe fn put<T>(pointer: *mut T, value: T) -> Result {
    present(pointer)?;
    // SAFETY: by this function's contract; a careless caller may pass an unaligned pointer.
    unsafe { pointer.write_unaligned(value) };
    Ok(())
}

/// Checks that a pointer is not null.
#[inline]
pub(crate) fn present<T>(pointer: *const T) -> Result {
    if pointer.is_null() { Err(cudaError_t::cudaErrorInvalidValue) } else { Ok(()) }
}
