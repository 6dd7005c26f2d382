//! Reduction of symmetric and Hermitian matrices to tridiagonal ones, and products with the unitary matrix of the reduction.
//!
//! Reflectors and their places are LAPACK's. An upper triangle is a lower one after rows and columns are counted from the end.

use crate::arguments::{Call, Op, block_elements, choice, fill, leading, order, tell, tell_block_elements};
use crate::handle::Handle;
use crate::matrix::{Fill, Stored, narrow, widen};
use crate::reflectors::{apply, generate, reflector};
use crate::scalar::{Field, Scalar};
use crate::status::{INVALID_VALUE, Outcome};
use crate::types::{cublasFillMode_t, cublasOperation_t, cublasSideMode_t};
use cuarray_stream_work::write;
use std::ffi::c_int;

/// Counts the elements from the end if the triangle is an upper one.
fn turn<V>(values: &mut [V], fill: Fill) {
    if fill == Fill::Upper {
        values.reverse();
    }
}

/// Reduces the lower triangle of a square. Returns the diagonal, the elements beside it, and the scalars of the reflectors.
fn reduce<F: Field>(a: &mut [F], n: usize) -> (Vec<f64>, Vec<f64>, Vec<F>) {
    let (mut diagonal, mut beside, mut tau) = (Vec::new(), Vec::new(), Vec::new());
    for column in 0..n {
        diagonal.push(a[column * n + column].re());
        a[column * n + column] = F::of_parts(a[column * n + column].re(), 0.0);
        if column + 1 == n {
            break;
        }
        let (known, rest) = a.split_at_mut((column + 1) * n);
        let vector = &mut known[column * n + column + 1..];
        let scalar = reflector(vector);
        beside.push(vector[0].re());
        tau.push(scalar);
        if scalar == F::default() {
            continue;
        }
        let mut v = vector.to_vec();
        v[0] = F::of_parts(1.0, 0.0);
        let size = v.len();
        // The element (row, column) of the rest that is stored in its lower triangle.
        let place = |row: usize, other: usize| other * n + column + 1 + row;
        let mut product = vec![F::default(); size];
        for other in 0..size {
            product[other] += F::of_parts(rest[place(other, other)].re(), 0.0) * v[other];
            for row in other + 1..size {
                let value = rest[place(row, other)];
                product[row] += value * v[other];
                product[other] += value.conjugate() * v[row];
            }
        }
        product.iter_mut().for_each(|value| *value *= scalar);
        let sum = crate::reflectors::product(&product, &v);
        let factor = -(F::of_parts(0.5, 0.0) * scalar * sum);
        product.iter_mut().zip(&v).for_each(|(value, v)| *value += factor * *v);
        for other in 0..size {
            for row in other..size {
                let lost = v[row] * product[other].conjugate() + product[row] * v[other].conjugate();
                rest[place(row, other)] -= lost;
            }
        }
    }
    (diagonal, beside, tau)
}

/// `cusolverDn<t>sytrd_bufferSize` and `cusolverDn<t>hetrd_bufferSize`.
pub(crate) fn sytrd_size<T: Scalar>(
    _: &Handle,
    uplo: cublasFillMode_t,
    n: i64,
    _: *const T,
    lda: i64,
    _: *const T::Real,
    _: *const T::Real,
    _: *const T,
    lwork: *mut c_int,
) -> Outcome {
    tell_block_elements(uplo, n, lda, lwork)
}

