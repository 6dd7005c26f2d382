//! The driver's documented entry points that no crate here implements.
//!
//! A program that resolves all symbols at load does not start without them, even if it never calls them. So the
//! simulator exports them, and a call returns `CUDA_ERROR_NOT_SUPPORTED`.
//!
//! Each group has the reason for its refusal, which the simulator prints. A line has the form of [`entry_points!`](crate::entry_points) without the signature:
//!
//! ```text
//! "cuMemMapArrayAsync" @ 11010 cuMemMapArrayAsync per_thread cuMemMapArrayAsync_ptsz;
//! ```
//!
//! Names and versions are those of `cudaTypedefs.h` 13.5, and of the headers for the profiler and for graphics. The
//! first group holds the signatures of CUDA 3.1 and earlier, in which a device address has 32 bits.

/// Calls the macro `$callback` with the documented entry points that [`entry_points!`](crate::entry_points) does not list.
#[macro_export]
macro_rules! unsupported_entry_points {
    ($callback:ident) => {
        $callback! {
            addresses_of_32_bits: "its addresses have 32 bits, and simulated memory lies above them: use the signature of CUDA 3.2 or later" {
                "cuMemAlloc" @ 2000 cuMemAlloc;
                "cuMemAllocPitch" @ 2000 cuMemAllocPitch;
                "cuMemFree" @ 2000 cuMemFree;
                "cuMemGetAddressRange" @ 2000 cuMemGetAddressRange;
                "cuMemHostGetDevicePointer" @ 2020 cuMemHostGetDevicePointer;
                "cuMemcpy2D" @ 2000 cuMemcpy2D;
                "cuMemcpy2DAsync" @ 2000 cuMemcpy2DAsync;
                "cuMemcpy2DUnaligned" @ 2000 cuMemcpy2DUnaligned;
                "cuMemcpy3D" @ 2000 cuMemcpy3D;
                "cuMemcpy3DAsync" @ 2000 cuMemcpy3DAsync;
                "cuMemcpyDtoD" @ 2000 cuMemcpyDtoD;
                "cuMemcpyDtoDAsync" @ 3000 cuMemcpyDtoDAsync;
                "cuMemcpyDtoH" @ 2000 cuMemcpyDtoH;
                "cuMemcpyDtoHAsync" @ 2000 cuMemcpyDtoHAsync;
                "cuMemcpyHtoD" @ 2000 cuMemcpyHtoD;
                "cuMemcpyHtoDAsync" @ 2000 cuMemcpyHtoDAsync;
                "cuMemsetD16" @ 2000 cuMemsetD16;
                "cuMemsetD2D16" @ 2000 cuMemsetD2D16;
                "cuMemsetD2D32" @ 2000 cuMemsetD2D32;
                "cuMemsetD2D8" @ 2000 cuMemsetD2D8;
                "cuMemsetD32" @ 2000 cuMemsetD32;
                "cuMemsetD8" @ 2000 cuMemsetD8;
                "cuModuleGetGlobal" @ 2000 cuModuleGetGlobal;
                "cuTexRefGetAddress" @ 2000 cuTexRefGetAddress;
                "cuTexRefSetAddress" @ 2000 cuTexRefSetAddress;
                "cuTexRefSetAddress2D" @ 2020 cuTexRefSetAddress2D;
            }
            tensor_maps: "kernels cannot copy through tensor maps here, as CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED says: copy with plain loads or cp.async" {
                "cuTensorMapEncodeIm2col" @ 12000 cuTensorMapEncodeIm2col;
                "cuTensorMapEncodeIm2colWide" @ 12080 cuTensorMapEncodeIm2colWide;
                "cuTensorMapEncodeTiled" @ 12000 cuTensorMapEncodeTiled;
                "cuTensorMapReplaceAddress" @ 12000 cuTensorMapReplaceAddress;
                "cuTensorMapSetAllocationClass" @ 13050 cuTensorMapSetAllocationClass;
            }
            arrays: "sparse and mapped arrays are not simulated: use an array or memory of cuMemAlloc" {
                "cuArray3DCreate" @ 2000 cuArray3DCreate;
                "cuArray3DGetDescriptor" @ 2000 cuArray3DGetDescriptor;
                "cuArrayCreate" @ 2000 cuArrayCreate;
                "cuArrayGetDescriptor" @ 2000 cuArrayGetDescriptor;
                "cuMemMapArrayAsync" @ 11010 cuMemMapArrayAsync per_thread cuMemMapArrayAsync_ptsz;
                "cuMemcpyAtoA" @ 2000 cuMemcpyAtoA;
                "cuMemcpyAtoD" @ 2000 cuMemcpyAtoD;
                "cuMemcpyAtoH" @ 2000 cuMemcpyAtoH;
                "cuMemcpyAtoHAsync" @ 2000 cuMemcpyAtoHAsync;
                "cuMemcpyDtoA" @ 2000 cuMemcpyDtoA;
                "cuMemcpyHtoA" @ 2000 cuMemcpyHtoA;
                "cuMemcpyHtoAAsync" @ 2000 cuMemcpyHtoAAsync;
            }
            virtual_memory: "no dma-buf exists for simulated memory, as CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED says: export with a file descriptor of cuMemExportToShareableHandle" {
                "cuMemGetHandleForAddressRange" @ 11070 cuMemGetHandleForAddressRange;
            }
            multicast_and_endpoints: "the devices have no switch between them, as CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED says: use peer access" {
                "cuDeviceGetCliqueCount" @ 13040 cuDeviceGetCliqueCount;
                "cuDeviceGetCliqueInfo" @ 13040 cuDeviceGetCliqueInfo;
                "cuDeviceGetFabricClusterUuid" @ 13040 cuDeviceGetFabricClusterUuid;
                "cuFabricCpyBatchAsync" @ 13050 cuFabricCpyBatchAsync per_thread cuFabricCpyBatchAsync_ptsz;
                "cuLogicalEndpointAddDevice" @ 13030 cuLogicalEndpointAddDevice;
                "cuLogicalEndpointBindAddr" @ 13030 cuLogicalEndpointBindAddr;
                "cuLogicalEndpointBindMem" @ 13030 cuLogicalEndpointBindMem;
                "cuLogicalEndpointCreate" @ 13030 cuLogicalEndpointCreate;
                "cuLogicalEndpointDestroy" @ 13030 cuLogicalEndpointDestroy;
                "cuLogicalEndpointExport" @ 13030 cuLogicalEndpointExport;
                "cuLogicalEndpointGetLimits" @ 13030 cuLogicalEndpointGetLimits;
                "cuLogicalEndpointIdRelease" @ 13030 cuLogicalEndpointIdRelease;
                "cuLogicalEndpointIdReserve" @ 13030 cuLogicalEndpointIdReserve;
                "cuLogicalEndpointImport" @ 13030 cuLogicalEndpointImport;
                "cuLogicalEndpointQuery" @ 13030 cuLogicalEndpointQuery;
                "cuLogicalEndpointUnbind" @ 13030 cuLogicalEndpointUnbind;
                "cuMulticastAddDevice" @ 12010 cuMulticastAddDevice;
                "cuMulticastBindAddr" @ 12010 cuMulticastBindAddr;
                "cuMulticastBindAddr" @ 13010 cuMulticastBindAddr_v2;
                "cuMulticastBindMem" @ 12010 cuMulticastBindMem;
                "cuMulticastBindMem" @ 13010 cuMulticastBindMem_v2;
                "cuMulticastCreate" @ 12010 cuMulticastCreate;
                "cuMulticastGetGranularity" @ 12010 cuMulticastGetGranularity;
                "cuMulticastUnbind" @ 12010 cuMulticastUnbind;
            }
            decompression: "no device decompresses memory, as CU_DEVICE_ATTRIBUTE_MEM_DECOMPRESS_ALGORITHM_MASK says: decompress on the host, or in a kernel" {
                "cuMemBatchDecompressAsync" @ 12060 cuMemBatchDecompressAsync per_thread cuMemBatchDecompressAsync_ptsz;
            }
            external_resources: "no graphics interface and no other device shares memory or semaphores with the simulator: use cuIpcGetMemHandle or cuMemExportToShareableHandle" {
                "cuDestroyExternalMemory" @ 10000 cuDestroyExternalMemory;
                "cuDestroyExternalSemaphore" @ 10000 cuDestroyExternalSemaphore;
                "cuDeviceGetNvSciSyncAttributes" @ 10020 cuDeviceGetNvSciSyncAttributes;
                "cuExternalMemoryGetMappedBuffer" @ 10000 cuExternalMemoryGetMappedBuffer;
                "cuExternalMemoryGetMappedMipmappedArray" @ 10000 cuExternalMemoryGetMappedMipmappedArray;
                "cuImportExternalMemory" @ 10000 cuImportExternalMemory;
                "cuImportExternalSemaphore" @ 10000 cuImportExternalSemaphore;
                "cuSignalExternalSemaphoresAsync" @ 10000 cuSignalExternalSemaphoresAsync per_thread cuSignalExternalSemaphoresAsync_ptsz;
                "cuWaitExternalSemaphoresAsync" @ 10000 cuWaitExternalSemaphoresAsync per_thread cuWaitExternalSemaphoresAsync_ptsz;
            }
            graphics: "the simulated devices draw nothing, so no graphics interface can share a resource with them" {
                "cuEGLStreamConsumerAcquireFrame" @ 7000 cuEGLStreamConsumerAcquireFrame;
                "cuEGLStreamConsumerConnect" @ 7000 cuEGLStreamConsumerConnect;
                "cuEGLStreamConsumerConnectWithFlags" @ 8000 cuEGLStreamConsumerConnectWithFlags;
                "cuEGLStreamConsumerDisconnect" @ 7000 cuEGLStreamConsumerDisconnect;
                "cuEGLStreamConsumerReleaseFrame" @ 7000 cuEGLStreamConsumerReleaseFrame;
                "cuEGLStreamProducerConnect" @ 7000 cuEGLStreamProducerConnect;
                "cuEGLStreamProducerDisconnect" @ 7000 cuEGLStreamProducerDisconnect;
                "cuEGLStreamProducerPresentFrame" @ 7000 cuEGLStreamProducerPresentFrame;
                "cuEGLStreamProducerReturnFrame" @ 7000 cuEGLStreamProducerReturnFrame;
                "cuEventCreateFromEGLSync" @ 9000 cuEventCreateFromEGLSync;
                "cuGLCtxCreate" @ 2000 cuGLCtxCreate;
                "cuGLCtxCreate" @ 3020 cuGLCtxCreate_v2;
                "cuGLGetDevices" @ 4010 cuGLGetDevices;
                "cuGLGetDevices" @ 6050 cuGLGetDevices_v2;
                "cuGLInit" @ 2000 cuGLInit;
                "cuGLMapBufferObject" @ 2000 cuGLMapBufferObject;
                "cuGLMapBufferObject" @ 3020 cuGLMapBufferObject_v2 per_thread cuGLMapBufferObject_v2_ptds;
                "cuGLMapBufferObjectAsync" @ 2030 cuGLMapBufferObjectAsync;
                "cuGLMapBufferObjectAsync" @ 3020 cuGLMapBufferObjectAsync_v2 per_thread cuGLMapBufferObjectAsync_v2_ptsz;
                "cuGLRegisterBufferObject" @ 2000 cuGLRegisterBufferObject;
                "cuGLSetBufferObjectMapFlags" @ 2030 cuGLSetBufferObjectMapFlags;
                "cuGLUnmapBufferObject" @ 2000 cuGLUnmapBufferObject;
                "cuGLUnmapBufferObjectAsync" @ 2030 cuGLUnmapBufferObjectAsync;
                "cuGLUnregisterBufferObject" @ 2000 cuGLUnregisterBufferObject;
                "cuGraphicsEGLRegisterImage" @ 7000 cuGraphicsEGLRegisterImage;
                "cuGraphicsGLRegisterBuffer" @ 3000 cuGraphicsGLRegisterBuffer;
                "cuGraphicsGLRegisterImage" @ 3000 cuGraphicsGLRegisterImage;
                "cuGraphicsMapResources" @ 3000 cuGraphicsMapResources per_thread cuGraphicsMapResources_ptsz;
                "cuGraphicsResourceGetMappedEglFrame" @ 7000 cuGraphicsResourceGetMappedEglFrame;
                "cuGraphicsResourceGetMappedMipmappedArray" @ 5000 cuGraphicsResourceGetMappedMipmappedArray;
                "cuGraphicsResourceGetMappedPointer" @ 3000 cuGraphicsResourceGetMappedPointer;
                "cuGraphicsResourceGetMappedPointer" @ 3020 cuGraphicsResourceGetMappedPointer_v2;
                "cuGraphicsResourceSetMapFlags" @ 3000 cuGraphicsResourceSetMapFlags;
                "cuGraphicsResourceSetMapFlags" @ 6050 cuGraphicsResourceSetMapFlags_v2;
                "cuGraphicsSubResourceGetMappedArray" @ 3000 cuGraphicsSubResourceGetMappedArray;
                "cuGraphicsUnmapResources" @ 3000 cuGraphicsUnmapResources per_thread cuGraphicsUnmapResources_ptsz;
                "cuGraphicsUnregisterResource" @ 3000 cuGraphicsUnregisterResource;
                "cuGraphicsVDPAURegisterOutputSurface" @ 3010 cuGraphicsVDPAURegisterOutputSurface;
                "cuGraphicsVDPAURegisterVideoSurface" @ 3010 cuGraphicsVDPAURegisterVideoSurface;
                "cuVDPAUCtxCreate" @ 3010 cuVDPAUCtxCreate;
                "cuVDPAUCtxCreate" @ 3020 cuVDPAUCtxCreate_v2;
                "cuVDPAUGetDevice" @ 3010 cuVDPAUGetDevice;
            }
            stream_attributes_and_captures: "a capture into a graphics queue is not simulated: capture into a new graph" {
                "cuStreamBeginCaptureToCig" @ 13010 cuStreamBeginCaptureToCig per_thread cuStreamBeginCaptureToCig_ptsz;
                "cuStreamEndCaptureToCig" @ 13010 cuStreamEndCaptureToCig per_thread cuStreamEndCaptureToCig_ptsz;
            }
            graph_nodes: "no semaphore can be imported: use an event node" {
                "cuGraphAddExternalSemaphoresSignalNode" @ 11020 cuGraphAddExternalSemaphoresSignalNode;
                "cuGraphAddExternalSemaphoresWaitNode" @ 11020 cuGraphAddExternalSemaphoresWaitNode;
                "cuGraphExecExternalSemaphoresSignalNodeSetParams" @ 11020 cuGraphExecExternalSemaphoresSignalNodeSetParams;
                "cuGraphExecExternalSemaphoresWaitNodeSetParams" @ 11020 cuGraphExecExternalSemaphoresWaitNodeSetParams;
                "cuGraphExternalSemaphoresSignalNodeGetParams" @ 11020 cuGraphExternalSemaphoresSignalNodeGetParams;
                "cuGraphExternalSemaphoresSignalNodeSetParams" @ 11020 cuGraphExternalSemaphoresSignalNodeSetParams;
                "cuGraphExternalSemaphoresWaitNodeGetParams" @ 11020 cuGraphExternalSemaphoresWaitNodeGetParams;
                "cuGraphExternalSemaphoresWaitNodeSetParams" @ 11020 cuGraphExternalSemaphoresWaitNodeSetParams;
            }
            checkpoints: "the memory of a simulated device belongs to the process, so no driver can save it alone: copy what you need to the host" {
                "cuCheckpointOperationComplete" @ 13040 cuCheckpointOperationComplete;
                "cuCheckpointProcessCheckpoint" @ 12080 cuCheckpointProcessCheckpoint;
                "cuCheckpointProcessGetRestoreThreadId" @ 12080 cuCheckpointProcessGetRestoreThreadId;
                "cuCheckpointProcessGetState" @ 12080 cuCheckpointProcessGetState;
                "cuCheckpointProcessLock" @ 12080 cuCheckpointProcessLock;
                "cuCheckpointProcessRestore" @ 12080 cuCheckpointProcessRestore;
                "cuCheckpointProcessUnlock" @ 12080 cuCheckpointProcessUnlock;
            }
            coredump_callbacks: "no core dump is written, so none begins or ends: read the failure in the report of findings" {
                "cuCoredumpDeregisterCompleteCallback" @ 13020 cuCoredumpDeregisterCompleteCallback;
                "cuCoredumpDeregisterStartCallback" @ 13020 cuCoredumpDeregisterStartCallback;
                "cuCoredumpRegisterCompleteCallback" @ 13020 cuCoredumpRegisterCompleteCallback;
                "cuCoredumpRegisterStartCallback" @ 13020 cuCoredumpRegisterStartCallback;
            }
            cooperation_of_devices: "kernels of several devices do not wait for each other here, as CU_DEVICE_ATTRIBUTE_COOPERATIVE_MULTI_DEVICE_LAUNCH says: launch on each device with cuLaunchCooperativeKernel, and order the launches with events" {
                "cuLaunchCooperativeKernelMultiDevice" @ 9000 cuLaunchCooperativeKernelMultiDevice;
            }
        }
    };
}

