//! Products of general matrices: one, or many at constant distances.

use crate::general::{Compute, FactorType, Factors, Matrices, Product};
use crate::handle::Handle;
use crate::scalar::{DataType, Scalar};
use crate::status::{NOT_SUPPORTED, Outcome};
use crate::types::{cublasComputeType_t, cublasGemmAlgo_t, cublasOperation_t, cudaDataType};
use half::f16;
use std::ffi::c_void;

fn single<T: Scalar>(pointer: *const T, leading: i64) -> Matrices {
    Matrices { address: pointer.addr() as u64, data: T::TYPE, leading, stride: 0, by_pointers: false }
}

/// `cublas<t>gemm`, and `gemm3m`, whose result is the same.
pub(crate) fn gemm<T: Scalar>(
    handle: &Handle,
    transa: cublasOperation_t,
    transb: cublasOperation_t,
    m: i64,
    n: i64,
    k: i64,
    alpha: *const T,
    a: *const T,
    lda: i64,
    b: *const T,
    ldb: i64,
    beta: *const T,
    c: *mut T,
    ldc: i64,
) -> Outcome {
    let (a, b, c) = (single(a, lda), single(b, ldb), single(c.cast_const(), ldc));
    let product = Product { operations: [transa, transb], size: [m, n, k], a, b, c, count: 1 };
    product.enqueue::<T>(handle, Factors { alpha: alpha.cast(), beta: beta.cast() }, FactorType::Sums)
}

/// `cublas<t>gemmStridedBatched`.
pub(crate) fn gemm_strided<T: Scalar>(
    handle: &Handle,
    transa: cublasOperation_t,
    transb: cublasOperation_t,
    m: i64,
    n: i64,
    k: i64,
    alpha: *const T,
    a: *const T,
    lda: i64,
    stride_a: i64,
    b: *const T,
    ldb: i64,
    stride_b: i64,
    beta: *const T,
    c: *mut T,
    ldc: i64,
    stride_c: i64,
    count: i64,
) -> Outcome {
    let a = Matrices { stride: stride_a, ..single(a, lda) };
    let b = Matrices { stride: stride_b, ..single(b, ldb) };
    let c = Matrices { stride: stride_c, ..single(c.cast_const(), ldc) };
    let product = Product { operations: [transa, transb], size: [m, n, k], a, b, c, count };
    product.enqueue::<T>(handle, Factors { alpha: alpha.cast(), beta: beta.cast() }, FactorType::Sums)
}

/// `cublasHgemm`: sums are `float`.
pub(crate) fn hgemm(
    handle: &Handle,
    transa: cublasOperation_t,
    transb: cublasOperation_t,
    m: i64,
    n: i64,
    k: i64,
    alpha: *const f16,
    a: *const f16,
    lda: i64,
    b: *const f16,
    ldb: i64,
    beta: *const f16,
    c: *mut f16,
    ldc: i64,
) -> Outcome {
    hgemm_strided(handle, transa, transb, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c, ldc, 0, 1)
}

/// `cublasHgemmStridedBatched`.
pub(crate) fn hgemm_strided(
    handle: &Handle,
    transa: cublasOperation_t,
    transb: cublasOperation_t,
    m: i64,
    n: i64,
    k: i64,
    alpha: *const f16,
    a: *const f16,
    lda: i64,
    stride_a: i64,
    b: *const f16,
    ldb: i64,
    stride_b: i64,
    beta: *const f16,
    c: *mut f16,
    ldc: i64,
    stride_c: i64,
    count: i64,
) -> Outcome {
    let of = |pointer: *const f16, leading, stride| Matrices {
        address: pointer.addr() as u64,
        data: DataType::F16,
        leading,
        stride,
        by_pointers: false,
    };
    let (a, b, c) = (of(a, lda, stride_a), of(b, ldb, stride_b), of(c.cast_const(), ldc, stride_c));
    let product = Product { operations: [transa, transb], size: [m, n, k], a, b, c, count };
    product.enqueue::<f32>(handle, Factors { alpha: alpha.cast(), beta: beta.cast() }, FactorType::F16)
}

