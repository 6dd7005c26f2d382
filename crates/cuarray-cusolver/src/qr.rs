//! QR factors, and products with Q.

use crate::arguments::{Call, Op, choice, elements, leading, order, tell};
use crate::handle::Handle;
use crate::matrix::{Stored, narrow, widen};
use crate::reflectors::{apply, factor, generate};
use crate::scalar::{Field, Scalar};
use crate::status::{INVALID_VALUE, Outcome};
use crate::types::{cublasOperation_t, cublasSideMode_t};
use cuarray_stream_work::write;
use std::ffi::{CStr, c_int};

/// The elements of the workspace for a matrix with this number of columns.
pub(crate) fn needed(columns: usize) -> c_int {
    elements(columns.saturating_mul(32))
}

/// `cusolverDn<t>geqrf_bufferSize`. The leading dimension has no effect, and CuPy passes one that does not fit.
pub(crate) fn geqrf_size<T: Scalar>(_: &Handle, m: i64, n: i64, _: *mut T, _: i64, lwork: *mut c_int) -> Outcome {
    order(m)?;
    write(lwork, needed(order(n)?))
}

/// `cusolverDn<t>geqrf`.
pub(crate) fn geqrf<T: Scalar>(
    handle: &Handle,
    m: i64,
    n: i64,
    a: *mut T,
    lda: i64,
    tau: *mut T,
    workspace: *mut T,
    lwork: i64,
    info: *mut c_int,
) -> Outcome {
    let mut call = Call::of(handle);
    let needed = needed(order(n)?);
    if m > 0 && n > 0 {
        call.workspace(c"Workspace", workspace, lwork, needed)?;
    }
    geqrf_of(call, m, n, a, lda, (c"TAU", tau), info)
}

/// A factorization after the workspace is described.
pub(crate) fn geqrf_of<T: Scalar>(
    mut call: Call<'_>,
    m: i64,
    n: i64,
    a: *mut T,
    lda: i64,
    (name, tau): (&'static CStr, *mut T),
    info: *mut c_int,
) -> Outcome {
    let (m, n) = (order(m)?, order(n)?);
    let a = Stored::of(a, (m, n), leading(lda, m)?);
    let a = call.updates(c"A", a.region())?;
    let tau = call.writes_vector(name, tau, m.min(n))?;
    let info = call.info(info)?;
    call.computes(move |data| {
        let (a, tau) = (data.take::<T>(a), data.take::<T>(tau));
        let mut matrix = widen(a);
        narrow(tau, &factor(&mut matrix, m, n));
        narrow(a, &matrix);
        tell(data, info, 0);
    })
}

/// `cusolverDn<t>orgqr_bufferSize` and `cusolverDn<t>ungqr_bufferSize`.
pub(crate) fn orgqr_size<T: Scalar>(
    _: &Handle,
    m: i64,
    n: i64,
    k: i64,
    _: *const T,
    lda: i64,
    _: *const T,
    lwork: *mut c_int,
) -> Outcome {
    let (m, n, k) = (order(m)?, order(n)?, order(k)?);
    if n > m || k > n {
        return Err(INVALID_VALUE);
    }
    leading(lda, m)?;
    write(lwork, needed(n))
}

/// `cusolverDn<t>orgqr` and `cusolverDn<t>ungqr`.
pub(crate) fn orgqr<T: Scalar>(
    handle: &Handle,
    m: i64,
    n: i64,
    k: i64,
    a: *mut T,
    lda: i64,
    tau: *const T,
    workspace: *mut T,
    lwork: i64,
    info: *mut c_int,
) -> Outcome {
    let mut call = Call::of(handle).with_info(c"info");
    let (m, n, k) = (order(m)?, order(n)?, order(k)?);
    if n > m || k > n {
        return Err(INVALID_VALUE);
    }
    let leading = leading(lda, m)?;
    if n > 0 {
        call.workspace(c"work", workspace, lwork, needed(n))?;
    }
    // The columns after the reflectors are written and not read. All are described as one argument that is written.
    let reflectors = call.reads(c"A", Stored::of(a, (m, k), leading).region())?;
    let tau = call.reads_vector(c"tau", tau, k)?;
    let a = call.writes(c"A", Stored::of(a, (m, n), leading).region())?;
    let info = call.info(info)?;
    call.computes(move |data| {
        let mut matrix = widen(data.take::<T>(reflectors));
        matrix.resize(m * n, T::Wide::default());
        generate(&mut matrix, m, n, &widen(data.take::<T>(tau)));
        narrow(data.take::<T>(a), &matrix);
        tell(data, info, 0);
    })
}

/// A product with Q: whether Q is on the right, and whether it is its adjoint; m, n and k; the leading dimensions.
type Product = ((bool, bool), [usize; 3], [usize; 2]);

/// The arguments of a product with Q as values.
fn product<T: Scalar>(
    side: cublasSideMode_t,
    trans: cublasOperation_t,
    sizes: [i64; 3],
    lda: i64,
    ldc: i64,
) -> Outcome<Product> {
    let (right, op) = (choice(side)?, Op::of(trans)?);
    // Only the adjoint of a complex Q is defined.
    if op == Op::Transpose && T::Wide::IS_COMPLEX {
        return Err(INVALID_VALUE);
    }
    let [m, n, k] = sizes.map(order);
    let (m, n, k) = (m?, n?, k?);
    let length = if right { n } else { m };
    if k > length {
        return Err(INVALID_VALUE);
    }
    Ok(((right, op != Op::None), [m, n, k], [leading(lda, length)?, leading(ldc, m)?]))
}

/// `cusolverDn<t>ormqr_bufferSize` and `cusolverDn<t>unmqr_bufferSize`.
pub(crate) fn ormqr_size<T: Scalar>(
    _: &Handle,
    side: cublasSideMode_t,
    trans: cublasOperation_t,
    m: i64,
    n: i64,
    k: i64,
    _: *const T,
    lda: i64,
    _: *const T,
    _: *const T,
    ldc: i64,
    lwork: *mut c_int,
) -> Outcome {
    let (_, [m, n, _], _) = product::<T>(side, trans, [m, n, k], lda, ldc)?;
    write(lwork, needed(m.max(n)))
}

/// `cusolverDn<t>ormqr` and `cusolverDn<t>unmqr`.
pub(crate) fn ormqr<T: Scalar>(
    handle: &Handle,
    side: cublasSideMode_t,
    trans: cublasOperation_t,
    m: i64,
    n: i64,
    k: i64,
    a: *const T,
    lda: i64,
    tau: *const T,
    c: *mut T,
    ldc: i64,
    workspace: *mut T,
    lwork: i64,
    info: *mut c_int,
) -> Outcome {
    let mut call = Call::of(handle);
    let (how, [m, n, k], [lda, ldc]) = product::<T>(side, trans, [m, n, k], lda, ldc)?;
    if m > 0 && n > 0 {
        call.workspace(c"work", workspace, lwork, needed(m.max(n)))?;
    }
    let length = if how.0 { n } else { m };
    let a = call.reads(c"A", Stored::of(a, (length, k), lda).region())?;
    let tau = call.reads_vector(c"tau", tau, k)?;
    let c = call.updates(c"C", Stored::of(c, (m, n), ldc).region())?;
    let info = call.info(info)?;
    call.computes(move |data| {
        let (a, tau, c) = (data.take::<T>(a), data.take::<T>(tau), data.take::<T>(c));
        let mut product = widen(c);
        apply(&widen(a), &widen(tau), how, &mut product, m, n);
        narrow(c, &product);
        tell(data, info, 0);
    })
}
