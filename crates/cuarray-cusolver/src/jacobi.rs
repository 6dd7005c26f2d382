//! The functions that cuSOLVER computes by Jacobi's method, with their objects of parameters, and for batches of small matrices.
//!
//! Tolerances, numbers of sweeps and the choice of an order are checked and have no effect: results have the full accuracy, and are sorted.

use crate::arguments::{Call, choice, elements, leading, order, size};
use crate::eigen::{self, syevd_of};
use crate::handle::{Handle, Parameters, check_parameters, create_parameters, destroy_parameters, report};
use crate::matrix::{Stored, narrow, widen};
use crate::report::{Report, residual};
use crate::scalar::{Field, Scalar};
use crate::status::{INVALID_VALUE, Outcome};
use crate::types::*;
use cuarray_stream_work::{Argument, write};
use faer::MatRef;
use std::ffi::c_int;

/// The functions of a type of objects.
macro_rules! parameters {
    ($($kind:ident $create:ident $destroy:ident $tolerance:ident $sweeps:ident $sort:ident $residual:ident $executed:ident;)*) => { $(
        pub(crate) fn $create(_: c_int, to: *mut usize) -> Outcome {
            if to.is_null() {
                return Err(INVALID_VALUE);
            }
            write(to, create_parameters(Parameters::$kind))
        }

        pub(crate) fn $destroy(_: c_int, number: usize) -> Outcome {
            destroy_parameters(Parameters::$kind, number)
        }

        pub(crate) fn $tolerance(_: c_int, number: usize, _: f64) -> Outcome {
            check_parameters(Parameters::$kind, number)
        }

        pub(crate) fn $sweeps(_: c_int, number: usize, sweeps: c_int) -> Outcome {
            check_parameters(Parameters::$kind, number)?;
            size(sweeps.into()).map(drop)
        }

        pub(crate) fn $sort(_: c_int, number: usize, sort: c_int) -> Outcome {
            check_parameters(Parameters::$kind, number)?;
            choice(sort).map(drop)
        }

        pub(crate) fn $residual(_: &Handle, number: usize, to: *mut f64) -> Outcome {
            write(to, report(Parameters::$kind, number)?.norm()?)
        }

        pub(crate) fn $executed(_: &Handle, number: usize, to: *mut c_int) -> Outcome {
            write(to, report(Parameters::$kind, number)?.has_run()?.into())
        }
    )* };
}

/// Begins a call with an object. Returns its report, if the call has one.
fn begin(kind: Parameters, number: usize, is_batch: bool) -> Outcome<Option<Report>> {
    report(kind, number).map(|report| report.begin(is_batch))
}

parameters! {
    Syevj create_syevj destroy_syevj syevj_tolerance syevj_sweeps syevj_sort syevj_residual syevj_executed;
    Gesvdj create_gesvdj destroy_gesvdj gesvdj_tolerance gesvdj_sweeps gesvdj_sort gesvdj_residual gesvdj_executed;
}

/// `cusolverDn<t>syevj_bufferSize` and `cusolverDn<t>heevj_bufferSize`.
pub(crate) fn syevj_size<T: Scalar>(
    handle: &Handle,
    jobz: cusolverEigMode_t,
    uplo: cublasFillMode_t,
    n: i64,
    a: *const T,
    lda: i64,
    w: *const T::Real,
    lwork: *mut c_int,
    params: syevjInfo_t,
) -> Outcome {
    check_parameters(Parameters::Syevj, params)?;
    eigen::syevd_size::<T>(handle, jobz, uplo, n, a, lda, w, lwork)
}

/// `cusolverDn<t>syevj` and `cusolverDn<t>heevj`.
pub(crate) fn syevj<T: Scalar>(
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
    params: syevjInfo_t,
) -> Outcome {
    let report = begin(Parameters::Syevj, params, false)?;
    syevj_of::<T>(handle, (jobz, uplo), n, (a, lda), w, (workspace, lwork), info, 1, report)
}

/// `cusolverDn<t>syevjBatched_bufferSize` and `cusolverDn<t>heevjBatched_bufferSize`.
pub(crate) fn syevj_batched_size<T: Scalar>(
    handle: &Handle,
    jobz: cusolverEigMode_t,
    uplo: cublasFillMode_t,
    n: i64,
    a: *const T,
    lda: i64,
    w: *const T::Real,
    lwork: *mut c_int,
    params: syevjInfo_t,
    count: i64,
) -> Outcome {
    size(count)?;
    syevj_size::<T>(handle, jobz, uplo, n, a, lda, w, lwork, params)
}

