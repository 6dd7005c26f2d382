//! Descriptors of tensors and filters.

use crate::descriptor_table::descriptors;
use crate::layout::{Layout, MOST_DIMENSIONS, packed};
use crate::numbers::Type;
use crate::status::{BAD_PARAM, NOT_SUPPORTED, Outcome, cudnnStatus_t, write, write_if_wanted};
use crate::types::*;
use cuarray_stream_work::read;
use std::ffi::c_int;

descriptors!(Tensor TENSORS: Option<Layout> = None, create_tensor destroy_tensor);
descriptors!(Filter FILTERS: Option<Filter> = None, create_filter destroy_filter);

/// The weights of a convolution: output channels, input channels of a group, and window.
#[derive(Clone, Debug)]
pub(crate) struct Filter {
    pub(crate) layout: Layout,
    format: cudnnTensorFormat_t,
}

/// The tensor of a descriptor.
pub(crate) fn tensor(number: cudnnTensorDescriptor_t) -> Outcome<Layout> {
    // A parameter that a recurrent network does not have is described as a tensor without dimensions.
    let layout = TENSORS.described(number)?;
    if layout.dims.is_empty() { Err(BAD_PARAM) } else { Ok(layout) }
}

/// The filter of a descriptor.
pub(crate) fn filter(number: cudnnFilterDescriptor_t) -> Outcome<Filter> {
    FILTERS.described(number)
}

/// A size or a stride.
fn size(number: c_int) -> Outcome<usize> {
    usize::try_from(number).map_err(|_| BAD_PARAM)
}

/// A number for the program; the largest one if it does not fit.
pub(crate) fn int(size: usize) -> c_int {
    c_int::try_from(size).unwrap_or(c_int::MAX)
}

/// Sizes of an array of the program.
pub(crate) fn sizes(at: *const c_int, count: usize) -> Outcome<Vec<usize>> {
    read::<c_int, cudnnStatus_t>(at, count)?.into_iter().map(size).collect()
}

/// A number of dimensions between 3 and `CUDNN_DIM_MAX`, as documented.
fn rank(number: c_int) -> Outcome<usize> {
    size(number).ok().filter(|rank| (3..=MOST_DIMENSIONS).contains(rank)).ok_or(BAD_PARAM)
}

/// Strides without gaps for a `cudnnTensorFormat_t`.
fn strides(format: cudnnTensorFormat_t, dims: &[usize]) -> Outcome<Vec<usize>> {
    match format {
        0 => Ok(packed(dims)),
        1 => {
            let ordered: Vec<usize> = [&dims[..1], &dims[2..], &dims[1..2]].concat();
            let mut strides = packed(&ordered);
            strides.pop();
            strides.insert(1, 1);
            Ok(strides)
        }
        2 => Err(NOT_SUPPORTED),
        _ => Err(BAD_PARAM),
    }
}

/// Describes a tensor.
pub(crate) fn describe(number: cudnnTensorDescriptor_t, layout: Layout) -> Outcome {
    TENSORS.set(number, layout)
}

/// `cudnnSetTensor4dDescriptor`.
pub(crate) fn set_4d(
    number: cudnnTensorDescriptor_t,
    format: cudnnTensorFormat_t,
    kind: cudnnDataType_t,
    n: c_int,
    c: c_int,
    h: c_int,
    w: c_int,
) -> Outcome {
    set_nd_format(number, format, kind, 4, [n, c, h, w].as_ptr())
}

/// `cudnnSetTensor4dDescriptorEx`.
pub(crate) fn set_4d_strides(
    number: cudnnTensorDescriptor_t,
    kind: cudnnDataType_t,
    n: c_int,
    c: c_int,
    h: c_int,
    w: c_int,
    n_stride: c_int,
    c_stride: c_int,
    h_stride: c_int,
    w_stride: c_int,
) -> Outcome {
    set_nd(number, kind, 4, [n, c, h, w].as_ptr(), [n_stride, c_stride, h_stride, w_stride].as_ptr())
}

/// `cudnnSetTensorNdDescriptor`.
pub(crate) fn set_nd(
    number: cudnnTensorDescriptor_t,
    kind: cudnnDataType_t,
    dimensions: c_int,
    dims: *const c_int,
    strides: *const c_int,
) -> Outcome {
    let rank = rank(dimensions)?;
    describe(number, Layout::new(Type::of(kind)?, sizes(dims, rank)?, sizes(strides, rank)?)?)
}

/// `cudnnSetTensorNdDescriptorEx`.
pub(crate) fn set_nd_format(
    number: cudnnTensorDescriptor_t,
    format: cudnnTensorFormat_t,
    kind: cudnnDataType_t,
    dimensions: c_int,
    dims: *const c_int,
) -> Outcome {
    let dims = sizes(dims, rank(dimensions)?)?;
    let strides = strides(format, &dims)?;
    describe(number, Layout::new(Type::of(kind)?, dims, strides)?)
}

