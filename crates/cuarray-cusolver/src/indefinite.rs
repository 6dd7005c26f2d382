//! Factors of symmetric matrices that need not be definite, with the pivots of LAPACK's `sytrf`, and equations with them.
//!
//! The matrix is `P * L * D * L^T * P^T`, or `P * U * D * U^T * P^T`. Blocks of `D` have one or two rows. A complex matrix is symmetric too,
//! and not Hermitian. An upper triangle is a lower one after rows and columns are counted from the end.

use crate::arguments::{Call, block_elements, fill, leading, order, size, tell, tell_block_elements};
use crate::handle::Handle;
use crate::matrix::{Fill, Stored, identity, narrow, widen};
use crate::scalar::{Field, Scalar};
use crate::status::Outcome;
use crate::types::cublasFillMode_t;
use cuarray_stream_work::{Data, Plain, write};
use std::ffi::{CStr, c_int};

/// A pivot in memory. It is the number of a row counted from 1, negative for a block of two rows.
pub(crate) trait SignedPivot: Plain {
    fn of(value: i64) -> Self;
    fn value(self) -> i64;
}

macro_rules! signed {
    ($($type:ty)*) => { $(impl SignedPivot for $type {
        fn of(value: i64) -> $type {
            value as $type
        }
        fn value(self) -> i64 {
            self.into()
        }
    })* };
}

signed!(i32 i64);

/// The exchange of a step, and the number of rows of its block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Pivot {
    row: usize,
    is_pair: bool,
}

/// Counts rows and columns of a square from the end.
fn reversed<F: Field>(square: &[F]) -> Vec<F> {
    square.iter().rev().copied().collect()
}

/// Chooses the pivot of a column, by the rule of Bunch and Kaufman.
fn choose<F: Field>(a: &[F], n: usize, column: usize) -> Pivot {
    let bound = (1.0 + 17.0_f64.sqrt()) / 8.0;
    let at = |row: usize, column: usize| a[column * n + row].abs1();
    let mut largest = column;
    for row in column + 1..n {
        if largest == column || at(row, column) > at(largest, column) {
            largest = row;
        }
    }
    let own = Pivot { row: column, is_pair: false };
    if largest == column {
        return own;
    }
    let (diagonal, below) = (at(column, column), at(largest, column));
    if diagonal >= bound * below {
        return own;
    }
    let beside = (column..largest).map(|other| at(largest, other));
    let in_row = beside.chain((largest + 1..n).map(|row| at(row, largest))).fold(0.0, f64::max);
    if diagonal >= bound * below * (below / in_row) {
        own
    } else {
        Pivot { row: largest, is_pair: at(largest, largest) < bound * in_row }
    }
}

/// Exchanges two rows and columns in a lower triangle. Columns before `one` keep their order.
fn exchange<F: Field>(a: &mut [F], n: usize, one: usize, other: usize) {
    for row in other + 1..n {
        a.swap(one * n + row, other * n + row);
    }
    for between in one + 1..other {
        a.swap(one * n + between, between * n + other);
    }
    a.swap(one * n + one, other * n + other);
}

/// Factors the lower triangle of a square. Returns the pivots, and 0 or the number of the first diagonal element of D that is 0.
fn factor<F: Field>(a: &mut [F], n: usize, exchanges: bool) -> (Vec<Pivot>, usize) {
    let mut pivots = vec![Pivot::default(); n];
    let (mut column, mut info) = (0, 0);
    while column < n {
        let largest = (column..n).map(|row| a[column * n + row].abs1()).fold(0.0, f64::max);
        let is_lost = a[column * n + column].abs1().is_nan() || largest == 0.0;
        let is_zero = !exchanges && a[column * n + column] == F::default();
        if is_lost || is_zero {
            info = if info == 0 { column + 1 } else { info };
            pivots[column] = Pivot { row: column, is_pair: false };
            column += 1;
            continue;
        }
        let pivot = if exchanges { choose(a, n, column) } else { Pivot { row: column, is_pair: false } };
        let last = column + usize::from(pivot.is_pair);
        pivots[column..=last].fill(pivot);
        if pivot.row != last {
            exchange(a, n, last, pivot.row);
            if pivot.is_pair {
                a.swap(column * n + last, column * n + pivot.row);
            }
        }
        if pivot.is_pair {
            eliminate_pair(a, n, column)
        } else {
            eliminate(a, n, column)
        }
        column = last + 1;
    }
    (pivots, info)
}

/// Subtracts the part of a column with a pivot of one row, which becomes a column of L.
fn eliminate<F: Field>(a: &mut [F], n: usize, column: usize) {
    let inverse = F::of_parts(1.0, 0.0) / a[column * n + column];
    let values: Vec<F> = a[column * n + column + 1..(column + 1) * n].to_vec();
    for (index, value) in values.iter().enumerate() {
        let (other, factor) = (column + 1 + index, *value * inverse);
        for row in other..n {
            a[other * n + row] -= values[row - column - 1] * factor;
        }
        a[column * n + other] = factor;
    }
}

