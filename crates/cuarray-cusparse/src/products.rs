//! Products of a sparse matrix with a dense vector or matrix, and products of dense matrices at the entries of a sparse one.

use crate::call::{Call, Op, WORKSPACE};
use crate::dense::{self, Matrix, Vector, vector};
use crate::handle::Handle;
use crate::numbers::{Number, Type, add_scaled, widen, with_numbers};
use crate::pattern::Sparse;
use crate::sparse_descriptor::sparse;
use crate::sparse_matrix::{self as operands, Format, SparseMatrix};
use crate::status::{INVALID_VALUE, NOT_SUPPORTED, Outcome, write};
use crate::types::*;

use std::ffi::c_void;

/// Checks the types of a product as the documentation lists them.
pub(crate) fn check_types(a: Type, x: Type, y: Type, compute: Type) -> Outcome {
    use Type::{BF16, C16, C32, C64, CB16, F16, F32, F64, I8, I32};
    let is_supported = match (a, x) {
        (F32, F32) => (y, compute) == (F32, F32) || (y, compute) == (F64, F64),
        (F64, F64) | (F32, F64) => (y, compute) == (F64, F64),
        (C32, C32) | (F32, C32) => (y, compute) == (C32, C32),
        (C64, C64) | (F64, C64) => (y, compute) == (C64, C64),
        (F16, F16) | (BF16, BF16) => (y == a || y == F32) && compute == F32,
        (C16, C16) | (CB16, CB16) => y == a && compute == C32,
        (I8, I8) => matches!((y, compute), (I32, I32) | (F32, F32)),
        _ => false,
    };
    if is_supported { Ok(()) } else { Err(NOT_SUPPORTED) }
}

/// The operands of a product with a vector.
struct WithVector {
    op: Op,
    a: SparseMatrix,
    x: Vector,
    y: Vector,
    compute: Type,
}

impl WithVector {
    fn of(
        op: cusparseOperation_t,
        a: cusparseSpMatDescr_t,
        x: cusparseDnVecDescr_t,
        y: cusparseDnVecDescr_t,
        compute: cudaDataType,
    ) -> Outcome<WithVector> {
        let (op, a, x, y, compute) = (Op::of(op)?, sparse(a)?, vector(x)?, vector(y)?, Type::of(compute)?);
        let (rows, columns) = if op == Op::None { (a.rows, a.columns) } else { (a.columns, a.rows) };
        if x.size != columns || y.size != rows {
            return Err(INVALID_VALUE);
        }
        check_types(a.kind, x.kind, y.kind, compute)?;
        a.check_format(|format| !matches!(format, Format::BlockedEll { .. }))?;
        Ok(WithVector { op, a, x, y, compute })
    }
}

/// `cusparseSpMV_bufferSize`.
pub(crate) fn spmv_size(
    _: &Handle,
    op: cusparseOperation_t,
    _: *const c_void,
    a: cusparseSpMatDescr_t,
    x: cusparseDnVecDescr_t,
    _: *const c_void,
    y: cusparseDnVecDescr_t,
    compute: cudaDataType,
    _: cusparseAlg_t,
    size: *mut usize,
) -> Outcome {
    WithVector::of(op, a, x, y, compute)?;
    write(size, WORKSPACE)
}

/// `cusparseSpMV_preprocess`. Nothing is kept for later products.
pub(crate) fn spmv_preprocess(
    handle: &Handle,
    op: cusparseOperation_t,
    _: *const c_void,
    a: cusparseSpMatDescr_t,
    x: cusparseDnVecDescr_t,
    _: *const c_void,
    y: cusparseDnVecDescr_t,
    compute: cudaDataType,
    _: cusparseAlg_t,
    buffer: *mut c_void,
) -> Outcome {
    let product = WithVector::of(op, a, x, y, compute)?;
    let mut call = Call::of(handle);
    call.workspace(buffer, WORKSPACE)?;
    product.a.reads_positions(&mut call, &operands::A)?;
    call.computes(|_| ())
}

