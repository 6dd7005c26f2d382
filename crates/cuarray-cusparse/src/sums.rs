//! Sums of two sparse matrices.

use crate::accumulator::{Accumulator, Columns};
use crate::call::{Call, Op, WORKSPACE, numbers, size};
use crate::handle::Handle;
use crate::matrix_descriptor::general;
use crate::numbers::{Number, Scalar, Type, narrow, with_numbers, write_integers};
use crate::pattern::{Pattern, Sparse};
use crate::sparse_descriptor::{set_count, sparse};
use crate::sparse_matrix::{self as operands, Format, Operand, SparseMatrix};
use crate::status::{INVALID_VALUE, NOT_SUPPORTED, Outcome, write};
use crate::types::*;
use cuarray_stream_work::{Counted, Integers, Objects};
use std::ffi::{c_int, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The sum of two matrices by rows.
fn add<W: Number>((alpha, a): (W, &Sparse<W>), (beta, b): (W, &Sparse<W>)) -> Sparse<W> {
    let columns = Columns::of(&[&a.pattern, &b.pattern]);
    let ranks = [columns.ranks(&a.pattern), columns.ranks(&b.pattern)];
    let mut sums = Accumulator::new(columns);
    for row in 0..a.pattern.lines() {
        for ((factor, matrix), ranks) in [(alpha, a), (beta, b)].into_iter().zip(&ranks) {
            matrix.pattern.line(row).for_each(|entry| sums.add(ranks[entry], factor * matrix.values[entry]));
        }
        sums.end_row();
    }
    sums.matrix((a.pattern.rows, a.pattern.columns))
}

/// The pattern of a sum.
fn united(a: Pattern, b: Pattern) -> Pattern {
    let ones = |pattern: Pattern| {
        let values = vec![1.0; pattern.count()];
        Sparse { pattern, values }
    };
    add((1.0, &ones(a)), (1.0, &ones(b))).pattern
}

fn first(mut patterns: Vec<Pattern>) -> Pattern {
    patterns.pop().unwrap_or_default()
}

/// An operand of a function with a letter for its type.
fn operand(
    (m, n): (usize, usize),
    descriptor: cusparseMatDescr_t,
    nnz: c_int,
    arrays: [*const c_void; 3],
    kind: Type,
) -> Outcome<SparseMatrix> {
    let base = general(descriptor)?.base();
    Ok(SparseMatrix::csr((m, n), size(nnz)?, arrays.map(|array| array.addr()), base, kind))
}

/// `cusparse<t>csrgeam2_bufferSizeExt`.
pub(crate) fn csrgeam2_size<T: Scalar>(
    _: &Handle,
    m: c_int,
    n: c_int,
    _: *const T,
    descr_a: cusparseMatDescr_t,
    _: c_int,
    _: *const T,
    _: *const c_int,
    _: *const c_int,
    _: *const T,
    descr_b: cusparseMatDescr_t,
    _: c_int,
    _: *const T,
    _: *const c_int,
    _: *const c_int,
    descr_c: cusparseMatDescr_t,
    _: *const T,
    _: *const c_int,
    _: *const c_int,
    bytes: *mut usize,
) -> Outcome {
    size(m)?;
    size(n)?;
    [descr_a, descr_b, descr_c].into_iter().try_for_each(|descriptor| general(descriptor).map(drop))?;
    write(bytes, WORKSPACE)
}

/// `cusparseXcsrgeam2Nnz`: the offsets of the sum, and its number of entries.
pub(crate) fn csrgeam2_nnz(
    handle: &Handle,
    m: c_int,
    n: c_int,
    descr_a: cusparseMatDescr_t,
    nnz_a: c_int,
    row_a: *const c_int,
    col_a: *const c_int,
    descr_b: cusparseMatDescr_t,
    nnz_b: c_int,
    row_b: *const c_int,
    col_b: *const c_int,
    descr_c: cusparseMatDescr_t,
    row_c: *mut c_int,
    total: *mut c_int,
    workspace: *mut c_void,
) -> Outcome {
    let shape = (size(m)?, size(n)?);
    let none = std::ptr::null();
    let a = operand(shape, descr_a, nnz_a, [row_a.cast(), col_a.cast(), none], Type::F32)?;
    let b = operand(shape, descr_b, nnz_b, [row_b.cast(), col_b.cast(), none], Type::F32)?;
    let base = general(descr_c)?.base();
    let mut call = Call::of(handle);
    call.workspace(workspace, WORKSPACE)?;
    let (a, b) = (a.reads_positions(&mut call, &A)?, b.reads_positions(&mut call, &B)?);
    let offsets = call.writes(c"csrSortedRowPtrC", numbers(row_c.addr() as u64, shape.0 + 1, Integers::I32))?;
    let closure = move |data: &mut cuarray_stream_work::Data<'_>| {
        let sum = united(first(a.get(data)), first(b.get(data)));
        let count = sum.count();
        write_integers(data, offsets, Integers::I32, base, sum.offsets.into_iter());
        count as c_int
    };
    if total.is_null() {
        return call.computes(move |data| {
            closure(data);
        });
    }
    call.returns(c"nnzTotalDevHostPtr", total, closure)
}