/// `cudnnGetTensor4dDescriptor`.
pub(crate) fn get_4d(
    number: cudnnTensorDescriptor_t,
    kind: *mut cudnnDataType_t,
    n: *mut c_int,
    c: *mut c_int,
    h: *mut c_int,
    w: *mut c_int,
    n_stride: *mut c_int,
    c_stride: *mut c_int,
    h_stride: *mut c_int,
    w_stride: *mut c_int,
) -> Outcome {
    let layout = tensor(number)?;
    if layout.dims.len() != 4 {
        return Err(BAD_PARAM);
    }
    write_if_wanted(kind, layout.kind.number())?;
    let values = layout.dims.iter().chain(&layout.strides);
    let places = [n, c, h, w, n_stride, c_stride, h_stride, w_stride];
    places.into_iter().zip(values).try_for_each(|(to, value)| write_if_wanted(to, int(*value)))
}

/// Writes the first `requested` numbers to an array of the program.
pub(crate) fn tell(to: *mut c_int, values: &[usize], requested: usize) -> Outcome {
    values.iter().take(requested).enumerate().try_for_each(|(index, value)| write(to.wrapping_add(index), int(*value)))
}

/// `cudnnGetTensorNdDescriptor`.
pub(crate) fn get_nd(
    number: cudnnTensorDescriptor_t,
    requested: c_int,
    kind: *mut cudnnDataType_t,
    dimensions: *mut c_int,
    dims: *mut c_int,
    strides: *mut c_int,
) -> Outcome {
    let (layout, requested) = (TENSORS.described(number)?, size(requested)?);
    write(kind, layout.kind.number())?;
    write(dimensions, int(layout.dims.len()))?;
    tell(dims, &layout.dims, requested)?;
    tell(strides, &layout.strides, requested)
}

/// `cudnnGetTensorSizeInBytes`.
pub(crate) fn bytes(number: cudnnTensorDescriptor_t, to: *mut usize) -> Outcome {
    write(to, tensor(number)?.bytes())
}

/// `cudnnSetFilter4dDescriptor`.
pub(crate) fn set_filter_4d(
    number: cudnnFilterDescriptor_t,
    kind: cudnnDataType_t,
    format: cudnnTensorFormat_t,
    k: c_int,
    c: c_int,
    h: c_int,
    w: c_int,
) -> Outcome {
    set_filter_nd(number, kind, format, 4, [k, c, h, w].as_ptr())
}

/// `cudnnSetFilterNdDescriptor`.
pub(crate) fn set_filter_nd(
    number: cudnnFilterDescriptor_t,
    kind: cudnnDataType_t,
    format: cudnnTensorFormat_t,
    dimensions: c_int,
    dims: *const c_int,
) -> Outcome {
    let dims = sizes(dims, rank(dimensions)?)?;
    let strides = strides(format, &dims)?;
    FILTERS.set(number, Filter { layout: Layout::new(Type::of(kind)?, dims, strides)?, format })
}

/// `cudnnGetFilter4dDescriptor`.
pub(crate) fn get_filter_4d(
    number: cudnnFilterDescriptor_t,
    kind: *mut cudnnDataType_t,
    format: *mut cudnnTensorFormat_t,
    k: *mut c_int,
    c: *mut c_int,
    h: *mut c_int,
    w: *mut c_int,
) -> Outcome {
    let Filter { layout, format: known } = filter(number)?;
    if layout.dims.len() != 4 {
        return Err(BAD_PARAM);
    }
    write(kind, layout.kind.number())?;
    write(format, known)?;
    [k, c, h, w].into_iter().zip(&layout.dims).try_for_each(|(to, value)| write(to, int(*value)))
}

/// `cudnnGetFilterNdDescriptor`.
pub(crate) fn get_filter_nd(
    number: cudnnFilterDescriptor_t,
    requested: c_int,
    kind: *mut cudnnDataType_t,
    format: *mut cudnnTensorFormat_t,
    dimensions: *mut c_int,
    dims: *mut c_int,
) -> Outcome {
    let (Filter { layout, format: known }, requested) = (filter(number)?, size(requested)?);
    write(kind, layout.kind.number())?;
    write(format, known)?;
    write(dimensions, int(layout.dims.len()))?;
    tell(dims, &layout.dims, requested)
}

/// `cudnnGetFilterSizeInBytes`.
pub(crate) fn filter_bytes(number: cudnnFilterDescriptor_t, to: *mut usize) -> Outcome {
    write(to, filter(number)?.layout.bytes())
}
