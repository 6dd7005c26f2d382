//! Singular values.

use crate::arguments::{Call, elements, leading, order, tell};
use crate::handle::Handle;
use crate::matrix::{Stored, narrow, widen};
use crate::scalar::{Field, Scalar};
use crate::status::{INVALID_VALUE, Outcome};
use cuarray_stream_work::{Argument, write};
use faer::MatRef;
use std::ffi::{c_char, c_int};

/// The vectors of one side that a call wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Job {
    All,
    Some,
    Overwrite,
    None,
}

impl Job {
    fn of(letter: c_char) -> Outcome<Job> {
        match u8::try_from(letter) {
            Ok(b'A') => Ok(Job::All),
            Ok(b'S') => Ok(Job::Some),
            Ok(b'O') => Ok(Job::Overwrite),
            Ok(b'N') => Ok(Job::None),
            _ => Err(INVALID_VALUE),
        }
    }

    /// The number of vectors in a separate array.
    fn count(self, all: usize, some: usize) -> usize {
        match self {
            Job::All => all,
            Job::Some => some,
            Job::Overwrite | Job::None => 0,
        }
    }
}

/// Singular values with the vectors of both sides by columns, as the call wants them.
#[derive(Default)]
struct Found<F> {
    values: Vec<f64>,
    u: Vec<F>,
    /// The adjoint of V.
    vt: Vec<F>,
}

/// Decomposes an m×n matrix with m >= n. None if the iteration does not converge.
fn decompose<F: Field>(a: &[F], m: usize, n: usize, (u, vt): (Job, Job)) -> Option<Found<F>> {
    if a.iter().any(|value| !value.abs1().is_finite()) {
        return None;
    }
    let matrix = MatRef::from_column_major_slice(a, m, n);
    if (u, vt) == (Job::None, Job::None) {
        return Some(Found { values: matrix.singular_values().ok()?, ..Found::default() });
    }
    let found = if u == Job::All { matrix.svd() } else { matrix.thin_svd() }.ok()?;
    let places =
        |rows: usize, columns: usize| (0..columns).flat_map(move |column| (0..rows).map(move |row| (row, column)));
    Some(Found {
        values: (0..n).map(|index| found.S()[index].re()).collect(),
        u: places(m, found.U().ncols()).map(|place| found.U()[place]).collect(),
        vt: places(n, n).map(|(row, column)| found.V()[(column, row)].conjugate()).collect(),
    })
}

/// The elements of the workspace for an m×n matrix.
pub(crate) fn needed(m: usize, n: usize) -> c_int {
    elements(m.saturating_add(n).saturating_add(64).saturating_mul(n.min(m)))
}

/// `cusolverDn<t>gesvd_bufferSize`.
// The list of functions passes the type to each of its functions.
#[allow(clippy::extra_unused_type_parameters)]
pub(crate) fn gesvd_size<T: Scalar>(_: &Handle, m: i64, n: i64, lwork: *mut c_int) -> Outcome {
    let (m, n) = (order(m)?, order(n)?);
    if m < n {
        return Err(INVALID_VALUE);
    }
    write(lwork, needed(m, n))
}

/// `cusolverDn<t>gesvd`, for matrices with at least as many rows as columns.
pub(crate) fn gesvd<T: Scalar>(
    handle: &Handle,
    jobu: c_char,
    jobvt: c_char,
    m: i64,
    n: i64,
    a: *mut T,
    lda: i64,
    s: *mut T::Real,
    u: *mut T,
    ldu: i64,
    vt: *mut T,
    ldvt: i64,
    workspace: *mut T,
    lwork: i64,
    rwork: *mut T::Real,
    info: *mut c_int,
) -> Outcome {
    let mut call = Call::of(handle).with_info(c"info");
    let (rows, columns) = (order(m)?, order(n)?);
    if columns > 0 {
        call.workspace(c"work", workspace, lwork, needed(rows, columns))?;
    }
    if columns > 1 && !rwork.is_null() {
        let count = elements(columns - 1);
        call.workspace(c"rwork", rwork, count.into(), count)?;
    }
    gesvd_of(call, (jobu, jobvt), (m, n), (a, lda), s, (u, ldu), (vt, ldvt), info)
}

/// Singular values after the workspaces are described.
pub(crate) fn gesvd_of<T: Scalar>(
    mut call: Call<'_>,
    (jobu, jobvt): (c_char, c_char),
    (m, n): (i64, i64),
    (a, lda): (*mut T, i64),
    s: *mut T::Real,
    (u, ldu): (*mut T, i64),
    (vt, ldvt): (*mut T, i64),
    info: *mut c_int,
) -> Outcome {
    let jobs = (Job::of(jobu)?, Job::of(jobvt)?);
    let (m, n) = (order(m)?, order(n)?);
    if m < n || jobs == (Job::Overwrite, Job::Overwrite) {
        return Err(INVALID_VALUE);
    }
    let a = Stored::of(a, (m, n), leading(lda, m)?);
    let (left, right) = (jobs.0.count(m, n), jobs.1.count(n, n));
    let u = Stored::of(u, (m, left), leading(ldu, if left > 0 { m } else { 1 })?);
    let vt = Stored::of(vt, (right, n), leading(ldvt, right)?);
    let a = call.updates(c"A", a.region())?;
    let s = call.writes_vector(c"S", s, n)?;
    let wants = |stored: Stored| stored.rows > 0 && stored.columns > 0;
    let u: Option<Argument> = wants(u).then(|| call.writes(c"U", u.region())).transpose()?;
    let vt: Option<Argument> = wants(vt).then(|| call.writes(c"VT", vt.region())).transpose()?;
    let info = call.info(info)?;
    call.computes(move |data| {
        let (a, s) = (data.take::<T>(a), data.take::<T::Real>(s));
        let found = decompose(&widen(a), m, n, jobs);
        let failed = usize::from(found.is_none());
        let found = found.unwrap_or_default();
        // Values that are documented as destroyed or unknown are no numbers.
        let lost = T::narrow(T::Wide::nan());
        let put = |to: &mut [T], values: &[T::Wide]| {
            to.fill(lost);
            narrow(to, values);
        };
        s.fill(T::Real::narrow(f64::NAN));
        narrow(s, &found.values);
        match jobs {
            (Job::Overwrite, _) => put(a, &found.u),
            (_, Job::Overwrite) => {
                a.fill(lost);
                // The first n rows.
                a.chunks_mut(m.max(1)).zip(found.vt.chunks(n.max(1))).for_each(|(to, from)| narrow(to, from));
            }
            _ => a.fill(lost),
        }
        if let Some(u) = u {
            put(data.take::<T>(u), &found.u);
        }
        if let Some(vt) = vt {
            put(data.take::<T>(vt), &found.vt);
        }
        tell(data, info, failed);
    })
}
