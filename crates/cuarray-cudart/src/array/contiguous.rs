//! Copies of consecutive bytes to and from arrays, which are deprecated.
//!
//! The bytes of an array follow each other from row to row. So a copy becomes copies of a part of a row, of whole rows, and of a
//! part of the last row.

use crate::channel::{self, descriptor};
use crate::result::{Result, cudaError_t};
use crate::transfer::{Order, Side, copy_rows};
use crate::types::*;
use cuarray_abi::Api;
use std::ffi::c_void;

/// The next byte on one side of a copy.
#[derive(Clone, Copy)]
enum Next {
    Memory(*const c_void),
    Array { array: cudaArray_t, x: usize, y: usize, pitch: usize },
}

impl Next {
    /// The first byte of a copy in an array.
    fn in_array(api: &Api, array: cudaArray_t, x: usize, y: usize) -> Result<Next> {
        let found = descriptor(api, array)?;
        let texel = channel::size(&channel::of_format(found.Format, found.NumChannels));
        let pitch = found.Width * texel;
        // A copy that starts behind the end of a row is refused, as that of a row is.
        if x >= pitch { Err(cudaError_t::cudaErrorInvalidValue) } else { Ok(Next::Array { array, x, y, pitch }) }
    }

    /// The bytes that are left in the row; memory has one row.
    fn left(self) -> usize {
        match self {
            Next::Memory(_) => usize::MAX,
            Next::Array { x, pitch, .. } => pitch - x,
        }
    }

    /// The length of a row, if the byte is the first of one.
    fn whole_row(self) -> Option<usize> {
        match self {
            Next::Array { x: 0, pitch, .. } => Some(pitch),
            _ => None,
        }
    }

    fn side(self, width: usize) -> Side {
        match self {
            Next::Memory(ptr) => Side::Memory { ptr, pitch: width },
            Next::Array { array, x, y, .. } => Side::Array { array, x, y },
        }
    }

    /// Advances by rows of `width` bytes.
    fn advance(self, width: usize, height: usize) -> Next {
        match self {
            Next::Memory(ptr) => Next::Memory(ptr.wrapping_byte_add(width * height)),
            Next::Array { array, x, y, pitch } if x + width == pitch => {
                Next::Array { array, x: 0, y: y + height, pitch }
            }
            Next::Array { array, x, y, pitch } => Next::Array { array, x: x + width, y, pitch },
        }
    }
}

/// Copies consecutive bytes.
fn copy_bytes(
    api: &Api,
    (mut dst, mut src): (Next, Next),
    mut count: usize,
    kind: cudaMemcpyKind,
    order: Order,
) -> Result {
    // Also checks the direction of an empty copy.
    copy_rows(api, dst.side(0), src.side(0), (0, 0), kind, order)?;
    while count > 0 {
        let rows = match (dst, src) {
            (Next::Memory(_), Next::Memory(_)) => None,
            (Next::Memory(_), other) | (other, Next::Memory(_)) => other.whole_row(),
            (one, other) => one.whole_row().filter(|pitch| other.whole_row() == Some(*pitch)),
        };
        let (width, height) = match rows.filter(|pitch| count >= *pitch) {
            Some(pitch) => (pitch, count / pitch),
            None => (count.min(dst.left()).min(src.left()), 1),
        };
        copy_rows(api, dst.side(width), src.side(width), (width, height), kind, order)?;
        (dst, src) = (dst.advance(width, height), src.advance(width, height));
        count -= width * height;
    }
    Ok(())
}

pub(crate) unsafe fn cudaMemcpyToArray(
    api: &Api,
    dst: cudaArray_t,
    w_offset: usize,
    h_offset: usize,
    src: *const c_void,
    count: usize,
    kind: cudaMemcpyKind,
) -> Result {
    let sides = (Next::in_array(api, dst, w_offset, h_offset)?, Next::Memory(src));
    copy_bytes(api, sides, count, kind, Order::Plain)
}

pub(crate) unsafe fn cudaMemcpyToArrayAsync(
    api: &Api,
    dst: cudaArray_t,
    w_offset: usize,
    h_offset: usize,
    src: *const c_void,
    count: usize,
    kind: cudaMemcpyKind,
    stream: cudaStream_t,
) -> Result {
    let sides = (Next::in_array(api, dst, w_offset, h_offset)?, Next::Memory(src));
    copy_bytes(api, sides, count, kind, Order::InStream(stream))
}

pub(crate) unsafe fn cudaMemcpyFromArray(
    api: &Api,
    dst: *mut c_void,
    src: cudaArray_const_t,
    w_offset: usize,
    h_offset: usize,
    count: usize,
    kind: cudaMemcpyKind,
) -> Result {
    let sides = (Next::Memory(dst), Next::in_array(api, src, w_offset, h_offset)?);
    copy_bytes(api, sides, count, kind, Order::Plain)
}

pub(crate) unsafe fn cudaMemcpyFromArrayAsync(
    api: &Api,
    dst: *mut c_void,
    src: cudaArray_const_t,
    w_offset: usize,
    h_offset: usize,
    count: usize,
    kind: cudaMemcpyKind,
    stream: cudaStream_t,
) -> Result {
    let sides = (Next::Memory(dst), Next::in_array(api, src, w_offset, h_offset)?);
    copy_bytes(api, sides, count, kind, Order::InStream(stream))
}

pub(crate) unsafe fn cudaMemcpyArrayToArray(
    api: &Api,
    dst: cudaArray_t,
    w_offset_dst: usize,
    h_offset_dst: usize,
    src: cudaArray_const_t,
    w_offset_src: usize,
    h_offset_src: usize,
    count: usize,
    kind: cudaMemcpyKind,
) -> Result {
    let to = Next::in_array(api, dst, w_offset_dst, h_offset_dst)?;
    let from = Next::in_array(api, src, w_offset_src, h_offset_src)?;
    copy_bytes(api, (to, from), count, kind, Order::Plain)
}
