//! Equations with sparse matrices: `cusolverSp<t>csrlsvqr`, `csrlsvchol` and `csrlsvlu`, for arrays of the device and of the host.
//!
//! The factors are those of the crate `faer`: LU with row exchanges in place of QR, and Cholesky. Columns are ordered so that the factors
//! stay sparse.

use crate::arguments::{Call, HostResults, order, size};
use crate::handle::Handle;
use crate::matrix::{narrow, widen};
use crate::scalar::{Field, Scalar};
use crate::sparse_factors::{Csr, Method, solve};
use crate::status::{INVALID_VALUE, Outcome};
use crate::types::{cusolverStatus_t, cusparseMatDescr_t};
use cuarray_stream_work::{Data, LibraryCall, read, write};
use std::ffi::{CStr, c_int, c_void};
use std::sync::{Arc, Mutex, PoisonError};

/// Calls a function of the loaded cuSPARSE that reads a descriptor. The other library owns descriptors.
fn of_descriptor(name: &CStr, descriptor: cusparseMatDescr_t) -> Outcome<c_int> {
    // SAFETY: the name is a string, and a library that is loaded already runs no initializers.
    let library = unsafe { libc::dlopen(c"libcusparse.so.12".as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD) };
    if library.is_null() || descriptor == 0 {
        return Err(INVALID_VALUE);
    }
    // SAFETY: the library is open, and the name is a string.
    let found = unsafe { libc::dlsym(library, name.as_ptr()) };
    // SAFETY: zero is `None`; the documented functions of these names have this type.
    let function =
        unsafe { std::mem::transmute::<*mut c_void, Option<unsafe extern "C" fn(cusparseMatDescr_t) -> c_int>>(found) };
    // SAFETY: the function reads the descriptor, which belongs to the same library by the contract of the caller.
    let value = function.map(|function| unsafe { function(descriptor) });
    LibraryCall::resume();
    // SAFETY: the handle is that of `dlopen`, which counted it.
    unsafe { libc::dlclose(library) };
    value.ok_or(cusolverStatus_t::INTERNAL_ERROR)
}

/// The index base of a general matrix.
pub(crate) fn base(descriptor: cusparseMatDescr_t) -> Outcome<usize> {
    if of_descriptor(c"cusparseGetMatType", descriptor)? != 0 {
        return Err(cusolverStatus_t::MATRIX_TYPE_NOT_SUPPORTED);
    }
    match of_descriptor(c"cusparseGetMatIndexBase", descriptor)? {
        0 => Ok(0),
        1 => Ok(1),
        _ => Err(INVALID_VALUE),
    }
}

/// The sizes and options of a call, checked.
#[derive(Clone, Copy)]
struct Shape {
    n: usize,
    entries: usize,
    base: usize,
    tolerance: f64,
}

impl Shape {
    fn of(n: i64, entries: i64, descriptor: cusparseMatDescr_t, tolerance: f64, reorder: i64) -> Outcome<Shape> {
        let (n, entries) = (order(n)?, size(entries)?);
        if !(0..=3).contains(&reorder) || tolerance.is_nan() || tolerance < 0.0 {
            return Err(INVALID_VALUE);
        }
        Ok(Shape { n, entries, base: base(descriptor)?, tolerance })
    }

    /// The solution of the equations, and the first column of a singular matrix. An error tells that the arrays describe no matrix.
    fn solve<F: Field>(
        self,
        method: Method,
        (rows, columns): (&[c_int], &[c_int]),
        values: Vec<F>,
        mut b: Vec<F>,
    ) -> Outcome<(Vec<F>, Option<usize>)> {
        let matrix = Csr::of(self.n, self.base, rows, columns, values).ok_or(cusolverStatus_t::EXECUTION_FAILED)?;
        let singular = solve(&matrix, method, self.tolerance, &mut b)?;
        Ok((b, singular))
    }
}

fn number(singular: Option<usize>) -> c_int {
    singular.map_or(-1, |column| c_int::try_from(column).unwrap_or(c_int::MAX))
}

/// Enqueues work whose failure the call returns, and waits for it.
pub(crate) fn waited(call: Call<'_>, compute: impl Fn(&mut Data<'_>) -> Outcome + Send + Sync + 'static) -> Outcome {
    let status = Arc::new(Mutex::new(Ok(())));
    let told = Arc::clone(&status);
    call.computes_and_waits(move |data| *told.lock().unwrap_or_else(PoisonError::into_inner) = compute(data))?;
    status.lock().map_or_else(|status| *status.into_inner(), |status| *status)
}

