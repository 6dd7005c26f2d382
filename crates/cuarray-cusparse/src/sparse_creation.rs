//! The functions that create descriptors of sparse matrices, a pair for each format.

use crate::call::{base, choice, size};
use crate::numbers::Type;
use crate::sparse_descriptor::add;
use crate::sparse_matrix::{Format, SparseMatrix, Triangle, index_type};
use crate::status::{INVALID_VALUE, Outcome};
use crate::types::*;
use cuarray_stream_work::Integers;
use std::ffi::c_void;

type Arrays = [*const c_void; 3];

fn create(
    to: *mut cusparseSpMatDescr_t,
    format: Format,
    (rows, columns, count): (i64, i64, i64),
    arrays: Arrays,
    integers: [cusparseIndexType_t; 2],
    idx_base: cusparseIndexBase_t,
    kind: cudaDataType,
) -> Outcome {
    let (rows, columns, count) = (size(rows)?, size(columns)?, size(count)?);
    let blocks = match format {
        Format::Bsr { rows: block_rows, columns: block_columns, .. } => block_rows.saturating_mul(block_columns),
        _ => 1,
    };
    if to.is_null() || count.saturating_mul(blocks) > rows.saturating_mul(columns) {
        return Err(INVALID_VALUE);
    }
    let matrix = SparseMatrix {
        format,
        rows,
        columns,
        count,
        arrays: arrays.map(|array| array.addr() as u64),
        integers: [index_type(integers[0])?, index_type(integers[1])?],
        base: base(idx_base)?,
        kind: Type::of(kind)?,
        triangle: Triangle::default(),
        symmetry: [0; 2],
        batch: 1,
        strides: [0; 3],
    };
    if matrix.integers[0] == Integers::U16 && format != Format::Coo {
        return Err(INVALID_VALUE);
    }
    add(to, matrix)
}

/// `cusparseCreateCsr`, `cusparseCreateConstCsr`.
pub(crate) fn create_csr(
    to: *mut cusparseSpMatDescr_t,
    rows: i64,
    cols: i64,
    nnz: i64,
    offsets: *const c_void,
    indices: *const c_void,
    values: *const c_void,
    offsets_type: cusparseIndexType_t,
    indices_type: cusparseIndexType_t,
    idx_base: cusparseIndexBase_t,
    kind: cudaDataType,
) -> Outcome {
    let arrays = [offsets, indices, values];
    create(to, Format::Csr, (rows, cols, nnz), arrays, [offsets_type, indices_type], idx_base, kind)
}

/// `cusparseCreateCsc`, `cusparseCreateConstCsc`.
pub(crate) fn create_csc(
    to: *mut cusparseSpMatDescr_t,
    rows: i64,
    cols: i64,
    nnz: i64,
    offsets: *const c_void,
    indices: *const c_void,
    values: *const c_void,
    offsets_type: cusparseIndexType_t,
    indices_type: cusparseIndexType_t,
    idx_base: cusparseIndexBase_t,
    kind: cudaDataType,
) -> Outcome {
    let arrays = [offsets, indices, values];
    create(to, Format::Csc, (rows, cols, nnz), arrays, [offsets_type, indices_type], idx_base, kind)
}

/// `cusparseCreateCoo`, `cusparseCreateConstCoo`.
pub(crate) fn create_coo(
    to: *mut cusparseSpMatDescr_t,
    rows: i64,
    cols: i64,
    nnz: i64,
    row_indices: *const c_void,
    col_indices: *const c_void,
    values: *const c_void,
    idx_type: cusparseIndexType_t,
    idx_base: cusparseIndexBase_t,
    kind: cudaDataType,
) -> Outcome {
    let arrays = [row_indices, col_indices, values];
    create(to, Format::Coo, (rows, cols, nnz), arrays, [idx_type; 2], idx_base, kind)
}

/// `cusparseCreateBsr`, `cusparseCreateConstBsr`.
pub(crate) fn create_bsr(
    to: *mut cusparseSpMatDescr_t,
    brows: i64,
    bcols: i64,
    bnnz: i64,
    row_block: i64,
    col_block: i64,
    offsets: *const c_void,
    indices: *const c_void,
    values: *const c_void,
    offsets_type: cusparseIndexType_t,
    indices_type: cusparseIndexType_t,
    idx_base: cusparseIndexBase_t,
    kind: cudaDataType,
    order: cusparseOrder_t,
) -> Outcome {
    let by_rows = choice(order.wrapping_sub(1))?;
    let (block_rows, block_columns) = (size(row_block)?, size(col_block)?);
    if block_rows == 0 || block_columns == 0 {
        return Err(INVALID_VALUE);
    }
    let (rows, cols) = (brows.checked_mul(row_block), bcols.checked_mul(col_block));
    let sizes = (rows.ok_or(INVALID_VALUE)?, cols.ok_or(INVALID_VALUE)?, bnnz);
    let format = Format::Bsr { rows: block_rows, columns: block_columns, by_rows };
    create(to, format, sizes, [offsets, indices, values], [offsets_type, indices_type], idx_base, kind)
}

/// `cusparseCreateBlockedEll`, `cusparseCreateConstBlockedEll`.
pub(crate) fn create_blocked_ell(
    to: *mut cusparseSpMatDescr_t,
    rows: i64,
    cols: i64,
    block: i64,
    ell_cols: i64,
    indices: *const c_void,
    values: *const c_void,
    idx_type: cusparseIndexType_t,
    idx_base: cusparseIndexBase_t,
    kind: cudaDataType,
) -> Outcome {
    let (block, columns) = (size(block)?, size(ell_cols)?);
    if block == 0 || columns % block != 0 || ell_cols > cols || rows % block as i64 != 0 || cols % block as i64 != 0 {
        return Err(INVALID_VALUE);
    }
    let count = rows.checked_mul(ell_cols).ok_or(INVALID_VALUE)?;
    let arrays = [std::ptr::null(), indices, values];
    create(to, Format::BlockedEll { block, columns }, (rows, cols, count), arrays, [2, idx_type], idx_base, kind)
}

/// `cusparseCreateSlicedEll`, `cusparseCreateConstSlicedEll`.
pub(crate) fn create_sliced_ell(
    to: *mut cusparseSpMatDescr_t,
    rows: i64,
    cols: i64,
    nnz: i64,
    values_size: i64,
    slice: i64,
    offsets: *const c_void,
    indices: *const c_void,
    values: *const c_void,
    offsets_type: cusparseIndexType_t,
    indices_type: cusparseIndexType_t,
    idx_base: cusparseIndexBase_t,
    kind: cudaDataType,
) -> Outcome {
    let (slice, stored) = (size(slice)?, size(values_size)?);
    if slice == 0 || nnz > values_size {
        return Err(INVALID_VALUE);
    }
    let arrays = [offsets, indices, values];
    let format = Format::SlicedEll { slice, stored };
    create(to, format, (rows, cols, nnz), arrays, [offsets_type, indices_type], idx_base, kind)
}
