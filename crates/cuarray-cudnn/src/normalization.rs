//! Batch normalization and its gradients.

use crate::call::{Call, Input, Output};
use crate::elementwise::places;
use crate::handle::Handle;
use crate::layout::{Layout, packed};
use crate::numbers::{Element, Factors, Real, Type, of_type};
use crate::status::{BAD_PARAM, NULL_POINTER, Outcome};
use crate::tensor_descriptor::{describe, tensor};
use crate::types::*;
use cuarray_stream_work::Data;
use std::ffi::{CStr, c_void};

/// The sizes of the parameters: one for each element of an image, or one for each channel.
fn parameter_sizes(x: &Layout, mode: cudnnBatchNormMode_t) -> Outcome<Vec<usize>> {
    if !matches!(x.dims.len(), 4 | 5) {
        return Err(BAD_PARAM);
    }
    let size = |(axis, size): (usize, &usize)| match (axis, mode) {
        (0, _) => 1,
        (1, _) | (_, 0) => *size,
        _ => 1,
    };
    match mode {
        0..=2 => Ok(x.dims.iter().enumerate().map(size).collect()),
        _ => Err(BAD_PARAM),
    }
}

/// The type of the parameters.
fn parameter_type(kind: Type) -> Type {
    if kind == Type::Double { Type::Double } else { Type::Float }
}

/// `cudnnDeriveBNTensorDescriptor`.
pub(crate) fn derive(
    derived: cudnnTensorDescriptor_t,
    x_desc: cudnnTensorDescriptor_t,
    mode: cudnnBatchNormMode_t,
) -> Outcome {
    let x = tensor(x_desc)?;
    let dims = parameter_sizes(&x, mode)?;
    let strides = packed(&dims);
    describe(derived, Layout::new(parameter_type(x.kind), dims, strides)?)
}

/// The layouts of a call, and for each element of an image the place of its parameters.
#[derive(Clone, Debug)]
struct Layers {
    x: Layout,
    parameters: Layout,
}

impl Layers {
    fn of(
        mode: cudnnBatchNormMode_t,
        x: cudnnTensorDescriptor_t,
        others: &[cudnnTensorDescriptor_t],
        parameters: cudnnTensorDescriptor_t,
        epsilon: f64,
    ) -> Outcome<Layers> {
        let (x, parameters) = (tensor(x)?, tensor(parameters)?);
        for other in others {
            let other = tensor(*other)?;
            if !other.is_like(&x) {
                return Err(BAD_PARAM);
            }
        }
        let is_right = parameters.dims == parameter_sizes(&x, mode)? && parameters.kind == parameter_type(x.kind);
        // `CUDNN_BN_MIN_EPSILON` is 0. The comparison is false for NaN too.
        if is_right && epsilon >= 0.0 { Ok(Layers { x, parameters }) } else { Err(BAD_PARAM) }
    }

    /// The number of elements that share a parameter.
    fn sharing(&self) -> f64 {
        (self.x.count() / self.parameters.count()) as f64
    }

    /// For each parameter, the sum over its elements.
    fn sums(&self, places: &[usize], value: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut sums = vec![0.0; self.parameters.count()];
        places.iter().enumerate().for_each(|(index, place)| sums[*place] += value(index));
        sums
    }

    /// The means, and the variances of the elements.
    fn moments<W: Real>(&self, places: &[usize], x: &[W]) -> (Vec<f64>, Vec<f64>) {
        let count = self.sharing();
        let mut means = self.sums(places, |index| x[index].double());
        means.iter_mut().for_each(|mean| *mean /= count);
        let mut variances = self.sums(places, |index| (x[index].double() - means[places[index]]).powi(2));
        variances.iter_mut().for_each(|variance| *variance /= count);
        (means, variances)
    }

    fn places(&self) -> Vec<usize> {
        places(&self.parameters.dims, &self.x.dims)
    }
}

fn narrow<W: Real>(values: impl IntoIterator<Item = f64>) -> Vec<W> {
    values.into_iter().map(W::of).collect()
}

/// The values of a parameter, as doubles.
fn doubles<W: Real>(input: &Input, data: &mut Data<'_>) -> Vec<f64> {
    input.values::<W>(data).into_iter().map(Real::double).collect()
}

