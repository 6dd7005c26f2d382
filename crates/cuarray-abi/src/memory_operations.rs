//! The types of stream memory operations.
//!
//! Driver API: [stream memory operations](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEMOP.html).
#![allow(non_camel_case_types, non_snake_case, missing_docs)]

use crate::{CUcontext, CUdeviceptr};
use std::ffi::c_uint;

pub type CUstreamBatchMemOpType = c_uint;
pub const CU_STREAM_MEM_OP_WAIT_VALUE_32: CUstreamBatchMemOpType = 1;
pub const CU_STREAM_MEM_OP_WRITE_VALUE_32: CUstreamBatchMemOpType = 2;
pub const CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES: CUstreamBatchMemOpType = 3;
pub const CU_STREAM_MEM_OP_WAIT_VALUE_64: CUstreamBatchMemOpType = 4;
pub const CU_STREAM_MEM_OP_WRITE_VALUE_64: CUstreamBatchMemOpType = 5;
pub const CU_STREAM_MEM_OP_BARRIER: CUstreamBatchMemOpType = 6;
pub const CU_STREAM_MEM_OP_ATOMIC_REDUCTION: CUstreamBatchMemOpType = 8;
pub const CU_STREAM_WAIT_VALUE_GEQ: c_uint = 0;
pub const CU_STREAM_WAIT_VALUE_EQ: c_uint = 1;
pub const CU_STREAM_WAIT_VALUE_AND: c_uint = 2;
pub const CU_STREAM_WAIT_VALUE_NOR: c_uint = 3;
pub const CU_STREAM_WAIT_VALUE_FLUSH: c_uint = 1 << 30;
pub const CU_STREAM_WRITE_VALUE_DEFAULT: c_uint = 0;
pub const CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER: c_uint = 1;
pub const CU_STREAM_MEMORY_BARRIER_TYPE_SYS: c_uint = 0;
pub const CU_STREAM_MEMORY_BARRIER_TYPE_GPU: c_uint = 1;
pub const CU_STREAM_ATOMIC_REDUCTION_OP_ADD: c_uint = 0;
pub const CU_STREAM_ATOMIC_REDUCTION_OP_AND: c_uint = 5;
pub const CU_STREAM_ATOMIC_REDUCTION_OP_OR: c_uint = 6;
pub const CU_STREAM_ATOMIC_REDUCTION_UNSIGNED_32: c_uint = 0b01110;
pub const CU_STREAM_ATOMIC_REDUCTION_UNSIGNED_64: c_uint = 0b10110;

/// A wait or a write; `value` holds 32 bits in its first half, or 64 bits.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CUstreamMemOpValueParams {
    pub operation: CUstreamBatchMemOpType,
    pub address: CUdeviceptr,
    pub value: u64,
    pub flags: c_uint,
    pub alias: CUdeviceptr,
}

/// A barrier, or a flush of remote writes.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CUstreamMemOpFlagsParams {
    pub operation: CUstreamBatchMemOpType,
    pub flags: c_uint,
}

#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CUstreamMemOpAtomicReductionParams {
    pub operation: CUstreamBatchMemOpType,
    pub flags: c_uint,
    pub reductionOp: c_uint,
    pub dataType: c_uint,
    pub address: CUdeviceptr,
    pub value: u64,
    pub alias: CUdeviceptr,
}

/// One operation of a batch. `operation` says which member holds it.
#[derive(Clone, Copy)]
#[repr(C)]
pub union CUstreamBatchMemOpParams {
    pub operation: CUstreamBatchMemOpType,
    pub value: CUstreamMemOpValueParams,
    pub flags: CUstreamMemOpFlagsParams,
    pub atomicReduction: CUstreamMemOpAtomicReductionParams,
    pub pad: [u64; 6],
}

/// Parameters of a batch memory operation node.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CUDA_BATCH_MEM_OP_NODE_PARAMS {
    pub ctx: CUcontext,
    pub count: c_uint,
    pub paramArray: *mut CUstreamBatchMemOpParams,
    pub flags: c_uint,
}
