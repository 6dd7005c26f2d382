//! Level 2: operations on a matrix and vectors, in every layout.

use crate::arguments::{Call, Given, Op, band, choice, fill, leading, order, size};
use crate::columns::Columns;
use crate::handle::Handle;
use crate::layout::Fill;
use crate::level1::vector;
use crate::scalar::Scalar;
use crate::status::Outcome;
use crate::types::{cublasDiagType_t, cublasFillMode_t, cublasOperation_t};

/// The elements that a product adds to those that are stored.
#[derive(Clone, Copy)]
enum Kind {
    General(Op),
    Symmetric,
    Hermitian,
}

/// Enqueues `y = alpha * a * x + beta * y`, for a result of `rows` and an input of `columns` elements.
fn multiply<T: Scalar>(
    mut call: Call<'_>,
    kind: Kind,
    a: (*const T, Columns),
    alpha: *const T,
    (x, columns, incx): (*const T, usize, i64),
    beta: *const T,
    (y, rows, incy): (*mut T, usize, i64),
) -> Outcome {
    let (alpha, beta) = (call.scalar(c"alpha", alpha)?, call.scalar(c"beta", beta)?);
    let (x, y) = (vector(x, columns, incx)?, vector(y.cast_const(), rows, incy)?);
    // An operation of a matrix without rows or columns is done.
    if rows == 0 || columns == 0 || (alpha.is(T::zero()) && beta.is(T::one())) {
        return Ok(());
    }
    let inputs = match alpha.is(T::zero()) {
        true => None,
        false => Some((call.multiplied(c"A", a.1.region(a.0), alpha)?, call.multiplied(c"x", x.region(), alpha)?)),
    };
    let (of_x, of_y, a) = (x.order(), y.order(), a.1);
    let y = call.scaled(c"y", y.region(), beta)?;
    call.computes(move |data| {
        let (alpha, beta) = (alpha.value(data), beta.value(data));
        let mut sums = vec![T::zero(); rows];
        if let Some((matrix, x)) = inputs.filter(|_| !alpha.is_zero()) {
            let (matrix, x) = (data.take::<T>(matrix), of_x.read(data.take::<T>(x)));
            a.each(matrix, |row, column, value| match kind {
                Kind::General(Op::None) => sums[row] += value * x[column],
                Kind::General(op) => sums[column] += op.element(value) * x[row],
                Kind::Hermitian if row == column => sums[row] += T::real(value.re()) * x[row],
                _ if row == column => sums[row] += value * x[row],
                kind => {
                    let other = if matches!(kind, Kind::Hermitian) { value.conj() } else { value };
                    sums[row] += value * x[column];
                    sums[column] += other * x[row];
                }
            });
        }
        let y = data.take::<T>(y);
        for (index, sum) in sums.into_iter().enumerate() {
            let y = &mut y[of_y.place(index)];
            *y = if beta.is_zero() { alpha * sum } else { alpha * sum + beta * *y };
        }
    })
}

/// `cublas<t>gemv`.
pub(crate) fn gemv<T: Scalar>(
    handle: &Handle,
    trans: cublasOperation_t,
    m: i64,
    n: i64,
    alpha: *const T,
    a: *const T,
    lda: i64,
    x: *const T,
    incx: i64,
    beta: *const T,
    y: *mut T,
    incy: i64,
) -> Outcome {
    let (op, m, n) = (Op::of(trans)?, size(m)?, size(n)?);
    let columns = Columns::general(m, n, leading(lda, m)?);
    let (rows, inputs) = op.stored(m, n);
    multiply(Call::of(handle), Kind::General(op), (a, columns), alpha, (x, inputs, incx), beta, (y, rows, incy))
}

/// `cublas<t>gbmv`.
pub(crate) fn gbmv<T: Scalar>(
    handle: &Handle,
    trans: cublasOperation_t,
    m: i64,
    n: i64,
    kl: i64,
    ku: i64,
    alpha: *const T,
    a: *const T,
    lda: i64,
    x: *const T,
    incx: i64,
    beta: *const T,
    y: *mut T,
    incy: i64,
) -> Outcome {
    let (op, m, n, below, above) = (Op::of(trans)?, size(m)?, size(n)?, size(kl)?, size(ku)?);
    let leading = leading(lda, below.saturating_add(above).saturating_add(1))?;
    let columns = Columns::band((m, band(n)?), (below, above), leading);
    let (rows, inputs) = op.stored(m, n);
    multiply(Call::of(handle), Kind::General(op), (a, columns), alpha, (x, inputs, incx), beta, (y, rows, incy))
}