/// `cublasSgemmEx`, `cublasCgemmEx`, `cublasCgemm3mEx`: factors of type `T`, matrices of other types.
pub(crate) fn gemm_typed<T: Scalar>(
    handle: &Handle,
    transa: cublasOperation_t,
    transb: cublasOperation_t,
    m: i64,
    n: i64,
    k: i64,
    alpha: *const T,
    a: *const c_void,
    a_type: cudaDataType,
    lda: i64,
    b: *const c_void,
    b_type: cudaDataType,
    ldb: i64,
    beta: *const T,
    c: *mut c_void,
    c_type: cudaDataType,
    ldc: i64,
) -> Outcome {
    let of = |pointer: *const c_void, data, leading| -> Outcome<Matrices> {
        Ok(Matrices {
            address: pointer.addr() as u64,
            data: DataType::of(data)?,
            leading,
            stride: 0,
            by_pointers: false,
        })
    };
    let (a, b, c) = (of(a, a_type, lda)?, of(b, b_type, ldb)?, of(c.cast_const(), c_type, ldc)?);
    if !Compute::F32.accepts(a.data, b.data, c.data) || c.data.is_complex() != T::IS_COMPLEX {
        return Err(NOT_SUPPORTED);
    }
    let product = Product { operations: [transa, transb], size: [m, n, k], a, b, c, count: 1 };
    product.enqueue::<T>(handle, Factors { alpha: alpha.cast(), beta: beta.cast() }, FactorType::Sums)
}

/// `cublasGemmEx`.
pub(crate) fn gemm_ex(
    handle: &Handle,
    transa: cublasOperation_t,
    transb: cublasOperation_t,
    m: i64,
    n: i64,
    k: i64,
    alpha: *const c_void,
    a: *const c_void,
    a_type: cudaDataType,
    lda: i64,
    b: *const c_void,
    b_type: cudaDataType,
    ldb: i64,
    beta: *const c_void,
    c: *mut c_void,
    c_type: cudaDataType,
    ldc: i64,
    compute: cublasComputeType_t,
    algorithm: cublasGemmAlgo_t,
) -> Outcome {
    gemm_strided_ex(
        handle, transa, transb, m, n, k, alpha, a, a_type, lda, 0, b, b_type, ldb, 0, beta, c, c_type, ldc, 0, 1,
        compute, algorithm,
    )
}

/// `cublasGemmStridedBatchedEx`.
pub(crate) fn gemm_strided_ex(
    handle: &Handle,
    transa: cublasOperation_t,
    transb: cublasOperation_t,
    m: i64,
    n: i64,
    k: i64,
    alpha: *const c_void,
    a: *const c_void,
    a_type: cudaDataType,
    lda: i64,
    stride_a: i64,
    b: *const c_void,
    b_type: cudaDataType,
    ldb: i64,
    stride_b: i64,
    beta: *const c_void,
    c: *mut c_void,
    c_type: cudaDataType,
    ldc: i64,
    stride_c: i64,
    count: i64,
    compute: cublasComputeType_t,
    algorithm: cublasGemmAlgo_t,
) -> Outcome {
    let of = |pointer: *const c_void, data, leading, stride| -> Outcome<Matrices> {
        Ok(Matrices { address: pointer.addr() as u64, data: DataType::of(data)?, leading, stride, by_pointers: false })
    };
    let (a, b) = (of(a, a_type, lda, stride_a)?, of(b, b_type, ldb, stride_b)?);
    let c = of(c.cast_const(), c_type, ldc, stride_c)?;
    let product = Product { operations: [transa, transb], size: [m, n, k], a, b, c, count };
    product.enqueue_typed(handle, Factors { alpha, beta }, compute, algorithm)
}
