//! Descriptors of convolutions, and the sizes of a convolution of described tensors.

use crate::convolution_engine::{Shape, Steps};
use crate::descriptor_table::descriptors;
use crate::descriptors::check;
use crate::layout::Layout;
use crate::numbers::Type;
use crate::status::{BAD_PARAM, NOT_SUPPORTED, Outcome, write, write_if_wanted};
use crate::tensor_descriptor::{filter, int, sizes, tell, tensor};
use crate::types::*;
use std::ffi::c_int;

/// A convolution: one number for each spatial dimension.
#[derive(Clone, Debug)]
pub(crate) struct Convolution {
    pad: Vec<usize>,
    stride: Vec<usize>,
    dilation: Vec<usize>,
    mode: cudnnConvolutionMode_t,
    compute: cudnnDataType_t,
    groups: usize,
    math: cudnnMathType_t,
    reorder: cudnnReorderType_t,
}

/// A convolution that was not described.
const NEW: Convolution = Convolution {
    pad: Vec::new(),
    stride: Vec::new(),
    dilation: Vec::new(),
    mode: 0,
    compute: 0,
    groups: 1,
    math: 0,
    reorder: 0,
};

descriptors!(Convolution CONVOLUTIONS: Convolution = NEW, create destroy);

/// `cudnnSetConvolution2dDescriptor`.
pub(crate) fn set_2d(
    number: cudnnConvolutionDescriptor_t,
    pad_h: c_int,
    pad_w: c_int,
    u: c_int,
    v: c_int,
    dilation_h: c_int,
    dilation_w: c_int,
    mode: cudnnConvolutionMode_t,
    compute: cudnnDataType_t,
) -> Outcome {
    let (pad, stride, dilation) = ([pad_h, pad_w], [u, v], [dilation_h, dilation_w]);
    set_nd(number, 2, pad.as_ptr(), stride.as_ptr(), dilation.as_ptr(), mode, compute)
}

/// `cudnnSetConvolutionNdDescriptor`.
pub(crate) fn set_nd(
    number: cudnnConvolutionDescriptor_t,
    dimensions: c_int,
    pad: *const c_int,
    stride: *const c_int,
    dilation: *const c_int,
    mode: cudnnConvolutionMode_t,
    compute: cudnnDataType_t,
) -> Outcome {
    check(mode, 1)?;
    Type::of(compute)?;
    if dimensions < 1 {
        return Err(BAD_PARAM);
    }
    if dimensions > 3 {
        return Err(NOT_SUPPORTED);
    }
    let count = dimensions.unsigned_abs() as usize;
    let (pad, stride, dilation) = (sizes(pad, count)?, sizes(stride, count)?, sizes(dilation, count)?);
    if stride.iter().chain(&dilation).any(|step| *step == 0) {
        return Err(BAD_PARAM);
    }
    CONVOLUTIONS.change(number, |known| {
        *known = Convolution { pad, stride, dilation, mode, compute, ..known.clone() };
    })
}

/// `cudnnGetConvolution2dDescriptor`.
pub(crate) fn get_2d(
    number: cudnnConvolutionDescriptor_t,
    pad_h: *mut c_int,
    pad_w: *mut c_int,
    u: *mut c_int,
    v: *mut c_int,
    dilation_h: *mut c_int,
    dilation_w: *mut c_int,
    mode: *mut cudnnConvolutionMode_t,
    compute: *mut cudnnDataType_t,
) -> Outcome {
    let known = CONVOLUTIONS.get(number)?;
    if known.pad.len() != 2 {
        return Err(BAD_PARAM);
    }
    let values = known.pad.iter().chain(&known.stride).chain(&known.dilation);
    let places = [pad_h, pad_w, u, v, dilation_h, dilation_w];
    places.into_iter().zip(values).try_for_each(|(to, value)| write_if_wanted(to, int(*value)))?;
    write_if_wanted(mode, known.mode)?;
    write_if_wanted(compute, known.compute)
}

/// `cudnnGetConvolutionNdDescriptor`.
pub(crate) fn get_nd(
    number: cudnnConvolutionDescriptor_t,
    requested: c_int,
    dimensions: *mut c_int,
    pad: *mut c_int,
    stride: *mut c_int,
    dilation: *mut c_int,
    mode: *mut cudnnConvolutionMode_t,
    compute: *mut cudnnDataType_t,
) -> Outcome {
    let known = CONVOLUTIONS.get(number)?;
    let requested = usize::try_from(requested).map_err(|_| BAD_PARAM)?;
    write(dimensions, int(known.pad.len()))?;
    tell(pad, &known.pad, requested)?;
    tell(stride, &known.stride, requested)?;
    tell(dilation, &known.dilation, requested)?;
    write(mode, known.mode)?;
    write(compute, known.compute)
}

/// `cudnnSetConvolutionGroupCount`.
pub(crate) fn set_groups(number: cudnnConvolutionDescriptor_t, groups: c_int) -> Outcome {
    let groups = usize::try_from(groups).ok().filter(|groups| *groups > 0).ok_or(BAD_PARAM)?;
    CONVOLUTIONS.change(number, |known| known.groups = groups)
}

/// `cudnnGetConvolutionGroupCount`.
pub(crate) fn get_groups(number: cudnnConvolutionDescriptor_t, to: *mut c_int) -> Outcome {
    write(to, int(CONVOLUTIONS.get(number)?.groups))
}