/// `cusparseSpMV`: `y = alpha * op(a) * x + beta * y`.
pub(crate) fn spmv(
    handle: &Handle,
    op: cusparseOperation_t,
    alpha: *const c_void,
    a: cusparseSpMatDescr_t,
    x: cusparseDnVecDescr_t,
    beta: *const c_void,
    y: cusparseDnVecDescr_t,
    compute: cudaDataType,
    _: cusparseAlg_t,
    buffer: *mut c_void,
) -> Outcome {
    let WithVector { op, a, x, y, compute } = WithVector::of(op, a, x, y, compute)?;
    let mut call = Call::of(handle);
    let (alpha, beta) = (call.scalar(c"alpha", alpha, compute)?, call.scalar(c"beta", beta, compute)?);
    call.workspace(buffer, WORKSPACE)?;
    let a = a.reads(&mut call, &operands::A)?;
    let from = call.reads(c"vecX", x.region())?;
    let to = call.scaled(c"vecY", y.region(), beta)?;
    with_numbers!(compute.is_complex(), W => call.computes(move |data| {
        let (alpha, beta): (W, W) = (alpha.get(data), beta.get(data));
        let a = a.one::<W>(data).applied(op);
        let mut product = a.times(&widen(data, from, x.kind));
        product.iter_mut().for_each(|value| *value *= alpha);
        add_scaled(data, to, y.kind, beta, &product);
    }))
}

/// The operands of a product with a dense matrix.
struct WithMatrix {
    ops: (Op, Op),
    a: SparseMatrix,
    b: Matrix,
    c: Matrix,
    compute: Type,
}

impl WithMatrix {
    fn of(
        (op_a, op_b): (cusparseOperation_t, cusparseOperation_t),
        a: cusparseSpMatDescr_t,
        b: cusparseDnMatDescr_t,
        c: cusparseDnMatDescr_t,
        compute: cudaDataType,
    ) -> Outcome<WithMatrix> {
        let (op_a, op_b) = (Op::of(op_a)?, Op::of(op_b)?);
        let (a, b, c, compute) = (sparse(a)?, dense::matrix(b)?, dense::matrix(c)?, Type::of(compute)?);
        let (rows, inner) = if op_a == Op::None { (a.rows, a.columns) } else { (a.columns, a.rows) };
        let (of_b, columns) = b.size_of(op_b);
        if of_b != inner || (c.rows, c.columns) != (rows, columns) {
            return Err(INVALID_VALUE);
        }
        let fits = |batch: usize| batch == 1 || batch == c.batch;
        if !fits(a.batch) || !fits(b.batch) {
            return Err(INVALID_VALUE);
        }
        check_types(a.kind, b.kind, c.kind, compute)?;
        a.check_format(|format| !matches!(format, Format::SlicedEll { .. }))?;
        Ok(WithMatrix { ops: (op_a, op_b), a, b, c, compute })
    }
}

/// Adds the product of one sparse matrix of a batch to the result.
fn multiply<W: Number>(a: &Sparse<W>, b: (&Matrix, &[W], Op), c: (&Matrix, &mut [W]), index: usize, alpha: W) {
    let ((b, values, op), (c, result)) = (b, c);
    for (row, inner, value) in a.entries() {
        let factor = alpha * value;
        for column in 0..c.columns {
            result[c.at(index, row, column)] += factor * b.element(values, op, index, inner, column);
        }
    }
}

/// `cusparseSpMM_bufferSize`.
pub(crate) fn spmm_size(
    _: &Handle,
    op_a: cusparseOperation_t,
    op_b: cusparseOperation_t,
    _: *const c_void,
    a: cusparseSpMatDescr_t,
    b: cusparseDnMatDescr_t,
    _: *const c_void,
    c: cusparseDnMatDescr_t,
    compute: cudaDataType,
    _: cusparseAlg_t,
    size: *mut usize,
) -> Outcome {
    WithMatrix::of((op_a, op_b), a, b, c, compute)?;
    write(size, WORKSPACE)
}

