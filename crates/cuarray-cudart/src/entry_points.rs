//! The single list of the runtime's entry points: every export of NVIDIA's `libcudart.so.12` and `libcudart.so.13`.
//!
//! A line has this form:
//!
//! ```text
//! both context fn cudaStreamSynchronize(stream: cudaStream_t) [twin cudaStreamSynchronize_ptsz];
//! only_12 context fn cudaMemAdvise_v1(dev_ptr: *const c_void, count: usize, advice: cudaMemoryAdvise, device: c_int) as cudaMemAdvise;
//! ```
//!
//! - the *majors* that export it: `both`, `only_12`, `only_13`;
//! - the *level*, which says what the wrapper does before it calls the chapter's function:
//!   - `refused`: no function exists; the call returns `cudaErrorNotSupported`, is counted and traced;
//!   - `raw`: nothing; the function returns the C value, and remembers no error by itself;
//!   - `host`: nothing; the function returns a [`Result`](crate::result::Result), and its error becomes the thread's last error;
//!   - `driver`: opens and initializes the driver, and passes its table of functions as the first argument;
//!   - `context`: as `driver`, and a context is current;
//! - the *function* of the chapter's module, with the parameters of the C function; types have the names of the C headers;
//! - the result, if it is not a `cudaError_t`;
//! - `as`: the exported symbol, if it is not the function's name, since the majors differ in its signature;
//! - `[twin]`: the symbol of the variant for programs with per-thread default streams. The wrapper passes it the driver's
//!   functions for per-thread default streams, so a chapter writes one function for both.
//!
//! Chapters are those of the runtime's manual, except that *Memory Management* is divided. A test compares the symbols
//! and the signatures with NVIDIA's wheels of both majors.

