//! Pooling, its gradient, and its descriptors.

use crate::call::Call;
use crate::descriptor_table::descriptors;
use crate::descriptors::check;
use crate::handle::Handle;
use crate::layout::Layout;
use crate::numbers::{Factors, Real, of_type};
use crate::status::{BAD_PARAM, NOT_SUPPORTED, NULL_POINTER, Outcome, write};
use crate::tensor_descriptor::{int, sizes, tell, tensor};
use crate::types::*;
use std::ffi::{c_int, c_void};

/// A pooling: one number for each spatial dimension.
#[derive(Clone, Debug)]
struct Pooling {
    mode: cudnnPoolingMode_t,
    nan: cudnnNanPropagation_t,
    window: Vec<usize>,
    pad: Vec<usize>,
    stride: Vec<usize>,
}

descriptors!(Pooling POOLINGS: Option<Pooling> = None, create destroy);

/// `cudnnSetPooling2dDescriptor`.
pub(crate) fn set_2d(
    number: cudnnPoolingDescriptor_t,
    mode: cudnnPoolingMode_t,
    nan: cudnnNanPropagation_t,
    window_h: c_int,
    window_w: c_int,
    pad_h: c_int,
    pad_w: c_int,
    stride_h: c_int,
    stride_w: c_int,
) -> Outcome {
    let (window, pad, stride) = ([window_h, window_w], [pad_h, pad_w], [stride_h, stride_w]);
    set_nd(number, mode, nan, 2, window.as_ptr(), pad.as_ptr(), stride.as_ptr())
}

/// `cudnnSetPoolingNdDescriptor`.
pub(crate) fn set_nd(
    number: cudnnPoolingDescriptor_t,
    mode: cudnnPoolingMode_t,
    nan: cudnnNanPropagation_t,
    dimensions: c_int,
    window: *const c_int,
    pad: *const c_int,
    stride: *const c_int,
) -> Outcome {
    check(mode, 3)?;
    check(nan, 1)?;
    if dimensions < 1 {
        return Err(BAD_PARAM);
    }
    if dimensions > 3 {
        return Err(NOT_SUPPORTED);
    }
    let count = dimensions.unsigned_abs() as usize;
    let (window, pad, stride) = (sizes(window, count)?, sizes(pad, count)?, sizes(stride, count)?);
    if window.iter().chain(&stride).any(|size| *size == 0) || number == 0 {
        return Err(if number == 0 { NULL_POINTER } else { BAD_PARAM });
    }
    // A window in the padding alone would have no value.
    if pad.iter().zip(&window).any(|(pad, window)| pad >= window) {
        return Err(BAD_PARAM);
    }
    POOLINGS.set(number, Pooling { mode, nan, window, pad, stride })
}

/// `cudnnGetPooling2dDescriptor`.
pub(crate) fn get_2d(
    number: cudnnPoolingDescriptor_t,
    mode: *mut cudnnPoolingMode_t,
    nan: *mut cudnnNanPropagation_t,
    window_h: *mut c_int,
    window_w: *mut c_int,
    pad_h: *mut c_int,
    pad_w: *mut c_int,
    stride_h: *mut c_int,
    stride_w: *mut c_int,
) -> Outcome {
    let known = POOLINGS.described(number)?;
    if known.window.len() != 2 {
        return Err(BAD_PARAM);
    }
    write(mode, known.mode)?;
    write(nan, known.nan)?;
    let values = known.window.iter().chain(&known.pad).chain(&known.stride);
    let places = [window_h, window_w, pad_h, pad_w, stride_h, stride_w];
    places.into_iter().zip(values).try_for_each(|(to, value)| write(to, int(*value)))
}

/// `cudnnGetPoolingNdDescriptor`.
pub(crate) fn get_nd(
    number: cudnnPoolingDescriptor_t,
    requested: c_int,
    mode: *mut cudnnPoolingMode_t,
    nan: *mut cudnnNanPropagation_t,
    dimensions: *mut c_int,
    window: *mut c_int,
    pad: *mut c_int,
    stride: *mut c_int,
) -> Outcome {
    let known = POOLINGS.described(number)?;
    let requested = usize::try_from(requested).map_err(|_| BAD_PARAM)?;
    write(mode, known.mode)?;
    write(nan, known.nan)?;
    write(dimensions, int(known.window.len()))?;
    tell(window, &known.window, requested)?;
    tell(pad, &known.pad, requested)?;
    tell(stride, &known.stride, requested)
}

