//! The functions of descriptors of sparse matrices.

use crate::call::{choice, size};
use crate::dense::{batch, pointer};
use crate::sparse_matrix::{Format, SparseMatrix, index_number};
use crate::status::{INVALID_VALUE, Outcome, write};
use crate::types::*;
use cuarray_stream_work::Objects;
use std::ffi::{c_int, c_void};

static MATRICES: Objects<SparseMatrix, cusparseStatus_t> = Objects::new(0x637d_0000_0000, INVALID_VALUE);

/// The matrix of a descriptor.
pub(crate) fn sparse(descriptor: cusparseSpMatDescr_t) -> Outcome<SparseMatrix> {
    MATRICES.get(descriptor)
}

/// Sets the number of entries, which a call has counted.
pub(crate) fn set_count(descriptor: cusparseSpMatDescr_t, count: usize) -> Outcome {
    MATRICES.change(descriptor, |matrix| {
        matrix.count = count;
        Ok(())
    })
}

/// Adds a matrix, and writes its descriptor.
pub(crate) fn add(to: *mut cusparseSpMatDescr_t, matrix: SparseMatrix) -> Outcome {
    write(to, MATRICES.add(matrix))
}

/// `cusparseDestroySpMat`.
pub(crate) fn destroy(descriptor: cusparseSpMatDescr_t) -> Outcome {
    if descriptor == 0 { Ok(()) } else { MATRICES.remove(descriptor).map(drop) }
}

fn of_format(descriptor: cusparseSpMatDescr_t, accepted: impl FnOnce(Format) -> bool) -> Outcome<SparseMatrix> {
    let matrix = sparse(descriptor)?;
    if accepted(matrix.format) { Ok(matrix) } else { Err(INVALID_VALUE) }
}

fn write_compressed(
    matrix: &SparseMatrix,
    sizes: [*mut i64; 3],
    arrays: [*mut *mut c_void; 3],
    integers: [*mut cusparseIndexType_t; 2],
    idx_base: *mut cusparseIndexBase_t,
    kind: *mut cudaDataType,
) -> Outcome {
    let values = [matrix.rows, matrix.columns, matrix.count];
    sizes.into_iter().zip(values).try_for_each(|(to, value)| write(to, value as i64))?;
    arrays.into_iter().zip(matrix.arrays).try_for_each(|(to, value)| write(to, pointer(value)))?;
    integers.into_iter().zip(matrix.integers).try_for_each(|(to, value)| write(to, index_number(value)))?;
    write(idx_base, matrix.base as c_int)?;
    write(kind, matrix.kind.number())
}

/// `cusparseCsrGet`, `cusparseConstCsrGet`.
pub(crate) fn get_csr(
    descriptor: cusparseSpMatDescr_t,
    rows: *mut i64,
    cols: *mut i64,
    nnz: *mut i64,
    offsets: *mut *mut c_void,
    indices: *mut *mut c_void,
    values: *mut *mut c_void,
    offsets_type: *mut cusparseIndexType_t,
    indices_type: *mut cusparseIndexType_t,
    idx_base: *mut cusparseIndexBase_t,
    kind: *mut cudaDataType,
) -> Outcome {
    let matrix = of_format(descriptor, |format| format == Format::Csr)?;
    let (arrays, integers) = ([offsets, indices, values], [offsets_type, indices_type]);
    write_compressed(&matrix, [rows, cols, nnz], arrays, integers, idx_base, kind)
}

/// `cusparseCscGet`, `cusparseConstCscGet`.
pub(crate) fn get_csc(
    descriptor: cusparseSpMatDescr_t,
    rows: *mut i64,
    cols: *mut i64,
    nnz: *mut i64,
    offsets: *mut *mut c_void,
    indices: *mut *mut c_void,
    values: *mut *mut c_void,
    offsets_type: *mut cusparseIndexType_t,
    indices_type: *mut cusparseIndexType_t,
    idx_base: *mut cusparseIndexBase_t,
    kind: *mut cudaDataType,
) -> Outcome {
    let matrix = of_format(descriptor, |format| format == Format::Csc)?;
    let (arrays, integers) = ([offsets, indices, values], [offsets_type, indices_type]);
    write_compressed(&matrix, [rows, cols, nnz], arrays, integers, idx_base, kind)
}

