//! The functions that cuSOLVER computes by iterative refinement of a solution in a lower precision.
//!
//! Here the factors have double precision, so that the solution needs no refinement: the number of iterations is 0, and A keeps its values.

use crate::arguments::{Call, HostResults, Op, leading, order, size, tell};
use crate::handle::Handle;
use crate::lu;
use crate::matrix::{Stored, narrow, widen};
use crate::reflectors;
use crate::scalar::{Field, Scalar};
use crate::status::{INVALID_VALUE, Outcome};
use cuarray_stream_work::write;
use faer::linalg::triangular_solve::solve_upper_triangular_in_place;
use faer::{MatMut, MatRef, Par};
use std::ffi::{c_int, c_void};

/// The bytes of the workspace for an m×n matrix.
fn needed<T>(m: usize, n: usize) -> usize {
    m.saturating_mul(n).saturating_add(m.max(n).saturating_mul(32)).saturating_mul(size_of::<T>()).max(1)
}

/// `cusolverDn<t1><t2>gesv_bufferSize`.
pub(crate) fn gesv_size<T: Scalar>(
    _: &Handle,
    n: i64,
    columns: i64,
    _: *mut T,
    lda: i64,
    _: *mut c_int,
    _: *mut T,
    ldb: i64,
    _: *mut T,
    ldx: i64,
    _: *mut c_void,
    bytes: *mut usize,
) -> Outcome {
    let n = order(n)?;
    size(columns)?;
    for given in [lda, ldb, ldx] {
        leading(given, n)?;
    }
    write(bytes, needed::<T>(n, n))
}

/// `cusolverDn<t1><t2>gesv`: the solution of a system of equations.
pub(crate) fn gesv<T: Scalar>(
    handle: &Handle,
    n: i64,
    columns: i64,
    a: *mut T,
    lda: i64,
    pivots: *mut c_int,
    b: *mut T,
    ldb: i64,
    x: *mut T,
    ldx: i64,
    workspace: *mut c_void,
    given: usize,
    iterations: *mut c_int,
    info: *mut c_int,
) -> Outcome {
    let mut call = Call::of(handle).with_info(c"d_info");
    let (n, columns) = (order(n)?, size(columns)?);
    let a = Stored::of(a, (n, n), leading(lda, n)?);
    let b = Stored::of(b, (n, columns), leading(ldb, n)?);
    let x = Stored::of(x, (n, columns), leading(ldx, n)?);
    let iterations = HostResults::at(iterations)?;
    if n > 0 {
        call.buffer(c"dWorkspace", workspace, given, needed::<T>(n, n))?;
    }
    let a = call.reads(c"dA", a.region())?;
    let b = call.reads(c"dB", b.region())?;
    let pivots = if pivots.is_null() { None } else { Some(call.writes_vector(c"dipiv", pivots, n)?) };
    let x = call.writes(c"dX", x.region())?;
    let info = call.info(info)?;
    call.computes_and_waits(move |data| {
        let (mut matrix, mut right) = (widen(data.take::<T>(a)), widen(data.take::<T>(b)));
        let mut rows = vec![0; n];
        let failed = lu::factor(&mut matrix, n, n, Some(&mut *rows));
        if failed == 0 {
            lu::solve(&matrix, n, Op::None, Some(&rows), &mut right, columns);
        } else {
            right.fill(T::Wide::nan());
        }
        narrow(data.take::<T>(x), &right);
        if let Some(pivots) = pivots {
            data.take::<c_int>(pivots).iter_mut().zip(&rows).for_each(|(to, row)| *to = *row as c_int + 1);
        }
        iterations.write(0, 0);
        tell(data, info, failed);
    })
}

/// `cusolverDn<t1><t2>gels_bufferSize`.
pub(crate) fn gels_size<T: Scalar>(
    _: &Handle,
    m: i64,
    n: i64,
    columns: i64,
    _: *mut T,
    lda: i64,
    _: *mut T,
    ldb: i64,
    _: *mut T,
    ldx: i64,
    _: *mut c_void,
    bytes: *mut usize,
) -> Outcome {
    let (m, n) = (order(m)?, order(n)?);
    size(columns)?;
    leading(lda, m)?;
    leading(ldb, m)?;
    leading(ldx, n)?;
    if m < n {
        return Err(INVALID_VALUE);
    }
    write(bytes, needed::<T>(m, n))
}

/// The solution of least squares for a matrix with at least as many rows as columns. Returns 0, or the number of the first diagonal element
/// of R that is 0.
fn least_squares<F: Field>(a: &mut [F], (m, n): (usize, usize), b: &mut [F], columns: usize) -> usize {
    let tau = reflectors::factor(a, m, n);
    reflectors::apply(a, &tau, (false, true), b, m, columns);
    if let Some(column) = (0..n).find(|column| a[column * m + column] == F::default()) {
        return column + 1;
    }
    let r = MatRef::from_column_major_slice(a, m, n).get(0..n, 0..n);
    let b = MatMut::from_column_major_slice_mut(b, m, columns).subrows_mut(0, n);
    solve_upper_triangular_in_place(r, b, Par::Seq);
    0
}

/// `cusolverDn<t1><t2>gels`: the solution of least squares.
pub(crate) fn gels<T: Scalar>(
    handle: &Handle,
    m: i64,
    n: i64,
    columns: i64,
    a: *mut T,
    lda: i64,
    b: *mut T,
    ldb: i64,
    x: *mut T,
    ldx: i64,
    workspace: *mut c_void,
    given: usize,
    iterations: *mut c_int,
    info: *mut c_int,
) -> Outcome {
    let mut call = Call::of(handle).with_info(c"d_info");
    let (m, n, columns) = (order(m)?, order(n)?, size(columns)?);
    if m < n {
        return Err(INVALID_VALUE);
    }
    let a = Stored::of(a, (m, n), leading(lda, m)?);
    let b = Stored::of(b, (m, columns), leading(ldb, m)?);
    let x = Stored::of(x, (n, columns), leading(ldx, n)?);
    let iterations = HostResults::at(iterations)?;
    if n > 0 {
        call.buffer(c"dWorkspace", workspace, given, needed::<T>(m, n))?;
    }
    let (a, b) = (call.reads(c"dA", a.region())?, call.reads(c"dB", b.region())?);
    let x = call.writes(c"dX", x.region())?;
    let info = call.info(info)?;
    call.computes_and_waits(move |data| {
        let (mut matrix, mut right) = (widen(data.take::<T>(a)), widen(data.take::<T>(b)));
        let failed = least_squares(&mut matrix, (m, n), &mut right, columns);
        if failed > 0 {
            right.fill(T::Wide::nan());
        }
        let x = data.take::<T>(x);
        for (to, from) in x.chunks_mut(n.max(1)).zip(right.chunks(m.max(1))) {
            narrow(to, from);
        }
        iterations.write(0, 0);
        tell(data, info, failed);
    })
}
