//! Cholesky factors, and equations with them.

use crate::arguments::{Call, block_elements, fill, leading, order, size, tell, tell_block_elements};
use crate::handle::Handle;
use crate::matrix::{Fill, Stored, identity, narrow, widen};
use crate::scalar::{Field, Scalar};
use crate::status::{INVALID_VALUE, Outcome};
use crate::types::cublasFillMode_t;
use cuarray_stream_work::{Argument, Data};
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{LltError, cholesky_in_place, cholesky_in_place_scratch};
use faer::linalg::triangular_solve::{solve_lower_triangular_in_place, solve_upper_triangular_in_place};
use faer::{MatMut, MatRef, Par, Spec};
use std::ffi::c_int;

/// Factors the triangle of a square in place. Returns 0, or the order of the first leading minor that is not positive definite.
pub(crate) fn factor<F: Field>(square: &mut [F], n: usize, fill: Fill) -> usize {
    // A comparison by the algorithm below holds for no number.
    if let Some(column) = (0..n).find(|column| square[column * n + column].re().is_nan()) {
        return column + 1;
    }
    let matrix = MatMut::from_column_major_slice_mut(square, n, n);
    // The transposed upper factor is the lower factor of the transposed matrix.
    let matrix =
        if fill == Fill::Lower { matrix.as_dyn_stride_mut() } else { matrix.transpose_mut().as_dyn_stride_mut() };
    let parameters = Spec::default();
    let mut memory = MemBuffer::new(cholesky_in_place_scratch::<F>(n, Par::Seq, parameters));
    match cholesky_in_place(matrix, Default::default(), Par::Seq, MemStack::new(&mut memory), parameters) {
        Ok(_) => 0,
        Err(LltError::NonPositivePivot { index }) => index + 1,
    }
}

/// Solves the equations of a factored matrix for `columns` right sides in place.
fn solve<F: Field>(factor: &[F], n: usize, fill: Fill, b: &mut [F], columns: usize) {
    let factor = MatRef::from_column_major_slice(factor, n, n);
    let mut b = MatMut::from_column_major_slice_mut(b, n, columns);
    match fill {
        Fill::Lower => {
            solve_lower_triangular_in_place(factor, b.as_mut(), Par::Seq);
            solve_upper_triangular_in_place(factor.adjoint(), b, Par::Seq);
        }
        Fill::Upper => {
            solve_lower_triangular_in_place(factor.adjoint(), b.as_mut(), Par::Seq);
            solve_upper_triangular_in_place(factor, b, Par::Seq);
        }
    }
}

/// Factors a matrix in the memory of a call.
fn factor_in_memory<T: Scalar>(a: &mut [T], n: usize, fill: Fill) -> usize {
    let mut square = widen(a);
    let info = factor(&mut square, n, fill);
    narrow(a, &square);
    info
}

/// Solves equations in the memory of a call.
fn solve_in_memory<T: Scalar>(a: &[T], n: usize, fill: Fill, b: &mut [T], columns: usize) {
    let mut right = widen(b);
    solve(&widen(a), n, fill, &mut right, columns);
    narrow(b, &right);
}

/// `cusolverDn<t>potrf_bufferSize`.
pub(crate) fn potrf_size<T: Scalar>(
    _: &Handle,
    uplo: cublasFillMode_t,
    n: i64,
    _: *mut T,
    lda: i64,
    lwork: *mut c_int,
) -> Outcome {
    tell_block_elements(uplo, n, lda, lwork)
}

/// `cusolverDn<t>potrf`.
pub(crate) fn potrf<T: Scalar>(
    handle: &Handle,
    uplo: cublasFillMode_t,
    n: i64,
    a: *mut T,
    lda: i64,
    workspace: *mut T,
    lwork: i64,
    info: *mut c_int,
) -> Outcome {
    let mut call = Call::of(handle);
    let needed = block_elements(order(n)?);
    if n > 0 {
        call.workspace(c"Workspace", workspace, lwork, needed)?;
    }
    potrf_of(call, uplo, n, a, lda, info)
}

/// A factorization after the workspace is described.
pub(crate) fn potrf_of<T: Scalar>(
    mut call: Call<'_>,
    uplo: cublasFillMode_t,
    n: i64,
    a: *mut T,
    lda: i64,
    info: *mut c_int,
) -> Outcome {
    let (fill, n) = (fill(uplo)?, order(n)?);
    let a = Stored::of(a, (n, n), leading(lda, n)?);
    let a = call.updates(c"A", a.triangle(fill))?;
    let info = call.info(info)?;
    call.computes(move |data| {
        let failed = factor_in_memory(data.take::<T>(a), n, fill);
        tell(data, info, failed);
    })
}

