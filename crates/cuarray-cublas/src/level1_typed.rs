//! Level 1 with types that the calls name: 16-bit floats are computed in `float`.

use crate::arguments::{Call, Given};
use crate::elements::{load, store};
use crate::handle::Handle;
use crate::layout::{Order, Vector};
use crate::level1::{self, Index, norm};
use crate::scalar::{Complex32, Complex64, DataType, Scalar};
use crate::status::{INVALID_VALUE, NOT_SUPPORTED, Outcome};
use crate::types::cudaDataType;
use cuarray_stream_work::{Argument, Data, Plain};
use half::{bf16, f16};
use num_traits::{NumCast, ToPrimitive};
use std::ffi::{CStr, c_void};

/// A vector whose type a call names.
#[derive(Clone, Copy)]
struct Typed {
    vector: Vector,
    data: DataType,
}

fn typed(pointer: *const c_void, data: cudaDataType, n: i64, increment: i64) -> Outcome<Typed> {
    let data = DataType::of(data)?;
    let n = usize::try_from(n).unwrap_or(0);
    let vector = Vector { address: pointer.addr() as u64, element: data.size(), n, increment };
    Ok(Typed { vector, data })
}

impl Typed {
    fn reads(&self, call: &mut Call<'_>, name: &'static CStr) -> Outcome<Read> {
        Ok(Read { argument: call.reads(name, self.vector.region())?, data: self.data, order: self.vector.order() })
    }

    fn multiplied<S: Scalar>(&self, call: &mut Call<'_>, name: &'static CStr, by: Given<S>) -> Outcome<Read> {
        let argument = call.multiplied(name, self.vector.region(), by)?;
        Ok(Read { argument, data: self.data, order: self.vector.order() })
    }

    fn added_to<S: Scalar>(&self, call: &mut Call<'_>, name: &'static CStr, by: Given<S>) -> Outcome<Read> {
        let argument = call.added_to(name, self.vector.region(), by)?;
        Ok(Read { argument, data: self.data, order: self.vector.order() })
    }

    fn updates(&self, call: &mut Call<'_>, name: &'static CStr) -> Outcome<Read> {
        Ok(Read { argument: call.updates(name, self.vector.region())?, data: self.data, order: self.vector.order() })
    }
}

/// An argument of the work with its type.
#[derive(Clone, Copy)]
struct Read {
    argument: Argument,
    data: DataType,
    order: Order,
}

impl Read {
    /// The elements in their order.
    fn values<S: Scalar>(self, data: &mut Data<'_>) -> Vec<S> {
        let bytes: &[u8] = data.take(self.argument);
        self.order.read(&load::<S>(self.data, bytes))
    }

    /// Replaces the elements by those of a function of their index and value.
    fn replace<S: Scalar>(self, data: &mut Data<'_>, mut f: impl FnMut(usize, S) -> S, n: usize) {
        let bytes = data.take::<u8>(self.argument);
        let mut values = load::<S>(self.data, bytes).into_owned();
        for index in 0..n {
            let place = self.order.place(index);
            values[place] = f(index, values[place]);
        }
        store(self.data, bytes, &values);
    }
}

/// Checks the types of a function: the sums are computed in `execution`, and 16-bit floats in `float`.
fn check(execution: cudaDataType, types: &[DataType]) -> Outcome<DataType> {
    let execution = DataType::of(execution)?;
    let is_short = |data: &DataType| matches!(data, DataType::F16 | DataType::Bf16);
    let first = *types.first().ok_or(INVALID_VALUE)?;
    let matches = match execution {
        DataType::F32 => first == DataType::F32 || is_short(&first),
        DataType::F64 | DataType::C32 | DataType::C64 => first == execution,
        _ => false,
    };
    if matches && types.iter().all(|data| *data == first) { Ok(execution) } else { Err(NOT_SUPPORTED) }
}

/// Calls the function for the type that a call computes in.
macro_rules! by_type {
    ($execution:expr, $function:ident($($arg:expr),* $(,)?)) => {
        match $execution {
            DataType::F32 => $function::<f32>($($arg),*),
            DataType::F64 => $function::<f64>($($arg),*),
            DataType::C32 => $function::<Complex32>($($arg),*),
            DataType::C64 => $function::<Complex64>($($arg),*),
            _ => Err(NOT_SUPPORTED),
        }
    };
}

/// `cublasAxpyEx`.
pub(crate) fn axpy(
    handle: &Handle,
    n: i64,
    alpha: *const c_void,
    alpha_type: cudaDataType,
    x: *const c_void,
    x_type: cudaDataType,
    incx: i64,
    y: *mut c_void,
    y_type: cudaDataType,
    incy: i64,
    execution: cudaDataType,
) -> Outcome {
    let (x, y) = (typed(x, x_type, n, incx)?, typed(y, y_type, n, incy)?);
    let execution = check(execution, &[x.data, y.data])?;
    if DataType::of(alpha_type)? != execution {
        return Err(NOT_SUPPORTED);
    }
    by_type!(execution, axpy_in(handle, alpha, x, y))
}

