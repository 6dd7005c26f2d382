//! The driver's types that the entry points need, in the order of the manual.
//!
//! Enumerations are plain integers with named constants. With a closed Rust enum, a value from a newer driver or a
//! careless caller would be undefined behaviour.
//!
//! Driver API: [data types](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__TYPES.html).
#![allow(non_camel_case_types, non_snake_case, missing_docs)]

use crate::CUresult;
use std::ffi::{c_char, c_int, c_uchar, c_uint, c_void};

/// A device address of any memory that the device can reach. It is an integer, and this crate never dereferences it.
pub type CUdeviceptr = u64;
/// A device's ordinal.
pub type CUdevice = c_int;
/// Physical memory of `cuMemCreate`, which has no address until it is mapped.
pub type CUmemGenericAllocationHandle = u64;

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub struct $name(pub usize);
        impl $name {
            /// The null handle.
            pub const NULL: $name = $name(0);
            /// Whether this is the null handle.
            pub const fn is_null(self) -> bool { self.0 == 0 }
        }
    )*};
}
pub(crate) use handles;
handles! {
    /// A context.
    CUcontext;
    /// A stream; null, [`CU_STREAM_LEGACY`] and [`CU_STREAM_PER_THREAD`] name the default streams.
    CUstream;
    /// An event.
    CUevent;
    /// A loaded module.
    CUmodule;
    /// A kernel of a module.
    CUfunction;
    /// A loaded library (a module that belongs to no context).
    CUlibrary;
    /// A kernel of a library.
    CUkernel;
    /// A pending link.
    CUlinkState;
    /// A memory pool.
    CUmemoryPool;
    /// A graph.
    CUgraph;
    /// A node of a graph.
    CUgraphNode;
    /// An executable graph.
    CUgraphExec;
    /// A reference-counted object of the program that graphs keep alive.
    CUuserObject;
    /// A green context.
    CUgreenCtx;
}

/// The explicit handle of the legacy default stream.
pub const CU_STREAM_LEGACY: CUstream = CUstream(1);
/// The calling thread's default stream.
pub const CU_STREAM_PER_THREAD: CUstream = CUstream(2);

/// The callback of `cuStreamAddCallback`: stream, result of the stream's work, user data.
pub type CUstreamCallback = Option<unsafe extern "C" fn(CUstream, CUresult, *mut c_void)>;
/// The function of `cuLaunchHostFunc`.
pub type CUhostFn = Option<unsafe extern "C" fn(*mut c_void)>;
/// The callback that returns the dynamic shared memory for a block size.
pub type CUoccupancyB2DSize = Option<unsafe extern "C" fn(c_int) -> usize>;

