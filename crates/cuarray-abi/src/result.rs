//! [`CUresult`]: the result code of every entry point.
//!
//! A newer driver may return codes that this crate does not know. With a closed Rust enum that would be undefined
//! behaviour, so the code is a number with named constants.
//!
//! Driver API: [`CUresult`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__TYPES.html).

use std::{ffi::CStr, fmt};

/// The result of a driver call; [`CUresult::CUDA_SUCCESS`] is 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct CUresult(pub u32);

macro_rules! result_codes {
    ($($name:ident = $code:literal, $text:literal;)*) => {
        impl CUresult {
            $(
                #[doc = concat!("`", stringify!($name), "` (", stringify!($code), "): ", $text, ".")]
                pub const $name: CUresult = CUresult($code);
            )*

            /// The driver's name of the code, nul-terminated, as `cuGetErrorName` returns it.
            pub const fn c_name(self) -> Option<&'static CStr> {
                match self.0 {
                    $($code => Some(const { c_str(concat!(stringify!($name), "\0")) }),)*
                    _ => None,
                }
            }

            /// A short English description, nul-terminated, as `cuGetErrorString` returns it.
            pub const fn c_description(self) -> Option<&'static CStr> {
                match self.0 {
                    $($code => Some(const { c_str(concat!($text, "\0")) }),)*
                    _ => None,
                }
            }
        }
    };
}

/// Converts a literal with exactly one nul, at its end; evaluated at compile time.
const fn c_str(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        Err(_) => panic!("a result code's text holds a nul"),
    }
}

impl CUresult {
    /// Whether this is [`CUresult::CUDA_SUCCESS`].
    pub const fn is_success(self) -> bool {
        self.0 == 0
    }

    /// The driver's name of the code, `None` for a code that this crate does not know.
    ///
    /// ```
    /// use cuarray_abi::CUresult;
    /// assert_eq!(CUresult(1).name(), Some("CUDA_ERROR_INVALID_VALUE"));
    /// assert_eq!(CUresult(123_456).name(), None);
    /// ```
    pub fn name(self) -> Option<&'static str> {
        self.c_name().and_then(|name| name.to_str().ok())
    }

    /// A short English description, `None` for a code that this crate does not know.
    pub fn description(self) -> Option<&'static str> {
        self.c_description().and_then(|text| text.to_str().ok())
    }
}

impl fmt::Debug for CUresult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "CUresult({})", self.0),
        }
    }
}

