//! Functions that name the types of their matrices, with sizes of 64 bits and workspaces in bytes.
//!
//! All matrices of a call have one type. Singular values and eigenvalues have the type of its real parts, but those of general matrices may
//! be complex. The workspace on the host is empty.

use crate::arguments::{Call, block_elements, order};
use crate::handle::{Handle, Parameters, check_parameters};
use crate::scalar::{Complex32, Complex64, Scalar};
use crate::status::{INVALID_VALUE, Outcome};
use crate::types::*;
use crate::{arguments, cholesky, general_eigen, lu, qr, svd};
use cuarray_stream_work::write;
use std::ffi::{c_char, c_int, c_void};

/// Runs an expression with the type of a number of `cudaDataType`.
macro_rules! with_type {
    ($number:expr, $t:ident => $call:expr) => {
        match $number {
            <f32 as Scalar>::TYPE => {
                type $t = f32;
                $call
            }
            <f64 as Scalar>::TYPE => {
                type $t = f64;
                $call
            }
            <Complex32 as Scalar>::TYPE => {
                type $t = Complex32;
                $call
            }
            <Complex64 as Scalar>::TYPE => {
                type $t = Complex64;
                $call
            }
            _ => Err(INVALID_VALUE),
        }
    };
}
pub(crate) use with_type;

/// Checks the object of parameters, which may be missing, and that the types are the first one.
pub(crate) fn check(params: cusolverDnParams_t, first: cudaDataType, others: &[cudaDataType]) -> Outcome {
    if params != 0 {
        check_parameters(Parameters::Options, params)?;
    }
    if others.iter().all(|other| *other == first) { Ok(()) } else { Err(INVALID_VALUE) }
}

/// Checks the type of singular values and eigenvalues.
pub(crate) fn check_real(first: cudaDataType, real: cudaDataType) -> Outcome {
    let expected = with_type!(first, T => Ok(<<T as Scalar>::Real as Scalar>::TYPE))?;
    if expected == real { Ok(()) } else { Err(INVALID_VALUE) }
}

/// The bytes of a workspace.
pub(crate) fn bytes<T>(elements: c_int) -> usize {
    usize::try_from(elements).unwrap_or_default().saturating_mul(size_of::<T>())
}

/// Returns the sizes of the workspaces.
pub(crate) fn sizes(device: *mut usize, host: *mut usize, bytes: usize) -> Outcome {
    if host.is_null() {
        return Err(INVALID_VALUE);
    }
    write::<_, cusolverStatus_t>(device, bytes)?;
    write(host, 0)
}

/// The call with its workspace.
pub(crate) fn call_with<T>(
    handle: &Handle,
    buffer: *mut c_void,
    given: usize,
    elements: c_int,
    empty: bool,
) -> Outcome<Call<'_>> {
    let mut call = Call::of(handle).with_info(c"info");
    if !empty {
        call.buffer(c"bufferOnDevice", buffer, given, bytes::<T>(elements))?;
    }
    Ok(call)
}

/// `cusolverDnXpotrf_bufferSize`.
pub(crate) fn potrf_size(
    _: &Handle,
    params: cusolverDnParams_t,
    uplo: cublasFillMode_t,
    n: i64,
    data: cudaDataType,
    _: *const c_void,
    lda: i64,
    compute: cudaDataType,
    device: *mut usize,
    host: *mut usize,
) -> Outcome {
    check(params, data, &[compute])?;
    arguments::fill(uplo)?;
    let n = order(n)?;
    arguments::leading(lda, n)?;
    with_type!(data, T => sizes(device, host, bytes::<T>(block_elements(n))))
}

/// `cusolverDnXpotrf`.
pub(crate) fn potrf(
    handle: &Handle,
    params: cusolverDnParams_t,
    uplo: cublasFillMode_t,
    n: i64,
    data: cudaDataType,
    a: *mut c_void,
    lda: i64,
    compute: cudaDataType,
    buffer: *mut c_void,
    given: usize,
    _: *mut c_void,
    _: usize,
    info: *mut c_int,
) -> Outcome {
    check(params, data, &[compute])?;
    let needed = block_elements(order(n)?);
    with_type!(data, T => {
        let call = call_with::<T>(handle, buffer, given, needed, n == 0)?;
        cholesky::potrf_of::<T>(call, uplo, n, a.cast(), lda, info)
    })
}