/// Subtracts the part of two columns with a pivot of two rows, which become columns of L.
fn eliminate_pair<F: Field>(a: &mut [F], n: usize, column: usize) {
    let next = column + 1;
    let off = a[column * n + next];
    let (first, second) = (a[next * n + next] / off, a[column * n + column] / off);
    let one = F::of_parts(1.0, 0.0);
    let scale = one / (first * second - one) / off;
    for other in next + 1..n {
        let (left, right) = (a[column * n + other], a[next * n + other]);
        let (one, two) = (scale * (first * left - right), scale * (second * right - left));
        for row in other..n {
            let lost = a[column * n + row] * one + a[next * n + row] * two;
            a[other * n + row] -= lost;
        }
        (a[column * n + other], a[next * n + other]) = (one, two);
    }
}

/// Solves equations with the factored lower triangle of a square, in place.
fn solve<F: Field>(a: &[F], n: usize, pivots: &[Pivot], b: &mut [F], columns: usize) {
    for b in b.chunks_mut(n.max(1)).take(columns) {
        let mut column = 0;
        while column < n {
            let Pivot { row, is_pair } = pivots[column];
            let last = column + usize::from(is_pair);
            b.swap(last, row);
            for known in column..=last {
                for row in last + 1..n {
                    let lost = a[known * n + row] * b[known];
                    b[row] -= lost;
                }
            }
            if is_pair {
                let off = a[column * n + last];
                let (first, second) = (a[column * n + column] / off, a[last * n + last] / off);
                let (one, two) = (b[column] / off, b[last] / off);
                let divisor = first * second - F::of_parts(1.0, 0.0);
                (b[column], b[last]) = ((second * one - two) / divisor, (first * two - one) / divisor);
            } else {
                b[column] /= a[column * n + column];
            }
            column = last + 1;
        }
        let mut end = n;
        while end > 0 {
            let last = end - 1;
            let Pivot { row, is_pair } = pivots[last];
            let first = last - usize::from(is_pair);
            for unknown in first..=last {
                let sum = (end..n).fold(F::default(), |sum, row| sum + a[unknown * n + row] * b[row]);
                b[unknown] -= sum;
            }
            b.swap(last, row);
            end = first;
        }
    }
}

/// The pivots as LAPACK stores them.
fn stored(pivots: &[Pivot], fill: Fill) -> Vec<i64> {
    let n = pivots.len();
    let number = |pivot: &Pivot| {
        let row = if fill == Fill::Lower { pivot.row } else { n - 1 - pivot.row } as i64 + 1;
        if pivot.is_pair { -row } else { row }
    };
    let numbers = pivots.iter().map(number);
    if fill == Fill::Lower { numbers.collect() } else { numbers.rev().collect() }
}

/// The pivots of numbers in memory; none if no factorization has them.
fn known(numbers: &[i64], fill: Fill) -> Option<Vec<Pivot>> {
    let n = numbers.len();
    let pivot = |number: &i64| {
        let row = usize::try_from(number.unsigned_abs()).ok()?.checked_sub(1).filter(|row| *row < n)?;
        Some(Pivot { row: if fill == Fill::Lower { row } else { n - 1 - row }, is_pair: *number < 0 })
    };
    let pivots: Option<Vec<Pivot>> = match fill {
        Fill::Lower => numbers.iter().map(pivot).collect(),
        Fill::Upper => numbers.iter().rev().map(pivot).collect(),
    };
    let pivots = pivots?;
    let mut column = 0;
    while column < n {
        let pivot = pivots[column];
        let last = column + usize::from(pivot.is_pair);
        if last >= n || pivots[last] != pivot || pivot.row < last {
            return None;
        }
        column = last + 1;
    }
    Some(pivots)
}

/// The triangle as the algorithms have it, and back.
fn oriented<F: Field>(square: Vec<F>, fill: Fill) -> Vec<F> {
    if fill == Fill::Lower { square } else { reversed(&square) }
}

/// `cusolverDn<t>sytrf_bufferSize`.
pub(crate) fn sytrf_size<T: Scalar>(_: &Handle, n: i64, _: *mut T, lda: i64, lwork: *mut c_int) -> Outcome {
    let n = order(n)?;
    leading(lda, n)?;
    write(lwork, block_elements(n))
}

