//! Functions of a sparse and a dense vector.

use crate::call::{Call, Op, WORKSPACE};
use crate::dense::{Vector, vector};
use crate::handle::Handle;
use crate::numbers::{Type, update, update_both, widen, with_numbers};
use crate::sparse_vector::{SparseVector, sparse_vector};
use crate::status::{INVALID_VALUE, NOT_SUPPORTED, Outcome, write};
use crate::types::*;
use cuarray_stream_work::Argument;
use std::ffi::c_void;

/// The type in which a function without a type for its arithmetic computes.
fn compute_type(kind: Type) -> Outcome<Type> {
    match kind {
        Type::F32 | Type::F64 | Type::C32 | Type::C64 => Ok(kind),
        Type::F16 | Type::BF16 => Ok(Type::F32),
        Type::C16 | Type::CB16 => Ok(Type::C32),
        Type::I8 | Type::I32 => Err(NOT_SUPPORTED),
    }
}

/// The two vectors, which have a common size.
fn both(x: cusparseSpVecDescr_t, y: cusparseDnVecDescr_t) -> Outcome<(SparseVector, Vector)> {
    let (x, y) = (sparse_vector(x)?, vector(y)?);
    if x.size == y.size { Ok((x, y)) } else { Err(INVALID_VALUE) }
}

/// The two vectors, whose numbers also have a common type.
fn alike(x: cusparseSpVecDescr_t, y: cusparseDnVecDescr_t) -> Outcome<(SparseVector, Vector)> {
    let (x, y) = both(x, y)?;
    if x.kind == y.kind { Ok((x, y)) } else { Err(NOT_SUPPORTED) }
}

/// The indices are read by the kernel that finds the elements too. This argument has their name in findings.
fn reads_indices(call: &mut Call<'_>, x: &SparseVector) -> Outcome<Argument> {
    call.reads(c"vecX.indices", x.indices())
}

/// `cusparseAxpby`: `y = alpha * x + beta * y`.
pub(crate) fn axpby(
    handle: &Handle,
    alpha: *const c_void,
    x: cusparseSpVecDescr_t,
    beta: *const c_void,
    y: cusparseDnVecDescr_t,
) -> Outcome {
    let (x, y) = alike(x, y)?;
    let compute = compute_type(x.kind)?;
    let mut call = Call::of(handle);
    let (alpha, beta) = (call.scalar(c"alpha", alpha, compute)?, call.scalar(c"beta", beta, compute)?);
    let indices = reads_indices(&mut call, &x)?;
    let values = call.reads(c"vecX.values", x.region())?;
    let result = call.scaled(c"vecY", y.region(), beta)?;
    let function = call.name;
    with_numbers!(x.kind.is_complex(), W => call.computes(move |data| {
        let (a, b): (W, W) = (alpha.get(data), beta.get(data));
        let indices = crate::numbers::integers(data, indices, x.integers, x.base);
        let values = widen::<W>(data, values, x.kind);
        update::<W>(data, result, y.kind, |y| {
            // Without a factor the vector is not read: not a number does not stay one.
            y.iter_mut().for_each(|y| *y = if b == W::default() { b } else { *y * b });
            for (place, (index, value)) in indices.iter().zip(&values).enumerate() {
                let length = y.len();
                match y.get_mut(*index) {
                    Some(y) => *y += a * *value,
                    None => crate::call::tell_outside(function, c"vecX.indices", place, *index, length),
                }
            }
        });
    }))
}

/// `cusparseGather`: the values of `x` become the elements of `y` at its indices.
pub(crate) fn gather(handle: &Handle, y: cusparseDnVecDescr_t, x: cusparseSpVecDescr_t) -> Outcome {
    let (x, y) = alike(x, y)?;
    let mut call = Call::of(handle);
    reads_indices(&mut call, &x)?;
    let from = call.reads(c"vecY", x.elements(&y))?;
    let to = call.writes(c"vecX.values", x.region())?;
    call.computes(move |data| data.take::<u8>(to).copy_from_slice(data.take::<u8>(from)))
}