/// `cudnnSetConvolutionMathType`. Sums always have the full precision of their type.
pub(crate) fn set_math(number: cudnnConvolutionDescriptor_t, math: cudnnMathType_t) -> Outcome {
    check(math, 3)?;
    CONVOLUTIONS.change(number, |known| known.math = math)
}

/// `cudnnGetConvolutionMathType`.
pub(crate) fn get_math(number: cudnnConvolutionDescriptor_t, to: *mut cudnnMathType_t) -> Outcome {
    write(to, CONVOLUTIONS.get(number)?.math)
}

/// `cudnnSetConvolutionReorderType`.
pub(crate) fn set_reorder(number: cudnnConvolutionDescriptor_t, reorder: cudnnReorderType_t) -> Outcome {
    check(reorder, 1)?;
    CONVOLUTIONS.change(number, |known| known.reorder = reorder)
}

/// `cudnnGetConvolutionReorderType`.
pub(crate) fn get_reorder(number: cudnnConvolutionDescriptor_t, to: *mut cudnnReorderType_t) -> Outcome {
    write(to, CONVOLUTIONS.get(number)?.reorder)
}

/// The sizes of the results.
fn output_sizes(convolution: &Convolution, x: &Layout, weights: &Layout) -> Outcome<Vec<usize>> {
    let spatial = convolution.pad.len();
    if x.dims.len() != spatial + 2 || weights.dims.len() != spatial + 2 || spatial == 0 {
        return Err(BAD_PARAM);
    }
    let groups = convolution.groups;
    if weights.dims[1].checked_mul(groups) != Some(x.dims[1]) || !weights.dims[0].is_multiple_of(groups) {
        return Err(BAD_PARAM);
    }
    let size = |axis: usize| {
        let window = (weights.dims[axis + 2] - 1).checked_mul(convolution.dilation[axis])?.checked_add(1)?;
        let padded = convolution.pad[axis].checked_mul(2)?.checked_add(x.dims[axis + 2])?;
        Some(padded.checked_sub(window)? / convolution.stride[axis] + 1)
    };
    let start = [Some(x.dims[0]), Some(weights.dims[0])].into_iter();
    start.chain((0..spatial).map(size)).collect::<Option<_>>().ok_or(BAD_PARAM)
}

/// `cudnnGetConvolutionNdForwardOutputDim`.
pub(crate) fn output_nd(
    number: cudnnConvolutionDescriptor_t,
    x_desc: cudnnTensorDescriptor_t,
    w_desc: cudnnFilterDescriptor_t,
    dimensions: c_int,
    to: *mut c_int,
) -> Outcome {
    let sizes = output_sizes(&CONVOLUTIONS.get(number)?, &tensor(x_desc)?, &filter(w_desc)?.layout)?;
    if dimensions != int(sizes.len()) {
        return Err(BAD_PARAM);
    }
    tell(to, &sizes, sizes.len())
}

/// `cudnnGetConvolution2dForwardOutputDim`.
pub(crate) fn output_2d(
    number: cudnnConvolutionDescriptor_t,
    x_desc: cudnnTensorDescriptor_t,
    w_desc: cudnnFilterDescriptor_t,
    n: *mut c_int,
    c: *mut c_int,
    h: *mut c_int,
    w: *mut c_int,
) -> Outcome {
    let sizes = output_sizes(&CONVOLUTIONS.get(number)?, &tensor(x_desc)?, &filter(w_desc)?.layout)?;
    if sizes.len() != 4 {
        return Err(BAD_PARAM);
    }
    [n, c, h, w].into_iter().zip(sizes).try_for_each(|(to, size)| write(to, int(size)))
}

/// Checks the type of sums. Those of 16-bit floats are in `float`, also if the program asks for less.
pub(crate) fn check_compute(kind: Type, compute: cudnnDataType_t) -> Outcome {
    let compute = Type::of(compute)?;
    let is_right = match kind {
        Type::Double => compute == Type::Double,
        Type::Float => compute == Type::Float,
        Type::Half | Type::Bfloat16 => compute == Type::Float || compute == kind,
        Type::Integer(..) => false,
    };
    if is_right { Ok(()) } else { Err(NOT_SUPPORTED) }
}

/// The layouts of a convolution and its sizes.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    pub(crate) x: Layout,
    pub(crate) w: Layout,
    pub(crate) y: Layout,
    pub(crate) shape: Shape,
}

impl Problem {
    /// The convolution of described tensors.
    pub(crate) fn of(
        number: cudnnConvolutionDescriptor_t,
        x: cudnnTensorDescriptor_t,
        w: cudnnFilterDescriptor_t,
        y: cudnnTensorDescriptor_t,
    ) -> Outcome<Problem> {
        let (convolution, x, w, y) = (CONVOLUTIONS.get(number)?, tensor(x)?, filter(w)?.layout, tensor(y)?);
        if output_sizes(&convolution, &x, &w)? != y.dims || x.kind != w.kind || x.kind != y.kind {
            return Err(BAD_PARAM);
        }
        check_compute(x.kind, convolution.compute)?;
        let steps = Steps {
            pad: &convolution.pad,
            stride: &convolution.stride,
            dilation: &convolution.dilation,
            flips: convolution.mode == 0,
        };
        let shape = Shape::of(&x.dims, &w.dims, &y.dims, steps);
        Ok(Problem { x, w, y, shape })
    }
}
