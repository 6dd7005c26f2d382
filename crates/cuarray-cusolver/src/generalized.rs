//! Eigenvalues of symmetric and Hermitian matrices in a range, also relative to a positive definite matrix.

use crate::arguments::{Call, HostResults, choice, fill, leading, order};
use crate::eigen::{self, decompose};
use crate::handle::{Handle, Parameters, check_parameters};
use crate::matrix::{Fill, Stored, narrow, widen};
use crate::scalar::{Field, Scalar};
use crate::status::{INVALID_VALUE, Outcome};
use crate::types::*;
use crate::{arguments, cholesky};
use cuarray_stream_work::{Argument, write};
use faer::linalg::triangular_solve::{solve_lower_triangular_in_place, solve_upper_triangular_in_place};
use faer::{Mat, MatMut, Par};
use std::ffi::c_int;

/// The eigenvalues that a call wants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Range {
    All,
    /// The first and the last one, counted from 0.
    Indices(usize, usize),
    /// Those above the first number, up to the second one.
    Values(f64, f64),
}

impl Range {
    pub(crate) fn of(number: cusolverEigRange_t, n: usize, values: (f64, f64), indices: (i64, i64)) -> Outcome<Range> {
        match number {
            1001 => Ok(Range::All),
            1002 => {
                let first = arguments::size(indices.0.saturating_sub(1))?;
                let last = arguments::size(indices.1.saturating_sub(1))?;
                if n > 0 && (first > last || last >= n) { Err(INVALID_VALUE) } else { Ok(Range::Indices(first, last)) }
            }
            // A comparison with no number holds for none.
            1003 if values.0 < values.1 => Ok(Range::Values(values.0, values.1)),
            _ => Err(INVALID_VALUE),
        }
    }

    /// The places of the wanted ones among eigenvalues in ascending order.
    fn of_values(self, values: &[f64]) -> std::ops::Range<usize> {
        match self {
            Range::All => 0..values.len(),
            Range::Indices(first, last) => first.min(values.len())..values.len().min(last + 1),
            Range::Values(low, high) => {
                let first = values.partition_point(|value| *value <= low);
                first..values.partition_point(|value| *value <= high).max(first)
            }
        }
    }
}

/// The place of the number of eigenvalues that were found, on the host.
#[derive(Clone, Copy)]
pub(crate) enum Count {
    Narrow(*mut c_int),
    Wide(*mut i64),
}

/// Writes the number of eigenvalues while the call waits.
#[derive(Clone, Copy)]
enum CountResult {
    Narrow(HostResults<c_int>),
    Wide(HostResults<i64>),
}

impl Count {
    fn write(self, count: usize) -> Outcome {
        match self {
            Count::Narrow(to) => write(to, c_int::try_from(count).unwrap_or(c_int::MAX)),
            Count::Wide(to) => write(to, i64::try_from(count).unwrap_or(i64::MAX)),
        }
    }

    fn result(self) -> Outcome<CountResult> {
        Ok(match self {
            Count::Narrow(to) => CountResult::Narrow(HostResults::at(to)?),
            Count::Wide(to) => CountResult::Wide(HostResults::at(to)?),
        })
    }
}

impl CountResult {
    fn write(self, count: usize) {
        match self {
            CountResult::Narrow(to) => to.write(0, c_int::try_from(count).unwrap_or(c_int::MAX)),
            CountResult::Wide(to) => to.write(0, i64::try_from(count).unwrap_or(i64::MAX)),
        }
    }
}

/// The equation of eigenvalues relative to a matrix B.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Equation {
    /// `A x = w B x`
    Relative,
    /// `A B x = w x`
    Product,
    /// `B A x = w x`
    ReverseProduct,
}

impl Equation {
    fn of(number: cusolverEigType_t) -> Outcome<Equation> {
        match number {
            1 => Ok(Equation::Relative),
            2 => Ok(Equation::Product),
            3 => Ok(Equation::ReverseProduct),
            _ => Err(INVALID_VALUE),
        }
    }
}