macro_rules! symmetric_products {
    ($($symmetric:ident $hermitian:ident ($($names:ident)*) |$n:ident, $fill:ident| $columns:expr;)*) => {$(
        symmetric_products!(@one $symmetric Symmetric ($($names)*) |$n, $fill| $columns);
        symmetric_products!(@one $hermitian Hermitian ($($names)*) |$n, $fill| $columns);
    )*};
    (@one $name:ident $kind:ident ($k:ident $lda:ident) |$n:ident, $fill:ident| $columns:expr) => {
        #[doc = concat!("`cublas<t>", stringify!($name), "`.")]
        pub(crate) fn $name<T: Scalar>(
            handle: &Handle, uplo: cublasFillMode_t, n: i64, $k: i64, alpha: *const T, a: *const T, $lda: i64, x: *const T,
            incx: i64, beta: *const T, y: *mut T, incy: i64,
        ) -> Outcome {
            let ($fill, $n) = (fill(uplo)?, size(n)?);
            multiply(Call::of(handle), Kind::$kind, (a, $columns), alpha, (x, $n, incx), beta, (y, $n, incy))
        }
    };
    (@one $name:ident $kind:ident ($lda:ident) |$n:ident, $fill:ident| $columns:expr) => {
        #[doc = concat!("`cublas<t>", stringify!($name), "`.")]
        pub(crate) fn $name<T: Scalar>(
            handle: &Handle, uplo: cublasFillMode_t, n: i64, alpha: *const T, a: *const T, $lda: i64, x: *const T,
            incx: i64, beta: *const T, y: *mut T, incy: i64,
        ) -> Outcome {
            let ($fill, $n) = (fill(uplo)?, size(n)?);
            multiply(Call::of(handle), Kind::$kind, (a, $columns), alpha, (x, $n, incx), beta, (y, $n, incy))
        }
    };
    (@one $name:ident $kind:ident () |$n:ident, $fill:ident| $columns:expr) => {
        #[doc = concat!("`cublas<t>", stringify!($name), "`.")]
        pub(crate) fn $name<T: Scalar>(
            handle: &Handle, uplo: cublasFillMode_t, n: i64, alpha: *const T, a: *const T, x: *const T, incx: i64,
            beta: *const T, y: *mut T, incy: i64,
        ) -> Outcome {
            let ($fill, $n) = (fill(uplo)?, size(n)?);
            multiply(Call::of(handle), Kind::$kind, (a, $columns), alpha, (x, $n, incx), beta, (y, $n, incy))
        }
    };
}

symmetric_products! {
    symv hemv (lda) |n, fill| Columns::triangle(order(n)?, fill, leading(lda, n)?);
    spmv hpmv () |n, fill| Columns::packed(order(n)?, fill);
    sbmv hbmv (k lda) |n, fill| {
        let k = size(k)?;
        Columns::triangular_band(band(n)?, fill, k, leading(lda, k.saturating_add(1))?)
    };
}

/// Enqueues the product with a triangular matrix, or the solution of its equations, in place.
fn triangular<T: Scalar>(
    mut call: Call<'_>,
    solves: bool,
    a: (*const T, Columns),
    shape: (Fill, Op, bool),
    (x, n, incx): (*mut T, usize, i64),
) -> Outcome {
    let x = vector(x.cast_const(), n, incx)?;
    if n == 0 {
        return Ok(());
    }
    let (_, op, unit) = shape;
    let columns = if unit { a.1.without_diagonal() } else { a.1 };
    let matrix = call.reads(c"A", columns.region(a.0))?;
    let of_x = x.order();
    let x = call.updates(c"x", x.region())?;
    call.computes(move |data| {
        let (matrix, memory) = (data.take::<T>(matrix), data.take::<T>(x));
        let mut x = of_x.read(memory);
        if solves {
            columns.solve(matrix, shape, &mut x);
        } else {
            let mut sums = if unit { x.clone() } else { vec![T::zero(); n] };
            columns.each(matrix, |row, column, value| match op {
                Op::None => sums[row] += value * x[column],
                op => sums[column] += op.element(value) * x[row],
            });
            x = sums;
        }
        of_x.write(memory, &x);
    })
}

