//! The extended functions of batch normalization. They have workspaces of 0 bytes, and compute no activation.

use crate::handle::Handle;
use crate::normalization::{backward, training};
use crate::status::{BAD_PARAM, NOT_SUPPORTED, Outcome, write};
use crate::types::*;
use std::ffi::c_void;

/// Checks `cudnnBatchNormOps_t`: normalization alone, without an activation.
fn check_operations(operations: cudnnBatchNormOps_t) -> Outcome {
    match operations {
        0 => Ok(()),
        1 | 2 => Err(NOT_SUPPORTED),
        _ => Err(BAD_PARAM),
    }
}

/// `cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize`.
pub(crate) fn training_workspace(
    _: &Handle,
    _: cudnnBatchNormMode_t,
    operations: cudnnBatchNormOps_t,
    _: cudnnTensorDescriptor_t,
    _: cudnnTensorDescriptor_t,
    _: cudnnTensorDescriptor_t,
    _: cudnnTensorDescriptor_t,
    _: cudnnActivationDescriptor_t,
    to: *mut usize,
) -> Outcome {
    check_operations(operations)?;
    write(to, 0)
}

/// `cudnnGetBatchNormalizationBackwardExWorkspaceSize`.
pub(crate) fn backward_workspace(
    _: &Handle,
    _: cudnnBatchNormMode_t,
    operations: cudnnBatchNormOps_t,
    _: cudnnTensorDescriptor_t,
    _: cudnnTensorDescriptor_t,
    _: cudnnTensorDescriptor_t,
    _: cudnnTensorDescriptor_t,
    _: cudnnTensorDescriptor_t,
    _: cudnnTensorDescriptor_t,
    _: cudnnActivationDescriptor_t,
    to: *mut usize,
) -> Outcome {
    check_operations(operations)?;
    write(to, 0)
}

/// `cudnnGetBatchNormalizationTrainingExReserveSpaceSize`.
pub(crate) fn reserve(
    _: &Handle,
    _: cudnnBatchNormMode_t,
    operations: cudnnBatchNormOps_t,
    _: cudnnActivationDescriptor_t,
    _: cudnnTensorDescriptor_t,
    to: *mut usize,
) -> Outcome {
    check_operations(operations)?;
    write(to, 0)
}

/// `cudnnBatchNormalizationForwardTrainingEx`.
pub(crate) fn training_ex(
    handle: &Handle,
    mode: cudnnBatchNormMode_t,
    operations: cudnnBatchNormOps_t,
    alpha: *const c_void,
    beta: *const c_void,
    x_desc: cudnnTensorDescriptor_t,
    x: *const c_void,
    _: cudnnTensorDescriptor_t,
    _: *const c_void,
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
    _: cudnnActivationDescriptor_t,
    _: *mut c_void,
    _: usize,
    _: *mut c_void,
    _: usize,
) -> Outcome {
    check_operations(operations)?;
    training(
        handle,
        mode,
        alpha,
        beta,
        x_desc,
        x,
        y_desc,
        y,
        parameters,
        scale,
        bias,
        factor,
        running_mean,
        running_variance,
        epsilon,
        saved_mean,
        saved_inverse,
    )
}

/// `cudnnBatchNormalizationBackwardEx`.
pub(crate) fn backward_ex(
    handle: &Handle,
    mode: cudnnBatchNormMode_t,
    operations: cudnnBatchNormOps_t,
    alpha_data: *const c_void,
    beta_data: *const c_void,
    alpha_parameters: *const c_void,
    beta_parameters: *const c_void,
    x_desc: cudnnTensorDescriptor_t,
    x: *const c_void,
    _: cudnnTensorDescriptor_t,
    _: *const c_void,
    dy_desc: cudnnTensorDescriptor_t,
    dy: *const c_void,
    _: cudnnTensorDescriptor_t,
    _: *mut c_void,
    dx_desc: cudnnTensorDescriptor_t,
    dx: *mut c_void,
    parameters: cudnnTensorDescriptor_t,
    scale: *const c_void,
    _: *const c_void,
    d_scale: *mut c_void,
    d_bias: *mut c_void,
    epsilon: f64,
    saved_mean: *const c_void,
    saved_inverse: *const c_void,
    _: cudnnActivationDescriptor_t,
    _: *mut c_void,
    _: usize,
    _: *mut c_void,
    _: usize,
) -> Outcome {
    check_operations(operations)?;
    backward(
        handle,
        mode,
        alpha_data,
        beta_data,
        alpha_parameters,
        beta_parameters,
        x_desc,
        x,
        dy_desc,
        dy,
        dx_desc,
        dx,
        parameters,
        scale,
        d_scale,
        d_bias,
        epsilon,
        saved_mean,
        saved_inverse,
    )
}