/// `cudnnBatchNormalizationForwardInference`.
pub(crate) fn inference(
    handle: &Handle,
    mode: cudnnBatchNormMode_t,
    alpha: *const c_void,
    beta: *const c_void,
    x_desc: cudnnTensorDescriptor_t,
    x: *const c_void,
    y_desc: cudnnTensorDescriptor_t,
    y: *mut c_void,
    parameters: cudnnTensorDescriptor_t,
    scale: *const c_void,
    bias: *const c_void,
    mean: *const c_void,
    variance: *const c_void,
    epsilon: f64,
) -> Outcome {
    let layers = Layers::of(mode, x_desc, &[y_desc], parameters, epsilon)?;
    let of_y = tensor(y_desc)?;
    of_type!(layers.x.kind, T => {
        type Wide = <T as Element>::Wide;
        let mut call = Call::of(handle);
        let x = call.reads(c"x", &layers.x, x)?;
        let mut parameter = |name, at| call.reads(name, &layers.parameters, at);
        let (scale, bias) = (parameter(c"bnScale", scale)?, parameter(c"bnBias", bias)?);
        let (mean, variance) = (parameter(c"estimatedMean", mean)?, parameter(c"estimatedVariance", variance)?);
        let y = call.writes(c"y", &of_y, y, Factors::at(alpha, beta)?)?;
        call.computes(move |data| {
            let mut values = x.values::<T>(data);
            let [scale, bias, mean, variance] = [&scale, &bias, &mean, &variance].map(|each| doubles::<Wide>(each, data));
            for (value, place) in values.iter_mut().zip(layers.places()) {
                let normal = (value.double() - mean[place]) / (variance[place] + epsilon).sqrt();
                *value = Real::of(scale[place] * normal + bias[place]);
            }
            y.store::<T>(data, &values);
        })
    })
}

/// The results of a training step besides y. The program may leave out each pair.
struct Statistics {
    factor: f64,
    running: [*mut c_void; 2],
    saved: [*mut c_void; 2],
}

type Pair<W> = Option<[Output<W>; 2]>;

