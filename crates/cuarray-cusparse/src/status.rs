//! The statuses of cuSPARSE.

use cuarray_stream_work::{Error, Library, Status};
use std::ffi::{CStr, c_char};
use std::sync::atomic::AtomicBool;

/// `cusparseStatus_t`.
#[allow(non_camel_case_types)]
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct cusparseStatus_t(pub u32);

macro_rules! statuses {
    ($($name:ident = $number:literal $text:literal,)*) => {
        #[allow(dead_code)]
        impl cusparseStatus_t {
            $(#[doc = concat!("`CUSPARSE_STATUS_", stringify!($name), "`.")] pub const $name: Self = Self($number);)*

            /// The name of the status.
            fn name(self) -> &'static CStr {
                let name = |text: &'static str| CStr::from_bytes_with_nul(text.as_bytes()).unwrap_or_default();
                match self.0 {
                    $($number => name(concat!("CUSPARSE_STATUS_", stringify!($name), "\0")),)*
                    _ => c"unrecognized error code",
                }
            }

            /// The description of the status.
            fn text(self) -> &'static CStr {
                match self.0 {
                    $($number => $text,)*
                    _ => c"unrecognized error code",
                }
            }
        }
    };
}

statuses! {
    SUCCESS = 0 c"success",
    NOT_INITIALIZED = 1 c"initialization error",
    ALLOC_FAILED = 2 c"out of memory",
    INVALID_VALUE = 3 c"invalid value",
    ARCH_MISMATCH = 4 c"architecture mismatch",
    MAPPING_ERROR = 5 c"texture memory mapping error",
    EXECUTION_FAILED = 6 c"kernel launch failure",
    INTERNAL_ERROR = 7 c"internal error",
    MATRIX_TYPE_NOT_SUPPORTED = 8 c"matrix type not supported",
    ZERO_PIVOT = 9 c"zero pivot",
    NOT_SUPPORTED = 10 c"operation not supported",
    INSUFFICIENT_RESOURCES = 11 c"insufficient resources",
}

/// The result of a function.
pub(crate) type Outcome<T = ()> = Result<T, cusparseStatus_t>;

pub(crate) const INVALID_VALUE: cusparseStatus_t = cusparseStatus_t::INVALID_VALUE;
pub(crate) const NOT_SUPPORTED: cusparseStatus_t = cusparseStatus_t::NOT_SUPPORTED;

impl Status for cusparseStatus_t {
    const SUCCESS: Self = cusparseStatus_t::SUCCESS;
    const NULL_POINTER: Self = cusparseStatus_t::INVALID_VALUE;
    const INTERNAL_ERROR: Self = cusparseStatus_t::INTERNAL_ERROR;
}

impl From<Error> for cusparseStatus_t {
    fn from(error: Error) -> Self {
        match error {
            Error::NoDriver => cusparseStatus_t::NOT_INITIALIZED,
            Error::Missing(_) => NOT_SUPPORTED,
            Error::Size => INVALID_VALUE,
            error if error.is_out_of_memory() => cusparseStatus_t::ALLOC_FAILED,
            _ => cusparseStatus_t::EXECUTION_FAILED,
        }
    }
}

/// Writes through a pointer of the caller.
pub(crate) fn write<V>(to: *mut V, value: V) -> Outcome {
    cuarray_stream_work::write(to, value)
}

/// Refuses a call, and prints the first one of each function.
pub(crate) fn refuse(what: &str, told: &AtomicBool) -> cusparseStatus_t {
    Library { name: "cuSPARSE", switch: "CUARRAY_SIM_CUSPARSE" }.refuse("libcusparse.so.12", what, told);
    NOT_SUPPORTED
}

/// The name of a status, for `cusparseGetErrorName`.
pub(crate) fn name(status: cusparseStatus_t) -> *const c_char {
    status.name().as_ptr()
}

/// The description of a status, for `cusparseGetErrorString`.
pub(crate) fn text(status: cusparseStatus_t) -> *const c_char {
    status.text().as_ptr()
}
