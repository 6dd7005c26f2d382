//! Functions with a letter for their type for matrices in the format BSR, and for a dense matrix and a sparse vector.

use crate::call::{Call, Op, WORKSPACE, base, choice, leading, numbers, size, values};
use crate::dense::Matrix;
use crate::handle::Handle;
use crate::incomplete::{analyzed, analyzing};
use crate::matrix_descriptor::general;
use crate::numbers::{Scalar, add_scaled, narrow, widen, with_numbers};
use crate::pattern::Sparse;
use crate::sparse_matrix::{Format, Operand, SparseMatrix};
use crate::status::{INVALID_VALUE, NOT_SUPPORTED, Outcome, write};
use crate::triangular::{after, solve};
use crate::types::*;
use cuarray_stream_work::{Indexed, Integers, Region, Rows};
use std::ffi::{c_int, c_void};
use std::sync::atomic::Ordering;

pub(crate) const A: Operand = Operand::named([c"bsrSortedRowPtrA", c"bsrSortedColIndA", c"bsrSortedValA"]);

/// A matrix of square blocks.
pub(crate) fn blocks<T: Scalar>(
    direction: cusparseDirection_t,
    (rows, columns, nnz): (c_int, c_int, c_int),
    descriptor: cusparseMatDescr_t,
    (val, row, col): (*const T, *const c_int, *const c_int),
    block: c_int,
) -> Outcome<SparseMatrix> {
    let description = general(descriptor)?;
    let block = size(block)?;
    if block == 0 {
        return Err(INVALID_VALUE);
    }
    let shape = (size(rows)?.saturating_mul(block), size(columns)?.saturating_mul(block));
    let arrays = [row.addr(), col.addr(), val.addr()];
    let by_rows = !choice(direction)?;
    let format = Format::Bsr { rows: block, columns: block, by_rows };
    let csr = SparseMatrix::csr(shape, size(nnz)?, arrays, description.base(), T::TYPE);
    Ok(SparseMatrix { format, triangle: description.triangle(), ..csr })
}

/// An operation that is not supported for the sparse operand of a product.
fn no_operation(op: cusparseOperation_t) -> Outcome {
    if Op::of(op)? == Op::None { Ok(()) } else { Err(NOT_SUPPORTED) }
}

/// `cusparse<t>bsrmv`: `y = alpha * a * x + beta * y`.
pub(crate) fn bsrmv<T: Scalar>(
    handle: &Handle,
    direction: cusparseDirection_t,
    op: cusparseOperation_t,
    mb: c_int,
    nb: c_int,
    nnzb: c_int,
    alpha: *const T,
    descriptor: cusparseMatDescr_t,
    val: *const T,
    row: *const c_int,
    col: *const c_int,
    block: c_int,
    x: *const T,
    beta: *const T,
    y: *mut T,
) -> Outcome {
    no_operation(op)?;
    let (a, kind) = (blocks(direction, (mb, nb, nnzb), descriptor, (val, row, col), block)?, T::TYPE);
    let mut call = Call::of(handle);
    let (alpha, beta) = (call.scalar(c"alpha", alpha.cast(), kind)?, call.scalar(c"beta", beta.cast(), kind)?);
    let entries = a.reads(&mut call, &A)?;
    let x = call.reads(c"x", values(x.addr() as u64, a.columns, kind))?;
    let y = call.scaled(c"y", values(y.addr() as u64, a.rows, kind), beta)?;
    with_numbers!(kind.is_complex(), W => call.computes(move |data| {
        let (alpha, beta): (W, W) = (alpha.get(data), beta.get(data));
        let mut product = entries.one::<W>(data).times(&widen(data, x, kind));
        product.iter_mut().for_each(|value| *value *= alpha);
        add_scaled(data, y, kind, beta, &product);
    }))
}