/// `cusolverDn<t>sytrd` and `cusolverDn<t>hetrd`.
pub(crate) fn sytrd<T: Scalar>(
    handle: &Handle,
    uplo: cublasFillMode_t,
    n: i64,
    a: *mut T,
    lda: i64,
    d: *mut T::Real,
    e: *mut T::Real,
    tau: *mut T,
    work: *mut T,
    lwork: i64,
    info: *mut c_int,
) -> Outcome {
    let mut call = Call::of(handle).with_info(c"info");
    let (fill, n) = (fill(uplo)?, order(n)?);
    let a = Stored::of(a, (n, n), leading(lda, n)?);
    if n > 0 {
        call.workspace(c"work", work, lwork, block_elements(n))?;
    }
    let a = call.updates(c"A", a.triangle(fill))?;
    let d = call.writes_vector(c"d", d, n)?;
    let between = n.saturating_sub(1);
    let (e, tau) = (call.writes_vector(c"e", e, between)?, call.writes_vector(c"tau", tau, between)?);
    let info = call.info(info)?;
    call.computes(move |data| {
        let a = data.take::<T>(a);
        let mut square = widen(a);
        turn(&mut square, fill);
        let (mut diagonal, mut beside, mut scalars) = reduce(&mut square, n);
        turn(&mut square, fill);
        turn(&mut diagonal, fill);
        turn(&mut beside, fill);
        turn(&mut scalars, fill);
        narrow(a, &square);
        narrow(data.take::<T::Real>(d), &diagonal);
        narrow(data.take::<T::Real>(e), &beside);
        narrow(data.take::<T>(tau), &scalars);
        tell(data, info, 0);
    })
}

/// The reflectors of the lower triangle of a square as columns without gaps, each with `n - 1` elements.
fn columns<F: Field>(square: &[F], n: usize) -> Vec<F> {
    (0..n.saturating_sub(1)).flat_map(|column| square[column * n + 1..(column + 1) * n].iter().copied()).collect()
}

/// `cusolverDn<t>orgtr_bufferSize` and `cusolverDn<t>ungtr_bufferSize`.
pub(crate) fn orgtr_size<T: Scalar>(
    _: &Handle,
    uplo: cublasFillMode_t,
    n: i64,
    _: *const T,
    lda: i64,
    _: *const T,
    lwork: *mut c_int,
) -> Outcome {
    tell_block_elements(uplo, n, lda, lwork)
}

/// `cusolverDn<t>orgtr` and `cusolverDn<t>ungtr`: the unitary matrix of a reduction.
pub(crate) fn orgtr<T: Scalar>(
    handle: &Handle,
    uplo: cublasFillMode_t,
    n: i64,
    a: *mut T,
    lda: i64,
    tau: *const T,
    work: *mut T,
    lwork: i64,
    info: *mut c_int,
) -> Outcome {
    let mut call = Call::of(handle).with_info(c"info");
    let (fill, n) = (fill(uplo)?, order(n)?);
    let a = Stored::of(a, (n, n), leading(lda, n)?);
    if n > 0 {
        call.workspace(c"work", work, lwork, block_elements(n))?;
    }
    let given = call.reads(c"A", a.triangle(fill))?;
    let tau = call.reads_vector(c"tau", tau, n.saturating_sub(1))?;
    let a = call.writes(c"A", a.region())?;
    let info = call.info(info)?;
    call.computes(move |data| {
        let (mut square, mut scalars) = (widen(data.take::<T>(given)), widen(data.take::<T>(tau)));
        turn(&mut square, fill);
        turn(&mut scalars, fill);
        let inner = n.saturating_sub(1);
        let mut q = columns(&square, n);
        generate(&mut q, inner, inner, &scalars);
        square.fill(T::Wide::default());
        if n > 0 {
            square[0] = T::Wide::of_parts(1.0, 0.0);
        }
        for column in 0..inner {
            square[(column + 1) * n + 1..(column + 2) * n].copy_from_slice(&q[column * inner..(column + 1) * inner]);
        }
        turn(&mut square, fill);
        narrow(data.take::<T>(a), &square);
        tell(data, info, 0);
    })
}

/// A product with Q: whether Q is on the right, and whether it is its adjoint; the triangle; m and n; the leading dimensions.
type Product = ((bool, bool), Fill, [usize; 2], [usize; 2]);

