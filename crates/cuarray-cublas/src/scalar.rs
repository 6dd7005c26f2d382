//! The numbers of cuBLAS, and products of matrices of them.

use crate::status::{NOT_SUPPORTED, Outcome};
use cuarray_stream_work::Plain;
use matrixmultiply::CGemmOption;
use num_complex::Complex;
use num_traits::{Float, NumAssign};
use std::ffi::c_int;
use std::ops::Neg;

/// `cuComplex`.
pub type Complex32 = Complex<f32>;
/// `cuDoubleComplex`.
pub type Complex64 = Complex<f64>;

/// The types of elements that the stand-in computes with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum DataType {
    F16,
    Bf16,
    F32,
    F64,
    C32,
    C64,
    I8,
    U8,
    I32,
    CI8,
    E4M3,
    E5M2,
}

impl DataType {
    /// The type with this number.
    pub(crate) fn of(number: c_int) -> Outcome<DataType> {
        Ok(match number {
            0 => DataType::F32,
            1 => DataType::F64,
            2 => DataType::F16,
            3 => DataType::I8,
            4 => DataType::C32,
            5 => DataType::C64,
            7 => DataType::CI8,
            8 => DataType::U8,
            10 => DataType::I32,
            14 => DataType::Bf16,
            28 => DataType::E4M3,
            29 => DataType::E5M2,
            _ => return Err(NOT_SUPPORTED),
        })
    }

    /// The bytes of an element.
    pub(crate) fn size(self) -> usize {
        match self {
            DataType::I8 | DataType::U8 | DataType::E4M3 | DataType::E5M2 => 1,
            DataType::F16 | DataType::Bf16 | DataType::CI8 => 2,
            DataType::F32 | DataType::I32 => 4,
            DataType::F64 | DataType::C32 => 8,
            DataType::C64 => 16,
        }
    }

    pub(crate) fn is_complex(self) -> bool {
        matches!(self, DataType::C32 | DataType::C64 | DataType::CI8)
    }
}

/// A matrix as an address and the distances of rows and columns in elements.
#[derive(Clone, Copy)]
pub struct Strided<P> {
    pub(crate) start: P,
    pub(crate) row: isize,
    pub(crate) column: isize,
}

/// A number with which cuBLAS computes.
pub trait Scalar: Plain + NumAssign + Neg<Output = Self> + Default {
    /// The type of real and imaginary parts.
    type Real: Scalar<Real = Self::Real> + Float;
    /// The type in calls that name their types.
    const TYPE: DataType;
    /// The letter in the names of functions.
    const IS_COMPLEX: bool;

    /// The complex conjugate.
    fn conj(self) -> Self;
    /// The real part.
    fn re(self) -> Self::Real;
    /// The imaginary part; 0 for real numbers.
    fn im(self) -> Self::Real;
    /// A number without an imaginary part.
    fn real(value: Self::Real) -> Self;
    /// A number of two parts. The second is dropped by real numbers.
    fn of_parts(re: Self::Real, im: Self::Real) -> Self;

    /// The sum of the absolute values of the parts, by which cuBLAS compares complex numbers.
    fn abs1(self) -> Self::Real {
        self.re().abs() + self.im().abs()
    }

    /// `c = alpha * a * b + beta * c` for an m×k and a k×n matrix. If `beta` is 0, `c` is not read.
    ///
    /// # Safety
    /// The elements of the matrices may be accessed, and those of `c` are no others.
    unsafe fn multiply(
        size: [usize; 3],
        alpha: Self,
        a: Strided<*const Self>,
        b: Strided<*const Self>,
        beta: Self,
        c: Strided<*mut Self>,
    );
}

macro_rules! real {
    ($type:ty, $data:ident, $gemm:ident) => {
        impl Scalar for $type {
            type Real = $type;
            const TYPE: DataType = DataType::$data;
            const IS_COMPLEX: bool = false;

            fn conj(self) -> Self {
                self
            }
            fn re(self) -> Self {
                self
            }
            fn im(self) -> Self {
                0.0
            }
            fn real(value: Self) -> Self {
                value
            }
            fn of_parts(re: Self, _: Self) -> Self {
                re
            }
            unsafe fn multiply(
                [m, n, k]: [usize; 3],
                alpha: Self,
                a: Strided<*const Self>,
                b: Strided<*const Self>,
                beta: Self,
                c: Strided<*mut Self>,
            ) {
                // SAFETY: the contract is the same.
                unsafe {
                    matrixmultiply::$gemm(
                        m, k, n, alpha, a.start, a.row, a.column, b.start, b.row, b.column, beta, c.start, c.row,
                        c.column,
                    );
                }
            }
        }
    };
}

real!(f32, F32, sgemm);
real!(f64, F64, dgemm);

macro_rules! complex {
    ($real:ty, $data:ident, $gemm:ident) => {
        impl Scalar for Complex<$real> {
            type Real = $real;
            const TYPE: DataType = DataType::$data;
            const IS_COMPLEX: bool = true;

            fn conj(self) -> Self {
                Complex::conj(&self)
            }
            fn re(self) -> $real {
                self.re
            }
            fn im(self) -> $real {
                self.im
            }
            fn real(value: $real) -> Self {
                Complex::new(value, 0.0)
            }
            fn of_parts(re: $real, im: $real) -> Self {
                Complex::new(re, im)
            }
            unsafe fn multiply(
                [m, n, k]: [usize; 3],
                alpha: Self,
                a: Strided<*const Self>,
                b: Strided<*const Self>,
                beta: Self,
                c: Strided<*mut Self>,
            ) {
                let standard = || CGemmOption::Standard;
                let parts = |value: Self| [value.re, value.im];
                // SAFETY: the contract is the same; a complex number is an array of its two parts.
                unsafe {
                    matrixmultiply::$gemm(
                        standard(),
                        standard(),
                        m,
                        k,
                        n,
                        parts(alpha),
                        a.start.cast(),
                        a.row,
                        a.column,
                        b.start.cast(),
                        b.row,
                        b.column,
                        parts(beta),
                        c.start.cast(),
                        c.row,
                        c.column,
                    );
                }
            }
        }
    };
}

complex!(f32, C32, cgemm);
complex!(f64, C64, zgemm);