/// The matrix whose triangle is stored, complete.
fn complete<F: Field>(square: &[F], n: usize, fill: Fill) -> Mat<F> {
    Mat::from_fn(n, n, |row, column| {
        let stored = fill.rows(column, n).contains(&row);
        let value = if stored { square[column * n + row] } else { square[row * n + column].conjugate() };
        if row == column { F::of_parts(value.re(), 0.0) } else { value }
    })
}

/// The lower factor of a matrix that [`cholesky::factor`] has factored.
fn lower<F: Field>(square: &[F], n: usize, fill: Fill) -> Mat<F> {
    Mat::from_fn(n, n, |row, column| match (row >= column, fill) {
        (false, _) => F::default(),
        (true, Fill::Lower) => square[column * n + row],
        (true, Fill::Upper) => square[row * n + column].conjugate(),
    })
}

/// The eigenvalues relative to the matrix with the factor `l`, and their vectors by columns.
fn relative<F: Field>(
    a: Mat<F>,
    l: &Mat<F>,
    equation: Equation,
    n: usize,
    vectors: bool,
) -> Option<(Vec<f64>, Vec<F>)> {
    let standard = match equation {
        Equation::Relative => {
            let mut half = a;
            solve_lower_triangular_in_place(l.as_ref(), half.as_mut(), Par::Seq);
            let mut whole = half.adjoint().to_owned();
            solve_lower_triangular_in_place(l.as_ref(), whole.as_mut(), Par::Seq);
            whole
        }
        Equation::Product | Equation::ReverseProduct => l.adjoint() * &a * l,
    };
    let elements: Vec<F> = (0..n * n).map(|place| standard[(place % n, place / n)]).collect();
    let (values, mut found) = decompose(&elements, n, Fill::Lower, vectors)?;
    if vectors && equation == Equation::ReverseProduct {
        let product = l * Mat::from_fn(n, n, |row, column| found[column * n + row]);
        found = (0..n * n).map(|place| product[(place % n, place / n)]).collect();
    } else if vectors && n > 0 {
        let found = MatMut::from_column_major_slice_mut(&mut found, n, n);
        solve_upper_triangular_in_place(l.adjoint(), found, Par::Seq);
    }
    Some((values, found))
}

/// A matrix B, with its name, address and leading dimension.
type Second<T> = (Equation, *mut T, i64);

/// Enqueues a call after its workspace is described.
pub(crate) fn enqueue<T: Scalar>(
    mut call: Call<'_>,
    second: Option<Second<T>>,
    (jobz, uplo, n): (cusolverEigMode_t, cublasFillMode_t, i64),
    range: Range,
    (a, lda): (*mut T, i64),
    w: *mut T::Real,
    count: Option<Count>,
    info: *mut c_int,
) -> Outcome {
    let (vectors, fill, n) = (choice(jobz)?, fill(uplo)?, order(n)?);
    let a = Stored::of(a, (n, n), leading(lda, n)?);
    let given = call.reads(c"A", a.triangle(fill))?;
    let second = match second {
        None => None,
        Some((equation, b, ldb)) => {
            let b = Stored::of(b, (n, n), leading(ldb, n)?);
            Some((equation, call.updates(c"B", b.triangle(fill))?))
        }
    };
    let a = call.writes(c"A", if vectors { a.region() } else { a.triangle(fill) })?;
    let w = call.writes_vector(c"W", w, n)?;
    let info = call.info(info)?;
    let counted = match (range, count) {
        (Range::Values(..), Some(count)) => Some(count.result()?),
        (Range::All, Some(count)) => count.write(n).map(|()| None)?,
        (Range::Indices(first, last), Some(count)) => {
            count.write(if n == 0 { 0 } else { last - first + 1 }).map(|()| None)?
        }
        (_, None) => None,
    };
    let plan = Plan { second, vectors, fill, n, range, given, a, w, info, counted };
    let closure = move |data: &mut cuarray_stream_work::Data<'_>| plan.run::<T>(data);
    if counted.is_some() { call.computes_and_waits(closure) } else { call.computes(closure) }
}

/// A call whose arguments are checked.
#[derive(Clone, Copy)]
struct Plan {
    second: Option<(Equation, Argument)>,
    vectors: bool,
    fill: Fill,
    n: usize,
    range: Range,
    given: Argument,
    a: Argument,
    w: Argument,
    info: Argument,
    counted: Option<CountResult>,
}