/// `cusolverDnXpotrs`.
pub(crate) fn potrs(
    handle: &Handle,
    params: cusolverDnParams_t,
    uplo: cublasFillMode_t,
    n: i64,
    columns: i64,
    data: cudaDataType,
    a: *const c_void,
    lda: i64,
    data_b: cudaDataType,
    b: *mut c_void,
    ldb: i64,
    info: *mut c_int,
) -> Outcome {
    check(params, data, &[data_b])?;
    let call = Call::of(handle).with_info(c"info");
    with_type!(data, T => cholesky::potrs_of::<T>(call, uplo, n, columns, a.cast(), lda, b.cast(), ldb, info))
}

/// `cusolverDnXgetrf_bufferSize`.
pub(crate) fn getrf_size(
    _: &Handle,
    params: cusolverDnParams_t,
    m: i64,
    n: i64,
    data: cudaDataType,
    _: *const c_void,
    lda: i64,
    compute: cudaDataType,
    device: *mut usize,
    host: *mut usize,
) -> Outcome {
    check(params, data, &[compute])?;
    let (m, n) = (order(m)?, order(n)?);
    arguments::leading(lda, m)?;
    with_type!(data, T => sizes(device, host, bytes::<T>(lu::needed(m, n))))
}

/// `cusolverDnXgetrf`.
pub(crate) fn getrf(
    handle: &Handle,
    params: cusolverDnParams_t,
    m: i64,
    n: i64,
    data: cudaDataType,
    a: *mut c_void,
    lda: i64,
    pivots: *mut i64,
    compute: cudaDataType,
    buffer: *mut c_void,
    given: usize,
    _: *mut c_void,
    _: usize,
    info: *mut c_int,
) -> Outcome {
    check(params, data, &[compute])?;
    let needed = lu::needed(order(m)?, order(n)?);
    with_type!(data, T => {
        let call = call_with::<T>(handle, buffer, given, needed, m == 0 || n == 0)?;
        lu::getrf_of::<T, i64>(call, m, n, a.cast(), lda, (c"ipiv", pivots), info)
    })
}

/// `cusolverDnXgetrs`.
pub(crate) fn getrs(
    handle: &Handle,
    params: cusolverDnParams_t,
    trans: cublasOperation_t,
    n: i64,
    columns: i64,
    data: cudaDataType,
    a: *const c_void,
    lda: i64,
    pivots: *const i64,
    data_b: cudaDataType,
    b: *mut c_void,
    ldb: i64,
    info: *mut c_int,
) -> Outcome {
    check(params, data, &[data_b])?;
    let (call, pivots) = (Call::of(handle).with_info(c"info"), (c"ipiv", pivots));
    with_type!(data, T => lu::getrs_of::<T, i64>(call, trans, n, columns, a.cast(), lda, pivots, b.cast(), ldb, info))
}

/// `cusolverDnXgeqrf_bufferSize`.
pub(crate) fn geqrf_size(
    _: &Handle,
    params: cusolverDnParams_t,
    m: i64,
    n: i64,
    data: cudaDataType,
    _: *const c_void,
    lda: i64,
    data_tau: cudaDataType,
    _: *const c_void,
    compute: cudaDataType,
    device: *mut usize,
    host: *mut usize,
) -> Outcome {
    check(params, data, &[data_tau, compute])?;
    let (m, n) = (order(m)?, order(n)?);
    arguments::leading(lda, m)?;
    with_type!(data, T => sizes(device, host, bytes::<T>(qr::needed(n))))
}

/// `cusolverDnXgeqrf`.
pub(crate) fn geqrf(
    handle: &Handle,
    params: cusolverDnParams_t,
    m: i64,
    n: i64,
    data: cudaDataType,
    a: *mut c_void,
    lda: i64,
    data_tau: cudaDataType,
    tau: *mut c_void,
    compute: cudaDataType,
    buffer: *mut c_void,
    given: usize,
    _: *mut c_void,
    _: usize,
    info: *mut c_int,
) -> Outcome {
    check(params, data, &[data_tau, compute])?;
    let needed = qr::needed(order(n)?);
    with_type!(data, T => {
        let call = call_with::<T>(handle, buffer, given, needed, m == 0 || n == 0)?;
        qr::geqrf_of::<T>(call, m, n, a.cast(), lda, (c"tau", tau.cast()), info)
    })
}