const A: Operand = Operand::named([c"csrSortedRowPtrA", c"csrSortedColIndA", c"csrSortedValA"]);
const B: Operand = Operand::named([c"csrSortedRowPtrB", c"csrSortedColIndB", c"csrSortedValB"]);

/// `cusparse<t>csrgeam2`: `c = alpha * a + beta * b`. The offsets of `c` are there, and say how many entries it has.
pub(crate) fn csrgeam2<T: Scalar>(
    handle: &Handle,
    m: c_int,
    n: c_int,
    alpha: *const T,
    descr_a: cusparseMatDescr_t,
    nnz_a: c_int,
    val_a: *const T,
    row_a: *const c_int,
    col_a: *const c_int,
    beta: *const T,
    descr_b: cusparseMatDescr_t,
    nnz_b: c_int,
    val_b: *const T,
    row_b: *const c_int,
    col_b: *const c_int,
    descr_c: cusparseMatDescr_t,
    val_c: *mut T,
    row_c: *mut c_int,
    col_c: *mut c_int,
    buffer: *mut c_void,
) -> Outcome {
    let shape = (size(m)?, size(n)?);
    let kind = T::TYPE;
    let a = operand(shape, descr_a, nnz_a, [row_a.cast(), col_a.cast(), val_a.cast()], kind)?;
    let b = operand(shape, descr_b, nnz_b, [row_b.cast(), col_b.cast(), val_b.cast()], kind)?;
    let base = general(descr_c)?.base();
    let mut call = Call::of(handle);
    let (alpha, beta) = (call.scalar(c"alpha", alpha.cast(), kind)?, call.scalar(c"beta", beta.cast(), kind)?);
    call.workspace(buffer, WORKSPACE)?;
    let (a, b) = (a.reads(&mut call, &A)?, b.reads(&mut call, &B)?);
    call.reads(c"csrSortedRowPtrC", numbers(row_c.addr() as u64, shape.0 + 1, Integers::I32))?;
    let counted = |address: u64, element: usize| Counted {
        count: (row_c.addr() as u64).wrapping_add(4 * shape.0 as u64),
        integers: Integers::I32,
        less: base as u64,
        address,
        element,
        at_most: nnz_a as usize + nnz_b as usize,
    };
    let columns = call.writes(c"csrSortedColIndC", counted(col_c.addr() as u64, 4).into())?;
    let values = call.writes(c"csrSortedValC", counted(val_c.addr() as u64, kind.size()).into())?;
    with_numbers!(kind.is_complex(), W => call.computes(move |data| {
        let (alpha, beta): (W, W) = (alpha.get(data), beta.get(data));
        let sum = add((alpha, &a.one(data)), (beta, &b.one(data)));
        write_integers(data, columns, Integers::I32, base, sum.pattern.indices.into_iter());
        narrow(data, values, kind, &sum.values);
    }))
}

/// The target of `cusparseSpGEAMDescr_t`, which keeps nothing.
static SUMS: Objects<(), cusparseStatus_t> = Objects::new(0x6380_0000_0000, INVALID_VALUE);

/// `cusparseSpGEAM_createDescr`.
pub(crate) fn create(to: *mut cusparseSpGEAMDescr_t) -> Outcome {
    if to.is_null() {
        return Err(INVALID_VALUE);
    }
    write(to, SUMS.add(()))
}

/// `cusparseSpGEAM_destroyDescr`.
pub(crate) fn destroy(descriptor: cusparseSpGEAMDescr_t) -> Outcome {
    SUMS.remove(descriptor)
}

/// The operands of a sum of matrices with descriptors.
struct Summands {
    ops: [Op; 2],
    a: SparseMatrix,
    b: SparseMatrix,
    c: SparseMatrix,
    compute: Type,
}

impl Summands {
    fn of(
        ops: [cusparseOperation_t; 2],
        [a, b, c]: [cusparseSpMatDescr_t; 3],
        compute: cudaDataType,
        descriptor: cusparseSpGEAMDescr_t,
    ) -> Outcome<Summands> {
        SUMS.get(descriptor)?;
        let ops = [Op::of(ops[0])?, Op::of(ops[1])?];
        let (a, b, c, compute) = (sparse(a)?, sparse(b)?, sparse(c)?, Type::of(compute)?);
        let shape = |matrix: &SparseMatrix, op: Op| match op {
            Op::None => (matrix.rows, matrix.columns),
            _ => (matrix.columns, matrix.rows),
        };
        if shape(&a, ops[0]) != (c.rows, c.columns) || shape(&b, ops[1]) != (c.rows, c.columns) {
            return Err(INVALID_VALUE);
        }
        let is_supported = matches!(compute, Type::F32 | Type::F64 | Type::C32 | Type::C64)
            && [a.kind, b.kind, c.kind] == [compute; 3]
            && [a.batch, b.batch, c.batch] == [1; 3];
        if !is_supported {
            return Err(NOT_SUPPORTED);
        }
        [a, b, c].iter().try_for_each(|matrix| matrix.check_format(|format| format == Format::Csr))?;
        Ok(Summands { ops, a, b, c, compute })
    }
}