/// Two results, or none.
fn pair<W: Real>(
    call: &mut Call<'_>,
    layout: &Layout,
    names: [&'static CStr; 2],
    at: [*mut c_void; 2],
    factors: Factors<W>,
) -> Outcome<Pair<W>> {
    if at.iter().all(|at| at.is_null()) {
        return Ok(None);
    }
    let [first, second] = names
        .into_iter()
        .zip(at)
        .map(|(name, at)| call.writes(name, layout, at, factors))
        .collect::<Outcome<Vec<_>>>()?
        .try_into()
        .map_err(|_| BAD_PARAM)?;
    Ok(Some([first, second]))
}

/// `cudnnBatchNormalizationForwardTraining`.
pub(crate) fn training(
    handle: &Handle,
    mode: cudnnBatchNormMode_t,
    alpha: *const c_void,
    beta: *const c_void,
    x_desc: cudnnTensorDescriptor_t,
    x: *const c_void,
    y_desc: cudnnTensorDescriptor_t,
    y: *mut c_void,
    parameters: cudnnTensorDescriptor_t,
    scale: *const c_void,
    bias: *const c_void,
    factor: f64,
    running_mean: *mut c_void,
    running_variance: *mut c_void,
    epsilon: f64,
    saved_mean: *mut c_void,
    saved_inverse: *mut c_void,
) -> Outcome {
    let layers = Layers::of(mode, x_desc, &[y_desc], parameters, epsilon)?;
    let of_y = tensor(y_desc)?;
    let statistics =
        Statistics { factor, running: [running_mean, running_variance], saved: [saved_mean, saved_inverse] };
    of_type!(layers.x.kind, T => {
        train::<T>(handle, layers, of_y, (alpha, beta), (x, y), (scale, bias), epsilon, statistics)
    })
}

fn train<T: Element>(
    handle: &Handle,
    layers: Layers,
    of_y: Layout,
    (alpha, beta): (*const c_void, *const c_void),
    (x, y): (*const c_void, *mut c_void),
    (scale, bias): (*const c_void, *const c_void),
    epsilon: f64,
    statistics: Statistics,
) -> Outcome {
    let Statistics { factor, running, saved } = statistics;
    let mut call = Call::of(handle);
    let of_parameters = layers.parameters.clone();
    let x = call.reads(c"x", &layers.x, x)?;
    let scale = call.reads(c"bnScale", &of_parameters, scale)?;
    let bias = call.reads(c"bnBias", &of_parameters, bias)?;
    let y = call.writes(c"y", &of_y, y, Factors::at(alpha, beta)?)?;
    let averages = Factors { alpha: T::Wide::of(factor), beta: T::Wide::of(1.0 - factor) };
    let names = [c"resultRunningMean", c"resultRunningVariance"];
    let running = pair(&mut call, &of_parameters, names, running, averages)?;
    let names = [c"resultSaveMean", c"resultSaveInvVariance"];
    let saved = pair(&mut call, &of_parameters, names, saved, Factors::result())?;
    call.computes(move |data| {
        let mut values = x.values::<T>(data);
        let (scale, bias) = (doubles::<T::Wide>(&scale, data), doubles::<T::Wide>(&bias, data));
        let places = layers.places();
        let (means, variances) = layers.moments(&places, &values);
        let inverses: Vec<f64> = variances.iter().map(|variance| 1.0 / (variance + epsilon).sqrt()).collect();
        for (value, place) in values.iter_mut().zip(&places) {
            let normal = (value.double() - means[*place]) * inverses[*place];
            *value = Real::of(scale[*place] * normal + bias[*place]);
        }
        y.store::<T>(data, &values);
        let count = layers.sharing();
        // The running variance is that of the population which the batch is a sample of.
        let unbiased = if count > 1.0 { count / (count - 1.0) } else { 1.0 };
        if let Some([mean, variance]) = &running {
            mean.store::<T::Wide>(data, &narrow(means.iter().copied()));
            variance.store::<T::Wide>(data, &narrow(variances.iter().map(|variance| variance * unbiased)));
        }
        if let Some([mean, inverse]) = &saved {
            mean.store::<T::Wide>(data, &narrow(means));
            inverse.store::<T::Wide>(data, &narrow(inverses));
        }
    })
}

/// `cudnnBatchNormalizationBackward`.
pub(crate) fn backward(
    handle: &Handle,
    mode: cudnnBatchNormMode_t,
    alpha_data: *const c_void,
    beta_data: *const c_void,
    alpha_parameters: *const c_void,
    beta_parameters: *const c_void,
    x_desc: cudnnTensorDescriptor_t,
    x: *const c_void,
    dy_desc: cudnnTensorDescriptor_t,
    dy: *const c_void,
    dx_desc: cudnnTensorDescriptor_t,
    dx: *mut c_void,
    parameters: cudnnTensorDescriptor_t,
    scale: *const c_void,
    d_scale: *mut c_void,
    d_bias: *mut c_void,
    epsilon: f64,
    saved_mean: *const c_void,
    saved_inverse: *const c_void,
) -> Outcome {
    let layers = Layers::of(mode, x_desc, &[dy_desc, dx_desc], parameters, epsilon)?;
    let (of_dy, of_dx) = (tensor(dy_desc)?, tensor(dx_desc)?);
    if saved_mean.is_null() != saved_inverse.is_null() {
        return Err(NULL_POINTER);
    }
    of_type!(layers.x.kind, T => {
        type Wide = <T as Element>::Wide;
        let of_parameters = layers.parameters.clone();
        let mut call = Call::of(handle);
        let (x, dy) = (call.reads(c"x", &layers.x, x)?, call.reads(c"dy", &of_dy, dy)?);
        let scale = call.reads(c"bnScale", &of_parameters, scale)?;
        let saved = match saved_mean.is_null() {
            true => None,
            false => Some((
                call.reads(c"savedMean", &of_parameters, saved_mean)?,
                call.reads(c"savedInvVariance", &of_parameters, saved_inverse)?,
            )),
        };
        let dx = call.writes(c"dx", &of_dx, dx, Factors::at(alpha_data, beta_data)?)?;
        let factors = Factors::<Wide>::at(alpha_parameters, beta_parameters)?;
        let d_scale = call.writes(c"dBnScaleResult", &of_parameters, d_scale, factors)?;
        let d_bias = call.writes(c"dBnBiasResult", &of_parameters, d_bias, factors)?;
        call.computes(move |data| {
            let (x, mut values) = (x.values::<T>(data), dy.values::<T>(data));
            let scale = doubles::<Wide>(&scale, data);
            let places = layers.places();
            let (means, inverses) = match &saved {
                Some((mean, inverse)) => (doubles::<Wide>(mean, data), doubles::<Wide>(inverse, data)),
                None => {
                    let (means, variances) = layers.moments(&places, &x);
                    (means, variances.iter().map(|variance| 1.0 / (variance + epsilon).sqrt()).collect())
                }
            };
            let normal = |index: usize| (x[index].double() - means[places[index]]) * inverses[places[index]];
            let bias_sums = layers.sums(&places, |index| values[index].double());
            let scale_sums = layers.sums(&places, |index| values[index].double() * normal(index));
            let count = layers.sharing();
            for (index, value) in values.iter_mut().enumerate() {
                let place = places[index];
                let rest = value.double() - (bias_sums[place] + normal(index) * scale_sums[place]) / count;
                *value = Real::of(scale[place] * inverses[place] * rest);
            }
            dx.store::<T>(data, &values);
            d_scale.store::<Wide>(data, &narrow(scale_sums));
            d_bias.store::<Wide>(data, &narrow(bias_sums));
        })
    })
}