/// `cusparseCooGet`, `cusparseConstCooGet`.
pub(crate) fn get_coo(
    descriptor: cusparseSpMatDescr_t,
    rows: *mut i64,
    cols: *mut i64,
    nnz: *mut i64,
    row_indices: *mut *mut c_void,
    col_indices: *mut *mut c_void,
    values: *mut *mut c_void,
    idx_type: *mut cusparseIndexType_t,
    idx_base: *mut cusparseIndexBase_t,
    kind: *mut cudaDataType,
) -> Outcome {
    let matrix = of_format(descriptor, |format| format == Format::Coo)?;
    let arrays = [row_indices, col_indices, values];
    write_compressed(&matrix, [rows, cols, nnz], arrays, [idx_type; 2], idx_base, kind)
}

/// `cusparseBlockedEllGet`, `cusparseConstBlockedEllGet`.
pub(crate) fn get_blocked_ell(
    descriptor: cusparseSpMatDescr_t,
    rows: *mut i64,
    cols: *mut i64,
    block_size: *mut i64,
    ell_cols: *mut i64,
    indices: *mut *mut c_void,
    values: *mut *mut c_void,
    idx_type: *mut cusparseIndexType_t,
    idx_base: *mut cusparseIndexBase_t,
    kind: *mut cudaDataType,
) -> Outcome {
    let matrix = sparse(descriptor)?;
    let Format::BlockedEll { block, columns } = matrix.format else { return Err(INVALID_VALUE) };
    write(rows, matrix.rows as i64)?;
    write(cols, matrix.columns as i64)?;
    write(block_size, block as i64)?;
    write(ell_cols, columns as i64)?;
    write(indices, pointer(matrix.arrays[1]))?;
    write(values, pointer(matrix.arrays[2]))?;
    write(idx_type, index_number(matrix.integers[1]))?;
    write(idx_base, matrix.base as c_int)?;
    write(kind, matrix.kind.number())
}

fn set_pointers(descriptor: cusparseSpMatDescr_t, format: Format, arrays: [*mut c_void; 3]) -> Outcome {
    MATRICES.change(descriptor, |matrix| {
        if matrix.format != format {
            return Err(INVALID_VALUE);
        }
        matrix.arrays = arrays.map(|array| array.addr() as u64);
        Ok(())
    })
}

/// `cusparseCsrSetPointers`.
pub(crate) fn set_csr(
    descriptor: cusparseSpMatDescr_t,
    offsets: *mut c_void,
    indices: *mut c_void,
    values: *mut c_void,
) -> Outcome {
    set_pointers(descriptor, Format::Csr, [offsets, indices, values])
}

/// `cusparseCscSetPointers`.
pub(crate) fn set_csc(
    descriptor: cusparseSpMatDescr_t,
    offsets: *mut c_void,
    indices: *mut c_void,
    values: *mut c_void,
) -> Outcome {
    set_pointers(descriptor, Format::Csc, [offsets, indices, values])
}

/// `cusparseCooSetPointers`.
pub(crate) fn set_coo(
    descriptor: cusparseSpMatDescr_t,
    rows: *mut c_void,
    columns: *mut c_void,
    values: *mut c_void,
) -> Outcome {
    set_pointers(descriptor, Format::Coo, [rows, columns, values])
}

/// `cusparseSpMatGetFormat`.
pub(crate) fn get_format(descriptor: cusparseSpMatDescr_t, format: *mut cusparseFormat_t) -> Outcome {
    let number = match sparse(descriptor)?.format {
        Format::Csr => 1,
        Format::Csc => 2,
        Format::Coo => 3,
        Format::BlockedEll { .. } => 5,
        Format::Bsr { .. } => 6,
        Format::SlicedEll { .. } => 7,
    };
    write(format, number)
}

/// `cusparseSpMatGetIndexBase`.
pub(crate) fn get_base(descriptor: cusparseSpMatDescr_t, idx_base: *mut cusparseIndexBase_t) -> Outcome {
    write(idx_base, sparse(descriptor)?.base as c_int)
}

/// `cusparseSpMatGetValues`, `cusparseConstSpMatGetValues`.
pub(crate) fn get_values(descriptor: cusparseSpMatDescr_t, values: *mut *mut c_void) -> Outcome {
    write(values, pointer(sparse(descriptor)?.arrays[2]))
}

