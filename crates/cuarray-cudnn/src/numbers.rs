//! The types of elements, and the numbers with which the algorithms compute.

use crate::status::{NOT_SUPPORTED, NULL_POINTER, Outcome};
use crate::types::cudnnDataType_t;
use cuarray_stream_work::Plain;
use half::{bf16, f16};
use num_traits::Float;
use std::ffi::c_void;
use std::ops::AddAssign;

/// `cudnnDataType_t`, for the types whose elements lie one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Float,
    Double,
    Half,
    Bfloat16,
    /// An integer of so many bytes, whose tensors have a descriptor and no arithmetic.
    Integer(cudnnDataType_t, usize),
}

impl Type {
    pub(crate) fn of(number: cudnnDataType_t) -> Outcome<Type> {
        match number {
            0 => Ok(Type::Float),
            1 => Ok(Type::Double),
            2 => Ok(Type::Half),
            9 => Ok(Type::Bfloat16),
            3 | 6 => Ok(Type::Integer(number, 1)),
            4 => Ok(Type::Integer(number, 4)),
            10 => Ok(Type::Integer(number, 8)),
            // Vectors of elements, booleans, complex numbers, other integers, 4-bit and 8-bit floats.
            5 | 7 | 8 | 11..=23 => Err(NOT_SUPPORTED),
            _ => Err(crate::status::BAD_PARAM),
        }
    }

    pub(crate) fn number(self) -> cudnnDataType_t {
        match self {
            Type::Float => 0,
            Type::Double => 1,
            Type::Half => 2,
            Type::Bfloat16 => 9,
            Type::Integer(number, _) => number,
        }
    }

    /// The bytes of an element.
    pub(crate) fn size(self) -> usize {
        match self {
            Type::Half | Type::Bfloat16 => 2,
            Type::Float => 4,
            Type::Double => 8,
            Type::Integer(_, size) => size,
        }
    }
}

/// A number with which the algorithms compute.
pub(crate) trait Real: Float + Plain + Default + AddAssign + Element<Wide = Self> {
    /// The number of a double.
    fn of(value: f64) -> Self;
    /// The double of the number.
    fn double(self) -> f64;
    /// `c = a * b + beta * c` with distances of rows and columns.
    ///
    /// # Safety
    /// The matrices lie in memory, and `c` in memory that nothing else accesses.
    unsafe fn multiply(
        sizes: [usize; 3],
        a: (*const Self, [usize; 2]),
        b: (*const Self, [usize; 2]),
        beta: Self,
        c: (*mut Self, [usize; 2]),
    );
}

macro_rules! real {
    ($($type:ty: $multiply:path;)*) => { $(
        impl Real for $type {
            fn of(value: f64) -> $type {
                value as $type
            }
            fn double(self) -> f64 {
                self.into()
            }
            unsafe fn multiply(
                [m, n, k]: [usize; 3],
                (a, [a_row, a_column]): (*const $type, [usize; 2]),
                (b, [b_row, b_column]): (*const $type, [usize; 2]),
                beta: $type,
                (c, [c_row, c_column]): (*mut $type, [usize; 2]),
            ) {
                let [a_row, a_column, b_row, b_column] = [a_row, a_column, b_row, b_column].map(|step| step as isize);
                // SAFETY: by the contract the matrices lie in memory.
                unsafe {
                    $multiply(m, k, n, 1.0, a, a_row, a_column, b, b_row, b_column, beta, c, c_row as isize, c_column as isize)
                };
            }
        }
    )* };
}

real! {
    f32: matrixmultiply::sgemm;
    f64: matrixmultiply::dgemm;
}

/// An element of a tensor.
pub(crate) trait Element: Plain {
    /// The number with which algorithms compute: `float`, or `double` for `double` and for integers of graphs.
    type Wide: Real;
    fn widen(self) -> Self::Wide;
    fn narrow(value: Self::Wide) -> Self;
}

macro_rules! elements {
    ($($type:ty: $wide:ty, $value:ident $widen:expr, $narrow:expr;)*) => { $(
        impl Element for $type {
            type Wide = $wide;
            fn widen(self) -> $wide {
                let $value = self;
                $widen
            }
            fn narrow($value: $wide) -> $type {
                $narrow
            }
        }
    )* };
}

elements! {
    f32: f32, value value, value;
    f64: f64, value value, value;
    f16: f32, value value.to_f32(), f16::from_f32(value);
    bf16: f32, value value.to_f32(), bf16::from_f32(value);
    i8: f64, value value.into(), value as i8;
    u8: f64, value value.into(), value as u8;
    i32: f64, value value.into(), value as i32;
    i64: f64, value value as f64, value as i64;
}

/// Runs an expression with the type of elements. Integers have no arithmetic.
macro_rules! of_type {
    ($kind:expr, $t:ident => $call:expr) => {
        match $kind {
            $crate::numbers::Type::Float => {
                type $t = f32;
                $call
            }
            $crate::numbers::Type::Double => {
                type $t = f64;
                $call
            }
            $crate::numbers::Type::Half => {
                type $t = ::half::f16;
                $call
            }
            $crate::numbers::Type::Bfloat16 => {
                type $t = ::half::bf16;
                $call
            }
            $crate::numbers::Type::Integer(..) => Err($crate::status::NOT_SUPPORTED),
        }
    };
}
pub(crate) use of_type;

/// The factors of a result and of the values that were there: `alpha * result + beta * before`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Factors<W> {
    pub(crate) alpha: W,
    pub(crate) beta: W,
}

impl<W: Real> Factors<W> {
    /// The factors of a call.
    pub(crate) fn at(alpha: *const c_void, beta: *const c_void) -> Outcome<Factors<W>> {
        Ok(Factors { alpha: factor(alpha)?, beta: factor(beta)? })
    }

    /// The result alone.
    pub(crate) fn result() -> Factors<W> {
        Factors { alpha: W::one(), beta: W::zero() }
    }

    /// Whether the values that were there are not read.
    pub(crate) fn overwrites(&self) -> bool {
        self.beta.is_zero()
    }
}

/// A factor on the host: `float`, or `double` for tensors of `double`.
pub(crate) fn factor<W: Real>(at: *const c_void) -> Outcome<W> {
    if at.is_null() {
        return Err(NULL_POINTER);
    }
    // SAFETY: the pointer is not null, and by the contract of the C function that of a factor of this type. Any alignment is read.
    Ok(unsafe { at.cast::<W>().read_unaligned() })
}
