//! cublasLt: products of matrices by descriptors.
//!
//! A descriptor lies in memory of the caller or of this library, as a record of values ([`record`], [`descriptors`]). [`problem`] makes a
//! product of descriptors, and decides whether it is supported; [`product`] enqueues it and computes. There is one algorithm
//! ([`algorithms`]).

mod algorithms;
mod descriptors;
mod entry_points;
mod epilogue;
mod problem;
mod product;
mod record;
mod transform;
mod values;

pub use algorithms::*;
pub use descriptors::{
    cublasLtMatmulDescCreate, cublasLtMatmulDescDestroy, cublasLtMatmulDescGetAttribute,
    cublasLtMatmulDescInit_internal, cublasLtMatmulDescSetAttribute, cublasLtMatmulPreferenceCreate,
    cublasLtMatmulPreferenceDestroy, cublasLtMatmulPreferenceGetAttribute, cublasLtMatmulPreferenceInit_internal,
    cublasLtMatmulPreferenceSetAttribute, cublasLtMatrixLayoutCreate, cublasLtMatrixLayoutDestroy,
    cublasLtMatrixLayoutGetAttribute, cublasLtMatrixLayoutInit_internal, cublasLtMatrixLayoutSetAttribute,
    cublasLtMatrixTransformDescCreate, cublasLtMatrixTransformDescDestroy, cublasLtMatrixTransformDescGetAttribute,
    cublasLtMatrixTransformDescInit_internal, cublasLtMatrixTransformDescSetAttribute,
};
pub use product::cublasLtMatmul;
pub use transform::cublasLtMatrixTransform;

use crate::handle::{create_lt, destroy_lt};
use crate::management::version;
use crate::status;
use crate::status::INVALID_VALUE;
use crate::types::{cublasHandle_t, cublasStatus_t, libraryPropertyType};
use cuarray_stand_in::report_use;
use cuarray_stream_work::{c_name, guarded, write};
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};

/// `cublasLtCreate`.
///
/// # Safety
/// `handle` is null or may be written.
pub unsafe extern "C" fn cublasLtCreate(major: c_int, handle: *mut cublasHandle_t) -> cublasStatus_t {
    guarded(c"cublasLtCreate", || {
        if handle.is_null() {
            return Err(INVALID_VALUE);
        }
        static REPORT: Once = Once::new();
        REPORT.call_once(|| report_use(&format!("libcublasLt.so.{major}")));
        write(handle, create_lt()?)
    })
}

/// `cublasLtDestroy`.
///
/// # Safety
/// None is needed: a handle is a number.
pub unsafe extern "C" fn cublasLtDestroy(_: c_int, handle: cublasHandle_t) -> cublasStatus_t {
    guarded(c"cublasLtDestroy", || destroy_lt(handle))
}

/// `cublasLtGetProperty`.
///
/// # Safety
/// `value` is null or may be written.
pub unsafe extern "C" fn cublasLtGetProperty(
    major: c_int,
    part: libraryPropertyType,
    value: *mut c_int,
) -> cublasStatus_t {
    guarded(c"cublasLtGetProperty", || crate::management::get_property(major, part, value))
}

/// `cublasLtGetVersion`.
///
/// # Safety
/// None is needed.
pub unsafe extern "C" fn cublasLtGetVersion(major: c_int) -> usize {
    let [major, minor, patch] = version(major).map(|part| part.unsigned_abs() as usize);
    major * 10_000 + minor * 100 + patch
}

/// `cublasLtGetCudartVersion`: that of the major version.
///
/// # Safety
/// None is needed.
pub unsafe extern "C" fn cublasLtGetCudartVersion(major: c_int) -> usize {
    major.unsigned_abs() as usize * 1000
}

/// `cublasLtGetStatusName`.
///
/// # Safety
/// None is needed.
pub unsafe extern "C" fn cublasLtGetStatusName(_: c_int, status: cublasStatus_t) -> *const c_char {
    // SAFETY: none is needed.
    unsafe { status::cublasGetStatusName(status) }
}

/// `cublasLtGetStatusString`.
///
/// # Safety
/// None is needed.
pub unsafe extern "C" fn cublasLtGetStatusString(_: c_int, status: cublasStatus_t) -> *const c_char {
    // SAFETY: none is needed.
    unsafe { status::cublasGetStatusString(status) }
}

/// `cublasLtDisableCpuInstructionsSetMask`: no instruction set is disabled.
///
/// # Safety
/// None is needed.
pub unsafe extern "C" fn cublasLtDisableCpuInstructionsSetMask(_: c_int, _mask: c_uint) -> c_uint {
    0
}

/// The entries that cublasLt keeps of its heuristics, which this library has none of. The value is kept.
static CAPACITY: AtomicUsize = AtomicUsize::new(8192);

/// `cublasLtHeuristicsCacheGetCapacity`.
///
/// # Safety
/// `capacity` is null or may be written.
pub unsafe extern "C" fn cublasLtHeuristicsCacheGetCapacity(_: c_int, capacity: *mut usize) -> cublasStatus_t {
    guarded(c"cublasLtHeuristicsCacheGetCapacity", || write(capacity, CAPACITY.load(Ordering::Relaxed)))
}

/// `cublasLtHeuristicsCacheSetCapacity`.
///
/// # Safety
/// None is needed.
pub unsafe extern "C" fn cublasLtHeuristicsCacheSetCapacity(_: c_int, capacity: usize) -> cublasStatus_t {
    guarded(c"cublasLtHeuristicsCacheSetCapacity", || {
        CAPACITY.store(capacity, Ordering::Relaxed);
        Ok(())
    })
}

/// The settings of a log. Nothing is logged.
macro_rules! logging {
    ($($name:ident($($arg:ident: $ty:ty),*) $check:expr;)*) => {$(
        #[doc = concat!("`", stringify!($name), "`. Nothing is logged.")]
        ///
        /// # Safety
        /// None is needed: pointers are not used.
        pub unsafe extern "C" fn $name(_: c_int, $($arg: $ty),*) -> cublasStatus_t {
            let name = const { c_name(concat!(stringify!($name), "\0")) };
            guarded(name, || if $check { Ok(()) } else { Err(INVALID_VALUE) })
        }
    )*};
}

logging! {
    cublasLtLoggerSetCallback(_callback: *mut c_void) true;
    cublasLtLoggerSetFile(_file: *mut c_void) true;
    cublasLtLoggerOpenFile(_file: *const c_char) true;
    cublasLtLoggerSetLevel(level: c_int) (0..=5).contains(&level);
    cublasLtLoggerSetMask(_mask: c_int) true;
    cublasLtLoggerForceDisable() true;
}