/// The arguments of a product as values.
fn product<T: Scalar>(
    side: cublasSideMode_t,
    uplo: cublasFillMode_t,
    trans: cublasOperation_t,
    sizes: [i64; 2],
    lda: i64,
    ldc: i64,
) -> Outcome<Product> {
    let (right, fill, op) = (choice(side)?, fill(uplo)?, Op::of(trans)?);
    // Only the adjoint of a complex Q is defined.
    if op == Op::Transpose && T::Wide::IS_COMPLEX {
        return Err(INVALID_VALUE);
    }
    let [m, n] = sizes.map(order);
    let (m, n) = (m?, n?);
    let leading = [leading(lda, if right { n } else { m })?, leading(ldc, m)?];
    Ok(((right, op != Op::None), fill, [m, n], leading))
}

/// `cusolverDn<t>ormtr_bufferSize` and `cusolverDn<t>unmtr_bufferSize`.
pub(crate) fn ormtr_size<T: Scalar>(
    _: &Handle,
    side: cublasSideMode_t,
    uplo: cublasFillMode_t,
    trans: cublasOperation_t,
    m: i64,
    n: i64,
    _: *const T,
    lda: i64,
    _: *const T,
    _: *const T,
    ldc: i64,
    lwork: *mut c_int,
) -> Outcome {
    let (.., [m, n], _) = product::<T>(side, uplo, trans, [m, n], lda, ldc)?;
    write(lwork, block_elements(m.max(n)))
}

/// `cusolverDn<t>ormtr` and `cusolverDn<t>unmtr`: a product with the unitary matrix of a reduction.
pub(crate) fn ormtr<T: Scalar>(
    handle: &Handle,
    side: cublasSideMode_t,
    uplo: cublasFillMode_t,
    trans: cublasOperation_t,
    m: i64,
    n: i64,
    a: *mut T,
    lda: i64,
    tau: *mut T,
    c: *mut T,
    ldc: i64,
    work: *mut T,
    lwork: i64,
    info: *mut c_int,
) -> Outcome {
    let mut call = Call::of(handle).with_info(c"info");
    let (how, fill, [m, n], [lda, ldc]) = product::<T>(side, uplo, trans, [m, n], lda, ldc)?;
    if m > 0 && n > 0 {
        call.workspace(c"work", work, lwork, block_elements(m.max(n)))?;
    }
    let right = how.0;
    let length = if right { n } else { m };
    let inner = length.saturating_sub(1);
    let a = call.reads(c"A", Stored::of(a, (length, length), lda).triangle(fill))?;
    let tau = call.reads_vector(c"tau", tau, inner)?;
    let c = call.updates(c"C", Stored::of(c, (m, n), ldc).region())?;
    let info = call.info(info)?;
    call.computes(move |data| {
        let (mut square, mut scalars) = (widen(data.take::<T>(a)), widen(data.take::<T>(tau)));
        turn(&mut square, fill);
        turn(&mut scalars, fill);
        let c = data.take::<T>(c);
        let whole = widen(c);
        // The elements of C that Q changes, in the order of its rows: all but those of the first row or column.
        let place = |index: usize| if fill == Fill::Upper { inner - 1 - index } else { index + 1 };
        let (rows, columns_of_c) = if right { (m, inner) } else { (inner, n) };
        let at = |row: usize, column: usize| if right { place(column) * m + row } else { column * m + place(row) };
        let mut part: Vec<T::Wide> = (0..columns_of_c)
            .flat_map(|column| (0..rows).map(move |row| (row, column)))
            .map(|(row, column)| whole[at(row, column)])
            .collect();
        apply(&columns(&square, length), &scalars, how, &mut part, rows, columns_of_c);
        for (index, value) in part.iter().enumerate() {
            c[at(index % rows, index / rows)] = T::narrow(*value);
        }
        tell(data, info, 0);
    })
}
