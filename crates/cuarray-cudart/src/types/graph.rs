//! Structures of graphs and their nodes.

use super::*;
use cuarray_abi::{
    CUDA_GRAPH_INSTANTIATE_PARAMS, CUDA_HOST_NODE_PARAMS, CUDA_MEM_ALLOC_NODE_PARAMS, CUDA_MEMSET_NODE_PARAMS,
    CUgraphExecUpdateResultInfo, CUgraphNodeParams,
};

// Structures with the layout of the driver's.
aliases! {
    cudaHostNodeParams = CUDA_HOST_NODE_PARAMS, cudaMemsetParams = CUDA_MEMSET_NODE_PARAMS,
    cudaMemAllocNodeParams = CUDA_MEM_ALLOC_NODE_PARAMS, cudaGraphInstantiateParams = CUDA_GRAPH_INSTANTIATE_PARAMS,
    cudaGraphExecUpdateResultInfo = CUgraphExecUpdateResultInfo,
    // The parameters of its kinds differ; they are converted.
    cudaGraphNodeParams = CUgraphNodeParams,
}

#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct cudaKernelNodeParams {
    /// The host function of a kernel, or a kernel's handle.
    pub func: *mut c_void,
    pub gridDim: dim3,
    pub blockDim: dim3,
    pub sharedMemBytes: c_uint,
    pub kernelParams: *mut *mut c_void,
    pub extra: *mut *mut c_void,
}

pub type cudaKernelFunctionType = c_uint;
/// `func` may be anything that a launch takes.
pub(crate) const UNSPECIFIED: cudaKernelFunctionType = 0;
/// `func` is a host function.
pub(crate) const DEVICE_ENTRY: cudaKernelFunctionType = 1;
/// `func` is a kernel of a library.
pub(crate) const KERNEL: cudaKernelFunctionType = 2;
/// `func` is a function of a module.
pub(crate) const FUNCTION: cudaKernelFunctionType = 3;

/// The last two members are those of CUDA 13.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct cudaKernelNodeParamsV2 {
    pub func: *mut c_void,
    pub gridDim: dim3,
    pub blockDim: dim3,
    pub sharedMemBytes: c_uint,
    pub kernelParams: *mut *mut c_void,
    pub extra: *mut *mut c_void,
    pub ctx: cudaExecutionContext_t,
    pub functionType: cudaKernelFunctionType,
}

#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct cudaMemcpyNodeParams {
    pub flags: c_int,
    pub reserved: c_int,
    /// Zero in CUDA 12.
    pub ctx: cudaExecutionContext_t,
    pub copyParams: cudaMemcpy3DParms,
}

/// The last member is that of CUDA 13.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct cudaMemsetParamsV2 {
    pub memset: cudaMemsetParams,
    pub ctx: cudaExecutionContext_t,
}

/// The last two members are those of CUDA 13.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct cudaHostNodeParamsV2 {
    pub host: cudaHostNodeParams,
    pub syncMode: c_uint,
    pub ctx: cudaExecutionContext_t,
}

// Sizes from the headers.
const _: () = {
    assert!(size_of::<cudaKernelNodeParams>() == 56);
    assert!(size_of::<cudaMemcpyNodeParams>() == 176);
    assert!(size_of::<cudaMemsetParams>() == 40);
    assert!(size_of::<cudaHostNodeParams>() == 16);
    assert!(size_of::<cudaMemAllocNodeParams>() == 120);
    assert!(size_of::<cudaGraphInstantiateParams>() == 32);
    assert!(size_of::<cudaGraphExecUpdateResultInfo>() == 24);
    assert!(size_of::<cudaGraphNodeParams>() == 256);
};
