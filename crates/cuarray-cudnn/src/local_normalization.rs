//! Normalization by the neighbouring channels (LRN), its gradient and its descriptor.

use crate::call::Call;
use crate::descriptor_table::descriptors;
use crate::handle::Handle;
use crate::layout::Layout;
use crate::numbers::{Element, Factors, Real, of_type};
use crate::status::{BAD_PARAM, NULL_POINTER, Outcome, write};
use crate::tensor_descriptor::tensor;
use crate::types::*;
use std::ffi::{c_uint, c_void};

/// The largest window, `CUDNN_LRN_MAX_N`.
const LARGEST_WINDOW: usize = 16;
/// The smallest bias, `CUDNN_LRN_MIN_K`.
const SMALLEST_BIAS: f64 = 1e-5;
/// The smallest exponent, `CUDNN_LRN_MIN_BETA`.
const SMALLEST_EXPONENT: f64 = 0.01;

/// The numbers of a descriptor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Normalization {
    /// The channels of a window.
    window: usize,
    alpha: f64,
    /// The exponent.
    beta: f64,
    /// The bias of the sum of squares.
    k: f64,
}

/// The numbers of a descriptor that was not set, as documented.
const DEFAULT: Normalization = Normalization { window: 5, alpha: 1e-4, beta: 0.75, k: 2.0 };

descriptors!(LocalNormalization NORMALIZATIONS: Normalization = DEFAULT, create destroy);

/// `cudnnSetLRNDescriptor`.
pub(crate) fn set(number: cudnnLRNDescriptor_t, n: c_uint, alpha: f64, beta: f64, k: f64) -> Outcome {
    let window = n as usize;
    // The comparisons are false for NaN too.
    let is_right = (1..=LARGEST_WINDOW).contains(&window) && beta >= SMALLEST_EXPONENT && k >= SMALLEST_BIAS;
    if number == 0 {
        return Err(NULL_POINTER);
    }
    if !is_right || alpha.is_nan() {
        return Err(BAD_PARAM);
    }
    NORMALIZATIONS.set(number, Normalization { window, alpha, beta, k })
}

/// `cudnnGetLRNDescriptor`.
pub(crate) fn get(
    number: cudnnLRNDescriptor_t,
    n: *mut c_uint,
    alpha: *mut f64,
    beta: *mut f64,
    k: *mut f64,
) -> Outcome {
    let known = NORMALIZATIONS.get(number)?;
    write(n, known.window as c_uint)?;
    write(alpha, known.alpha)?;
    write(beta, known.beta)?;
    write(k, known.k)
}

/// A normalization of images: its numbers, and the sizes of an image.
#[derive(Clone, Copy, Debug)]
struct Channels {
    normalization: Normalization,
    channels: usize,
    /// The elements of a channel.
    size: usize,
}

impl Channels {
    /// Checks the arguments of a call. Tensors are alike.
    fn of(normalization: Normalization, mode: cudnnLRNMode_t, tensors: &[&Layout]) -> Outcome<Channels> {
        let [first, others @ ..] = tensors else { return Err(BAD_PARAM) };
        // `CUDNN_LRN_CROSS_CHANNEL_DIM1` is the only mode.
        if mode != 0 || !matches!(first.dims.len(), 4 | 5) || others.iter().any(|other| !other.is_like(first)) {
            return Err(BAD_PARAM);
        }
        Ok(Channels { normalization, channels: first.dims[1], size: first.dims[2..].iter().product() })
    }

    /// Replaces the values of each place, which lie in all channels, by results of a function.
    fn each(&self, count: usize, mut f: impl FnMut(&dyn Fn(usize) -> usize)) {
        let image = self.channels * self.size;
        for start in (0..count / image).map(|index| index * image) {
            (0..self.size).for_each(|place| f(&|channel| start + channel * self.size + place));
        }
    }

    /// The channels of the window around a channel. An even window reaches further ahead.
    fn window(&self, channel: usize) -> std::ops::Range<usize> {
        let behind = (self.normalization.window - 1) / 2;
        let ahead = self.normalization.window - behind - 1;
        channel.saturating_sub(behind)..(channel + ahead + 1).min(self.channels)
    }

    /// The biased sum of the squares in the window of a channel.
    fn sum<R: Real>(&self, x: &[R], at: &dyn Fn(usize) -> usize, channel: usize) -> f64 {
        let Normalization { window, alpha, k, .. } = self.normalization;
        let squares: f64 = self.window(channel).map(|other| x[at(other)].double().powi(2)).sum();
        k + alpha / window as f64 * squares
    }

