//! The types of the C interface.

#![allow(non_camel_case_types)]

use std::ffi::{c_int, c_void};

pub use crate::scalar::{Complex32, Complex64, Scalar};
pub use crate::status::cublasStatus_t;
pub use half::{bf16, f16};

/// `cublasHandle_t`: a number, never the address of anything.
pub type cublasHandle_t = usize;
/// `cublasOperation_t`.
pub type cublasOperation_t = c_int;
/// `cublasFillMode_t`.
pub type cublasFillMode_t = c_int;
/// `cublasDiagType_t`.
pub type cublasDiagType_t = c_int;
/// `cublasSideMode_t`.
pub type cublasSideMode_t = c_int;
/// `cublasPointerMode_t`.
pub type cublasPointerMode_t = c_int;
/// `cublasAtomicsMode_t`.
pub type cublasAtomicsMode_t = c_int;
/// `cublasMath_t`.
pub type cublasMath_t = c_int;
/// `cublasComputeType_t`.
pub type cublasComputeType_t = c_int;
/// `cublasGemmAlgo_t`.
pub type cublasGemmAlgo_t = c_int;
/// `cublasEmulationStrategy_t`, `cudaEmulationStrategy` and the like.
pub type cublasEmulation_t = c_int;
/// `cudaDataType`.
pub type cudaDataType = c_int;
/// `libraryPropertyType`.
pub type libraryPropertyType = c_int;
/// `cudaStream_t`.
pub type cudaStream_t = *mut c_void;
/// `cublasLogCallback`.
pub type cublasLogCallback = Option<unsafe extern "C" fn(*const std::ffi::c_char)>;

/// `size_t`, the type of sizes of cublasXt.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct cublasXtSize_t(pub usize);

impl From<cublasXtSize_t> for i64 {
    /// The size. One that no memory has becomes negative, and so is refused.
    fn from(size: cublasXtSize_t) -> i64 {
        i64::try_from(size.0).unwrap_or(-1)
    }
}

/// The type of the real part, for signatures.
pub trait Real {
    /// The type itself for real numbers.
    type Real;
}

macro_rules! real {
    ($($type:ty: $real:ty),*) => { $(impl Real for $type { type Real = $real; })* };
}

real!(f32: f32, f64: f64, Complex32: f32, Complex64: f64, f16: f16, bf16: bf16);
