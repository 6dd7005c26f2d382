//! The points of streams that work and events wait for.

use cuarray_abi::CUstream;

/// Operation number `operation` of a stream, counted from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Point {
    pub stream: CUstream,
    pub operation: u64,
}
