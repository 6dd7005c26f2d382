//! Level 3: products with symmetric, Hermitian and triangular matrices, and triangular equations.

use crate::arguments::{Call, Given, Op, choice, fill, leading, order, size};
use crate::handle::Handle;
use crate::layout::{Fill, Stored};
use crate::product::{View, multiply};
use crate::scalar::Scalar;
use crate::status::Outcome;
use crate::triangular::{Rest, complete, solve};
use crate::types::{cublasDiagType_t, cublasFillMode_t, cublasOperation_t, cublasSideMode_t};

/// `cublas<t>symm`.
pub(crate) fn symm<T: Scalar>(
    handle: &Handle,
    side: cublasSideMode_t,
    uplo: cublasFillMode_t,
    m: i64,
    n: i64,
    alpha: *const T,
    a: *const T,
    lda: i64,
    b: *const T,
    ldb: i64,
    beta: *const T,
    c: *mut T,
    ldc: i64,
) -> Outcome {
    by_symmetric(handle, Rest::Symmetric, (side, uplo), [m, n], alpha, (a, Some(lda)), (b, ldb), beta, (c, ldc))
}

/// `cublas<t>hemm`.
pub(crate) fn hemm<T: Scalar>(
    handle: &Handle,
    side: cublasSideMode_t,
    uplo: cublasFillMode_t,
    m: i64,
    n: i64,
    alpha: *const T,
    a: *const T,
    lda: i64,
    b: *const T,
    ldb: i64,
    beta: *const T,
    c: *mut T,
    ldc: i64,
) -> Outcome {
    by_symmetric(handle, Rest::Hermitian, (side, uplo), [m, n], alpha, (a, Some(lda)), (b, ldb), beta, (c, ldc))
}

/// `cublasXt<t>spmm`: the symmetric matrix is packed.
pub(crate) fn spmm<T: Scalar>(
    handle: &Handle,
    side: cublasSideMode_t,
    uplo: cublasFillMode_t,
    m: i64,
    n: i64,
    alpha: *const T,
    ap: *const T,
    b: *const T,
    ldb: i64,
    beta: *const T,
    c: *mut T,
    ldc: i64,
) -> Outcome {
    by_symmetric(handle, Rest::Symmetric, (side, uplo), [m, n], alpha, (ap, None), (b, ldb), beta, (c, ldc))
}

/// Enqueues a product with a matrix whose triangle is stored: in a square with a leading dimension, or packed.
fn by_symmetric<T: Scalar>(
    handle: &Handle,
    rest: Rest,
    (side, uplo): (cublasSideMode_t, cublasFillMode_t),
    [m, n]: [i64; 2],
    alpha: *const T,
    (a, lda): (*const T, Option<i64>),
    (b, ldb): (*const T, i64),
    beta: *const T,
    (c, ldc): (*mut T, i64),
) -> Outcome {
    let mut call = Call::of(handle);
    let (right, fill) = (choice(side)?, fill(uplo)?);
    let (m, n) = (size(m)?, size(n)?);
    let order = order(if right { n } else { m })?;
    let (name, a) = match lda {
        Some(lda) => (c"A", Stored::of(a, (order, order), leading(lda, order)?).triangle(fill, true)),
        None => (c"AP", Stored::of(a, (order, order), order).packed(fill)),
    };
    let b = Stored::of(b, (m, n), leading(ldb, m)?);
    let c = Stored::of(c.cast_const(), (m, n), leading(ldc, m)?);
    let (alpha, beta) = (call.scalar(c"alpha", alpha)?, call.scalar(c"beta", beta)?);
    if m == 0 || n == 0 || (alpha.is(T::default()) && beta.is(T::one())) {
        return Ok(());
    }
    let inputs = match alpha.is(T::default()) {
        true => None,
        false => {
            let a = call.multiplied(name, a, alpha)?;
            Some((a, call.multiplied(c"B", b.region(), alpha)?))
        }
    };
    let c = call.scaled(c"C", c.region(), beta)?;
    call.computes(move |data| {
        let (alpha, beta) = (alpha.value(data), beta.value(data));
        let c = data.take::<T>(c);
        let Some((a, b)) = inputs else {
            let none = View { data: &[], steps: (0, 0) };
            return multiply([m, n, 0], alpha, none, none, beta, c, (1, m));
        };
        let (a, b) = (data.take::<T>(a), data.take::<T>(b));
        complete(a, order, fill, rest);
        let (a, b) = (View::columns(a, order), View::columns(b, m));
        let (left, right) = if right { (b, a) } else { (a, b) };
        multiply([m, n, order], alpha, left, right, beta, c, (1, m));
    })
}

