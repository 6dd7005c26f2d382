//! Equations with a triangular sparse matrix.

use crate::call::{Call, Op, WORKSPACE, choice, values};
use crate::dense::{self, Matrix, Vector, vector};
use crate::handle::Handle;
use crate::numbers::{Number, Type, narrow, widen, with_numbers};
use crate::pattern::{Pattern, Sparse};
use crate::sparse_descriptor::sparse;
use crate::sparse_matrix::{self as operands, Format, SparseMatrix, Triangle};
use crate::status::{INVALID_VALUE, NOT_SUPPORTED, Outcome, write};
use crate::types::*;

use cuarray_stream_work::Objects;
use num_complex::Complex;
use std::ffi::c_void;
use std::sync::{Arc, Mutex, PoisonError};

/// The matrix of an analysis: its pattern, and its values in double precision, which later calls may replace.
type Kept = Arc<Mutex<Sparse<Complex<f64>>>>;

/// The target of `cusparseSpSVDescr_t` and `cusparseSpSMDescr_t`.
#[derive(Clone, Debug, Default)]
struct Solver {
    kept: Kept,
    /// The matrix that was analyzed.
    analyzed: Option<SparseMatrix>,
}

type Solvers = Objects<Solver, cusparseStatus_t>;

static VECTOR_SOLVERS: Solvers = Objects::new(0x6381_0000_0000, INVALID_VALUE);
static MATRIX_SOLVERS: Solvers = Objects::new(0x6382_0000_0000, INVALID_VALUE);

/// `cusparseSpSV_createDescr`.
pub(crate) fn create_for_vectors(to: *mut cusparseSpSVDescr_t) -> Outcome {
    if to.is_null() {
        return Err(INVALID_VALUE);
    }
    write(to, VECTOR_SOLVERS.add(Solver::default()))
}

/// `cusparseSpSM_createDescr`.
pub(crate) fn create_for_matrices(to: *mut cusparseSpSMDescr_t) -> Outcome {
    if to.is_null() {
        return Err(INVALID_VALUE);
    }
    write(to, MATRIX_SOLVERS.add(Solver::default()))
}

/// `cusparseSpSV_destroyDescr`.
pub(crate) fn destroy_for_vectors(descriptor: cusparseSpSVDescr_t) -> Outcome {
    VECTOR_SOLVERS.remove(descriptor).map(drop)
}

/// `cusparseSpSM_destroyDescr`.
pub(crate) fn destroy_for_matrices(descriptor: cusparseSpSMDescr_t) -> Outcome {
    MATRIX_SOLVERS.remove(descriptor).map(drop)
}

/// Solves the equations of a triangle of a matrix by rows, in place. Entries of the other triangle are ignored.
pub(crate) fn solve<W: Number>(a: &Sparse<W>, triangle: Triangle, x: &mut [W]) {
    let pattern = &a.pattern;
    let mut line = |row: usize| {
        let (mut sum, mut pivot) = (x[row], W::default());
        for entry in pattern.line(row) {
            let column = pattern.indices[entry];
            if column == row {
                pivot += a.values[entry];
            } else if (column > row) == triangle.is_upper {
                sum -= a.values[entry] * x[column];
            }
        }
        x[row] = if triangle.is_unit { sum } else { sum / pivot };
    };
    if triangle.is_upper {
        (0..pattern.rows).rev().for_each(&mut line);
    } else {
        (0..pattern.rows).for_each(&mut line);
    }
}

/// The triangle after an operation.
pub(crate) fn after(triangle: Triangle, op: Op) -> Triangle {
    Triangle { is_upper: triangle.is_upper != (op != Op::None), ..triangle }
}

fn check_matrix(a: &SparseMatrix, kinds: [Type; 2], compute: Type) -> Outcome {
    if a.rows != a.columns {
        return Err(INVALID_VALUE);
    }
    let is_supported = matches!(compute, Type::F32 | Type::F64 | Type::C32 | Type::C64)
        && a.kind == compute
        && kinds == [compute; 2]
        && a.batch == 1;
    if !is_supported {
        return Err(NOT_SUPPORTED);
    }
    a.check_format(|format| matches!(format, Format::Csr | Format::Csc | Format::Coo | Format::SlicedEll { .. }))
}

/// Enqueues the analysis of a matrix, which the solver keeps.
fn analyze(handle: &Handle, a: SparseMatrix, solvers: &Solvers, solver: usize, buffer: *mut c_void) -> Outcome {
    let kept = solvers.get(solver)?.kept;
    let mut call = Call::of(handle);
    call.workspace(buffer, WORKSPACE)?;
    let entries = a.reads(&mut call, &operands::A)?;
    call.computes(move |data| {
        *kept.lock().unwrap_or_else(PoisonError::into_inner) = entries.one(data).into_rows();
    })?;
    solvers.change(solver, |solver| {
        solver.analyzed = Some(a);
        Ok(())
    })
}