impl Plan {
    fn run<T: Scalar>(self, data: &mut cuarray_stream_work::Data<'_>) {
        let Plan { n, fill, .. } = self;
        let given = widen(data.take::<T>(self.given));
        let (found, failed) = match self.second {
            None => {
                let found = decompose(&given, n, fill, self.vectors);
                let failed = found.is_none().into();
                (found, failed)
            }
            Some((equation, b)) => {
                let b = data.take::<T>(b);
                let mut factor = widen(b);
                let minor = cholesky::factor(&mut factor, n, fill);
                narrow(b, &factor);
                if minor > 0 {
                    (None, n + minor)
                } else {
                    let (a, l) = (complete(&given, n, fill), lower(&factor, n, fill));
                    let found = relative(a, &l, equation, n, self.vectors);
                    let failed = found.is_none().into();
                    (found, failed)
                }
            }
        };
        let (a, w) = (data.take::<T>(self.a), data.take::<T::Real>(self.w));
        // Values that are documented as destroyed or unknown are no numbers.
        a.fill(T::narrow(T::Wide::nan()));
        w.fill(T::Real::narrow(f64::NAN));
        let (values, columns) = found.unwrap_or_default();
        let wanted = self.range.of_values(&values);
        narrow(w, &values[wanted.clone()]);
        if self.vectors {
            narrow(a, columns.get(wanted.start * n..wanted.end * n).unwrap_or_default());
        }
        if let Some(count) = self.counted {
            count.write(wanted.len());
        }
        arguments::tell(data, self.info, failed);
    }
}

/// The call with its workspace.
fn call_with<T: Scalar>(handle: &Handle, n: i64, work: *mut T, lwork: i64) -> Outcome<Call<'_>> {
    let mut call = Call::of(handle).with_info(c"info");
    let n = order(n)?;
    if n > 0 {
        call.workspace(c"work", work, lwork, eigen::needed(n))?;
    }
    Ok(call)
}

/// `cusolverDn<t>syevdx_bufferSize` and `cusolverDn<t>heevdx_bufferSize`.
pub(crate) fn syevdx_size<T: Scalar>(
    handle: &Handle,
    jobz: cusolverEigMode_t,
    range: cusolverEigRange_t,
    uplo: cublasFillMode_t,
    n: i64,
    a: *const T,
    lda: i64,
    low: T::Real,
    high: T::Real,
    first: i64,
    last: i64,
    _: *mut c_int,
    w: *const T::Real,
    lwork: *mut c_int,
) -> Outcome {
    Range::of(range, order(n)?, (low.widen(), high.widen()), (first, last))?;
    eigen::syevd_size::<T>(handle, jobz, uplo, n, a, lda, w, lwork)
}

/// `cusolverDn<t>syevdx` and `cusolverDn<t>heevdx`.
pub(crate) fn syevdx<T: Scalar>(
    handle: &Handle,
    jobz: cusolverEigMode_t,
    range: cusolverEigRange_t,
    uplo: cublasFillMode_t,
    n: i64,
    a: *mut T,
    lda: i64,
    low: T::Real,
    high: T::Real,
    first: i64,
    last: i64,
    count: *mut c_int,
    w: *mut T::Real,
    work: *mut T,
    lwork: i64,
    info: *mut c_int,
) -> Outcome {
    let range = Range::of(range, order(n)?, (low.widen(), high.widen()), (first, last))?;
    let call = call_with::<T>(handle, n, work, lwork)?;
    enqueue(call, None, (jobz, uplo, n), range, (a, lda), w, Some(Count::Narrow(count)), info)
}

/// `cusolverDn<t>sygvd_bufferSize` and `cusolverDn<t>hegvd_bufferSize`.
pub(crate) fn sygvd_size<T: Scalar>(
    handle: &Handle,
    itype: cusolverEigType_t,
    jobz: cusolverEigMode_t,
    uplo: cublasFillMode_t,
    n: i64,
    a: *const T,
    lda: i64,
    _: *const T,
    ldb: i64,
    w: *const T::Real,
    lwork: *mut c_int,
) -> Outcome {
    Equation::of(itype)?;
    leading(ldb, order(n)?)?;
    eigen::syevd_size::<T>(handle, jobz, uplo, n, a, lda, w, lwork)
}