/// Fills a result that a failure leaves without a value.
pub(crate) fn no_numbers<T: Scalar>(result: &mut [T]) {
    result.fill(T::narrow(T::Wide::nan()));
}

/// Solves with arrays of the device. The call waits, because it tells the host whether the matrix is singular.
fn on_device<T: Scalar>(
    handle: &Handle,
    method: Method,
    shape: Shape,
    (values, rows, columns): (*const T, *const c_int, *const c_int),
    b: *const T,
    x: *mut T,
    singularity: *mut c_int,
) -> Outcome {
    let mut call = Call::of(handle);
    let singularity = HostResults::at(singularity)?;
    let values = call.reads_vector(c"csrVal", values, shape.entries)?;
    let rows = call.reads_vector(c"csrRowPtr", rows, shape.n + 1)?;
    let columns = call.reads_vector(c"csrColInd", columns, shape.entries)?;
    let b = call.reads_vector(c"b", b, shape.n)?;
    let x = call.writes_vector(c"x", x, shape.n)?;
    waited(call, move |data| {
        let (rows, columns) = (data.take::<c_int>(rows), data.take::<c_int>(columns));
        let (values, b) = (widen(data.take::<T>(values)), widen(data.take::<T>(b)));
        let x = data.take::<T>(x);
        let (solution, singular) = shape.solve(method, (rows, columns), values, b).inspect_err(|_| no_numbers(x))?;
        narrow(x, &solution);
        singularity.write(0, number(singular));
        Ok(())
    })
}

/// Solves with arrays of the host.
fn on_host<T: Scalar>(
    method: Method,
    shape: Shape,
    (values, rows, columns): (*const T, *const c_int, *const c_int),
    b: *const T,
    x: *mut T,
    singularity: *mut c_int,
) -> Outcome {
    if x.is_null() || singularity.is_null() {
        return Err(INVALID_VALUE);
    }
    let rows = read::<_, cusolverStatus_t>(rows, shape.n + 1)?;
    let columns = read::<_, cusolverStatus_t>(columns, shape.entries)?;
    let values = widen(&read::<_, cusolverStatus_t>(values, shape.entries)?);
    let b = widen(&read::<_, cusolverStatus_t>(b, shape.n)?);
    let (solution, singular) = shape.solve(method, (&rows, &columns), values, b)?;
    for (index, value) in solution.into_iter().enumerate() {
        // SAFETY: by the contract of the C function, the array of the host has an element for each row. A caller may pass any alignment.
        unsafe { x.add(index).write_unaligned(T::narrow(value)) };
    }
    write(singularity, number(singular))
}

/// The functions of a method, for arrays of the device and of the host.
macro_rules! functions {
    ($($device:ident $host:ident $method:ident;)*) => { $(
        pub(crate) fn $device<T: Scalar>(
            handle: &Handle, n: i64, entries: i64, descriptor: cusparseMatDescr_t, values: *const T, rows: *const c_int,
            columns: *const c_int, b: *const T, tolerance: T::Real, reorder: i64, x: *mut T, singularity: *mut c_int,
        ) -> Outcome {
            let shape = Shape::of(n, entries, descriptor, tolerance.widen(), reorder)?;
            on_device(handle, Method::$method, shape, (values, rows, columns), b, x, singularity)
        }

        functions!(@host $host $method);
    )* };
    (@host $host:ident $method:ident) => {
        pub(crate) fn $host<T: Scalar>(
            _: &Handle, n: i64, entries: i64, descriptor: cusparseMatDescr_t, values: *const T, rows: *const c_int,
            columns: *const c_int, b: *const T, tolerance: T::Real, reorder: i64, x: *mut T, singularity: *mut c_int,
        ) -> Outcome {
            let shape = Shape::of(n, entries, descriptor, tolerance.widen(), reorder)?;
            on_host(Method::$method, shape, (values, rows, columns), b, x, singularity)
        }
    };
}

functions! {
    csrlsvqr csrlsvqr_host Lu;
    csrlsvchol csrlsvchol_host Cholesky;
}