/// `cusolverDn<t>syevjBatched` and `cusolverDn<t>heevjBatched`: matrices one after the other.
pub(crate) fn syevj_batched<T: Scalar>(
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
    params: syevjInfo_t,
    count: i64,
) -> Outcome {
    let report = begin(Parameters::Syevj, params, true)?;
    syevj_of::<T>(handle, (jobz, uplo), n, (a, lda), w, (workspace, lwork), info, order(count)?, report)
}

/// Eigenvalues of matrices one after the other.
fn syevj_of<T: Scalar>(
    handle: &Handle,
    (jobz, uplo): (cusolverEigMode_t, cublasFillMode_t),
    n: i64,
    (a, lda): (*mut T, i64),
    w: *mut T::Real,
    (workspace, lwork): (*mut T, i64),
    info: *mut c_int,
    count: usize,
    report: Option<Report>,
) -> Outcome {
    let mut call = Call::of(handle).with_info(c"info");
    let needed = eigen::needed(order(n)?);
    if n > 0 && count > 0 {
        call.workspace(c"work", workspace, lwork, needed)?;
    }
    syevd_of::<T>(call, jobz, uplo, n, a, lda, w, info, count, report)
}

/// The elements of the workspace for an m×n matrix.
fn needed(m: usize, n: usize) -> c_int {
    elements(m.saturating_add(n).saturating_add(64).saturating_mul(n.min(m)))
}

/// `cusolverDn<t>gesvdj_bufferSize`.
pub(crate) fn gesvdj_size<T: Scalar>(
    _: &Handle,
    jobz: cusolverEigMode_t,
    econ: c_int,
    m: i64,
    n: i64,
    _: *const T,
    lda: i64,
    _: *const T::Real,
    _: *const T,
    _: i64,
    _: *const T,
    _: i64,
    lwork: *mut c_int,
    params: gesvdjInfo_t,
) -> Outcome {
    check_parameters(Parameters::Gesvdj, params)?;
    choice(jobz)?;
    choice(econ)?;
    let (m, n) = (order(m)?, order(n)?);
    leading(lda, m)?;
    write(lwork, needed(m, n))
}

/// `cusolverDn<t>gesvdj`.
pub(crate) fn gesvdj<T: Scalar>(
    handle: &Handle,
    jobz: cusolverEigMode_t,
    econ: c_int,
    m: i64,
    n: i64,
    a: *mut T,
    lda: i64,
    s: *mut T::Real,
    u: *mut T,
    ldu: i64,
    v: *mut T,
    ldv: i64,
    workspace: *mut T,
    lwork: i64,
    info: *mut c_int,
    params: gesvdjInfo_t,
) -> Outcome {
    let vectors = (choice(jobz)?, choice(econ)?);
    let report = begin(Parameters::Gesvdj, params, false)?;
    gesvdj_of(handle, vectors, (m, n), (a, lda), s, (u, ldu), (v, ldv), (workspace, lwork), info, report, 1)
}

/// The largest number of rows and columns of a batch.
const LARGEST_OF_BATCH: i64 = 32;

/// `cusolverDn<t>gesvdjBatched_bufferSize`.
pub(crate) fn gesvdj_batched_size<T: Scalar>(
    handle: &Handle,
    jobz: cusolverEigMode_t,
    m: i64,
    n: i64,
    a: *const T,
    lda: i64,
    s: *const T::Real,
    u: *const T,
    ldu: i64,
    v: *const T,
    ldv: i64,
    lwork: *mut c_int,
    params: gesvdjInfo_t,
    count: i64,
) -> Outcome {
    size(count)?;
    if m.max(n) > LARGEST_OF_BATCH {
        return Err(INVALID_VALUE);
    }
    gesvdj_size::<T>(handle, jobz, 0, m, n, a, lda, s, u, ldu, v, ldv, lwork, params)
}

/// `cusolverDn<t>gesvdjBatched`: matrices one after the other, of up to 32 rows and columns.
pub(crate) fn gesvdj_batched<T: Scalar>(
    handle: &Handle,
    jobz: cusolverEigMode_t,
    m: i64,
    n: i64,
    a: *mut T,
    lda: i64,
    s: *mut T::Real,
    u: *mut T,
    ldu: i64,
    v: *mut T,
    ldv: i64,
    workspace: *mut T,
    lwork: i64,
    info: *mut c_int,
    params: gesvdjInfo_t,
    count: i64,
) -> Outcome {
    if m.max(n) > LARGEST_OF_BATCH {
        return Err(INVALID_VALUE);
    }
    let vectors = (choice(jobz)?, false);
    let report = begin(Parameters::Gesvdj, params, true)?;
    gesvdj_of(handle, vectors, (m, n), (a, lda), s, (u, ldu), (v, ldv), (workspace, lwork), info, report, order(count)?)
}

