//! The types of the C interface.

#![allow(non_camel_case_types)]

use std::ffi::{c_int, c_void};

pub use crate::scalar::{Complex32, Complex64, Scalar};
pub use crate::status::cusolverStatus_t;

/// `cusolverDnHandle_t`: a number, never the address of anything.
pub type cusolverDnHandle_t = usize;
/// `cusolverSpHandle_t`: a number of the same table.
pub type cusolverSpHandle_t = usize;
/// `cusparseMatDescr_t`: a number of cuSPARSE.
pub type cusparseMatDescr_t = usize;
/// `cusolverDnParams_t`: a number as well.
pub type cusolverDnParams_t = usize;
/// `syevjInfo_t`.
pub type syevjInfo_t = usize;
/// `gesvdjInfo_t`.
pub type gesvdjInfo_t = usize;
/// `cublasOperation_t`.
pub type cublasOperation_t = c_int;
/// `cublasFillMode_t`.
pub type cublasFillMode_t = c_int;
/// `cublasSideMode_t`.
pub type cublasSideMode_t = c_int;
/// `cusolverEigMode_t`.
pub type cusolverEigMode_t = c_int;
/// `cusolverEigType_t`.
pub type cusolverEigType_t = c_int;
/// `cusolverEigRange_t`.
pub type cusolverEigRange_t = c_int;
/// `cusolverDeterministicMode_t`.
pub type cusolverDeterministicMode_t = c_int;
/// `cusolverDnFunction_t`.
pub type cusolverDnFunction_t = c_int;
/// `cusolverAlgMode_t`.
pub type cusolverAlgMode_t = c_int;
/// `cudaDataType`.
pub type cudaDataType = c_int;
/// `libraryPropertyType`.
pub type libraryPropertyType = c_int;
/// `cudaStream_t`.
pub type cudaStream_t = *mut c_void;

/// An object of parameters of iterative refinement.
pub type cusolverDnIRSParams_t = usize;
/// An object of information about iterative refinement.
pub type cusolverDnIRSInfos_t = usize;
