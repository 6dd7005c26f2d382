//! The types and directions of transforms.

use crate::status::{INVALID_VALUE, Outcome, cufftResult};
use std::ffi::c_int;

/// Which sides of a transform are real.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    ComplexToComplex,
    RealToComplex,
    ComplexToReal,
}

/// The type of the real numbers, or of the parts of the complex ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Precision {
    Half,
    Bfloat,
    Single,
    Double,
}

impl Precision {
    /// The bytes of a real number.
    pub(crate) fn bytes(self) -> usize {
        match self {
            Precision::Half | Precision::Bfloat => 2,
            Precision::Single => 4,
            Precision::Double => 8,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Forward,
    Inverse,
}

impl Direction {
    pub(crate) fn of(number: c_int) -> Outcome<Direction> {
        match number {
            -1 => Ok(Direction::Forward),
            1 => Ok(Direction::Inverse),
            _ => Err(INVALID_VALUE),
        }
    }
}

/// The types of a transform.
pub(crate) type Types = (Kind, Precision);

/// The types that a `cufftType` names.
pub(crate) fn types_of(number: c_int) -> Outcome<Types> {
    Ok(match number {
        0x29 => (Kind::ComplexToComplex, Precision::Single),
        0x2a => (Kind::RealToComplex, Precision::Single),
        0x2c => (Kind::ComplexToReal, Precision::Single),
        0x69 => (Kind::ComplexToComplex, Precision::Double),
        0x6a => (Kind::RealToComplex, Precision::Double),
        0x6c => (Kind::ComplexToReal, Precision::Double),
        _ => return Err(cufftResult::INVALID_TYPE),
    })
}

/// The types that three `cudaDataType` name: of the input, of the output, and of the computation.
pub(crate) fn types_of_data(input: c_int, output: c_int, execution: c_int) -> Outcome<Types> {
    let part = |number: c_int| {
        Ok(match number {
            0 => (false, Precision::Single),
            1 => (false, Precision::Double),
            2 => (false, Precision::Half),
            4 => (true, Precision::Single),
            5 => (true, Precision::Double),
            6 => (true, Precision::Half),
            14 => (false, Precision::Bfloat),
            15 => (true, Precision::Bfloat),
            _ => return Err(cufftResult::INVALID_TYPE),
        })
    };
    let (input, output, execution) = (part(input)?, part(output)?, part(execution)?);
    let kind = match (input.0, output.0, execution.0) {
        (true, true, true) => Kind::ComplexToComplex,
        (false, true, true) => Kind::RealToComplex,
        (true, false, true) => Kind::ComplexToReal,
        _ => return Err(cufftResult::INVALID_TYPE),
    };
    if input.1 != output.1 || input.1 != execution.1 {
        return Err(cufftResult::INVALID_TYPE);
    }
    Ok((kind, input.1))
}
