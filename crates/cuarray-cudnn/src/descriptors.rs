//! Descriptors of activations, of operations on two tensors, and of reductions.

use crate::descriptor_table::descriptors;
use crate::status::{BAD_PARAM, NOT_SUPPORTED, Outcome, write};
use crate::types::*;
use std::ffi::c_int;

/// An activation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Activation {
    pub(crate) mode: cudnnActivationMode_t,
    nan: cudnnNanPropagation_t,
    /// The bound of a clipped ReLU, or the factor of an ELU.
    pub(crate) coefficient: f64,
    /// The factor in a swish.
    pub(crate) beta: f64,
}

/// An operation on two tensors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operation {
    pub(crate) operation: cudnnOpTensorOp_t,
    kind: cudnnDataType_t,
    nan: cudnnNanPropagation_t,
}

/// A reduction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reduction {
    pub(crate) operation: cudnnReduceTensorOp_t,
    kind: cudnnDataType_t,
    pub(crate) nan: cudnnNanPropagation_t,
    indices: cudnnReduceTensorIndices_t,
    indices_type: cudnnIndicesType_t,
}

descriptors!(Activation ACTIVATIONS: Option<Activation> = None, create_activation destroy_activation);
descriptors!(Operation OPERATIONS: Option<Operation> = None, create_operation destroy_operation);
descriptors!(Reduction REDUCTIONS: Option<Reduction> = None, create_reduction destroy_reduction);

/// The activation of a descriptor.
pub(crate) fn activation(number: cudnnActivationDescriptor_t) -> Outcome<Activation> {
    ACTIVATIONS.described(number)
}

/// The operation of a descriptor.
pub(crate) fn operation(number: cudnnOpTensorDescriptor_t) -> Outcome<Operation> {
    OPERATIONS.described(number)
}

/// The reduction of a descriptor.
pub(crate) fn reduction(number: cudnnReduceTensorDescriptor_t) -> Outcome<Reduction> {
    REDUCTIONS.described(number)
}

/// Checks an enumeration, whose values are 0 to `last`.
pub(crate) fn check(value: c_int, last: c_int) -> Outcome {
    if (0..=last).contains(&value) { Ok(()) } else { Err(BAD_PARAM) }
}

/// Checks a type in which operations compute: `float` or `double`.
fn check_compute(kind: cudnnDataType_t) -> Outcome {
    crate::numbers::Type::of(kind)?;
    if matches!(kind, 0 | 1) { Ok(()) } else { Err(NOT_SUPPORTED) }
}

/// `cudnnSetActivationDescriptor`.
pub(crate) fn set_activation(
    number: cudnnActivationDescriptor_t,
    mode: cudnnActivationMode_t,
    nan: cudnnNanPropagation_t,
    coefficient: f64,
) -> Outcome {
    check(mode, 6)?;
    check(nan, 1)?;
    ACTIVATIONS.set(number, Activation { mode, nan, coefficient, beta: 1.0 })
}

/// `cudnnGetActivationDescriptor`.
pub(crate) fn get_activation(
    number: cudnnActivationDescriptor_t,
    mode: *mut cudnnActivationMode_t,
    nan: *mut cudnnNanPropagation_t,
    coefficient: *mut f64,
) -> Outcome {
    let known = activation(number)?;
    write(mode, known.mode)?;
    write(nan, known.nan)?;
    write(coefficient, known.coefficient)
}

/// `cudnnSetActivationDescriptorSwishBeta`.
pub(crate) fn set_swish_beta(number: cudnnActivationDescriptor_t, beta: f64) -> Outcome {
    ACTIVATIONS.set(number, Activation { beta, ..activation(number)? })
}

/// `cudnnGetActivationDescriptorSwishBeta`.
pub(crate) fn get_swish_beta(number: cudnnActivationDescriptor_t, beta: *mut f64) -> Outcome {
    write(beta, activation(number)?.beta)
}

/// `cudnnSetOpTensorDescriptor`.
pub(crate) fn set_operation(
    number: cudnnOpTensorDescriptor_t,
    operation: cudnnOpTensorOp_t,
    kind: cudnnDataType_t,
    nan: cudnnNanPropagation_t,
) -> Outcome {
    check(operation, 5)?;
    check(nan, 1)?;
    check_compute(kind)?;
    OPERATIONS.set(number, Operation { operation, kind, nan })
}

/// `cudnnGetOpTensorDescriptor`.
pub(crate) fn get_operation(
    number: cudnnOpTensorDescriptor_t,
    to: *mut cudnnOpTensorOp_t,
    kind: *mut cudnnDataType_t,
    nan: *mut cudnnNanPropagation_t,
) -> Outcome {
    let known = operation(number)?;
    write(to, known.operation)?;
    write(kind, known.kind)?;
    write(nan, known.nan)
}

/// `cudnnSetReduceTensorDescriptor`. Indices of the results are refused.
pub(crate) fn set_reduction(
    number: cudnnReduceTensorDescriptor_t,
    operation: cudnnReduceTensorOp_t,
    kind: cudnnDataType_t,
    nan: cudnnNanPropagation_t,
    indices: cudnnReduceTensorIndices_t,
    indices_type: cudnnIndicesType_t,
) -> Outcome {
    check(operation, 8)?;
    check(nan, 1)?;
    check(indices, 1)?;
    check(indices_type, 3)?;
    check_compute(kind)?;
    if indices == 1 {
        return Err(NOT_SUPPORTED);
    }
    REDUCTIONS.set(number, Reduction { operation, kind, nan, indices, indices_type })
}

/// `cudnnGetReduceTensorDescriptor`.
pub(crate) fn get_reduction(
    number: cudnnReduceTensorDescriptor_t,
    to: *mut cudnnReduceTensorOp_t,
    kind: *mut cudnnDataType_t,
    nan: *mut cudnnNanPropagation_t,
    indices: *mut cudnnReduceTensorIndices_t,
    indices_type: *mut cudnnIndicesType_t,
) -> Outcome {
    let known = reduction(number)?;
    write(to, known.operation)?;
    write(kind, known.kind)?;
    write(nan, known.nan)?;
    write(indices, known.indices)?;
    write(indices_type, known.indices_type)
}