result_codes! {
    CUDA_SUCCESS = 0, "no error";
    CUDA_ERROR_INVALID_VALUE = 1, "invalid argument";
    CUDA_ERROR_OUT_OF_MEMORY = 2, "out of memory";
    CUDA_ERROR_NOT_INITIALIZED = 3, "initialization error";
    CUDA_ERROR_DEINITIALIZED = 4, "driver shutting down";
    CUDA_ERROR_PROFILER_DISABLED = 5, "profiler disabled";
    CUDA_ERROR_PROFILER_NOT_INITIALIZED = 6, "profiler not initialized";
    CUDA_ERROR_PROFILER_ALREADY_STARTED = 7, "profiler already started";
    CUDA_ERROR_PROFILER_ALREADY_STOPPED = 8, "profiler already stopped";
    CUDA_ERROR_STUB_LIBRARY = 34, "stub library";
    CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER = 36, "call requires newer driver";
    CUDA_ERROR_DEVICE_UNAVAILABLE = 46, "device unavailable";
    CUDA_ERROR_NO_DEVICE = 100, "no CUDA-capable device is detected";
    CUDA_ERROR_INVALID_DEVICE = 101, "invalid device ordinal";
    CUDA_ERROR_DEVICE_NOT_LICENSED = 102, "device not licensed";
    CUDA_ERROR_INVALID_IMAGE = 200, "device kernel image is invalid";
    CUDA_ERROR_INVALID_CONTEXT = 201, "invalid device context";
    CUDA_ERROR_CONTEXT_ALREADY_CURRENT = 202, "context already current";
    CUDA_ERROR_MAP_FAILED = 205, "map failed";
    CUDA_ERROR_UNMAP_FAILED = 206, "unmap failed";
    CUDA_ERROR_ARRAY_IS_MAPPED = 207, "array is mapped";
    CUDA_ERROR_ALREADY_MAPPED = 208, "already mapped";
    CUDA_ERROR_NO_BINARY_FOR_GPU = 209, "no kernel image is available for execution on the device";
    CUDA_ERROR_ALREADY_ACQUIRED = 210, "already acquired";
    CUDA_ERROR_NOT_MAPPED = 211, "not mapped";
    CUDA_ERROR_NOT_MAPPED_AS_ARRAY = 212, "not mapped as array";
    CUDA_ERROR_NOT_MAPPED_AS_POINTER = 213, "not mapped as pointer";
    CUDA_ERROR_ECC_UNCORRECTABLE = 214, "ecc uncorrectable";
    CUDA_ERROR_UNSUPPORTED_LIMIT = 215, "unsupported limit";
    CUDA_ERROR_CONTEXT_ALREADY_IN_USE = 216, "context already in use";
    CUDA_ERROR_PEER_ACCESS_UNSUPPORTED = 217, "peer access is not supported between these two devices";
    CUDA_ERROR_INVALID_PTX = 218, "a PTX JIT compilation failed";
    CUDA_ERROR_INVALID_GRAPHICS_CONTEXT = 219, "invalid graphics context";
    CUDA_ERROR_NVLINK_UNCORRECTABLE = 220, "nvlink uncorrectable";
    CUDA_ERROR_JIT_COMPILER_NOT_FOUND = 221, "PTX JIT compiler library not found";
    CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222, "the provided PTX was compiled with an unsupported toolchain";
    CUDA_ERROR_JIT_COMPILATION_DISABLED = 223, "jit compilation disabled";
    CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY = 224, "unsupported exec affinity";
    CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC = 225, "unsupported devside sync";
    CUDA_ERROR_CONTAINED = 226, "contained";
    CUDA_ERROR_INVALID_SOURCE = 300, "invalid source";
    CUDA_ERROR_FILE_NOT_FOUND = 301, "file not found";
    CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND = 302, "shared object symbol not found";
    CUDA_ERROR_SHARED_OBJECT_INIT_FAILED = 303, "shared object init failed";
    CUDA_ERROR_OPERATING_SYSTEM = 304, "operating system";
    CUDA_ERROR_INVALID_HANDLE = 400, "invalid resource handle";
    CUDA_ERROR_ILLEGAL_STATE = 401, "illegal state";
    CUDA_ERROR_LOSSY_QUERY = 402, "lossy query";
    CUDA_ERROR_NOT_FOUND = 500, "named symbol not found";
    CUDA_ERROR_NOT_READY = 600, "device not ready";
    CUDA_ERROR_ILLEGAL_ADDRESS = 700, "an illegal memory access was encountered";
    CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701, "too many resources requested for launch";
    CUDA_ERROR_LAUNCH_TIMEOUT = 702, "the launch timed out and was terminated";
    CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING = 703, "launch incompatible texturing";
    CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED = 704, "peer access is already enabled";
    CUDA_ERROR_PEER_ACCESS_NOT_ENABLED = 705, "peer access has not been enabled";
    CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE = 708, "cannot set while device is active in this process";
    CUDA_ERROR_CONTEXT_IS_DESTROYED = 709, "context is destroyed";
    CUDA_ERROR_ASSERT = 710, "assert";
    CUDA_ERROR_TOO_MANY_PEERS = 711, "too many peers";
    CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED = 712, "host memory already registered";
    CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED = 713, "host memory not registered";
    CUDA_ERROR_HARDWARE_STACK_ERROR = 714, "hardware stack error";
    CUDA_ERROR_ILLEGAL_INSTRUCTION = 715, "illegal instruction";
    CUDA_ERROR_MISALIGNED_ADDRESS = 716, "misaligned address";
    CUDA_ERROR_INVALID_ADDRESS_SPACE = 717, "invalid address space";
    CUDA_ERROR_INVALID_PC = 718, "invalid pc";
    CUDA_ERROR_LAUNCH_FAILED = 719, "unspecified launch failure";
    CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE = 720, "cooperative launch too large";
    CUDA_ERROR_NOT_PERMITTED = 800, "operation not permitted";
    CUDA_ERROR_NOT_SUPPORTED = 801, "operation not supported";
    CUDA_ERROR_SYSTEM_NOT_READY = 802, "system not ready";
    CUDA_ERROR_SYSTEM_DRIVER_MISMATCH = 803, "system driver mismatch";
    CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE = 804, "compat not supported on device";
    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900, "operation not permitted when stream is capturing";
    CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = 901, "operation failed due to a previous error during capture";
    CUDA_ERROR_STREAM_CAPTURE_MERGE = 902, "stream capture merge";
    CUDA_ERROR_STREAM_CAPTURE_UNMATCHED = 903, "stream capture unmatched";
    CUDA_ERROR_STREAM_CAPTURE_UNJOINED = 904, "stream capture unjoined";
    CUDA_ERROR_STREAM_CAPTURE_ISOLATION = 905, "dependency created on uncaptured work in another stream";
    CUDA_ERROR_STREAM_CAPTURE_IMPLICIT = 906, "operation would make the legacy stream depend on a capturing blocking stream";
    CUDA_ERROR_CAPTURED_EVENT = 907, "operation not permitted on an event last recorded in a capturing stream";
    CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD = 908, "stream capture wrong thread";
    CUDA_ERROR_TIMEOUT = 909, "timeout";
    CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE = 910, "graph exec update failure";
    CUDA_ERROR_EXTERNAL_DEVICE = 911, "external device";
    CUDA_ERROR_INVALID_CLUSTER_SIZE = 912, "invalid cluster size";
    CUDA_ERROR_FUNCTION_NOT_LOADED = 913, "function not loaded";
    CUDA_ERROR_INVALID_RESOURCE_TYPE = 914, "invalid resource type";
    CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION = 915, "invalid resource configuration";
    CUDA_ERROR_STREAM_DETACHED = 917, "stream detached";
    CUDA_ERROR_GRAPH_RECAPTURE_FAILURE = 918, "graph recapture failure";
    CUDA_ERROR_UNKNOWN = 999, "unknown error";
}