/// Enqueues the replacement of values.
fn replace(handle: &Handle, solver: Solver, new: *mut c_void, part: cusparseAlg_t) -> Outcome {
    let of_diagonal = choice(part)?;
    let a = solver.analyzed.ok_or(INVALID_VALUE)?;
    if !matches!(a.format, Format::Csr | Format::Csc | Format::Coo) {
        return Err(NOT_SUPPORTED);
    }
    let count = if of_diagonal { a.rows } else { a.count };
    let mut call = Call::of(handle);
    let new = call.reads(c"newValues", values(new.addr() as u64, count, a.kind))?;
    call.computes(move |data| {
        let new = widen::<Complex<f64>>(data, new, a.kind);
        let mut kept = solver.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let Sparse { pattern, values } = &mut *kept;
        for (row, column, entry) in pattern.entries() {
            let value = match (of_diagonal, row == column) {
                (true, true) => new.get(row),
                (true, false) => None,
                (false, _) => new.get(pattern.place(entry)),
            };
            if let Some(value) = value {
                values[entry] = *value;
            }
        }
    })
}

/// The kept matrix after an operation, by rows.
fn of_kept<W: Number>(kept: &Kept, op: Op) -> Sparse<W> {
    let kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
    let pattern: Pattern = kept.pattern.clone();
    let values = kept.values.iter().map(|value| W::of_parts(value.re, value.im)).collect();
    Sparse { pattern, values }.applied(op).into_rows()
}

/// The operands of equations for one vector.
fn for_vector(
    op: cusparseOperation_t,
    a: cusparseSpMatDescr_t,
    x: cusparseDnVecDescr_t,
    y: cusparseDnVecDescr_t,
    compute: cudaDataType,
) -> Outcome<(Op, SparseMatrix, Vector, Vector)> {
    let (op, a, x, y, compute) = (Op::of(op)?, sparse(a)?, vector(x)?, vector(y)?, Type::of(compute)?);
    if x.size != a.rows || y.size != a.rows {
        return Err(INVALID_VALUE);
    }
    check_matrix(&a, [x.kind, y.kind], compute)?;
    Ok((op, a, x, y))
}

/// `cusparseSpSV_bufferSize`.
pub(crate) fn spsv_size(
    _: &Handle,
    op: cusparseOperation_t,
    _: *const c_void,
    a: cusparseSpMatDescr_t,
    x: cusparseDnVecDescr_t,
    y: cusparseDnVecDescr_t,
    compute: cudaDataType,
    _: cusparseAlg_t,
    solver: cusparseSpSVDescr_t,
    size: *mut usize,
) -> Outcome {
    VECTOR_SOLVERS.get(solver)?;
    for_vector(op, a, x, y, compute)?;
    write(size, WORKSPACE)
}

/// `cusparseSpSV_analysis`. The solver keeps the matrix, whose values later calls may replace.
pub(crate) fn spsv_analysis(
    handle: &Handle,
    op: cusparseOperation_t,
    _: *const c_void,
    a: cusparseSpMatDescr_t,
    x: cusparseDnVecDescr_t,
    y: cusparseDnVecDescr_t,
    compute: cudaDataType,
    _: cusparseAlg_t,
    solver: cusparseSpSVDescr_t,
    buffer: *mut c_void,
) -> Outcome {
    let (_, a, _, _) = for_vector(op, a, x, y, compute)?;
    analyze(handle, a, &VECTOR_SOLVERS, solver, buffer)
}

/// `cusparseSpSV_updateMatrix`.
pub(crate) fn spsv_update(
    handle: &Handle,
    solver: cusparseSpSVDescr_t,
    new: *mut c_void,
    part: cusparseAlg_t,
) -> Outcome {
    replace(handle, VECTOR_SOLVERS.get(solver)?, new, part)
}

/// `cusparseSpSV_solve`: `op(a) * y = alpha * x`.
pub(crate) fn spsv_solve(
    handle: &Handle,
    op: cusparseOperation_t,
    alpha: *const c_void,
    a: cusparseSpMatDescr_t,
    x: cusparseDnVecDescr_t,
    y: cusparseDnVecDescr_t,
    compute: cudaDataType,
    _: cusparseAlg_t,
    solver: cusparseSpSVDescr_t,
) -> Outcome {
    let (op, a, x, y) = for_vector(op, a, x, y, compute)?;
    let solver = VECTOR_SOLVERS.get(solver)?;
    solver.analyzed.ok_or(INVALID_VALUE)?;
    let mut call = Call::of(handle);
    let alpha = call.scalar(c"alpha", alpha, a.kind)?;
    a.reads_positions(&mut call, &operands::A)?;
    let from = call.reads(c"vecX", x.region())?;
    let to = call.writes(c"vecY", y.region())?;
    with_numbers!(a.kind.is_complex(), W => call.computes(move |data| {
        let alpha: W = alpha.get(data);
        let mut values = widen::<W>(data, from, x.kind);
        values.iter_mut().for_each(|value| *value *= alpha);
        let matrix = of_kept(&solver.kept, op);
        if matrix.pattern.rows == values.len() {
            solve(&matrix, after(a.triangle, op), &mut values);
        }
        narrow(data, to, y.kind, &values);
    }))
}