/// `cublas<t>trmm`.
pub(crate) fn trmm<T: Scalar>(
    handle: &Handle,
    side: cublasSideMode_t,
    uplo: cublasFillMode_t,
    trans: cublasOperation_t,
    diag: cublasDiagType_t,
    m: i64,
    n: i64,
    alpha: *const T,
    a: *const T,
    lda: i64,
    b: *const T,
    ldb: i64,
    c: *mut T,
    ldc: i64,
) -> Outcome {
    let mut call = Call::of(handle);
    let (right, fill, op, unit) = (choice(side)?, fill(uplo)?, Op::of(trans)?, choice(diag)?);
    let (m, n) = (size(m)?, size(n)?);
    let order = order(if right { n } else { m })?;
    let a = Stored::of(a, (order, order), leading(lda, order)?);
    let b = Stored::of(b, (m, n), leading(ldb, m)?);
    let c = Stored::of(c.cast_const(), (m, n), leading(ldc, m)?);
    let alpha = call.scalar(c"alpha", alpha)?;
    if m == 0 || n == 0 {
        return Ok(());
    }
    let inputs = match alpha.is(T::default()) {
        true => None,
        false => {
            let a = call.multiplied(c"A", a.triangle(fill, !unit), alpha)?;
            Some((a, call.multiplied(c"B", b.region(), alpha)?))
        }
    };
    let c = call.scaled(c"C", c.region(), Given::Host(T::default()))?;
    call.computes(move |data| {
        let alpha = alpha.value(data);
        let c = data.take::<T>(c);
        let Some((a, b)) = inputs else { return c.fill(T::default()) };
        let (a, b) = (data.take::<T>(a), data.take::<T>(b));
        complete(a, order, fill, Rest::Triangular { unit });
        if op == Op::Adjoint {
            a.iter_mut().for_each(|number| *number = number.conj());
        }
        let a = View::columns(a, order);
        let (a, b) = (if op.swaps() { a.transposed() } else { a }, View::columns(b, m));
        let (left, right) = if right { (b, a) } else { (a, b) };
        multiply([m, n, order], alpha, left, right, T::default(), c, (1, m));
    })
}

/// `cublas<t>trsm`.
pub(crate) fn trsm<T: Scalar>(
    handle: &Handle,
    side: cublasSideMode_t,
    uplo: cublasFillMode_t,
    trans: cublasOperation_t,
    diag: cublasDiagType_t,
    m: i64,
    n: i64,
    alpha: *const T,
    a: *const T,
    lda: i64,
    b: *mut T,
    ldb: i64,
) -> Outcome {
    let mut call = Call::of(handle);
    let (right, fill, op, unit) = (choice(side)?, fill(uplo)?, Op::of(trans)?, choice(diag)?);
    let (m, n) = (size(m)?, size(n)?);
    let order = order(if right { n } else { m })?;
    let a = Stored::of(a, (order, order), leading(lda, order)?);
    let b = Stored::of(b.cast_const(), (m, n), leading(ldb, m)?);
    let alpha = call.scalar(c"alpha", alpha)?;
    if m == 0 || n == 0 {
        return Ok(());
    }
    let is_zero = alpha.is(T::default());
    let a = if is_zero { None } else { Some(call.multiplied(c"A", a.triangle(fill, !unit), alpha)?) };
    let b = call.scaled(c"B", b.region(), alpha)?;
    call.computes(move |data| {
        let alpha = alpha.value(data);
        let b = data.take::<T>(b);
        let Some(a) = a else { return b.fill(T::default()) };
        solve_scaled(data.take::<T>(a), b, (m, n), alpha, (right, fill, op, unit));
    })
}

/// Solves `op(a) * x = alpha * b`, or `x * op(a) = alpha * b`, in place.
pub(crate) fn solve_scaled<T: Scalar>(
    a: &[T],
    b: &mut [T],
    (m, n): (usize, usize),
    alpha: T,
    (right, fill, op, unit): (bool, Fill, Op, bool),
) {
    if alpha.is_zero() {
        return b.fill(T::default());
    }
    b.iter_mut().for_each(|number| *number *= alpha);
    if !right {
        return solve(a, m, (fill, op, unit), b, n, (1, m));
    }
    // x * op(a) = b is op(a)^T * x^T = b^T.
    match op {
        Op::None => solve(a, n, (fill, Op::Transpose, unit), b, m, (m, 1)),
        Op::Transpose => solve(a, n, (fill, Op::None, unit), b, m, (m, 1)),
        Op::Adjoint => {
            let conjugated: Vec<T> = a.iter().map(|number| number.conj()).collect();
            solve(&conjugated, n, (fill, Op::None, unit), b, m, (m, 1));
        }
    }
}