/// One line of [`unsupported_entry_points!`](crate::unsupported_entry_points).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnsupportedEntryPoint {
    /// The name under which `cuGetProcAddress` finds it.
    pub name: &'static str,
    /// The driver version (1000 × major + 10 × minor) from which `name` means this symbol.
    pub since: i32,
    /// The symbol that the shared library exports.
    pub symbol: &'static str,
    /// The symbol of the variant that reads a null stream as the per-thread default stream.
    pub per_thread: Option<&'static str>,
    /// Why it is refused, and what to do instead: a sentence without its full stop.
    pub reason: &'static str,
}

macro_rules! make_list {
    ($($group:ident: $reason:literal { $($name:literal @ $since:literal $symbol:ident $(per_thread $per_thread:ident)?;)* })*) => {
        /// Every line of [`unsupported_entry_points!`](crate::unsupported_entry_points), in the order of the list.
        pub const UNSUPPORTED_ENTRY_POINTS: &[UnsupportedEntryPoint] = &[
            $($(UnsupportedEntryPoint {
                name: $name,
                since: $since,
                symbol: stringify!($symbol),
                per_thread: make_list!(@optional $($per_thread)?),
                reason: $reason,
            },)*)*
        ];
    };
    (@optional) => { None };
    (@optional $symbol:ident) => { Some(stringify!($symbol)) };
}

crate::unsupported_entry_points!(make_list);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ENTRY_POINTS;
    use std::collections::HashSet;

    #[test]
    fn no_symbol_and_no_version_of_a_name_is_in_both_lists() {
        let mut symbols: HashSet<&str> = HashSet::new();
        let mut meanings: HashSet<(&str, i32)> = HashSet::new();
        let supported = ENTRY_POINTS.iter().map(|entry| (entry.name, entry.since, entry.symbol, entry.per_thread));
        let unsupported =
            UNSUPPORTED_ENTRY_POINTS.iter().map(|entry| (entry.name, entry.since, entry.symbol, entry.per_thread));
        for (name, since, symbol, per_thread) in supported.chain(unsupported) {
            assert!(meanings.insert((name, since)), "{name} @ {since} is listed twice");
            for symbol in [Some(symbol), per_thread].into_iter().flatten() {
                assert!(symbols.insert(symbol), "{symbol} is listed twice");
            }
        }
    }
}
