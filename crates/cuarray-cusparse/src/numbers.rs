//! The numbers of cuSPARSE in memory, and those with which the functions compute.
//!
//! All arithmetic is in double precision, real or complex, and results are rounded to the type of the call. So each algorithm is compiled for
//! two types of numbers, and the types of memory are converted at its ends.

use crate::status::{NOT_SUPPORTED, Outcome};
use cuarray_stream_work::{Argument, Data, Integers, Plain};
use half::{bf16, f16};
use num_complex::Complex;
use num_traits::NumAssign;
use std::ffi::c_int;
use std::ops::Neg;

/// A number with which functions compute.
pub(crate) trait Number:
    NumAssign + Neg<Output = Self> + Copy + Default + PartialEq + Send + Sync + 'static
{
    /// A number of two parts. The second is dropped by real numbers.
    fn of_parts(re: f64, im: f64) -> Self;
    /// The two parts; the second is 0 for real numbers.
    fn parts(self) -> (f64, f64);
    /// The complex conjugate.
    fn conj(self) -> Self;
    /// The absolute value.
    fn magnitude(self) -> f64;
}

impl Number for f64 {
    fn of_parts(re: f64, _: f64) -> f64 {
        re
    }
    fn parts(self) -> (f64, f64) {
        (self, 0.0)
    }
    fn conj(self) -> f64 {
        self
    }
    fn magnitude(self) -> f64 {
        self.abs()
    }
}

impl Number for Complex<f64> {
    fn of_parts(re: f64, im: f64) -> Self {
        Complex::new(re, im)
    }
    fn parts(self) -> (f64, f64) {
        (self.re, self.im)
    }
    fn conj(self) -> Self {
        Complex::conj(&self)
    }
    fn magnitude(self) -> f64 {
        magnitude(self.re, self.im)
    }
}

/// The magnitude of a complex number. glibc's `hypot` would ask for glibc 2.35.
pub(crate) fn magnitude(re: f64, im: f64) -> f64 {
    let largest = re.abs().max(im.abs());
    if largest == 0.0 || largest.is_infinite() {
        return largest;
    }
    let (re, im) = (re / largest, im / largest);
    largest * (re * re + im * im).sqrt()
}

/// The types of numbers in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    F16,
    BF16,
    F32,
    F64,
    C16,
    CB16,
    C32,
    C64,
    I8,
    I32,
}

impl Type {
    /// The type of a `cudaDataType`.
    pub(crate) fn of(number: c_int) -> Outcome<Type> {
        Ok(match number {
            0 => Type::F32,
            1 => Type::F64,
            2 => Type::F16,
            3 => Type::I8,
            4 => Type::C32,
            5 => Type::C64,
            6 => Type::C16,
            10 => Type::I32,
            14 => Type::BF16,
            15 => Type::CB16,
            _ => return Err(NOT_SUPPORTED),
        })
    }

    /// The `cudaDataType`.
    pub(crate) fn number(self) -> c_int {
        match self {
            Type::F32 => 0,
            Type::F64 => 1,
            Type::F16 => 2,
            Type::I8 => 3,
            Type::C32 => 4,
            Type::C64 => 5,
            Type::C16 => 6,
            Type::I32 => 10,
            Type::BF16 => 14,
            Type::CB16 => 15,
        }
    }

    /// The bytes of a number.
    pub(crate) fn size(self) -> usize {
        of_type!(self, T => size_of::<T>())
    }

    /// Whether numbers have an imaginary part.
    pub(crate) fn is_complex(self) -> bool {
        matches!(self, Type::C16 | Type::CB16 | Type::C32 | Type::C64)
    }
}

