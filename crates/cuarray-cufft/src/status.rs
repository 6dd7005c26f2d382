//! The statuses of cuFFT.

use cuarray_abi::CUresult;
use cuarray_stream_work::{Error, Library, Status};
use std::sync::atomic::AtomicBool;

/// `cufftResult`.
#[allow(non_camel_case_types)]
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct cufftResult(pub u32);

macro_rules! statuses {
    ($($name:ident = $number:literal,)*) => {
        impl cufftResult {
            $(#[doc = concat!("`CUFFT_", stringify!($name), "`.")] pub const $name: Self = Self($number);)*
        }
    };
}

statuses! {
    SUCCESS = 0,
    INVALID_PLAN = 1,
    ALLOC_FAILED = 2,
    INVALID_TYPE = 3,
    INVALID_VALUE = 4,
    INTERNAL_ERROR = 5,
    EXEC_FAILED = 6,
    SETUP_FAILED = 7,
    INVALID_SIZE = 8,
    INVALID_DEVICE = 11,
    NO_WORKSPACE = 13,
    NOT_SUPPORTED = 16,
}

/// The result of a function.
pub(crate) type Outcome<T = ()> = Result<T, cufftResult>;

pub(crate) const INVALID_VALUE: cufftResult = cufftResult::INVALID_VALUE;
pub(crate) const INVALID_SIZE: cufftResult = cufftResult::INVALID_SIZE;
pub(crate) const INVALID_PLAN: cufftResult = cufftResult::INVALID_PLAN;
pub(crate) const NOT_SUPPORTED: cufftResult = cufftResult::NOT_SUPPORTED;

impl Status for cufftResult {
    const SUCCESS: Self = cufftResult::SUCCESS;
    const NULL_POINTER: Self = cufftResult::INVALID_VALUE;
    const INTERNAL_ERROR: Self = cufftResult::INTERNAL_ERROR;
}

impl From<Error> for cufftResult {
    fn from(error: Error) -> Self {
        match error {
            Error::NoDriver => cufftResult::SETUP_FAILED,
            Error::Missing(_) => NOT_SUPPORTED,
            Error::Size => INVALID_SIZE,
            Error::Driver(_, CUresult::CUDA_ERROR_INVALID_DEVICE) => cufftResult::INVALID_DEVICE,
            error if error.is_out_of_memory() => cufftResult::ALLOC_FAILED,
            _ => cufftResult::EXEC_FAILED,
        }
    }
}

/// Refuses a call, and prints the first one of each function.
#[doc(hidden)]
pub fn refuse(file: &str, what: &str, told: &AtomicBool) -> cufftResult {
    Library { name: "cuFFT", switch: "CUARRAY_SIM_CUFFT" }.refuse(file, what, told);
    cufftResult::NOT_SUPPORTED
}