macro_rules! triangular_operations {
    ($($multiplies:ident $solves:ident ($($names:ident)*) |$n:ident, $fill:ident| $columns:expr;)*) => {$(
        triangular_operations!(@one $multiplies false ($($names)*) |$n, $fill| $columns);
        triangular_operations!(@one $solves true ($($names)*) |$n, $fill| $columns);
    )*};
    (@one $name:ident $solves:literal ($k:ident $lda:ident) |$n:ident, $fill:ident| $columns:expr) => {
        #[doc = concat!("`cublas<t>", stringify!($name), "`.")]
        pub(crate) fn $name<T: Scalar>(
            handle: &Handle, uplo: cublasFillMode_t, trans: cublasOperation_t, diag: cublasDiagType_t, n: i64, $k: i64,
            a: *const T, $lda: i64, x: *mut T, incx: i64,
        ) -> Outcome {
            let ($fill, op, unit, $n) = (fill(uplo)?, Op::of(trans)?, choice(diag)?, size(n)?);
            triangular(Call::of(handle), $solves, (a, $columns), ($fill, op, unit), (x, $n, incx))
        }
    };
    (@one $name:ident $solves:literal ($lda:ident) |$n:ident, $fill:ident| $columns:expr) => {
        #[doc = concat!("`cublas<t>", stringify!($name), "`.")]
        pub(crate) fn $name<T: Scalar>(
            handle: &Handle, uplo: cublasFillMode_t, trans: cublasOperation_t, diag: cublasDiagType_t, n: i64, a: *const T,
            $lda: i64, x: *mut T, incx: i64,
        ) -> Outcome {
            let ($fill, op, unit, $n) = (fill(uplo)?, Op::of(trans)?, choice(diag)?, size(n)?);
            triangular(Call::of(handle), $solves, (a, $columns), ($fill, op, unit), (x, $n, incx))
        }
    };
    (@one $name:ident $solves:literal () |$n:ident, $fill:ident| $columns:expr) => {
        #[doc = concat!("`cublas<t>", stringify!($name), "`.")]
        pub(crate) fn $name<T: Scalar>(
            handle: &Handle, uplo: cublasFillMode_t, trans: cublasOperation_t, diag: cublasDiagType_t, n: i64, a: *const T,
            x: *mut T, incx: i64,
        ) -> Outcome {
            let ($fill, op, unit, $n) = (fill(uplo)?, Op::of(trans)?, choice(diag)?, size(n)?);
            triangular(Call::of(handle), $solves, (a, $columns), ($fill, op, unit), (x, $n, incx))
        }
    };
}

triangular_operations! {
    trmv trsv (lda) |n, fill| Columns::triangle(order(n)?, fill, leading(lda, n)?);
    tpmv tpsv () |n, fill| Columns::packed(order(n)?, fill);
    tbmv tbsv (k lda) |n, fill| {
        let k = size(k)?;
        Columns::triangular_band(band(n)?, fill, k, leading(lda, k.saturating_add(1))?)
    };
}

/// Enqueues `a += alpha * x * y^T`, by elements: `f(alpha, x of the row, y of the column)`.
fn rank<T: Scalar, A: Scalar>(
    mut call: Call<'_>,
    a: (*mut T, Columns),
    alpha: Given<A>,
    x: (*const T, usize, i64),
    y: Option<(*const T, usize, i64)>,
    // The element to add, of alpha and the elements of both vectors at the row and at the column.
    f: fn(A, [T; 2], [T; 2]) -> T,
    is_hermitian: bool,
) -> Outcome {
    let first = vector(x.0, x.1, x.2)?;
    let second = y.map(|y| vector(y.0, y.1, y.2)).transpose()?;
    if alpha.is(A::zero()) || x.1 == 0 || y.is_some_and(|y| y.1 == 0) {
        return Ok(());
    }
    let x = call.multiplied(c"x", first.region(), alpha)?;
    let y = second
        .map(|second| Outcome::Ok((call.multiplied(c"y", second.region(), alpha)?, second.order())))
        .transpose()?;
    let (of_x, columns) = (first.order(), a.1);
    let a = call.added_to(c"A", columns.region(a.0.cast_const()), alpha)?;
    call.computes(move |data| {
        let alpha = alpha.value(data);
        if alpha.is_zero() {
            return;
        }
        let x = of_x.read(data.take::<T>(x));
        let y = y.map_or_else(|| x.clone(), |(y, of_y)| of_y.read(data.take::<T>(y)));
        let pair = |index: usize| [x.get(index), y.get(index)].map(|value| value.copied().unwrap_or_default());
        columns.update(data.take::<T>(a), |row, column, value| {
            *value += f(alpha, pair(row), pair(column));
            if is_hermitian && row == column {
                *value = T::real(value.re());
            }
        });
    })
}

