//! The statuses of cuSOLVER.

use cuarray_stream_work::{Error, Library, Status};
use std::sync::atomic::AtomicBool;

/// `cusolverStatus_t`.
#[allow(non_camel_case_types)]
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct cusolverStatus_t(pub u32);

impl cusolverStatus_t {
    /// `CUSOLVER_STATUS_SUCCESS`.
    pub const SUCCESS: Self = Self(0);
    /// `CUSOLVER_STATUS_NOT_INITIALIZED`.
    pub const NOT_INITIALIZED: Self = Self(1);
    /// `CUSOLVER_STATUS_ALLOC_FAILED`.
    pub const ALLOC_FAILED: Self = Self(2);
    /// `CUSOLVER_STATUS_INVALID_VALUE`.
    pub const INVALID_VALUE: Self = Self(3);
    /// `CUSOLVER_STATUS_EXECUTION_FAILED`.
    pub const EXECUTION_FAILED: Self = Self(6);
    /// `CUSOLVER_STATUS_INTERNAL_ERROR`.
    pub const INTERNAL_ERROR: Self = Self(7);
    /// `CUSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED`.
    pub const MATRIX_TYPE_NOT_SUPPORTED: Self = Self(8);
    /// `CUSOLVER_STATUS_NOT_SUPPORTED`.
    pub const NOT_SUPPORTED: Self = Self(9);
    /// `CUSOLVER_STATUS_IRS_PARAMS_NOT_INITIALIZED`.
    pub const IRS_PARAMS_NOT_INITIALIZED: Self = Self(12);
    /// `CUSOLVER_STATUS_IRS_PARAMS_INVALID_PREC`.
    pub const IRS_PARAMS_INVALID_PREC: Self = Self(14);
    /// `CUSOLVER_STATUS_IRS_PARAMS_INVALID_REFINE`.
    pub const IRS_PARAMS_INVALID_REFINE: Self = Self(15);
    /// `CUSOLVER_STATUS_IRS_INFOS_NOT_INITIALIZED`.
    pub const IRS_INFOS_NOT_INITIALIZED: Self = Self(25);
}

/// The result of a function.
pub(crate) type Outcome<T = ()> = Result<T, cusolverStatus_t>;

pub(crate) const INVALID_VALUE: cusolverStatus_t = cusolverStatus_t::INVALID_VALUE;
pub(crate) const NOT_SUPPORTED: cusolverStatus_t = cusolverStatus_t::NOT_SUPPORTED;

impl Status for cusolverStatus_t {
    const SUCCESS: Self = cusolverStatus_t::SUCCESS;
    const NULL_POINTER: Self = cusolverStatus_t::INVALID_VALUE;
    const INTERNAL_ERROR: Self = cusolverStatus_t::INTERNAL_ERROR;
}

impl From<Error> for cusolverStatus_t {
    fn from(error: Error) -> Self {
        match error {
            Error::NoDriver => cusolverStatus_t::NOT_INITIALIZED,
            Error::Missing(_) => NOT_SUPPORTED,
            Error::Size => INVALID_VALUE,
            error if error.is_out_of_memory() => cusolverStatus_t::ALLOC_FAILED,
            _ => cusolverStatus_t::EXECUTION_FAILED,
        }
    }
}

/// Refuses a call, and prints the first one of each function.
#[doc(hidden)]
pub fn refuse(file: &str, what: &str, told: &AtomicBool) -> cusolverStatus_t {
    Library { name: "cuSOLVER", switch: "CUARRAY_SIM_CUSOLVER" }.refuse(file, what, told);
    cusolverStatus_t::NOT_SUPPORTED
}
