//! Convolutions and their gradients.

use crate::activation::Curve;
use crate::call::Call;
use crate::convolution_descriptor::Problem;
use crate::descriptors::activation;
use crate::handle::Handle;
use crate::numbers::{Element, Factors, Real, factor, of_type};
use crate::status::{BAD_PARAM, NOT_SUPPORTED, Outcome};
use crate::tensor_descriptor::tensor;
use crate::types::*;
use std::ffi::{c_int, c_void};

/// The result of a convolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Forward,
    /// The gradients of the inputs.
    Data,
    /// The gradients of the weights.
    Filter,
}

/// The bytes of the workspace of an algorithm that has one. They are lost in stream order, so a workspace of two streams is found.
pub(crate) const WORKSPACE: usize = 512;

impl Kind {
    /// The number of algorithms in the header.
    pub(crate) fn count(self) -> c_int {
        match self {
            Kind::Forward => 8,
            Kind::Data => 6,
            Kind::Filter => 7,
        }
    }

    /// The algorithms that compute, the preferred one first: those that the header calls implicit, precomputed and explicit products for
    /// results, and algorithms 0 and 1 for gradients.
    pub(crate) fn supported(self) -> &'static [c_int] {
        match self {
            Kind::Forward => &[1, 0, 2],
            Kind::Data | Kind::Filter => &[1, 0],
        }
    }

    /// The bytes of the workspace of an algorithm.
    pub(crate) fn workspace(self, algo: cudnnConvolutionAlgo_t) -> Outcome<usize> {
        if !(0..self.count()).contains(&algo) {
            return Err(BAD_PARAM);
        }
        if !self.supported().contains(&algo) {
            return Err(NOT_SUPPORTED);
        }
        Ok(if algo == 0 { 0 } else { WORKSPACE })
    }
}

/// Computes with factors. The addresses are those of x, w and y, of their gradients where the call has those.
fn compute<T: Element>(
    mut call: Call<'_>,
    kind: Kind,
    problem: Problem,
    [x, w, y]: [*mut c_void; 3],
    factors: Factors<T::Wide>,
) -> Outcome {
    let Problem { x: of_x, w: of_w, y: of_y, shape } = problem;
    match kind {
        Kind::Forward => {
            let (x, w) = (call.reads(c"x", &of_x, x)?, call.reads(c"w", &of_w, w)?);
            let y = call.writes(c"y", &of_y, y, factors)?;
            call.computes(move |data| {
                let result = shape.forward(&x.values::<T>(data), w.values::<T>(data));
                y.store::<T>(data, &result);
            })
        }
        Kind::Data => {
            let (w, dy) = (call.reads(c"w", &of_w, w)?, call.reads(c"dy", &of_y, y)?);
            let dx = call.writes(c"dx", &of_x, x, factors)?;
            call.computes(move |data| {
                let result = shape.backward_data(w.values::<T>(data), &dy.values::<T>(data));
                dx.store::<T>(data, &result);
            })
        }
        Kind::Filter => {
            let (x, dy) = (call.reads(c"x", &of_x, x)?, call.reads(c"dy", &of_y, y)?);
            let dw = call.writes(c"dw", &of_w, w, factors)?;
            call.computes(move |data| {
                let result = shape.backward_filter(&x.values::<T>(data), &dy.values::<T>(data));
                dw.store::<T>(data, &result);
            })
        }
    }
}

/// Computes once, to measure the time.
pub(crate) fn measured(
    handle: &Handle,
    kind: Kind,
    problem: Problem,
    at: [*mut c_void; 3],
    (workspace, given): (*mut c_void, usize),
) -> Outcome {
    let mut call = Call::of(handle);
    // A program may have no workspace, and then learns about the algorithm without one.
    let needed = kind.workspace(1)?;
    if given >= needed && !workspace.is_null() {
        call.workspace(workspace, given, needed)?;
    }
    of_type!(problem.x.kind, T => compute::<T>(call, kind, problem, at, Factors::result()))
}

