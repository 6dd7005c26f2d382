//! The statuses of cuBLAS.

use cuarray_stream_work::{Error, Library, Status};
use std::ffi::{CStr, c_char};
use std::ptr;
use std::sync::atomic::AtomicBool;

/// `cublasStatus_t`.
#[allow(non_camel_case_types)]
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct cublasStatus_t(pub u32);

macro_rules! statuses {
    ($($name:ident = $number:literal $text:literal,)*) => {
        impl cublasStatus_t {
            $(#[doc = concat!("`CUBLAS_STATUS_", stringify!($name), "`.")] pub const $name: Self = Self($number);)*

            /// The name of the status.
            fn name(self) -> Option<&'static CStr> {
                match self.0 {
                    $($number => CStr::from_bytes_with_nul(concat!("CUBLAS_STATUS_", stringify!($name), "\0").as_bytes()).ok(),)*
                    _ => None,
                }
            }

            /// The description of the status.
            fn text(self) -> &'static CStr {
                match self.0 {
                    $($number => $text,)*
                    _ => c"unknown error",
                }
            }
        }
    };
}

statuses! {
    SUCCESS = 0 c"success",
    NOT_INITIALIZED = 1 c"the library was not initialized",
    ALLOC_FAILED = 3 c"the resource allocation failed",
    INVALID_VALUE = 7 c"an invalid value was used as an argument",
    ARCH_MISMATCH = 8 c"an absent device architectural feature is required",
    MAPPING_ERROR = 11 c"an access to the memory space failed",
    EXECUTION_FAILED = 13 c"the function failed to launch on the GPU",
    INTERNAL_ERROR = 14 c"an internal operation failed",
    NOT_SUPPORTED = 15 c"the functionality is not supported",
    LICENSE_ERROR = 16 c"a license error was detected",
}

/// The result of a function.
pub(crate) type Outcome<T = ()> = Result<T, cublasStatus_t>;

pub(crate) const INVALID_VALUE: cublasStatus_t = cublasStatus_t::INVALID_VALUE;
pub(crate) const NOT_SUPPORTED: cublasStatus_t = cublasStatus_t::NOT_SUPPORTED;

impl Status for cublasStatus_t {
    const SUCCESS: Self = cublasStatus_t::SUCCESS;
    const NULL_POINTER: Self = cublasStatus_t::INVALID_VALUE;
    const INTERNAL_ERROR: Self = cublasStatus_t::INTERNAL_ERROR;
}

impl From<Error> for cublasStatus_t {
    fn from(error: Error) -> Self {
        match error {
            Error::NoDriver => cublasStatus_t::NOT_INITIALIZED,
            Error::Missing(_) => cublasStatus_t::NOT_SUPPORTED,
            Error::Size => INVALID_VALUE,
            error if error.is_out_of_memory() => cublasStatus_t::ALLOC_FAILED,
            _ => cublasStatus_t::EXECUTION_FAILED,
        }
    }
}

/// Refuses a call, and prints the first one of each function.
#[doc(hidden)]
pub fn refuse(file: &str, what: &str, told: &AtomicBool) -> cublasStatus_t {
    let switch = if file.starts_with("libcublasLt") { "CUARRAY_SIM_CUBLASLT" } else { "CUARRAY_SIM_CUBLAS" };
    Library { name: "cuBLAS", switch }.refuse(file, what, told);
    cublasStatus_t::NOT_SUPPORTED
}

/// `cublasGetStatusName`.
///
/// # Safety
/// None is needed: there are no pointers among the arguments.
pub unsafe extern "C" fn cublasGetStatusName(status: cublasStatus_t) -> *const c_char {
    status.name().map_or(ptr::null(), CStr::as_ptr)
}

/// `cublasGetStatusString`.
///
/// # Safety
/// None is needed: there are no pointers among the arguments.
pub unsafe extern "C" fn cublasGetStatusString(status: cublasStatus_t) -> *const c_char {
    status.text().as_ptr()
}
