//! The driver's types for its error log, for core dumps, and for notifications of a device.
//!
//! Driver API: [error logs](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__LOGS.html), [core
//! dumps](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__COREDUMP.html).
#![allow(non_camel_case_types, non_snake_case, missing_docs)]

use crate::types::{constants, handles};
use std::ffi::{c_char, c_int, c_uint, c_void};

handles! {
    /// A registered function that receives messages of the error log.
    CUlogsCallbackHandle;
    /// A registered function that receives notifications of a device.
    CUasyncCallbackHandle;
}

constants! {
    CUlogLevel = c_uint { CU_LOG_LEVEL_ERROR = 0, CU_LOG_LEVEL_WARNING = 1 }
    CUcoredumpSettings = c_uint {
        CU_COREDUMP_ENABLE_ON_EXCEPTION = 1, CU_COREDUMP_TRIGGER_HOST = 2, CU_COREDUMP_LIGHTWEIGHT = 3,
        CU_COREDUMP_ENABLE_USER_TRIGGER = 4, CU_COREDUMP_FILE = 5, CU_COREDUMP_PIPE = 6,
        CU_COREDUMP_GENERATION_FLAGS = 7,
    }
}

/// The number of a message in the error log.
pub type CUlogIterator = c_uint;
/// Receives its data, and the level, the text and the length of a message.
pub type CUlogsCallback = Option<unsafe extern "C" fn(*mut c_void, CUlogLevel, *mut c_char, usize)>;
/// Receives a notification, its data, and its handle.
pub type CUasyncCallback = Option<unsafe extern "C" fn(*mut c_void, *mut c_void, CUasyncCallbackHandle)>;

/// The flags of `CU_COREDUMP_GENERATION_FLAGS` that the manual names.
pub const CU_COREDUMP_ALL_FLAGS: c_uint = 0x1ff | 1 << 30 | 1 << 31;
/// `cuFlushGPUDirectRDMAWrites`: the current context, the only target.
pub const CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX: c_uint = 0;
pub const CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER: c_uint = 100;
pub const CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_ALL_DEVICES: c_uint = 200;

/// Properties of a device, which attributes have replaced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct CUdevprop {
    pub maxThreadsPerBlock: c_int,
    pub maxThreadsDim: [c_int; 3],
    pub maxGridSize: [c_int; 3],
    pub sharedMemPerBlock: c_int,
    pub totalConstantMemory: c_int,
    pub SIMDWidth: c_int,
    pub memPitch: c_int,
    pub regsPerBlock: c_int,
    pub clockRate: c_int,
    pub textureAlign: c_int,
}

const _: () = assert!(size_of::<CUdevprop>() == 56);
