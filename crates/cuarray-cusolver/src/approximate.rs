//! The largest singular values of the matrices of a batch.

use crate::arguments::{Call, HostResults, choice, elements, leading, order, size};
use crate::handle::Handle;
use crate::jacobi::decompose;
use crate::matrix::{Stored, narrow, widen};
use crate::report::residual;
use crate::scalar::{Field, Scalar};
use crate::status::{INVALID_VALUE, Outcome};
use crate::types::cusolverEigMode_t;
use cuarray_stream_work::write;
use std::ffi::c_int;

/// Matrices at constant distances in a batch of `count`.
struct Batch {
    rank: usize,
    m: usize,
    n: usize,
    count: usize,
}

impl Batch {
    fn of([rank, m, n, count]: [i64; 4]) -> Outcome<Batch> {
        let (m, n, count) = (order(m)?, order(n)?, order(count)?);
        let rank = size(rank).ok().filter(|rank| *rank <= m.min(n)).ok_or(INVALID_VALUE)?;
        Ok(Batch { rank, m, n, count })
    }

    /// The elements of the workspace.
    fn needed(&self) -> c_int {
        let one = self.m.saturating_add(self.n).saturating_add(64).saturating_mul(self.n.min(self.m));
        elements(one.saturating_mul(self.count))
    }
}

/// The distance of the parts of a batch, each of `span` elements.
fn stride(given: i64, span: usize, count: usize) -> Outcome<usize> {
    size(given).ok().filter(|stride| count <= 1 || *stride >= span).ok_or(INVALID_VALUE)
}

/// `cusolverDn<t>gesvdaStridedBatched_bufferSize`.
pub(crate) fn gesvda_size<T: Scalar>(
    _: &Handle,
    jobz: cusolverEigMode_t,
    rank: i64,
    m: i64,
    n: i64,
    _: *const T,
    lda: i64,
    _: i64,
    _: *const T::Real,
    _: i64,
    _: *const T,
    _: i64,
    _: i64,
    _: *const T,
    _: i64,
    _: i64,
    lwork: *mut c_int,
    count: i64,
) -> Outcome {
    choice(jobz)?;
    let batch = Batch::of([rank, m, n, count])?;
    leading(lda, batch.m)?;
    write(lwork, batch.needed())
}

/// `cusolverDn<t>gesvdaStridedBatched`. With an array for the norms of the residuals on the host, the call waits for the results.
pub(crate) fn gesvda<T: Scalar>(
    handle: &Handle,
    jobz: cusolverEigMode_t,
    rank: i64,
    m: i64,
    n: i64,
    a: *const T,
    lda: i64,
    stride_a: i64,
    s: *mut T::Real,
    stride_s: i64,
    u: *mut T,
    ldu: i64,
    stride_u: i64,
    v: *mut T,
    ldv: i64,
    stride_v: i64,
    work: *mut T,
    lwork: i64,
    info: *mut c_int,
    norms: *mut f64,
    count: i64,
) -> Outcome {
    let mut call = Call::of(handle).with_info(c"d_info");
    let (wants, batch) = (choice(jobz)?, Batch::of([rank, m, n, count])?);
    let Batch { rank, m, n, count } = batch;
    if m == 0 || n == 0 || count == 0 {
        return Ok(());
    }
    call.workspace(c"d_work", work, lwork, batch.needed())?;
    let a = {
        let stored = Stored::of(a, (m, n), leading(lda, m)?);
        call.reads(c"d_A", stored.batch(count, stride(stride_a, leading(lda, m)?.saturating_mul(n), count)?))?
    };
    let s = call.writes(c"d_S", Stored::of(s, (rank, 1), rank.max(1)).batch(count, stride(stride_s, rank, count)?))?;
    let sides = if wants {
        let (ldu, ldv) = (leading(ldu, m)?, leading(ldv, n)?);
        let (u, v) = (Stored::of(u, (m, rank), ldu), Stored::of(v, (n, rank), ldv));
        let u = call.writes(c"d_U", u.batch(count, stride(stride_u, ldu.saturating_mul(rank), count)?))?;
        Some((u, call.writes(c"d_V", v.batch(count, stride(stride_v, ldv.saturating_mul(rank), count)?))?))
    } else {
        None
    };
    let info = call.infos(info, count)?;
    let norms = if norms.is_null() { None } else { Some(HostResults::at(norms)?) };
    let closure = move |data: &mut cuarray_stream_work::Data<'_>| {
        let (a, s) = (data.take::<T>(a), data.take::<T::Real>(s));
        let mut sides = sides.map(|(u, v)| (data.take::<T>(u), data.take::<T>(v)));
        for (index, info) in data.take::<c_int>(info).iter_mut().enumerate() {
            let part = |size: usize| index * size..(index + 1) * size;
            let matrix = widen(&a[part(m * n)]);
            let found = decompose(&matrix, m, n, (wants || norms.is_some(), true));
            *info = found.is_none().into();
            let lost = || (vec![f64::NAN; rank], vec![T::Wide::nan(); m * rank], vec![T::Wide::nan(); n * rank]);
            let (values, left, right) = found.unwrap_or_else(lost);
            narrow(&mut s[part(rank)], &values);
            if let Some((u, v)) = &mut sides {
                narrow(&mut u[part(m * rank)], &left);
                narrow(&mut v[part(n * rank)], &right);
            }
            if let Some(norms) = norms {
                norms.write(index, residual(&matrix, (m, n), &values, &left, &right, rank));
            }
        }
    };
    if norms.is_some() { call.computes_and_waits(closure) } else { call.computes(closure) }
}
