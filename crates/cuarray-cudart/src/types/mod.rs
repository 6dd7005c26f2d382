//! The types of the entry points, with the names of NVIDIA's headers.
//!
//! Handles are the driver's handles, as integers. Enumerations are plain integers: a value from a careless caller must not
//! be undefined behaviour. A structure that no chapter reads yet is [`c_void`]: only pointers to it are passed on.
#![allow(non_camel_case_types, non_snake_case, missing_docs)]

use cuarray_abi::{
    CU_DEV_SM_RESOURCE_GROUP_PARAMS, CUDA_MEMCPY3D_BATCH_OP, CUarray, CUasyncCallback, CUasyncCallbackHandle,
    CUcontext, CUdevResource, CUdevResourceDesc, CUevent, CUfunction, CUgraph, CUgraphEdgeData, CUgraphExec,
    CUgraphNode, CUhostFn, CUipcEventHandle, CUipcMemHandle, CUkernel, CUlibrary, CUlogIterator, CUlogsCallback,
    CUlogsCallbackHandle, CUmemAccessDesc, CUmemLocation, CUmemcpyAttributes, CUmemoryPool, CUmipmappedArray, CUstream,
    CUuserObject, CUuuid,
};
use std::ffi::{c_int, c_uint, c_void};

use crate::result::cudaError_t;

macro_rules! aliases {
    ($($name:ident = $ty:ty),* $(,)?) => { $(pub type $name = $ty;)* };
}

mod graph;
mod memory;
mod texture;

pub use graph::*;
pub use memory::*;
pub use texture::*;

// Handles.
aliases! {
    cudaArray_t = CUarray, cudaArray_const_t = CUarray, cudaMipmappedArray_t = CUmipmappedArray, cudaMipmappedArray_const_t = CUmipmappedArray,
    cudaEvent_t = CUevent, cudaStream_t = CUstream, cudaFunction_t = CUfunction, cudaKernel_t = CUkernel, cudaLibrary_t = CUlibrary,
    cudaGraph_t = CUgraph, cudaGraphNode_t = CUgraphNode, cudaGraphExec_t = CUgraphExec, cudaUserObject_t = CUuserObject,
    cudaMemPool_t = CUmemoryPool, cudaExecutionContext_t = CUcontext, cudaDevResourceDesc_t = CUdevResourceDesc,
    cudaExternalMemory_t = usize, cudaExternalSemaphore_t = usize, cudaGraphicsResource_t = usize, cudaAsyncCallbackHandle_t = CUasyncCallbackHandle,
    cudaLogsCallbackHandle = CUlogsCallbackHandle, cudaLogIterator = CUlogIterator,
    cudaGraphConditionalHandle = u64, cudaTextureObject_t = u64, cudaSurfaceObject_t = u64,
}

// Enumerations.
aliases! {
    cudaLimit = c_uint, cudaFuncCache = c_uint, cudaSharedMemConfig = c_uint, cudaDeviceAttr = c_uint, cudaDeviceP2PAttr = c_uint,
    cudaAtomicOperation = c_uint, cudaChannelFormatKind = c_uint, cudaDevResourceType = c_uint, cudaDriverEntryPointQueryResult = c_uint,
    cudaFlushGPUDirectRDMAWritesScope = c_uint, cudaFlushGPUDirectRDMAWritesTarget = c_uint, cudaFuncAttribute = c_uint,
    cudaGraphMemAttributeType = c_uint, cudaGraphNodeType = c_uint, cudaJitOption = c_uint, cudaLibraryOption = c_uint,
    cudaLaunchAttributeID = c_uint, cudaMemAccessFlags = c_uint, cudaMemAllocationHandleType = c_uint, cudaMemAllocationType = c_uint,
    cudaMemPoolAttr = c_uint, cudaMemRangeAttribute = c_uint, cudaMemcpyKind = c_uint, cudaMemoryAdvise = c_uint,
    cudaStreamCaptureMode = c_uint, cudaStreamCaptureStatus = c_uint, cudaMemoryType = c_uint,
}

// Structures with the layout of the driver's.
aliases! {
    cudaUUID_t = CUuuid, cudaIpcMemHandle_t = CUipcMemHandle, cudaIpcEventHandle_t = CUipcEventHandle, cudaMemLocation = CUmemLocation,
    cudaMemAccessDesc = CUmemAccessDesc, cudaGraphEdgeData = CUgraphEdgeData, cudaMemcpyAttributes = CUmemcpyAttributes,
    cudaMemcpy3DBatchOp = CUDA_MEMCPY3D_BATCH_OP, cudaDevResource = CUdevResource,
    cudaDevSmResourceGroupParams = CU_DEV_SM_RESOURCE_GROUP_PARAMS,
}

