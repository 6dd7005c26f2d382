//! cublasLt: handles and versions, which other libraries ask for when they are loaded. All other functions are refused by name.

use crate::handle::{create, destroy, write};
use crate::management::version;
use crate::status::INVALID_VALUE;
use crate::types::{cublasHandle_t, cublasStatus_t, libraryPropertyType};
use crate::{call, status};
use cuarray_toolchain::environment::report_use;
use std::ffi::{c_char, c_int, c_uint};
use std::sync::Once;

/// `cublasLtCreate`.
///
/// # Safety
/// `handle` is null or may be written.
pub unsafe extern "C" fn cublasLtCreate(major: c_int, handle: *mut cublasHandle_t) -> cublasStatus_t {
    call::plain(c"cublasLtCreate", || {
        if handle.is_null() {
            return Err(INVALID_VALUE);
        }
        static REPORT: Once = Once::new();
        REPORT.call_once(|| report_use(&format!("libcublasLt.so.{major}")));
        write(handle, create()?)
    })
}

/// `cublasLtDestroy`.
///
/// # Safety
/// None is needed: a handle is a number.
pub unsafe extern "C" fn cublasLtDestroy(_: c_int, handle: cublasHandle_t) -> cublasStatus_t {
    call::plain(c"cublasLtDestroy", || destroy(handle))
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
    call::plain(c"cublasLtGetProperty", || crate::management::get_property(major, part, value))
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

/// Exports the functions under their C names: `exports_lt!(13 "libcublasLt.so.13")`.
#[macro_export]
macro_rules! exports_lt {
    ($major:literal $node:literal) => {
        $crate::__exports_lt! {
            $major $node
            functions {
            cublasLtCreate(handle: *mut cublasHandle_t) -> cublasStatus_t;
            cublasLtDestroy(handle: cublasHandle_t) -> cublasStatus_t;
            cublasLtGetProperty(part: libraryPropertyType, value: *mut c_int) -> cublasStatus_t;
            cublasLtGetVersion() -> usize;
            cublasLtGetCudartVersion() -> usize;
            cublasLtGetStatusName(status: cublasStatus_t) -> *const c_char;
            cublasLtGetStatusString(status: cublasStatus_t) -> *const c_char;
            cublasLtDisableCpuInstructionsSetMask(mask: c_uint) -> c_uint;
            }
            refused {
                cublasLtEmulationDescCreate cublasLtEmulationDescDestroy cublasLtEmulationDescGetAttribute cublasLtEmulationDescInit_internal
                cublasLtEmulationDescSetAttribute cublasLtGroupedMatrixLayoutCreate cublasLtGroupedMatrixLayoutInit_internal
                cublasLtHeuristicsCacheGetCapacity cublasLtHeuristicsCacheSetCapacity cublasLtLoggerForceDisable cublasLtLoggerOpenFile
                cublasLtLoggerSetCallback cublasLtLoggerSetFile cublasLtLoggerSetLevel cublasLtLoggerSetMask cublasLtMatmul
                cublasLtMatmulAlgoCapGetAttribute cublasLtMatmulAlgoCheck cublasLtMatmulAlgoCheckForStream cublasLtMatmulAlgoConfigGetAttribute
                cublasLtMatmulAlgoConfigSetAttribute cublasLtMatmulAlgoGetHeuristic cublasLtMatmulAlgoGetHeuristicForStream
                cublasLtMatmulAlgoGetIds cublasLtMatmulAlgoInit cublasLtMatmulDescCreate cublasLtMatmulDescDestroy
                cublasLtMatmulDescGetAttribute cublasLtMatmulDescInit_internal cublasLtMatmulDescSetAttribute cublasLtMatmulPreferenceCreate
                cublasLtMatmulPreferenceDestroy cublasLtMatmulPreferenceGetAttribute cublasLtMatmulPreferenceInit_internal
                cublasLtMatmulPreferenceSetAttribute cublasLtMatrixLayoutCreate cublasLtMatrixLayoutDestroy cublasLtMatrixLayoutGetAttribute
                cublasLtMatrixLayoutInit_internal cublasLtMatrixLayoutSetAttribute cublasLtMatrixTransform cublasLtMatrixTransformDescCreate
                cublasLtMatrixTransformDescDestroy cublasLtMatrixTransformDescGetAttribute cublasLtMatrixTransformDescInit_internal
                cublasLtMatrixTransformDescSetAttribute
            }
        }
    };
}

/// The functions of [`exports_lt!`].
#[doc(hidden)]
#[macro_export]
macro_rules! __exports_lt {
    ($major:literal $node:literal functions { $($name:ident($($arg:ident: $ty:ty),*) -> $ret:ty;)* } refused { $($refused:ident)* }) => {
        $(
            #[allow(non_snake_case)]
            mod $name {
                #[allow(unused_imports)]
                use $crate::types::*;
                #[allow(unused_imports)]
                use ::std::ffi::{c_char, c_int, c_uint};
                #[unsafe(no_mangle)]
                unsafe extern "C" fn $name($($arg: $ty),*) -> $ret {
                    // SAFETY: the contract is the same.
                    unsafe { $crate::lt::$name($major, $($arg),*) }
                }
                $crate::__export!(@node $node $name);
            }
        )*
        $($crate::__export!(@refused $node $refused);)*
    };
}