fn axpy_in<S: Scalar>(handle: &Handle, alpha: *const c_void, x: Typed, y: Typed) -> Outcome {
    let mut call = Call::of(handle);
    let alpha = call.scalar(c"alpha", alpha.cast::<S>())?;
    let n = x.vector.n;
    if n == 0 || alpha.is(S::zero()) {
        return Ok(());
    }
    let (x, y) = (x.multiplied(&mut call, c"x", alpha)?, y.added_to(&mut call, c"y", alpha)?);
    call.computes(move |data| {
        let alpha = alpha.value(data);
        if alpha.is_zero() {
            return;
        }
        let x = x.values::<S>(data);
        y.replace::<S>(data, |index, value| alpha * x[index] + value, n);
    })
}

/// `cublasScalEx`.
pub(crate) fn scal(
    handle: &Handle,
    n: i64,
    alpha: *const c_void,
    alpha_type: cudaDataType,
    x: *mut c_void,
    x_type: cudaDataType,
    incx: i64,
    execution: cudaDataType,
) -> Outcome {
    let x = typed(x, x_type, n, incx)?;
    let execution = check(execution, &[x.data])?;
    if DataType::of(alpha_type)? != execution {
        return Err(NOT_SUPPORTED);
    }
    by_type!(execution, scal_in(handle, alpha, x))
}

fn scal_in<S: Scalar>(handle: &Handle, alpha: *const c_void, x: Typed) -> Outcome {
    let mut call = Call::of(handle);
    let alpha = call.scalar(c"alpha", alpha.cast::<S>())?;
    let n = x.vector.n;
    if n == 0 || x.vector.increment <= 0 || alpha.is(S::one()) {
        return Ok(());
    }
    let x = x.updates(&mut call, c"x")?;
    call.computes(move |data| {
        let alpha = alpha.value(data);
        x.replace::<S>(data, |_, value| alpha * value, n);
    })
}