// Structures that no chapter reads yet. A chapter that needs one replaces its line by a structure, and adds it to the test of layouts.
aliases! {
    cudaDeviceProp = c_void, cudaDeviceProp_v1 = c_void, cudaExternalMemoryBufferDesc = c_void, cudaExternalMemoryHandleDesc = c_void,
    cudaExternalMemoryMipmappedArrayDesc = c_void, cudaExternalSemaphoreHandleDesc = c_void, cudaExternalSemaphoreSignalNodeParams = c_void,
    cudaExternalSemaphoreSignalParams = c_void, cudaExternalSemaphoreSignalParams_v1 = c_void,
    cudaExternalSemaphoreWaitNodeParams = c_void, cudaExternalSemaphoreWaitParams = c_void, cudaExternalSemaphoreWaitParams_v1 = c_void,

    cudaGraphRecaptureCallbackData = c_void,
    cudaLaunchAttributeValue = c_void, cudaLaunchParams = c_void,
    cudaPointerAttributes = c_void,
}

// Functions of the program.
pub type cudaHostFn_t = CUhostFn;
pub type cudaStreamCallback_t = Option<unsafe extern "C" fn(cudaStream_t, cudaError_t, *mut c_void)>;
pub type cudaAsyncCallback = CUasyncCallback;
pub type cudaLogsCallback_t = CUlogsCallback;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct dim3 {
    pub x: c_uint,
    pub y: c_uint,
    pub z: c_uint,
}

pub type uint3 = dim3;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct cudaExtent {
    pub width: usize,
    pub height: usize,
    pub depth: usize,
}

#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct cudaPitchedPtr {
    pub ptr: *mut c_void,
    pub pitch: usize,
    pub xsize: usize,
    pub ysize: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct cudaChannelFormatDesc {
    pub x: c_int,
    pub y: c_int,
    pub z: c_int,
    pub w: c_int,
    pub f: cudaChannelFormatKind,
}

#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct cudaLaunchConfig_t {
    pub gridDim: dim3,
    pub blockDim: dim3,
    pub dynamicSmemBytes: usize,
    pub stream: cudaStream_t,
    /// Attributes with the layout of the driver's `CUlaunchAttribute`.
    pub attrs: *mut c_void,
    pub numAttrs: c_uint,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct cudaFuncAttributes {
    pub sharedSizeBytes: usize,
    pub constSizeBytes: usize,
    pub localSizeBytes: usize,
    pub maxThreadsPerBlock: c_int,
    pub numRegs: c_int,
    pub ptxVersion: c_int,
    pub binaryVersion: c_int,
    pub cacheModeCA: c_int,
    pub maxDynamicSharedSizeBytes: c_int,
    pub preferredShmemCarveout: c_int,
    pub clusterDimMustBeSet: c_int,
    pub requiredClusterWidth: c_int,
    pub requiredClusterHeight: c_int,
    pub requiredClusterDepth: c_int,
    pub clusterSchedulingPolicyPreference: c_int,
    pub nonPortableClusterSizeAllowed: c_int,
    /// Members of newer headers, which this runtime leaves zero.
    pub reserved: [c_int; 16],
}

// A test compares these sizes with the headers of both majors.
const _: () = {
    assert!(size_of::<dim3>() == 12);
    assert!(size_of::<cudaExtent>() == 24);
    assert!(size_of::<cudaPitchedPtr>() == 32);
    assert!(size_of::<cudaChannelFormatDesc>() == 20);
    assert!(size_of::<cudaLaunchConfig_t>() == 56);
    assert!(size_of::<cudaUUID_t>() == 16);
    assert!(size_of::<cudaIpcMemHandle_t>() == 64);
    assert!(size_of::<cudaIpcEventHandle_t>() == 64);
    assert!(size_of::<cudaMemLocation>() == 8);
    assert!(size_of::<cudaMemAccessDesc>() == 12);
    assert!(size_of::<cudaGraphEdgeData>() == 8);
    assert!(size_of::<cudaFuncAttributes>() == 144);
};
