//! The single list of entry points of cublasLt: every function that its headers of CUDA 12 and 13 declare.
//!
//! The part `functions` has those that work, and `refused` those that print their name once and return `CUBLAS_STATUS_NOT_SUPPORTED`. A
//! function gets the major version of CUDA first.

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
                cublasLtHeuristicsCacheGetCapacity(capacity: *mut usize) -> cublasStatus_t;
                cublasLtHeuristicsCacheSetCapacity(capacity: usize) -> cublasStatus_t;
                cublasLtLoggerSetCallback(callback: *mut c_void) -> cublasStatus_t;
                cublasLtLoggerSetFile(file: *mut c_void) -> cublasStatus_t;
                cublasLtLoggerOpenFile(file: *const c_char) -> cublasStatus_t;
                cublasLtLoggerSetLevel(level: c_int) -> cublasStatus_t;
                cublasLtLoggerSetMask(mask: c_int) -> cublasStatus_t;
                cublasLtLoggerForceDisable() -> cublasStatus_t;
                cublasLtMatrixLayoutCreate(descriptor: *mut *mut c_void, kind: cudaDataType, rows: u64, columns: u64, leading: i64) -> cublasStatus_t;
                cublasLtMatrixLayoutInit_internal(descriptor: *mut c_void, size: usize, kind: cudaDataType, rows: u64, columns: u64, leading: i64) -> cublasStatus_t;
                cublasLtMatrixLayoutDestroy(descriptor: *mut c_void) -> cublasStatus_t;
                cublasLtMatrixLayoutSetAttribute(descriptor: *mut c_void, attribute: c_int, from: *const c_void, size: usize) -> cublasStatus_t;
                cublasLtMatrixLayoutGetAttribute(descriptor: *const c_void, attribute: c_int, to: *mut c_void, size: usize, written: *mut usize) -> cublasStatus_t;
                cublasLtMatmulDescCreate(descriptor: *mut *mut c_void, compute: cublasComputeType_t, scale: cudaDataType) -> cublasStatus_t;
                cublasLtMatmulDescInit_internal(descriptor: *mut c_void, size: usize, compute: cublasComputeType_t, scale: cudaDataType) -> cublasStatus_t;
                cublasLtMatmulDescDestroy(descriptor: *mut c_void) -> cublasStatus_t;
                cublasLtMatmulDescSetAttribute(descriptor: *mut c_void, attribute: c_int, from: *const c_void, size: usize) -> cublasStatus_t;
                cublasLtMatmulDescGetAttribute(descriptor: *const c_void, attribute: c_int, to: *mut c_void, size: usize, written: *mut usize) -> cublasStatus_t;
                cublasLtMatmulPreferenceCreate(descriptor: *mut *mut c_void) -> cublasStatus_t;
                cublasLtMatmulPreferenceInit_internal(descriptor: *mut c_void, size: usize) -> cublasStatus_t;
                cublasLtMatmulPreferenceDestroy(descriptor: *mut c_void) -> cublasStatus_t;
                cublasLtMatmulPreferenceSetAttribute(descriptor: *mut c_void, attribute: c_int, from: *const c_void, size: usize) -> cublasStatus_t;
                cublasLtMatmulPreferenceGetAttribute(descriptor: *const c_void, attribute: c_int, to: *mut c_void, size: usize, written: *mut usize) -> cublasStatus_t;
                cublasLtMatrixTransformDescCreate(descriptor: *mut *mut c_void, scale: cudaDataType) -> cublasStatus_t;
                cublasLtMatrixTransformDescInit_internal(descriptor: *mut c_void, size: usize, scale: cudaDataType) -> cublasStatus_t;
                cublasLtMatrixTransformDescDestroy(descriptor: *mut c_void) -> cublasStatus_t;
                cublasLtMatrixTransformDescSetAttribute(descriptor: *mut c_void, attribute: c_int, from: *const c_void, size: usize) -> cublasStatus_t;
                cublasLtMatrixTransformDescGetAttribute(descriptor: *const c_void, attribute: c_int, to: *mut c_void, size: usize, written: *mut usize) -> cublasStatus_t;
                cublasLtMatmul(handle: cublasHandle_t, descriptor: *const c_void, alpha: *const c_void, a: *const c_void, a_layout: *const c_void, b: *const c_void, b_layout: *const c_void, beta: *const c_void, c: *const c_void, c_layout: *const c_void, d: *mut c_void, d_layout: *const c_void, algorithm: *const c_void, workspace: *mut c_void, workspace_size: usize, stream: cudaStream_t) -> cublasStatus_t;
                cublasLtMatrixTransform(handle: cublasHandle_t, descriptor: *const c_void, alpha: *const c_void, a: *const c_void, a_layout: *const c_void, beta: *const c_void, b: *const c_void, b_layout: *const c_void, c: *mut c_void, c_layout: *const c_void, stream: cudaStream_t) -> cublasStatus_t;
                cublasLtMatmulAlgoGetHeuristic(handle: cublasHandle_t, descriptor: *const c_void, a: *const c_void, b: *const c_void, c: *const c_void, d: *const c_void, preference: *const c_void, requested: c_int, results: *mut HeuristicResult, count: *mut c_int) -> cublasStatus_t;
                cublasLtMatmulAlgoGetHeuristicForStream(handle: cublasHandle_t, descriptor: *const c_void, a: *const c_void, b: *const c_void, c: *const c_void, d: *const c_void, preference: *const c_void, requested: c_int, results: *mut HeuristicResult, count: *mut c_int, stream: cudaStream_t) -> cublasStatus_t;
                cublasLtMatmulAlgoGetIds(handle: cublasHandle_t, compute: cublasComputeType_t, scale: cudaDataType, a: cudaDataType, b: cudaDataType, c: cudaDataType, d: cudaDataType, requested: c_int, ids: *mut c_int, count: *mut c_int) -> cublasStatus_t;
                cublasLtMatmulAlgoInit(handle: cublasHandle_t, compute: cublasComputeType_t, scale: cudaDataType, a: cudaDataType, b: cudaDataType, c: cudaDataType, d: cudaDataType, id: c_int, algorithm: *mut c_void) -> cublasStatus_t;
                cublasLtMatmulAlgoCheck(handle: cublasHandle_t, descriptor: *const c_void, a: *const c_void, b: *const c_void, c: *const c_void, d: *const c_void, algorithm: *const c_void, result: *mut HeuristicResult) -> cublasStatus_t;
                cublasLtMatmulAlgoCheckForStream(handle: cublasHandle_t, descriptor: *const c_void, a: *const c_void, b: *const c_void, c: *const c_void, d: *const c_void, algorithm: *const c_void, result: *mut HeuristicResult, stream: cudaStream_t) -> cublasStatus_t;
                cublasLtMatmulAlgoCapGetAttribute(algorithm: *const c_void, attribute: c_int, to: *mut c_void, size: usize, written: *mut usize) -> cublasStatus_t;
                cublasLtMatmulAlgoConfigSetAttribute(algorithm: *mut c_void, attribute: c_int, from: *const c_void, size: usize) -> cublasStatus_t;
                cublasLtMatmulAlgoConfigGetAttribute(algorithm: *const c_void, attribute: c_int, to: *mut c_void, size: usize, written: *mut usize) -> cublasStatus_t;
            }
            refused {
                cublasLtEmulationDescCreate cublasLtEmulationDescDestroy cublasLtEmulationDescGetAttribute cublasLtEmulationDescInit_internal
                cublasLtEmulationDescSetAttribute cublasLtGroupedMatrixLayoutCreate cublasLtGroupedMatrixLayoutInit_internal
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
                use $crate::lt::HeuristicResult;
                #[allow(unused_imports)]
                use $crate::types::*;
                #[allow(unused_imports)]
                use ::std::ffi::{c_char, c_int, c_uint, c_void};
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
