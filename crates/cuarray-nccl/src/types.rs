//! `ncclDataType_t` and `ncclRedOp_t`.

use crate::result::{Error, Outcome};
use std::ffi::c_int;

/// `ncclDataType_t`, with its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum DataType {
    Int8,
    Uint8,
    Int32,
    Uint32,
    Int64,
    Uint64,
    Float16,
    Float32,
    Float64,
    Bfloat16,
    Float8E4M3,
    Float8E5M2,
}

impl DataType {
    pub(crate) fn from_raw(number: c_int) -> Outcome<Self> {
        Ok(match number {
            0 => Self::Int8,
            1 => Self::Uint8,
            2 => Self::Int32,
            3 => Self::Uint32,
            4 => Self::Int64,
            5 => Self::Uint64,
            6 => Self::Float16,
            7 => Self::Float32,
            8 => Self::Float64,
            9 => Self::Bfloat16,
            10 => Self::Float8E4M3,
            11 => Self::Float8E5M2,
            _ => return Err(Error::argument(format!("{number} is no data type"))),
        })
    }

    /// The size of an element in bytes.
    pub(crate) fn size(self) -> usize {
        match self {
            Self::Int8 | Self::Uint8 | Self::Float8E4M3 | Self::Float8E5M2 => 1,
            Self::Float16 | Self::Bfloat16 => 2,
            Self::Int32 | Self::Uint32 | Self::Float32 => 4,
            Self::Int64 | Self::Uint64 | Self::Float64 => 8,
        }
    }
}

/// `ncclRedOp_t`, with its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Reduce {
    Sum,
    Prod,
    Max,
    Min,
    Avg,
}

impl Reduce {
    /// The operation of a number, if elements of the type can be reduced.
    pub(crate) fn from_raw(number: c_int, datatype: DataType) -> Outcome<Self> {
        let operation = match number {
            0 => Self::Sum,
            1 => Self::Prod,
            2 => Self::Max,
            3 => Self::Min,
            4 => Self::Avg,
            _ => {
                return Err(Error::argument(format!(
                    "{number} is no reduction: those of ncclRedOpCreatePreMulSum are not supported"
                )));
            }
        };
        if matches!(datatype, DataType::Float8E4M3 | DataType::Float8E5M2) {
            return Err(Error::usage(format!("reductions of {datatype:?} are not supported by this stand-in")));
        }
        Ok(operation)
    }
}