/// `cusolverDn<t>sytrf`. Without pivots, rows are not exchanged.
pub(crate) fn sytrf<T: Scalar>(
    handle: &Handle,
    uplo: cublasFillMode_t,
    n: i64,
    a: *mut T,
    lda: i64,
    pivots: *mut c_int,
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
    let pivots = match pivots.is_null() {
        true => None,
        false => Some(call.writes_vector(c"ipiv", pivots, n)?),
    };
    let info = call.info(info)?;
    call.computes(move |data| {
        let a = data.take::<T>(a);
        let mut square = oriented(widen(a), fill);
        let (found, failed) = factor(&mut square, n, pivots.is_some());
        narrow(a, &oriented(square, fill));
        if let Some(pivots) = pivots {
            let numbers = stored(&found, fill);
            data.take::<c_int>(pivots).iter_mut().zip(numbers).for_each(|(to, number)| *to = SignedPivot::of(number));
        }
        let failed = if fill == Fill::Upper && failed > 0 { n + 1 - failed } else { failed };
        tell(data, info, failed);
    })
}

/// The pivots of a call; none if they are wrong.
fn read_pivots<P: SignedPivot>(
    data: &mut Data<'_>,
    pivots: Option<cuarray_stream_work::Argument>,
    n: usize,
    fill: Fill,
) -> Option<Vec<Pivot>> {
    let own = || (0..n).map(|row| Pivot { row, is_pair: false }).collect();
    match pivots {
        None => Some(own()),
        Some(pivots) => known(&data.take::<P>(pivots).iter().map(|pivot| pivot.value()).collect::<Vec<i64>>(), fill),
    }
}

/// Solves equations in the memory of a call. The right sides of an upper triangle are counted from the end as well.
fn solve_oriented<F: Field>(a: Vec<F>, n: usize, fill: Fill, pivots: Option<Vec<Pivot>>, b: &mut [F], columns: usize) {
    let turn = |b: &mut [F]| {
        if fill == Fill::Upper {
            b.chunks_mut(n.max(1)).for_each(<[F]>::reverse);
        }
    };
    match pivots {
        // No factorization has such pivots, so there is no solution.
        None => b.fill(F::nan()),
        Some(pivots) => {
            turn(b);
            solve(&oriented(a, fill), n, &pivots, b, columns);
            turn(b);
        }
    }
}

/// Equations with any type of pivots, after the workspace is described.
pub(crate) fn sytrs_of<T: Scalar, P: SignedPivot>(
    mut call: Call<'_>,
    uplo: cublasFillMode_t,
    (n, columns): (i64, i64),
    (a, lda): (*const T, i64),
    (name, pivots): (&'static CStr, *const P),
    (b, ldb): (*mut T, i64),
    info: *mut c_int,
) -> Outcome {
    let (fill, n, columns) = (fill(uplo)?, order(n)?, size(columns)?);
    let a = Stored::of(a, (n, n), leading(lda, n)?);
    let b = Stored::of(b, (n, columns), leading(ldb, n)?);
    let a = call.reads(c"A", a.triangle(fill))?;
    let pivots = match pivots.is_null() {
        true => None,
        false => Some(call.reads_vector(name, pivots, n)?),
    };
    let b = call.updates(c"B", b.region())?;
    let info = call.info(info)?;
    call.computes(move |data| {
        let pivots = read_pivots::<P>(data, pivots, n, fill);
        let (a, b) = (data.take::<T>(a), data.take::<T>(b));
        let mut right = widen(b);
        solve_oriented(widen(a), n, fill, pivots, &mut right, columns);
        narrow(b, &right);
        tell(data, info, 0);
    })
}

/// `cusolverDn<t>sytri_bufferSize`.
pub(crate) fn sytri_size<T: Scalar>(
    _: &Handle,
    uplo: cublasFillMode_t,
    n: i64,
    _: *mut T,
    lda: i64,
    _: *const c_int,
    lwork: *mut c_int,
) -> Outcome {
    tell_block_elements(uplo, n, lda, lwork)
}

/// `cusolverDn<t>sytri`: the inverse of a matrix from its factors.
pub(crate) fn sytri<T: Scalar>(
    handle: &Handle,
    uplo: cublasFillMode_t,
    n: i64,
    a: *mut T,
    lda: i64,
    pivots: *const c_int,
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
    let pivots = call.reads_vector(c"ipiv", pivots, n)?;
    let info = call.info(info)?;
    call.computes(move |data| {
        let pivots = read_pivots::<c_int>(data, Some(pivots), n, fill);
        let a = data.take::<T>(a);
        let square = widen(a);
        let is_zero = |column: usize| square[column * n + column] == T::Wide::default();
        let alone = |column: usize| {
            let place = if fill == Fill::Lower { column } else { n - 1 - column };
            pivots.as_ref().is_some_and(|pivots| !pivots[place].is_pair)
        };
        let singular = (0..n).find(|column| alone(*column) && is_zero(*column));
        if singular.is_none() {
            let mut inverse = identity(n);
            solve_oriented(square, n, fill, pivots, &mut inverse, n);
            narrow(a, &inverse);
        }
        tell(data, info, singular.map_or(0, |column| column + 1));
    })
}