/// `cusparseSpMM_preprocess`. Nothing is kept for later products.
pub(crate) fn spmm_preprocess(
    handle: &Handle,
    op_a: cusparseOperation_t,
    op_b: cusparseOperation_t,
    _: *const c_void,
    a: cusparseSpMatDescr_t,
    b: cusparseDnMatDescr_t,
    _: *const c_void,
    c: cusparseDnMatDescr_t,
    compute: cudaDataType,
    _: cusparseAlg_t,
    buffer: *mut c_void,
) -> Outcome {
    let product = WithMatrix::of((op_a, op_b), a, b, c, compute)?;
    let mut call = Call::of(handle);
    call.workspace(buffer, WORKSPACE)?;
    product.a.reads_positions(&mut call, &operands::A)?;
    call.computes(|_| ())
}

/// `cusparseSpMM`: `c = alpha * op(a) * op(b) + beta * c`, for each matrix of a batch.
pub(crate) fn spmm(
    handle: &Handle,
    op_a: cusparseOperation_t,
    op_b: cusparseOperation_t,
    alpha: *const c_void,
    a: cusparseSpMatDescr_t,
    b: cusparseDnMatDescr_t,
    beta: *const c_void,
    c: cusparseDnMatDescr_t,
    compute: cudaDataType,
    _: cusparseAlg_t,
    buffer: *mut c_void,
) -> Outcome {
    let WithMatrix { ops, a, b, c, compute } = WithMatrix::of((op_a, op_b), a, b, c, compute)?;
    let mut call = Call::of(handle);
    let (alpha, beta) = (call.scalar(c"alpha", alpha, compute)?, call.scalar(c"beta", beta, compute)?);
    call.workspace(buffer, WORKSPACE)?;
    let a = a.reads(&mut call, &operands::A)?;
    let from = call.reads(c"matB", b.region())?;
    let to = call.scaled(c"matC", c.region(), beta)?;
    with_numbers!(compute.is_complex(), W => call.computes(move |data| {
        let (alpha, beta): (W, W) = (alpha.get(data), beta.get(data));
        let a: Vec<Sparse<W>> = a.get::<W>(data).into_iter().map(|a| a.applied(ops.0)).collect();
        let values = widen::<W>(data, from, b.kind);
        let mut result = vec![W::default(); c.region().size() / c.kind.size()];
        for index in 0..c.batch {
            if let Some(a) = a.get(index).or(a.first()) {
                multiply(a, (&b, &values, ops.1), (&c, &mut result), index, alpha);
            }
        }
        add_scaled(data, to, c.kind, beta, &result);
    }))
}

/// The operands of a product of dense matrices at the entries of a sparse one.
struct Sampled {
    ops: (Op, Op),
    a: Matrix,
    b: Matrix,
    c: SparseMatrix,
    compute: Type,
}

impl Sampled {
    fn of(
        (op_a, op_b): (cusparseOperation_t, cusparseOperation_t),
        a: cusparseDnMatDescr_t,
        b: cusparseDnMatDescr_t,
        c: cusparseSpMatDescr_t,
        compute: cudaDataType,
    ) -> Outcome<Sampled> {
        let (op_a, op_b) = (Op::of(op_a)?, Op::of(op_b)?);
        let (a, b, c, compute) = (dense::matrix(a)?, dense::matrix(b)?, sparse(c)?, Type::of(compute)?);
        let ((rows, inner), (of_b, columns)) = (a.size_of(op_a), b.size_of(op_b));
        let fits = |batch: usize| batch == 1 || batch == c.batch;
        if inner != of_b || (c.rows, c.columns) != (rows, columns) || !fits(a.batch) || !fits(b.batch) {
            return Err(INVALID_VALUE);
        }
        check_types(a.kind, b.kind, c.kind, compute)?;
        c.check_format(|format| matches!(format, Format::Csr | Format::Bsr { .. }))?;
        Ok(Sampled { ops: (op_a, op_b), a, b, c, compute })
    }
}

