//! The types of the C interface.

#![allow(non_camel_case_types)]

use num_complex::Complex;
use std::ffi::{c_int, c_void};

pub(crate) use crate::status::cusparseStatus_t;

/// `cuComplex`.
pub(crate) type Complex32 = Complex<f32>;
/// `cuDoubleComplex`.
pub(crate) type Complex64 = Complex<f64>;

macro_rules! numbers {
    ($($(#[$doc:meta])* $name:ident)*) => { $($(#[$doc])* pub(crate) type $name = usize;)* };
}

// Handles and descriptors are numbers, never the address of anything.
numbers! {
    cusparseHandle_t
    cusparseMatDescr_t
    cusparseSpVecDescr_t
    cusparseDnVecDescr_t
    cusparseSpMatDescr_t
    cusparseDnMatDescr_t
    cusparseSpSVDescr_t
    cusparseSpSMDescr_t
    cusparseSpGEMMDescr_t
    cusparseSpGEAMDescr_t
    info_t
}

macro_rules! enumerations {
    ($($name:ident)*) => { $(pub(crate) type $name = c_int;)* };
}

enumerations! {
    cusparseOperation_t
    cusparseAction_t
    cusparsePointerMode_t
    cusparseDirection_t
    cusparseMatrixType_t
    cusparseFillMode_t
    cusparseDiagType_t
    cusparseIndexBase_t
    cusparseIndexType_t
    cusparseFormat_t
    cusparseOrder_t
    cusparseSpMatAttribute_t
    cusparseSolvePolicy_t
    cusparseAlg_t
    cudaDataType
    libraryPropertyType
}

/// `cudaStream_t`.
pub(crate) type cudaStream_t = *mut c_void;
