//! Sorting of indices, and conversions between formats with 32-bit integers.

use crate::call::{Call, WORKSPACE, base, choice, numbers, size, values};
use crate::handle::Handle;
use crate::matrix_descriptor::general;
use crate::numbers::{Type, integers, of_type, write_integers};
use crate::pattern::Pattern;
use crate::sparse_matrix::{Operand, SparseMatrix};
use crate::status::{INVALID_VALUE, Outcome, write};
use crate::types::*;
use cuarray_stream_work::{Argument, Data, Integers, Region};
use std::ffi::{c_int, c_void};

const I32: Integers = Integers::I32;

fn ints(at: *const c_int, count: usize) -> Region {
    numbers(at.addr() as u64, count, I32)
}

/// `cusparseCreateIdentityPermutation`.
pub(crate) fn identity(handle: &Handle, n: c_int, p: *mut c_int) -> Outcome {
    let mut call = Call::of(handle);
    let p = call.writes(c"p", ints(p, size(n)?))?;
    call.computes(move |data| write_integers(data, p, I32, 0, 0..))
}

/// The sizes of the workspaces of sorting functions.
pub(crate) fn sort_size(
    _: &Handle,
    m: c_int,
    n: c_int,
    nnz: c_int,
    _: *const c_int,
    _: *const c_int,
    bytes: *mut usize,
) -> Outcome {
    [m, n, nnz].into_iter().try_for_each(|number| size(number).map(drop))?;
    write(bytes, WORKSPACE)
}

/// Puts the elements of an argument into a new order.
fn permute(data: &mut Data<'_>, argument: Argument, order: &[usize]) {
    let memory = data.take::<c_int>(argument);
    let old = memory.to_vec();
    memory.iter_mut().zip(order).for_each(|(to, from)| *to = old[*from]);
}

fn sort_coo(
    handle: &Handle,
    by_rows: bool,
    [m, n, nnz]: [c_int; 3],
    rows: *mut c_int,
    columns: *mut c_int,
    p: *mut c_int,
    buffer: *mut c_void,
) -> Outcome {
    [m, n].into_iter().try_for_each(|number| size(number).map(drop))?;
    let count = size(nnz)?;
    let mut call = Call::of(handle);
    call.workspace(buffer, WORKSPACE)?;
    let rows = call.updates(c"cooRowsA", ints(rows, count))?;
    let columns = call.updates(c"cooColsA", ints(columns, count))?;
    let p = (!p.is_null()).then(|| call.updates(c"P", ints(p, count))).transpose()?;
    call.computes(move |data| {
        let (rows, columns) = (data.take::<c_int>(rows), data.take::<c_int>(columns));
        let mut order: Vec<usize> = (0..count).collect();
        // The order of equal entries is kept.
        order.sort_by_key(|place| match by_rows {
            true => (rows[*place], columns[*place]),
            false => (columns[*place], rows[*place]),
        });
        for memory in [rows, columns] {
            let old = memory.to_vec();
            memory.iter_mut().zip(&order).for_each(|(to, from)| *to = old[*from]);
        }
        if let Some(p) = p {
            permute(data, p, &order);
        }
    })
}

/// `cusparseXcoosortByRow`.
pub(crate) fn coosort_by_row(
    handle: &Handle,
    m: c_int,
    n: c_int,
    nnz: c_int,
    rows: *mut c_int,
    columns: *mut c_int,
    p: *mut c_int,
    buffer: *mut c_void,
) -> Outcome {
    sort_coo(handle, true, [m, n, nnz], rows, columns, p, buffer)
}

/// `cusparseXcoosortByColumn`.
pub(crate) fn coosort_by_column(
    handle: &Handle,
    m: c_int,
    n: c_int,
    nnz: c_int,
    rows: *mut c_int,
    columns: *mut c_int,
    p: *mut c_int,
    buffer: *mut c_void,
) -> Outcome {
    sort_coo(handle, false, [m, n, nnz], rows, columns, p, buffer)
}

/// The names of the arrays of a matrix whose lines are sorted.
type Sorted = Operand;

const CSR: Sorted = Operand::named([c"csrRowPtrA", c"csrColIndA", c""]);
const CSC: Sorted = Operand::named([c"cscColPtrA", c"cscRowIndA", c""]);