/// `cusparse<t>bsrmm`: `c = alpha * a * op(b) + beta * c`.
pub(crate) fn bsrmm<T: Scalar>(
    handle: &Handle,
    direction: cusparseDirection_t,
    op_a: cusparseOperation_t,
    op_b: cusparseOperation_t,
    mb: c_int,
    n: c_int,
    kb: c_int,
    nnzb: c_int,
    alpha: *const T,
    descriptor: cusparseMatDescr_t,
    val: *const T,
    row: *const c_int,
    col: *const c_int,
    block: c_int,
    b: *const T,
    ldb: c_int,
    beta: *const T,
    c: *mut T,
    ldc: c_int,
) -> Outcome {
    no_operation(op_a)?;
    let (op, n, kind) = (Op::of(op_b)?, size(n)?, T::TYPE);
    if op == Op::Adjoint {
        return Err(NOT_SUPPORTED);
    }
    let a = blocks(direction, (mb, kb, nnzb), descriptor, (val, row, col), block)?;
    let shape = if op == Op::None { (a.columns, n) } else { (n, a.columns) };
    let b = Matrix::by_columns(shape, leading(ldb, shape.0)?, b.cast(), kind);
    let c = Matrix::by_columns((a.rows, n), leading(ldc, a.rows)?, c.cast_const().cast(), kind);
    let mut call = Call::of(handle);
    let (alpha, beta) = (call.scalar(c"alpha", alpha.cast(), kind)?, call.scalar(c"beta", beta.cast(), kind)?);
    let entries = a.reads(&mut call, &A)?;
    let from = call.reads(c"B", b.region())?;
    let to = call.scaled(c"C", c.region(), beta)?;
    with_numbers!(kind.is_complex(), W => call.computes(move |data| {
        let (alpha, beta): (W, W) = (alpha.get(data), beta.get(data));
        let a = entries.one::<W>(data);
        let elements = widen::<W>(data, from, kind);
        let mut result = vec![W::default(); c.rows * c.columns];
        for (row, inner, value) in a.entries() {
            for column in 0..n {
                result[c.at(0, row, column)] += alpha * value * b.element(&elements, op, 0, inner, column);
            }
        }
        add_scaled(data, to, kind, beta, &result);
    }))
}

/// `cusparse<t>bsrsv2_bufferSize`.
pub(crate) fn bsrsv2_size<T: Scalar>(
    _: &Handle,
    direction: cusparseDirection_t,
    op: cusparseOperation_t,
    mb: c_int,
    nnzb: c_int,
    descriptor: cusparseMatDescr_t,
    val: *mut T,
    row: *const c_int,
    col: *const c_int,
    block: c_int,
    _: info_t,
    bytes: *mut c_int,
) -> Outcome {
    Op::of(op)?;
    blocks(direction, (mb, mb, nnzb), descriptor, (val.cast_const(), row, col), block)?;
    write(bytes, WORKSPACE as c_int)
}

/// `cusparse<t>bsrsm2_bufferSize`.
pub(crate) fn bsrsm2_size<T: Scalar>(
    _: &Handle,
    direction: cusparseDirection_t,
    op: cusparseOperation_t,
    op_x: cusparseOperation_t,
    mb: c_int,
    n: c_int,
    nnzb: c_int,
    descriptor: cusparseMatDescr_t,
    val: *mut T,
    row: *const c_int,
    col: *const c_int,
    block: c_int,
    _: info_t,
    bytes: *mut c_int,
) -> Outcome {
    Op::of(op)?;
    Op::of(op_x)?;
    size(n)?;
    blocks(direction, (mb, mb, nnzb), descriptor, (val.cast_const(), row, col), block)?;
    write(bytes, WORKSPACE as c_int)
}

/// Enqueues the analysis of a triangular matrix: the first row of blocks without a diagonal block.
fn analyze(handle: &Handle, a: &SparseMatrix, info: info_t, buffer: *mut c_void) -> Outcome {
    let a = *a;
    let Format::Bsr { rows: block, .. } = a.format else { return Err(INVALID_VALUE) };
    let mut call = Call::of(handle);
    call.workspace(buffer, WORKSPACE)?;
    let positions = a.reads_positions(&mut call, &A)?;
    let info = analyzing(info)?;
    call.computes(move |data| {
        let pattern = positions.get(data).pop().unwrap_or_default();
        let has = |row: &usize| pattern.line(*row).any(|entry| pattern.indices[entry] == *row);
        if !a.triangle.is_unit
            && let Some(row) = (0..pattern.lines()).find(|row| !has(row))
        {
            info.pivot.store((row / block + a.base) as c_int, Ordering::Release);
        }
    })
}

/// `cusparse<t>bsrsv2_analysis`.
pub(crate) fn bsrsv2_analysis<T: Scalar>(
    handle: &Handle,
    direction: cusparseDirection_t,
    op: cusparseOperation_t,
    mb: c_int,
    nnzb: c_int,
    descriptor: cusparseMatDescr_t,
    val: *const T,
    row: *const c_int,
    col: *const c_int,
    block: c_int,
    info: info_t,
    _: cusparseSolvePolicy_t,
    buffer: *mut c_void,
) -> Outcome {
    Op::of(op)?;
    let a = blocks(direction, (mb, mb, nnzb), descriptor, (val, row, col), block)?;
    analyze(handle, &a, info, buffer)
}

