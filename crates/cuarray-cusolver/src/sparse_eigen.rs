//! An eigenvalue of a sparse matrix near a number: `cusolverSp<t>csreigvsi`, for arrays of the device and of the host.

use crate::arguments::{Call, order, size};
use crate::handle::Handle;
use crate::matrix::{narrow, widen};
use crate::reflectors::{norm, product};
use crate::scalar::{Field, Scalar};
use crate::sparse::{base, no_numbers, waited};
use crate::sparse_factors::{Csr, Lu};
use crate::status::{INVALID_VALUE, Outcome};
use crate::types::{cusolverStatus_t, cusparseMatDescr_t};
use cuarray_stream_work::{read, write};
use std::ffi::c_int;

/// The sizes and options of a call, checked.
#[derive(Clone, Copy)]
struct Search<F> {
    n: usize,
    entries: usize,
    base: usize,
    near: F,
    most: usize,
    tolerance: f64,
}

impl<F: Field> Search<F> {
    fn of(
        (n, entries): (i64, i64),
        descriptor: cusparseMatDescr_t,
        near: F,
        most: i64,
        tolerance: f64,
    ) -> Outcome<Search<F>> {
        let (n, entries, most) = (order(n)?, size(entries)?, size(most)?);
        if n == 0 || tolerance.is_nan() {
            return Err(INVALID_VALUE);
        }
        Ok(Search { n, entries, base: base(descriptor)?, near, most, tolerance })
    }

    /// The eigenvalue and its vector of length 1, by the documented iteration: equations with the shifted matrix, until the largest element of
    /// `A x - mu x` is below the tolerance.
    fn run(self, (rows, columns): (&[c_int], &[c_int]), values: Vec<F>, mut x: Vec<F>) -> Outcome<(F, Vec<F>)> {
        let matrix = Csr::of(self.n, self.base, rows, columns, values).ok_or(cusolverStatus_t::EXECUTION_FAILED)?;
        let factors = Lu::of(&matrix.less(self.near))?;
        scale(&mut x);
        for _ in 0..self.most {
            match &factors {
                Ok(factors) => factors.solve(&mut x)?,
                Err(_) => x.fill(F::nan()),
            }
            scale(&mut x);
            let image = matrix.times(&x);
            let value = product(&x, &image);
            let residual = image.iter().zip(&x).map(|(image, x)| norm(&[*image - value * *x]));
            if residual.fold(0.0, f64::max) < self.tolerance {
                break;
            }
        }
        Ok((product(&x, &matrix.times(&x)), x))
    }
}

/// Gives a vector the length 1.
fn scale<F: Field>(x: &mut [F]) {
    let length = F::of_parts(norm(x), 0.0);
    x.iter_mut().for_each(|value| *value /= length);
}

/// `cusolverSp<t>csreigvsi`. The call waits, because it tells whether the arrays describe a matrix.
pub(crate) fn csreigvsi<T: Scalar>(
    handle: &Handle,
    n: i64,
    entries: i64,
    descriptor: cusparseMatDescr_t,
    values: *const T,
    rows: *const c_int,
    columns: *const c_int,
    near: T,
    x0: *const T,
    most: i64,
    tolerance: T::Real,
    mu: *mut T,
    x: *mut T,
) -> Outcome {
    let search = Search::of((n, entries), descriptor, near.widen(), most, tolerance.widen())?;
    let mut call = Call::of(handle);
    let values = call.reads_vector(c"csrValA", values, search.entries)?;
    let rows = call.reads_vector(c"csrRowPtrA", rows, search.n + 1)?;
    let columns = call.reads_vector(c"csrColIndA", columns, search.entries)?;
    let x0 = call.reads_vector(c"x0", x0, search.n)?;
    let (mu, x) = (call.writes_vector(c"mu", mu, 1)?, call.writes_vector(c"x", x, search.n)?);
    waited(call, move |data| {
        let (rows, columns) = (data.take::<c_int>(rows), data.take::<c_int>(columns));
        let (values, x0) = (widen(data.take::<T>(values)), widen(data.take::<T>(x0)));
        let (mu, x) = (data.take::<T>(mu), data.take::<T>(x));
        let found = search.run((rows, columns), values, x0).inspect_err(|_| {
            no_numbers(mu);
            no_numbers(x);
        })?;
        narrow(mu, &[found.0]);
        narrow(x, &found.1);
        Ok(())
    })
}

/// `cusolverSp<t>csreigvsiHost`.
pub(crate) fn csreigvsi_host<T: Scalar>(
    _: &Handle,
    n: i64,
    entries: i64,
    descriptor: cusparseMatDescr_t,
    values: *const T,
    rows: *const c_int,
    columns: *const c_int,
    near: T,
    x0: *const T,
    most: i64,
    tolerance: T::Real,
    mu: *mut T,
    x: *mut T,
) -> Outcome {
    let search = Search::of((n, entries), descriptor, near.widen(), most, tolerance.widen())?;
    if mu.is_null() || x.is_null() {
        return Err(INVALID_VALUE);
    }
    let rows = read::<_, cusolverStatus_t>(rows, search.n + 1)?;
    let columns = read::<_, cusolverStatus_t>(columns, search.entries)?;
    let values = widen(&read::<_, cusolverStatus_t>(values, search.entries)?);
    let x0 = widen(&read::<_, cusolverStatus_t>(x0, search.n)?);
    let (value, vector) = search.run((&rows, &columns), values, x0)?;
    for (index, value) in vector.into_iter().enumerate() {
        write::<_, cusolverStatus_t>(x.wrapping_add(index), T::narrow(value))?;
    }
    write(mu, T::narrow(value))
}