/// Enqueues a function whose result has a type that the call names.
fn returns<S: Scalar>(
    call: Call<'_>,
    (result, data): (*mut c_void, DataType),
    f: impl Fn(&mut Data<'_>) -> S + Send + Sync + 'static,
) -> Outcome {
    fn part<V: NumCast + Default>(value: impl ToPrimitive) -> V {
        <V as NumCast>::from(value).unwrap_or_default()
    }
    fn enqueue<S: Scalar, V: Plain>(
        call: Call<'_>,
        result: *mut c_void,
        f: impl Fn(&mut Data<'_>) -> S + Send + Sync + 'static,
        to: fn(S) -> V,
    ) -> Outcome {
        call.returns(result.cast::<V>(), move |data| to(f(data)))
    }
    match data {
        DataType::F16 => enqueue(call, result, f, |sum| f16::from_f64(part(sum.re()))),
        DataType::Bf16 => enqueue(call, result, f, |sum| bf16::from_f64(part(sum.re()))),
        DataType::F32 => enqueue(call, result, f, |sum| part::<f32>(sum.re())),
        DataType::F64 => enqueue(call, result, f, |sum| part::<f64>(sum.re())),
        DataType::C32 => enqueue(call, result, f, |sum| Complex32::new(part(sum.re()), part(sum.im()))),
        DataType::C64 => enqueue(call, result, f, |sum| Complex64::new(part(sum.re()), part(sum.im()))),
        _ => Err(NOT_SUPPORTED),
    }
}

/// `cublasDotEx`, and `cublasDotcEx` with the conjugate of `x`.
macro_rules! dot {
    ($($name:ident $conjugate:literal;)*) => {$(
        pub(crate) fn $name(
            handle: &Handle, n: i64, x: *const c_void, x_type: cudaDataType, incx: i64, y: *const c_void, y_type: cudaDataType, incy: i64,
            result: *mut c_void, result_type: cudaDataType, execution: cudaDataType,
        ) -> Outcome {
            let (x, y, data) = (typed(x, x_type, n, incx)?, typed(y, y_type, n, incy)?, DataType::of(result_type)?);
            let execution = check(execution, &[x.data, y.data, data])?;
            by_type!(execution, dot_in(handle, x, y, (result, data), $conjugate))
        }
    )*};
}

dot! {
    dot false;
    dotc true;
}

fn dot_in<S: Scalar>(handle: &Handle, x: Typed, y: Typed, result: (*mut c_void, DataType), conjugate: bool) -> Outcome {
    let mut call = Call::of(handle);
    let (x, y) = (x.reads(&mut call, c"x")?, y.reads(&mut call, c"y")?);
    returns::<S>(call, result, move |data| {
        let (x, y) = (x.values::<S>(data), y.values::<S>(data));
        let of_x = |x: S| if conjugate { x.conj() } else { x };
        x.iter().zip(&y).fold(S::zero(), |sum, (x, y)| sum + of_x(*x) * *y)
    })
}

/// Functions of one vector with a real result: `cublasNrm2Ex` and `cublasAsumEx`.
macro_rules! reduce {
    ($($name:ident |$values:ident| $value:expr;)*) => {$(
        pub(crate) fn $name(
            handle: &Handle, n: i64, x: *const c_void, x_type: cudaDataType, incx: i64, result: *mut c_void, result_type: cudaDataType,
            execution: cudaDataType,
        ) -> Outcome {
            fn inner<S: Scalar>(handle: &Handle, x: Typed, result: (*mut c_void, DataType)) -> Outcome {
                let mut call = Call::of(handle);
                let x = x.reads(&mut call, c"x")?;
                returns::<S>(call, result, move |data| {
                    let $values = x.values::<S>(data);
                    S::real($value)
                })
            }
            let x = typed(x, x_type, if incx > 0 { n } else { 0 }, incx.max(1))?;
            let data = DataType::of(result_type)?;
            // The result and the type of the sums of complex numbers are real.
            let (wide, real) = match x.data {
                DataType::C32 => (DataType::C32, DataType::F32),
                DataType::C64 => (DataType::C64, DataType::F64),
                DataType::F64 => (DataType::F64, DataType::F64),
                DataType::F16 | DataType::Bf16 | DataType::F32 => (DataType::F32, DataType::F32),
                _ => return Err(NOT_SUPPORTED),
            };
            let expected = if x.data.is_complex() { real } else { x.data };
            if data != expected || DataType::of(execution)? != real {
                return Err(NOT_SUPPORTED);
            }
            by_type!(wide, inner(handle, x, (result, data)))
        }
    )*};
}

reduce! {
    nrm2 |values| norm(&values);
    asum |values| values.iter().fold(num_traits::Zero::zero(), |sum: S::Real, value| sum + value.abs1());
}

/// Calls the function of level 1 for elements of a type.
macro_rules! same {
    ($data:expr, $function:ident($($arg:expr),* $(,)?)) => {
        match DataType::of($data)? {
            DataType::F32 => level1::$function::<f32>($($arg),*),
            DataType::F64 => level1::$function::<f64>($($arg),*),
            DataType::C32 => level1::$function::<Complex32>($($arg),*),
            DataType::C64 => level1::$function::<Complex64>($($arg),*),
            _ => Err(NOT_SUPPORTED),
        }
    };
}

/// `cublasIamaxEx`.
pub(crate) fn amax(
    handle: &Handle,
    n: i64,
    x: *const c_void,
    x_type: cudaDataType,
    incx: i64,
    result: Index,
) -> Outcome {
    same!(x_type, amax(handle, n, x.cast(), incx, result))
}

/// `cublasIaminEx`.
pub(crate) fn amin(
    handle: &Handle,
    n: i64,
    x: *const c_void,
    x_type: cudaDataType,
    incx: i64,
    result: Index,
) -> Outcome {
    same!(x_type, amin(handle, n, x.cast(), incx, result))
}

/// `cublasCopyEx`. Elements are copied between vectors of one type.
pub(crate) fn copy(
    handle: &Handle,
    n: i64,
    x: *const c_void,
    x_type: cudaDataType,
    incx: i64,
    y: *mut c_void,
    y_type: cudaDataType,
    incy: i64,
) -> Outcome {
    if x_type != y_type {
        return Err(NOT_SUPPORTED);
    }
    same!(x_type, copy(handle, n, x.cast(), incx, y.cast(), incy))
}

/// `cublasSwapEx`.
pub(crate) fn swap(
    handle: &Handle,
    n: i64,
    x: *mut c_void,
    x_type: cudaDataType,
    incx: i64,
    y: *mut c_void,
    y_type: cudaDataType,
    incy: i64,
) -> Outcome {
    if x_type != y_type {
        return Err(NOT_SUPPORTED);
    }
    same!(x_type, swap(handle, n, x.cast(), incx, y.cast(), incy))
}

/// `cublasRotEx`, for numbers of the type of the sums.
pub(crate) fn rot(
    handle: &Handle,
    n: i64,
    x: *mut c_void,
    x_type: cudaDataType,
    incx: i64,
    y: *mut c_void,
    y_type: cudaDataType,
    incy: i64,
    c: *const c_void,
    s: *const c_void,
    cs_type: cudaDataType,
    execution: cudaDataType,
) -> Outcome {
    if x_type != y_type || x_type != execution {
        return Err(NOT_SUPPORTED);
    }
    let (x, y) = ((x, incx), (y, incy));
    match (DataType::of(x_type)?, DataType::of(cs_type)?) {
        (DataType::F32, DataType::F32) => {
            level1::rot::<f32>(handle, n, x.0.cast(), x.1, y.0.cast(), y.1, c.cast(), s.cast())
        }
        (DataType::F64, DataType::F64) => {
            level1::rot::<f64>(handle, n, x.0.cast(), x.1, y.0.cast(), y.1, c.cast(), s.cast())
        }
        (DataType::C32, DataType::F32) => {
            level1::rot_real::<Complex32>(handle, n, x.0.cast(), x.1, y.0.cast(), y.1, c.cast(), s.cast())
        }
        (DataType::C64, DataType::F64) => {
            level1::rot_real::<Complex64>(handle, n, x.0.cast(), x.1, y.0.cast(), y.1, c.cast(), s.cast())
        }
        _ => Err(NOT_SUPPORTED),
    }
}