/// `cusparseSpGEAM_bufferSize`.
pub(crate) fn spgeam_size(
    _: &Handle,
    op_a: cusparseOperation_t,
    op_b: cusparseOperation_t,
    _: *const c_void,
    a: cusparseSpMatDescr_t,
    _: *const c_void,
    b: cusparseSpMatDescr_t,
    c: cusparseSpMatDescr_t,
    compute: cudaDataType,
    _: cusparseAlg_t,
    descriptor: cusparseSpGEAMDescr_t,
    bytes: *mut usize,
) -> Outcome {
    Summands::of([op_a, op_b], [a, b, c], compute, descriptor)?;
    write(bytes, WORKSPACE)
}

/// `cusparseSpGEAM_nnz`: writes the offsets of the sum, and waits for the number of its entries.
pub(crate) fn spgeam_nnz(
    handle: &Handle,
    op_a: cusparseOperation_t,
    op_b: cusparseOperation_t,
    alpha: *const c_void,
    a: cusparseSpMatDescr_t,
    beta: *const c_void,
    b: cusparseSpMatDescr_t,
    of_c: cusparseSpMatDescr_t,
    compute: cudaDataType,
    _: cusparseAlg_t,
    descriptor: cusparseSpGEAMDescr_t,
    buffer: *mut c_void,
) -> Outcome {
    let Summands { ops, a, b, c, compute } = Summands::of([op_a, op_b], [a, b, of_c], compute, descriptor)?;
    let mut call = Call::of(handle);
    // The number of entries does not depend on the values of the scalars.
    call.scalar(c"alpha", alpha, compute)?;
    call.scalar(c"beta", beta, compute)?;
    call.workspace(buffer, WORKSPACE)?;
    let a = a.reads_positions(&mut call, &operands::A)?;
    let b = b.reads_positions(&mut call, &operands::B)?;
    let offsets = c.writes(&mut call, &operands::C, 0)?;
    let found = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&found);
    call.computes_and_waits(move |data| {
        let side = |pattern: Pattern, op: Op| if op == Op::None { pattern } else { pattern.transposed().into_rows() };
        let sum = united(side(first(a.get(data)), ops[0]), side(first(b.get(data)), ops[1]));
        count.store(sum.count(), Ordering::Release);
        write_integers(data, offsets, c.integers[0], c.base, sum.offsets.into_iter());
    })?;
    set_count(of_c, found.load(Ordering::Acquire))
}

/// `cusparseSpGEAM`: `c = alpha * op(a) + beta * op(b)`.
pub(crate) fn spgeam(
    handle: &Handle,
    op_a: cusparseOperation_t,
    op_b: cusparseOperation_t,
    alpha: *const c_void,
    a: cusparseSpMatDescr_t,
    beta: *const c_void,
    b: cusparseSpMatDescr_t,
    c: cusparseSpMatDescr_t,
    compute: cudaDataType,
    _: cusparseAlg_t,
    descriptor: cusparseSpGEAMDescr_t,
    buffer: *mut c_void,
) -> Outcome {
    let Summands { ops, a, b, c, compute } = Summands::of([op_a, op_b], [a, b, c], compute, descriptor)?;
    let mut call = Call::of(handle);
    let (alpha, beta) = (call.scalar(c"alpha", alpha, compute)?, call.scalar(c"beta", beta, compute)?);
    call.workspace(buffer, WORKSPACE)?;
    let (a, b) = (a.reads(&mut call, &operands::A)?, b.reads(&mut call, &operands::B)?);
    c.reads_offsets(&mut call, &operands::C)?;
    let indices = c.writes(&mut call, &operands::C, 1)?;
    let values = c.writes(&mut call, &operands::C, 2)?;
    with_numbers!(compute.is_complex(), W => call.computes(move |data| {
        let (alpha, beta): (W, W) = (alpha.get(data), beta.get(data));
        let a = a.one::<W>(data).applied(ops[0]).into_rows();
        let b = b.one::<W>(data).applied(ops[1]).into_rows();
        let sum = add((alpha, &a), (beta, &b));
        write_integers(data, indices, c.integers[1], c.base, sum.pattern.indices.into_iter());
        narrow(data, values, c.kind, &sum.values);
    }))
}
