//! Functions of symmetric matrices that name the types of their matrices: eigenvalues, also in a range, and equations with factors.

use crate::arguments::order;
use crate::generalized::{self, Count, Range};
use crate::handle::Handle;
use crate::scalar::{Complex32, Complex64, Scalar};
use crate::status::{INVALID_VALUE, Outcome};
use crate::typed::{bytes, call_with, check, check_real, sizes, with_type};
use crate::types::*;
use crate::{arguments, eigen, indefinite};
use std::ffi::{c_int, c_void};

/// A number of the host of the type of eigenvalues.
fn real_at<T: Scalar>(at: *const c_void) -> f64 {
    if at.is_null() {
        return f64::NAN;
    }
    // SAFETY: the pointer is not null, and by the contract of the C function that of a number on the host. Any alignment is read.
    unsafe { at.cast::<T::Real>().read_unaligned() }.widen()
}

/// `cusolverDnXsyevd_bufferSize`.
pub(crate) fn syevd_size(
    _: &Handle,
    params: cusolverDnParams_t,
    jobz: cusolverEigMode_t,
    uplo: cublasFillMode_t,
    n: i64,
    data: cudaDataType,
    _: *const c_void,
    lda: i64,
    data_w: cudaDataType,
    _: *const c_void,
    compute: cudaDataType,
    device: *mut usize,
    host: *mut usize,
) -> Outcome {
    check(params, data, &[compute])?;
    check_real(data, data_w)?;
    arguments::choice(jobz)?;
    arguments::fill(uplo)?;
    let n = order(n)?;
    arguments::leading(lda, n)?;
    with_type!(data, T => sizes(device, host, bytes::<T>(eigen::needed(n))))
}

/// `cusolverDnXsyevd`.
pub(crate) fn syevd(
    handle: &Handle,
    params: cusolverDnParams_t,
    jobz: cusolverEigMode_t,
    uplo: cublasFillMode_t,
    n: i64,
    data: cudaDataType,
    a: *mut c_void,
    lda: i64,
    data_w: cudaDataType,
    w: *mut c_void,
    compute: cudaDataType,
    buffer: *mut c_void,
    given: usize,
    on_host: *mut c_void,
    given_on_host: usize,
    info: *mut c_int,
) -> Outcome {
    syev_batched(
        handle,
        params,
        jobz,
        uplo,
        n,
        data,
        a,
        lda,
        data_w,
        w,
        compute,
        buffer,
        given,
        on_host,
        given_on_host,
        info,
        1,
    )
}

/// `cusolverDnXsyevdx_bufferSize`.
pub(crate) fn syevdx_size(
    handle: &Handle,
    params: cusolverDnParams_t,
    jobz: cusolverEigMode_t,
    range: cusolverEigRange_t,
    uplo: cublasFillMode_t,
    n: i64,
    data: cudaDataType,
    a: *const c_void,
    lda: i64,
    low: *mut c_void,
    high: *mut c_void,
    first: i64,
    last: i64,
    _: *mut i64,
    data_w: cudaDataType,
    w: *const c_void,
    compute: cudaDataType,
    device: *mut usize,
    host: *mut usize,
) -> Outcome {
    with_type!(data, T => Range::of(range, order(n)?, (real_at::<T>(low), real_at::<T>(high)), (first, last)))?;
    syevd_size(handle, params, jobz, uplo, n, data, a, lda, data_w, w, compute, device, host)
}