/// `cusolverDn<t>potrs`.
pub(crate) fn potrs<T: Scalar>(
    handle: &Handle,
    uplo: cublasFillMode_t,
    n: i64,
    columns: i64,
    a: *const T,
    lda: i64,
    b: *mut T,
    ldb: i64,
    info: *mut c_int,
) -> Outcome {
    potrs_of(Call::of(handle), uplo, n, columns, a, lda, b, ldb, info)
}

/// Equations of a call.
pub(crate) fn potrs_of<T: Scalar>(
    mut call: Call<'_>,
    uplo: cublasFillMode_t,
    n: i64,
    columns: i64,
    a: *const T,
    lda: i64,
    b: *mut T,
    ldb: i64,
    info: *mut c_int,
) -> Outcome {
    let (fill, n, columns) = (fill(uplo)?, order(n)?, size(columns)?);
    let a = Stored::of(a, (n, n), leading(lda, n)?);
    let b = Stored::of(b, (n, columns), leading(ldb, n)?);
    let a = call.reads(c"A", a.triangle(fill))?;
    let b = call.updates(c"B", b.region())?;
    let info = call.info(info)?;
    call.computes(move |data| {
        let (a, b) = (data.take::<T>(a), data.take::<T>(b));
        solve_in_memory(a, n, fill, b, columns);
        tell(data, info, 0);
    })
}

/// `cusolverDn<t>potri`: the inverse of a matrix from its factor.
pub(crate) fn potri<T: Scalar>(
    handle: &Handle,
    uplo: cublasFillMode_t,
    n: i64,
    a: *mut T,
    lda: i64,
    workspace: *mut T,
    lwork: i64,
    info: *mut c_int,
) -> Outcome {
    let mut call = Call::of(handle);
    let (fill, n) = (fill(uplo)?, order(n)?);
    let a = Stored::of(a, (n, n), leading(lda, n)?);
    if n > 0 {
        call.workspace(c"work", workspace, lwork, block_elements(n))?;
    }
    let a = call.updates(c"A", a.triangle(fill))?;
    let info = call.info(info)?;
    call.computes(move |data| {
        let a = data.take::<T>(a);
        let factor = widen(a);
        let singular = (0..n).find(|column| factor[column * n + column] == T::Wide::default());
        if singular.is_none() {
            let mut inverse = identity(n);
            solve(&factor, n, fill, &mut inverse, n);
            narrow(a, &inverse);
        }
        tell(data, info, singular.map_or(0, |column| column + 1));
    })
}

/// `cusolverDn<t>potrfBatched`.
pub(crate) fn potrf_batched<T: Scalar>(
    handle: &Handle,
    uplo: cublasFillMode_t,
    n: i64,
    a: *const *mut T,
    lda: i64,
    infos: *mut c_int,
    count: i64,
) -> Outcome {
    let mut call = Call::of(handle).with_info(c"infoArray");
    let (fill, n, count) = (fill(uplo)?, order(n)?, size(count)?);
    let a = Stored::of(a, (n, n), leading(lda, n)?);
    if n == 0 || count == 0 {
        return Ok(());
    }
    let a = call.updates(c"Aarray", a.behind_pointers::<T>(count, Some(fill)))?;
    let infos = call.infos(infos, count)?;
    call.computes(move |data| {
        let (a, infos) = (data.take::<T>(a), data.take::<c_int>(infos));
        for (a, info) in a.chunks_mut(n * n).zip(infos) {
            *info = factor_in_memory(a, n, fill) as c_int;
        }
    })
}

/// `cusolverDn<t>potrsBatched`. Only one right side is documented.
pub(crate) fn potrs_batched<T: Scalar>(
    handle: &Handle,
    uplo: cublasFillMode_t,
    n: i64,
    columns: i64,
    a: *const *mut T,
    lda: i64,
    b: *const *mut T,
    ldb: i64,
    info: *mut c_int,
    count: i64,
) -> Outcome {
    let mut call = Call::of(handle).with_info(c"d_info");
    let (fill, n, columns, count) = (fill(uplo)?, order(n)?, size(columns)?, size(count)?);
    if columns > 1 {
        return Err(INVALID_VALUE);
    }
    let a = Stored::of(a, (n, n), leading(lda, n)?);
    let b = Stored::of(b, (n, columns), leading(ldb, n)?);
    let mut matrices: Option<(Argument, Argument)> = None;
    if n > 0 && columns > 0 && count > 0 {
        let a = call.reads(c"A", a.behind_pointers::<T>(count, Some(fill)))?;
        matrices = Some((a, call.updates(c"B", b.behind_pointers::<T>(count, None))?));
    }
    let info = call.info(info)?;
    call.computes(move |data: &mut Data<'_>| {
        if let Some((a, b)) = matrices {
            let (a, b) = (data.take::<T>(a), data.take::<T>(b));
            for (a, b) in a.chunks(n * n).zip(b.chunks_mut(n * columns)) {
                solve_in_memory(a, n, fill, b, columns);
            }
        }
        tell(data, info, 0);
    })
}
