//! Descriptors of dense vectors and matrices.

use crate::call::{Op, choice, leading, size, values};
use crate::numbers::{Number, Type};
use crate::status::{INVALID_VALUE, NOT_SUPPORTED, Outcome, write};
use crate::types::*;
use cuarray_stream_work::{Block, Objects, Region, Rows};
use std::ffi::{c_int, c_void};
use std::ptr::without_provenance_mut;

/// The target of `cusparseDnVecDescr_t`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vector {
    pub(crate) size: usize,
    pub(crate) address: u64,
    pub(crate) kind: Type,
}

impl Vector {
    /// All elements.
    pub(crate) fn region(&self) -> Region {
        values(self.address, self.size, self.kind)
    }
}

static VECTORS: Objects<Vector, cusparseStatus_t> = Objects::new(0x6378_0000_0000, INVALID_VALUE);

/// The vector of a descriptor.
pub(crate) fn vector(descriptor: cusparseDnVecDescr_t) -> Outcome<Vector> {
    VECTORS.get(descriptor)
}

/// `cusparseCreateDnVec`, `cusparseCreateConstDnVec`.
pub(crate) fn create_vector(
    to: *mut cusparseDnVecDescr_t,
    length: i64,
    address: *const c_void,
    kind: cudaDataType,
) -> Outcome {
    if to.is_null() {
        return Err(INVALID_VALUE);
    }
    let vector = Vector { size: size(length)?, address: address.addr() as u64, kind: Type::of(kind)? };
    write(to, VECTORS.add(vector))
}

/// `cusparseDestroyDnVec`.
pub(crate) fn destroy_vector(descriptor: cusparseDnVecDescr_t) -> Outcome {
    if descriptor == 0 { Ok(()) } else { VECTORS.remove(descriptor).map(drop) }
}

/// `cusparseDnVecGet`, `cusparseConstDnVecGet`.
pub(crate) fn get_vector(
    descriptor: cusparseDnVecDescr_t,
    length: *mut i64,
    address: *mut *mut c_void,
    kind: *mut cudaDataType,
) -> Outcome {
    let vector = vector(descriptor)?;
    write(length, vector.size as i64)?;
    write(address, pointer(vector.address))?;
    write(kind, vector.kind.number())
}

/// `cusparseDnVecGetValues`, `cusparseConstDnVecGetValues`.
pub(crate) fn get_vector_values(descriptor: cusparseDnVecDescr_t, address: *mut *mut c_void) -> Outcome {
    write(address, pointer(vector(descriptor)?.address))
}

/// `cusparseDnVecSetValues`.
pub(crate) fn set_vector_values(descriptor: cusparseDnVecDescr_t, address: *mut c_void) -> Outcome {
    VECTORS.change(descriptor, |vector| {
        vector.address = address.addr() as u64;
        Ok(())
    })
}

/// The target of `cusparseDnMatDescr_t`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Matrix {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    leading: usize,
    pub(crate) address: u64,
    pub(crate) kind: Type,
    by_rows: bool,
    pub(crate) batch: usize,
    /// The distance of the matrices of a batch in elements.
    stride: usize,
}

impl Matrix {
    /// A matrix by columns.
    pub(crate) fn by_columns(
        (rows, columns): (usize, usize),
        leading: usize,
        address: *const c_void,
        kind: Type,
    ) -> Matrix {
        let address = address.addr() as u64;
        Matrix { rows, columns, leading, address, kind, by_rows: false, batch: 1, stride: 0 }
    }

    /// The matrices of the batch one after the other, without gaps. One that all share is there once.
    pub(crate) fn region(&self) -> Region {
        let bytes = |elements: usize| elements.saturating_mul(self.kind.size());
        let (inner, outer) = if self.by_rows { (self.columns, self.rows) } else { (self.rows, self.columns) };
        let each = bytes(inner.saturating_mul(outer));
        let block = |index: usize| Block {
            rows: Rows {
                address: self.address.wrapping_add(bytes(self.stride.saturating_mul(index)) as u64),
                width: bytes(inner),
                height: outer,
                pitch: bytes(self.leading),
            },
            offset: each.saturating_mul(index),
            pitch: bytes(inner),
        };
        let count = self.parts();
        Region::new(each.saturating_mul(count), (0..count).map(block).collect())
    }

    /// The number of matrices in memory.
    fn parts(&self) -> usize {
        if self.stride == 0 { 1 } else { self.batch }
    }

    /// The place of an element in the memory of the closure.
    pub(crate) fn at(&self, index: usize, row: usize, column: usize) -> usize {
        let part = if self.parts() == 1 { 0 } else { index };
        let inside = if self.by_rows { row * self.columns + column } else { column * self.rows + row };
        part * self.rows * self.columns + inside
    }

