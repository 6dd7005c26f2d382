//! Level 1: operations on vectors.

use crate::arguments::{Call, Given};
use crate::handle::Handle;
use crate::layout::{Order, Vector};
use crate::scalar::Scalar;
use crate::status::Outcome;
use cuarray_stream_work::{Argument, Data, Plain, Rows};
use num_traits::{Float, Zero};
use std::ffi::c_int;

/// The place of an index: an `int`, or an `int64_t` in functions with 64-bit sizes.
pub(crate) enum Index {
    Narrow(*mut c_int),
    Wide(*mut i64),
}

impl From<*mut c_int> for Index {
    fn from(pointer: *mut c_int) -> Index {
        Index::Narrow(pointer)
    }
}

impl From<*mut i64> for Index {
    fn from(pointer: *mut i64) -> Index {
        Index::Wide(pointer)
    }
}

/// A vector that is read; the number of its elements is not negative.
fn input<T: Scalar>(
    call: &mut Call<'_>,
    name: &'static std::ffi::CStr,
    x: *const T,
    n: usize,
    increment: i64,
) -> Outcome<(Argument, Order)> {
    let vector = Vector::of(x, n, increment);
    Ok((call.reads(name, vector.region())?, vector.order()))
}

/// A vector that is read and written.
fn in_place<T: Scalar>(
    call: &mut Call<'_>,
    name: &'static std::ffi::CStr,
    x: *mut T,
    n: usize,
    increment: i64,
) -> Outcome<(Argument, Order)> {
    let vector = Vector::of(x.cast_const(), n, increment);
    Ok((call.updates(name, vector.region())?, vector.order()))
}

/// Enqueues a function of the elements of a vector. Without elements, or without a positive increment, the function gets none.
fn reduce<T: Scalar, V: Plain>(
    handle: &Handle,
    n: i64,
    x: *const T,
    incx: i64,
    result: *mut V,
    f: impl Fn(&[T]) -> V + Send + Sync + 'static,
) -> Outcome {
    let mut call = Call::of(handle);
    let n = if incx > 0 { usize::try_from(n).unwrap_or(0) } else { 0 };
    let (x, order) = input(&mut call, c"x", x, n, incx.max(1))?;
    call.returns(result, move |data| f(&order.read(data.take::<T>(x))))
}

/// The first element for which `is_better(itself, the best so far)`, counted from 1; 0 without elements.
fn best<T: Scalar>(values: &[T], is_better: fn(T::Real, T::Real) -> bool) -> i64 {
    let mut best = 0;
    for (index, value) in values.iter().enumerate() {
        if index == 0 || is_better(value.abs1(), values[best].abs1()) {
            best = index;
        }
    }
    if values.is_empty() { 0 } else { best as i64 + 1 }
}

fn extreme<T: Scalar>(
    handle: &Handle,
    n: i64,
    x: *const T,
    incx: i64,
    result: Index,
    is_better: fn(T::Real, T::Real) -> bool,
) -> Outcome {
    match result {
        Index::Narrow(result) => reduce(handle, n, x, incx, result, move |x| best(x, is_better) as c_int),
        Index::Wide(result) => reduce(handle, n, x, incx, result, move |x| best(x, is_better)),
    }
}

/// `cublasI<t>amax`.
pub(crate) fn amax<T: Scalar>(handle: &Handle, n: i64, x: *const T, incx: i64, result: Index) -> Outcome {
    extreme(handle, n, x, incx, result, |new, best| new > best)
}

/// `cublasI<t>amin`.
pub(crate) fn amin<T: Scalar>(handle: &Handle, n: i64, x: *const T, incx: i64, result: Index) -> Outcome {
    extreme(handle, n, x, incx, result, |new, best| new < best)
}

/// `cublas<t>asum`.
pub(crate) fn asum<T: Scalar>(handle: &Handle, n: i64, x: *const T, incx: i64, result: *mut T::Real) -> Outcome {
    reduce(handle, n, x, incx, result, |x| x.iter().fold(T::Real::zero(), |sum, value| sum + value.abs1()))
}

/// `cublas<t>nrm2`.
pub(crate) fn nrm2<T: Scalar>(handle: &Handle, n: i64, x: *const T, incx: i64, result: *mut T::Real) -> Outcome {
    reduce(handle, n, x, incx, result, norm)
}

/// The Euclidean norm, without overflow of squares.
pub(crate) fn norm<T: Scalar>(x: &[T]) -> T::Real {
    let parts = || x.iter().flat_map(|value| [value.re(), value.im()]);
    let scale = parts().fold(T::Real::zero(), |most, part| most.max(part.abs()));
    if scale.is_zero() || scale.is_infinite() {
        // A NaN stays one.
        return parts().fold(scale, |sum, part| if part.is_nan() { part } else { sum });
    }
    let sum = parts().fold(T::Real::zero(), |sum, part| sum + (part / scale) * (part / scale));
    scale * sum.sqrt()
}