/// Singular values with U and V by columns. None if the iteration does not converge.
pub(crate) fn decompose<F: Field>(
    a: &[F],
    m: usize,
    n: usize,
    (wants, economy): (bool, bool),
) -> Option<(Vec<f64>, Vec<F>, Vec<F>)> {
    if a.iter().any(|value| !value.abs1().is_finite()) {
        return None;
    }
    let matrix = MatRef::from_column_major_slice(a, m, n);
    if !wants {
        return Some((matrix.singular_values().ok()?, Vec::new(), Vec::new()));
    }
    let found = if economy { matrix.thin_svd() } else { matrix.svd() }.ok()?;
    let all = |matrix: MatRef<'_, F>| {
        let places = (0..matrix.ncols()).flat_map(|column| (0..matrix.nrows()).map(move |row| (row, column)));
        places.map(|place| matrix[place]).collect::<Vec<F>>()
    };
    Some(((0..m.min(n)).map(|index| found.S()[index].re()).collect(), all(found.U()), all(found.V())))
}

/// Singular values of matrices one after the other.
fn gesvdj_of<T: Scalar>(
    handle: &Handle,
    (wants, economy): (bool, bool),
    (m, n): (i64, i64),
    (a, lda): (*mut T, i64),
    s: *mut T::Real,
    (u, ldu): (*mut T, i64),
    (v, ldv): (*mut T, i64),
    (workspace, lwork): (*mut T, i64),
    info: *mut c_int,
    report: Option<Report>,
    count: usize,
) -> Outcome {
    let mut call = Call::of(handle).with_info(c"info");
    let (m, n) = (order(m)?, order(n)?);
    let least = m.min(n);
    let (left, right) = if economy { (least, least) } else { (m, n) };
    let of = |at: *mut T, rows: usize, columns: usize, given: i64| -> Outcome<Stored> {
        Ok(Stored::of(at, (rows, columns.saturating_mul(count)), leading(given, rows)?))
    };
    let a = of(a, m, n, lda)?;
    let sides = if wants { Some((of(u, m, left, ldu)?, of(v, n, right, ldv)?)) } else { None };
    if least > 0 && count > 0 {
        call.workspace(c"work", workspace, lwork, needed(m, n))?;
    }
    let a = call.updates(c"A", a.region())?;
    let s = call.writes_vector(c"S", s, least.saturating_mul(count))?;
    let sides: Option<(Argument, Argument)> = match sides {
        Some((u, v)) => Some((call.writes(c"U", u.region())?, call.writes(c"V", v.region())?)),
        None => None,
    };
    let info = call.infos(info, count)?;
    call.computes(move |data| {
        let (a, s, info) = (data.take::<T>(a), data.take::<T::Real>(s), data.take::<c_int>(info));
        let mut sides = sides.map(|(u, v)| (data.take::<T>(u), data.take::<T>(v)));
        // Values that are documented as destroyed or unknown are no numbers.
        let lost = T::narrow(T::Wide::nan());
        if let Some((u, v)) = &mut sides {
            u.fill(lost);
            v.fill(lost);
        }
        s.fill(T::Real::narrow(f64::NAN));
        for (index, info) in info.iter_mut().enumerate() {
            let part = |size: usize| index * size..(index + 1) * size;
            let matrix = widen(&a[part(m * n)]);
            let found = decompose(&matrix, m, n, (wants, economy));
            if let Some(report) = &report {
                let known = if wants { found.clone() } else { None };
                report.end(move || {
                    let found = known.or_else(|| decompose(&matrix, m, n, (true, true)));
                    found.map_or(f64::NAN, |(s, u, v)| residual(&matrix, (m, n), &s, &u, &v, least))
                });
            }
            *info = found.is_none().into();
            let (values, left_found, right_found) = found.unwrap_or_default();
            narrow(&mut s[part(least)], &values);
            if let Some((u, v)) = &mut sides {
                narrow(&mut u[part(m * left)], &left_found);
                narrow(&mut v[part(n * right)], &right_found);
            }
        }
        a.fill(lost);
    })
}
