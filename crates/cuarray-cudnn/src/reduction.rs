//! Reductions of tensors.

use crate::call::Call;
use crate::descriptors::reduction;
use crate::elementwise::{fits, places};
use crate::handle::Handle;
use crate::numbers::{Factors, Real, of_type};
use crate::status::{BAD_PARAM, Outcome, write};
use crate::tensor_descriptor::tensor;
use crate::types::*;
use std::ffi::c_void;

/// `cudnnGetReductionIndicesSize`: no indices are returned.
pub(crate) fn indices_size(
    _: &Handle,
    descriptor: cudnnReduceTensorDescriptor_t,
    a: cudnnTensorDescriptor_t,
    c: cudnnTensorDescriptor_t,
    to: *mut usize,
) -> Outcome {
    reduction(descriptor)?;
    tensor(a)?;
    tensor(c)?;
    write(to, 0)
}

/// `cudnnGetReductionWorkspaceSize`.
pub(crate) fn workspace_size(
    handle: &Handle,
    descriptor: cudnnReduceTensorDescriptor_t,
    a: cudnnTensorDescriptor_t,
    c: cudnnTensorDescriptor_t,
    to: *mut usize,
) -> Outcome {
    indices_size(handle, descriptor, a, c, to)
}

/// The result of one more value. `propagates` says whether what is no number wins a comparison.
fn step(operation: cudnnReduceTensorOp_t, sum: f64, value: f64, propagates: bool) -> f64 {
    if matches!(operation, 2..=4) && propagates && (sum.is_nan() || value.is_nan()) {
        return f64::NAN;
    }
    match operation {
        1 => sum * value,
        2 => sum.min(value),
        3 => sum.max(value),
        4 => sum.max(value.abs()),
        6 => sum + value.abs(),
        7 => sum + value * value,
        8 if value == 0.0 => sum,
        8 => sum * value,
        _ => sum + value,
    }
}

/// The values of `count` places each, from all values and their places. `cudnnReduceTensorOp_t` says how they are combined.
pub(crate) fn reduced(
    operation: cudnnReduceTensorOp_t,
    propagates: bool,
    count: usize,
    all: impl ExactSizeIterator<Item = (f64, usize)>,
) -> impl Iterator<Item = f64> {
    let start = match operation {
        1 | 8 => 1.0,
        2 => f64::INFINITY,
        3 => f64::NEG_INFINITY,
        _ => 0.0,
    };
    let each = (all.len() / count) as f64;
    let mut results = vec![start; count];
    for (value, place) in all {
        results[place] = step(operation, results[place], value, propagates);
    }
    results.into_iter().map(move |result| match operation {
        5 => result / each,
        7 => result.sqrt(),
        _ => result,
    })
}

/// `cudnnReduceTensor`.
pub(crate) fn reduce(
    handle: &Handle,
    descriptor: cudnnReduceTensorDescriptor_t,
    _: *mut c_void,
    _: usize,
    _: *mut c_void,
    _: usize,
    alpha: *const c_void,
    a_desc: cudnnTensorDescriptor_t,
    a: *const c_void,
    beta: *const c_void,
    c_desc: cudnnTensorDescriptor_t,
    c: *mut c_void,
) -> Outcome {
    let (given, of_a, of_c) = (reduction(descriptor)?, tensor(a_desc)?, tensor(c_desc)?);
    if !fits(&of_c, &of_a) || of_a.kind != of_c.kind {
        return Err(BAD_PARAM);
    }
    of_type!(of_a.kind, T => {
        let mut call = Call::of(handle);
        let a = call.reads(c"A", &of_a, a)?;
        let c = call.writes(c"C", &of_c, c, Factors::at(alpha, beta)?)?;
        call.computes(move |data| {
            let values = a.values::<T>(data).into_iter().map(Real::double).zip(places(&of_c.dims, &of_a.dims));
            let results = reduced(given.operation, given.nan == 1, of_c.count(), values);
            c.store::<T>(data, &results.map(Real::of).collect::<Vec<_>>());
        })
    })
}
