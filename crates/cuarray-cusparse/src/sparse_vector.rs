//! Descriptors of sparse vectors.

use crate::call::{base, numbers, size, values};
use crate::dense::{Vector, pointer};
use crate::numbers::Type;
use crate::sparse_matrix::{index_number, index_type};
use crate::status::{INVALID_VALUE, Outcome, write};
use crate::types::*;
use cuarray_stream_work::{Indexed, Integers, Objects, Region, Rows};
use std::ffi::{c_int, c_void};

/// The target of `cusparseSpVecDescr_t`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SparseVector {
    pub(crate) size: usize,
    pub(crate) count: usize,
    indices: u64,
    pub(crate) values: u64,
    pub(crate) integers: Integers,
    pub(crate) base: usize,
    pub(crate) kind: Type,
}

impl SparseVector {
    /// The values.
    pub(crate) fn region(&self) -> Region {
        values(self.values, self.count, self.kind)
    }

    /// The indices.
    pub(crate) fn indices(&self) -> Region {
        numbers(self.indices, self.count, self.integers)
    }

    /// The elements of a dense vector at the indices.
    pub(crate) fn elements(&self, of: &Vector) -> Region {
        let element = of.kind.size();
        Indexed {
            array: self.indices,
            integers: self.integers,
            first: self.base as u64,
            rows: Rows { address: of.address, width: element, height: self.count, pitch: element },
            element,
        }
        .into()
    }
}

static VECTORS: Objects<SparseVector, cusparseStatus_t> = Objects::new(0x637f_0000_0000, INVALID_VALUE);

/// The vector of a descriptor.
pub(crate) fn sparse_vector(descriptor: cusparseSpVecDescr_t) -> Outcome<SparseVector> {
    VECTORS.get(descriptor)
}

/// `cusparseCreateSpVec`, `cusparseCreateConstSpVec`.
pub(crate) fn create(
    to: *mut cusparseSpVecDescr_t,
    length: i64,
    nnz: i64,
    indices: *const c_void,
    values: *const c_void,
    idx_type: cusparseIndexType_t,
    idx_base: cusparseIndexBase_t,
    kind: cudaDataType,
) -> Outcome {
    let (length, count) = (size(length)?, size(nnz)?);
    if to.is_null() || count > length {
        return Err(INVALID_VALUE);
    }
    let vector = SparseVector {
        size: length,
        count,
        indices: indices.addr() as u64,
        values: values.addr() as u64,
        integers: index_type(idx_type)?,
        base: base(idx_base)?,
        kind: Type::of(kind)?,
    };
    write(to, VECTORS.add(vector))
}

/// `cusparseDestroySpVec`.
pub(crate) fn destroy(descriptor: cusparseSpVecDescr_t) -> Outcome {
    if descriptor == 0 { Ok(()) } else { VECTORS.remove(descriptor).map(drop) }
}

/// `cusparseSpVecGet`, `cusparseConstSpVecGet`.
pub(crate) fn get(
    descriptor: cusparseSpVecDescr_t,
    length: *mut i64,
    nnz: *mut i64,
    indices: *mut *mut c_void,
    values: *mut *mut c_void,
    idx_type: *mut cusparseIndexType_t,
    idx_base: *mut cusparseIndexBase_t,
    kind: *mut cudaDataType,
) -> Outcome {
    let vector = sparse_vector(descriptor)?;
    write(length, vector.size as i64)?;
    write(nnz, vector.count as i64)?;
    write(indices, pointer(vector.indices))?;
    write(values, pointer(vector.values))?;
    write(idx_type, index_number(vector.integers))?;
    write(idx_base, vector.base as c_int)?;
    write(kind, vector.kind.number())
}

/// `cusparseSpVecGetIndexBase`.
pub(crate) fn get_base(descriptor: cusparseSpVecDescr_t, idx_base: *mut cusparseIndexBase_t) -> Outcome {
    write(idx_base, sparse_vector(descriptor)?.base as c_int)
}

/// `cusparseSpVecGetValues`, `cusparseConstSpVecGetValues`.
pub(crate) fn get_values(descriptor: cusparseSpVecDescr_t, values: *mut *mut c_void) -> Outcome {
    write(values, pointer(sparse_vector(descriptor)?.values))
}

/// `cusparseSpVecSetValues`.
pub(crate) fn set_values(descriptor: cusparseSpVecDescr_t, values: *mut c_void) -> Outcome {
    VECTORS.change(descriptor, |vector| {
        vector.values = values.addr() as u64;
        Ok(())
    })
}