macro_rules! constants {
    ($($ty:ident = $repr:ty { $($name:ident = $value:expr),* $(,)? })*) => {$(
        pub type $ty = $repr;
        $(pub const $name: $ty = $value;)*
    )*};
}
pub(crate) use constants;
constants! {
    CUmemorytype = c_uint {
        CU_MEMORYTYPE_HOST = 1, CU_MEMORYTYPE_DEVICE = 2, CU_MEMORYTYPE_ARRAY = 3, CU_MEMORYTYPE_UNIFIED = 4,
    }
    CUpointer_attribute = c_uint {
        CU_POINTER_ATTRIBUTE_CONTEXT = 1, CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2, CU_POINTER_ATTRIBUTE_DEVICE_POINTER = 3,
        CU_POINTER_ATTRIBUTE_HOST_POINTER = 4, CU_POINTER_ATTRIBUTE_P2P_TOKENS = 5, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS = 6,
        CU_POINTER_ATTRIBUTE_BUFFER_ID = 7, CU_POINTER_ATTRIBUTE_IS_MANAGED = 8, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9,
        CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE = 10, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR = 11,
        CU_POINTER_ATTRIBUTE_RANGE_SIZE = 12, CU_POINTER_ATTRIBUTE_MAPPED = 13,
        CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES = 14, CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE = 15,
        CU_POINTER_ATTRIBUTE_ACCESS_FLAGS = 16, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE = 17,
        CU_POINTER_ATTRIBUTE_MAPPING_SIZE = 18, CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR = 19,
        CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID = 20, CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE = 21,
    }
    CUmemPool_attribute = c_uint {
        CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES = 1, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC = 2,
        CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES = 3, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD = 4,
        CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT = 5, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH = 6,
        CU_MEMPOOL_ATTR_USED_MEM_CURRENT = 7, CU_MEMPOOL_ATTR_USED_MEM_HIGH = 8,
        CU_MEMPOOL_ATTR_ALLOCATION_TYPE = 9, CU_MEMPOOL_ATTR_EXPORT_HANDLE_TYPES = 10,
        CU_MEMPOOL_ATTR_LOCATION_ID = 11, CU_MEMPOOL_ATTR_LOCATION_TYPE = 12, CU_MEMPOOL_ATTR_MAX_POOL_SIZE = 13,
        CU_MEMPOOL_ATTR_HW_DECOMPRESS_ENABLED = 14, CU_MEMPOOL_ATTR_LOCALITY_DOMAIN_ID = 15,
    }
    CUmemLocationType = c_uint {
        CU_MEM_LOCATION_TYPE_INVALID = 0, CU_MEM_LOCATION_TYPE_NONE = 0, CU_MEM_LOCATION_TYPE_DEVICE = 1,
        CU_MEM_LOCATION_TYPE_HOST = 2,
        CU_MEM_LOCATION_TYPE_HOST_NUMA = 3, CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT = 4,
        CU_MEM_LOCATION_TYPE_INVISIBLE = 5, CU_MEM_LOCATION_TYPE_DEVICE_LOCALITY_DOMAIN = 6,
    }
    CUmemAllocationType = c_uint {
        CU_MEM_ALLOCATION_TYPE_INVALID = 0, CU_MEM_ALLOCATION_TYPE_PINNED = 1, CU_MEM_ALLOCATION_TYPE_MANAGED = 2,
    }
    CUmemAccess_flags = c_uint {
        CU_MEM_ACCESS_FLAGS_PROT_NONE = 0, CU_MEM_ACCESS_FLAGS_PROT_READ = 1, CU_MEM_ACCESS_FLAGS_PROT_READWRITE = 3,
    }
    CUmemAllocationHandleType = c_uint {
        CU_MEM_HANDLE_TYPE_NONE = 0, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR = 1, CU_MEM_HANDLE_TYPE_WIN32 = 2,
        CU_MEM_HANDLE_TYPE_WIN32_KMT = 4, CU_MEM_HANDLE_TYPE_FABRIC = 8,
    }
    CUmemAllocationGranularity_flags = c_uint {
        CU_MEM_ALLOC_GRANULARITY_MINIMUM = 0, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED = 1,
    }
    CUmem_range_attribute = c_uint {
        CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY = 1, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION = 2,
        CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY = 3, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION = 4,
        CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE = 5, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID = 6,
        CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE = 7, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID = 8,
    }
    CUmem_advise = c_uint {
        CU_MEM_ADVISE_SET_READ_MOSTLY = 1, CU_MEM_ADVISE_UNSET_READ_MOSTLY = 2, CU_MEM_ADVISE_SET_PREFERRED_LOCATION = 3,
        CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION = 4, CU_MEM_ADVISE_SET_ACCESSED_BY = 5, CU_MEM_ADVISE_UNSET_ACCESSED_BY = 6,
    }
    CUlimit = c_uint {
        CU_LIMIT_STACK_SIZE = 0, CU_LIMIT_PRINTF_FIFO_SIZE = 1, CU_LIMIT_MALLOC_HEAP_SIZE = 2,
        CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH = 3, CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT = 4,
        CU_LIMIT_MAX_L2_FETCH_GRANULARITY = 5, CU_LIMIT_PERSISTING_L2_CACHE_SIZE = 6,
    }
    CUdevice_P2PAttribute = c_uint {
        CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK = 1, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED = 2,
        CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED = 3, CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED = 4,
    }
    CUdriverProcAddressQueryResult = c_uint {
        CU_GET_PROC_ADDRESS_SUCCESS = 0, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND = 1,
        CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT = 2,
    }
    CUstreamCaptureStatus = c_uint {
        CU_STREAM_CAPTURE_STATUS_NONE = 0, CU_STREAM_CAPTURE_STATUS_ACTIVE = 1, CU_STREAM_CAPTURE_STATUS_INVALIDATED = 2,
    }
    CUstreamCaptureMode = c_uint {
        CU_STREAM_CAPTURE_MODE_GLOBAL = 0, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1, CU_STREAM_CAPTURE_MODE_RELAXED = 2,
    }
    CUjitInputType = c_uint {
        CU_JIT_INPUT_CUBIN = 0, CU_JIT_INPUT_PTX = 1, CU_JIT_INPUT_FATBINARY = 2, CU_JIT_INPUT_OBJECT = 3,
        CU_JIT_INPUT_LIBRARY = 4, CU_JIT_INPUT_NVVM = 5,
    }
    CUmoduleLoadingMode = c_uint { CU_MODULE_EAGER_LOADING = 1, CU_MODULE_LAZY_LOADING = 2 }
    CUdevice_attribute = c_uint {
        CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING = 41, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76, CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY = 83,
        CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS = 88, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS = 89,
        CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED = 102,
        CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED = 103,
        CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED = 115, CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES = 119,
        CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED = 125, CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID = 134,
        CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED = 141,
        CU_DEVICE_ATTRIBUTE_HOST_NUMA_MEMORY_POOLS_SUPPORTED = 142,
        CU_DEVICE_ATTRIBUTE_HOST_MEMORY_POOLS_SUPPORTED = 144,
        CU_DEVICE_ATTRIBUTE_HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED = 145,
    }
    CUfunction_attribute = c_uint {
        CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
    }
    CUfunc_cache = c_uint {
        CU_FUNC_CACHE_PREFER_NONE = 0, CU_FUNC_CACHE_PREFER_SHARED = 1, CU_FUNC_CACHE_PREFER_L1 = 2, CU_FUNC_CACHE_PREFER_EQUAL = 3,
    }
    CUsharedconfig = c_uint {}
    CUjit_option = c_uint {
        CU_JIT_MAX_REGISTERS = 0, CU_JIT_INFO_LOG_BUFFER = 3, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES = 4,
        CU_JIT_ERROR_LOG_BUFFER = 5, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,
    }
    CUlibraryOption = c_uint {}
}

