//! Batches of matrices behind arrays of pointers.

use crate::arguments::{Call, Op, choice, fill, leading, order, size};
use crate::general::{FactorType, Factors, Matrices, Product};
use crate::handle::Handle;
use crate::layout::{Fill, Stored};
use crate::level3::solve_scaled;
use crate::scalar::{DataType, Scalar};
use crate::status::Outcome;
use crate::types::{
    cublasComputeType_t, cublasDiagType_t, cublasFillMode_t, cublasGemmAlgo_t, cublasOperation_t, cublasSideMode_t,
    cudaDataType,
};
use cuarray_stream_work::Part;
use half::f16;
use std::ffi::c_void;

fn behind<P>(array: *const P, data: DataType, leading: i64) -> Matrices {
    Matrices { address: array.addr() as u64, data, leading, stride: 0, by_pointers: true }
}

/// `cublas<t>gemmBatched`.
pub(crate) fn gemm<T: Scalar>(
    handle: &Handle,
    transa: cublasOperation_t,
    transb: cublasOperation_t,
    m: i64,
    n: i64,
    k: i64,
    alpha: *const T,
    a: *const *const T,
    lda: i64,
    b: *const *const T,
    ldb: i64,
    beta: *const T,
    c: *const *mut T,
    ldc: i64,
    count: i64,
) -> Outcome {
    let (a, b, c) = (behind(a, T::TYPE, lda), behind(b, T::TYPE, ldb), behind(c, T::TYPE, ldc));
    let product = Product { operations: [transa, transb], size: [m, n, k], a, b, c, count };
    product.enqueue::<T>(handle, Factors { alpha: alpha.cast(), beta: beta.cast() }, FactorType::Sums)
}

/// `cublasHgemmBatched`.
pub(crate) fn hgemm(
    handle: &Handle,
    transa: cublasOperation_t,
    transb: cublasOperation_t,
    m: i64,
    n: i64,
    k: i64,
    alpha: *const f16,
    a: *const *const f16,
    lda: i64,
    b: *const *const f16,
    ldb: i64,
    beta: *const f16,
    c: *const *mut f16,
    ldc: i64,
    count: i64,
) -> Outcome {
    let data = DataType::F16;
    let (a, b, c) = (behind(a, data, lda), behind(b, data, ldb), behind(c, data, ldc));
    let product = Product { operations: [transa, transb], size: [m, n, k], a, b, c, count };
    product.enqueue::<f32>(handle, Factors { alpha: alpha.cast(), beta: beta.cast() }, FactorType::F16)
}

/// `cublasGemmBatchedEx`.
pub(crate) fn gemm_ex(
    handle: &Handle,
    transa: cublasOperation_t,
    transb: cublasOperation_t,
    m: i64,
    n: i64,
    k: i64,
    alpha: *const c_void,
    a: *const *const c_void,
    a_type: cudaDataType,
    lda: i64,
    b: *const *const c_void,
    b_type: cudaDataType,
    ldb: i64,
    beta: *const c_void,
    c: *const *mut c_void,
    c_type: cudaDataType,
    ldc: i64,
    count: i64,
    compute: cublasComputeType_t,
    algorithm: cublasGemmAlgo_t,
) -> Outcome {
    let (a, b) = (behind(a, DataType::of(a_type)?, lda), behind(b, DataType::of(b_type)?, ldb));
    let c = behind(c, DataType::of(c_type)?, ldc);
    let product = Product { operations: [transa, transb], size: [m, n, k], a, b, c, count };
    product.enqueue_typed(handle, Factors { alpha, beta }, compute, algorithm)
}

/// The part of a matrix that a triangle reads.
fn part(fill: Fill, unit: bool) -> Part {
    match (fill, unit) {
        (Fill::Lower, false) => Part::Lower,
        (Fill::Lower, true) => Part::StrictlyLower,
        (Fill::Upper, false) => Part::Upper,
        (Fill::Upper, true) => Part::StrictlyUpper,
    }
}

/// `cublas<t>trsmBatched`.
pub(crate) fn trsm<T: Scalar>(
    handle: &Handle,
    side: cublasSideMode_t,
    uplo: cublasFillMode_t,
    trans: cublasOperation_t,
    diag: cublasDiagType_t,
    m: i64,
    n: i64,
    alpha: *const T,
    a: *const *const T,
    lda: i64,
    b: *const *mut T,
    ldb: i64,
    count: i64,
) -> Outcome {
    let mut call = Call::of(handle);
    let (right, fill, op, unit) = (choice(side)?, fill(uplo)?, Op::of(trans)?, choice(diag)?);
    let (m, n, count) = (size(m)?, size(n)?, size(count)?);
    let order = order(if right { n } else { m })?;
    let a = Stored::array::<_, T>(a, (order, order), leading(lda, order)?);
    let b = Stored::array::<_, T>(b, (m, n), leading(ldb, m)?);
    let alpha = call.scalar(c"alpha", alpha)?;
    if m == 0 || n == 0 || count == 0 {
        return Ok(());
    }
    let a = match alpha.is(T::zero()) {
        true => None,
        false => Some(call.multiplied(c"A", a.behind_pointers(count, part(fill, unit)), alpha)?),
    };
    let b = call.scaled(c"B", b.behind_pointers(count, Part::All), alpha)?;
    call.computes(move |data| {
        let alpha = alpha.value(data);
        let b = data.take::<T>(b);
        let Some(a) = a else { return b.fill(T::zero()) };
        for (a, b) in data.take::<T>(a).chunks(order * order).zip(b.chunks_mut(m * n)) {
            solve_scaled(a, b, (m, n), alpha, (right, fill, op, unit));
        }
    })
}