/// `cusparseSpMatSetValues`.
pub(crate) fn set_values(descriptor: cusparseSpMatDescr_t, values: *mut c_void) -> Outcome {
    MATRICES.change(descriptor, |matrix| {
        matrix.arrays[2] = values.addr() as u64;
        Ok(())
    })
}

/// `cusparseSpMatGetSize`.
pub(crate) fn get_size(descriptor: cusparseSpMatDescr_t, rows: *mut i64, cols: *mut i64, nnz: *mut i64) -> Outcome {
    let matrix = sparse(descriptor)?;
    write(rows, matrix.rows as i64)?;
    write(cols, matrix.columns as i64)?;
    write(nnz, matrix.count as i64)
}

/// `cusparseSpMatGetStridedBatch`.
pub(crate) fn get_batch(descriptor: cusparseSpMatDescr_t, count: *mut c_int) -> Outcome {
    write(count, c_int::try_from(sparse(descriptor)?.batch).unwrap_or(c_int::MAX))
}

fn set_batch(
    descriptor: cusparseSpMatDescr_t,
    accepted: impl FnOnce(Format) -> bool,
    count: c_int,
    strides: [i64; 3],
) -> Outcome {
    MATRICES.change(descriptor, |matrix| {
        if !accepted(matrix.format) {
            return Err(INVALID_VALUE);
        }
        matrix.batch = batch(count, 0)?.0;
        matrix.strides = [size(strides[0])?, size(strides[1])?, size(strides[2])?];
        Ok(())
    })
}

/// `cusparseCooSetStridedBatch`.
pub(crate) fn set_coo_batch(descriptor: cusparseSpMatDescr_t, count: c_int, stride: i64) -> Outcome {
    set_batch(descriptor, |format| format == Format::Coo, count, [stride; 3])
}

/// `cusparseCsrSetStridedBatch`.
pub(crate) fn set_csr_batch(
    descriptor: cusparseSpMatDescr_t,
    count: c_int,
    offsets_stride: i64,
    columns_values_stride: i64,
) -> Outcome {
    let strides = [offsets_stride, columns_values_stride, columns_values_stride];
    set_batch(descriptor, |format| format == Format::Csr, count, strides)
}

/// `cusparseBsrSetStridedBatch`.
pub(crate) fn set_bsr_batch(
    descriptor: cusparseSpMatDescr_t,
    count: c_int,
    offsets_stride: i64,
    columns_stride: i64,
    values_stride: i64,
) -> Outcome {
    let strides = [offsets_stride, columns_stride, values_stride];
    set_batch(descriptor, |format| matches!(format, Format::Bsr { .. }), count, strides)
}

/// `cusparseSpMatGetAttribute`. Each attribute is an enumeration.
pub(crate) fn get_attribute(
    descriptor: cusparseSpMatDescr_t,
    attribute: cusparseSpMatAttribute_t,
    data: *mut c_void,
    data_size: usize,
) -> Outcome {
    let matrix = sparse(descriptor)?;
    if data_size != size_of::<c_int>() {
        return Err(INVALID_VALUE);
    }
    let value = match attribute {
        0 => matrix.triangle.is_upper.into(),
        1 => matrix.triangle.is_unit.into(),
        2 => matrix.symmetry[0],
        3 => matrix.symmetry[1],
        _ => return Err(INVALID_VALUE),
    };
    write(data.cast::<c_int>(), value)
}

/// `cusparseSpMatSetAttribute`.
pub(crate) fn set_attribute(
    descriptor: cusparseSpMatDescr_t,
    attribute: cusparseSpMatAttribute_t,
    data: *const c_void,
    data_size: usize,
) -> Outcome {
    if data_size != size_of::<c_int>() {
        return Err(INVALID_VALUE);
    }
    let value = cuarray_stream_work::read::<c_int, cusparseStatus_t>(data.cast(), 1)?.first().copied().unwrap_or(-1);
    MATRICES.change(descriptor, |matrix| {
        match attribute {
            0 => matrix.triangle.is_upper = choice(value)?,
            1 => matrix.triangle.is_unit = choice(value)?,
            2 | 3 if (0..3).contains(&value) => matrix.symmetry[usize::from(attribute == 3)] = value,
            _ => return Err(INVALID_VALUE),
        }
        Ok(())
    })
}