fn sort_lines(
    handle: &Handle,
    names: &Sorted,
    (lines, length, nnz): (c_int, c_int, c_int),
    descriptor: cusparseMatDescr_t,
    offsets: *const c_int,
    indices: *mut c_int,
    p: *mut c_int,
    buffer: *mut c_void,
) -> Outcome {
    let (shape, count) = ((size(lines)?, size(length)?), size(nnz)?);
    let base = general(descriptor)?.base();
    let arrays = [offsets.addr(), indices.addr(), 0];
    let matrix = SparseMatrix::csr(shape, count, arrays, base, Type::F32);
    let mut call = Call::of(handle);
    call.workspace(buffer, WORKSPACE)?;
    let positions = matrix.reads_positions(&mut call, names)?;
    let indices = matrix.writes(&mut call, names, 1)?;
    let p = (!p.is_null()).then(|| call.updates(c"P", ints(p, count))).transpose()?;
    call.computes(move |data| {
        let pattern = positions.get(data).pop().unwrap_or_default();
        let mut order: Vec<usize> = (0..pattern.count()).collect();
        for line in 0..pattern.lines() {
            order[pattern.line(line)].sort_by_key(|entry| pattern.indices[*entry]);
        }
        write_integers(data, indices, I32, base, order.iter().map(|entry| pattern.indices[*entry]));
        if let Some(p) = p {
            permute(data, p, &order.iter().map(|entry| pattern.place(*entry)).collect::<Vec<_>>());
        }
    })
}

/// `cusparseXcsrsort`.
pub(crate) fn csrsort(
    handle: &Handle,
    m: c_int,
    n: c_int,
    nnz: c_int,
    descriptor: cusparseMatDescr_t,
    offsets: *const c_int,
    indices: *mut c_int,
    p: *mut c_int,
    buffer: *mut c_void,
) -> Outcome {
    sort_lines(handle, &CSR, (m, n, nnz), descriptor, offsets, indices, p, buffer)
}

/// `cusparseXcscsort`.
pub(crate) fn cscsort(
    handle: &Handle,
    m: c_int,
    n: c_int,
    nnz: c_int,
    descriptor: cusparseMatDescr_t,
    offsets: *const c_int,
    indices: *mut c_int,
    p: *mut c_int,
    buffer: *mut c_void,
) -> Outcome {
    sort_lines(handle, &CSC, (n, m, nnz), descriptor, offsets, indices, p, buffer)
}

/// `cusparseXcoo2csr`: the offsets of rows whose indices are in order.
pub(crate) fn coo2csr(
    handle: &Handle,
    rows: *const c_int,
    nnz: c_int,
    m: c_int,
    offsets: *mut c_int,
    idx_base: cusparseIndexBase_t,
) -> Outcome {
    let (count, lines, base) = (size(nnz)?, size(m)?, base(idx_base)?);
    let mut call = Call::of(handle);
    let function = call.name;
    let from = call.reads(c"cooRowInd", ints(rows, count))?;
    let to = call.writes(c"csrSortedRowPtr", ints(offsets, lines + 1))?;
    call.computes(move |data| {
        let mut offsets = vec![0; lines + 1];
        for (place, row) in integers(data, from, I32, base).into_iter().enumerate() {
            match offsets.get_mut(row.wrapping_add(1)) {
                Some(count) if row < lines => *count += 1,
                _ => crate::call::tell_outside(function, c"cooRowInd", place, row, lines),
            }
        }
        (0..lines).for_each(|row| offsets[row + 1] += offsets[row]);
        write_integers(data, to, I32, base, offsets.into_iter());
    })
}

const ROWS: Operand = Operand::named([c"csrSortedRowPtr", c"", c""]);

/// `cusparseXcsr2coo`: the row of each entry.
pub(crate) fn csr2coo(
    handle: &Handle,
    offsets: *const c_int,
    nnz: c_int,
    m: c_int,
    rows: *mut c_int,
    idx_base: cusparseIndexBase_t,
) -> Outcome {
    let (count, lines, base) = (size(nnz)?, size(m)?, base(idx_base)?);
    let matrix = SparseMatrix::csr((lines, 0), count, [offsets.addr(), 0, 0], base, Type::F32);
    let mut call = Call::of(handle);
    let from = matrix.reads_offsets(&mut call, &ROWS)?;
    let to = call.writes(c"cooRowInd", ints(rows, count))?;
    call.computes(move |data| {
        let offsets = integers(data, from, I32, base);
        let rows = offsets.windows(2).enumerate().flat_map(|(row, pair)| {
            let length = pair[1].min(count).saturating_sub(pair[0].min(count));
            std::iter::repeat_n(row, length)
        });
        write_integers(data, to, I32, base, rows);
    })
}

