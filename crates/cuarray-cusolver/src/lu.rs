//! LU factors with the pivots of LAPACK, and equations with them.

use crate::arguments::{Call, Op, elements, leading, order, size, tell};
use crate::handle::Handle;
use crate::matrix::{Stored, narrow, widen};
use crate::scalar::{Field, Scalar};
use crate::status::Outcome;
use crate::types::cublasOperation_t;
use cuarray_stream_work::{Plain, write};
use faer::linalg::matmul::matmul;
use faer::linalg::triangular_solve::{
    solve_lower_triangular_in_place, solve_unit_lower_triangular_in_place, solve_unit_upper_triangular_in_place,
    solve_upper_triangular_in_place,
};
use faer::{Accum, MatMut, MatRef, Par};
use std::ffi::c_int;

/// The columns that are factored element by element.
const BLOCK: usize = 32;

/// A row number in memory, counted from 1.
pub(crate) trait Pivot: Plain {
    fn of(row: usize) -> Self;
    fn row(self) -> Option<usize>;
}

macro_rules! pivot {
    ($($type:ty)*) => { $(impl Pivot for $type {
        fn of(row: usize) -> $type {
            (row + 1) as $type
        }
        fn row(self) -> Option<usize> {
            usize::try_from(self).ok()?.checked_sub(1)
        }
    })* };
}

pivot!(i32 i64);

/// The elements of the workspace for an m×n matrix.
pub(crate) fn needed(m: usize, n: usize) -> c_int {
    elements(m.max(n).saturating_mul(BLOCK))
}

/// Factors `columns` of `a` with `m` rows from the diagonal element (first, first) on. Rows are exchanged only within these columns.
fn factor_columns<F: Field>(a: &mut [F], m: usize, first: usize, end: usize, pivots: Option<&mut [usize]>) -> usize {
    let mut info = 0;
    let mut pivots = pivots;
    for column in first..end.min(m) {
        if let Some(pivots) = &mut pivots {
            let mut largest = column;
            for row in column + 1..m {
                if a[column * m + row].abs1() > a[column * m + largest].abs1() {
                    largest = row;
                }
            }
            pivots[column] = largest;
            if largest != column {
                (first..end).for_each(|other| a.swap(other * m + column, other * m + largest));
            }
        }
        let pivot = a[column * m + column];
        if pivot == F::default() {
            info = if info == 0 { column + 1 } else { info };
            continue;
        }
        for row in column + 1..m {
            a[column * m + row] /= pivot;
        }
        let (known, others) = a.split_at_mut((column + 1) * m);
        let known = &known[column * m..];
        for other in others.chunks_mut(m).take(end - column - 1) {
            let factor = other[column];
            for (value, left) in other[column + 1..].iter_mut().zip(&known[column + 1..]) {
                *value -= *left * factor;
            }
        }
    }
    info
}

/// Factors an m×n matrix in place. The pivots are rows counted from 0; without them, rows are not exchanged. Returns 0, or the number of
/// the first diagonal element of U that is 0.
pub(crate) fn factor<F: Field>(a: &mut [F], m: usize, n: usize, mut pivots: Option<&mut [usize]>) -> usize {
    let mut info = 0;
    let order = m.min(n);
    for first in (0..order).step_by(BLOCK) {
        let end = order.min(first + BLOCK);
        let found = factor_columns(a, m, first, end, pivots.as_deref_mut());
        info = if info == 0 { found } else { info };
        if let Some(pivots) = &pivots {
            for other in (0..first).chain(end..n) {
                (first..end).for_each(|row| a.swap(other * m + row, other * m + pivots[row]));
            }
        }
        if end == n {
            continue;
        }
        let (left, right) = MatMut::from_column_major_slice_mut(&mut *a, m, n).split_at_col_mut(end);
        let left = left.as_ref().submatrix(first, first, m - first, end - first);
        let (diagonal, below) = left.split_at_row(end - first);
        let (mut beside, rest) = right.split_at_row_mut(first).1.split_at_row_mut(end - first);
        solve_unit_lower_triangular_in_place(diagonal, beside.as_mut(), Par::Seq);
        matmul(rest, Accum::Add, below, beside.as_ref(), -F::of_parts(1.0, 0.0), Par::Seq);
    }
    info
}

/// Solves `op(a) * x = b` in place for a factored matrix of order `n`.
pub(crate) fn solve<F: Field>(a: &[F], n: usize, op: Op, pivots: Option<&[usize]>, b: &mut [F], columns: usize) {
    let exchange = |b: &mut [F], row: usize| {
        if let Some(pivots) = pivots {
            (0..columns).for_each(|column| b.swap(column * n + row, column * n + pivots[row]));
        }
    };
    let a = MatRef::from_column_major_slice(a, n, n);
    if op == Op::None {
        (0..n).for_each(|row| exchange(b, row));
    }
    let mut x = MatMut::from_column_major_slice_mut(&mut *b, n, columns);
    match op {
        Op::None => {
            solve_unit_lower_triangular_in_place(a, x.as_mut(), Par::Seq);
            solve_upper_triangular_in_place(a, x, Par::Seq);
        }
        Op::Transpose => {
            solve_lower_triangular_in_place(a.transpose(), x.as_mut(), Par::Seq);
            solve_unit_upper_triangular_in_place(a.transpose(), x, Par::Seq);
        }
        Op::Adjoint => {
            solve_lower_triangular_in_place(a.adjoint(), x.as_mut(), Par::Seq);
            solve_unit_upper_triangular_in_place(a.adjoint(), x, Par::Seq);
        }
    }
    if op != Op::None {
        (0..n).rev().for_each(|row| exchange(b, row));
    }
}

