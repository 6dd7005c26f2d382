//! The numbers of Givens rotations, plain and modified, and rotations in calls that name their types.

use crate::arguments::Call;
use crate::handle::Handle;
use crate::level1::{self, norm};
use crate::scalar::{DataType, Scalar};
use crate::status::{INVALID_VALUE, NOT_SUPPORTED, Outcome};
use crate::types::cudaDataType;
use cuarray_stream_work::Rows;
use num_traits::{Float, NumCast, One, Zero};
use std::ffi::c_void;

/// The squares of the factor by which BLAS scales: 4096.
const SQUARE: f64 = 16_777_216.0;

/// The numbers of a modified rotation: `d1`, `d2`, `x1` and the five parameters. Parameters that the flag fixes stay as they are.
fn modified<T: Scalar<Real = T> + Float>([d1, d2, x1]: [&mut T; 3], y1: T, param: &mut [T]) {
    let number = |value: f64| <T as NumCast>::from(value).unwrap_or_else(T::nan);
    let (zero, one, square) = (<T as Zero>::zero(), <T as One>::one(), number(SQUARE));
    let gamma = square.sqrt();
    let clear = |d1: &mut T, d2: &mut T, x1: &mut T| (*d1, *d2, *x1) = (zero, zero, zero);
    let (mut h11, mut h21, mut h12, mut h22) = (zero, zero, zero, zero);
    let mut flag = -one;
    let p2 = *d2 * y1;
    if *d1 < zero {
        clear(d1, d2, x1);
    } else if p2 == zero {
        param[0] = -one - one;
        return;
    } else {
        let p1 = *d1 * *x1;
        let (q1, q2) = (p1 * *x1, p2 * y1);
        if Float::abs(q1) > Float::abs(q2) {
            let (lower, upper) = (-y1 / *x1, p2 / p1);
            let u = one - upper * lower;
            if u > zero {
                (flag, h21, h12) = (zero, lower, upper);
                (*d1, *d2, *x1) = (*d1 / u, *d2 / u, *x1 * u);
            } else {
                clear(d1, d2, x1);
            }
        } else if q2 < zero {
            clear(d1, d2, x1);
        } else {
            (flag, h11, h22) = (one, p1 / p2, *x1 / y1);
            let u = one + h11 * h22;
            (*d1, *d2, *x1) = (*d2 / u, *d1 / u, y1 * u);
        }
        // A matrix that is scaled has all four elements.
        let mut complete = |[h11, h21, h12, h22]: [&mut T; 4]| {
            if flag == zero {
                (*h11, *h22) = (one, one);
            } else if flag == one {
                (*h21, *h12) = (-one, one);
            }
            flag = -one;
        };
        let is_small = |value: T| Float::abs(value) <= one / square;
        let is_wrong =
            |value: T| value != zero && Float::is_finite(value) && (is_small(value) || Float::abs(value) >= square);
        while is_wrong(*d1) {
            complete([&mut h11, &mut h21, &mut h12, &mut h22]);
            let (up, down) = if is_small(*d1) { (square, one / gamma) } else { (one / square, gamma) };
            (*d1, *x1, h11, h12) = (*d1 * up, *x1 * down, h11 * down, h12 * down);
        }
        while is_wrong(*d2) {
            complete([&mut h11, &mut h21, &mut h12, &mut h22]);
            let (up, down) = if is_small(*d2) { (square, one / gamma) } else { (one / square, gamma) };
            (*d2, h21, h22) = (*d2 * up, h21 * down, h22 * down);
        }
    }
    param[0] = flag;
    if flag != zero {
        (param[1], param[4]) = (h11, h22);
    }
    if flag != one {
        (param[2], param[3]) = (h21, h12);
    }
}

/// `cublas<t>rotmg`.
pub(crate) fn rotmg<T: Scalar<Real = T> + Float>(
    handle: &Handle,
    d1: *mut T,
    d2: *mut T,
    x1: *mut T,
    y1: *const T,
    param: *mut T,
) -> Outcome {
    let mut call = Call::of(handle);
    if d1.is_null() || d2.is_null() || x1.is_null() || y1.is_null() || param.is_null() {
        return Err(INVALID_VALUE);
    }
    if !call.on_device {
        // SAFETY: in host pointer mode the pointers are those of numbers, and `param` of five, by the contract of the C function. Any
        // alignment is accessed.
        unsafe {
            let (mut first, mut second, mut x) = (d1.read_unaligned(), d2.read_unaligned(), x1.read_unaligned());
            let mut parameters = param.cast::<[T; 5]>().read_unaligned();
            modified([&mut first, &mut second, &mut x], y1.read_unaligned(), &mut parameters);
            d1.write_unaligned(first);
            d2.write_unaligned(second);
            x1.write_unaligned(x);
            param.cast::<[T; 5]>().write_unaligned(parameters);
        }
        return Ok(());
    }
    let one = |pointer: *const T| Rows::of::<T>(pointer.addr() as u64, 1).into();
    let (d1, d2) = (call.work.updates(c"d1", one(d1)), call.work.updates(c"d2", one(d2)));
    let (x1, y1) = (call.work.updates(c"x1", one(x1)), call.work.reads(c"y1", one(y1)));
    let param = call.work.may_update(c"param", Rows::of::<T>(param.addr() as u64, 5).into());
    call.computes(move |data| {
        let (d1, d2, x1) = (data.take::<T>(d1), data.take::<T>(d2), data.take::<T>(x1));
        let (y1, param) = (data.take::<T>(y1)[0], data.take::<T>(param));
        modified([&mut d1[0], &mut d2[0], &mut x1[0]], y1, param);
    })
}