/// The valid flags of `cuCtxCreate` and its variants.
pub const CU_CTX_FLAGS_MASK: c_uint = 0xff;
/// `cuStreamCreate`: a stream that synchronizes with the legacy default stream.
pub const CU_STREAM_DEFAULT: c_uint = 0;
/// `cuStreamCreate`: independent of the legacy default stream.
pub const CU_STREAM_NON_BLOCKING: c_uint = 1;
pub const CU_EVENT_DEFAULT: c_uint = 0;
pub const CU_EVENT_BLOCKING_SYNC: c_uint = 1;
pub const CU_EVENT_DISABLE_TIMING: c_uint = 2;
pub const CU_EVENT_INTERPROCESS: c_uint = 4;
pub const CU_MEM_ATTACH_GLOBAL: c_uint = 1;
pub const CU_MEM_ATTACH_HOST: c_uint = 2;
pub const CU_MEM_ATTACH_SINGLE: c_uint = 4;
pub const CU_MEMHOSTALLOC_PORTABLE: c_uint = 1;
pub const CU_MEMHOSTALLOC_DEVICEMAP: c_uint = 2;
pub const CU_MEMHOSTALLOC_WRITECOMBINED: c_uint = 4;
pub const CU_MEMHOSTREGISTER_PORTABLE: c_uint = 1;
pub const CU_MEMHOSTREGISTER_DEVICEMAP: c_uint = 2;
pub const CU_MEMHOSTREGISTER_IOMEMORY: c_uint = 4;
pub const CU_MEMHOSTREGISTER_READ_ONLY: c_uint = 8;
/// `cuEventRecordWithFlags`: adds an event node to the graph being captured. The event creates no dependency within the graph.
pub const CU_EVENT_RECORD_EXTERNAL: c_uint = 1;
/// `cuStreamWaitEvent`: adds an event node to the graph being captured. The event creates no dependency within the graph.
pub const CU_EVENT_WAIT_EXTERNAL: c_uint = 1;
pub const CU_STREAM_ADD_CAPTURE_DEPENDENCIES: c_uint = 0;
pub const CU_STREAM_SET_CAPTURE_DEPENDENCIES: c_uint = 1;
pub const CU_USER_OBJECT_NO_DESTRUCTOR_SYNC: c_uint = 1;
pub const CU_GET_PROC_ADDRESS_LEGACY_STREAM: u64 = 1;
pub const CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM: u64 = 2;
pub const CU_DEVICE_CPU: CUdevice = -1;
pub const CU_DEVICE_INVALID: CUdevice = -2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct CUuuid {
    pub bytes: [c_uchar; 16],
}

