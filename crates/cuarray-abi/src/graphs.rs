//! The driver's types for graphs: nodes, edges and instances.
//!
//! Driver API: [data types](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__TYPES.html).
#![allow(non_camel_case_types, non_snake_case, missing_docs)]

use crate::CUresult;
use crate::copies::CUDA_MEMCPY3D;
use crate::types::*;
use std::ffi::{c_int, c_uchar, c_uint, c_void};

constants! {
    CUgraphRecaptureStatus = c_uint {
        CU_GRAPH_RECAPTURE_ELIGIBLE_FOR_UPDATE = 0, CU_GRAPH_RECAPTURE_INELIGIBLE_FOR_UPDATE = 1, CU_GRAPH_RECAPTURE_ERROR = 2,
    }
    CUgraphNodeType = c_uint {
        CU_GRAPH_NODE_TYPE_KERNEL = 0, CU_GRAPH_NODE_TYPE_MEMCPY = 1, CU_GRAPH_NODE_TYPE_MEMSET = 2,
        CU_GRAPH_NODE_TYPE_HOST = 3, CU_GRAPH_NODE_TYPE_GRAPH = 4, CU_GRAPH_NODE_TYPE_EMPTY = 5,
        CU_GRAPH_NODE_TYPE_WAIT_EVENT = 6, CU_GRAPH_NODE_TYPE_EVENT_RECORD = 7, CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL = 8,
        CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT = 9, CU_GRAPH_NODE_TYPE_MEM_ALLOC = 10, CU_GRAPH_NODE_TYPE_MEM_FREE = 11,
        CU_GRAPH_NODE_TYPE_BATCH_MEM_OP = 12, CU_GRAPH_NODE_TYPE_CONDITIONAL = 13,
    }
    CUgraphInstantiateResult = c_uint {
        CUDA_GRAPH_INSTANTIATE_SUCCESS = 0, CUDA_GRAPH_INSTANTIATE_ERROR = 1, CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE = 2,
        CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED = 3, CUDA_GRAPH_INSTANTIATE_MULTIPLE_CTXS_NOT_SUPPORTED = 4,
        CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED = 5,
    }
    CUgraphExecUpdateResult = c_uint {
        CU_GRAPH_EXEC_UPDATE_SUCCESS = 0, CU_GRAPH_EXEC_UPDATE_ERROR = 1, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED = 2,
        CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED = 3, CU_GRAPH_EXEC_UPDATE_ERROR_FUNCTION_CHANGED = 4,
        CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED = 5, CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED = 6,
        CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE = 7, CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED = 8,
    }
    CUgraphConditionalNodeType = c_uint {
        CU_GRAPH_COND_TYPE_IF = 0, CU_GRAPH_COND_TYPE_WHILE = 1, CU_GRAPH_COND_TYPE_SWITCH = 2,
    }
    CUgraphMem_attribute = c_uint {
        CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT = 0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH = 1,
        CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT = 2, CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH = 3,
    }
    CUgraphChildGraphNodeOwnership = c_int {
        CU_GRAPH_CHILD_GRAPH_OWNERSHIP_INVALID = -1, CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE = 0, CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE = 1,
    }
}

/// Reports a captured node whose parameters differ from those of the graph: data, node, both parameters, status.
pub type CUgraphRecaptureCallback = Option<
    unsafe extern "C" fn(
        *mut c_void,
        CUgraphNode,
        *const CUgraphNodeParams,
        *const CUgraphNodeParams,
        CUgraphRecaptureStatus,
    ) -> CUresult,
>;

pub const CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH: u64 = 1;
pub const CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD: u64 = 2;
pub const CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH: u64 = 4;
pub const CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY: u64 = 8;
/// `cuGraphConditionalHandleCreate`: each launch sets the condition to its default value.
pub const CU_GRAPH_COND_ASSIGN_DEFAULT: c_uint = 1;
pub const CU_GRAPH_USER_OBJECT_MOVE: c_uint = 1;
pub const CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE: c_uint = 1;
pub const CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES: c_uint = 1 << 10;

/// `CUgraphEdgeData.kind`: the later node can wait for the earlier one with `griddepcontrol.wait`.
pub const CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC: c_uchar = 1;
/// `CUgraphEdgeData.from_port` of a kernel node: all its blocks have triggered the launch of dependents, or have ended.
pub const CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC: c_uchar = 1;
/// `CUgraphEdgeData.from_port` of a kernel node: all its blocks have begun.
pub const CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER: c_uchar = 2;