/// Evaluates an expression for the type of a value of [`Type`].
macro_rules! of_type {
    ($kind:expr, $t:ident => $body:expr) => {
        match $kind {
            $crate::numbers::Type::F16 => {
                type $t = half::f16;
                $body
            }
            $crate::numbers::Type::BF16 => {
                type $t = half::bf16;
                $body
            }
            $crate::numbers::Type::F32 => {
                type $t = f32;
                $body
            }
            $crate::numbers::Type::F64 => {
                type $t = f64;
                $body
            }
            $crate::numbers::Type::C16 => {
                type $t = num_complex::Complex<half::f16>;
                $body
            }
            $crate::numbers::Type::CB16 => {
                type $t = num_complex::Complex<half::bf16>;
                $body
            }
            $crate::numbers::Type::C32 => {
                type $t = num_complex::Complex<f32>;
                $body
            }
            $crate::numbers::Type::C64 => {
                type $t = num_complex::Complex<f64>;
                $body
            }
            $crate::numbers::Type::I8 => {
                type $t = i8;
                $body
            }
            $crate::numbers::Type::I32 => {
                type $t = i32;
                $body
            }
        }
    };
}
pub(crate) use of_type;

/// Evaluates an expression for the numbers with which a call computes: real ones, or complex ones if the condition is true.
macro_rules! with_numbers {
    ($is_complex:expr, $w:ident => $body:expr) => {
        if $is_complex {
            type $w = num_complex::Complex<f64>;
            $body
        } else {
            type $w = f64;
            $body
        }
    };
}
pub(crate) use with_numbers;

/// A number in memory.
pub(crate) trait Stored: Plain {
    /// The parts in double precision.
    fn parts(self) -> (f64, f64);
    /// The nearest number of this type.
    fn of(re: f64, im: f64) -> Self;
}

macro_rules! stored {
    ($($type:ty: $value:ident => $to:expr, $re:ident => $from:expr;)*) => { $(
        impl Stored for $type {
            fn parts(self) -> (f64, f64) {
                let $value = self;
                ($to, 0.0)
            }
            fn of($re: f64, _: f64) -> Self {
                $from
            }
        }
    )* };
}

stored! {
    f16: value => value.to_f64(), re => f16::from_f64(re);
    bf16: value => value.to_f64(), re => bf16::from_f64(re);
    f32: value => value.into(), re => re as f32;
    f64: value => value, re => re;
    i8: value => value.into(), re => re as i8;
    i32: value => value.into(), re => re as i32;
}

impl<T: Stored> Stored for Complex<T> {
    fn parts(self) -> (f64, f64) {
        (self.re.parts().0, self.im.parts().0)
    }
    fn of(re: f64, im: f64) -> Self {
        Complex::new(T::of(re, 0.0), T::of(im, 0.0))
    }
}

/// The type of a function with a letter for its type in its name.
pub(crate) trait Scalar: Stored {
    /// The type in memory.
    const TYPE: Type;
}

macro_rules! scalars {
    ($($type:ty: $name:ident;)*) => { $(
        impl Scalar for $type {
            const TYPE: Type = Type::$name;
        }
    )* };
}

scalars! {
    f32: F32;
    f64: F64;
    Complex<f32>: C32;
    Complex<f64>: C64;
}

/// The numbers of an argument.
pub(crate) fn widen<W: Number>(data: &mut Data<'_>, argument: Argument, kind: Type) -> Vec<W> {
    of_type!(kind, T => data.take::<T>(argument).iter().map(|value| {
        let (re, im) = Stored::parts(*value);
        W::of_parts(re, im)
    }).collect())
}

/// Writes numbers to an argument, rounded to its type.
pub(crate) fn narrow<W: Number>(data: &mut Data<'_>, argument: Argument, kind: Type, values: &[W]) {
    of_type!(kind, T => data.take::<T>(argument).iter_mut().zip(values).for_each(|(to, value)| {
        let (re, im) = value.parts();
        *to = <T as Stored>::of(re, im);
    }));
}