/// `cusolverDn<t>getrf_bufferSize`.
pub(crate) fn getrf_size<T: Scalar>(_: &Handle, m: i64, n: i64, _: *mut T, lda: i64, lwork: *mut c_int) -> Outcome {
    let (m, n) = (order(m)?, order(n)?);
    leading(lda, m)?;
    write(lwork, needed(m, n))
}

/// `cusolverDn<t>getrf`.
pub(crate) fn getrf<T: Scalar>(
    handle: &Handle,
    m: i64,
    n: i64,
    a: *mut T,
    lda: i64,
    workspace: *mut T,
    pivots: *mut c_int,
    info: *mut c_int,
) -> Outcome {
    let mut call = Call::of(handle);
    let needed = needed(order(m)?, order(n)?);
    leading(lda, order(m)?)?;
    if m > 0 && n > 0 {
        call.workspace(c"Workspace", workspace, needed.into(), needed)?;
    }
    getrf_of::<T, c_int>(call, m, n, a, lda, (c"devIpiv", pivots), info)
}

/// A factorization with any type of pivots.
pub(crate) fn getrf_of<T: Scalar, P: Pivot>(
    mut call: Call<'_>,
    m: i64,
    n: i64,
    a: *mut T,
    lda: i64,
    (name, pivots): (&'static std::ffi::CStr, *mut P),
    info: *mut c_int,
) -> Outcome {
    let (m, n) = (order(m)?, order(n)?);
    let a = Stored::of(a, (m, n), leading(lda, m)?);
    let a = call.updates(c"A", a.region())?;
    let pivots = match pivots.is_null() {
        true => None,
        false => Some(call.writes_vector(name, pivots, m.min(n))?),
    };
    let info = call.info(info)?;
    call.computes(move |data| {
        let a = data.take::<T>(a);
        let mut matrix = widen(a);
        let mut rows = vec![0; m.min(n)];
        let failed = factor(&mut matrix, m, n, pivots.map(|_| &mut *rows));
        narrow(a, &matrix);
        if let Some(pivots) = pivots {
            data.take::<P>(pivots).iter_mut().zip(&rows).for_each(|(pivot, row)| *pivot = P::of(*row));
        }
        tell(data, info, failed);
    })
}

/// `cusolverDn<t>getrs`.
pub(crate) fn getrs<T: Scalar>(
    handle: &Handle,
    trans: cublasOperation_t,
    n: i64,
    columns: i64,
    a: *const T,
    lda: i64,
    pivots: *const c_int,
    b: *mut T,
    ldb: i64,
    info: *mut c_int,
) -> Outcome {
    getrs_of::<T, c_int>(Call::of(handle), trans, n, columns, a, lda, (c"devIpiv", pivots), b, ldb, info)
}

/// Equations with any type of pivots.
pub(crate) fn getrs_of<T: Scalar, P: Pivot>(
    mut call: Call<'_>,
    trans: cublasOperation_t,
    n: i64,
    columns: i64,
    a: *const T,
    lda: i64,
    (name, pivots): (&'static std::ffi::CStr, *const P),
    b: *mut T,
    ldb: i64,
    info: *mut c_int,
) -> Outcome {
    let (op, n, columns) = (Op::of(trans)?, order(n)?, size(columns)?);
    let a = Stored::of(a, (n, n), leading(lda, n)?);
    let b = Stored::of(b, (n, columns), leading(ldb, n)?);
    let a = call.reads(c"A", a.region())?;
    let pivots = match pivots.is_null() {
        true => None,
        false => Some(call.reads_vector(name, pivots, n)?),
    };
    let b = call.updates(c"B", b.region())?;
    let info = call.info(info)?;
    call.computes(move |data| {
        let (a, b) = (data.take::<T>(a), data.take::<T>(b));
        let rows: Option<Vec<Option<usize>>> = pivots
            .map(|pivots| data.take::<P>(pivots).iter().map(|pivot| pivot.row().filter(|row| *row < n)).collect());
        let rows: Option<Option<Vec<usize>>> = rows.map(|rows| rows.into_iter().collect());
        let mut right = widen(b);
        match rows {
            // No factorization has such pivots, so there is no solution.
            Some(None) => right.fill(T::Wide::nan()),
            Some(Some(rows)) => solve(&widen(a), n, op, Some(&rows), &mut right, columns),
            None => solve(&widen(a), n, op, None, &mut right, columns),
        }
        narrow(b, &right);
        tell(data, info, 0);
    })
}
