//! The numbers of cuSOLVER, and those with which the algorithms compute.

use cuarray_stream_work::Plain;
use faer::traits::ComplexField;
use num_complex::Complex;
use num_traits::NumAssign;
use std::ffi::c_int;
use std::ops::Neg;

/// `cuComplex`.
pub type Complex32 = Complex<f32>;
/// `cuDoubleComplex`.
pub type Complex64 = Complex<f64>;

/// A number in double precision, real or complex.
pub trait Field: ComplexField<Real = f64> + NumAssign + Neg<Output = Self> + Copy + Default {
    /// Whether the number has an imaginary part.
    const IS_COMPLEX: bool;
    /// The complex conjugate.
    fn conjugate(self) -> Self;
    /// The real part.
    fn re(self) -> f64;
    /// The imaginary part; 0 for real numbers.
    fn im(self) -> f64;
    /// A number of two parts. The second is dropped by real numbers.
    fn of_parts(re: f64, im: f64) -> Self;

    /// The sum of the absolute values of the parts, by which LAPACK compares complex pivots.
    fn abs1(self) -> f64 {
        self.re().abs() + self.im().abs()
    }
    /// Not a number.
    fn nan() -> Self {
        Self::of_parts(f64::NAN, f64::NAN)
    }
}

impl Field for f64 {
    const IS_COMPLEX: bool = false;
    fn conjugate(self) -> f64 {
        self
    }
    fn re(self) -> f64 {
        self
    }
    fn im(self) -> f64 {
        0.0
    }
    fn of_parts(re: f64, _: f64) -> f64 {
        re
    }
}

impl Field for Complex64 {
    const IS_COMPLEX: bool = true;
    fn conjugate(self) -> Complex64 {
        self.conj()
    }
    fn re(self) -> f64 {
        self.re
    }
    fn im(self) -> f64 {
        self.im
    }
    fn of_parts(re: f64, im: f64) -> Complex64 {
        Complex64::new(re, im)
    }
}

/// A number in the memory of a call.
pub trait Scalar: Plain + Default {
    /// The number with which the algorithms compute.
    type Wide: Field;
    /// The type of real and imaginary parts.
    type Real: Scalar<Wide = f64>;
    /// The number of `cudaDataType`.
    const TYPE: c_int;
    /// The value in double precision.
    fn widen(self) -> Self::Wide;
    /// The value, rounded to this type.
    fn narrow(value: Self::Wide) -> Self;
}

impl Scalar for f32 {
    type Wide = f64;
    type Real = f32;
    const TYPE: c_int = 0;
    fn widen(self) -> f64 {
        self.into()
    }
    fn narrow(value: f64) -> f32 {
        value as f32
    }
}

impl Scalar for f64 {
    type Wide = f64;
    type Real = f64;
    const TYPE: c_int = 1;
    fn widen(self) -> f64 {
        self
    }
    fn narrow(value: f64) -> f64 {
        value
    }
}

impl Scalar for Complex32 {
    type Wide = Complex64;
    type Real = f32;
    const TYPE: c_int = 4;
    fn widen(self) -> Complex64 {
        Complex64::new(self.re.into(), self.im.into())
    }
    fn narrow(value: Complex64) -> Complex32 {
        Complex32::new(value.re as f32, value.im as f32)
    }
}

impl Scalar for Complex64 {
    type Wide = Complex64;
    type Real = f64;
    const TYPE: c_int = 5;
    fn widen(self) -> Complex64 {
        self
    }
    fn narrow(value: Complex64) -> Complex64 {
        value
    }
}