/// `cusparseScatter`: the elements of `y` at the indices of `x` become its values.
pub(crate) fn scatter(handle: &Handle, x: cusparseSpVecDescr_t, y: cusparseDnVecDescr_t) -> Outcome {
    let (x, y) = alike(x, y)?;
    let mut call = Call::of(handle);
    reads_indices(&mut call, &x)?;
    let from = call.reads(c"vecX.values", x.region())?;
    let to = call.writes(c"vecY", x.elements(&y))?;
    call.computes(move |data| data.take::<u8>(to).copy_from_slice(data.take::<u8>(from)))
}

/// `cusparseRot`: rotates the values of `x` and the elements of `y` at its indices.
pub(crate) fn rot(
    handle: &Handle,
    c: *const c_void,
    s: *const c_void,
    x: cusparseSpVecDescr_t,
    y: cusparseDnVecDescr_t,
) -> Outcome {
    let (x, y) = alike(x, y)?;
    let compute = compute_type(x.kind)?;
    let mut call = Call::of(handle);
    let (c, s) = (call.scalar(c"c_coeff", c, compute)?, call.scalar(c"s_coeff", s, compute)?);
    reads_indices(&mut call, &x)?;
    let values = call.updates(c"vecX.values", x.region())?;
    let elements = call.updates(c"vecY", x.elements(&y))?;
    with_numbers!(x.kind.is_complex(), W => call.computes(move |data| {
        let (c, s): (W, W) = (c.get(data), s.get(data));
        update_both::<W>(data, [values, elements], x.kind, |xs, ys| {
            for (x, y) in xs.iter_mut().zip(ys.iter_mut()) {
                (*x, *y) = (c * *x + s * *y, c * *y - s * *x);
            }
        });
    }))
}

/// The operands of the inner product, and the type of its result.
fn inner(
    op: cusparseOperation_t,
    x: cusparseSpVecDescr_t,
    y: cusparseDnVecDescr_t,
    compute: cudaDataType,
) -> Outcome<(Op, SparseVector, Vector, Type)> {
    let (op, (x, y), compute) = (Op::of(op)?, both(x, y)?, Type::of(compute)?);
    let is_supported = match (x.kind, y.kind) {
        (Type::I8, Type::I8) => matches!(compute, Type::I32 | Type::F32),
        (x, y) if x == y => compute == compute_type(x)?,
        (Type::F32, Type::C32) => compute == Type::C32,
        (Type::F64, Type::C64) => compute == Type::C64,
        _ => false,
    };
    if is_supported { Ok((op, x, y, compute)) } else { Err(NOT_SUPPORTED) }
}

/// `cusparseSpVV_bufferSize`.
pub(crate) fn spvv_size(
    _: &Handle,
    op: cusparseOperation_t,
    x: cusparseSpVecDescr_t,
    y: cusparseDnVecDescr_t,
    _: *const c_void,
    compute: cudaDataType,
    size: *mut usize,
) -> Outcome {
    inner(op, x, y, compute)?;
    write(size, WORKSPACE)
}

/// `cusparseSpVV`: the sum of the products of the values of `x` and the elements of `y` at its indices.
pub(crate) fn spvv(
    handle: &Handle,
    op: cusparseOperation_t,
    x: cusparseSpVecDescr_t,
    y: cusparseDnVecDescr_t,
    result: *mut c_void,
    compute: cudaDataType,
    buffer: *mut c_void,
) -> Outcome {
    let (op, x, y, compute) = inner(op, x, y, compute)?;
    let mut call = Call::of(handle);
    call.workspace(buffer, WORKSPACE)?;
    reads_indices(&mut call, &x)?;
    let values = call.reads(c"vecX.values", x.region())?;
    let elements = call.reads(c"vecY", x.elements(&y))?;
    with_numbers!(compute.is_complex(), W => call.returns_number::<W>(c"result", result, compute, move |data| {
        let (values, elements) = (widen::<W>(data, values, x.kind), widen::<W>(data, elements, y.kind));
        values.iter().zip(&elements).fold(W::default(), |sum, (x, y)| sum + op.value(*x) * *y)
    }))
}
