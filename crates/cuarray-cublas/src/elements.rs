//! Elements of each type as numbers to compute with.

use crate::fp8::Fp8;
use crate::scalar::{Complex32, Complex64, DataType, Scalar};
use half::{bf16, f16};
use num_complex::Complex;
use num_traits::{NumCast, ToPrimitive};
use std::borrow::Cow;

/// The elements in these bytes; none if they are not aligned.
fn elements<E>(bytes: &[u8]) -> &[E]
where
    E: cuarray_stream_work::Plain,
{
    // SAFETY: any bytes are values of a `Plain` type.
    unsafe { bytes.align_to::<E>() }.1
}

fn elements_mut<E>(bytes: &mut [u8]) -> &mut [E]
where
    E: cuarray_stream_work::Plain,
{
    // SAFETY: any bytes are values of a `Plain` type.
    unsafe { bytes.align_to_mut::<E>() }.1
}

/// Elements as numbers of a type; those of the type itself are not copied.
pub(crate) fn load<S: Scalar>(data: DataType, bytes: &[u8]) -> Cow<'_, [S]> {
    fn convert<E: cuarray_stream_work::Plain, S: Scalar>(bytes: &[u8], to: impl Fn(E) -> (f64, f64)) -> Cow<'_, [S]> {
        let number = |value: f64| <S::Real as NumCast>::from(value).unwrap_or_default();
        let convert = |element: &E| {
            let (re, im) = to(*element);
            S::of_parts(number(re), number(im))
        };
        Cow::Owned(elements::<E>(bytes).iter().map(convert).collect())
    }
    if data == S::TYPE {
        return Cow::Borrowed(elements::<S>(bytes));
    }
    match data {
        DataType::F16 => convert(bytes, |value: f16| (value.to_f64(), 0.0)),
        DataType::Bf16 => convert(bytes, |value: bf16| (value.to_f64(), 0.0)),
        DataType::F32 => convert(bytes, |value: f32| (value.into(), 0.0)),
        DataType::F64 => convert(bytes, |value: f64| (value, 0.0)),
        DataType::C32 => convert(bytes, |value: Complex32| (value.re.into(), value.im.into())),
        DataType::C64 => convert(bytes, |value: Complex64| (value.re, value.im)),
        DataType::I8 => convert(bytes, |value: i8| (value.into(), 0.0)),
        DataType::U8 => convert(bytes, |value: u8| (value.into(), 0.0)),
        DataType::I32 => convert(bytes, |value: i32| (value.into(), 0.0)),
        DataType::CI8 => convert(bytes, |value: Complex<i8>| (value.re.into(), value.im.into())),
        DataType::E4M3 | DataType::E5M2 => {
            let table = if data == DataType::E4M3 { Fp8::E4M3 } else { Fp8::E5M2 }.table();
            convert(bytes, |code: u8| (table[code as usize], 0.0))
        }
    }
}

/// Stores numbers as elements of a type, rounded to the nearest one. Integers wrap around, as sums of them do.
pub(crate) fn store<S: Scalar>(data: DataType, bytes: &mut [u8], values: &[S]) {
    let parts = |value: &S| (value.re().to_f64().unwrap_or_default(), value.im().to_f64().unwrap_or_default());
    macro_rules! store {
        ($element:ty, |$re:ident, $im:ident| $convert:expr) => {
            for (element, value) in elements_mut::<$element>(bytes).iter_mut().zip(values) {
                let ($re, $im) = parts(value);
                *element = $convert;
            }
        };
    }
    match data {
        DataType::F16 => store!(f16, |re, _im| f16::from_f64(re)),
        DataType::Bf16 => store!(bf16, |re, _im| bf16::from_f64(re)),
        DataType::F32 => store!(f32, |re, _im| re as f32),
        DataType::F64 => store!(f64, |re, _im| re),
        DataType::C32 => store!(Complex32, |re, im| Complex::new(re as f32, im as f32)),
        DataType::C64 => store!(Complex64, |re, im| Complex::new(re, im)),
        DataType::I8 => store!(i8, |re, _im| re as i8),
        DataType::U8 => store!(u8, |re, _im| re as u8),
        DataType::I32 => store!(i32, |re, _im| re as i64 as i32),
        DataType::CI8 => store!(Complex<i8>, |re, im| Complex::new(re as i8, im as i8)),
        DataType::E4M3 => store!(u8, |re, _im| Fp8::E4M3.encode(re)),
        DataType::E5M2 => store!(u8, |re, _im| Fp8::E5M2.encode(re)),
    }
}