/// `cusparse<t>bsrsm2_analysis`.
pub(crate) fn bsrsm2_analysis<T: Scalar>(
    handle: &Handle,
    direction: cusparseDirection_t,
    op: cusparseOperation_t,
    op_x: cusparseOperation_t,
    mb: c_int,
    n: c_int,
    nnzb: c_int,
    descriptor: cusparseMatDescr_t,
    val: *const T,
    row: *const c_int,
    col: *const c_int,
    block: c_int,
    info: info_t,
    _: cusparseSolvePolicy_t,
    buffer: *mut c_void,
) -> Outcome {
    Op::of(op)?;
    Op::of(op_x)?;
    size(n)?;
    let a = blocks(direction, (mb, mb, nnzb), descriptor, (val, row, col), block)?;
    analyze(handle, &a, info, buffer)
}

/// Enqueues the solution of `op(a) * op_x(x) = alpha * op_x(b)`.
fn solves<T: Scalar>(
    mut call: Call<'_>,
    a: SparseMatrix,
    (op, op_x): (Op, Op),
    alpha: *const T,
    (b, x): (Matrix, Matrix),
    info: info_t,
    names: (&'static std::ffi::CStr, &'static std::ffi::CStr),
) -> Outcome {
    let (info, kind) = (analyzed(info)?, T::TYPE);
    let Format::Bsr { rows: block, .. } = a.format else { return Err(INVALID_VALUE) };
    let alpha = call.scalar(c"alpha", alpha.cast(), kind)?;
    let entries = a.reads(&mut call, &A)?;
    let from = call.reads(names.0, b.region())?;
    let to = call.writes(names.1, x.region())?;
    with_numbers!(kind.is_complex(), W => call.computes(move |data| {
        let alpha: W = alpha.get(data);
        let matrix: Sparse<W> = entries.one::<W>(data).applied(op).into_rows();
        let is_zero = |row: &usize| {
            let mut line = matrix.pattern.line(*row);
            line.any(|entry| matrix.pattern.indices[entry] == *row && matrix.values[entry] == W::default())
        };
        if !a.triangle.is_unit && let Some(row) = (0..matrix.pattern.lines()).find(is_zero) {
            let row = (row / block + a.base) as c_int;
            let _ = info.pivot.compare_exchange(-1, row, Ordering::AcqRel, Ordering::Acquire);
        }
        let elements = widen::<W>(data, from, kind);
        let (rows, columns) = b.size_of(op_x);
        let mut result = vec![W::default(); x.rows * x.columns];
        for column in 0..columns {
            let mut side: Vec<W> =
                (0..rows).map(|row| alpha * b.element(&elements, op_x, 0, row, column)).collect();
            solve(&matrix, after(a.triangle, op), &mut side);
            for (row, value) in side.into_iter().enumerate() {
                let at = if op_x == Op::None { x.at(0, row, column) } else { x.at(0, column, row) };
                result[at] = op_x.value(value);
            }
        }
        narrow(data, to, kind, &result);
    }))
}

/// `cusparse<t>bsrsv2_solve`: `op(a) * x = alpha * f`.
pub(crate) fn bsrsv2_solve<T: Scalar>(
    handle: &Handle,
    direction: cusparseDirection_t,
    op: cusparseOperation_t,
    mb: c_int,
    nnzb: c_int,
    alpha: *const T,
    descriptor: cusparseMatDescr_t,
    val: *const T,
    row: *const c_int,
    col: *const c_int,
    block: c_int,
    info: info_t,
    f: *const T,
    x: *mut T,
    _: cusparseSolvePolicy_t,
    buffer: *mut c_void,
) -> Outcome {
    let a = blocks(direction, (mb, mb, nnzb), descriptor, (val, row, col), block)?;
    let mut call = Call::of(handle);
    call.workspace(buffer, WORKSPACE)?;
    let of = |pointer: *const T| Matrix::by_columns((a.rows, 1), a.rows, pointer.cast(), T::TYPE);
    let sides = (of(f), of(x.cast_const()));
    solves(call, a, (Op::of(op)?, Op::None), alpha, sides, info, (c"f", c"x"))
}

