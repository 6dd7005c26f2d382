//! Factorizations of batches: LU decompositions, equations and inverses from them.

use crate::arguments::{Call, Given, Op, leading, order, size};
use crate::handle::Handle;
use crate::layout::{Fill, Stored};
use crate::scalar::Scalar;
use crate::status::{INVALID_VALUE, NOT_SUPPORTED, Outcome, cublasStatus_t};
use crate::triangular::solve;
use crate::types::cublasOperation_t;
use cuarray_stream_work::{Argument, Part, Rows, write};
use std::ffi::c_int;

/// The largest order of `cublas<t>matinvBatched`.
const LARGEST_INVERSE: usize = 32;

/// Decomposes a matrix of order `n` in place. The pivots are rows counted from 1; without them, rows are not exchanged. Returns 0, or the
/// number of the first diagonal element of U that is 0.
fn decompose<T: Scalar>(a: &mut [T], n: usize, mut pivots: Option<&mut [c_int]>) -> c_int {
    let mut info = 0;
    for column in 0..n {
        if let Some(pivots) = &mut pivots {
            let rows = column..n;
            let largest =
                rows.fold(
                    column,
                    |best, row| {
                        if a[column * n + row].abs1() > a[column * n + best].abs1() { row } else { best }
                    },
                );
            pivots[column] = largest as c_int + 1;
            if largest != column {
                (0..n).for_each(|other| a.swap(other * n + column, other * n + largest));
            }
        }
        let pivot = a[column * n + column];
        if pivot.is_zero() {
            info = if info == 0 { column as c_int + 1 } else { info };
            continue;
        }
        for row in column + 1..n {
            a[column * n + row] /= pivot;
        }
        for other in column + 1..n {
            let factor = a[other * n + column];
            for row in column + 1..n {
                let part = a[column * n + row] * factor;
                a[other * n + row] -= part;
            }
        }
    }
    info
}

/// Solves `op(a) * x = b` in place for a decomposed matrix.
fn substitute<T: Scalar>(lu: &[T], n: usize, pivots: Option<&[c_int]>, op: Op, b: &mut [T], columns: usize) {
    let exchange = |b: &mut [T], index: usize| {
        let other = pivots.map_or(index, |pivots| usize::try_from(pivots[index]).unwrap_or(1).clamp(1, n) - 1);
        if other != index {
            (0..columns).for_each(|column| b.swap(column * n + index, column * n + other));
        }
    };
    if op == Op::None {
        (0..n).for_each(|index| exchange(b, index));
        solve(lu, n, (Fill::Lower, op, true), b, columns, (1, n));
        solve(lu, n, (Fill::Upper, op, false), b, columns, (1, n));
    } else {
        solve(lu, n, (Fill::Upper, op, false), b, columns, (1, n));
        solve(lu, n, (Fill::Lower, op, true), b, columns, (1, n));
        (0..n).rev().for_each(|index| exchange(b, index));
    }
}

/// The inverse of a decomposed matrix.
fn invert<T: Scalar>(lu: &[T], n: usize, pivots: Option<&[c_int]>, inverse: &mut [T]) {
    inverse.fill(T::zero());
    (0..n).for_each(|index| inverse[index * n + index] = T::one());
    substitute(lu, n, pivots, Op::None, inverse, n);
}

/// Whether a decomposed matrix has no zero on its diagonal; otherwise the number of the first.
fn singular<T: Scalar>(lu: &[T], n: usize) -> c_int {
    (0..n).find(|index| lu[index * n + index].is_zero()).map_or(0, |index| index as c_int + 1)
}

/// An array of integers of a batch: that of `info`, or the pivots, which may be absent.
fn integers(
    call: &mut Call<'_>,
    name: &'static std::ffi::CStr,
    array: *const c_int,
    count: usize,
    reads: bool,
) -> Outcome<Argument> {
    let region = Rows::of::<c_int>(array.addr() as u64, count).into();
    if array.is_null() {
        return Err(INVALID_VALUE);
    }
    Ok(if reads { call.work.reads(name, region) } else { call.work.writes(name, region) })
}

/// `cublas<t>getrfBatched`.
pub(crate) fn getrf<T: Scalar>(
    handle: &Handle,
    n: i64,
    a: *const *mut T,
    lda: i64,
    pivots: *mut c_int,
    info: *mut c_int,
    count: i64,
) -> Outcome {
    let mut call = Call::of(handle);
    let (n, count) = (order(size(n)?)?, size(count)?);
    let a = Stored::array::<_, T>(a, (n, n), leading(lda, n)?);
    if n == 0 || count == 0 {
        return Ok(());
    }
    let a = call.updates(c"Aarray", a.behind_pointers(count, Part::All))?;
    let pivots = match pivots.is_null() {
        true => None,
        false => Some(integers(&mut call, c"PivotArray", pivots, n.saturating_mul(count), false)?),
    };
    let info = integers(&mut call, c"infoArray", info, count, false)?;
    call.computes(move |data| {
        let (a, info) = (data.take::<T>(a), data.take::<c_int>(info));
        let pivots = pivots.map(|pivots| data.take::<c_int>(pivots));
        let mut pivots = pivots.map(|pivots| pivots.chunks_mut(n));
        for (a, info) in a.chunks_mut(n * n).zip(info) {
            *info = decompose(a, n, pivots.as_mut().and_then(Iterator::next));
        }
    })
}

