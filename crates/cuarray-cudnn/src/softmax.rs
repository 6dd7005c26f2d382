//! Softmax and its gradient.

use crate::call::Call;
use crate::handle::Handle;
use crate::layout::Layout;
use crate::numbers::{Factors, Real, of_type};
use crate::status::{BAD_PARAM, Outcome};
use crate::tensor_descriptor::tensor;
use crate::types::*;
use std::ffi::{c_int, c_void};

/// The groups of values whose sum is 1. Group `(outer, inner)` has elements at `(outer * count + index) * inner_count + inner`.
#[derive(Clone, Copy, Debug)]
struct Groups {
    outer: usize,
    count: usize,
    inner: usize,
}

impl Groups {
    /// `cudnnSoftmaxMode_t`: all elements of an image, or the channels of each position.
    fn of(layout: &Layout, mode: cudnnSoftmaxMode_t) -> Outcome<Groups> {
        let product = |dims: &[usize]| dims.iter().product::<usize>();
        match mode {
            0 => Ok(Groups { outer: layout.dims[0], count: product(&layout.dims[1..]), inner: 1 }),
            1 => Ok(Groups { outer: layout.dims[0], count: layout.dims[1], inner: product(&layout.dims[2..]) }),
            _ => Err(BAD_PARAM),
        }
    }

    /// Calls a function with the places of each group.
    fn each(self, mut f: impl FnMut(&dyn Fn(usize) -> usize)) {
        for (outer, inner) in (0..self.outer).flat_map(|outer| (0..self.inner).map(move |inner| (outer, inner))) {
            f(&|index| (outer * self.count + index) * self.inner + inner);
        }
    }
}

/// `cudnnSoftmaxAlgorithm_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Algorithm {
    /// Without the largest value, so that large values overflow.
    Fast,
    Accurate,
    Log,
}

fn algorithm(number: c_int) -> Outcome<Algorithm> {
    match number {
        0 => Ok(Algorithm::Fast),
        1 => Ok(Algorithm::Accurate),
        2 => Ok(Algorithm::Log),
        _ => Err(BAD_PARAM),
    }
}

fn softmax<W: Real>(values: &mut [W], groups: Groups, algorithm: Algorithm) {
    groups.each(|place| {
        let largest = match algorithm {
            Algorithm::Fast => W::zero(),
            _ => (0..groups.count).fold(W::neg_infinity(), |most, index| most.max(values[place(index)])),
        };
        let sum: f64 = (0..groups.count).map(|index| (values[place(index)] - largest).exp().double()).sum();
        for index in 0..groups.count {
            let value = values[place(index)] - largest;
            values[place(index)] =
                if algorithm == Algorithm::Log { value - W::of(sum.ln()) } else { value.exp() / W::of(sum) };
        }
    });
}

fn gradient<W: Real>(y: &[W], dy: &mut [W], groups: Groups, algorithm: Algorithm) {
    groups.each(|place| {
        let weight = |index: usize| if algorithm == Algorithm::Log { 1.0 } else { y[place(index)].double() };
        let sum: f64 = (0..groups.count).map(|index| dy[place(index)].double() * weight(index)).sum();
        for index in 0..groups.count {
            let (y, dy) = (y[place(index)], &mut dy[place(index)]);
            *dy = if algorithm == Algorithm::Log { *dy - y.exp() * W::of(sum) } else { y * (*dy - W::of(sum)) };
        }
    });
}

/// `cudnnSoftmaxForward`.
pub(crate) fn forward(
    handle: &Handle,
    algo: cudnnSoftmaxAlgorithm_t,
    mode: cudnnSoftmaxMode_t,
    alpha: *const c_void,
    x_desc: cudnnTensorDescriptor_t,
    x: *const c_void,
    beta: *const c_void,
    y_desc: cudnnTensorDescriptor_t,
    y: *mut c_void,
) -> Outcome {
    let (algorithm, of_x, of_y) = (algorithm(algo)?, tensor(x_desc)?, tensor(y_desc)?);
    if !of_x.is_like(&of_y) {
        return Err(BAD_PARAM);
    }
    let groups = Groups::of(&of_x, mode)?;
    of_type!(of_x.kind, T => {
        let mut call = Call::of(handle);
        let x = call.reads(c"x", &of_x, x)?;
        let y = call.writes(c"y", &of_y, y, Factors::at(alpha, beta)?)?;
        call.computes(move |data| {
            let mut values = x.values::<T>(data);
            softmax(&mut values, groups, algorithm);
            y.store::<T>(data, &values);
        })
    })
}

/// `cudnnSoftmaxBackward`.
pub(crate) fn backward(
    handle: &Handle,
    algo: cudnnSoftmaxAlgorithm_t,
    mode: cudnnSoftmaxMode_t,
    alpha: *const c_void,
    y_desc: cudnnTensorDescriptor_t,
    y: *const c_void,
    dy_desc: cudnnTensorDescriptor_t,
    dy: *const c_void,
    beta: *const c_void,
    dx_desc: cudnnTensorDescriptor_t,
    dx: *mut c_void,
) -> Outcome {
    let (algorithm, of_y, of_dy, of_dx) = (algorithm(algo)?, tensor(y_desc)?, tensor(dy_desc)?, tensor(dx_desc)?);
    if ![&of_dy, &of_dx].iter().all(|each| each.is_like(&of_y)) {
        return Err(BAD_PARAM);
    }
    let groups = Groups::of(&of_y, mode)?;
    of_type!(of_y.kind, T => {
        let mut call = Call::of(handle);
        let (y, dy) = (call.reads(c"y", &of_y, y)?, call.reads(c"dy", &of_dy, dy)?);
        let dx = call.writes(c"dx", &of_dx, dx, Factors::at(alpha, beta)?)?;
        call.computes(move |data| {
            let (y, mut values) = (y.values::<T>(data), dy.values::<T>(data));
            gradient(&y, &mut values, groups, algorithm);
            dx.store::<T>(data, &values);
        })
    })
}
