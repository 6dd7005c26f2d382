//! Conversions between dense and sparse matrices.

use crate::call::{Call, Op, WORKSPACE};
use crate::dense::{self, Matrix};
use crate::handle::Handle;
use crate::numbers::{Number, narrow, widen, with_numbers, write_integers};
use crate::sparse_descriptor::{set_count, sparse};
use crate::sparse_matrix::{self as operands, Format, SparseMatrix};
use crate::status::{INVALID_VALUE, NOT_SUPPORTED, Outcome, write};
use crate::types::*;

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn both(a: SparseMatrix, b: Matrix) -> Outcome<(SparseMatrix, Matrix)> {
    if (a.rows, a.columns) != (b.rows, b.columns) {
        return Err(INVALID_VALUE);
    }
    if a.kind != b.kind || a.batch != 1 || b.batch != 1 {
        return Err(NOT_SUPPORTED);
    }
    Ok((a, b))
}

/// The operands of a conversion to a dense matrix.
fn to_dense(a: cusparseSpMatDescr_t, b: cusparseDnMatDescr_t) -> Outcome<(SparseMatrix, Matrix)> {
    both(sparse(a)?, dense::matrix(b)?)
}

/// `cusparseSparseToDense_bufferSize`.
pub(crate) fn to_dense_size(
    _: &Handle,
    a: cusparseSpMatDescr_t,
    b: cusparseDnMatDescr_t,
    _: cusparseAlg_t,
    size: *mut usize,
) -> Outcome {
    to_dense(a, b)?;
    write(size, WORKSPACE)
}

/// `cusparseSparseToDense`.
pub(crate) fn sparse_to_dense(
    handle: &Handle,
    a: cusparseSpMatDescr_t,
    b: cusparseDnMatDescr_t,
    _: cusparseAlg_t,
    buffer: *mut c_void,
) -> Outcome {
    let (a, b) = to_dense(a, b)?;
    let mut call = Call::of(handle);
    call.workspace(buffer, WORKSPACE)?;
    let entries = a.reads(&mut call, &operands::A)?;
    let to = call.writes(c"matB", b.region())?;
    with_numbers!(a.kind.is_complex(), W => call.computes(move |data| {
        let mut values = vec![W::default(); b.rows * b.columns];
        for (row, column, value) in entries.one::<W>(data).entries() {
            values[b.at(0, row, column)] += value;
        }
        narrow(data, to, b.kind, &values);
    }))
}

/// The operands of a conversion to a sparse matrix.
fn to_sparse(a: cusparseDnMatDescr_t, b: cusparseSpMatDescr_t) -> Outcome<(Matrix, SparseMatrix)> {
    let (b, a) = both(sparse(b)?, dense::matrix(a)?)?;
    b.check_format(|format| !matches!(format, Format::SlicedEll { .. }))?;
    Ok((a, b))
}

/// `cusparseDenseToSparse_bufferSize`.
pub(crate) fn to_sparse_size(
    _: &Handle,
    a: cusparseDnMatDescr_t,
    b: cusparseSpMatDescr_t,
    _: cusparseAlg_t,
    size: *mut usize,
) -> Outcome {
    to_sparse(a, b)?;
    write(size, WORKSPACE)
}

/// The elements of a dense matrix that become entries, in the order of the format: their lines' ends and their places.
struct Nonzeros<W> {
    offsets: Vec<usize>,
    entries: Vec<(usize, usize, W)>,
}

impl<W: Number> Nonzeros<W> {
    fn of(a: &Matrix, values: &[W], by_rows: bool) -> Nonzeros<W> {
        let (lines, length) = if by_rows { (a.rows, a.columns) } else { (a.columns, a.rows) };
        let (mut offsets, mut entries) = (vec![0], Vec::new());
        for line in 0..lines {
            for index in 0..length {
                let (row, column) = if by_rows { (line, index) } else { (index, line) };
                let value = values[a.at(0, row, column)];
                if value != W::default() {
                    entries.push((row, column, value));
                }
            }
            offsets.push(entries.len());
        }
        Nonzeros { offsets, entries }
    }
}