/// `cublas<t>ger`, `cublas<t>geru`.
pub(crate) fn geru<T: Scalar>(
    handle: &Handle,
    m: i64,
    n: i64,
    alpha: *const T,
    x: *const T,
    incx: i64,
    y: *const T,
    incy: i64,
    a: *mut T,
    lda: i64,
) -> Outcome {
    let mut call = Call::of(handle);
    let (m, n, alpha) = (size(m)?, size(n)?, call.scalar(c"alpha", alpha)?);
    let columns = Columns::general(m, n, leading(lda, m)?);
    rank(
        call,
        (a, columns),
        alpha,
        (x, m, incx),
        Some((y, n, incy)),
        |alpha, row, column| alpha * row[0] * column[1],
        false,
    )
}

/// `cublas<t>gerc`.
pub(crate) fn gerc<T: Scalar>(
    handle: &Handle,
    m: i64,
    n: i64,
    alpha: *const T,
    x: *const T,
    incx: i64,
    y: *const T,
    incy: i64,
    a: *mut T,
    lda: i64,
) -> Outcome {
    let mut call = Call::of(handle);
    let (m, n, alpha) = (size(m)?, size(n)?, call.scalar(c"alpha", alpha)?);
    let columns = Columns::general(m, n, leading(lda, m)?);
    let f = |alpha: T, row: [T; 2], column: [T; 2]| alpha * row[0] * column[1].conj();
    rank(call, (a, columns), alpha, (x, m, incx), Some((y, n, incy)), f, false)
}

macro_rules! updates {
    ($($name:ident $packed:ident $alpha:ty, $f:expr, $is_hermitian:literal;)*) => {$(
        #[doc = concat!("`cublas<t>", stringify!($name), "`.")]
        pub(crate) fn $name<T: Scalar>(
            handle: &Handle, uplo: cublasFillMode_t, n: i64, alpha: *const $alpha, x: *const T, incx: i64, a: *mut T, lda: i64,
        ) -> Outcome {
            let mut call = Call::of(handle);
            let (fill, n, alpha) = (fill(uplo)?, size(n)?, call.scalar(c"alpha", alpha)?);
            let columns = Columns::triangle(order(n)?, fill, leading(lda, n)?);
            rank(call, (a, columns), alpha, (x, n, incx), None, $f, $is_hermitian)
        }

        #[doc = concat!("`cublas<t>", stringify!($packed), "`.")]
        pub(crate) fn $packed<T: Scalar>(
            handle: &Handle, uplo: cublasFillMode_t, n: i64, alpha: *const $alpha, x: *const T, incx: i64, a: *mut T,
        ) -> Outcome {
            let mut call = Call::of(handle);
            let (fill, n, alpha) = (fill(uplo)?, size(n)?, call.scalar(c"alpha", alpha)?);
            rank(call, (a, Columns::packed(order(n)?, fill)), alpha, (x, n, incx), None, $f, $is_hermitian)
        }
    )*};
}

updates! {
    syr spr T, |alpha, row, column| alpha * row[0] * column[0], false;
    her hpr T::Real, |alpha, row, column| T::real(alpha) * row[0] * column[0].conj(), true;
}

macro_rules! double_updates {
    ($($name:ident $packed:ident $f:expr, $is_hermitian:literal;)*) => {$(
        #[doc = concat!("`cublas<t>", stringify!($name), "`.")]
        pub(crate) fn $name<T: Scalar>(
            handle: &Handle, uplo: cublasFillMode_t, n: i64, alpha: *const T, x: *const T, incx: i64, y: *const T, incy: i64,
            a: *mut T, lda: i64,
        ) -> Outcome {
            let mut call = Call::of(handle);
            let (fill, n, alpha) = (fill(uplo)?, size(n)?, call.scalar(c"alpha", alpha)?);
            let columns = Columns::triangle(order(n)?, fill, leading(lda, n)?);
            rank(call, (a, columns), alpha, (x, n, incx), Some((y, n, incy)), $f, $is_hermitian)
        }

        #[doc = concat!("`cublas<t>", stringify!($packed), "`.")]
        pub(crate) fn $packed<T: Scalar>(
            handle: &Handle, uplo: cublasFillMode_t, n: i64, alpha: *const T, x: *const T, incx: i64, y: *const T, incy: i64,
            a: *mut T,
        ) -> Outcome {
            let mut call = Call::of(handle);
            let (fill, n, alpha) = (fill(uplo)?, size(n)?, call.scalar(c"alpha", alpha)?);
            rank(call, (a, Columns::packed(order(n)?, fill)), alpha, (x, n, incx), Some((y, n, incy)), $f, $is_hermitian)
        }
    )*};
}

double_updates! {
    syr2 spr2 |alpha, row, column| alpha * (row[0] * column[1] + row[1] * column[0]), false;
    her2 hpr2 |alpha, row, column| alpha * row[0] * column[1].conj() + alpha.conj() * row[1] * column[0].conj(), true;
}
