//! `cublasLtMatrixTransform`: sums of matrices in other orders and types.

use super::descriptors::{Layout, TRANSFORM, transform};
use super::problem::Factor;
use super::product::Given;
use crate::arguments::{Call, Op};
use crate::elements::{load, store};
use crate::handle;
use crate::scalar::{Complex32, Complex64, DataType, Scalar};
use crate::status::{INVALID_VALUE, NOT_SUPPORTED, Outcome};
use crate::types::{cublasHandle_t, cublasStatus_t, cudaStream_t};
use cuarray_abi::CUstream;
use std::ffi::{CStr, c_int, c_void};

/// A matrix that is scaled.
#[derive(Clone, Copy)]
struct Term {
    name: &'static CStr,
    factor_name: &'static CStr,
    factor: *const c_void,
    address: u64,
    layout: *const c_void,
    operation: Op,
}

/// A term whose arguments are checked.
#[derive(Clone, Copy)]
struct Read<S> {
    factor: Given<S>,
    argument: cuarray_stream_work::Argument,
    layout: Layout,
    operation: Op,
}

fn read<S: Scalar>(
    call: &mut Call<'_>,
    term: Term,
    (factor, scale): (Factor, DataType),
    to: &Layout,
) -> Outcome<Option<Read<S>>> {
    if term.layout.is_null() && term.address == 0 {
        return Ok(None);
    }
    let layout = Layout::open(term.layout)?;
    let operation = term.operation;
    let is_same = operation.stored(layout.rows, layout.columns) == (to.rows, to.columns) && layout.count == to.count;
    if !is_same || layout.by_pointers {
        return Err(INVALID_VALUE);
    }
    if layout.data.is_complex() != S::IS_COMPLEX {
        return Err(NOT_SUPPORTED);
    }
    let factor = Given::<S>::read(call, term.factor_name, (factor, scale), term.factor, (1, 1, 0))?;
    if factor.is_zero() {
        return Ok(None);
    }
    let region = layout.region(term.address);
    let argument = match factor {
        Given::Known(_) => call.reads(term.name, region)?,
        Given::Device(..) => call.may_read(term.name, region)?,
    };
    Ok(Some(Read { factor, argument, layout, operation }))
}

fn enqueue<S: Scalar>(mut call: Call<'_>, factor: (Factor, DataType), terms: [Term; 2], c: u64, to: Layout) -> Outcome {
    let [a, b] = terms.map(|term| read::<S>(&mut call, term, factor, &to));
    let terms = [a?, b?];
    if to.rows == 0 || to.columns == 0 {
        return Ok(());
    }
    let result = call.writes(c"C", to.region(c))?;
    call.computes(move |data| {
        let bytes = data.take::<u8>(result);
        let mut sums = vec![S::default(); bytes.len() / to.data.size()];
        let (row_step, column_step) = to.steps();
        for term in terms.iter().flatten() {
            let factor = term.factor.numbers(data).at(0, 0);
            if factor.is_zero() {
                continue;
            }
            let values = load::<S>(term.layout.data, data.take::<u8>(term.argument));
            let (of_row, of_column) = match (term.layout.steps(), term.operation.swaps()) {
                (steps, false) => steps,
                ((row, column), true) => (column, row),
            };
            for item in 0..to.count {
                let (from, target) = (item * term.layout.part(), item * to.part());
                for (row, column) in (0..to.rows).flat_map(|row| (0..to.columns).map(move |column| (row, column))) {
                    let value = values[from + row * of_row + column * of_column];
                    sums[target + row * row_step + column * column_step] += factor * term.operation.element(value);
                }
            }
        }
        if to.data == DataType::I8 {
            let round = |sum: &mut S| {
                let value = num_traits::ToPrimitive::to_f64(&sum.re()).unwrap_or_default().round_ties_even();
                *sum = S::real(num_traits::NumCast::from(value).unwrap_or_default());
            };
            sums.iter_mut().for_each(round);
        }
        store(to.data, bytes, &sums);
    })
}

/// `cublasLtMatrixTransform`.
///
/// # Safety
/// The descriptors and the factors in host memory are null or valid.
pub unsafe extern "C" fn cublasLtMatrixTransform(
    _: c_int,
    handle: cublasHandle_t,
    descriptor: *const c_void,
    alpha: *const c_void,
    a: *const c_void,
    a_layout: *const c_void,
    beta: *const c_void,
    b: *const c_void,
    b_layout: *const c_void,
    c: *mut c_void,
    c_layout: *const c_void,
    stream: cudaStream_t,
) -> cublasStatus_t {
    cuarray_stream_work::guarded(c"cublasLtMatrixTransform", || {
        let handle = handle::find_or_adopt(handle)?;
        let values = TRANSFORM.open(descriptor)?;
        let number = |attribute: u32| values.get(attribute) as c_int;
        let factor = match number(transform::POINTER_MODE) {
            0 => Factor::Host,
            1 => Factor::Device,
            2..=4 => return Err(NOT_SUPPORTED),
            _ => return Err(INVALID_VALUE),
        };
        let to = Layout::open(c_layout)?;
        if to.by_pointers {
            return Err(NOT_SUPPORTED);
        }
        if to.count > 1 && to.stride == 0 {
            return Err(INVALID_VALUE);
        }
        let scale = DataType::of(number(transform::SCALE_TYPE))?;
        if to.data.is_complex() != scale.is_complex() {
            return Err(NOT_SUPPORTED);
        }
        let term = |name, factor_name, factor, address: *const c_void, layout, operation: u32| -> Outcome<Term> {
            let operation = Op::of(number(operation))?;
            Ok(Term { name, factor_name, factor, address: address.addr() as u64, layout, operation })
        };
        let terms = [
            term(c"A", c"alpha", alpha, a, a_layout, transform::TRANSA)?,
            term(c"B", c"beta", beta, b, b_layout, transform::TRANSB)?,
        ];
        let call = Call::in_stream(&handle, CUstream(stream.addr()));
        let (factor, c) = ((factor, scale), c.addr() as u64);
        match scale {
            DataType::F16 | DataType::F32 => enqueue::<f32>(call, factor, terms, c, to),
            DataType::F64 | DataType::I32 => enqueue::<f64>(call, factor, terms, c, to),
            DataType::C32 => enqueue::<Complex32>(call, factor, terms, c, to),
            DataType::C64 => enqueue::<Complex64>(call, factor, terms, c, to),
            _ => Err(NOT_SUPPORTED),
        }
    })
}
