//! The driver: opened at the first call that needs it, never linked.
//!
//! `dlopen("libcuda.so.1")` finds a library with that SONAME that the process has loaded, and otherwise searches as for
//! any library. The driver stays open. Each of its functions is optional: a driver without the function that a call needs
//! makes the call fail with `cudaErrorCallRequiresNewerDriver`.

use crate::result::{Result, cudaError_t};
use cuarray_abi::{Api, ENTRY_POINTS};
use std::ffi::{CStr, CString, c_int, c_void};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// The driver's functions.
pub(crate) struct Driver {
    /// The functions that read a null stream as the legacy default stream.
    legacy: Api,
    /// The functions that read a null stream as the per-thread default stream, where the driver has a variant.
    per_thread: Api,
    version: c_int,
    /// The handle of the library.
    library: usize,
}

/// How a null stream is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum NullStream {
    Legacy,
    PerThread,
}

impl Driver {
    pub(crate) fn api(&self, null: NullStream) -> &Api {
        match null {
            NullStream::Legacy => &self.legacy,
            NullStream::PerThread => &self.per_thread,
        }
    }
}

/// The driver of the process; `None` if there is no driver.
static DRIVER: OnceLock<Option<Driver>> = OnceLock::new();
/// Whether `cuInit` has succeeded.
static READY: AtomicBool = AtomicBool::new(false);
/// Whether this is the child of a fork whose parent had initialized the driver. No call can succeed in it, and a lock of the
/// parent's other threads may be held forever, so calls that need the driver end before any lock.
static FORKED: AtomicBool = AtomicBool::new(false);

/// Whether the driver cannot be used because this is the child of a fork.
pub(crate) fn is_lost_by_fork() -> bool {
    FORKED.load(Ordering::Acquire)
}

extern "C" fn after_fork_in_the_child() {
    if READY.swap(false, Ordering::AcqRel) {
        FORKED.store(true, Ordering::Release);
    }
}

/// Opens the driver without initializing it.
pub(crate) fn opened() -> Option<&'static Driver> {
    DRIVER.get_or_init(open).as_ref()
}

/// The newest CUDA that the driver supports; 0 without a driver.
pub(crate) fn version() -> c_int {
    opened().map_or(0, |driver| driver.version)
}

/// The initialized driver, for a runtime of the given major version.
///
/// # Errors
/// `cudaErrorInsufficientDriver` without a driver, or with an older one; `cudaErrorInitializationError` in the child of a fork;
/// otherwise the result of `cuInit`.
#[inline]
pub(crate) fn ready(major: u32) -> Result<&'static Driver> {
    match DRIVER.get() {
        Some(Some(driver)) if READY.load(Ordering::Acquire) => Ok(driver),
        _ => initialize(major),
    }
}

#[cold]
fn initialize(major: u32) -> Result<&'static Driver> {
    if is_lost_by_fork() {
        return Err(cudaError_t::cudaErrorInitializationError);
    }
    let driver = opened().ok_or(cudaError_t::cudaErrorInsufficientDriver)?;
    if driver.version < c_int::try_from(major * 1000).unwrap_or(c_int::MAX) {
        return Err(cudaError_t::cudaErrorInsufficientDriver);
    }
    let init = driver.legacy.cuInit.ok_or(cudaError_t::cudaErrorInsufficientDriver)?;
    // SAFETY: the manual requires no flag.
    let result = unsafe { init(0) };
    if !result.is_success() {
        return Err(result.into());
    }
    READY.store(true, Ordering::Release);
    Ok(driver)
}

fn open() -> Option<Driver> {
    // SAFETY: the name is a string; the initializers of a driver are the process's own choice.
    let library = unsafe { libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_NOW) };
    if library.is_null() {
        return None;
    }
    // SAFETY: the handler only changes atomics.
    unsafe { libc::pthread_atfork(None, None, Some(after_fork_in_the_child)) };
    // SAFETY: the library is open, and the name is a string.
    let find = |symbol: &CStr| unsafe { libc::dlsym(library, symbol.as_ptr()) }.cast_const();
    // SAFETY: the documented symbols of a driver have the documented signatures, and the library is never closed.
    let legacy = unsafe { Api::resolve_with(find) };
    // `resolve_with` asks for the symbols in the order of the list.
    let mut entries = ENTRY_POINTS.iter();
    let find_per_thread = |symbol: &CStr| -> *const c_void {
        let twin = entries.next().and_then(|entry| entry.per_thread).and_then(|twin| CString::new(twin).ok());
        let found = twin.map_or(ptr::null(), |twin| find(&twin));
        if found.is_null() { find(symbol) } else { found }
    };
    // SAFETY: as above; a variant has the signature of its function.
    let per_thread = unsafe { Api::resolve_with(find_per_thread) };
    let mut version = 0;
    if let Some(get) = legacy.cuDriverGetVersion {
        // SAFETY: the output is writable; the manual allows this call before `cuInit`.
        unsafe { get(&raw mut version) };
    }
    Some(Driver { legacy, per_thread, version, library: library.addr() })
}

/// Calls a function of the driver: `Ok(())`, or the error that the runtime gives for its result.
///
/// The caller is an `unsafe fn` whose contract is the manual's, for the arguments that it passes on.
macro_rules! cu {
    ($api:ident.$function:ident($($argument:expr),* $(,)?)) => {
        match $api.$function {
            // SAFETY: the arguments are those that the manual of the driver requires, by the contract of the caller.
            #[allow(unused_unsafe)]
            Some(function) => match unsafe { function($($argument),*) } {
                ::cuarray_abi::CUresult::CUDA_SUCCESS => Ok(()),
                result => Err($crate::result::cudaError_t::from(result)),
            },
            None => Err($crate::result::cudaError_t::cudaErrorCallRequiresNewerDriver),
        }
    };
}
pub(crate) use cu;

/// The address of a documented function that the table of functions does not have; null if the driver lacks it.
#[cold]
pub(crate) fn find(symbol: &CStr) -> *const c_void {
    let Some(driver) = opened() else { return ptr::null() };
    // SAFETY: the library is open and is never closed, and the name is a string.
    unsafe { libc::dlsym(ptr::without_provenance_mut(driver.library), symbol.as_ptr()) }.cast_const()
}

/// As [`cu!`], for a function that [`Api`] does not have. Each argument has its type: `further!(cuFree(address => usize))`.
macro_rules! further {
    ($function:ident($($argument:expr => $ty:ty),* $(,)?)) => {{
        static ADDRESS: ::std::sync::OnceLock<usize> = ::std::sync::OnceLock::new();
        let name = const { $crate::result::c_str(concat!(stringify!($function), "\0")) };
        let address = *ADDRESS.get_or_init(|| $crate::driver::find(name).addr());
        // SAFETY: zero is `None`; any other address is that of the documented function, which has this type.
        let function = unsafe {
            ::std::mem::transmute::<usize, Option<unsafe extern "C" fn($($ty),*) -> ::cuarray_abi::CUresult>>(address)
        };
        match function {
            // SAFETY: the arguments are those that the manual of the driver requires, by the contract of the caller.
            Some(function) => match unsafe { function($($argument),*) } {
                ::cuarray_abi::CUresult::CUDA_SUCCESS => Ok(()),
                result => Err($crate::result::cudaError_t::from(result)),
            },
            None => Err($crate::result::cudaError_t::cudaErrorCallRequiresNewerDriver),
        }
    }};
}
pub(crate) use further;
