//! Eigenvalues of symmetric and Hermitian matrices.

use crate::arguments::{Call, choice, elements, fill, leading, order};
use crate::handle::Handle;
use crate::matrix::{Fill, Stored, narrow, widen};
use crate::report::{self, Report};
use crate::scalar::{Field, Scalar};
use crate::status::Outcome;
use crate::types::{cublasFillMode_t, cusolverEigMode_t};
use cuarray_stream_work::{Argument, write};
use faer::{MatRef, Side};
use std::ffi::c_int;

/// The elements of the workspace for a matrix of order `n`.
pub(crate) fn needed(n: usize) -> c_int {
    elements(n.saturating_mul(n).saturating_mul(2).saturating_add(n.saturating_mul(6)))
}

/// The eigenvalues in ascending order, and the eigenvectors by columns if they are wanted. None if the iteration does not converge.
pub(crate) fn decompose<F: Field>(square: &[F], n: usize, fill: Fill, vectors: bool) -> Option<(Vec<f64>, Vec<F>)> {
    if n == 0 {
        return Some(Default::default());
    }
    let in_triangle = |index: usize| fill.rows(index / n, n).contains(&(index % n));
    if (0..square.len()).any(|index| in_triangle(index) && !square[index].abs1().is_finite()) {
        return None;
    }
    let matrix = MatRef::from_column_major_slice(square, n, n);
    let side = if fill == Fill::Lower { Side::Lower } else { Side::Upper };
    if !vectors {
        return Some((matrix.self_adjoint_eigenvalues(side).ok()?, Vec::new()));
    }
    let found = matrix.self_adjoint_eigen(side).ok()?;
    let values = (0..n).map(|index| found.S()[index].re()).collect();
    let columns = (0..n).flat_map(|column| (0..n).map(move |row| (row, column)));
    Some((values, columns.map(|place| found.U()[place]).collect()))
}

/// The norm of the difference of a matrix and the product of its eigenvectors and eigenvalues.
fn residual<F: Field>(mut square: Vec<F>, n: usize, fill: Fill, values: &[f64], columns: &[F]) -> f64 {
    for (column, row) in (0..n).flat_map(|column| (0..n).map(move |row| (column, row))) {
        if !fill.rows(column, n).contains(&row) {
            square[column * n + row] = square[row * n + column].conjugate();
        }
    }
    report::residual(&square, (n, n), values, columns, columns, n)
}

/// The argument of the results: eigenvectors, or triangles whose values are lost.
fn result(call: &mut Call<'_>, a: Stored, fill: Fill, vectors: bool, count: usize) -> Outcome<Argument> {
    call.writes(c"A", if vectors { a.region() } else { a.triangles(fill, count) })
}

/// `cusolverDn<t>syevd_bufferSize` and `cusolverDn<t>heevd_bufferSize`.
pub(crate) fn syevd_size<T: Scalar>(
    _: &Handle,
    jobz: cusolverEigMode_t,
    uplo: cublasFillMode_t,
    n: i64,
    _: *const T,
    lda: i64,
    _: *const T::Real,
    lwork: *mut c_int,
) -> Outcome {
    choice(jobz)?;
    fill(uplo)?;
    let n = order(n)?;
    leading(lda, n)?;
    write(lwork, needed(n))
}

/// `cusolverDn<t>syevd` and `cusolverDn<t>heevd`.
pub(crate) fn syevd<T: Scalar>(
    handle: &Handle,
    jobz: cusolverEigMode_t,
    uplo: cublasFillMode_t,
    n: i64,
    a: *mut T,
    lda: i64,
    w: *mut T::Real,
    workspace: *mut T,
    lwork: i64,
    info: *mut c_int,
) -> Outcome {
    let mut call = Call::of(handle).with_info(c"info");
    let n_given = order(n)?;
    if n_given > 0 {
        call.workspace(c"work", workspace, lwork, needed(n_given))?;
    }
    syevd_of(call, jobz, uplo, n, a, lda, w, info, 1, None)
}

/// Eigenvalues after the workspace is described.
pub(crate) fn syevd_of<T: Scalar>(
    mut call: Call<'_>,
    jobz: cusolverEigMode_t,
    uplo: cublasFillMode_t,
    n: i64,
    a: *mut T,
    lda: i64,
    w: *mut T::Real,
    info: *mut c_int,
    count: usize,
    report: Option<Report>,
) -> Outcome {
    let (vectors, fill, n) = (choice(jobz)?, fill(uplo)?, order(n)?);
    // The triangles of a batch are described column by column too.
    let columns = order(i64::try_from(n.saturating_mul(count)).unwrap_or(i64::MAX))?;
    let a = Stored::of(a, (n, columns), leading(lda, n)?);
    let given = call.reads(c"A", a.triangles(fill, count))?;
    let a = result(&mut call, a, fill, vectors, count)?;
    let w = call.writes_vector(c"W", w, columns)?;
    let info = call.infos(info, count)?;
    call.computes(move |data| {
        let (given, a) = (data.take::<T>(given), data.take::<T>(a));
        let (w, info) = (data.take::<T::Real>(w), data.take::<c_int>(info));
        // Values that are documented as destroyed or unknown are no numbers.
        a.fill(T::narrow(T::Wide::nan()));
        w.fill(T::Real::narrow(f64::NAN));
        for (index, info) in info.iter_mut().enumerate() {
            let (square, values) = (index * n * n..(index + 1) * n * n, index * n..(index + 1) * n);
            let matrix = widen(&given[square.clone()]);
            let found = decompose(&matrix, n, fill, vectors);
            if let Some(report) = &report {
                let known = if vectors { found.clone() } else { None };
                report.end(move || {
                    let found = known.or_else(|| decompose(&matrix, n, fill, true));
                    found.map_or(f64::NAN, |(values, columns)| residual(matrix, n, fill, &values, &columns))
                });
            }
            *info = found.is_none().into();
            let (found, columns) = found.unwrap_or_default();
            narrow(&mut w[values], &found);
            if vectors {
                narrow(&mut a[square], &columns);
            }
        }
    })
}