/// The operands of equations for the columns of a matrix.
fn for_matrix(
    (op_a, op_b): (cusparseOperation_t, cusparseOperation_t),
    a: cusparseSpMatDescr_t,
    b: cusparseDnMatDescr_t,
    c: cusparseDnMatDescr_t,
    compute: cudaDataType,
) -> Outcome<((Op, Op), SparseMatrix, Matrix, Matrix)> {
    let ops = (Op::of(op_a)?, Op::of(op_b)?);
    let (a, b, c, compute) = (sparse(a)?, dense::matrix(b)?, dense::matrix(c)?, Type::of(compute)?);
    if b.size_of(ops.1) != (c.rows, c.columns) || c.rows != a.rows {
        return Err(INVALID_VALUE);
    }
    check_matrix(&a, [b.kind, c.kind], compute)?;
    if b.batch != 1 || c.batch != 1 {
        return Err(NOT_SUPPORTED);
    }
    Ok((ops, a, b, c))
}

/// `cusparseSpSM_bufferSize`.
pub(crate) fn spsm_size(
    _: &Handle,
    op_a: cusparseOperation_t,
    op_b: cusparseOperation_t,
    _: *const c_void,
    a: cusparseSpMatDescr_t,
    b: cusparseDnMatDescr_t,
    c: cusparseDnMatDescr_t,
    compute: cudaDataType,
    _: cusparseAlg_t,
    solver: cusparseSpSMDescr_t,
    size: *mut usize,
) -> Outcome {
    MATRIX_SOLVERS.get(solver)?;
    for_matrix((op_a, op_b), a, b, c, compute)?;
    write(size, WORKSPACE)
}

/// `cusparseSpSM_analysis`. The solver keeps the matrix, whose values later calls may replace.
pub(crate) fn spsm_analysis(
    handle: &Handle,
    op_a: cusparseOperation_t,
    op_b: cusparseOperation_t,
    _: *const c_void,
    a: cusparseSpMatDescr_t,
    b: cusparseDnMatDescr_t,
    c: cusparseDnMatDescr_t,
    compute: cudaDataType,
    _: cusparseAlg_t,
    solver: cusparseSpSMDescr_t,
    buffer: *mut c_void,
) -> Outcome {
    let (_, a, _, _) = for_matrix((op_a, op_b), a, b, c, compute)?;
    analyze(handle, a, &MATRIX_SOLVERS, solver, buffer)
}

/// `cusparseSpSM_updateMatrix`.
pub(crate) fn spsm_update(
    handle: &Handle,
    solver: cusparseSpSMDescr_t,
    new: *mut c_void,
    part: cusparseAlg_t,
) -> Outcome {
    replace(handle, MATRIX_SOLVERS.get(solver)?, new, part)
}

/// `cusparseSpSM_solve`: `op(a) * c = alpha * op(b)`.
pub(crate) fn spsm_solve(
    handle: &Handle,
    op_a: cusparseOperation_t,
    op_b: cusparseOperation_t,
    alpha: *const c_void,
    a: cusparseSpMatDescr_t,
    b: cusparseDnMatDescr_t,
    c: cusparseDnMatDescr_t,
    compute: cudaDataType,
    _: cusparseAlg_t,
    solver: cusparseSpSMDescr_t,
) -> Outcome {
    let (ops, a, b, c) = for_matrix((op_a, op_b), a, b, c, compute)?;
    let solver = MATRIX_SOLVERS.get(solver)?;
    solver.analyzed.ok_or(INVALID_VALUE)?;
    let mut call = Call::of(handle);
    let alpha = call.scalar(c"alpha", alpha, a.kind)?;
    a.reads_positions(&mut call, &operands::A)?;
    let from = call.reads(c"matB", b.region())?;
    let to = call.writes(c"matC", c.region())?;
    with_numbers!(a.kind.is_complex(), W => call.computes(move |data| {
        let alpha: W = alpha.get(data);
        let values = widen::<W>(data, from, b.kind);
        let matrix = of_kept(&solver.kept, ops.0);
        let triangle = after(a.triangle, ops.0);
        let mut result = vec![W::default(); c.rows * c.columns];
        for column in 0..c.columns {
            let mut x: Vec<W> =
                (0..c.rows).map(|row| alpha * b.element(&values, ops.1, 0, row, column)).collect();
            if matrix.pattern.rows == x.len() {
                solve(&matrix, triangle, &mut x);
            }
            x.into_iter().enumerate().for_each(|(row, value)| result[c.at(0, row, column)] = value);
        }
        narrow(data, to, c.kind, &result);
    }))
}
