//! The statuses of cuRAND.

use cuarray_stream_work::{Error, Library, Status};
use std::sync::atomic::AtomicBool;

/// `curandStatus_t`.
#[allow(non_camel_case_types)]
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct curandStatus_t(pub u32);

impl curandStatus_t {
    pub const SUCCESS: Self = Self(0);
    pub const NOT_INITIALIZED: Self = Self(101);
    pub const ALLOCATION_FAILED: Self = Self(102);
    pub const TYPE_ERROR: Self = Self(103);
    pub const OUT_OF_RANGE: Self = Self(104);
    pub const LENGTH_NOT_MULTIPLE: Self = Self(105);
    pub const LAUNCH_FAILURE: Self = Self(201);
    pub const INITIALIZATION_FAILED: Self = Self(203);
    pub const ARCH_MISMATCH: Self = Self(204);
    pub const INTERNAL_ERROR: Self = Self(999);
}

/// The result of a function.
pub(crate) type Outcome<T = ()> = Result<T, curandStatus_t>;

impl Status for curandStatus_t {
    const SUCCESS: Self = curandStatus_t::SUCCESS;
    const NULL_POINTER: Self = curandStatus_t::OUT_OF_RANGE;
    const INTERNAL_ERROR: Self = curandStatus_t::INTERNAL_ERROR;
}

impl From<Error> for curandStatus_t {
    fn from(error: Error) -> Self {
        match error {
            Error::NoDriver | Error::Missing(_) => curandStatus_t::INITIALIZATION_FAILED,
            Error::Size => curandStatus_t::OUT_OF_RANGE,
            error if error.is_out_of_memory() => curandStatus_t::ALLOCATION_FAILED,
            _ => curandStatus_t::LAUNCH_FAILURE,
        }
    }
}

/// Prints once that something is not supported.
pub(crate) fn refuse(what: &str, told: &AtomicBool) {
    Library { name: "cuRAND", switch: "CUARRAY_SIM_CURAND" }.refuse("libcurand.so.10", what, told);
}
