//! Updates of symmetric and Hermitian matrices in calls that name their types.

use crate::handle::Handle;
use crate::ranked::{herk, syrk};
use crate::scalar::{Complex32, DataType};
use crate::status::{NOT_SUPPORTED, Outcome};
use crate::types::{cublasFillMode_t, cublasOperation_t, cudaDataType};
use std::ffi::c_void;

/// Checks that both matrices have complex numbers of 32-bit floats. Those of 8-bit integers are not supported.
fn check(a: cudaDataType, c: cudaDataType) -> Outcome {
    let is_known = DataType::of(a)? == DataType::C32 && DataType::of(c)? == DataType::C32;
    if is_known { Ok(()) } else { Err(NOT_SUPPORTED) }
}

/// `cublasCsyrkEx`, and `cublasCsyrk3mEx`, whose result is the same.
pub(crate) fn csyrk(
    handle: &Handle,
    uplo: cublasFillMode_t,
    trans: cublasOperation_t,
    n: i64,
    k: i64,
    alpha: *const Complex32,
    a: *const c_void,
    a_type: cudaDataType,
    lda: i64,
    beta: *const Complex32,
    c: *mut c_void,
    c_type: cudaDataType,
    ldc: i64,
) -> Outcome {
    check(a_type, c_type)?;
    syrk::<Complex32>(handle, uplo, trans, n, k, alpha, a.cast(), lda, beta, c.cast(), ldc)
}

/// `cublasCherkEx`, and `cublasCherk3mEx`, whose result is the same.
pub(crate) fn cherk(
    handle: &Handle,
    uplo: cublasFillMode_t,
    trans: cublasOperation_t,
    n: i64,
    k: i64,
    alpha: *const f32,
    a: *const c_void,
    a_type: cudaDataType,
    lda: i64,
    beta: *const f32,
    c: *mut c_void,
    c_type: cudaDataType,
    ldc: i64,
) -> Outcome {
    check(a_type, c_type)?;
    herk::<Complex32>(handle, uplo, trans, n, k, alpha, a.cast(), lda, beta, c.cast(), ldc)
}