/// Computes with an algorithm that the program chose.
fn chosen(
    handle: &Handle,
    kind: Kind,
    problem: Problem,
    at: [*mut c_void; 3],
    (algo, workspace, given): (cudnnConvolutionAlgo_t, *mut c_void, usize),
    (alpha, beta): (*const c_void, *const c_void),
) -> Outcome {
    let mut call = Call::of(handle);
    call.workspace(workspace, given, kind.workspace(algo)?)?;
    of_type!(problem.x.kind, T => compute::<T>(call, kind, problem, at, Factors::at(alpha, beta)?))
}

/// `cudnnConvolutionForward`.
pub(crate) fn forward(
    handle: &Handle,
    alpha: *const c_void,
    x_desc: cudnnTensorDescriptor_t,
    x: *const c_void,
    w_desc: cudnnFilterDescriptor_t,
    w: *const c_void,
    conv: cudnnConvolutionDescriptor_t,
    algo: cudnnConvolutionAlgo_t,
    workspace: *mut c_void,
    given: usize,
    beta: *const c_void,
    y_desc: cudnnTensorDescriptor_t,
    y: *mut c_void,
) -> Outcome {
    let problem = Problem::of(conv, x_desc, w_desc, y_desc)?;
    let at = [x.cast_mut(), w.cast_mut(), y];
    chosen(handle, Kind::Forward, problem, at, (algo, workspace, given), (alpha, beta))
}

/// `cudnnConvolutionBackwardData`.
pub(crate) fn backward_data(
    handle: &Handle,
    alpha: *const c_void,
    w_desc: cudnnFilterDescriptor_t,
    w: *const c_void,
    dy_desc: cudnnTensorDescriptor_t,
    dy: *const c_void,
    conv: cudnnConvolutionDescriptor_t,
    algo: cudnnConvolutionAlgo_t,
    workspace: *mut c_void,
    given: usize,
    beta: *const c_void,
    dx_desc: cudnnTensorDescriptor_t,
    dx: *mut c_void,
) -> Outcome {
    let problem = Problem::of(conv, dx_desc, w_desc, dy_desc)?;
    let at = [dx, w.cast_mut(), dy.cast_mut()];
    chosen(handle, Kind::Data, problem, at, (algo, workspace, given), (alpha, beta))
}

/// `cudnnConvolutionBackwardFilter`.
pub(crate) fn backward_filter(
    handle: &Handle,
    alpha: *const c_void,
    x_desc: cudnnTensorDescriptor_t,
    x: *const c_void,
    dy_desc: cudnnTensorDescriptor_t,
    dy: *const c_void,
    conv: cudnnConvolutionDescriptor_t,
    algo: cudnnConvolutionAlgo_t,
    workspace: *mut c_void,
    given: usize,
    beta: *const c_void,
    dw_desc: cudnnFilterDescriptor_t,
    dw: *mut c_void,
) -> Outcome {
    let problem = Problem::of(conv, x_desc, dw_desc, dy_desc)?;
    let at = [x.cast_mut(), dw, dy.cast_mut()];
    chosen(handle, Kind::Filter, problem, at, (algo, workspace, given), (alpha, beta))
}

/// `cudnnConvolutionBackwardBias`: sums over all but the channels.
pub(crate) fn backward_bias(
    handle: &Handle,
    alpha: *const c_void,
    dy_desc: cudnnTensorDescriptor_t,
    dy: *const c_void,
    beta: *const c_void,
    db_desc: cudnnTensorDescriptor_t,
    db: *mut c_void,
) -> Outcome {
    let (of_dy, of_db) = (tensor(dy_desc)?, tensor(db_desc)?);
    let channels = of_dy.dims[1];
    let is_bias = |(axis, size): (usize, &usize)| *size == if axis == 1 { channels } else { 1 };
    if of_db.dims.len() != of_dy.dims.len() || !of_db.dims.iter().enumerate().all(is_bias) || of_db.kind != of_dy.kind {
        return Err(BAD_PARAM);
    }
    let size: usize = of_dy.dims[2..].iter().product();
    of_type!(of_dy.kind, T => {
        let mut call = Call::of(handle);
        let dy = call.reads(c"dy", &of_dy, dy)?;
        let db = call.writes(c"db", &of_db, db, Factors::at(alpha, beta)?)?;
        call.computes(move |data| {
            let mut sums = vec![0.0; channels];
            for (index, values) in dy.values::<T>(data).chunks(size).enumerate() {
                sums[index % channels] += values.iter().map(|value| value.double()).sum::<f64>();
            }
            db.store::<T>(data, &sums.into_iter().map(Real::of).collect::<Vec<_>>());
        })
    })
}