/// `cusparse<t>bsrsm2_solve`: `op(a) * op(x) = alpha * op(b)`.
pub(crate) fn bsrsm2_solve<T: Scalar>(
    handle: &Handle,
    direction: cusparseDirection_t,
    op: cusparseOperation_t,
    op_x: cusparseOperation_t,
    mb: c_int,
    n: c_int,
    nnzb: c_int,
    alpha: *const T,
    descriptor: cusparseMatDescr_t,
    val: *const T,
    row: *const c_int,
    col: *const c_int,
    block: c_int,
    info: info_t,
    b: *const T,
    ldb: c_int,
    x: *mut T,
    ldx: c_int,
    _: cusparseSolvePolicy_t,
    buffer: *mut c_void,
) -> Outcome {
    let a = blocks(direction, (mb, mb, nnzb), descriptor, (val, row, col), block)?;
    let (op, op_x, n) = (Op::of(op)?, Op::of(op_x)?, size(n)?);
    let mut call = Call::of(handle);
    call.workspace(buffer, WORKSPACE)?;
    let shape = if op_x == Op::None { (a.rows, n) } else { (n, a.rows) };
    let b = Matrix::by_columns(shape, leading(ldb, shape.0)?, b.cast(), T::TYPE);
    let x = Matrix::by_columns(shape, leading(ldx, shape.0)?, x.cast_const().cast(), T::TYPE);
    solves(call, a, (op, op_x), alpha, (b, x), info, (c"B", c"X"))
}

/// `cusparse<t>gemvi_bufferSize`.
pub(crate) fn gemvi_size<T: Scalar>(
    _: &Handle,
    op: cusparseOperation_t,
    m: c_int,
    n: c_int,
    nnz: c_int,
    bytes: *mut c_int,
) -> Outcome {
    Op::of(op)?;
    [m, n, nnz].into_iter().try_for_each(|number| size(number).map(drop))?;
    write(bytes, WORKSPACE as c_int)
}

/// `cusparse<t>gemvi`: `y = alpha * op(a) * x + beta * y` for a sparse vector `x`. Without an operation, the columns of its indices are read.
pub(crate) fn gemvi<T: Scalar>(
    handle: &Handle,
    op: cusparseOperation_t,
    m: c_int,
    n: c_int,
    alpha: *const T,
    a: *const T,
    lda: c_int,
    nnz: c_int,
    x: *const T,
    indices: *const c_int,
    beta: *const T,
    y: *mut T,
    idx_base: cusparseIndexBase_t,
    buffer: *mut c_void,
) -> Outcome {
    let (op, shape, count) = (Op::of(op)?, (size(m)?, size(n)?), size(nnz)?);
    let (base, leading, kind) = (base(idx_base)?, leading(lda, size(m)?)?, T::TYPE);
    let element = kind.size();
    let mut call = Call::of(handle);
    let (alpha, beta) = (call.scalar(c"alpha", alpha.cast(), kind)?, call.scalar(c"beta", beta.cast(), kind)?);
    call.workspace(buffer, WORKSPACE)?;
    let function = call.name;
    let listed = call.reads(c"xInd", numbers(indices.addr() as u64, count, Integers::I32))?;
    let x = call.reads(c"xVal", values(x.addr() as u64, count, kind))?;
    let rows = Rows {
        address: a.addr() as u64,
        width: shape.0.saturating_mul(element),
        height: count,
        pitch: leading.saturating_mul(element),
    };
    let columns = Indexed { array: indices.addr() as u64, integers: Integers::I32, first: base as u64, rows, element };
    let region: Region = if op == Op::None { columns.into() } else { Rows { height: shape.1, ..rows }.into() };
    let a = call.reads(c"A", region)?;
    let lines = if op == Op::None { shape.0 } else { shape.1 };
    let y = call.scaled(c"y", values(y.addr() as u64, lines, kind), beta)?;
    with_numbers!(kind.is_complex(), W => call.computes(move |data| {
        let (alpha, beta): (W, W) = (alpha.get(data), beta.get(data));
        let indices = crate::numbers::integers(data, listed, Integers::I32, base);
        let (x, a) = (widen::<W>(data, x, kind), widen::<W>(data, a, kind));
        let mut product = vec![W::default(); lines];
        let limit = if op == Op::None { shape.1 } else { shape.0 };
        for (place, (index, value)) in indices.into_iter().zip(x).enumerate() {
            if index >= limit {
                crate::call::tell_outside(function, c"xInd", place, index, limit);
                continue;
            }
            for (line, sum) in product.iter_mut().enumerate() {
                let element = if op == Op::None { a[place * shape.0 + line] } else { op.value(a[line * shape.0 + index]) };
                *sum += alpha * element * value;
            }
        }
        add_scaled(data, y, kind, beta, &product);
    }))
}