/// `cusolverDnXgesvd_bufferSize`.
pub(crate) fn gesvd_size(
    _: &Handle,
    params: cusolverDnParams_t,
    _: c_char,
    _: c_char,
    m: i64,
    n: i64,
    data: cudaDataType,
    _: *const c_void,
    lda: i64,
    data_s: cudaDataType,
    _: *const c_void,
    data_u: cudaDataType,
    _: *const c_void,
    _: i64,
    data_vt: cudaDataType,
    _: *const c_void,
    _: i64,
    compute: cudaDataType,
    device: *mut usize,
    host: *mut usize,
) -> Outcome {
    check(params, data, &[data_u, data_vt, compute])?;
    check_real(data, data_s)?;
    let (m, n) = (order(m)?, order(n)?);
    arguments::leading(lda, m)?;
    if m < n {
        return Err(INVALID_VALUE);
    }
    with_type!(data, T => sizes(device, host, bytes::<T>(svd::needed(m, n))))
}

/// `cusolverDnXgesvd`.
pub(crate) fn gesvd(
    handle: &Handle,
    params: cusolverDnParams_t,
    jobu: c_char,
    jobvt: c_char,
    m: i64,
    n: i64,
    data: cudaDataType,
    a: *mut c_void,
    lda: i64,
    data_s: cudaDataType,
    s: *mut c_void,
    data_u: cudaDataType,
    u: *mut c_void,
    ldu: i64,
    data_vt: cudaDataType,
    vt: *mut c_void,
    ldvt: i64,
    compute: cudaDataType,
    buffer: *mut c_void,
    given: usize,
    _: *mut c_void,
    _: usize,
    info: *mut c_int,
) -> Outcome {
    check(params, data, &[data_u, data_vt, compute])?;
    check_real(data, data_s)?;
    let needed = svd::needed(order(m)?, order(n)?);
    with_type!(data, T => {
        let call = call_with::<T>(handle, buffer, given, needed, n == 0)?;
        let (left, right) = ((u.cast(), ldu), (vt.cast(), ldvt));
        svd::gesvd_of::<T>(call, (jobu, jobvt), (m, n), (a.cast(), lda), s.cast(), left, right, info)
    })
}

/// Checks the types of a call for eigenvalues of general matrices; returns whether the eigenvalues are complex numbers.
fn check_general(
    params: cusolverDnParams_t,
    data: cudaDataType,
    data_w: cudaDataType,
    others: &[cudaDataType],
) -> Outcome<bool> {
    check(params, data, others)?;
    let complex = with_type!(data, T => Ok(<<T as Scalar>::Real as Scalar>::TYPE + Complex32::TYPE))?;
    if data_w == data || data_w == complex { Ok(data_w == complex) } else { Err(INVALID_VALUE) }
}

/// `cusolverDnXgeev_bufferSize`.
pub(crate) fn geev_size(
    _: &Handle,
    params: cusolverDnParams_t,
    left: cusolverEigMode_t,
    right: cusolverEigMode_t,
    n: i64,
    data: cudaDataType,
    _: *const c_void,
    lda: i64,
    data_w: cudaDataType,
    _: *const c_void,
    data_left: cudaDataType,
    _: *const c_void,
    _: i64,
    data_right: cudaDataType,
    _: *const c_void,
    ld_right: i64,
    compute: cudaDataType,
    device: *mut usize,
    host: *mut usize,
) -> Outcome {
    check_general(params, data, data_w, &[data_left, data_right, compute])?;
    let n = order(n)?;
    arguments::leading(lda, n)?;
    if general_eigen::wanted(left, right)? {
        arguments::leading(ld_right, n)?;
    }
    with_type!(data, T => sizes(device, host, bytes::<T>(general_eigen::needed(n))))
}

/// `cusolverDnXgeev`, for right eigenvectors.
pub(crate) fn geev(
    handle: &Handle,
    params: cusolverDnParams_t,
    left: cusolverEigMode_t,
    right: cusolverEigMode_t,
    n: i64,
    data: cudaDataType,
    a: *mut c_void,
    lda: i64,
    data_w: cudaDataType,
    w: *mut c_void,
    data_left: cudaDataType,
    _: *mut c_void,
    _: i64,
    data_right: cudaDataType,
    vectors: *mut c_void,
    ld_right: i64,
    compute: cudaDataType,
    buffer: *mut c_void,
    given: usize,
    _: *mut c_void,
    _: usize,
    info: *mut c_int,
) -> Outcome {
    let paired = check_general(params, data, data_w, &[data_left, data_right, compute])?;
    let needed = general_eigen::needed(order(n)?);
    with_type!(data, T => {
        let call = call_with::<T>(handle, buffer, given, needed, n == 0)?;
        let (w, vectors) = ((w.cast(), paired), (vectors.cast(), ld_right));
        general_eigen::geev_of::<T>(call, (left, right), n, (a.cast(), lda), w, vectors, info)
    })
}