fn dot<T: Scalar>(
    handle: &Handle,
    n: i64,
    (x, incx): (*const T, i64),
    (y, incy): (*const T, i64),
    result: *mut T,
    of_x: fn(T) -> T,
) -> Outcome {
    let mut call = Call::of(handle);
    let n = usize::try_from(n).unwrap_or(0);
    let (x, of_first) = input(&mut call, c"x", x, n, incx)?;
    let (y, of_second) = input(&mut call, c"y", y, n, incy)?;
    call.returns(result, move |data| {
        let (x, y) = (data.take::<T>(x), data.take::<T>(y));
        (0..n).fold(T::zero(), |sum, index| sum + of_x(x[of_first.place(index)]) * y[of_second.place(index)])
    })
}

/// `cublas<t>dot`, `cublas<t>dotu`.
pub(crate) fn dotu<T: Scalar>(
    handle: &Handle,
    n: i64,
    x: *const T,
    incx: i64,
    y: *const T,
    incy: i64,
    result: *mut T,
) -> Outcome {
    dot(handle, n, (x, incx), (y, incy), result, |x| x)
}

/// `cublas<t>dotc`.
pub(crate) fn dotc<T: Scalar>(
    handle: &Handle,
    n: i64,
    x: *const T,
    incx: i64,
    y: *const T,
    incy: i64,
    result: *mut T,
) -> Outcome {
    dot(handle, n, (x, incx), (y, incy), result, T::conj)
}

/// `cublas<t>axpy`.
pub(crate) fn axpy<T: Scalar>(
    handle: &Handle,
    n: i64,
    alpha: *const T,
    x: *const T,
    incx: i64,
    y: *mut T,
    incy: i64,
) -> Outcome {
    let mut call = Call::of(handle);
    let alpha = call.scalar(c"alpha", alpha)?;
    let n = usize::try_from(n).unwrap_or(0);
    if n == 0 || alpha.is(T::zero()) {
        return Ok(());
    }
    let (first, second) = (Vector::of(x, n, incx), Vector::of(y.cast_const(), n, incy));
    let (of_x, of_y) = (first.order(), second.order());
    let x = call.multiplied(c"x", first.region(), alpha)?;
    let y = call.added_to(c"y", second.region(), alpha)?;
    call.computes(move |data| {
        let alpha = alpha.value(data);
        if alpha.is_zero() {
            return;
        }
        let (x, y) = (data.take::<T>(x), data.take::<T>(y));
        (0..n).for_each(|index| y[of_y.place(index)] += alpha * x[of_x.place(index)]);
    })
}

/// `cublas<t>copy`.
pub(crate) fn copy<T: Scalar>(handle: &Handle, n: i64, x: *const T, incx: i64, y: *mut T, incy: i64) -> Outcome {
    let mut call = Call::of(handle);
    let n = usize::try_from(n).unwrap_or(0);
    if n == 0 {
        return Ok(());
    }
    let (x, of_x) = input(&mut call, c"x", x, n, incx)?;
    let target = Vector::of(y.cast_const(), n, incy);
    let y = call.scaled(c"y", target.region(), Given::Host(T::zero()))?;
    let of_y = target.order();
    call.computes(move |data| of_y.write(data.take::<T>(y), &of_x.read(data.take::<T>(x))))
}

/// `cublas<t>swap`.
pub(crate) fn swap<T: Scalar>(handle: &Handle, n: i64, x: *mut T, incx: i64, y: *mut T, incy: i64) -> Outcome {
    pairs(Call::of(handle), n, (x, incx), (y, incy), |_| |x, y| (y, x))
}