/// `cudnnConvolutionBiasActivationForward`: `y = act(alpha1 * conv(x) + alpha2 * z + bias)`, where `act` is ReLU or the identity.
pub(crate) fn bias_activation(
    handle: &Handle,
    alpha1: *const c_void,
    x_desc: cudnnTensorDescriptor_t,
    x: *const c_void,
    w_desc: cudnnFilterDescriptor_t,
    w: *const c_void,
    conv: cudnnConvolutionDescriptor_t,
    algo: cudnnConvolutionAlgo_t,
    workspace: *mut c_void,
    given: usize,
    alpha2: *const c_void,
    z_desc: cudnnTensorDescriptor_t,
    z: *const c_void,
    bias_desc: cudnnTensorDescriptor_t,
    bias: *const c_void,
    activation_desc: cudnnActivationDescriptor_t,
    y_desc: cudnnTensorDescriptor_t,
    y: *mut c_void,
) -> Outcome {
    let Problem { x: of_x, w: of_w, y: of_y, shape } = Problem::of(conv, x_desc, w_desc, y_desc)?;
    let (of_z, of_bias, chosen) = (tensor(z_desc)?, tensor(bias_desc)?, activation(activation_desc)?);
    let is_bias = |(axis, size): (usize, &usize)| *size == if axis == 1 { of_y.dims[1] } else { 1 };
    if !of_z.is_like(&of_y) || of_bias.kind != of_y.kind {
        return Err(BAD_PARAM);
    }
    if of_bias.dims.len() != of_y.dims.len() || !of_bias.dims.iter().enumerate().all(is_bias) {
        return Err(BAD_PARAM);
    }
    // `CUDNN_ACTIVATION_RELU` and `CUDNN_ACTIVATION_IDENTITY`.
    if !matches!(chosen.mode, 1 | 5) {
        return Err(NOT_SUPPORTED);
    }
    let mut call = Call::of(handle);
    call.workspace(workspace, given, Kind::Forward.workspace(algo)?)?;
    of_type!(of_x.kind, T => {
        type Wide = <T as Element>::Wide;
        let (alpha1, alpha2): (Wide, Wide) = (factor(alpha1)?, factor(alpha2)?);
        let curve = Curve::of(chosen);
        let (x, w) = (call.reads(c"x", &of_x, x)?, call.reads(c"w", &of_w, w)?);
        // Values whose factor is 0 are not read.
        let z = if alpha2 == Wide::of(0.0) { None } else { Some(call.reads(c"z", &of_z, z)?) };
        let bias = call.reads(c"bias", &of_bias, bias)?;
        let y = call.writes(c"y", &of_y, y, Factors::result())?;
        let (channels, size) = (of_y.dims[1], of_y.dims[2..].iter().product::<usize>());
        call.computes(move |data| {
            let mut values = shape.forward(&x.values::<T>(data), w.values::<T>(data));
            let bias = bias.values::<T>(data);
            let z = z.as_ref().map(|z| z.values::<T>(data));
            for (index, value) in values.iter_mut().enumerate() {
                let before = z.as_ref().map_or(Wide::of(0.0), |z| alpha2 * z[index]);
                let sum = alpha1 * *value + before + bias[index / size % channels];
                *value = curve.map_or(sum, |curve| curve.value(sum));
            }
            y.store::<T>(data, &values);
        })
    })
}