/// `cublas<t>rotg`.
pub(crate) fn rotg<T: Scalar>(handle: &Handle, a: *mut T, b: *mut T, c: *mut T::Real, s: *mut T) -> Outcome {
    let mut call = Call::of(handle);
    if a.is_null() || b.is_null() || c.is_null() || s.is_null() {
        return Err(INVALID_VALUE);
    }
    if !call.on_device {
        // SAFETY: in host pointer mode the pointers are those of numbers, by the contract of the C function. Any alignment is accessed.
        unsafe {
            let (r, z, cosine, sine) = rotation(a.read_unaligned(), b.read_unaligned());
            a.write_unaligned(r);
            if !T::IS_COMPLEX {
                b.write_unaligned(z);
            }
            c.write_unaligned(cosine);
            s.write_unaligned(sine);
        }
        return Ok(());
    }
    let one = |address: usize, size: usize| Rows { address: address as u64, width: size, height: 1, pitch: 0 }.into();
    let size = size_of::<T>();
    let a = call.work.updates(c"a", one(a.addr(), size));
    let b = match T::IS_COMPLEX {
        true => call.work.reads(c"b", one(b.addr(), size)),
        false => call.work.updates(c"b", one(b.addr(), size)),
    };
    let c = call.work.writes(c"c", one(c.addr(), size_of::<T::Real>()));
    let s = call.work.writes(c"s", one(s.addr(), size));
    call.computes(move |data| {
        let (a, b) = (data.take::<T>(a), data.take::<T>(b));
        let (c, s) = (data.take::<T::Real>(c), data.take::<T>(s));
        let (r, z, cosine, sine) = rotation(a[0], b[0]);
        (a[0], c[0], s[0]) = (r, cosine, sine);
        if !T::IS_COMPLEX {
            b[0] = z;
        }
    })
}

/// The Givens rotation that makes the second number 0, as BLAS defines it: r, z, the cosine and the sine.
fn rotation<T: Scalar>(a: T, b: T) -> (T, T, T::Real, T) {
    let (zero, one) = (T::Real::zero(), T::Real::one());
    let (of_a, of_b) = (norm(&[a]), norm(&[b]));
    if T::IS_COMPLEX {
        if of_a.is_zero() {
            return (b, b, zero, T::one());
        }
        let length = norm(&[a, b]);
        let direction = a / T::real(of_a);
        return (direction * T::real(length), b, of_a / length, direction * b.conj() / T::real(length));
    }
    let length = norm(&[a, b]);
    if length.is_zero() {
        return (T::zero(), T::zero(), one, T::zero());
    }
    let sign = if of_a > of_b { a.re().signum() } else { b.re().signum() };
    let r = sign * length;
    let (c, s) = (a.re() / r, b.re() / r);
    let z = if of_a > of_b {
        s
    } else if !c.is_zero() {
        one / c
    } else {
        one
    };
    (T::real(r), T::real(z), c, T::real(s))
}

/// The type of the arguments and of the sums, if all are the same.
fn same(types: &[cudaDataType]) -> Outcome<DataType> {
    let first = *types.first().ok_or(NOT_SUPPORTED)?;
    if types.iter().all(|data| *data == first) { DataType::of(first) } else { Err(NOT_SUPPORTED) }
}

/// `cublasRotmgEx`.
pub(crate) fn rotmg_ex(
    handle: &Handle,
    d1: *mut c_void,
    d1_type: cudaDataType,
    d2: *mut c_void,
    d2_type: cudaDataType,
    x1: *mut c_void,
    x1_type: cudaDataType,
    y1: *const c_void,
    y1_type: cudaDataType,
    param: *mut c_void,
    param_type: cudaDataType,
    execution: cudaDataType,
) -> Outcome {
    match same(&[execution, d1_type, d2_type, x1_type, y1_type, param_type])? {
        DataType::F32 => rotmg::<f32>(handle, d1.cast(), d2.cast(), x1.cast(), y1.cast(), param.cast()),
        DataType::F64 => rotmg::<f64>(handle, d1.cast(), d2.cast(), x1.cast(), y1.cast(), param.cast()),
        _ => Err(NOT_SUPPORTED),
    }
}

/// `cublasRotmEx`.
pub(crate) fn rotm_ex(
    handle: &Handle,
    n: i64,
    x: *mut c_void,
    x_type: cudaDataType,
    incx: i64,
    y: *mut c_void,
    y_type: cudaDataType,
    incy: i64,
    param: *const c_void,
    param_type: cudaDataType,
    execution: cudaDataType,
) -> Outcome {
    match same(&[execution, x_type, y_type, param_type])? {
        DataType::F32 => level1::rotm::<f32>(handle, n, x.cast(), incx, y.cast(), incy, param.cast()),
        DataType::F64 => level1::rotm::<f64>(handle, n, x.cast(), incx, y.cast(), incy, param.cast()),
        _ => Err(NOT_SUPPORTED),
    }
}

/// `cublasRotgEx`, for real numbers.
pub(crate) fn rotg_ex(
    handle: &Handle,
    a: *mut c_void,
    b: *mut c_void,
    ab_type: cudaDataType,
    c: *mut c_void,
    s: *mut c_void,
    cs_type: cudaDataType,
    execution: cudaDataType,
) -> Outcome {
    match same(&[execution, ab_type, cs_type])? {
        DataType::F32 => rotg::<f32>(handle, a.cast(), b.cast(), c.cast(), s.cast()),
        DataType::F64 => rotg::<f64>(handle, a.cast(), b.cast(), c.cast(), s.cast()),
        _ => Err(NOT_SUPPORTED),
    }
}
