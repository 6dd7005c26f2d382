//! The driver: opened by name at run time.

use cuarray_abi::{Api, CUresult};
use std::ffi::{CStr, c_void};
use std::fmt;
use std::sync::OnceLock;

/// The reason why work was not enqueued, or did not complete.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// There is no `libcuda.so.1`.
    NoDriver,
    /// The driver lacks a function.
    Missing(&'static str),
    /// A function of the driver failed.
    Driver(&'static str, CUresult),
    /// The bytes of an argument leave the address space.
    Size,
}

impl Error {
    /// Whether memory is exhausted.
    pub fn is_out_of_memory(&self) -> bool {
        matches!(self, Error::Driver(_, CUresult::CUDA_ERROR_OUT_OF_MEMORY))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NoDriver => write!(f, "there is no CUDA driver, libcuda.so.1"),
            Error::Missing(function) => write!(f, "the driver has no {function}"),
            Error::Driver(function, result) => match result.name() {
                Some(name) => write!(f, "{function} answers {name}"),
                None => write!(f, "{function} answers {}", result.0),
            },
            Error::Size => write!(f, "the bytes of an argument leave the address space"),
        }
    }
}

impl std::error::Error for Error {}

/// The result of calls of the driver.
pub type Result<T = ()> = std::result::Result<T, Error>;

/// The driver of the process, with the handle of its library.
pub(crate) struct Driver {
    pub(crate) api: Api,
    library: usize,
}

/// The driver of the process.
pub(crate) fn driver() -> Result<&'static Driver> {
    static DRIVER: OnceLock<Option<Driver>> = OnceLock::new();
    let open = || {
        // SAFETY: the name is a string; the initializers of a driver are the process's own choice.
        let library = unsafe { libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_NOW) };
        if library.is_null() {
            return None;
        }
        // SAFETY: the library is open and never closed; its documented symbols have the documented signatures.
        let api = unsafe { Api::resolve_with(|symbol: &CStr| libc::dlsym(library, symbol.as_ptr()).cast_const()) };
        Some(Driver { api, library: library.addr() })
    };
    DRIVER.get_or_init(open).as_ref().ok_or(Error::NoDriver)
}

impl Driver {
    /// The address of a symbol; null if the driver lacks it.
    pub(crate) fn find(&self, symbol: &CStr) -> *mut c_void {
        // SAFETY: the library is open and never closed, and the name is a string.
        unsafe { libc::dlsym(std::ptr::without_provenance_mut(self.library), symbol.as_ptr()) }
    }
}

pub(crate) fn checked(function: &'static str, result: CUresult) -> Result {
    if result.is_success() { Ok(()) } else { Err(Error::Driver(function, result)) }
}

/// Calls a function of the driver.
macro_rules! call {
    ($name:ident($($argument:expr),* $(,)?)) => {
        match $crate::driver::driver()?.api.$name {
            // SAFETY: the pointers among the arguments point to live variables of the documented types, or are addresses of the caller,
            // which the driver checks.
            Some(function) => $crate::driver::checked(stringify!($name), unsafe { function($($argument),*) }),
            None => Err($crate::driver::Error::Missing(stringify!($name))),
        }
    };
}
pub(crate) use call;