/// `cusolverDn<t>sygvd` and `cusolverDn<t>hegvd`.
pub(crate) fn sygvd<T: Scalar>(
    handle: &Handle,
    itype: cusolverEigType_t,
    jobz: cusolverEigMode_t,
    uplo: cublasFillMode_t,
    n: i64,
    a: *mut T,
    lda: i64,
    b: *mut T,
    ldb: i64,
    w: *mut T::Real,
    work: *mut T,
    lwork: i64,
    info: *mut c_int,
) -> Outcome {
    let second = Some((Equation::of(itype)?, b, ldb));
    let call = call_with::<T>(handle, n, work, lwork)?;
    enqueue(call, second, (jobz, uplo, n), Range::All, (a, lda), w, None, info)
}

/// `cusolverDn<t>sygvdx_bufferSize` and `cusolverDn<t>hegvdx_bufferSize`.
pub(crate) fn sygvdx_size<T: Scalar>(
    handle: &Handle,
    itype: cusolverEigType_t,
    jobz: cusolverEigMode_t,
    range: cusolverEigRange_t,
    uplo: cublasFillMode_t,
    n: i64,
    a: *const T,
    lda: i64,
    b: *const T,
    ldb: i64,
    low: T::Real,
    high: T::Real,
    first: i64,
    last: i64,
    _: *mut c_int,
    w: *const T::Real,
    lwork: *mut c_int,
) -> Outcome {
    Range::of(range, order(n)?, (low.widen(), high.widen()), (first, last))?;
    sygvd_size::<T>(handle, itype, jobz, uplo, n, a, lda, b, ldb, w, lwork)
}

/// `cusolverDn<t>sygvdx` and `cusolverDn<t>hegvdx`.
pub(crate) fn sygvdx<T: Scalar>(
    handle: &Handle,
    itype: cusolverEigType_t,
    jobz: cusolverEigMode_t,
    range: cusolverEigRange_t,
    uplo: cublasFillMode_t,
    n: i64,
    a: *mut T,
    lda: i64,
    b: *mut T,
    ldb: i64,
    low: T::Real,
    high: T::Real,
    first: i64,
    last: i64,
    count: *mut c_int,
    w: *mut T::Real,
    work: *mut T,
    lwork: i64,
    info: *mut c_int,
) -> Outcome {
    let range = Range::of(range, order(n)?, (low.widen(), high.widen()), (first, last))?;
    let second = Some((Equation::of(itype)?, b, ldb));
    let call = call_with::<T>(handle, n, work, lwork)?;
    enqueue(call, second, (jobz, uplo, n), range, (a, lda), w, Some(Count::Narrow(count)), info)
}

/// `cusolverDn<t>sygvj_bufferSize` and `cusolverDn<t>hegvj_bufferSize`.
pub(crate) fn sygvj_size<T: Scalar>(
    handle: &Handle,
    itype: cusolverEigType_t,
    jobz: cusolverEigMode_t,
    uplo: cublasFillMode_t,
    n: i64,
    a: *const T,
    lda: i64,
    b: *const T,
    ldb: i64,
    w: *const T::Real,
    lwork: *mut c_int,
    params: syevjInfo_t,
) -> Outcome {
    check_parameters(Parameters::Syevj, params)?;
    sygvd_size::<T>(handle, itype, jobz, uplo, n, a, lda, b, ldb, w, lwork)
}

/// `cusolverDn<t>sygvj` and `cusolverDn<t>hegvj`.
pub(crate) fn sygvj<T: Scalar>(
    handle: &Handle,
    itype: cusolverEigType_t,
    jobz: cusolverEigMode_t,
    uplo: cublasFillMode_t,
    n: i64,
    a: *mut T,
    lda: i64,
    b: *mut T,
    ldb: i64,
    w: *mut T::Real,
    work: *mut T,
    lwork: i64,
    info: *mut c_int,
    params: syevjInfo_t,
) -> Outcome {
    check_parameters(Parameters::Syevj, params)?;
    sygvd::<T>(handle, itype, jobz, uplo, n, a, lda, b, ldb, w, work, lwork, info)
}