    fn forward<R: Real>(&self, x: &[R]) -> Vec<R> {
        let mut y = vec![R::zero(); x.len()];
        self.each(x.len(), |at| {
            for channel in 0..self.channels {
                let factor = self.sum(x, at, channel).powf(-self.normalization.beta);
                y[at(channel)] = R::of(x[at(channel)].double() * factor);
            }
        });
        y
    }

    fn backward<R: Real>(&self, x: &[R], dy: &[R]) -> Vec<R> {
        let Normalization { window, alpha, beta, .. } = self.normalization;
        let mut dx = vec![R::zero(); x.len()];
        self.each(x.len(), |at| {
            let sums: Vec<f64> = (0..self.channels).map(|channel| self.sum(x, at, channel)).collect();
            let mut gradients: Vec<f64> =
                (0..self.channels).map(|channel| dy[at(channel)].double() * sums[channel].powf(-beta)).collect();
            for channel in 0..self.channels {
                let (value, slope) = (x[at(channel)].double(), dy[at(channel)].double());
                let shared = 2.0 * alpha * beta / window as f64 * slope * value * sums[channel].powf(-beta - 1.0);
                self.window(channel).for_each(|other| gradients[other] -= shared * x[at(other)].double());
            }
            gradients.into_iter().enumerate().for_each(|(channel, gradient)| dx[at(channel)] = R::of(gradient));
        });
        dx
    }
}

/// `cudnnLRNCrossChannelForward`.
pub(crate) fn forward(
    handle: &Handle,
    descriptor: cudnnLRNDescriptor_t,
    mode: cudnnLRNMode_t,
    alpha: *const c_void,
    x_desc: cudnnTensorDescriptor_t,
    x: *const c_void,
    beta: *const c_void,
    y_desc: cudnnTensorDescriptor_t,
    y: *mut c_void,
) -> Outcome {
    let (of_x, of_y) = (tensor(x_desc)?, tensor(y_desc)?);
    let channels = Channels::of(NORMALIZATIONS.get(descriptor)?, mode, &[&of_x, &of_y])?;
    of_type!(of_x.kind, T => {
        let mut call = Call::of(handle);
        let x = call.reads(c"x", &of_x, x)?;
        let y = call.writes(c"y", &of_y, y, Factors::at(alpha, beta)?)?;
        call.computes(move |data| {
            let result = channels.forward::<<T as Element>::Wide>(&x.values::<T>(data));
            y.store::<T>(data, &result);
        })
    })
}

/// `cudnnLRNCrossChannelBackward`.
pub(crate) fn backward(
    handle: &Handle,
    descriptor: cudnnLRNDescriptor_t,
    mode: cudnnLRNMode_t,
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
    let (of_y, of_dy, of_x, of_dx) = (tensor(y_desc)?, tensor(dy_desc)?, tensor(x_desc)?, tensor(dx_desc)?);
    let channels = Channels::of(NORMALIZATIONS.get(descriptor)?, mode, &[&of_x, &of_y, &of_dy, &of_dx])?;
    of_type!(of_x.kind, T => {
        let mut call = Call::of(handle);
        // The results are arguments, so the gradient reads them too.
        call.reads(c"y", &of_y, y)?;
        let (dy, x) = (call.reads(c"dy", &of_dy, dy)?, call.reads(c"x", &of_x, x)?);
        let dx = call.writes(c"dx", &of_dx, dx, Factors::at(alpha, beta)?)?;
        call.computes(move |data| {
            let result = channels.backward::<<T as Element>::Wide>(&x.values::<T>(data), &dy.values::<T>(data));
            dx.store::<T>(data, &result);
        })
    })
}

#[cfg(test)]
mod tests {
    use super::{Channels, Normalization};

    #[test]
    fn gradient_is_the_slope_of_the_result() {
        for window in 1..=5 {
            let normalization = Normalization { window, alpha: 0.7, beta: 0.75, k: 1.5 };
            let channels = Channels { normalization, channels: 4, size: 2 };
            let x: Vec<f64> = (0..16).map(|index| f64::from(index * 7 % 5) - 1.5).collect();
            let dy: Vec<f64> = (0..16).map(|index| f64::from(index * 3 % 7) - 2.0).collect();
            let loss = |x: &[f64]| channels.forward(x).iter().zip(&dy).map(|(y, dy)| y * dy).sum::<f64>();
            for (index, gradient) in channels.backward(&x, &dy).into_iter().enumerate() {
                let moved = |step: f64| {
                    let mut x = x.clone();
                    x[index] += step;
                    loss(&x)
                };
                let slope = (moved(1e-6) - moved(-1e-6)) / 2e-6;
                assert!((gradient - slope).abs() < 1e-8, "{window} {index}: {gradient} {slope}");
            }
        }
    }
}