/// `cusolverDnXsyevdx`.
pub(crate) fn syevdx(
    handle: &Handle,
    params: cusolverDnParams_t,
    jobz: cusolverEigMode_t,
    range: cusolverEigRange_t,
    uplo: cublasFillMode_t,
    n: i64,
    data: cudaDataType,
    a: *mut c_void,
    lda: i64,
    low: *mut c_void,
    high: *mut c_void,
    first: i64,
    last: i64,
    count: *mut i64,
    data_w: cudaDataType,
    w: *mut c_void,
    compute: cudaDataType,
    buffer: *mut c_void,
    given: usize,
    _: *mut c_void,
    _: usize,
    info: *mut c_int,
) -> Outcome {
    check(params, data, &[compute])?;
    check_real(data, data_w)?;
    let needed = eigen::needed(order(n)?);
    with_type!(data, T => {
        let range = Range::of(range, order(n)?, (real_at::<T>(low), real_at::<T>(high)), (first, last))?;
        let call = call_with::<T>(handle, buffer, given, needed, n == 0)?;
        let (a, count) = ((a.cast::<T>(), lda), Some(Count::Wide(count)));
        generalized::enqueue(call, None, (jobz, uplo, n), range, a, w.cast(), count, info)
    })
}

/// `cusolverDnXsyevBatched_bufferSize`.
pub(crate) fn syev_batched_size(
    handle: &Handle,
    params: cusolverDnParams_t,
    jobz: cusolverEigMode_t,
    uplo: cublasFillMode_t,
    n: i64,
    data: cudaDataType,
    a: *const c_void,
    lda: i64,
    data_w: cudaDataType,
    w: *const c_void,
    compute: cudaDataType,
    device: *mut usize,
    host: *mut usize,
    count: i64,
) -> Outcome {
    arguments::size(count)?;
    syevd_size(handle, params, jobz, uplo, n, data, a, lda, data_w, w, compute, device, host)
}

/// `cusolverDnXsyevBatched`: matrices one after the other.
pub(crate) fn syev_batched(
    handle: &Handle,
    params: cusolverDnParams_t,
    jobz: cusolverEigMode_t,
    uplo: cublasFillMode_t,
    n: i64,
    data: cudaDataType,
    a: *mut c_void,
    lda: i64,
    data_w: cudaDataType,
    w: *mut c_void,
    compute: cudaDataType,
    buffer: *mut c_void,
    given: usize,
    _: *mut c_void,
    _: usize,
    info: *mut c_int,
    count: i64,
) -> Outcome {
    check(params, data, &[compute])?;
    check_real(data, data_w)?;
    let (needed, count) = (eigen::needed(order(n)?), order(count)?);
    with_type!(data, T => {
        let call = call_with::<T>(handle, buffer, given, needed, n == 0 || count == 0)?;
        eigen::syevd_of::<T>(call, jobz, uplo, n, a.cast(), lda, w.cast(), info, count, None)
    })
}

/// `cusolverDnXsytrs_bufferSize`.
pub(crate) fn sytrs_size(
    _: &Handle,
    uplo: cublasFillMode_t,
    n: i64,
    columns: i64,
    data: cudaDataType,
    _: *const c_void,
    lda: i64,
    _: *const i64,
    data_b: cudaDataType,
    _: *mut c_void,
    ldb: i64,
    device: *mut usize,
    host: *mut usize,
) -> Outcome {
    check(0, data, &[data_b])?;
    arguments::fill(uplo)?;
    arguments::size(columns)?;
    let n = order(n)?;
    arguments::leading(lda, n)?;
    arguments::leading(ldb, n)?;
    with_type!(data, T => sizes(device, host, bytes::<T>(arguments::block_elements(n))))
}

/// `cusolverDnXsytrs`.
pub(crate) fn sytrs(
    handle: &Handle,
    uplo: cublasFillMode_t,
    n: i64,
    columns: i64,
    data: cudaDataType,
    a: *const c_void,
    lda: i64,
    pivots: *const i64,
    data_b: cudaDataType,
    b: *mut c_void,
    ldb: i64,
    buffer: *mut c_void,
    given: usize,
    _: *mut c_void,
    _: usize,
    info: *mut c_int,
) -> Outcome {
    check(0, data, &[data_b])?;
    let needed = arguments::block_elements(order(n)?);
    with_type!(data, T => {
        let call = call_with::<T>(handle, buffer, given, needed, n == 0)?;
        let (a, b) = ((a.cast::<T>(), lda), (b.cast(), ldb));
        indefinite::sytrs_of::<T, i64>(call, uplo, (n, columns), a, (c"ipiv", pivots), b, info)
    })
}