/// Reads the numbers of an argument, changes them, and writes them back.
pub(crate) fn update<W: Number>(data: &mut Data<'_>, argument: Argument, kind: Type, f: impl FnOnce(&mut [W])) {
    of_type!(kind, T => {
        let memory = data.take::<T>(argument);
        let mut values: Vec<W> = memory.iter().map(|value| {
            let (re, im) = Stored::parts(*value);
            W::of_parts(re, im)
        }).collect();
        f(&mut values);
        memory.iter_mut().zip(&values).for_each(|(to, value)| {
            let (re, im) = value.parts();
            *to = <T as Stored>::of(re, im);
        });
    });
}

/// As [`update`], for two arguments of the same type.
pub(crate) fn update_both<W: Number>(
    data: &mut Data<'_>,
    arguments: [Argument; 2],
    kind: Type,
    f: impl FnOnce(&mut [W], &mut [W]),
) {
    of_type!(kind, T => {
        let memory = arguments.map(|argument| data.take::<T>(argument));
        let mut values = [Vec::new(), Vec::new()];
        for (values, memory) in values.iter_mut().zip(&memory) {
            values.extend(memory.iter().map(|value| {
                let (re, im) = Stored::parts(*value);
                W::of_parts(re, im)
            }));
        }
        let [first, second] = &mut values;
        f(first, second);
        for (values, memory) in values.iter().zip(memory) {
            memory.iter_mut().zip(values).for_each(|(to, value)| {
                let (re, im) = value.parts();
                *to = <T as Stored>::of(re, im);
            });
        }
    });
}

/// The integers of an argument, less the base. Negative ones become numbers beyond any size.
pub(crate) fn integers(data: &mut Data<'_>, argument: Argument, kind: Integers, base: usize) -> Vec<usize> {
    match kind {
        Integers::U16 => {
            data.take::<u16>(argument).iter().map(|value| usize::from(*value).wrapping_sub(base)).collect()
        }
        Integers::I32 => data.take::<i32>(argument).iter().map(|value| (*value as usize).wrapping_sub(base)).collect(),
        Integers::I64 => data.take::<i64>(argument).iter().map(|value| (*value as usize).wrapping_sub(base)).collect(),
    }
}

/// Writes integers to an argument, plus the base.
pub(crate) fn write_integers(
    data: &mut Data<'_>,
    argument: Argument,
    kind: Integers,
    base: usize,
    values: impl Iterator<Item = usize>,
) {
    match kind {
        Integers::U16 => {
            data.take::<u16>(argument).iter_mut().zip(values).for_each(|(to, value)| *to = (value + base) as u16);
        }
        Integers::I32 => {
            data.take::<i32>(argument).iter_mut().zip(values).for_each(|(to, value)| *to = (value + base) as i32);
        }
        Integers::I64 => {
            data.take::<i64>(argument).iter_mut().zip(values).for_each(|(to, value)| *to = (value + base) as i64);
        }
    }
}

/// Writes the sum of a result and of the former values with a factor. If the factor is 0, they are not used: not a number does not stay one.
pub(crate) fn add_scaled<W: Number>(data: &mut Data<'_>, to: Argument, kind: Type, beta: W, result: &[W]) {
    if beta == W::default() {
        return narrow(data, to, kind, result);
    }
    update::<W>(data, to, kind, |values| {
        values.iter_mut().zip(result).for_each(|(value, result)| *value = *result + *value * beta);
    });
}

#[cfg(test)]
mod tests {
    use super::magnitude;

    #[test]
    fn magnitude_of_extreme_parts_stays_in_range() {
        let cases =
            [(3.0, -4.0, 5.0), (3e300, 4e300, 5e300), (3e-310, 4e-310, 5e-310), (0.0, -0.0, 0.0), (-2.0, 0.0, 2.0)];
        for (re, im, expected) in cases {
            let found: f64 = magnitude(re, im);
            assert!((found - expected).abs() <= expected * 1e-12, "{re} {im}: {found}");
        }
        assert_eq!(magnitude(f64::NEG_INFINITY, f64::NAN), f64::INFINITY);
        assert!(magnitude(f64::NAN, 1.0).is_nan() && magnitude(1.0, f64::NAN).is_nan());
    }
}