    /// The size after an operation.
    pub(crate) fn size_of(&self, op: Op) -> (usize, usize) {
        if op == Op::None { (self.rows, self.columns) } else { (self.columns, self.rows) }
    }

    /// An element after an operation.
    pub(crate) fn element<W: Number>(&self, values: &[W], op: Op, index: usize, row: usize, column: usize) -> W {
        if op == Op::None { values[self.at(index, row, column)] } else { op.value(values[self.at(index, column, row)]) }
    }
}

static MATRICES: Objects<Matrix, cusparseStatus_t> = Objects::new(0x6379_0000_0000, INVALID_VALUE);

/// The matrix of a descriptor.
pub(crate) fn matrix(descriptor: cusparseDnMatDescr_t) -> Outcome<Matrix> {
    MATRICES.get(descriptor)
}

/// `cusparseCreateDnMat`, `cusparseCreateConstDnMat`.
pub(crate) fn create_matrix(
    to: *mut cusparseDnMatDescr_t,
    rows: i64,
    columns: i64,
    ld: i64,
    address: *const c_void,
    kind: cudaDataType,
    order: cusparseOrder_t,
) -> Outcome {
    if to.is_null() {
        return Err(INVALID_VALUE);
    }
    let by_rows = choice(order.wrapping_sub(1))?;
    let (rows, columns) = (size(rows)?, size(columns)?);
    let matrix = Matrix {
        rows,
        columns,
        leading: leading(ld, if by_rows { columns } else { rows })?,
        address: address.addr() as u64,
        kind: Type::of(kind)?,
        by_rows,
        batch: 1,
        stride: 0,
    };
    write(to, MATRICES.add(matrix))
}

/// `cusparseDestroyDnMat`.
pub(crate) fn destroy_matrix(descriptor: cusparseDnMatDescr_t) -> Outcome {
    if descriptor == 0 { Ok(()) } else { MATRICES.remove(descriptor).map(drop) }
}

/// `cusparseDnMatGet`, `cusparseConstDnMatGet`.
pub(crate) fn get_matrix(
    descriptor: cusparseDnMatDescr_t,
    rows: *mut i64,
    columns: *mut i64,
    ld: *mut i64,
    address: *mut *mut c_void,
    kind: *mut cudaDataType,
    order: *mut cusparseOrder_t,
) -> Outcome {
    let matrix = matrix(descriptor)?;
    write(rows, matrix.rows as i64)?;
    write(columns, matrix.columns as i64)?;
    write(ld, matrix.leading as i64)?;
    write(address, pointer(matrix.address))?;
    write(kind, matrix.kind.number())?;
    write(order, c_int::from(matrix.by_rows) + 1)
}

/// `cusparseDnMatGetValues`, `cusparseConstDnMatGetValues`.
pub(crate) fn get_matrix_values(descriptor: cusparseDnMatDescr_t, address: *mut *mut c_void) -> Outcome {
    write(address, pointer(matrix(descriptor)?.address))
}

/// `cusparseDnMatSetValues`.
pub(crate) fn set_matrix_values(descriptor: cusparseDnMatDescr_t, address: *mut c_void) -> Outcome {
    MATRICES.change(descriptor, |matrix| {
        matrix.address = address.addr() as u64;
        Ok(())
    })
}

/// `cusparseDnMatSetStridedBatch`.
pub(crate) fn set_matrix_batch(descriptor: cusparseDnMatDescr_t, count: c_int, stride: i64) -> Outcome {
    MATRICES.change(descriptor, |matrix| {
        (matrix.batch, matrix.stride) = batch(count, stride)?;
        Ok(())
    })
}

/// `cusparseDnMatGetStridedBatch`.
pub(crate) fn get_matrix_batch(descriptor: cusparseDnMatDescr_t, count: *mut c_int, stride: *mut i64) -> Outcome {
    let matrix = matrix(descriptor)?;
    write(count, c_int::try_from(matrix.batch).unwrap_or(c_int::MAX))?;
    write(stride, matrix.stride as i64)
}

/// The most matrices of a batch: each has its own copies.
const LARGEST_BATCH: usize = 1 << 20;

/// The number of matrices of a batch and their distance.
pub(crate) fn batch(count: c_int, stride: i64) -> Outcome<(usize, usize)> {
    let count = size(count)?;
    if count == 0 {
        return Err(INVALID_VALUE);
    }
    if count > LARGEST_BATCH {
        return Err(NOT_SUPPORTED);
    }
    Ok((count, size(stride)?))
}

/// An address as the caller's pointer.
pub(crate) fn pointer(address: u64) -> *mut c_void {
    without_provenance_mut(address as usize)
}