/// Calls the macro `$callback` with `$prefix`, and then with the whole list, chapter by chapter.
#[doc(hidden)]
#[macro_export]
macro_rules! __entry_points {
    ([$($callback:tt)*] $($prefix:tt)*) => {
        $($callback)*! {
            $($prefix)*;
            device {
                both driver fn cudaDeviceReset();
                both context fn cudaDeviceSynchronize();
                both context fn cudaDeviceSetLimit(limit: cudaLimit, value: usize);
                both context fn cudaDeviceGetLimit(p_value: *mut usize, limit: cudaLimit);
                both driver fn cudaDeviceGetTexture1DLinearMaxWidth(max_width_in_elements: *mut usize, fmt_desc: *const cudaChannelFormatDesc, device: c_int);
                both context fn cudaDeviceGetCacheConfig(p_cache_config: *mut cudaFuncCache);
                both context fn cudaDeviceGetStreamPriorityRange(least_priority: *mut c_int, greatest_priority: *mut c_int);
                both context fn cudaDeviceSetCacheConfig(cache_config: cudaFuncCache);
                both driver fn cudaDeviceGetByPCIBusId(device: *mut c_int, pci_bus_id: *const c_char);
                both driver fn cudaDeviceGetPCIBusId(pci_bus_id: *mut c_char, len: c_int, device: c_int);
                both context fn cudaDeviceFlushGPUDirectRDMAWrites(target: cudaFlushGPUDirectRDMAWritesTarget, scope: cudaFlushGPUDirectRDMAWritesScope);
                both driver fn cudaDeviceRegisterAsyncNotification(device: c_int, callback_func: cudaAsyncCallback, user_data: *mut c_void, callback: *mut cudaAsyncCallbackHandle_t);
                both driver fn cudaDeviceUnregisterAsyncNotification(device: c_int, callback: cudaAsyncCallbackHandle_t);
                both context fn cudaDeviceGetSharedMemConfig(p_config: *mut cudaSharedMemConfig);
                both context fn cudaDeviceSetSharedMemConfig(config: cudaSharedMemConfig);
                both driver fn cudaGetDeviceCount(count: *mut c_int);
                only_13 driver fn cudaGetDeviceProperties(prop: *mut cudaDeviceProp, device: c_int);
                only_12 driver fn cudaGetDeviceProperties_v1(prop: *mut cudaDeviceProp_v1, device: c_int) as cudaGetDeviceProperties;
                both driver fn cudaDeviceGetAttribute(value: *mut c_int, attr: cudaDeviceAttr, device: c_int);
                only_13 driver fn cudaDeviceGetHostAtomicCapabilities(capabilities: *mut c_uint, operations: *const cudaAtomicOperation, count: c_uint, device: c_int);
                both refused fn cudaDeviceGetNvSciSyncAttributes(nv_sci_sync_attr_list: *mut c_void, device: c_int, flags: c_int);
                only_13 driver fn cudaChooseDevice(device: *mut c_int, prop: *const cudaDeviceProp);
                only_12 driver fn cudaChooseDevice_v1(device: *mut c_int, prop: *const cudaDeviceProp) as cudaChooseDevice;
                both driver fn cudaInitDevice(device: c_int, device_flags: c_uint, flags: c_uint);
                both driver fn cudaSetDevice(device: c_int);
                both driver fn cudaGetDevice(device: *mut c_int);
                both refused fn cudaSetValidDevices(device_arr: *mut c_int, len: c_int);
                both driver fn cudaSetDeviceFlags(flags: c_uint);
                both driver fn cudaGetDeviceFlags(flags: *mut c_uint);
                only_12 driver fn cudaGetDeviceProperties_v2(prop: *mut cudaDeviceProp, device: c_int);
            }
            thread_deprecated {
                only_12 driver fn cudaThreadExit();
                only_12 context fn cudaThreadSynchronize();
                only_12 context fn cudaThreadSetLimit(limit: cudaLimit, value: usize);
                only_12 context fn cudaThreadGetLimit(p_value: *mut usize, limit: cudaLimit);
                only_12 context fn cudaThreadGetCacheConfig(p_cache_config: *mut cudaFuncCache);
                only_12 context fn cudaThreadSetCacheConfig(cache_config: cudaFuncCache);
            }
            ipc {
                both context fn cudaIpcGetEventHandle(handle: *mut cudaIpcEventHandle_t, event: cudaEvent_t);
                both context fn cudaIpcOpenEventHandle(event: *mut cudaEvent_t, handle: cudaIpcEventHandle_t);
                both context fn cudaIpcGetMemHandle(handle: *mut cudaIpcMemHandle_t, dev_ptr: *mut c_void);
                both context fn cudaIpcOpenMemHandle(dev_ptr: *mut *mut c_void, handle: cudaIpcMemHandle_t, flags: c_uint);
                both context fn cudaIpcCloseMemHandle(dev_ptr: *mut c_void);
            }
            error {
                both raw fn cudaGetLastError() -> cudaError_t;
                both raw fn cudaPeekAtLastError() -> cudaError_t;
                both raw fn cudaGetErrorName(error: cudaError_t) -> *const c_char;
                both raw fn cudaGetErrorString(error: cudaError_t) -> *const c_char;
            }
            stream {
                both context fn cudaStreamCreate(p_stream: *mut cudaStream_t);
                both context fn cudaStreamCreateWithFlags(p_stream: *mut cudaStream_t, flags: c_uint);
                both context fn cudaStreamCreateWithPriority(p_stream: *mut cudaStream_t, flags: c_uint, priority: c_int);
                both context fn cudaStreamGetPriority(h_stream: cudaStream_t, priority: *mut c_int) [twin cudaStreamGetPriority_ptsz];
                both context fn cudaStreamGetFlags(h_stream: cudaStream_t, flags: *mut c_uint) [twin cudaStreamGetFlags_ptsz];
                both context fn cudaStreamGetId(h_stream: cudaStream_t, stream_id: *mut c_ulonglong) [twin cudaStreamGetId_ptsz];
                both context fn cudaStreamGetDevice(h_stream: cudaStream_t, device: *mut c_int) [twin cudaStreamGetDevice_ptsz];
                both context fn cudaCtxResetPersistingL2Cache();
                both context fn cudaStreamCopyAttributes(dst: cudaStream_t, src: cudaStream_t) [twin cudaStreamCopyAttributes_ptsz];
                both context fn cudaStreamGetAttribute(h_stream: cudaStream_t, attr: cudaLaunchAttributeID, value_out: *mut cudaLaunchAttributeValue) [twin cudaStreamGetAttribute_ptsz];
                both context fn cudaStreamSetAttribute(h_stream: cudaStream_t, attr: cudaLaunchAttributeID, value: *const cudaLaunchAttributeValue) [twin cudaStreamSetAttribute_ptsz];
                both context fn cudaStreamDestroy(stream: cudaStream_t);
                both context fn cudaStreamWaitEvent(stream: cudaStream_t, event: cudaEvent_t, flags: c_uint) [twin cudaStreamWaitEvent_ptsz];
                both context fn cudaStreamAddCallback(stream: cudaStream_t, callback: cudaStreamCallback_t, user_data: *mut c_void, flags: c_uint) [twin cudaStreamAddCallback_ptsz];
                both context fn cudaStreamSynchronize(stream: cudaStream_t) [twin cudaStreamSynchronize_ptsz];
                both context fn cudaStreamQuery(stream: cudaStream_t) [twin cudaStreamQuery_ptsz];
                both context fn cudaStreamAttachMemAsync(stream: cudaStream_t, dev_ptr: *mut c_void, length: usize, flags: c_uint) [twin cudaStreamAttachMemAsync_ptsz];
                both context fn cudaStreamBeginCapture(stream: cudaStream_t, mode: cudaStreamCaptureMode) [twin cudaStreamBeginCapture_ptsz];
                only_13 refused fn cudaStreamBeginRecaptureToGraph(stream: cudaStream_t, mode: cudaStreamCaptureMode, graph: cudaGraph_t, callback_data: *mut cudaGraphRecaptureCallbackData) [twin cudaStreamBeginRecaptureToGraph_ptsz];
                both context fn cudaStreamBeginCaptureToGraph(stream: cudaStream_t, graph: cudaGraph_t, dependencies: *const cudaGraphNode_t, dependency_data: *const cudaGraphEdgeData, num_dependencies: usize, mode: cudaStreamCaptureMode) [twin cudaStreamBeginCaptureToGraph_ptsz];
                both driver fn cudaThreadExchangeStreamCaptureMode(mode: *mut cudaStreamCaptureMode);
                both context fn cudaStreamEndCapture(stream: cudaStream_t, p_graph: *mut cudaGraph_t) [twin cudaStreamEndCapture_ptsz];
                both context fn cudaStreamIsCapturing(stream: cudaStream_t, p_capture_status: *mut cudaStreamCaptureStatus) [twin cudaStreamIsCapturing_ptsz];
                only_13 context fn cudaStreamGetCaptureInfo(stream: cudaStream_t, capture_status_out: *mut cudaStreamCaptureStatus, id_out: *mut c_ulonglong, graph_out: *mut cudaGraph_t, dependencies_out: *mut *const cudaGraphNode_t, edge_data_out: *mut *const cudaGraphEdgeData, num_dependencies_out: *mut usize) [twin cudaStreamGetCaptureInfo_ptsz];
                only_12 context fn cudaStreamGetCaptureInfo_v1(stream: cudaStream_t, capture_status_out: *mut cudaStreamCaptureStatus, id_out: *mut c_ulonglong) as cudaStreamGetCaptureInfo [twin cudaStreamGetCaptureInfo_ptsz];
                only_13 context fn cudaStreamUpdateCaptureDependencies(stream: cudaStream_t, dependencies: *mut cudaGraphNode_t, dependency_data: *const cudaGraphEdgeData, num_dependencies: usize, flags: c_uint) [twin cudaStreamUpdateCaptureDependencies_ptsz];
                only_12 context fn cudaStreamUpdateCaptureDependencies_v1(stream: cudaStream_t, dependencies: *mut cudaGraphNode_t, num_dependencies: usize, flags: c_uint) as cudaStreamUpdateCaptureDependencies [twin cudaStreamUpdateCaptureDependencies_ptsz];
                only_12 context fn cudaStreamGetCaptureInfo_v2(stream: cudaStream_t, capture_status_out: *mut cudaStreamCaptureStatus, id_out: *mut c_ulonglong, graph_out: *mut cudaGraph_t, dependencies_out: *mut *const cudaGraphNode_t, num_dependencies_out: *mut usize) [twin cudaStreamGetCaptureInfo_v2_ptsz];
                only_12 context fn cudaStreamGetCaptureInfo_v3(stream: cudaStream_t, capture_status_out: *mut cudaStreamCaptureStatus, id_out: *mut c_ulonglong, graph_out: *mut cudaGraph_t, dependencies_out: *mut *const cudaGraphNode_t, edge_data_out: *mut *const cudaGraphEdgeData, num_dependencies_out: *mut usize) [twin cudaStreamGetCaptureInfo_v3_ptsz];
                only_12 context fn cudaStreamUpdateCaptureDependencies_v2(stream: cudaStream_t, dependencies: *mut cudaGraphNode_t, dependency_data: *const cudaGraphEdgeData, num_dependencies: usize, flags: c_uint) [twin cudaStreamUpdateCaptureDependencies_v2_ptsz];
            }
            event {
                both context fn cudaEventCreate(event: *mut cudaEvent_t);
                both context fn cudaEventCreateWithFlags(event: *mut cudaEvent_t, flags: c_uint);
                both context fn cudaEventRecord(event: cudaEvent_t, stream: cudaStream_t) [twin cudaEventRecord_ptsz];
                both context fn cudaEventRecordWithFlags(event: cudaEvent_t, stream: cudaStream_t, flags: c_uint) [twin cudaEventRecordWithFlags_ptsz];
                both context fn cudaEventQuery(event: cudaEvent_t);
                both context fn cudaEventSynchronize(event: cudaEvent_t);
                both context fn cudaEventDestroy(event: cudaEvent_t);
                both context fn cudaEventElapsedTime(ms: *mut f32, start: cudaEvent_t, end: cudaEvent_t);
                only_12 context fn cudaEventElapsedTime_v2(ms: *mut f32, start: cudaEvent_t, end: cudaEvent_t);
            }
            external {
                both refused fn cudaImportExternalMemory(ext_mem_out: *mut cudaExternalMemory_t, mem_handle_desc: *const cudaExternalMemoryHandleDesc);
                both refused fn cudaExternalMemoryGetMappedBuffer(dev_ptr: *mut *mut c_void, ext_mem: cudaExternalMemory_t, buffer_desc: *const cudaExternalMemoryBufferDesc);
                both refused fn cudaExternalMemoryGetMappedMipmappedArray(mipmap: *mut cudaMipmappedArray_t, ext_mem: cudaExternalMemory_t, mipmap_desc: *const cudaExternalMemoryMipmappedArrayDesc);
                both refused fn cudaDestroyExternalMemory(ext_mem: cudaExternalMemory_t);
                both refused fn cudaImportExternalSemaphore(ext_sem_out: *mut cudaExternalSemaphore_t, sem_handle_desc: *const cudaExternalSemaphoreHandleDesc);
                only_13 refused fn cudaSignalExternalSemaphoresAsync(ext_sem_array: *const cudaExternalSemaphore_t, params_array: *const cudaExternalSemaphoreSignalParams, num_ext_sems: c_uint, stream: cudaStream_t) [twin cudaSignalExternalSemaphoresAsync_ptsz];
                only_12 refused fn cudaSignalExternalSemaphoresAsync_v1(ext_sem_array: *const cudaExternalSemaphore_t, params_array: *const cudaExternalSemaphoreSignalParams_v1, num_ext_sems: c_uint, stream: cudaStream_t) as cudaSignalExternalSemaphoresAsync [twin cudaSignalExternalSemaphoresAsync_ptsz];
                only_13 refused fn cudaWaitExternalSemaphoresAsync(ext_sem_array: *const cudaExternalSemaphore_t, params_array: *const cudaExternalSemaphoreWaitParams, num_ext_sems: c_uint, stream: cudaStream_t) [twin cudaWaitExternalSemaphoresAsync_ptsz];
                only_12 refused fn cudaWaitExternalSemaphoresAsync_v1(ext_sem_array: *const cudaExternalSemaphore_t, params_array: *const cudaExternalSemaphoreWaitParams_v1, num_ext_sems: c_uint, stream: cudaStream_t) as cudaWaitExternalSemaphoresAsync [twin cudaWaitExternalSemaphoresAsync_ptsz];
                both refused fn cudaDestroyExternalSemaphore(ext_sem: cudaExternalSemaphore_t);
                only_12 refused fn cudaSignalExternalSemaphoresAsync_v2(ext_sem_array: *const cudaExternalSemaphore_t, params_array: *const cudaExternalSemaphoreSignalParams, num_ext_sems: c_uint, stream: cudaStream_t) [twin cudaSignalExternalSemaphoresAsync_v2_ptsz];
                only_12 refused fn cudaWaitExternalSemaphoresAsync_v2(ext_sem_array: *const cudaExternalSemaphore_t, params_array: *const cudaExternalSemaphoreWaitParams, num_ext_sems: c_uint, stream: cudaStream_t) [twin cudaWaitExternalSemaphoresAsync_v2_ptsz];
            }
            execution {
                both context fn cudaLaunchKernel(func: *const c_void, grid_dim: dim3, block_dim: dim3, args: *mut *mut c_void, shared_mem: usize, stream: cudaStream_t) [twin cudaLaunchKernel_ptsz];
                both context fn cudaLaunchKernelExC(config: *const cudaLaunchConfig_t, func: *const c_void, args: *mut *mut c_void) [twin cudaLaunchKernelExC_ptsz];
                both context fn cudaLaunchCooperativeKernel(func: *const c_void, grid_dim: dim3, block_dim: dim3, args: *mut *mut c_void, shared_mem: usize, stream: cudaStream_t) [twin cudaLaunchCooperativeKernel_ptsz];
                both context fn cudaFuncSetCacheConfig(func: *const c_void, cache_config: cudaFuncCache);
                both context fn cudaFuncGetAttributes(attr: *mut cudaFuncAttributes, func: *const c_void);
                both context fn cudaFuncSetAttribute(func: *const c_void, attr: cudaFuncAttribute, value: c_int);
                both context fn cudaFuncGetName(name: *mut *const c_char, func: *const c_void);
                both context fn cudaFuncGetParamInfo(func: *const c_void, param_index: usize, param_offset: *mut usize, param_size: *mut usize);
                only_13 context fn cudaFuncGetParamCount(func: *const c_void, param_count: *mut usize);
                both context fn cudaLaunchHostFunc(stream: cudaStream_t, fn_: cudaHostFn_t, user_data: *mut c_void) [twin cudaLaunchHostFunc_ptsz];
                only_13 context fn cudaLaunchHostFunc_v2(stream: cudaStream_t, fn_: cudaHostFn_t, user_data: *mut c_void, sync_mode: c_uint) [twin cudaLaunchHostFunc_v2_ptsz];
                both context fn cudaFuncSetSharedMemConfig(func: *const c_void, config: cudaSharedMemConfig);
                both context fn cudaGetFuncBySymbol(function_ptr: *mut cudaFunction_t, symbol_ptr: *const c_void);
                both context fn cudaGetKernel(kernel_ptr: *mut cudaKernel_t, entry_func_addr: *const c_void);
                both raw fn __cudaPushCallConfiguration(grid_dim: dim3, block_dim: dim3, shared_mem: usize, stream: cudaStream_t) -> c_uint;
                both host fn __cudaPopCallConfiguration(grid_dim: *mut dim3, block_dim: *mut dim3, shared_mem: *mut usize, stream: *mut c_void);
                both context fn __cudaLaunchKernel(kernel: cudaKernel_t, grid_dim: dim3, block_dim: dim3, args: *mut *mut c_void, shared_mem: usize, stream: cudaStream_t) [twin __cudaLaunchKernel_ptsz];
                only_12 refused fn cudaLaunchCooperativeKernelMultiDevice(launch_params_list: *mut cudaLaunchParams, num_devices: c_uint, flags: c_uint);
                only_12 host fn cudaSetDoubleForDevice(d: *mut f64);
                only_12 host fn cudaSetDoubleForHost(d: *mut f64);
            }
            occupancy {
                both context fn cudaOccupancyMaxActiveBlocksPerMultiprocessor(num_blocks: *mut c_int, func: *const c_void, block_size: c_int, dynamic_s_mem_size: usize);
                both context fn cudaOccupancyAvailableDynamicSMemPerBlock(dynamic_smem_size: *mut usize, func: *const c_void, num_blocks: c_int, block_size: c_int);
                both context fn cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(num_blocks: *mut c_int, func: *const c_void, block_size: c_int, dynamic_s_mem_size: usize, flags: c_uint);
                both context fn cudaOccupancyMaxPotentialClusterSize(cluster_size: *mut c_int, func: *const c_void, launch_config: *const cudaLaunchConfig_t);
                both context fn cudaOccupancyMaxActiveClusters(num_clusters: *mut c_int, func: *const c_void, launch_config: *const cudaLaunchConfig_t);
            }
            memory {
                both context fn cudaMallocManaged(dev_ptr: *mut *mut c_void, size: usize, flags: c_uint);
                both context fn cudaMalloc(dev_ptr: *mut *mut c_void, size: usize);
                both context fn cudaMallocHost(ptr: *mut *mut c_void, size: usize);
                both context fn cudaMallocPitch(dev_ptr: *mut *mut c_void, pitch: *mut usize, width: usize, height: usize);
                both context fn cudaFree(dev_ptr: *mut c_void);
                both context fn cudaFreeHost(ptr: *mut c_void);
                both context fn cudaHostAlloc(p_host: *mut *mut c_void, size: usize, flags: c_uint);
                both context fn cudaHostRegister(ptr: *mut c_void, size: usize, flags: c_uint);
                both context fn cudaHostUnregister(ptr: *mut c_void);
                both context fn cudaHostGetDevicePointer(p_device: *mut *mut c_void, p_host: *mut c_void, flags: c_uint);
                both context fn cudaHostGetFlags(p_flags: *mut c_uint, p_host: *mut c_void);
                both context fn cudaMalloc3D(pitched_dev_ptr: *mut cudaPitchedPtr, extent: cudaExtent);
                both context fn cudaMemGetInfo(free: *mut usize, total: *mut usize);
                only_13 context fn cudaMemPrefetchAsync(dev_ptr: *const c_void, count: usize, location: cudaMemLocation, flags: c_uint, stream: cudaStream_t) [twin cudaMemPrefetchAsync_ptsz];
                only_12 context fn cudaMemPrefetchAsync_v1(dev_ptr: *const c_void, count: usize, dst_device: c_int, stream: cudaStream_t) as cudaMemPrefetchAsync [twin cudaMemPrefetchAsync_ptsz];
                only_13 context fn cudaMemPrefetchBatchAsync(dptrs: *mut *mut c_void, sizes: *mut usize, count: usize, prefetch_locs: *mut cudaMemLocation, prefetch_loc_idxs: *mut usize, num_prefetch_locs: usize, flags: c_ulonglong, stream: cudaStream_t) [twin cudaMemPrefetchBatchAsync_ptsz];
                only_13 context fn cudaMemDiscardBatchAsync(dptrs: *mut *mut c_void, sizes: *mut usize, count: usize, flags: c_ulonglong, stream: cudaStream_t) [twin cudaMemDiscardBatchAsync_ptsz];
                only_13 context fn cudaMemDiscardAndPrefetchBatchAsync(dptrs: *mut *mut c_void, sizes: *mut usize, count: usize, prefetch_locs: *mut cudaMemLocation, prefetch_loc_idxs: *mut usize, num_prefetch_locs: usize, flags: c_ulonglong, stream: cudaStream_t) [twin cudaMemDiscardAndPrefetchBatchAsync_ptsz];
                only_13 context fn cudaMemGetLocationInfo(dev_ptr: *mut c_void, size: usize, summary_granularity: usize, sampling_granularity: usize, location_out: *mut cudaMemLocation);
                only_13 context fn cudaMemAdvise(dev_ptr: *const c_void, count: usize, advice: cudaMemoryAdvise, location: cudaMemLocation);
                only_12 context fn cudaMemAdvise_v1(dev_ptr: *const c_void, count: usize, advice: cudaMemoryAdvise, device: c_int) as cudaMemAdvise;
                both context fn cudaMemRangeGetAttribute(data: *mut c_void, data_size: usize, attribute: cudaMemRangeAttribute, dev_ptr: *const c_void, count: usize);
                both context fn cudaMemRangeGetAttributes(data: *mut *mut c_void, data_sizes: *mut usize, attributes: *mut cudaMemRangeAttribute, num_attributes: usize, dev_ptr: *const c_void, count: usize);
                only_12 context fn cudaMemPrefetchAsync_v2(dev_ptr: *const c_void, count: usize, location: cudaMemLocation, flags: c_uint, stream: cudaStream_t) [twin cudaMemPrefetchAsync_v2_ptsz];
                only_12 context fn cudaMemAdvise_v2(dev_ptr: *const c_void, count: usize, advice: cudaMemoryAdvise, location: cudaMemLocation);
            }
            symbols {
                both context fn cudaMemcpyToSymbol(symbol: *const c_void, src: *const c_void, count: usize, offset: usize, kind: cudaMemcpyKind) [twin cudaMemcpyToSymbol_ptds];
                both context fn cudaMemcpyFromSymbol(dst: *mut c_void, symbol: *const c_void, count: usize, offset: usize, kind: cudaMemcpyKind) [twin cudaMemcpyFromSymbol_ptds];
                both context fn cudaMemcpyToSymbolAsync(symbol: *const c_void, src: *const c_void, count: usize, offset: usize, kind: cudaMemcpyKind, stream: cudaStream_t) [twin cudaMemcpyToSymbolAsync_ptsz];
                both context fn cudaMemcpyFromSymbolAsync(dst: *mut c_void, symbol: *const c_void, count: usize, offset: usize, kind: cudaMemcpyKind, stream: cudaStream_t) [twin cudaMemcpyFromSymbolAsync_ptsz];
                both context fn cudaGetSymbolAddress(dev_ptr: *mut *mut c_void, symbol: *const c_void);
                both context fn cudaGetSymbolSize(size: *mut usize, symbol: *const c_void);
            }
            transfer {
                both context fn cudaMemcpy3D(p: *const cudaMemcpy3DParms) [twin cudaMemcpy3D_ptds];
                both context fn cudaMemcpy3DPeer(p: *const cudaMemcpy3DPeerParms) [twin cudaMemcpy3DPeer_ptds];
                both context fn cudaMemcpy3DAsync(p: *const cudaMemcpy3DParms, stream: cudaStream_t) [twin cudaMemcpy3DAsync_ptsz];
                both context fn cudaMemcpy3DPeerAsync(p: *const cudaMemcpy3DPeerParms, stream: cudaStream_t) [twin cudaMemcpy3DPeerAsync_ptsz];
                both context fn cudaMemcpy(dst: *mut c_void, src: *const c_void, count: usize, kind: cudaMemcpyKind) [twin cudaMemcpy_ptds];
                both context fn cudaMemcpyPeer(dst: *mut c_void, dst_device: c_int, src: *const c_void, src_device: c_int, count: usize);
                both context fn cudaMemcpy2D(dst: *mut c_void, dpitch: usize, src: *const c_void, spitch: usize, width: usize, height: usize, kind: cudaMemcpyKind) [twin cudaMemcpy2D_ptds];
                both context fn cudaMemcpyAsync(dst: *mut c_void, src: *const c_void, count: usize, kind: cudaMemcpyKind, stream: cudaStream_t) [twin cudaMemcpyAsync_ptsz];
                both context fn cudaMemcpyPeerAsync(dst: *mut c_void, dst_device: c_int, src: *const c_void, src_device: c_int, count: usize, stream: cudaStream_t);
                only_13 context fn cudaMemcpyBatchAsync(dsts: *const *mut c_void, srcs: *const *const c_void, sizes: *const usize, count: usize, attrs: *mut cudaMemcpyAttributes, attrs_idxs: *mut usize, num_attrs: usize, stream: cudaStream_t) [twin cudaMemcpyBatchAsync_ptsz];
                only_12 context fn cudaMemcpyBatchAsync_v1(dsts: *mut *mut c_void, srcs: *mut *mut c_void, sizes: *mut usize, count: usize, attrs: *mut cudaMemcpyAttributes, attrs_idxs: *mut usize, num_attrs: usize, fail_idx: *mut usize, stream: cudaStream_t) as cudaMemcpyBatchAsync [twin cudaMemcpyBatchAsync_ptsz];
                only_13 context fn cudaMemcpy3DBatchAsync(num_ops: usize, op_list: *mut cudaMemcpy3DBatchOp, flags: c_ulonglong, stream: cudaStream_t) [twin cudaMemcpy3DBatchAsync_ptsz];
                only_12 context fn cudaMemcpy3DBatchAsync_v1(num_ops: usize, op_list: *mut cudaMemcpy3DBatchOp, fail_idx: *mut usize, flags: c_ulonglong, stream: cudaStream_t) as cudaMemcpy3DBatchAsync [twin cudaMemcpy3DBatchAsync_ptsz];
                only_13 context fn cudaMemcpyWithAttributesAsync(dst: *mut c_void, src: *const c_void, size: usize, attr: *mut cudaMemcpyAttributes, stream: cudaStream_t) [twin cudaMemcpyWithAttributesAsync_ptsz];
                only_13 context fn cudaMemcpy3DWithAttributesAsync(op: *mut cudaMemcpy3DBatchOp, flags: c_ulonglong, stream: cudaStream_t) [twin cudaMemcpy3DWithAttributesAsync_ptsz];
                both context fn cudaMemcpy2DAsync(dst: *mut c_void, dpitch: usize, src: *const c_void, spitch: usize, width: usize, height: usize, kind: cudaMemcpyKind, stream: cudaStream_t) [twin cudaMemcpy2DAsync_ptsz];
                both context fn cudaMemset(dev_ptr: *mut c_void, value: c_int, count: usize) [twin cudaMemset_ptds];
                both context fn cudaMemset2D(dev_ptr: *mut c_void, pitch: usize, value: c_int, width: usize, height: usize) [twin cudaMemset2D_ptds];
                both context fn cudaMemset3D(pitched_dev_ptr: cudaPitchedPtr, value: c_int, extent: cudaExtent) [twin cudaMemset3D_ptds];
                both context fn cudaMemsetAsync(dev_ptr: *mut c_void, value: c_int, count: usize, stream: cudaStream_t) [twin cudaMemsetAsync_ptsz];
                both context fn cudaMemset2DAsync(dev_ptr: *mut c_void, pitch: usize, value: c_int, width: usize, height: usize, stream: cudaStream_t) [twin cudaMemset2DAsync_ptsz];
                both context fn cudaMemset3DAsync(pitched_dev_ptr: cudaPitchedPtr, value: c_int, extent: cudaExtent, stream: cudaStream_t) [twin cudaMemset3DAsync_ptsz];
            }
            array {
                both context fn cudaMallocArray(array: *mut cudaArray_t, desc: *const cudaChannelFormatDesc, width: usize, height: usize, flags: c_uint);
                both context fn cudaFreeArray(array: cudaArray_t);
                both context fn cudaFreeMipmappedArray(mipmapped_array: cudaMipmappedArray_t);
                both context fn cudaMalloc3DArray(array: *mut cudaArray_t, desc: *const cudaChannelFormatDesc, extent: cudaExtent, flags: c_uint);
                both context fn cudaMallocMipmappedArray(mipmapped_array: *mut cudaMipmappedArray_t, desc: *const cudaChannelFormatDesc, extent: cudaExtent, num_levels: c_uint, flags: c_uint);
                both context fn cudaGetMipmappedArrayLevel(level_array: *mut cudaArray_t, mipmapped_array: cudaMipmappedArray_const_t, level: c_uint);
                both context fn cudaArrayGetInfo(desc: *mut cudaChannelFormatDesc, extent: *mut cudaExtent, flags: *mut c_uint, array: cudaArray_t);
                both context fn cudaArrayGetPlane(p_plane_array: *mut cudaArray_t, h_array: cudaArray_t, plane_idx: c_uint);
                both context fn cudaArrayGetMemoryRequirements(memory_requirements: *mut cudaArrayMemoryRequirements, array: cudaArray_t, device: c_int);
                both context fn cudaMipmappedArrayGetMemoryRequirements(memory_requirements: *mut cudaArrayMemoryRequirements, mipmap: cudaMipmappedArray_t, device: c_int);
                both context fn cudaArrayGetSparseProperties(sparse_properties: *mut cudaArraySparseProperties, array: cudaArray_t);
                both context fn cudaMipmappedArrayGetSparseProperties(sparse_properties: *mut cudaArraySparseProperties, mipmap: cudaMipmappedArray_t);
                both context fn cudaMemcpy2DToArray(dst: cudaArray_t, w_offset: usize, h_offset: usize, src: *const c_void, spitch: usize, width: usize, height: usize, kind: cudaMemcpyKind) [twin cudaMemcpy2DToArray_ptds];
                both context fn cudaMemcpy2DFromArray(dst: *mut c_void, dpitch: usize, src: cudaArray_const_t, w_offset: usize, h_offset: usize, width: usize, height: usize, kind: cudaMemcpyKind) [twin cudaMemcpy2DFromArray_ptds];
                both context fn cudaMemcpy2DArrayToArray(dst: cudaArray_t, w_offset_dst: usize, h_offset_dst: usize, src: cudaArray_const_t, w_offset_src: usize, h_offset_src: usize, width: usize, height: usize, kind: cudaMemcpyKind) [twin cudaMemcpy2DArrayToArray_ptds];
                both context fn cudaMemcpy2DToArrayAsync(dst: cudaArray_t, w_offset: usize, h_offset: usize, src: *const c_void, spitch: usize, width: usize, height: usize, kind: cudaMemcpyKind, stream: cudaStream_t) [twin cudaMemcpy2DToArrayAsync_ptsz];
                both context fn cudaMemcpy2DFromArrayAsync(dst: *mut c_void, dpitch: usize, src: cudaArray_const_t, w_offset: usize, h_offset: usize, width: usize, height: usize, kind: cudaMemcpyKind, stream: cudaStream_t) [twin cudaMemcpy2DFromArrayAsync_ptsz];
                both context fn cudaMemcpyToArray(dst: cudaArray_t, w_offset: usize, h_offset: usize, src: *const c_void, count: usize, kind: cudaMemcpyKind) [twin cudaMemcpyToArray_ptds];
                both context fn cudaMemcpyFromArray(dst: *mut c_void, src: cudaArray_const_t, w_offset: usize, h_offset: usize, count: usize, kind: cudaMemcpyKind) [twin cudaMemcpyFromArray_ptds];
                both context fn cudaMemcpyArrayToArray(dst: cudaArray_t, w_offset_dst: usize, h_offset_dst: usize, src: cudaArray_const_t, w_offset_src: usize, h_offset_src: usize, count: usize, kind: cudaMemcpyKind) [twin cudaMemcpyArrayToArray_ptds];
                both context fn cudaMemcpyToArrayAsync(dst: cudaArray_t, w_offset: usize, h_offset: usize, src: *const c_void, count: usize, kind: cudaMemcpyKind, stream: cudaStream_t) [twin cudaMemcpyToArrayAsync_ptsz];
                both context fn cudaMemcpyFromArrayAsync(dst: *mut c_void, src: cudaArray_const_t, w_offset: usize, h_offset: usize, count: usize, kind: cudaMemcpyKind, stream: cudaStream_t) [twin cudaMemcpyFromArrayAsync_ptsz];
            }
            pools {
                both driver fn cudaDeviceGetDefaultMemPool(mem_pool: *mut cudaMemPool_t, device: c_int);
                both driver fn cudaDeviceSetMemPool(device: c_int, mem_pool: cudaMemPool_t);
                both driver fn cudaDeviceGetMemPool(mem_pool: *mut cudaMemPool_t, device: c_int);
                both context fn cudaMallocAsync(dev_ptr: *mut *mut c_void, size: usize, h_stream: cudaStream_t) [twin cudaMallocAsync_ptsz];
                both context fn cudaFreeAsync(dev_ptr: *mut c_void, h_stream: cudaStream_t) [twin cudaFreeAsync_ptsz];
                both context fn cudaMemPoolTrimTo(mem_pool: cudaMemPool_t, min_bytes_to_keep: usize);
                both context fn cudaMemPoolSetAttribute(mem_pool: cudaMemPool_t, attr: cudaMemPoolAttr, value: *mut c_void);
                both context fn cudaMemPoolGetAttribute(mem_pool: cudaMemPool_t, attr: cudaMemPoolAttr, value: *mut c_void);
                both context fn cudaMemPoolSetAccess(mem_pool: cudaMemPool_t, desc_list: *const cudaMemAccessDesc, count: usize);
                both context fn cudaMemPoolGetAccess(flags: *mut cudaMemAccessFlags, mem_pool: cudaMemPool_t, location: *mut cudaMemLocation);
                both context fn cudaMemPoolCreate(mem_pool: *mut cudaMemPool_t, pool_props: *const cudaMemPoolProps);
                both context fn cudaMemPoolDestroy(mem_pool: cudaMemPool_t);
                only_13 driver fn cudaMemGetDefaultMemPool(mem_pool: *mut cudaMemPool_t, location: *mut cudaMemLocation, type_: cudaMemAllocationType);
                only_13 driver fn cudaMemGetMemPool(mem_pool: *mut cudaMemPool_t, location: *mut cudaMemLocation, type_: cudaMemAllocationType);
                only_13 driver fn cudaMemSetMemPool(location: *mut cudaMemLocation, type_: cudaMemAllocationType, mem_pool: cudaMemPool_t);
                both context fn cudaMallocFromPoolAsync(ptr: *mut *mut c_void, size: usize, mem_pool: cudaMemPool_t, stream: cudaStream_t) [twin cudaMallocFromPoolAsync_ptsz];
                both context fn cudaMemPoolExportToShareableHandle(shareable_handle: *mut c_void, mem_pool: cudaMemPool_t, handle_type: cudaMemAllocationHandleType, flags: c_uint);
                both context fn cudaMemPoolImportFromShareableHandle(mem_pool: *mut cudaMemPool_t, shareable_handle: *mut c_void, handle_type: cudaMemAllocationHandleType, flags: c_uint);
                both context fn cudaMemPoolExportPointer(export_data: *mut cudaMemPoolPtrExportData, ptr: *mut c_void);
                both context fn cudaMemPoolImportPointer(ptr: *mut *mut c_void, mem_pool: cudaMemPool_t, export_data: *mut cudaMemPoolPtrExportData);
            }
            unified {
                only_13 context fn cudaPointerGetAttributes(attributes: *mut cudaPointerAttributes, ptr: *const c_void);
                only_12 context fn cudaPointerGetAttributes_v1(attributes: *mut cudaPointerAttributes, ptr: *const c_void) as cudaPointerGetAttributes;
            }
            peer {
                both driver fn cudaDeviceGetP2PAttribute(value: *mut c_int, attr: cudaDeviceP2PAttr, src_device: c_int, dst_device: c_int);
                only_13 driver fn cudaDeviceGetP2PAtomicCapabilities(capabilities: *mut c_uint, operations: *const cudaAtomicOperation, count: c_uint, src_device: c_int, dst_device: c_int);
                both driver fn cudaDeviceCanAccessPeer(can_access_peer: *mut c_int, device: c_int, peer_device: c_int);
                both context fn cudaDeviceEnablePeerAccess(peer_device: c_int, flags: c_uint);
                both context fn cudaDeviceDisablePeerAccess(peer_device: c_int);
            }
            graphics {
                both refused fn cudaGraphicsUnregisterResource(resource: cudaGraphicsResource_t);
                both refused fn cudaGraphicsResourceSetMapFlags(resource: cudaGraphicsResource_t, flags: c_uint);
                both refused fn cudaGraphicsMapResources(count: c_int, resources: *mut cudaGraphicsResource_t, stream: cudaStream_t);
                both refused fn cudaGraphicsUnmapResources(count: c_int, resources: *mut cudaGraphicsResource_t, stream: cudaStream_t);
                both refused fn cudaGraphicsResourceGetMappedPointer(dev_ptr: *mut *mut c_void, size: *mut usize, resource: cudaGraphicsResource_t);
                both refused fn cudaGraphicsSubResourceGetMappedArray(array: *mut cudaArray_t, resource: cudaGraphicsResource_t, array_index: c_uint, mip_level: c_uint);
                both refused fn cudaGraphicsResourceGetMappedMipmappedArray(mipmapped_array: *mut cudaMipmappedArray_t, resource: cudaGraphicsResource_t);
                both refused fn cudaEGLStreamConsumerAcquireFrame();
                both refused fn cudaEGLStreamConsumerConnect();
                both refused fn cudaEGLStreamConsumerConnectWithFlags();
                both refused fn cudaEGLStreamConsumerDisconnect();
                both refused fn cudaEGLStreamConsumerReleaseFrame();
                both refused fn cudaEGLStreamProducerConnect();
                both refused fn cudaEGLStreamProducerDisconnect();
                both refused fn cudaEGLStreamProducerPresentFrame();
                both refused fn cudaEGLStreamProducerReturnFrame();
                both refused fn cudaEventCreateFromEGLSync();
                both refused fn cudaGLGetDevices();
                both refused fn cudaGLMapBufferObject();
                both refused fn cudaGLMapBufferObjectAsync();
                both refused fn cudaGLRegisterBufferObject();
                both refused fn cudaGLSetBufferObjectMapFlags();
                both refused fn cudaGLSetGLDevice();
                both refused fn cudaGLUnmapBufferObject();
                both refused fn cudaGLUnmapBufferObjectAsync();
                both refused fn cudaGLUnregisterBufferObject();
                both refused fn cudaGraphicsEGLRegisterImage();
                both refused fn cudaGraphicsGLRegisterBuffer();
                both refused fn cudaGraphicsGLRegisterImage();
                both refused fn cudaGraphicsResourceGetMappedEglFrame();
                both refused fn cudaGraphicsVDPAURegisterOutputSurface();
                both refused fn cudaGraphicsVDPAURegisterVideoSurface();
                both refused fn cudaVDPAUGetDevice();
                both refused fn cudaVDPAUSetVDPAUDevice();
            }
            texture {
                both context fn cudaGetChannelDesc(desc: *mut cudaChannelFormatDesc, array: cudaArray_const_t);
                both raw fn cudaCreateChannelDesc(x: c_int, y: c_int, z: c_int, w: c_int, f: cudaChannelFormatKind) -> cudaChannelFormatDesc;
                only_13 context fn cudaCreateTextureObject(p_tex_object: *mut cudaTextureObject_t, p_res_desc: *const cudaResourceDesc_of_13, p_tex_desc: *const cudaTextureDesc, p_res_view_desc: *const cudaResourceViewDesc_of_13);
                only_12 context fn cudaCreateTextureObject_v1(p_tex_object: *mut cudaTextureObject_t, p_res_desc: *const cudaResourceDesc_of_12, p_tex_desc: *const cudaTextureDesc, p_res_view_desc: *const cudaResourceViewDesc_of_12) as cudaCreateTextureObject;
                both context fn cudaDestroyTextureObject(tex_object: cudaTextureObject_t);
                only_13 context fn cudaGetTextureObjectResourceDesc(p_res_desc: *mut cudaResourceDesc_of_13, tex_object: cudaTextureObject_t);
                only_12 context fn cudaGetTextureObjectResourceDesc_v1(p_res_desc: *mut cudaResourceDesc_of_12, tex_object: cudaTextureObject_t) as cudaGetTextureObjectResourceDesc;
                both context fn cudaGetTextureObjectTextureDesc(p_tex_desc: *mut cudaTextureDesc, tex_object: cudaTextureObject_t);
                only_13 context fn cudaGetTextureObjectResourceViewDesc(p_res_view_desc: *mut cudaResourceViewDesc_of_13, tex_object: cudaTextureObject_t);
                only_12 context fn cudaGetTextureObjectResourceViewDesc_v1(p_res_view_desc: *mut cudaResourceViewDesc_of_12, tex_object: cudaTextureObject_t) as cudaGetTextureObjectResourceViewDesc;
                only_13 context fn cudaCreateSurfaceObject(p_surf_object: *mut cudaSurfaceObject_t, p_res_desc: *const cudaResourceDesc_of_13);
                only_12 context fn cudaCreateSurfaceObject_v1(p_surf_object: *mut cudaSurfaceObject_t, p_res_desc: *const cudaResourceDesc_of_12) as cudaCreateSurfaceObject;
                both context fn cudaDestroySurfaceObject(surf_object: cudaSurfaceObject_t);
                only_13 context fn cudaGetSurfaceObjectResourceDesc(p_res_desc: *mut cudaResourceDesc_of_13, surf_object: cudaSurfaceObject_t);
                only_12 context fn cudaGetSurfaceObjectResourceDesc_v1(p_res_desc: *mut cudaResourceDesc_of_12, surf_object: cudaSurfaceObject_t) as cudaGetSurfaceObjectResourceDesc;
            }
            version {
                both host fn cudaDriverGetVersion(driver_version: *mut c_int);
                only_13 host fn cudaRuntimeGetVersion(runtime_version: *mut c_int);
                only_12 host fn cudaRuntimeGetVersion_v1(runtime_version: *mut c_int) as cudaRuntimeGetVersion;
            }
            error_log {
                only_13 host fn cudaLogsRegisterCallback(callback_func: cudaLogsCallback_t, user_data: *mut c_void, callback_out: *mut cudaLogsCallbackHandle);
                only_13 host fn cudaLogsUnregisterCallback(callback: cudaLogsCallbackHandle);
                only_13 host fn cudaLogsCurrent(iterator_out: *mut cudaLogIterator, flags: c_uint);
                only_13 host fn cudaLogsDumpToFile(iterator: *mut cudaLogIterator, path_to_file: *const c_char, flags: c_uint);
                only_13 host fn cudaLogsDumpToMemory(iterator: *mut cudaLogIterator, buffer: *mut c_char, size: *mut usize, flags: c_uint);
            }
            graph {
                both driver fn cudaGraphCreate(p_graph: *mut cudaGraph_t, flags: c_uint);
                both context fn cudaGraphAddKernelNode(p_graph_node: *mut cudaGraphNode_t, graph: cudaGraph_t, p_dependencies: *const cudaGraphNode_t, num_dependencies: usize, p_node_params: *const cudaKernelNodeParams);
                both context fn cudaGraphKernelNodeGetParams(node: cudaGraphNode_t, p_node_params: *mut cudaKernelNodeParams);
                both context fn cudaGraphKernelNodeSetParams(node: cudaGraphNode_t, p_node_params: *const cudaKernelNodeParams);
                only_13 context fn cudaGraphKernelNodeCopyAttributes(h_dst: cudaGraphNode_t, h_src: cudaGraphNode_t);
                only_12 context fn cudaGraphKernelNodeCopyAttributes_v1(h_src: cudaGraphNode_t, h_dst: cudaGraphNode_t) as cudaGraphKernelNodeCopyAttributes;
                both context fn cudaGraphKernelNodeGetAttribute(h_node: cudaGraphNode_t, attr: cudaLaunchAttributeID, value_out: *mut cudaLaunchAttributeValue);
                both context fn cudaGraphKernelNodeSetAttribute(h_node: cudaGraphNode_t, attr: cudaLaunchAttributeID, value: *const cudaLaunchAttributeValue);
                both context fn cudaGraphAddMemcpyNode(p_graph_node: *mut cudaGraphNode_t, graph: cudaGraph_t, p_dependencies: *const cudaGraphNode_t, num_dependencies: usize, p_copy_params: *const cudaMemcpy3DParms);
                both context fn cudaGraphAddMemcpyNodeToSymbol(p_graph_node: *mut cudaGraphNode_t, graph: cudaGraph_t, p_dependencies: *const cudaGraphNode_t, num_dependencies: usize, symbol: *const c_void, src: *const c_void, count: usize, offset: usize, kind: cudaMemcpyKind);
                both context fn cudaGraphAddMemcpyNodeFromSymbol(p_graph_node: *mut cudaGraphNode_t, graph: cudaGraph_t, p_dependencies: *const cudaGraphNode_t, num_dependencies: usize, dst: *mut c_void, symbol: *const c_void, count: usize, offset: usize, kind: cudaMemcpyKind);
                both context fn cudaGraphAddMemcpyNode1D(p_graph_node: *mut cudaGraphNode_t, graph: cudaGraph_t, p_dependencies: *const cudaGraphNode_t, num_dependencies: usize, dst: *mut c_void, src: *const c_void, count: usize, kind: cudaMemcpyKind);
                both context fn cudaGraphMemcpyNodeGetParams(node: cudaGraphNode_t, p_node_params: *mut cudaMemcpy3DParms);
                both context fn cudaGraphMemcpyNodeSetParams(node: cudaGraphNode_t, p_node_params: *const cudaMemcpy3DParms);
                both context fn cudaGraphMemcpyNodeSetParamsToSymbol(node: cudaGraphNode_t, symbol: *const c_void, src: *const c_void, count: usize, offset: usize, kind: cudaMemcpyKind);
                both context fn cudaGraphMemcpyNodeSetParamsFromSymbol(node: cudaGraphNode_t, dst: *mut c_void, symbol: *const c_void, count: usize, offset: usize, kind: cudaMemcpyKind);
                both context fn cudaGraphMemcpyNodeSetParams1D(node: cudaGraphNode_t, dst: *mut c_void, src: *const c_void, count: usize, kind: cudaMemcpyKind);
                both context fn cudaGraphAddMemsetNode(p_graph_node: *mut cudaGraphNode_t, graph: cudaGraph_t, p_dependencies: *const cudaGraphNode_t, num_dependencies: usize, p_memset_params: *const cudaMemsetParams);
                both context fn cudaGraphMemsetNodeGetParams(node: cudaGraphNode_t, p_node_params: *mut cudaMemsetParams);
                both context fn cudaGraphMemsetNodeSetParams(node: cudaGraphNode_t, p_node_params: *const cudaMemsetParams);
                both context fn cudaGraphAddHostNode(p_graph_node: *mut cudaGraphNode_t, graph: cudaGraph_t, p_dependencies: *const cudaGraphNode_t, num_dependencies: usize, p_node_params: *const cudaHostNodeParams);
                both driver fn cudaGraphHostNodeGetParams(node: cudaGraphNode_t, p_node_params: *mut cudaHostNodeParams);
                both context fn cudaGraphHostNodeSetParams(node: cudaGraphNode_t, p_node_params: *const cudaHostNodeParams);
                both context fn cudaGraphAddChildGraphNode(p_graph_node: *mut cudaGraphNode_t, graph: cudaGraph_t, p_dependencies: *const cudaGraphNode_t, num_dependencies: usize, child_graph: cudaGraph_t);
                both driver fn cudaGraphChildGraphNodeGetGraph(node: cudaGraphNode_t, p_graph: *mut cudaGraph_t);
                both context fn cudaGraphAddEmptyNode(p_graph_node: *mut cudaGraphNode_t, graph: cudaGraph_t, p_dependencies: *const cudaGraphNode_t, num_dependencies: usize);
                both context fn cudaGraphAddEventRecordNode(p_graph_node: *mut cudaGraphNode_t, graph: cudaGraph_t, p_dependencies: *const cudaGraphNode_t, num_dependencies: usize, event: cudaEvent_t);
                both context fn cudaGraphEventRecordNodeGetEvent(node: cudaGraphNode_t, event_out: *mut cudaEvent_t);
                both context fn cudaGraphEventRecordNodeSetEvent(node: cudaGraphNode_t, event: cudaEvent_t);
                both context fn cudaGraphAddEventWaitNode(p_graph_node: *mut cudaGraphNode_t, graph: cudaGraph_t, p_dependencies: *const cudaGraphNode_t, num_dependencies: usize, event: cudaEvent_t);
                both context fn cudaGraphEventWaitNodeGetEvent(node: cudaGraphNode_t, event_out: *mut cudaEvent_t);
                both context fn cudaGraphEventWaitNodeSetEvent(node: cudaGraphNode_t, event: cudaEvent_t);
                both refused fn cudaGraphAddExternalSemaphoresSignalNode(p_graph_node: *mut cudaGraphNode_t, graph: cudaGraph_t, p_dependencies: *const cudaGraphNode_t, num_dependencies: usize, node_params: *const cudaExternalSemaphoreSignalNodeParams);
                both refused fn cudaGraphExternalSemaphoresSignalNodeGetParams(h_node: cudaGraphNode_t, params_out: *mut cudaExternalSemaphoreSignalNodeParams);
                both refused fn cudaGraphExternalSemaphoresSignalNodeSetParams(h_node: cudaGraphNode_t, node_params: *const cudaExternalSemaphoreSignalNodeParams);
                both refused fn cudaGraphAddExternalSemaphoresWaitNode(p_graph_node: *mut cudaGraphNode_t, graph: cudaGraph_t, p_dependencies: *const cudaGraphNode_t, num_dependencies: usize, node_params: *const cudaExternalSemaphoreWaitNodeParams);
                both refused fn cudaGraphExternalSemaphoresWaitNodeGetParams(h_node: cudaGraphNode_t, params_out: *mut cudaExternalSemaphoreWaitNodeParams);
                both refused fn cudaGraphExternalSemaphoresWaitNodeSetParams(h_node: cudaGraphNode_t, node_params: *const cudaExternalSemaphoreWaitNodeParams);
                both context fn cudaGraphAddMemAllocNode(p_graph_node: *mut cudaGraphNode_t, graph: cudaGraph_t, p_dependencies: *const cudaGraphNode_t, num_dependencies: usize, node_params: *mut cudaMemAllocNodeParams);
                both driver fn cudaGraphMemAllocNodeGetParams(node: cudaGraphNode_t, params_out: *mut cudaMemAllocNodeParams);
                both context fn cudaGraphAddMemFreeNode(p_graph_node: *mut cudaGraphNode_t, graph: cudaGraph_t, p_dependencies: *const cudaGraphNode_t, num_dependencies: usize, dptr: *mut c_void);
                both driver fn cudaGraphMemFreeNodeGetParams(node: cudaGraphNode_t, dptr_out: *mut c_void);
                both driver fn cudaDeviceGraphMemTrim(device: c_int);
                both driver fn cudaDeviceGetGraphMemAttribute(device: c_int, attr: cudaGraphMemAttributeType, value: *mut c_void);
                both driver fn cudaDeviceSetGraphMemAttribute(device: c_int, attr: cudaGraphMemAttributeType, value: *mut c_void);
                both driver fn cudaGraphClone(p_graph_clone: *mut cudaGraph_t, original_graph: cudaGraph_t);
                both driver fn cudaGraphNodeFindInClone(p_node: *mut cudaGraphNode_t, original_node: cudaGraphNode_t, cloned_graph: cudaGraph_t);
                both driver fn cudaGraphNodeGetType(node: cudaGraphNode_t, p_type: *mut cudaGraphNodeType);
                only_13 driver fn cudaGraphNodeGetContainingGraph(h_node: cudaGraphNode_t, ph_graph: *mut cudaGraph_t);
                only_13 driver fn cudaGraphNodeGetLocalId(h_node: cudaGraphNode_t, node_id: *mut c_uint);
                only_13 driver fn cudaGraphNodeGetToolsId(h_node: cudaGraphNode_t, tools_node_id: *mut c_ulonglong);
                only_13 driver fn cudaGraphGetId(h_graph: cudaGraph_t, graph_id: *mut c_uint);
                only_13 driver fn cudaGraphExecGetId(h_graph_exec: cudaGraphExec_t, graph_id: *mut c_uint);
                both driver fn cudaGraphGetNodes(graph: cudaGraph_t, nodes: *mut cudaGraphNode_t, num_nodes: *mut usize);
                both driver fn cudaGraphGetRootNodes(graph: cudaGraph_t, p_root_nodes: *mut cudaGraphNode_t, p_num_root_nodes: *mut usize);
                only_13 driver fn cudaGraphGetEdges(graph: cudaGraph_t, from: *mut cudaGraphNode_t, to: *mut cudaGraphNode_t, edge_data: *mut cudaGraphEdgeData, num_edges: *mut usize);
                only_12 driver fn cudaGraphGetEdges_v1(graph: cudaGraph_t, from: *mut cudaGraphNode_t, to: *mut cudaGraphNode_t, num_edges: *mut usize) as cudaGraphGetEdges;
                only_13 driver fn cudaGraphNodeGetDependencies(node: cudaGraphNode_t, p_dependencies: *mut cudaGraphNode_t, edge_data: *mut cudaGraphEdgeData, p_num_dependencies: *mut usize);
                only_12 driver fn cudaGraphNodeGetDependencies_v1(node: cudaGraphNode_t, p_dependencies: *mut cudaGraphNode_t, p_num_dependencies: *mut usize) as cudaGraphNodeGetDependencies;
                only_13 driver fn cudaGraphNodeGetDependentNodes(node: cudaGraphNode_t, p_dependent_nodes: *mut cudaGraphNode_t, edge_data: *mut cudaGraphEdgeData, p_num_dependent_nodes: *mut usize);
                only_12 driver fn cudaGraphNodeGetDependentNodes_v1(node: cudaGraphNode_t, p_dependent_nodes: *mut cudaGraphNode_t, p_num_dependent_nodes: *mut usize) as cudaGraphNodeGetDependentNodes;
                only_13 driver fn cudaGraphAddDependencies(graph: cudaGraph_t, from: *const cudaGraphNode_t, to: *const cudaGraphNode_t, edge_data: *const cudaGraphEdgeData, num_dependencies: usize);
                only_12 driver fn cudaGraphAddDependencies_v1(graph: cudaGraph_t, from: *const cudaGraphNode_t, to: *const cudaGraphNode_t, num_dependencies: usize) as cudaGraphAddDependencies;
                only_13 driver fn cudaGraphRemoveDependencies(graph: cudaGraph_t, from: *const cudaGraphNode_t, to: *const cudaGraphNode_t, edge_data: *const cudaGraphEdgeData, num_dependencies: usize);
                only_12 driver fn cudaGraphRemoveDependencies_v1(graph: cudaGraph_t, from: *const cudaGraphNode_t, to: *const cudaGraphNode_t, num_dependencies: usize) as cudaGraphRemoveDependencies;
                both driver fn cudaGraphDestroyNode(node: cudaGraphNode_t);
                both context fn cudaGraphInstantiate(p_graph_exec: *mut cudaGraphExec_t, graph: cudaGraph_t, flags: c_ulonglong);
                both context fn cudaGraphInstantiateWithFlags(p_graph_exec: *mut cudaGraphExec_t, graph: cudaGraph_t, flags: c_ulonglong);
                both context fn cudaGraphInstantiateWithParams(p_graph_exec: *mut cudaGraphExec_t, graph: cudaGraph_t, instantiate_params: *mut cudaGraphInstantiateParams) [twin cudaGraphInstantiateWithParams_ptsz];
                both driver fn cudaGraphExecGetFlags(graph_exec: cudaGraphExec_t, flags: *mut c_ulonglong);
                both context fn cudaGraphExecKernelNodeSetParams(h_graph_exec: cudaGraphExec_t, node: cudaGraphNode_t, p_node_params: *const cudaKernelNodeParams);
                both context fn cudaGraphExecMemcpyNodeSetParams(h_graph_exec: cudaGraphExec_t, node: cudaGraphNode_t, p_node_params: *const cudaMemcpy3DParms);
                both context fn cudaGraphExecMemcpyNodeSetParamsToSymbol(h_graph_exec: cudaGraphExec_t, node: cudaGraphNode_t, symbol: *const c_void, src: *const c_void, count: usize, offset: usize, kind: cudaMemcpyKind);
                both context fn cudaGraphExecMemcpyNodeSetParamsFromSymbol(h_graph_exec: cudaGraphExec_t, node: cudaGraphNode_t, dst: *mut c_void, symbol: *const c_void, count: usize, offset: usize, kind: cudaMemcpyKind);
                both context fn cudaGraphExecMemcpyNodeSetParams1D(h_graph_exec: cudaGraphExec_t, node: cudaGraphNode_t, dst: *mut c_void, src: *const c_void, count: usize, kind: cudaMemcpyKind);
                both context fn cudaGraphExecMemsetNodeSetParams(h_graph_exec: cudaGraphExec_t, node: cudaGraphNode_t, p_node_params: *const cudaMemsetParams);
                both context fn cudaGraphExecHostNodeSetParams(h_graph_exec: cudaGraphExec_t, node: cudaGraphNode_t, p_node_params: *const cudaHostNodeParams);
                both context fn cudaGraphExecChildGraphNodeSetParams(h_graph_exec: cudaGraphExec_t, node: cudaGraphNode_t, child_graph: cudaGraph_t);
                both context fn cudaGraphExecEventRecordNodeSetEvent(h_graph_exec: cudaGraphExec_t, h_node: cudaGraphNode_t, event: cudaEvent_t);
                both context fn cudaGraphExecEventWaitNodeSetEvent(h_graph_exec: cudaGraphExec_t, h_node: cudaGraphNode_t, event: cudaEvent_t);
                both refused fn cudaGraphExecExternalSemaphoresSignalNodeSetParams(h_graph_exec: cudaGraphExec_t, h_node: cudaGraphNode_t, node_params: *const cudaExternalSemaphoreSignalNodeParams);
                both refused fn cudaGraphExecExternalSemaphoresWaitNodeSetParams(h_graph_exec: cudaGraphExec_t, h_node: cudaGraphNode_t, node_params: *const cudaExternalSemaphoreWaitNodeParams);
                both context fn cudaGraphNodeSetEnabled(h_graph_exec: cudaGraphExec_t, h_node: cudaGraphNode_t, is_enabled: c_uint);
                both driver fn cudaGraphNodeGetEnabled(h_graph_exec: cudaGraphExec_t, h_node: cudaGraphNode_t, is_enabled: *mut c_uint);
                both context fn cudaGraphExecUpdate(h_graph_exec: cudaGraphExec_t, h_graph: cudaGraph_t, result_info: *mut cudaGraphExecUpdateResultInfo);
                both context fn cudaGraphUpload(graph_exec: cudaGraphExec_t, stream: cudaStream_t) [twin cudaGraphUpload_ptsz];
                both context fn cudaGraphLaunch(graph_exec: cudaGraphExec_t, stream: cudaStream_t) [twin cudaGraphLaunch_ptsz];
                both context fn cudaGraphExecDestroy(graph_exec: cudaGraphExec_t);
                both driver fn cudaGraphDestroy(graph: cudaGraph_t);
                both driver fn cudaGraphDebugDotPrint(graph: cudaGraph_t, path: *const c_char, flags: c_uint);
                both driver fn cudaUserObjectCreate(object_out: *mut cudaUserObject_t, ptr: *mut c_void, destroy: cudaHostFn_t, initial_refcount: c_uint, flags: c_uint);
                both driver fn cudaUserObjectRetain(object: cudaUserObject_t, count: c_uint);
                both driver fn cudaUserObjectRelease(object: cudaUserObject_t, count: c_uint);
                both driver fn cudaGraphRetainUserObject(graph: cudaGraph_t, object: cudaUserObject_t, count: c_uint, flags: c_uint);
                both driver fn cudaGraphReleaseUserObject(graph: cudaGraph_t, object: cudaUserObject_t, count: c_uint);
                only_13 context fn cudaGraphAddNode(p_graph_node: *mut cudaGraphNode_t, graph: cudaGraph_t, p_dependencies: *const cudaGraphNode_t, dependency_data: *const cudaGraphEdgeData, num_dependencies: usize, node_params: *mut cudaGraphNodeParams);
                only_12 context fn cudaGraphAddNode_v1(p_graph_node: *mut cudaGraphNode_t, graph: cudaGraph_t, p_dependencies: *const cudaGraphNode_t, num_dependencies: usize, node_params: *mut cudaGraphNodeParams) as cudaGraphAddNode;
                both context fn cudaGraphNodeSetParams(node: cudaGraphNode_t, node_params: *mut cudaGraphNodeParams);
                only_13 context fn cudaGraphNodeGetParams(node: cudaGraphNode_t, node_params: *mut cudaGraphNodeParams);
                both context fn cudaGraphExecNodeSetParams(graph_exec: cudaGraphExec_t, node: cudaGraphNode_t, node_params: *mut cudaGraphNodeParams);
                both context fn cudaGraphConditionalHandleCreate(p_handle_out: *mut cudaGraphConditionalHandle, graph: cudaGraph_t, default_launch_value: c_uint, flags: c_uint);
                only_13 context fn cudaGraphConditionalHandleCreate_v2(p_handle_out: *mut cudaGraphConditionalHandle, graph: cudaGraph_t, ctx: cudaExecutionContext_t, default_launch_value: c_uint, flags: c_uint);
                only_12 driver fn cudaGraphGetEdges_v2(graph: cudaGraph_t, from: *mut cudaGraphNode_t, to: *mut cudaGraphNode_t, edge_data: *mut cudaGraphEdgeData, num_edges: *mut usize);
                only_12 driver fn cudaGraphNodeGetDependencies_v2(node: cudaGraphNode_t, p_dependencies: *mut cudaGraphNode_t, edge_data: *mut cudaGraphEdgeData, p_num_dependencies: *mut usize);
                only_12 driver fn cudaGraphNodeGetDependentNodes_v2(node: cudaGraphNode_t, p_dependent_nodes: *mut cudaGraphNode_t, edge_data: *mut cudaGraphEdgeData, p_num_dependent_nodes: *mut usize);
                only_12 driver fn cudaGraphAddDependencies_v2(graph: cudaGraph_t, from: *const cudaGraphNode_t, to: *const cudaGraphNode_t, edge_data: *const cudaGraphEdgeData, num_dependencies: usize);
                only_12 driver fn cudaGraphRemoveDependencies_v2(graph: cudaGraph_t, from: *const cudaGraphNode_t, to: *const cudaGraphNode_t, edge_data: *const cudaGraphEdgeData, num_dependencies: usize);
                only_12 context fn cudaGraphAddNode_v2(p_graph_node: *mut cudaGraphNode_t, graph: cudaGraph_t, p_dependencies: *const cudaGraphNode_t, dependency_data: *const cudaGraphEdgeData, num_dependencies: usize, node_params: *mut cudaGraphNodeParams);
            }
            entry_point {
                only_13 driver fn cudaGetDriverEntryPoint(symbol: *const c_char, func_ptr: *mut *mut c_void, flags: c_ulonglong, driver_status: *mut cudaDriverEntryPointQueryResult) [twin cudaGetDriverEntryPoint_ptsz];
                only_12 driver fn cudaGetDriverEntryPoint_v1(symbol: *const c_char, func_ptr: *mut *mut c_void, flags: c_ulonglong, driver_status: *mut cudaDriverEntryPointQueryResult) as cudaGetDriverEntryPoint [twin cudaGetDriverEntryPoint_ptsz];
                both driver fn cudaGetDriverEntryPointByVersion(symbol: *const c_char, func_ptr: *mut *mut c_void, cuda_version: c_uint, flags: c_ulonglong, driver_status: *mut cudaDriverEntryPointQueryResult) [twin cudaGetDriverEntryPointByVersion_ptsz];
                both refused fn cudaGetExportTable(pp_export_table: *mut *const c_void, p_export_table_id: *const cudaUUID_t);
            }
            library {
                both driver fn cudaLibraryLoadData(library: *mut cudaLibrary_t, code: *const c_void, jit_options: *mut cudaJitOption, jit_options_values: *mut *mut c_void, num_jit_options: c_uint, library_options: *mut cudaLibraryOption, library_option_values: *mut *mut c_void, num_library_options: c_uint);
                both driver fn cudaLibraryLoadFromFile(library: *mut cudaLibrary_t, file_name: *const c_char, jit_options: *mut cudaJitOption, jit_options_values: *mut *mut c_void, num_jit_options: c_uint, library_options: *mut cudaLibraryOption, library_option_values: *mut *mut c_void, num_library_options: c_uint);
                both driver fn cudaLibraryUnload(library: cudaLibrary_t);
                both driver fn cudaLibraryGetKernel(p_kernel: *mut cudaKernel_t, library: cudaLibrary_t, name: *const c_char);
                both context fn cudaLibraryGetGlobal(dptr: *mut *mut c_void, bytes: *mut usize, library: cudaLibrary_t, name: *const c_char);
                both context fn cudaLibraryGetManaged(dptr: *mut *mut c_void, bytes: *mut usize, library: cudaLibrary_t, name: *const c_char);
                both driver fn cudaLibraryGetUnifiedFunction(fptr: *mut *mut c_void, library: cudaLibrary_t, symbol: *const c_char);
                both driver fn cudaLibraryGetKernelCount(count: *mut c_uint, lib: cudaLibrary_t);
                both driver fn cudaLibraryEnumerateKernels(kernels: *mut cudaKernel_t, num_kernels: c_uint, lib: cudaLibrary_t);
                both driver fn cudaKernelSetAttributeForDevice(kernel: cudaKernel_t, attr: cudaFuncAttribute, value: c_int, device: c_int);
            }
            execution_context {
                only_13 driver fn cudaDeviceGetDevResource(device: c_int, resource: *mut cudaDevResource, type_: cudaDevResourceType);
                only_13 driver fn cudaDevSmResourceSplitByCount(result: *mut cudaDevResource, nb_groups: *mut c_uint, input: *const cudaDevResource, remaining: *mut cudaDevResource, flags: c_uint, min_count: c_uint);
                only_13 driver fn cudaDevSmResourceSplit(result: *mut cudaDevResource, nb_groups: c_uint, input: *const cudaDevResource, remainder: *mut cudaDevResource, flags: c_uint, group_params: *mut cudaDevSmResourceGroupParams);
                only_13 driver fn cudaDevResourceGenerateDesc(ph_desc: *mut cudaDevResourceDesc_t, resources: *mut cudaDevResource, nb_resources: c_uint);
                only_13 driver fn cudaGreenCtxCreate(ph_ctx: *mut cudaExecutionContext_t, desc: cudaDevResourceDesc_t, device: c_int, flags: c_uint);
                only_13 driver fn cudaExecutionCtxDestroy(ctx: cudaExecutionContext_t);
                only_13 driver fn cudaExecutionCtxGetDevResource(ctx: cudaExecutionContext_t, resource: *mut cudaDevResource, type_: cudaDevResourceType);
                only_13 driver fn cudaExecutionCtxGetDevice(device: *mut c_int, ctx: cudaExecutionContext_t);
                only_13 driver fn cudaExecutionCtxGetId(ctx: cudaExecutionContext_t, ctx_id: *mut c_ulonglong);
                only_13 driver fn cudaExecutionCtxStreamCreate(ph_stream: *mut cudaStream_t, ctx: cudaExecutionContext_t, flags: c_uint, priority: c_int);
                only_13 driver fn cudaExecutionCtxSynchronize(ctx: cudaExecutionContext_t);
                only_13 context fn cudaStreamGetDevResource(h_stream: cudaStream_t, resource: *mut cudaDevResource, type_: cudaDevResourceType) [twin cudaStreamGetDevResource_ptsz];
                only_13 driver fn cudaExecutionCtxRecordEvent(ctx: cudaExecutionContext_t, event: cudaEvent_t);
                only_13 driver fn cudaExecutionCtxWaitEvent(ctx: cudaExecutionContext_t, event: cudaEvent_t);
                only_13 driver fn cudaDeviceGetExecutionCtx(ctx: *mut cudaExecutionContext_t, device: c_int);
            }
            profiler {
                both context fn cudaProfilerStart();
                both context fn cudaProfilerStop();
            }
            registration {
                both raw fn __cudaRegisterFatBinary(fat_cubin: *mut c_void) -> *mut *mut c_void;
                both raw fn __cudaRegisterFatBinaryEnd(fat_cubin_handle: *mut *mut c_void) -> ();
                both raw fn __cudaUnregisterFatBinary(fat_cubin_handle: *mut *mut c_void) -> ();
                both raw fn __cudaRegisterVar(fat_cubin_handle: *mut *mut c_void, host_var: *mut c_char, device_address: *mut c_char, device_name: *const c_char, ext: c_int, size: usize, constant: c_int, global: c_int) -> ();
                both raw fn __cudaRegisterManagedVar(fat_cubin_handle: *mut *mut c_void, host_var_ptr_address: *mut *mut c_void, device_address: *mut c_char, device_name: *const c_char, ext: c_int, size: usize, constant: c_int, global: c_int) -> ();
                both raw fn __cudaInitModule(fat_cubin_handle: *mut *mut c_void) -> c_char;
                both raw fn __cudaRegisterFunction(fat_cubin_handle: *mut *mut c_void, host_fun: *const c_char, device_fun: *mut c_char, device_name: *const c_char, thread_limit: c_int, tid: *mut uint3, bid: *mut uint3, b_dim: *mut dim3, g_dim: *mut dim3, w_size: *mut c_int) -> ();
                both host fn __cudaGetKernel(kernel: *mut cudaKernel_t, entry_func_addr: *const c_void);
            }
            undocumented {
                only_13 refused fn __cudaGetProcAddress();
                both refused fn __cudaRegisterHostVar();
                both refused fn __cudaRegisterUnifiedTable();
                only_13 refused fn cudaSubgridCreate();
                only_13 refused fn cudaSubgridWorkerGridCreate();
                only_13 refused fn cudaSubgridWorksetCreate();
            }
        }
    };
}
