//! Sums, products and other operations on the elements of tensors.

use crate::call::Call;
use crate::descriptors::operation;
use crate::handle::Handle;
use crate::layout::{Layout, packed};
use crate::numbers::{Element, Factors, Real, Type, factor, of_type};
use crate::status::{BAD_PARAM, NOT_SUPPORTED, NULL_POINTER, Outcome};
use crate::tensor_descriptor::tensor;
use crate::types::*;
use std::ffi::c_void;

/// Whether a tensor has one element, or as many as another, in each dimension.
pub(crate) fn fits(small: &Layout, whole: &Layout) -> bool {
    let mut sizes = small.dims.iter().zip(&whole.dims);
    small.dims.len() == whole.dims.len() && sizes.all(|(small, whole)| *small == 1 || small == whole)
}

/// For each element of a tensor, the place of the element of a smaller one that [`fits`]. Where a size of the whole is a multiple of that of
/// the smaller one, so many elements after each other have one place.
pub(crate) fn places(small: &[usize], whole: &[usize]) -> Vec<usize> {
    let mut places = vec![0];
    for ((size, few), stride) in whole.iter().zip(small).zip(packed(small)) {
        let steps = |place: usize| (0..*size).map(move |index| place + index * few / size * stride);
        places = places.iter().flat_map(|place| steps(*place)).collect();
    }
    places
}

/// `cudnnAddTensor`.
pub(crate) fn add(
    handle: &Handle,
    alpha: *const c_void,
    a_desc: cudnnTensorDescriptor_t,
    a: *const c_void,
    beta: *const c_void,
    c_desc: cudnnTensorDescriptor_t,
    c: *mut c_void,
) -> Outcome {
    let (of_a, of_c) = (tensor(a_desc)?, tensor(c_desc)?);
    if !fits(&of_a, &of_c) || of_a.kind != of_c.kind {
        return Err(BAD_PARAM);
    }
    of_type!(of_c.kind, T => {
        let mut call = Call::of(handle);
        let a = call.reads(c"A", &of_a, a)?;
        let c = call.writes(c"C", &of_c, c, Factors::at(alpha, beta)?)?;
        call.computes(move |data| {
            let values = a.values::<T>(data);
            let spread: Vec<_> = places(&of_a.dims, &of_c.dims).iter().map(|place| values[*place]).collect();
            c.store::<T>(data, &spread);
        })
    })
}

/// `cudnnTransformTensor`: a copy with other strides, or of another type of floating-point numbers.
pub(crate) fn transform(
    handle: &Handle,
    alpha: *const c_void,
    x_desc: cudnnTensorDescriptor_t,
    x: *const c_void,
    beta: *const c_void,
    y_desc: cudnnTensorDescriptor_t,
    y: *mut c_void,
) -> Outcome {
    let (of_x, of_y) = (tensor(x_desc)?, tensor(y_desc)?);
    if of_x.dims != of_y.dims {
        return Err(BAD_PARAM);
    }
    // The scalars would be of two types.
    if (of_x.kind == Type::Double) != (of_y.kind == Type::Double) {
        return Err(NOT_SUPPORTED);
    }
    of_type!(of_x.kind, X => of_type!(of_y.kind, Y => {
        let mut call = Call::of(handle);
        let x = call.reads(c"x", &of_x, x)?;
        let y = call.writes(c"y", &of_y, y, Factors::<<Y as Element>::Wide>::at(alpha, beta)?)?;
        call.computes(move |data| {
            let values: Vec<_> = x.values::<X>(data).into_iter().map(|value| Real::of(value.double())).collect();
            y.store::<Y>(data, &values);
        })
    }))
}

/// `cudnnSetTensor`. The value has the type of the tensor.
pub(crate) fn set(handle: &Handle, y_desc: cudnnTensorDescriptor_t, y: *mut c_void, value: *const c_void) -> Outcome {
    let of_y = tensor(y_desc)?;
    if value.is_null() {
        return Err(NULL_POINTER);
    }
    of_type!(of_y.kind, T => {
        // SAFETY: the pointer is not null, and by the contract of the C function that of a value of the tensor's type. Any alignment is read.
        let value = unsafe { value.cast::<T>().read_unaligned() }.widen();
        let mut call = Call::of(handle);
        let y = call.writes(c"y", &of_y, y, Factors::result())?;
        call.computes(move |data| y.store::<T>(data, &vec![value; of_y.count()]))
    })
}

/// `cudnnScaleTensor`.
pub(crate) fn scale(handle: &Handle, y_desc: cudnnTensorDescriptor_t, y: *mut c_void, alpha: *const c_void) -> Outcome {
    let of_y = tensor(y_desc)?;
    of_type!(of_y.kind, T => {
        let alpha: <T as Element>::Wide = factor(alpha)?;
        let mut call = Call::of(handle);
        // The tensor is read although the factor is 0, as no result is without it.
        let given = call.reads(c"y", &of_y, y)?;
        let y = call.writes(c"y", &of_y, y, Factors::result())?;
        call.computes(move |data| {
            let values: Vec<_> = given.values::<T>(data).into_iter().map(|value| alpha * value).collect();
            y.store::<T>(data, &values);
        })
    })
}

/// `cudnnOpTensor`.
pub(crate) fn operate(
    handle: &Handle,
    descriptor: cudnnOpTensorDescriptor_t,
    alpha1: *const c_void,
    a_desc: cudnnTensorDescriptor_t,
    a: *const c_void,
    alpha2: *const c_void,
    b_desc: cudnnTensorDescriptor_t,
    b: *const c_void,
    beta: *const c_void,
    c_desc: cudnnTensorDescriptor_t,
    c: *mut c_void,
) -> Outcome {
    let (operation, of_a, of_c) = (operation(descriptor)?.operation, tensor(a_desc)?, tensor(c_desc)?);
    // The square root and the complement have one operand.
    let of_b = if operation < 4 { Some(tensor(b_desc)?) } else { None };
    if !of_a.is_like(&of_c) {
        return Err(BAD_PARAM);
    }
    if of_b.as_ref().is_some_and(|of_b| !fits(of_b, &of_c) || of_b.kind != of_c.kind) {
        return Err(BAD_PARAM);
    }
    of_type!(of_c.kind, T => {
        type Wide = <T as Element>::Wide;
        let first: Wide = factor(alpha1)?;
        let second: Wide = if of_b.is_some() { factor(alpha2)? } else { Wide::of(0.0) };
        let beta: Wide = factor(beta)?;
        let mut call = Call::of(handle);
        let a = call.reads(c"A", &of_a, a)?;
        let b = match of_b {
            Some(of_b) => Some((call.reads(c"B", &of_b, b)?, of_b.dims)),
            None => None,
        };
        let c = call.writes(c"C", &of_c, c, Factors { alpha: Wide::of(1.0), beta })?;
        call.computes(move |data| {
            let mut values = a.values::<T>(data);
            values.iter_mut().for_each(|value| *value *= first);
            match &b {
                None if operation == 4 => values.iter_mut().for_each(|value| *value = value.sqrt()),
                None => values.iter_mut().for_each(|value| *value = Wide::of(1.0) - *value),
                Some((b, dims)) => {
                    let b = b.values::<T>(data);
                    for (value, place) in values.iter_mut().zip(places(dims, &of_c.dims)) {
                        let other = second * b[place];
                        *value = match operation {
                            0 => *value + other,
                            1 => *value * other,
                            2 => value.min(other),
                            _ => value.max(other),
                        };
                    }
                }
            }
            c.store::<T>(data, &values);
        })
    })
}