/// The sizes of the results.
fn output_sizes(pooling: &Pooling, x: &Layout) -> Outcome<Vec<usize>> {
    if x.dims.len() != pooling.window.len() + 2 {
        return Err(BAD_PARAM);
    }
    let size = |axis: usize| {
        let padded = pooling.pad[axis].checked_mul(2)?.checked_add(x.dims[axis + 2])?;
        Some(padded.checked_sub(pooling.window[axis])? / pooling.stride[axis] + 1)
    };
    let channels = x.dims[..2].iter().map(|size| Some(*size));
    channels.chain((0..pooling.window.len()).map(size)).collect::<Option<_>>().ok_or(BAD_PARAM)
}

/// `cudnnGetPoolingNdForwardOutputDim`.
pub(crate) fn output_nd(
    number: cudnnPoolingDescriptor_t,
    x_desc: cudnnTensorDescriptor_t,
    dimensions: c_int,
    to: *mut c_int,
) -> Outcome {
    let sizes = output_sizes(&POOLINGS.described(number)?, &tensor(x_desc)?)?;
    if dimensions != int(sizes.len()) {
        return Err(BAD_PARAM);
    }
    tell(to, &sizes, sizes.len())
}

/// `cudnnGetPooling2dForwardOutputDim`.
pub(crate) fn output_2d(
    number: cudnnPoolingDescriptor_t,
    x_desc: cudnnTensorDescriptor_t,
    n: *mut c_int,
    c: *mut c_int,
    h: *mut c_int,
    w: *mut c_int,
) -> Outcome {
    let sizes = output_sizes(&POOLINGS.described(number)?, &tensor(x_desc)?)?;
    if sizes.len() != 4 {
        return Err(BAD_PARAM);
    }
    [n, c, h, w].into_iter().zip(sizes).try_for_each(|(to, size)| write(to, int(size)))
}

/// A pooling of an image: the places of each window that lie in the image.
#[derive(Clone, Debug)]
struct Windows {
    pooling: Pooling,
    input: Vec<usize>,
    output: Vec<usize>,
}

impl Windows {
    fn of(pooling: Pooling, x: &Layout, y: &Layout) -> Outcome<Windows> {
        if output_sizes(&pooling, x)? != y.dims || x.kind != y.kind {
            return Err(BAD_PARAM);
        }
        Ok(Windows { pooling, input: x.dims[2..].to_vec(), output: y.dims[2..].to_vec() })
    }

    /// The places of the window of an output, in an image.
    fn places(&self, output: usize) -> Vec<usize> {
        let (mut places, mut rest) = (vec![0], output);
        let mut outputs = vec![0; self.output.len()];
        for axis in (0..outputs.len()).rev() {
            (outputs[axis], rest) = (rest % self.output[axis], rest / self.output[axis]);
        }
        for (axis, out) in outputs.into_iter().enumerate() {
            let start = out * self.pooling.stride[axis];
            let end = (start + self.pooling.window[axis]).saturating_sub(self.pooling.pad[axis]);
            let inside = start.saturating_sub(self.pooling.pad[axis])..end.min(self.input[axis]);
            let next = |place: &usize| {
                let line = place * self.input[axis];
                inside.clone().map(move |at| line + at)
            };
            places = places.iter().flat_map(next).collect();
        }
        places
    }

    fn is_largest(&self) -> bool {
        matches!(self.pooling.mode, 0 | 3)
    }

    /// The divisor of an average, of the window with its padding or without.
    fn divisor<R: Real>(&self, places: usize) -> R {
        let whole: usize = self.pooling.window.iter().product();
        R::of(if self.pooling.mode == 1 { whole } else { places } as f64)
    }

