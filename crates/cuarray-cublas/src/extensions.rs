//! Functions beyond BLAS: sums of matrices, products with diagonal ones, and conversions of triangles.

use crate::arguments::{Call, Given, Op, choice, fill, leading, order, size};
use crate::columns::Columns;
use crate::handle::Handle;
use crate::layout::Stored;
use crate::level1::vector;
use crate::scalar::Scalar;
use crate::status::{INVALID_VALUE, Outcome};
use crate::types::{cublasFillMode_t, cublasOperation_t, cublasSideMode_t};

/// `cublas<t>geam`: `c = alpha * op(a) + beta * op(b)`.
pub(crate) fn geam<T: Scalar>(
    handle: &Handle,
    transa: cublasOperation_t,
    transb: cublasOperation_t,
    m: i64,
    n: i64,
    alpha: *const T,
    a: *const T,
    lda: i64,
    beta: *const T,
    b: *const T,
    ldb: i64,
    c: *mut T,
    ldc: i64,
) -> Outcome {
    let mut call = Call::of(handle);
    let (op_a, op_b, m, n) = (Op::of(transa)?, Op::of(transb)?, size(m)?, size(n)?);
    let (alpha, beta) = (call.scalar(c"alpha", alpha)?, call.scalar(c"beta", beta)?);
    let (shape_a, shape_b) = (op_a.stored(m, n), op_b.stored(m, n));
    // In place, an argument has the layout of the result.
    let in_place = |of: *const T, op: Op, ld: i64| of == c.cast_const() && !of.is_null() && (op.swaps() || ld != ldc);
    if in_place(a, op_a, lda) || in_place(b, op_b, ldb) {
        return Err(INVALID_VALUE);
    }
    let stored_a = Stored::of(a, shape_a, leading(lda, shape_a.0)?);
    let stored_b = Stored::of(b, shape_b, leading(ldb, shape_b.0)?);
    let c = Stored::of(c.cast_const(), (m, n), leading(ldc, m)?);
    if m == 0 || n == 0 {
        return Ok(());
    }
    let zero = T::zero();
    let a = if alpha.is(zero) { None } else { Some(call.multiplied(c"A", stored_a.region(), alpha)?) };
    let b = if beta.is(zero) { None } else { Some(call.multiplied(c"B", stored_b.region(), beta)?) };
    let c = call.scaled(c"C", c.region(), Given::Host(zero))?;
    call.computes(move |data| {
        let (alpha, beta) = (alpha.value(data), beta.value(data));
        let a: &[T] = a.map_or(&[], |a| data.take::<T>(a));
        let b: &[T] = b.map_or(&[], |b| data.take::<T>(b));
        let c = data.take::<T>(c);
        let part = |factor: T, values: &[T], op: Op, rows: usize, row: usize, column: usize| {
            let place = if op.swaps() { row * rows + column } else { column * rows + row };
            if factor.is_zero() { zero } else { factor * op.element(values[place]) }
        };
        for column in 0..n {
            for row in 0..m {
                c[column * m + row] =
                    part(alpha, a, op_a, shape_a.0, row, column) + part(beta, b, op_b, shape_b.0, row, column);
            }
        }
    })
}

/// `cublas<t>dgmm`: the product with a diagonal matrix.
pub(crate) fn dgmm<T: Scalar>(
    handle: &Handle,
    side: cublasSideMode_t,
    m: i64,
    n: i64,
    a: *const T,
    lda: i64,
    x: *const T,
    incx: i64,
    c: *mut T,
    ldc: i64,
) -> Outcome {
    let mut call = Call::of(handle);
    let (right, m, n) = (choice(side)?, size(m)?, size(n)?);
    let a = Stored::of(a, (m, n), leading(lda, m)?);
    let c = Stored::of(c.cast_const(), (m, n), leading(ldc, m)?);
    let x = vector(x, if right { n } else { m }, incx)?;
    if m == 0 || n == 0 {
        return Ok(());
    }
    let a = call.reads(c"A", a.region())?;
    let of_x = x.order();
    let x = call.reads(c"x", x.region())?;
    let c = call.scaled(c"C", c.region(), Given::Host(T::zero()))?;
    call.computes(move |data| {
        let (a, x, c) = (data.take::<T>(a), of_x.read(data.take::<T>(x)), data.take::<T>(c));
        for (index, (to, from)) in c.iter_mut().zip(a).enumerate() {
            *to = *from * x[if right { index / m } else { index % m }];
        }
    })
}

/// Enqueues a copy between two layouts of a triangle.
fn convert<T: Scalar>(
    mut call: Call<'_>,
    (from_name, from, of_from): (&'static std::ffi::CStr, *const T, Columns),
    (to_name, to, of_to): (&'static std::ffi::CStr, *mut T, Columns),
) -> Outcome {
    let from = call.reads(from_name, of_from.region(from))?;
    let to = call.scaled(to_name, of_to.region(to.cast_const()), Given::Host(T::zero()))?;
    // The closure sees both layouts without gaps.
    call.computes(move |data| data.take::<T>(to).copy_from_slice(data.take::<T>(from)))
}

/// `cublas<t>tpttr`.
pub(crate) fn tpttr<T: Scalar>(
    handle: &Handle,
    uplo: cublasFillMode_t,
    n: i64,
    ap: *const T,
    a: *mut T,
    lda: i64,
) -> Outcome {
    let (fill, n) = (fill(uplo)?, order(size(n)?)?);
    let triangle = Columns::triangle(n, fill, leading(lda, n)?);
    convert(Call::of(handle), (c"AP", ap, Columns::packed(n, fill)), (c"A", a, triangle))
}

/// `cublas<t>trttp`.
pub(crate) fn trttp<T: Scalar>(
    handle: &Handle,
    uplo: cublasFillMode_t,
    n: i64,
    a: *const T,
    lda: i64,
    ap: *mut T,
) -> Outcome {
    let (fill, n) = (fill(uplo)?, order(size(n)?)?);
    let triangle = Columns::triangle(n, fill, leading(lda, n)?);
    convert(Call::of(handle), (c"A", a, triangle), (c"AP", ap, Columns::packed(n, fill)))
}
