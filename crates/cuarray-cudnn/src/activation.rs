//! Activations and their gradients.

use crate::call::Call;
use crate::descriptors::{Activation, activation};
use crate::handle::Handle;
use crate::numbers::{Factors, Real, of_type};
use crate::status::{BAD_PARAM, NOT_SUPPORTED, Outcome};
use crate::tensor_descriptor::tensor;
use crate::types::*;
use std::ffi::c_void;

/// `cudnnActivationMode_t` without the identity.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Curve<W> {
    Sigmoid,
    Relu,
    Tanh,
    ClippedRelu(W),
    Elu(W),
    Swish(W),
}

fn sigmoid<W: Real>(x: W) -> W {
    W::one() / (W::one() + (-x).exp())
}

impl<W: Real> Curve<W> {
    /// The curve of a descriptor; none for the identity.
    pub(crate) fn of(given: Activation) -> Option<Curve<W>> {
        let coefficient = W::of(given.coefficient);
        match given.mode {
            0 => Some(Curve::Sigmoid),
            1 => Some(Curve::Relu),
            2 => Some(Curve::Tanh),
            3 => Some(Curve::ClippedRelu(coefficient)),
            4 => Some(Curve::Elu(coefficient)),
            6 => Some(Curve::Swish(W::of(given.beta))),
            _ => None,
        }
    }

    /// The value at `x`. A comparison that keeps numbers keeps what is no number too.
    pub(crate) fn value(self, x: W) -> W {
        let zero = W::zero();
        match self {
            Curve::Sigmoid => sigmoid(x),
            Curve::Relu if x < zero => zero,
            Curve::Relu => x,
            Curve::Tanh => x.tanh(),
            Curve::ClippedRelu(_) if x < zero => zero,
            Curve::ClippedRelu(most) if x > most => most,
            Curve::ClippedRelu(_) => x,
            Curve::Elu(factor) if x < zero => factor * x.exp_m1(),
            Curve::Elu(_) => x,
            Curve::Swish(beta) => x * sigmoid(beta * x),
        }
    }

    /// The derivative at `x`, where the value is `y`.
    pub(crate) fn slope(self, x: W, y: W) -> W {
        let (zero, one) = (W::zero(), W::one());
        let step = |keeps: bool| if keeps { one } else { zero };
        match self {
            Curve::Sigmoid => y * (one - y),
            Curve::Relu => step(x > zero),
            Curve::Tanh => one - y * y,
            Curve::ClippedRelu(most) => step(x > zero && x < most),
            Curve::Elu(_) if x > zero => one,
            Curve::Elu(factor) => factor * x.exp(),
            Curve::Swish(beta) => {
                let part = sigmoid(beta * x);
                part + beta * x * part * (one - part)
            }
        }
    }
}

/// `cudnnActivationForward`.
pub(crate) fn forward(
    handle: &Handle,
    descriptor: cudnnActivationDescriptor_t,
    alpha: *const c_void,
    x_desc: cudnnTensorDescriptor_t,
    x: *const c_void,
    beta: *const c_void,
    y_desc: cudnnTensorDescriptor_t,
    y: *mut c_void,
) -> Outcome {
    let (given, of_x, of_y) = (activation(descriptor)?, tensor(x_desc)?, tensor(y_desc)?);
    if !of_x.is_like(&of_y) {
        return Err(BAD_PARAM);
    }
    of_type!(of_x.kind, T => {
        let curve = Curve::of(given).ok_or(NOT_SUPPORTED)?;
        let mut call = Call::of(handle);
        let x = call.reads(c"x", &of_x, x)?;
        let y = call.writes(c"y", &of_y, y, Factors::at(alpha, beta)?)?;
        call.computes(move |data| {
            let mut values = x.values::<T>(data);
            values.iter_mut().for_each(|value| *value = curve.value(*value));
            y.store::<T>(data, &values);
        })
    })
}

/// `cudnnActivationBackward`.
pub(crate) fn backward(
    handle: &Handle,
    descriptor: cudnnActivationDescriptor_t,
    alpha: *const c_void,
    y_desc: cudnnTensorDescriptor_t,
    y: *const c_void,
    dy_desc: cudnnTensorDescriptor_t,
    dy: *const c_void,
    x_desc: cudnnTensorDescriptor_t,
    x: *const c_void,
    beta: *const c_void,
    dx_desc: cudnnTensorDescriptor_t,
    dx: *mut c_void,
) -> Outcome {
    let given = activation(descriptor)?;
    let [of_y, of_dy, of_x, of_dx] = [y_desc, dy_desc, x_desc, dx_desc].map(tensor);
    let (of_y, of_dy, of_x, of_dx) = (of_y?, of_dy?, of_x?, of_dx?);
    if ![&of_dy, &of_x, &of_dx].iter().all(|each| each.is_like(&of_y)) {
        return Err(BAD_PARAM);
    }
    of_type!(of_x.kind, T => {
        let curve = Curve::of(given).ok_or(NOT_SUPPORTED)?;
        let mut call = Call::of(handle);
        let (y, dy) = (call.reads(c"y", &of_y, y)?, call.reads(c"dy", &of_dy, dy)?);
        let x = call.reads(c"x", &of_x, x)?;
        let dx = call.writes(c"dx", &of_dx, dx, Factors::at(alpha, beta)?)?;
        call.computes(move |data| {
            let (y, mut values, x) = (y.values::<T>(data), dy.values::<T>(data), x.values::<T>(data));
            for (value, (x, y)) in values.iter_mut().zip(x.iter().zip(&y)) {
                *value *= curve.slope(*x, *y);
            }
            dx.store::<T>(data, &values);
        })
    })
}
