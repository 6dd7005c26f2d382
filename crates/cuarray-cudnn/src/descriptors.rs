//! Descriptors of activations, of operations on two tensors, and of reductions.

use crate::status::{BAD_PARAM, NOT_SUPPORTED, NULL_POINTER, Outcome, cudnnStatus_t, write};
use crate::types::*;
use cuarray_stream_work::Objects;
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

static ACTIVATIONS: Objects<Option<Activation>, cudnnStatus_t> = Objects::new(0x6367_0000_0000, BAD_PARAM);
static OPERATIONS: Objects<Option<Operation>, cudnnStatus_t> = Objects::new(0x6368_0000_0000, BAD_PARAM);
static REDUCTIONS: Objects<Option<Reduction>, cudnnStatus_t> = Objects::new(0x6369_0000_0000, BAD_PARAM);

/// The functions that make, destroy and find the descriptors of one type.
macro_rules! descriptors {
    ($($table:ident $type:ident $create:ident $destroy:ident $find:ident $set:ident;)*) => { $(
        pub(crate) fn $create(to: *mut usize) -> Outcome {
            if to.is_null() { Err(NULL_POINTER) } else { write(to, $table.add(None)) }
        }

        pub(crate) fn $destroy(number: usize) -> Outcome {
            // Destroying nothing succeeds, as documented.
            if number == 0 { Ok(()) } else { $table.remove(number).map(drop) }
        }

        pub(crate) fn $find(number: usize) -> Outcome<$type> {
            if number == 0 { Err(NULL_POINTER) } else { $table.get(number)?.ok_or(BAD_PARAM) }
        }

        fn $set(number: usize, value: $type) -> Outcome {
            if number == 0 {
                return Err(NULL_POINTER);
            }
            $table.change(number, |object| {
                *object = Some(value);
                Ok(())
            })
        }
    )* };
}

descriptors! {
    ACTIVATIONS Activation create_activation destroy_activation activation put_activation;
    OPERATIONS Operation create_operation destroy_operation operation put_operation;
    REDUCTIONS Reduction create_reduction destroy_reduction reduction put_reduction;
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
    put_activation(number, Activation { mode, nan, coefficient, beta: 1.0 })
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
    put_activation(number, Activation { beta, ..activation(number)? })
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
    put_operation(number, Operation { operation, kind, nan })
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
    put_reduction(number, Reduction { operation, kind, nan, indices, indices_type })
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