/// Enqueues a function of pairs of elements, which replaces both; `make` makes it when the work runs.
fn pairs<T: Scalar, F: Fn(T, T) -> (T, T)>(
    mut call: Call<'_>,
    n: i64,
    (x, incx): (*mut T, i64),
    (y, incy): (*mut T, i64),
    make: impl Fn(&mut Data<'_>) -> F + Send + Sync + 'static,
) -> Outcome {
    let n = usize::try_from(n).unwrap_or(0);
    if n == 0 {
        return Ok(());
    }
    let (x, of_x) = in_place(&mut call, c"x", x, n, incx)?;
    let (y, of_y) = in_place(&mut call, c"y", y, n, incy)?;
    call.computes(move |data| {
        let f = make(data);
        let (x, y) = (data.take::<T>(x), data.take::<T>(y));
        for index in 0..n {
            let (first, second) = (of_x.place(index), of_y.place(index));
            (x[first], y[second]) = f(x[first], y[second]);
        }
    })
}

/// `cublas<t>rot`.
pub(crate) fn rot<T: Scalar>(
    handle: &Handle,
    n: i64,
    x: *mut T,
    incx: i64,
    y: *mut T,
    incy: i64,
    c: *const T::Real,
    s: *const T,
) -> Outcome {
    let mut call = Call::of(handle);
    let (c, s) = (call.scalar(c"c", c)?, call.scalar(c"s", s)?);
    pairs(call, n, (x, incx), (y, incy), move |data| {
        let (c, s) = (T::real(c.value(data)), s.value(data));
        move |x, y| (c * x + s * y, c * y - s.conj() * x)
    })
}

/// `cublasCsrot`, `cublasZdrot`: the sine is real.
pub(crate) fn rot_real<T: Scalar>(
    handle: &Handle,
    n: i64,
    x: *mut T,
    incx: i64,
    y: *mut T,
    incy: i64,
    c: *const T::Real,
    s: *const T::Real,
) -> Outcome {
    let mut call = Call::of(handle);
    let (c, s) = (call.scalar(c"c", c)?, call.scalar(c"s", s)?);
    pairs(call, n, (x, incx), (y, incy), move |data| {
        let (c, s) = (T::real(c.value(data)), T::real(s.value(data)));
        move |x, y| (c * x + s * y, c * y - s * x)
    })
}

/// `cublas<t>rotm`.
pub(crate) fn rotm<T: Scalar>(
    handle: &Handle,
    n: i64,
    x: *mut T,
    incx: i64,
    y: *mut T,
    incy: i64,
    param: *const T,
) -> Outcome {
    let mut call = Call::of(handle);
    let param = Parameters::of(&mut call, param)?;
    pairs(call, n, (x, incx), (y, incy), move |data| {
        let [flag, h11, h21, h12, h22] = param.value(data);
        let one = T::one();
        let [h11, h21, h12, h22] = if flag == -one - one {
            [one, T::zero(), T::zero(), one]
        } else if flag == T::zero() {
            [one, h21, h12, one]
        } else if flag == one {
            [h11, -one, one, h22]
        } else {
            [h11, h21, h12, h22]
        };
        move |x, y| (h11 * x + h12 * y, h21 * x + h22 * y)
    })
}

/// The five numbers of a modified rotation.
#[derive(Clone, Copy)]
enum Parameters<T> {
    Host([T; 5]),
    Device(Argument),
}

impl<T: Scalar> Parameters<T> {
    fn of(call: &mut Call<'_>, pointer: *const T) -> Outcome<Parameters<T>> {
        if pointer.is_null() {
            return Err(crate::status::INVALID_VALUE);
        }
        if call.on_device {
            let region = Rows::of::<T>(pointer.addr() as u64, 5).into();
            return Ok(Parameters::Device(call.work.reads(c"param", region)));
        }
        // SAFETY: in host pointer mode the pointer is that of five numbers, by the contract of the C function. Any alignment is read.
        Ok(Parameters::Host(unsafe { pointer.cast::<[T; 5]>().read_unaligned() }))
    }

    fn value(self, data: &mut Data<'_>) -> [T; 5] {
        match self {
            Parameters::Host(values) => values,
            Parameters::Device(argument) => {
                let mut values = [T::zero(); 5];
                values.iter_mut().zip(data.take::<T>(argument)).for_each(|(to, from)| *to = *from);
                values
            }
        }
    }
}

/// `cublas<t>scal`.
pub(crate) fn scal<T: Scalar>(handle: &Handle, n: i64, alpha: *const T, x: *mut T, incx: i64) -> Outcome {
    scaled(handle, n, alpha, |alpha| alpha, (x, incx))
}

/// `cublasCsscal`, `cublasZdscal`: the factor is real.
pub(crate) fn scal_real<T: Scalar>(handle: &Handle, n: i64, alpha: *const T::Real, x: *mut T, incx: i64) -> Outcome {
    scaled(handle, n, alpha, T::real, (x, incx))
}

fn scaled<T: Scalar, A: Scalar>(
    handle: &Handle,
    n: i64,
    alpha: *const A,
    of_alpha: fn(A) -> T,
    (x, incx): (*mut T, i64),
) -> Outcome {
    let mut call = Call::of(handle);
    let alpha = call.scalar(c"alpha", alpha)?;
    let n = usize::try_from(n).unwrap_or(0);
    if n == 0 || incx <= 0 || alpha.is(A::one()) {
        return Ok(());
    }
    let (x, _) = in_place(&mut call, c"x", x, n, incx)?;
    call.computes(move |data| {
        let alpha = of_alpha(alpha.value(data));
        data.take::<T>(x).iter_mut().for_each(|value| *value *= alpha);
    })
}

/// Checks a number of elements, for functions of matrices.
pub(crate) fn vector<T: Scalar>(pointer: *const T, n: usize, increment: i64) -> Outcome<Vector> {
    if increment == 0 { Err(crate::status::INVALID_VALUE) } else { Ok(Vector::of(pointer, n, increment)) }
}