/// Ports and type of a graph edge; all zero for a full dependency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct CUgraphEdgeData {
    pub from_port: c_uchar,
    pub to_port: c_uchar,
    pub kind: c_uchar,
    pub reserved: [c_uchar; 5],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct CUDA_MEMSET_NODE_PARAMS {
    pub dst: CUdeviceptr,
    pub pitch: usize,
    pub value: c_uint,
    pub elementSize: c_uint,
    pub width: usize,
    pub height: usize,
}

#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CUDA_HOST_NODE_PARAMS {
    pub function: CUhostFn,
    pub userData: *mut c_void,
}

#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CUDA_MEM_ALLOC_NODE_PARAMS {
    pub poolProps: CUmemPoolProps,
    pub accessDescs: *const CUmemAccessDesc,
    pub accessDescCount: usize,
    pub bytesize: usize,
    pub dptr: CUdeviceptr,
}

/// Parameters of a kernel node, in the layout of CUDA 10.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CUDA_KERNEL_NODE_PARAMS_v1 {
    pub func: CUfunction,
    pub gridDimX: c_uint,
    pub gridDimY: c_uint,
    pub gridDimZ: c_uint,
    pub blockDimX: c_uint,
    pub blockDimY: c_uint,
    pub blockDimZ: c_uint,
    pub sharedMemBytes: c_uint,
    pub kernelParams: *mut *mut c_void,
    pub extra: *mut *mut c_void,
}

/// Parameters of a kernel node; also `CUgraphNodeParams.params`. A null `func` means that `kern` runs in `ctx`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CUDA_KERNEL_NODE_PARAMS {
    pub v1: CUDA_KERNEL_NODE_PARAMS_v1,
    pub kern: CUkernel,
    pub ctx: CUcontext,
}

/// `CUgraphNodeParams.params` of a memcpy node.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CUDA_MEMCPY_NODE_PARAMS {
    pub flags: c_int,
    pub reserved: c_int,
    pub copyCtx: CUcontext,
    pub copyParams: CUDA_MEMCPY3D,
}

/// `CUgraphNodeParams.params` of a memset node.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CUDA_MEMSET_NODE_PARAMS_v2 {
    pub memset: CUDA_MEMSET_NODE_PARAMS,
    pub ctx: CUcontext,
}

/// `CUgraphNodeParams.params` of a child graph node.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CUDA_CHILD_GRAPH_NODE_PARAMS {
    pub graph: CUgraph,
    pub ownership: CUgraphChildGraphNodeOwnership,
}

/// A condition of a graph, as a number.
pub type CUgraphConditionalHandle = u64;

/// `CUgraphNodeParams.params` of a conditional node. The driver sets `phGraph_out` to an array of `size` graphs.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CUDA_CONDITIONAL_NODE_PARAMS {
    pub handle: CUgraphConditionalHandle,
    pub kind: CUgraphConditionalNodeType,
    pub size: c_uint,
    pub phGraph_out: *mut CUgraph,
    pub ctx: CUcontext,
}

/// A node of any kind: its kind, and room for its parameters.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CUgraphNodeParams {
    pub kind: CUgraphNodeType,
    pub reserved0: [c_int; 3],
    pub params: [u64; 29],
    pub reserved2: i64,
}

#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CUDA_GRAPH_INSTANTIATE_PARAMS {
    pub flags: u64,
    pub hUploadStream: CUstream,
    pub hErrNode_out: CUgraphNode,
    pub result_out: CUgraphInstantiateResult,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct CUgraphExecUpdateResultInfo {
    pub result: CUgraphExecUpdateResult,
    pub errorNode: CUgraphNode,
    pub errorFromNode: CUgraphNode,
}

// Sizes from the driver's header on a 64-bit machine.
const _: () = {
    assert!(size_of::<CUgraphEdgeData>() == 8);
    assert!(size_of::<CUDA_MEMSET_NODE_PARAMS>() == 40);
    assert!(size_of::<CUDA_KERNEL_NODE_PARAMS_v1>() == 56);
    assert!(size_of::<CUDA_KERNEL_NODE_PARAMS>() == 72);
    assert!(size_of::<CUDA_MEM_ALLOC_NODE_PARAMS>() == 120);
    assert!(size_of::<CUDA_MEMCPY_NODE_PARAMS>() == 216);
    assert!(size_of::<CUgraphNodeParams>() == 256);
    assert!(size_of::<CUDA_CONDITIONAL_NODE_PARAMS>() == 32);
    assert!(size_of::<CUDA_GRAPH_INSTANTIATE_PARAMS>() == 32);
};
