//! [`cudaError_t`]: the result code of the runtime's functions, and its tables of names and texts.
//!
//! Most codes have the number of the driver's code, under another name. The codes 9 to 32, 35, 37 to 69 and 98 exist in the
//! runtime only. A newer driver may return codes that no table has, so the code is a number with named constants.
//!
//! Runtime API: [error codes](https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html).
#![allow(non_upper_case_globals)]

use cuarray_abi::CUresult;
use std::ffi::CStr;
use std::fmt;

/// The result of a runtime call; [`cudaError_t::cudaSuccess`] is 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[allow(non_camel_case_types)]
#[repr(transparent)]
pub struct cudaError_t(pub u32);

/// The result of a function of a chapter.
pub(crate) type Result<T = ()> = std::result::Result<T, cudaError_t>;

/// Converts a literal with exactly one nul, at its end; evaluated at compile time.
pub(crate) const fn c_str(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        Err(_) => panic!("the text of a code holds a nul"),
    }
}

macro_rules! codes {
    ($($name:ident = $code:literal, $text:literal;)*) => {
        impl cudaError_t {
            $(
                #[doc = concat!("`", stringify!($name), "` (", stringify!($code), "): ", $text, ".")]
                pub const $name: cudaError_t = cudaError_t($code);
            )*

            /// The name of the code, `None` for a code that this crate does not know.
            pub const fn name(self) -> Option<&'static CStr> {
                match self.0 {
                    $($code => Some(const { c_str(concat!(stringify!($name), "\0")) }),)*
                    _ => None,
                }
            }

            /// A short English description, `None` for a code that this crate does not know.
            pub const fn text(self) -> Option<&'static CStr> {
                match self.0 {
                    $($code => Some(const { c_str(concat!($text, "\0")) }),)*
                    _ => None,
                }
            }
        }
    };
}

impl cudaError_t {
    /// Whether the error leaves the context unusable: every later call in it returns the error again.
    pub(crate) const fn is_sticky(self) -> bool {
        matches!(self.0, 214 | 220 | 226 | 700 | 702 | 710 | 714..=719 | 721)
    }
}

impl From<CUresult> for cudaError_t {
    /// The runtime's code for a driver's code: the same number, or `cudaErrorUnknown` where the runtime has no name for it.
    fn from(result: CUresult) -> cudaError_t {
        let code = cudaError_t(result.0);
        if code.name().is_some() { code } else { cudaError_t::cudaErrorUnknown }
    }
}

impl fmt::Debug for cudaError_t {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(&name.to_string_lossy()),
            None => write!(f, "cudaError_t({})", self.0),
        }
    }
}

