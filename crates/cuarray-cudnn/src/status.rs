//! The statuses of cuDNN, and the text of the last failure of a thread.

use cuarray_stream_work::{Error, Library, Status};
use std::cell::RefCell;
use std::ffi::{CStr, c_char};
use std::sync::atomic::AtomicBool;

/// `cudnnStatus_t`.
#[allow(non_camel_case_types)]
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct cudnnStatus_t(pub u32);

macro_rules! statuses {
    ($($name:ident = $number:literal,)*) => {
        #[allow(dead_code)]
        impl cudnnStatus_t {
            $(#[doc = concat!("`CUDNN_STATUS_", stringify!($name), "`.")] pub const $name: Self = Self($number);)*

            /// The name of the status.
            pub(crate) fn name(self) -> &'static CStr {
                let name = |text: &'static str| CStr::from_bytes_with_nul(text.as_bytes()).unwrap_or_default();
                match self.0 {
                    $($number => name(concat!("CUDNN_STATUS_", stringify!($name), "\0")),)*
                    _ => c"CUDNN_UNKNOWN_STATUS",
                }
            }
        }
    };
}

statuses! {
    SUCCESS = 0,
    NOT_INITIALIZED = 1001,
    BAD_PARAM = 2000,
    BAD_PARAM_NULL_POINTER = 2002,
    BAD_PARAM_NOT_FINALIZED = 2004,
    NOT_SUPPORTED = 3000,
    NOT_SUPPORTED_GRAPH_PATTERN = 3001,
    INTERNAL_ERROR = 4000,
    INTERNAL_ERROR_HOST_ALLOCATION_FAILED = 4003,
    EXECUTION_FAILED = 5000,
}

/// The result of a function.
pub(crate) type Outcome<T = ()> = Result<T, cudnnStatus_t>;

pub(crate) const BAD_PARAM: cudnnStatus_t = cudnnStatus_t::BAD_PARAM;
pub(crate) const NULL_POINTER: cudnnStatus_t = cudnnStatus_t::BAD_PARAM_NULL_POINTER;
pub(crate) const NOT_SUPPORTED: cudnnStatus_t = cudnnStatus_t::NOT_SUPPORTED;

impl Status for cudnnStatus_t {
    const SUCCESS: Self = cudnnStatus_t::SUCCESS;
    const NULL_POINTER: Self = NULL_POINTER;
    const INTERNAL_ERROR: Self = cudnnStatus_t::INTERNAL_ERROR;
}

impl From<Error> for cudnnStatus_t {
    fn from(error: Error) -> Self {
        match error {
            Error::NoDriver => cudnnStatus_t::NOT_INITIALIZED,
            Error::Missing(_) => NOT_SUPPORTED,
            Error::Size => BAD_PARAM,
            error if error.is_out_of_memory() => cudnnStatus_t::INTERNAL_ERROR_HOST_ALLOCATION_FAILED,
            _ => cudnnStatus_t::EXECUTION_FAILED,
        }
    }
}

/// Writes through a pointer of the caller.
pub(crate) fn write<V>(to: *mut V, value: V) -> Outcome {
    cuarray_stream_work::write(to, value)
}

/// Writes through a pointer of the caller that may be null.
pub(crate) fn write_if_wanted<V>(to: *mut V, value: V) -> Outcome {
    if to.is_null() { Ok(()) } else { write(to, value) }
}

thread_local! {
    static LAST: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Keeps the text of a failure for `cudnnGetLastErrorString`.
pub(crate) fn keep(function: &str, status: cudnnStatus_t) -> cudnnStatus_t {
    if status != cudnnStatus_t::SUCCESS {
        let text = format!("{function} returns {}", status.name().to_string_lossy());
        // A thread that ends has no place for it.
        let _ = LAST.try_with(|last| last.replace(text));
    }
    status
}

/// Takes the text of the last failure of the thread.
pub(crate) fn last() -> String {
    LAST.try_with(RefCell::take).unwrap_or_default()
}

/// Refuses a call, and prints the first one of each function.
pub(crate) fn refuse(what: &str, told: &AtomicBool) -> cudnnStatus_t {
    Library { name: "cuDNN", switch: "CUARRAY_SIM_CUDNN" }.refuse("libcudnn.so.9", what, told);
    keep(what, NOT_SUPPORTED)
}

/// The name of a status, for `cudnnGetErrorString`.
pub(crate) fn name(status: cudnnStatus_t) -> *const c_char {
    status.name().as_ptr()
}