/// The arguments of both functions for the transposition of a matrix.
struct Transposition {
    shape: (usize, usize),
    count: usize,
    kind: Type,
    copies_values: bool,
    base: usize,
}

impl Transposition {
    fn of(
        [m, n, nnz]: [c_int; 3],
        kind: cudaDataType,
        copies: cusparseAction_t,
        idx_base: cusparseIndexBase_t,
        algorithm: cusparseAlg_t,
    ) -> Outcome<Transposition> {
        if algorithm != 1 {
            return Err(INVALID_VALUE);
        }
        let shape = (size(m)?, size(n)?);
        let (kind, copies_values, base) = (Type::of(kind)?, choice(copies)?, base(idx_base)?);
        Ok(Transposition { shape, count: size(nnz)?, kind, copies_values, base })
    }
}

/// `cusparseCsr2cscEx2_bufferSize`.
pub(crate) fn csr2csc_size(
    _: &Handle,
    m: c_int,
    n: c_int,
    nnz: c_int,
    _: *const c_void,
    _: *const c_int,
    _: *const c_int,
    _: *mut c_void,
    _: *mut c_int,
    _: *mut c_int,
    kind: cudaDataType,
    copies: cusparseAction_t,
    idx_base: cusparseIndexBase_t,
    algorithm: cusparseAlg_t,
    bytes: *mut usize,
) -> Outcome {
    Transposition::of([m, n, nnz], kind, copies, idx_base, algorithm)?;
    write(bytes, WORKSPACE)
}

const TRANSPOSED: Operand = Operand::named([c"csrRowPtr", c"csrColInd", c"csrVal"]);

/// `cusparseCsr2cscEx2`.
pub(crate) fn csr2csc(
    handle: &Handle,
    m: c_int,
    n: c_int,
    nnz: c_int,
    csr_values: *const c_void,
    csr_offsets: *const c_int,
    csr_indices: *const c_int,
    csc_values: *mut c_void,
    csc_offsets: *mut c_int,
    csc_indices: *mut c_int,
    kind: cudaDataType,
    copies: cusparseAction_t,
    idx_base: cusparseIndexBase_t,
    algorithm: cusparseAlg_t,
    buffer: *mut c_void,
) -> Outcome {
    let Transposition { shape, count, kind, copies_values, base } =
        Transposition::of([m, n, nnz], kind, copies, idx_base, algorithm)?;
    let arrays = [csr_offsets.addr(), csr_indices.addr(), csr_values.addr()];
    let matrix = SparseMatrix::csr(shape, count, arrays, base, kind);
    let mut call = Call::of(handle);
    call.workspace(buffer, WORKSPACE)?;
    let positions = matrix.reads_positions(&mut call, &TRANSPOSED)?;
    let from =
        copies_values.then(|| call.reads(c"csrVal", values(csr_values.addr() as u64, count, kind))).transpose()?;
    let offsets = call.writes(c"cscColPtr", ints(csc_offsets, shape.1 + 1))?;
    let indices = call.writes(c"cscRowInd", ints(csc_indices, count))?;
    let to =
        copies_values.then(|| call.writes(c"cscVal", values(csc_values.addr() as u64, count, kind))).transpose()?;
    call.computes(move |data| {
        let pattern: Pattern = positions.get(data).pop().unwrap_or_default().transposed().into_rows();
        write_integers(data, indices, I32, base, pattern.indices.iter().copied());
        if let (Some(from), Some(to)) = (from, to) {
            // Values are copied bit by bit.
            of_type!(kind, T => {
                let from = data.take::<T>(from);
                let places = (0..pattern.count()).map(|entry| pattern.place(entry));
                data.take::<T>(to).iter_mut().zip(places).for_each(|(to, place)| *to = from[place]);
            });
        }
        write_integers(data, offsets, I32, base, pattern.offsets.into_iter());
    })
}