codes! {
    cudaSuccess = 0, "no error";
    cudaErrorInvalidValue = 1, "invalid argument";
    cudaErrorMemoryAllocation = 2, "out of memory";
    cudaErrorInitializationError = 3, "initialization error";
    cudaErrorCudartUnloading = 4, "driver shutting down";
    cudaErrorProfilerDisabled = 5, "profiler disabled";
    cudaErrorProfilerNotInitialized = 6, "profiler not initialized";
    cudaErrorProfilerAlreadyStarted = 7, "profiler already started";
    cudaErrorProfilerAlreadyStopped = 8, "profiler already stopped";
    cudaErrorInvalidConfiguration = 9, "invalid configuration argument";
    cudaErrorVersionTranslation = 10, "version translation failed";
    cudaErrorInvalidPitchValue = 12, "invalid pitch argument";
    cudaErrorInvalidSymbol = 13, "invalid device symbol";
    cudaErrorInvalidHostPointer = 16, "invalid host pointer";
    cudaErrorInvalidDevicePointer = 17, "invalid device pointer";
    cudaErrorInvalidTexture = 18, "invalid texture reference";
    cudaErrorInvalidTextureBinding = 19, "texture is not bound to a pointer";
    cudaErrorInvalidChannelDescriptor = 20, "invalid channel descriptor";
    cudaErrorInvalidMemcpyDirection = 21, "invalid copy direction for memcpy";
    cudaErrorAddressOfConstant = 22, "address of constant was taken";
    cudaErrorTextureFetchFailed = 23, "texture fetch failed";
    cudaErrorTextureNotBound = 24, "texture is not bound";
    cudaErrorSynchronizationError = 25, "synchronization failed";
    cudaErrorInvalidFilterSetting = 26, "linear filtering is not supported for this type";
    cudaErrorInvalidNormSetting = 27, "read as normalized float is not supported for this type";
    cudaErrorMixedDeviceExecution = 28, "device and emulated code were mixed";
    cudaErrorNotYetImplemented = 31, "feature is not implemented";
    cudaErrorMemoryValueTooLarge = 32, "memory value is too large";
    cudaErrorStubLibrary = 34, "stub library";
    cudaErrorInsufficientDriver = 35, "CUDA driver version is insufficient for CUDA runtime version";
    cudaErrorCallRequiresNewerDriver = 36, "call requires newer driver";
    cudaErrorInvalidSurface = 37, "invalid surface reference";
    cudaErrorDuplicateVariableName = 43, "duplicate global variable";
    cudaErrorDuplicateTextureName = 44, "duplicate texture name";
    cudaErrorDuplicateSurfaceName = 45, "duplicate surface name";
    cudaErrorDevicesUnavailable = 46, "CUDA-capable devices are busy or unavailable";
    cudaErrorIncompatibleDriverContext = 49, "incompatible driver context";
    cudaErrorMissingConfiguration = 52, "kernel call has no launch configuration";
    cudaErrorPriorLaunchFailure = 53, "a previous kernel launch failed";
    cudaErrorLaunchMaxDepthExceeded = 65, "nested launch exceeds the maximum depth";
    cudaErrorLaunchFileScopedTex = 66, "launch has a file-scoped texture";
    cudaErrorLaunchFileScopedSurf = 67, "launch has a file-scoped surface";
    cudaErrorSyncDepthExceeded = 68, "nested synchronization exceeds the maximum depth";
    cudaErrorLaunchPendingCountExceeded = 69, "too many launches are pending";
    cudaErrorInvalidDeviceFunction = 98, "invalid device function";
    cudaErrorNoDevice = 100, "no CUDA-capable device is detected";
    cudaErrorInvalidDevice = 101, "invalid device ordinal";
    cudaErrorDeviceNotLicensed = 102, "device not licensed";
    cudaErrorSoftwareValidityNotEstablished = 103, "software validity is not established";
    cudaErrorStartupFailure = 127, "startup of the runtime failed";
    cudaErrorInvalidKernelImage = 200, "device kernel image is invalid";
    cudaErrorDeviceUninitialized = 201, "invalid device context";
    cudaErrorMapBufferObjectFailed = 205, "mapping of the buffer object failed";
    cudaErrorUnmapBufferObjectFailed = 206, "unmapping of the buffer object failed";
    cudaErrorArrayIsMapped = 207, "array is mapped";
    cudaErrorAlreadyMapped = 208, "already mapped";
    cudaErrorNoKernelImageForDevice = 209, "no kernel image is available for execution on the device";
    cudaErrorAlreadyAcquired = 210, "already acquired";
    cudaErrorNotMapped = 211, "not mapped";
    cudaErrorNotMappedAsArray = 212, "not mapped as array";
    cudaErrorNotMappedAsPointer = 213, "not mapped as pointer";
    cudaErrorECCUncorrectable = 214, "ecc uncorrectable";
    cudaErrorUnsupportedLimit = 215, "unsupported limit";
    cudaErrorDeviceAlreadyInUse = 216, "context already in use";
    cudaErrorPeerAccessUnsupported = 217, "peer access is not supported between these two devices";
    cudaErrorInvalidPtx = 218, "a PTX JIT compilation failed";
    cudaErrorInvalidGraphicsContext = 219, "invalid graphics context";
    cudaErrorNvlinkUncorrectable = 220, "nvlink uncorrectable";
    cudaErrorJitCompilerNotFound = 221, "PTX JIT compiler library not found";
    cudaErrorUnsupportedPtxVersion = 222, "the provided PTX was compiled with an unsupported toolchain";
    cudaErrorJitCompilationDisabled = 223, "jit compilation disabled";
    cudaErrorUnsupportedExecAffinity = 224, "unsupported exec affinity";
    cudaErrorUnsupportedDevSideSync = 225, "unsupported devside sync";
    cudaErrorContained = 226, "the error is contained in the context";
    cudaErrorInsufficientLoaderVersion = 227, "the loader is too old";
    cudaErrorInvalidSource = 300, "invalid source";
    cudaErrorFileNotFound = 301, "file not found";
    cudaErrorSharedObjectSymbolNotFound = 302, "shared object symbol not found";
    cudaErrorSharedObjectInitFailed = 303, "shared object init failed";
    cudaErrorOperatingSystem = 304, "operating system";
    cudaErrorInvalidResourceHandle = 400, "invalid resource handle";
    cudaErrorIllegalState = 401, "illegal state";
    cudaErrorLossyQuery = 402, "lossy query";
    cudaErrorSymbolNotFound = 500, "named symbol not found";
    cudaErrorNotReady = 600, "device not ready";
    cudaErrorIllegalAddress = 700, "an illegal memory access was encountered";
    cudaErrorLaunchOutOfResources = 701, "too many resources requested for launch";
    cudaErrorLaunchTimeout = 702, "the launch timed out and was terminated";
    cudaErrorLaunchIncompatibleTexturing = 703, "launch incompatible texturing";
    cudaErrorPeerAccessAlreadyEnabled = 704, "peer access is already enabled";
    cudaErrorPeerAccessNotEnabled = 705, "peer access has not been enabled";
    cudaErrorSetOnActiveProcess = 708, "cannot set while device is active in this process";
    cudaErrorContextIsDestroyed = 709, "context is destroyed";
    cudaErrorAssert = 710, "assert";
    cudaErrorTooManyPeers = 711, "too many peers";
    cudaErrorHostMemoryAlreadyRegistered = 712, "host memory already registered";
    cudaErrorHostMemoryNotRegistered = 713, "host memory not registered";
    cudaErrorHardwareStackError = 714, "hardware stack error";
    cudaErrorIllegalInstruction = 715, "illegal instruction";
    cudaErrorMisalignedAddress = 716, "misaligned address";
    cudaErrorInvalidAddressSpace = 717, "invalid address space";
    cudaErrorInvalidPc = 718, "invalid pc";
    cudaErrorLaunchFailure = 719, "unspecified launch failure";
    cudaErrorCooperativeLaunchTooLarge = 720, "cooperative launch too large";
    cudaErrorTensorMemoryLeak = 721, "tensor memory was not freed by a kernel";
    cudaErrorNotPermitted = 800, "operation not permitted";
    cudaErrorNotSupported = 801, "operation not supported";
    cudaErrorSystemNotReady = 802, "system not ready";
    cudaErrorSystemDriverMismatch = 803, "system driver mismatch";
    cudaErrorCompatNotSupportedOnDevice = 804, "compat not supported on device";
    cudaErrorMpsConnectionFailed = 805, "connection to the MPS daemon failed";
    cudaErrorMpsRpcFailure = 806, "remote call to the MPS server failed";
    cudaErrorMpsServerNotReady = 807, "the MPS server is not ready";
    cudaErrorMpsMaxClientsReached = 808, "the MPS server has the maximum number of clients";
    cudaErrorMpsMaxConnectionsReached = 809, "the MPS server has the maximum number of device connections";
    cudaErrorMpsClientTerminated = 810, "the MPS client was terminated";
    cudaErrorCdpNotSupported = 811, "the module uses dynamic parallelism, which is not supported";
    cudaErrorCdpVersionMismatch = 812, "the module has an incompatible version of dynamic parallelism";
    cudaErrorStreamCaptureUnsupported = 900, "operation not permitted when stream is capturing";
    cudaErrorStreamCaptureInvalidated = 901, "operation failed due to a previous error during capture";
    cudaErrorStreamCaptureMerge = 902, "stream capture merge";
    cudaErrorStreamCaptureUnmatched = 903, "stream capture unmatched";
    cudaErrorStreamCaptureUnjoined = 904, "stream capture unjoined";
    cudaErrorStreamCaptureIsolation = 905, "dependency created on uncaptured work in another stream";
    cudaErrorStreamCaptureImplicit = 906, "operation would make the legacy stream depend on a capturing blocking stream";
    cudaErrorCapturedEvent = 907, "operation not permitted on an event last recorded in a capturing stream";
    cudaErrorStreamCaptureWrongThread = 908, "stream capture wrong thread";
    cudaErrorTimeout = 909, "timeout";
    cudaErrorGraphExecUpdateFailure = 910, "graph exec update failure";
    cudaErrorExternalDevice = 911, "external device";
    cudaErrorInvalidClusterSize = 912, "invalid cluster size";
    cudaErrorFunctionNotLoaded = 913, "function not loaded";
    cudaErrorInvalidResourceType = 914, "invalid resource type";
    cudaErrorInvalidResourceConfiguration = 915, "invalid resource configuration";
    cudaErrorStreamDetached = 917, "stream detached";
    cudaErrorGraphRecaptureFailure = 918, "recapture of a graph failed";
    cudaErrorFabricNotReady = 919, "the fabric is not ready";
    cudaErrorUnknown = 999, "unknown error";
    cudaErrorApiFailureBase = 10000, "API failure base";
}
