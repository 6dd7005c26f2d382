//! Reduction of matrices to bidiagonal ones.
//!
//! Reflectors and their places are LAPACK's: those of columns below the diagonal, those of rows right of the element beside it.

use crate::arguments::{Call, elements, leading, order, tell};
use crate::handle::Handle;
use crate::matrix::{Stored, narrow, widen};
use crate::reflectors::{product, reflector};
use crate::scalar::{Field, Scalar};
use crate::status::{INVALID_VALUE, Outcome};
use cuarray_stream_work::write;
use std::ffi::c_int;

/// The bidiagonal matrix, and the scalars of both kinds of reflectors.
struct Reduced<F> {
    diagonal: Vec<f64>,
    beside: Vec<f64>,
    of_columns: Vec<F>,
    of_rows: Vec<F>,
}

/// Reduces an m×n matrix with at least as many rows as columns.
fn reduce<F: Field>(a: &mut [F], m: usize, n: usize) -> Reduced<F> {
    let mut reduced = Reduced { diagonal: vec![], beside: vec![], of_columns: vec![], of_rows: vec![] };
    for at in 0..n {
        let (known, others) = a.split_at_mut((at + 1) * m);
        let vector = &mut known[at * m + at..];
        let tau = reflector(vector);
        reduced.diagonal.push(vector[0].re());
        reduced.of_columns.push(tau);
        let (_, v) = vector.split_at(1);
        for other in others.chunks_mut(m) {
            let (head, rest) = other[at..].split_at_mut(1);
            let sum = (head[0] + product(v, rest)) * tau.conjugate();
            head[0] -= sum;
            rest.iter_mut().zip(v).for_each(|(value, v)| *value -= *v * sum);
        }
        // The reflector of a row maps the conjugate of the row.
        let mut row: Vec<F> = others.chunks(m).map(|other| other[at].conjugate()).collect();
        let tau = reflector(&mut row);
        reduced.of_rows.push(tau);
        let Some((first, v)) = row.split_first() else { continue };
        reduced.beside.push(first.re());
        for below in at + 1..m {
            let values = others.chunks(m).skip(1).zip(v);
            let sum = values.fold(others[below], |sum, (other, v)| sum + other[below] * *v) * tau;
            others[below] -= sum;
            for (other, v) in others.chunks_mut(m).skip(1).zip(v) {
                other[below] -= sum * v.conjugate();
            }
        }
        others.chunks_mut(m).zip(&row).for_each(|(other, value)| other[at] = value.conjugate());
    }
    reduced
}

/// The sizes of a matrix. Documented: it has at least as many rows as columns.
fn sizes(m: i64, n: i64) -> Outcome<(usize, usize)> {
    let (m, n) = (order(m)?, order(n)?);
    if m < n { Err(INVALID_VALUE) } else { Ok((m, n)) }
}

/// The elements of the workspace.
fn needed(m: usize, n: usize) -> c_int {
    elements((m + n).saturating_mul(32))
}

/// `cusolverDn<t>gebrd_bufferSize`.
pub(crate) fn gebrd_size(_: &Handle, m: i64, n: i64, lwork: *mut c_int) -> Outcome {
    let (m, n) = sizes(m, n)?;
    write(lwork, needed(m, n))
}

/// `cusolverDn<t>gebrd`.
pub(crate) fn gebrd<T: Scalar>(
    handle: &Handle,
    m: i64,
    n: i64,
    a: *mut T,
    lda: i64,
    d: *mut T::Real,
    e: *mut T::Real,
    tauq: *mut T,
    taup: *mut T,
    work: *mut T,
    lwork: i64,
    info: *mut c_int,
) -> Outcome {
    let mut call = Call::of(handle);
    let (m, n) = sizes(m, n)?;
    let a = Stored::of(a, (m, n), leading(lda, m)?);
    if n > 0 {
        call.workspace(c"Work", work, lwork, needed(m, n))?;
    }
    let a = call.updates(c"A", a.region())?;
    let (d, e) = (call.writes_vector(c"D", d, n)?, call.writes_vector(c"E", e, n.saturating_sub(1))?);
    let (tauq, taup) = (call.writes_vector(c"TAUQ", tauq, n)?, call.writes_vector(c"TAUP", taup, n)?);
    let info = call.info(info)?;
    call.computes(move |data| {
        let a = data.take::<T>(a);
        let mut matrix = widen(a);
        let reduced = reduce(&mut matrix, m, n);
        narrow(a, &matrix);
        narrow(data.take::<T::Real>(d), &reduced.diagonal);
        narrow(data.take::<T::Real>(e), &reduced.beside);
        narrow(data.take::<T>(tauq), &reduced.of_columns);
        narrow(data.take::<T>(taup), &reduced.of_rows);
        tell(data, info, 0);
    })
}