#[derive(Clone, Copy)]
#[repr(C)]
pub struct CUipcMemHandle {
    pub reserved: [c_char; 64],
}

/// The data of `cuMemPoolExportPointer`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct CUmemPoolPtrExportData {
    pub reserved: [c_uchar; 64],
}

#[derive(Clone, Copy)]
#[repr(C)]
pub struct CUipcEventHandle {
    pub reserved: [c_char; 64],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct CUmemLocation {
    pub kind: CUmemLocationType,
    pub id: c_int,
}

#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CUmemAccessDesc {
    pub location: CUmemLocation,
    pub flags: CUmemAccess_flags,
}

/// The fields `compressionType`, `gpuDirectRDMACapable`, `usage` and `reserved` are the header's `allocFlags`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CUmemAllocationProp {
    pub kind: CUmemAllocationType,
    pub requestedHandleTypes: CUmemAllocationHandleType,
    pub location: CUmemLocation,
    pub win32HandleMetaData: *mut c_void,
    pub compressionType: c_uchar,
    pub gpuDirectRDMACapable: c_uchar,
    pub usage: u16,
    pub reserved: [c_uchar; 4],
}

#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CUmemPoolProps {
    pub allocType: CUmemAllocationType,
    pub handleTypes: CUmemAllocationHandleType,
    pub location: CUmemLocation,
    pub win32SecurityAttributes: *mut c_void,
    pub maxSize: usize,
    pub usage: u16,
    pub reserved: [c_uchar; 54],
}

/// One attribute of a launch: an id, and 64 bytes whose meaning depends on the id.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
pub struct CUlaunchAttribute {
    pub id: c_uint,
    pub pad: [c_char; 4],
    pub value: [u64; 8],
}

#[derive(Clone, Copy)]
#[repr(C)]
pub struct CUlaunchConfig {
    pub gridDimX: c_uint,
    pub gridDimY: c_uint,
    pub gridDimZ: c_uint,
    pub blockDimX: c_uint,
    pub blockDimY: c_uint,
    pub blockDimZ: c_uint,
    pub sharedMemBytes: c_uint,
    pub hStream: CUstream,
    pub attrs: *mut CUlaunchAttribute,
    pub numAttrs: c_uint,
}

/// An opaque type that is passed through and never read.
pub type CUexecAffinityParam = c_void;
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CUctxCreateParams {
    pub execAffinityParams: *mut CUexecAffinityParam,
    pub numExecAffinityParams: c_int,
    /// Parameters of a context that shares a client of graphics, as an opaque type.
    pub cigParams: *mut c_void,
}

// Sizes from the driver's header on a 64-bit machine.
const _: () = {
    assert!(size_of::<CUmemPoolProps>() == 88);
    assert!(size_of::<CUmemAllocationProp>() == 32);
    assert!(size_of::<CUlaunchAttribute>() == 72);
    assert!(size_of::<CUlaunchConfig>() == 56);
};