    /// The place of the largest value, the first one of equal ones. A NaN is the largest, or does not count, as the program chose.
    fn largest<R: Real>(&self, places: &[usize], x: &[R]) -> Option<usize> {
        let propagates = self.pooling.nan == 1;
        let mut best: Option<usize> = None;
        for place in places {
            let value = x[*place];
            let wins = match best {
                None => true,
                Some(best) if x[best].is_nan() => !propagates && !value.is_nan(),
                Some(best) => value > x[best] || (propagates && value.is_nan()),
            };
            best = if wins { Some(*place) } else { best };
        }
        best
    }

    /// Calls a function with the number of each output, its image, and the places of its window.
    fn each(&self, images: usize, mut f: impl FnMut(usize, usize, &[usize])) {
        let (size, outputs) = (self.input.iter().product::<usize>(), self.output.iter().product::<usize>());
        for output in 0..outputs {
            let places = self.places(output);
            (0..images).for_each(|image| f(image * outputs + output, image * size, &places));
        }
    }

    fn forward<R: Real>(&self, x: &[R], images: usize) -> Vec<R> {
        let mut y = vec![R::zero(); images * self.output.iter().product::<usize>()];
        self.each(images, |output, start, places| {
            let image = &x[start..];
            y[output] = if self.is_largest() {
                self.largest(places, image).map_or(R::zero(), |place| image[place])
            } else {
                R::of(places.iter().map(|place| image[*place].double()).sum()) / self.divisor(places.len())
            };
        });
        y
    }

    fn backward<R: Real>(&self, x: &[R], dy: &[R], images: usize) -> Vec<R> {
        let mut dx = vec![R::zero(); x.len()];
        self.each(images, |output, start, places| {
            if self.is_largest() {
                if let Some(place) = self.largest(places, &x[start..]) {
                    dx[start + place] += dy[output];
                }
            } else {
                let part = dy[output] / self.divisor(places.len());
                places.iter().for_each(|place| dx[start + place] += part);
            }
        });
        dx
    }
}

/// `cudnnPoolingForward`.
pub(crate) fn forward(
    handle: &Handle,
    descriptor: cudnnPoolingDescriptor_t,
    alpha: *const c_void,
    x_desc: cudnnTensorDescriptor_t,
    x: *const c_void,
    beta: *const c_void,
    y_desc: cudnnTensorDescriptor_t,
    y: *mut c_void,
) -> Outcome {
    let (of_x, of_y) = (tensor(x_desc)?, tensor(y_desc)?);
    let windows = Windows::of(POOLINGS.described(descriptor)?, &of_x, &of_y)?;
    let images = of_x.dims[0] * of_x.dims[1];
    of_type!(of_x.kind, T => {
        let mut call = Call::of(handle);
        let x = call.reads(c"x", &of_x, x)?;
        let y = call.writes(c"y", &of_y, y, Factors::at(alpha, beta)?)?;
        call.computes(move |data| {
            let result = windows.forward(&x.values::<T>(data), images);
            y.store::<T>(data, &result);
        })
    })
}

/// `cudnnPoolingBackward`.
pub(crate) fn backward(
    handle: &Handle,
    descriptor: cudnnPoolingDescriptor_t,
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
    let [of_y, of_dy, of_x, of_dx] = [y_desc, dy_desc, x_desc, dx_desc].map(tensor);
    let (of_y, of_dy, of_x, of_dx) = (of_y?, of_dy?, of_x?, of_dx?);
    if !of_y.is_like(&of_dy) || !of_x.is_like(&of_dx) {
        return Err(BAD_PARAM);
    }
    let windows = Windows::of(POOLINGS.described(descriptor)?, &of_x, &of_y)?;
    let images = of_x.dims[0] * of_x.dims[1];
    of_type!(of_x.kind, T => {
        let mut call = Call::of(handle);
        // The gradient of a largest value reads all inputs, and the results too, as documented.
        call.reads(c"y", &of_y, y)?;
        let (dy, x) = (call.reads(c"dy", &of_dy, dy)?, call.reads(c"x", &of_x, x)?);
        let dx = call.writes(c"dx", &of_dx, dx, Factors::at(alpha, beta)?)?;
        call.computes(move |data| {
            let result = windows.backward(&x.values::<T>(data), &dy.values::<T>(data), images);
            dx.store::<T>(data, &result);
        })
    })
}