/// `cusparseSDDMM_bufferSize`.
pub(crate) fn sddmm_size(
    _: &Handle,
    op_a: cusparseOperation_t,
    op_b: cusparseOperation_t,
    _: *const c_void,
    a: cusparseDnMatDescr_t,
    b: cusparseDnMatDescr_t,
    _: *const c_void,
    c: cusparseSpMatDescr_t,
    compute: cudaDataType,
    _: cusparseAlg_t,
    size: *mut usize,
) -> Outcome {
    Sampled::of((op_a, op_b), a, b, c, compute)?;
    write(size, WORKSPACE)
}

/// `cusparseSDDMM_preprocess`. Nothing is kept for later products.
pub(crate) fn sddmm_preprocess(
    handle: &Handle,
    op_a: cusparseOperation_t,
    op_b: cusparseOperation_t,
    _: *const c_void,
    a: cusparseDnMatDescr_t,
    b: cusparseDnMatDescr_t,
    _: *const c_void,
    c: cusparseSpMatDescr_t,
    compute: cudaDataType,
    _: cusparseAlg_t,
    buffer: *mut c_void,
) -> Outcome {
    let product = Sampled::of((op_a, op_b), a, b, c, compute)?;
    let mut call = Call::of(handle);
    call.workspace(buffer, WORKSPACE)?;
    product.c.reads_positions(&mut call, &operands::C)?;
    call.computes(|_| ())
}

/// `cusparseSDDMM`: `c = alpha * op(a) * op(b) + beta * c` at the entries of `c`.
pub(crate) fn sddmm(
    handle: &Handle,
    op_a: cusparseOperation_t,
    op_b: cusparseOperation_t,
    alpha: *const c_void,
    a: cusparseDnMatDescr_t,
    b: cusparseDnMatDescr_t,
    beta: *const c_void,
    c: cusparseSpMatDescr_t,
    compute: cudaDataType,
    _: cusparseAlg_t,
    buffer: *mut c_void,
) -> Outcome {
    let Sampled { ops, a, b, c, compute } = Sampled::of((op_a, op_b), a, b, c, compute)?;
    let mut call = Call::of(handle);
    let (alpha, beta) = (call.scalar(c"alpha", alpha, compute)?, call.scalar(c"beta", beta, compute)?);
    call.workspace(buffer, WORKSPACE)?;
    let from_a = call.reads(c"matA", a.region())?;
    let from_b = call.reads(c"matB", b.region())?;
    let positions = c.reads_positions(&mut call, &operands::C)?;
    let (name, region) = c.values(&operands::C);
    let count = region.size() / c.kind.size();
    let to = call.scaled(name, region, beta)?;
    let inner = a.size_of(ops.0).1;
    with_numbers!(compute.is_complex(), W => call.computes(move |data| {
        let (alpha, beta): (W, W) = (alpha.get(data), beta.get(data));
        let (of_a, of_b) = (widen::<W>(data, from_a, a.kind), widen::<W>(data, from_b, b.kind));
        let patterns = positions.get(data);
        let mut result = vec![W::default(); count];
        for index in 0..c.batch {
            let Some(pattern) = patterns.get(index).or(patterns.first()) else { continue };
            let start = if count == c.length(2) { 0 } else { index * c.length(2) };
            for (row, column, entry) in pattern.entries() {
                let sum = (0..inner).fold(W::default(), |sum, k| {
                    sum + a.element(&of_a, ops.0, index, row, k) * b.element(&of_b, ops.1, index, k, column)
                });
                result[start + pattern.place(entry)] = alpha * sum;
            }
        }
        add_scaled(data, to, c.kind, beta, &result);
    }))
}