/// `cublas<t>getriBatched`.
pub(crate) fn getri<T: Scalar>(
    handle: &Handle,
    n: i64,
    a: *const *const T,
    lda: i64,
    pivots: *const c_int,
    c: *const *mut T,
    ldc: i64,
    info: *mut c_int,
    count: i64,
) -> Outcome {
    let mut call = Call::of(handle);
    let (n, count) = (order(size(n)?)?, size(count)?);
    let a = Stored::array::<_, T>(a, (n, n), leading(lda, n)?);
    let c = Stored::array::<_, T>(c, (n, n), leading(ldc, n)?);
    if n == 0 || count == 0 {
        return Ok(());
    }
    let a = call.reads(c"Aarray", a.behind_pointers(count, Part::All))?;
    let pivots = match pivots.is_null() {
        true => None,
        false => Some(integers(&mut call, c"PivotArray", pivots, n.saturating_mul(count), true)?),
    };
    let c = call.scaled(c"Carray", c.behind_pointers(count, Part::All), Given::Host(T::zero()))?;
    let info = integers(&mut call, c"infoArray", info, count, false)?;
    call.computes(move |data| {
        let (a, c, info) = (data.take::<T>(a), data.take::<T>(c), data.take::<c_int>(info));
        let pivots: Option<&[c_int]> = pivots.map(|pivots| &*data.take::<c_int>(pivots));
        for (index, ((a, c), info)) in a.chunks(n * n).zip(c.chunks_mut(n * n)).zip(info).enumerate() {
            *info = singular(a, n);
            invert(a, n, pivots.map(|pivots| &pivots[index * n..][..n]), c);
        }
    })
}

/// `cublas<t>getrsBatched`. `info` is on the host.
pub(crate) fn getrs<T: Scalar>(
    handle: &Handle,
    trans: cublasOperation_t,
    n: i64,
    columns: i64,
    a: *const *const T,
    lda: i64,
    pivots: *const c_int,
    b: *const *mut T,
    ldb: i64,
    info: *mut c_int,
    count: i64,
) -> Outcome {
    let mut call = Call::of(handle);
    // The number of the wrong argument, with a minus.
    let wrong = |number: c_int| move |status| write(info, -number).err().unwrap_or(status);
    let op = Op::of(trans).map_err(wrong(1))?;
    let (n, columns) = (size(n).and_then(order).map_err(wrong(2))?, size(columns).map_err(wrong(3))?);
    let a = Stored::array::<_, T>(a, (n, n), leading(lda, n).map_err(wrong(5))?);
    let b = Stored::array::<_, T>(b, (n, columns), leading(ldb, n).map_err(wrong(8))?);
    let count = size(count).map_err(wrong(10))?;
    write::<_, cublasStatus_t>(info, 0)?;
    if n == 0 || columns == 0 || count == 0 {
        return Ok(());
    }
    let a = call.reads(c"Aarray", a.behind_pointers(count, Part::All))?;
    let pivots = match pivots.is_null() {
        true => None,
        false => Some(integers(&mut call, c"devIpiv", pivots, n.saturating_mul(count), true)?),
    };
    let b = call.updates(c"Barray", b.behind_pointers(count, Part::All))?;
    call.computes(move |data| {
        let (a, b) = (data.take::<T>(a), data.take::<T>(b));
        let pivots: Option<&[c_int]> = pivots.map(|pivots| &*data.take::<c_int>(pivots));
        for (index, (a, b)) in a.chunks(n * n).zip(b.chunks_mut(n * columns)).enumerate() {
            substitute(a, n, pivots.map(|pivots| &pivots[index * n..][..n]), op, b, columns);
        }
    })
}

/// `cublas<t>matinvBatched`, for matrices up to order 32.
pub(crate) fn matinv<T: Scalar>(
    handle: &Handle,
    n: i64,
    a: *const *const T,
    lda: i64,
    inverse: *const *mut T,
    ldc: i64,
    info: *mut c_int,
    count: i64,
) -> Outcome {
    let mut call = Call::of(handle);
    let (n, count) = (size(n)?, size(count)?);
    if n > LARGEST_INVERSE {
        return Err(NOT_SUPPORTED);
    }
    let a = Stored::array::<_, T>(a, (n, n), leading(lda, n)?);
    let c = Stored::array::<_, T>(inverse, (n, n), leading(ldc, n)?);
    if n == 0 || count == 0 {
        return Ok(());
    }
    let a = call.reads(c"A", a.behind_pointers(count, Part::All))?;
    let c = call.scaled(c"Ainv", c.behind_pointers(count, Part::All), Given::Host(T::zero()))?;
    let info = integers(&mut call, c"info", info, count, false)?;
    call.computes(move |data| {
        let (a, c, info) = (data.take::<T>(a), data.take::<T>(c), data.take::<c_int>(info));
        let mut pivots = vec![0; n];
        for ((a, c), info) in a.chunks_mut(n * n).zip(c.chunks_mut(n * n)).zip(info) {
            *info = decompose(a, n, Some(&mut pivots));
            invert(a, n, Some(&pivots), c);
        }
    })
}