/// `cusparseDenseToSparse_analysis`: counts the entries, for which it waits, and writes the offsets of their lines.
pub(crate) fn to_sparse_analysis(
    handle: &Handle,
    a: cusparseDnMatDescr_t,
    descriptor: cusparseSpMatDescr_t,
    _: cusparseAlg_t,
    buffer: *mut c_void,
) -> Outcome {
    let (a, b) = to_sparse(a, descriptor)?;
    let mut call = Call::of(handle);
    call.workspace(buffer, WORKSPACE)?;
    if !matches!(b.format, Format::Csr | Format::Csc | Format::Coo) {
        // The program has chosen the blocks that it keeps.
        return call.computes(|_| ());
    }
    let from = call.reads(c"matA", a.region())?;
    let has_offsets = b.format != Format::Coo && b.arrays[0] != 0;
    let offsets = has_offsets.then(|| b.writes(&mut call, &operands::B, 0)).transpose()?;
    let found = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&found);
    with_numbers!(a.kind.is_complex(), W => call.computes_and_waits(move |data| {
        let values = widen::<W>(data, from, a.kind);
        let nonzeros = Nonzeros::of(&a, &values, b.format != Format::Csc);
        count.store(nonzeros.entries.len(), Ordering::Release);
        if let Some(offsets) = offsets {
            write_integers(data, offsets, b.integers[0], b.base, nonzeros.offsets.into_iter());
        }
    }))?;
    set_count(descriptor, found.load(Ordering::Acquire))
}

/// `cusparseDenseToSparse_convert`.
pub(crate) fn to_sparse_convert(
    handle: &Handle,
    a: cusparseDnMatDescr_t,
    b: cusparseSpMatDescr_t,
    _: cusparseAlg_t,
    buffer: *mut c_void,
) -> Outcome {
    let (a, b) = to_sparse(a, b)?;
    let mut call = Call::of(handle);
    call.workspace(buffer, WORKSPACE)?;
    let from = call.reads(c"matA", a.region())?;
    if !matches!(b.format, Format::Csr | Format::Csc | Format::Coo) {
        let positions = b.reads_positions(&mut call, &operands::B)?;
        let to = b.writes(&mut call, &operands::B, 2)?;
        return with_numbers!(a.kind.is_complex(), W => call.computes(move |data| {
            let values = widen::<W>(data, from, a.kind);
            let mut kept = vec![W::default(); b.length(2)];
            for pattern in positions.get(data) {
                for (row, column, entry) in pattern.entries() {
                    kept[pattern.place(entry)] = a.element(&values, Op::None, 0, row, column);
                }
            }
            narrow(data, to, b.kind, &kept);
        }));
    }
    let arrays = [0, 1, 2].map(|array| b.writes(&mut call, &operands::B, array));
    let [first, second, to] = arrays;
    let (first, second, to) = (first?, second?, to?);
    with_numbers!(a.kind.is_complex(), W => call.computes(move |data| {
        let values = widen::<W>(data, from, a.kind);
        let Nonzeros { offsets, entries } = Nonzeros::of(&a, &values, b.format != Format::Csc);
        let (rows, columns) = (entries.iter().map(|entry| entry.0), entries.iter().map(|entry| entry.1));
        match b.format {
            Format::Coo => write_integers(data, first, b.integers[0], b.base, rows.clone()),
            _ => write_integers(data, first, b.integers[0], b.base, offsets.into_iter()),
        }
        match b.format {
            Format::Csc => write_integers(data, second, b.integers[1], b.base, rows),
            _ => write_integers(data, second, b.integers[1], b.base, columns),
        }
        let values: Vec<W> = entries.iter().map(|entry| entry.2).collect();
        narrow(data, to, b.kind, &values);
    }))
}
