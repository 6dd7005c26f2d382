//! QR decompositions of batches, and least squares by them.

use crate::arguments::{Call, Op, leading, order, size};
use crate::handle::Handle;
use crate::layout::Stored;
use crate::level1::norm;
use crate::scalar::Scalar;
use crate::status::{INVALID_VALUE, NOT_SUPPORTED, Outcome, cublasStatus_t};
use crate::types::cublasOperation_t;
use cuarray_stream_work::{Part, Rows, write};
use num_traits::Zero;
use std::ffi::c_int;

/// Replaces a column by its reflection `1 - tau * v * v^H` of LAPACK, whose first element of `v` is 1. The first element becomes that of R.
fn reflect<T: Scalar>(column: &mut [T]) -> T {
    let Some((first, rest)) = column.split_first_mut() else { return T::zero() };
    let length = norm(rest);
    if length.is_zero() && first.im().is_zero() {
        return T::zero();
    }
    let whole = norm(&[*first, T::real(length)]);
    let beta = if first.re() < T::Real::zero() { whole } else { -whole };
    let tau = T::of_parts((beta - first.re()) / beta, -first.im() / beta);
    let scale = *first - T::real(beta);
    rest.iter_mut().for_each(|element| *element /= scale);
    *first = T::real(beta);
    tau
}

/// Multiplies the end of a column from the left by the adjoint of a reflection.
fn apply<T: Scalar>(tail: &[T], tau: T, column: &mut [T]) {
    let Some((first, rest)) = column.split_first_mut() else { return };
    let sum = tail.iter().zip(rest.iter()).fold(*first, |sum, (v, element)| sum + v.conj() * *element);
    let factor = tau.conj() * sum;
    *first -= factor;
    rest.iter_mut().zip(tail).for_each(|(element, v)| *element -= *v * factor);
}

/// Decomposes a matrix of `m` rows in place.
fn decompose<T: Scalar>(a: &mut [T], m: usize, taus: &mut [T]) {
    for (index, tau) in taus.iter_mut().enumerate() {
        let (done, others) = a.split_at_mut((index + 1) * m);
        let column = &mut done[index * m + index..];
        *tau = reflect(column);
        for other in others.chunks_mut(m) {
            apply(&column[1..], *tau, &mut other[index..]);
        }
    }
}

/// `cublas<t>geqrfBatched`. `info` is on the host.
pub(crate) fn geqrf<T: Scalar>(
    handle: &Handle,
    m: i64,
    n: i64,
    a: *const *mut T,
    lda: i64,
    tau: *const *mut T,
    info: *mut c_int,
    count: i64,
) -> Outcome {
    let mut call = Call::of(handle);
    // The number of the wrong argument, with a minus.
    let wrong = |number: c_int| move |status| write(info, -number).err().unwrap_or(status);
    let (m, n) = (size(m).and_then(order).map_err(wrong(1))?, size(n).and_then(order).map_err(wrong(2))?);
    let stored = Stored::array::<_, T>(a, (m, n), leading(lda, m).map_err(wrong(4))?);
    let count = size(count).map_err(wrong(7))?;
    let least = m.min(n);
    write::<_, cublasStatus_t>(info, 0)?;
    if least == 0 || count == 0 {
        return Ok(());
    }
    let a = call.updates(c"Aarray", stored.behind_pointers(count, Part::All))?;
    let taus = Stored::array::<_, T>(tau, (least, 1), least);
    let tau = call.writes(c"TauArray", taus.behind_pointers(count, Part::All))?;
    call.computes(move |data| {
        let (a, taus) = (data.take::<T>(a), data.take::<T>(tau));
        for (a, taus) in a.chunks_mut(m * n).zip(taus.chunks_mut(least)) {
            decompose(a, m, taus);
        }
    })
}

/// Solves for one matrix. Returns 0, or the number of the first diagonal element of R that is 0.
fn solve<T: Scalar>(a: &mut [T], (m, n): (usize, usize), c: &mut [T]) -> c_int {
    let mut taus = vec![T::zero(); n];
    decompose(a, m, &mut taus);
    if let Some(index) = (0..n).find(|index| a[index * m + index].is_zero()) {
        return index as c_int + 1;
    }
    for column in c.chunks_mut(m) {
        for (index, tau) in taus.iter().enumerate() {
            apply(&a[index * m + index + 1..(index + 1) * m], *tau, &mut column[index..]);
        }
        for row in (0..n).rev() {
            let known = (row + 1..n).fold(column[row], |value, other| value - a[other * m + row] * column[other]);
            column[row] = known / a[row * m + row];
        }
    }
    0
}

/// `cublas<t>gelsBatched`, for at least as many equations as unknowns. `info` is on the host.
pub(crate) fn gels<T: Scalar>(
    handle: &Handle,
    trans: cublasOperation_t,
    m: i64,
    n: i64,
    columns: i64,
    a: *const *mut T,
    lda: i64,
    c: *const *mut T,
    ldc: i64,
    info: *mut c_int,
    device_info: *mut c_int,
    count: i64,
) -> Outcome {
    let mut call = Call::of(handle);
    let wrong = |number: c_int| move |status| write(info, -number).err().unwrap_or(status);
    let op = Op::of(trans).map_err(wrong(1))?;
    let (m, n) = (size(m).and_then(order).map_err(wrong(2))?, size(n).and_then(order).map_err(wrong(3))?);
    let columns = size(columns).map_err(wrong(4))?;
    let a = Stored::array::<_, T>(a, (m, n), leading(lda, m).map_err(wrong(6))?);
    let c = Stored::array::<_, T>(c, (m, columns), leading(ldc, m).map_err(wrong(8))?);
    let count = size(count).map_err(wrong(11))?;
    if op != Op::None || m < n {
        return Err(NOT_SUPPORTED);
    }
    if info.is_null() {
        return Err(INVALID_VALUE);
    }
    write::<_, cublasStatus_t>(info, 0)?;
    if n == 0 || columns == 0 || count == 0 {
        return Ok(());
    }
    let a = call.updates(c"Aarray", a.behind_pointers(count, Part::All))?;
    let c = call.updates(c"Carray", c.behind_pointers(count, Part::All))?;
    let region = Rows::of::<c_int>(device_info.addr() as u64, count).into();
    let infos = if device_info.is_null() { None } else { Some(call.writes(c"devInfoArray", region)?) };
    call.computes(move |data| {
        let (a, c) = (data.take::<T>(a), data.take::<T>(c));
        let mut infos = infos.map(|infos| data.take::<c_int>(infos).iter_mut());
        for (a, c) in a.chunks_mut(m * n).zip(c.chunks_mut(m * columns)) {
            let info = solve(a, (m, n), c);
            if let Some(to) = infos.as_mut().and_then(Iterator::next) {
                *to = info;
            }
        }
    })
}
