//! The types of cuDNN's functions. Enumerations are integers, as a program may pass any value. Handles and descriptors are numbers.
#![allow(non_camel_case_types)]

pub(crate) use crate::status::cudnnStatus_t;
use std::ffi::{c_int, c_void};

pub(crate) type cudnnHandle_t = usize;
pub(crate) type cudnnTensorDescriptor_t = usize;
pub(crate) type cudnnFilterDescriptor_t = usize;
pub(crate) type cudnnConvolutionDescriptor_t = usize;
pub(crate) type cudnnPoolingDescriptor_t = usize;
pub(crate) type cudnnActivationDescriptor_t = usize;
pub(crate) type cudnnOpTensorDescriptor_t = usize;
pub(crate) type cudnnReduceTensorDescriptor_t = usize;
pub(crate) type cudnnCTCLossDescriptor_t = usize;
pub(crate) type cudnnDropoutDescriptor_t = usize;
pub(crate) type cudnnLRNDescriptor_t = usize;
pub(crate) type cudnnSamplerType_t = c_int;
pub(crate) type cudnnSpatialTransformerDescriptor_t = usize;
pub(crate) type cudnnRNNDescriptor_t = usize;
pub(crate) type cudnnRNNDataDescriptor_t = usize;
/// A descriptor of the graph interface.
pub(crate) type cudnnBackendDescriptor_t = usize;
pub(crate) type cudaStream_t = *mut c_void;

pub(crate) type cudnnDataType_t = c_int;
pub(crate) type cudnnTensorFormat_t = c_int;
pub(crate) type cudnnNanPropagation_t = c_int;
pub(crate) type cudnnMathType_t = c_int;
pub(crate) type cudnnReorderType_t = c_int;
pub(crate) type cudnnConvolutionMode_t = c_int;
pub(crate) type cudnnConvolutionAlgo_t = c_int;
pub(crate) type cudnnPoolingMode_t = c_int;
pub(crate) type cudnnActivationMode_t = c_int;
pub(crate) type cudnnOpTensorOp_t = c_int;
pub(crate) type cudnnReduceTensorOp_t = c_int;
pub(crate) type cudnnReduceTensorIndices_t = c_int;
pub(crate) type cudnnIndicesType_t = c_int;
pub(crate) type cudnnSoftmaxAlgorithm_t = c_int;
pub(crate) type cudnnSoftmaxMode_t = c_int;
pub(crate) type cudnnRNNDataLayout_t = c_int;
pub(crate) type cudnnLRNMode_t = c_int;
pub(crate) type cudnnBatchNormMode_t = c_int;
pub(crate) type cudnnBatchNormOps_t = c_int;
pub(crate) type cudnnBackendDescriptorType_t = c_int;
pub(crate) type cudnnBackendAttributeName_t = c_int;
pub(crate) type cudnnBackendAttributeType_t = c_int;
pub(crate) type cudnnPointwiseMode_t = c_int;
pub(crate) type libraryPropertyType = c_int;

/// `cudnnConvolutionFwdAlgoPerf_t`, and those of the gradients, which have the same layout.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct cudnnConvolutionAlgoPerf_t {
    pub(crate) algo: c_int,
    pub(crate) status: cudnnStatus_t,
    pub(crate) time: f32,
    pub(crate) memory: usize,
    pub(crate) determinism: c_int,
    pub(crate) math: c_int,
    pub(crate) reserved: [c_int; 3],
}
