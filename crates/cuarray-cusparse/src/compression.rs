//! Counts of nonzero elements, and matrices without their small entries.

use crate::call::{Call, choice, leading, numbers, size, values};
use crate::dense::Matrix;
use crate::handle::Handle;
use crate::matrix_descriptor::general;
use crate::numbers::{Number as _, Scalar, Stored, integers, magnitude, narrow, with_numbers, write_integers};
use crate::sparse_matrix::{Operand, SparseMatrix};
use crate::status::{INVALID_VALUE, Outcome};
use crate::types::*;
use cuarray_stream_work::{Counted, Integers};
use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

/// `cusparse<t>nnz`: the numbers of nonzero elements of the rows or columns of a dense matrix, and of all.
pub(crate) fn nnz<T: Scalar>(
    handle: &Handle,
    direction: cusparseDirection_t,
    m: c_int,
    n: c_int,
    descriptor: cusparseMatDescr_t,
    a: *const T,
    lda: c_int,
    per_line: *mut c_int,
    total: *mut c_int,
) -> Outcome {
    let (by_columns, shape) = (choice(direction)?, (size(m)?, size(n)?));
    general(descriptor)?;
    let a = Matrix::by_columns(shape, leading(lda, shape.0)?, a.cast(), T::TYPE);
    let lines = if by_columns { shape.1 } else { shape.0 };
    let mut call = Call::of(handle);
    let from = call.reads(c"A", a.region())?;
    let to = call.writes(c"nnzPerRowCol", numbers(per_line.addr() as u64, lines, Integers::I32))?;
    call.returns(c"nnzTotalDevHostPtr", total, move |data| {
        let mut counts = vec![0; lines];
        let elements = data.take::<T>(from);
        for row in 0..a.rows {
            for column in 0..a.columns {
                if Stored::parts(elements[a.at(0, row, column)]) != (0.0, 0.0) {
                    counts[if by_columns { column } else { row }] += 1;
                }
            }
        }
        let total: usize = counts.iter().sum();
        write_integers(data, to, Integers::I32, 0, counts.into_iter());
        total as c_int
    })
}

const A: Operand = Operand::named([c"csrSortedRowPtrA", c"csrSortedColIndA", c"csrSortedValA"]);

/// Whether an entry is kept.
fn is_kept<T: Scalar>(value: T, tolerance: T) -> bool {
    let ((re, im), (tolerance, _)) = (value.parts(), tolerance.parts());
    magnitude(re, im) > tolerance
}

/// The number of values, which is after the last offset in device memory. The call waits for it.
fn last_offset(handle: &Handle, offsets: *const c_int, lines: usize) -> Outcome<c_int> {
    let mut call = Call::of(handle);
    let last = (offsets.addr() as u64).wrapping_add(4 * lines as u64);
    let last = call.reads(A.first(), numbers(last, 1, Integers::I32))?;
    let found = Arc::new(AtomicI32::new(0));
    let to = Arc::clone(&found);
    call.computes_and_waits(move |data| {
        to.store(data.take::<c_int>(last).first().copied().unwrap_or_default(), Ordering::Release);
    })?;
    Ok(found.load(Ordering::Acquire))
}

/// `cusparse<t>nnz_compress`: the numbers of entries above a tolerance.
pub(crate) fn nnz_compress<T: Scalar>(
    handle: &Handle,
    m: c_int,
    descriptor: cusparseMatDescr_t,
    val_a: *const T,
    row_a: *const c_int,
    per_row: *mut c_int,
    total: *mut c_int,
    tolerance: T,
) -> Outcome {
    let (rows, base) = (size(m)?, general(descriptor)?.base());
    if row_a.is_null() || tolerance.parts().0 < 0.0 {
        return Err(INVALID_VALUE);
    }
    let count = usize::try_from(last_offset(handle, row_a, rows)?).unwrap_or_default().saturating_sub(base);
    let mut call = Call::of(handle);
    let offsets = call.reads(A.first(), numbers(row_a.addr() as u64, rows + 1, Integers::I32))?;
    let from = call.reads(c"csrSortedValA", values(val_a.addr() as u64, count, T::TYPE))?;
    let to = call.writes(c"nnzPerRow", numbers(per_row.addr() as u64, rows, Integers::I32))?;
    call.returns(c"nnzC", total, move |data| {
        let offsets = integers(data, offsets, Integers::I32, base);
        let elements = data.take::<T>(from);
        let in_row = |pair: &[usize]| {
            let row = elements.get(pair[0]..pair[1]).unwrap_or_default();
            row.iter().filter(|value| is_kept(**value, tolerance)).count()
        };
        let counts: Vec<usize> = offsets.windows(2).map(in_row).collect();
        let total: usize = counts.iter().sum();
        write_integers(data, to, Integers::I32, 0, counts.into_iter());
        total as c_int
    })
}

/// `cusparse<t>csr2csr_compress`: the entries above a tolerance, whose numbers in each row are there.
pub(crate) fn csr2csr_compress<T: Scalar>(
    handle: &Handle,
    m: c_int,
    n: c_int,
    descriptor: cusparseMatDescr_t,
    val_a: *const T,
    col_a: *const c_int,
    row_a: *const c_int,
    nnz_a: c_int,
    per_row: *const c_int,
    val_c: *mut T,
    col_c: *mut c_int,
    row_c: *mut c_int,
    tolerance: T,
) -> Outcome {
    let (shape, count, base) = ((size(m)?, size(n)?), size(nnz_a)?, general(descriptor)?.base());
    if tolerance.parts().0 < 0.0 {
        return Err(INVALID_VALUE);
    }
    let a = SparseMatrix::csr(shape, count, [row_a.addr(), col_a.addr(), val_a.addr()], base, T::TYPE);
    let mut call = Call::of(handle);
    let a = a.reads(&mut call, &A)?;
    call.reads(c"nnzPerRow", numbers(per_row.addr() as u64, shape.0, Integers::I32))?;
    let offsets = call.writes(c"csrSortedRowPtrC", numbers(row_c.addr() as u64, shape.0 + 1, Integers::I32))?;
    // Written after the offsets, whose last one is their number.
    let counted = |address: u64, element: usize| Counted {
        count: (row_c.addr() as u64).wrapping_add(4 * shape.0 as u64),
        integers: Integers::I32,
        less: base as u64,
        address,
        element,
        at_most: count,
    };
    let columns = call.writes(c"csrSortedColIndC", counted(col_c.addr() as u64, 4).into())?;
    let to = call.writes(c"csrSortedValC", counted(val_c.addr() as u64, T::TYPE.size()).into())?;
    with_numbers!(T::TYPE.is_complex(), W => call.computes(move |data| {
        let a = a.one::<W>(data);
        let limit = tolerance.parts().0;
        let (mut starts, mut kept) = (vec![0], Vec::new());
        for row in 0..a.pattern.lines() {
            kept.extend(a.pattern.line(row).filter(|entry| a.values[*entry].magnitude() > limit));
            starts.push(kept.len());
        }
        write_integers(data, offsets, Integers::I32, base, starts.into_iter());
        write_integers(data, columns, Integers::I32, base, kept.iter().map(|entry| a.pattern.indices[*entry]));
        let values: Vec<W> = kept.iter().map(|entry| a.values[*entry]).collect();
        narrow(data, to, T::TYPE, &values);
    }))
}
