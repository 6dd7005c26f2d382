//! The single list of the driver's entry points.
//!
//! A driver is a table of C functions. The library calls through such a table; the simulator implements one. Both pass
//! this list to their own macros, so their signatures cannot differ.
//!
//! A line has this form:
//!
//! ```text
//! "cuMemAlloc" @ 3020 [waits locates capture_unsafe] fn cuMemAlloc_v2(dptr: *mut CUdeviceptr, bytesize: usize);
//! ```
//!
//! - the *name* that programs pass to [`cuGetProcAddress`];
//! - the driver *version* from which the name means this signature;
//! - the [*flags*](crate::Flags), if there are any;
//! - the *symbol* that the shared library exports;
//! - the parameters; every entry point returns a [`CUresult`](crate::CUresult).
//!
//! `per_thread SYMBOL` names the variant that reads a null stream as the per-thread default stream. Groups are those of
//! the driver's manual. Names and versions are those of `cudaTypedefs.h`.
//!
//! [`cuGetProcAddress`]: https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__DRIVER__ENTRY__POINT.html

/// Calls the macro `$callback` with the whole list, group by group.
///
/// Types are named without a path: the caller imports `cuarray_abi::*` and `std::ffi::{c_char, c_int, c_uint, c_void}`.
#[macro_export]
macro_rules! entry_points {
    ($callback:ident) => {
        $callback! {
            initialization {
                "cuInit" @ 2000 [initializes looks] fn cuInit(flags: c_uint);
                "cuDriverGetVersion" @ 2020 [early looks] fn cuDriverGetVersion(driver_version: *mut c_int);
                "cuGetProcAddress" @ 11030 [early looks] fn cuGetProcAddress(symbol: *const c_char, pfn: *mut *mut c_void, driver_version: c_int, flags: u64);
                "cuGetProcAddress" @ 12000 [early looks] fn cuGetProcAddress_v2(symbol: *const c_char, pfn: *mut *mut c_void, driver_version: c_int, flags: u64, symbol_found: *mut CUdriverProcAddressQueryResult) per_thread cuGetProcAddress_v2_ptsz;
                "cuGetErrorName" @ 6000 [early looks] fn cuGetErrorName(error: CUresult, p_str: *mut *const c_char);
                "cuGetErrorString" @ 6000 [early looks] fn cuGetErrorString(error: CUresult, p_str: *mut *const c_char);
                "cuGetExportTable" @ 3000 [early] fn cuGetExportTable(pp_export_table: *mut *const c_void, p_export_table_id: *const CUuuid);
            }
            device {
                "cuDeviceGet" @ 2000 [looks] fn cuDeviceGet(device: *mut CUdevice, ordinal: c_int);
                "cuDeviceGetCount" @ 2000 [looks] fn cuDeviceGetCount(count: *mut c_int);
                "cuDeviceGetName" @ 2000 fn cuDeviceGetName(name: *mut c_char, len: c_int, dev: CUdevice);
                "cuDeviceGetUuid" @ 9020 fn cuDeviceGetUuid(uuid: *mut CUuuid, dev: CUdevice);
                "cuDeviceGetUuid" @ 11040 fn cuDeviceGetUuid_v2(uuid: *mut CUuuid, dev: CUdevice);
                "cuDeviceTotalMem" @ 2000 fn cuDeviceTotalMem(bytes: *mut c_uint, dev: CUdevice);
                "cuDeviceTotalMem" @ 3020 fn cuDeviceTotalMem_v2(bytes: *mut usize, dev: CUdevice);
                "cuDeviceGetAttribute" @ 2000 fn cuDeviceGetAttribute(pi: *mut c_int, attrib: CUdevice_attribute, dev: CUdevice);
                "cuDeviceComputeCapability" @ 2000 fn cuDeviceComputeCapability(major: *mut c_int, minor: *mut c_int, dev: CUdevice);
                "cuDeviceGetPCIBusId" @ 4010 fn cuDeviceGetPCIBusId(pci_bus_id: *mut c_char, len: c_int, dev: CUdevice);
                "cuDeviceGetByPCIBusId" @ 4010 fn cuDeviceGetByPCIBusId(dev: *mut CUdevice, pci_bus_id: *const c_char);
                "cuDeviceGetDefaultMemPool" @ 11020 fn cuDeviceGetDefaultMemPool(pool_out: *mut CUmemoryPool, dev: CUdevice);
                "cuDeviceGetMemPool" @ 11020 fn cuDeviceGetMemPool(pool: *mut CUmemoryPool, dev: CUdevice);
                "cuDeviceSetMemPool" @ 11020 fn cuDeviceSetMemPool(dev: CUdevice, pool: CUmemoryPool);
                "cuDeviceCanAccessPeer" @ 4000 fn cuDeviceCanAccessPeer(can_access_peer: *mut c_int, dev: CUdevice, peer_dev: CUdevice);
                "cuDeviceGetP2PAttribute" @ 8000 fn cuDeviceGetP2PAttribute(value: *mut c_int, attrib: CUdevice_P2PAttribute, src_device: CUdevice, dst_device: CUdevice);
                "cuDeviceGetLuid" @ 10000 fn cuDeviceGetLuid(luid: *mut c_char, device_node_mask: *mut c_uint, dev: CUdevice);
                "cuDeviceGetHostAtomicCapabilities" @ 13000 fn cuDeviceGetHostAtomicCapabilities(capabilities: *mut c_uint, operations: *const c_uint, count: c_uint, dev: CUdevice);
                "cuDeviceGetP2PAtomicCapabilities" @ 13000 fn cuDeviceGetP2PAtomicCapabilities(capabilities: *mut c_uint, operations: *const c_uint, count: c_uint, src_device: CUdevice, dst_device: CUdevice);
                "cuDeviceGetTexture1DLinearMaxWidth" @ 11010 fn cuDeviceGetTexture1DLinearMaxWidth(max_width_in_elements: *mut usize, format: CUarray_format, num_channels: c_uint, dev: CUdevice);
                "cuDeviceGetExecAffinitySupport" @ 11040 fn cuDeviceGetExecAffinitySupport(pi: *mut c_int, kind: c_uint, dev: CUdevice);
                "cuDeviceGetProperties" @ 2000 fn cuDeviceGetProperties(prop: *mut CUdevprop, dev: CUdevice);
            }
            primary_context {
                "cuDevicePrimaryCtxRetain" @ 7000 [locates] fn cuDevicePrimaryCtxRetain(pctx: *mut CUcontext, dev: CUdevice);
                "cuDevicePrimaryCtxRelease" @ 7000 [locates] fn cuDevicePrimaryCtxRelease(dev: CUdevice);
                "cuDevicePrimaryCtxRelease" @ 11000 [locates] fn cuDevicePrimaryCtxRelease_v2(dev: CUdevice);
                "cuDevicePrimaryCtxSetFlags" @ 7000 [locates] fn cuDevicePrimaryCtxSetFlags(dev: CUdevice, flags: c_uint);
                "cuDevicePrimaryCtxSetFlags" @ 11000 [locates] fn cuDevicePrimaryCtxSetFlags_v2(dev: CUdevice, flags: c_uint);
                "cuDevicePrimaryCtxGetState" @ 7000 fn cuDevicePrimaryCtxGetState(dev: CUdevice, flags: *mut c_uint, active: *mut c_int);
                "cuDevicePrimaryCtxReset" @ 7000 [locates] fn cuDevicePrimaryCtxReset(dev: CUdevice);
                "cuDevicePrimaryCtxReset" @ 11000 [locates] fn cuDevicePrimaryCtxReset_v2(dev: CUdevice);
            }
            context {
                "cuCtxCreate" @ 2000 [locates] fn cuCtxCreate(pctx: *mut CUcontext, flags: c_uint, dev: CUdevice);
                "cuCtxCreate" @ 3020 [locates] fn cuCtxCreate_v2(pctx: *mut CUcontext, flags: c_uint, dev: CUdevice);
                "cuCtxCreate" @ 11040 [locates] fn cuCtxCreate_v3(pctx: *mut CUcontext, params_array: *mut CUexecAffinityParam, num_params: c_int, flags: c_uint, dev: CUdevice);
                "cuCtxCreate" @ 12050 [locates] fn cuCtxCreate_v4(pctx: *mut CUcontext, ctx_create_params: *mut CUctxCreateParams, flags: c_uint, dev: CUdevice);
                "cuCtxDestroy" @ 2000 [locates] fn cuCtxDestroy(ctx: CUcontext);
                "cuCtxDestroy" @ 4000 [locates] fn cuCtxDestroy_v2(ctx: CUcontext);
                "cuCtxPushCurrent" @ 2000 fn cuCtxPushCurrent(ctx: CUcontext);
                "cuCtxPushCurrent" @ 4000 fn cuCtxPushCurrent_v2(ctx: CUcontext);
                "cuCtxPopCurrent" @ 2000 fn cuCtxPopCurrent(pctx: *mut CUcontext);
                "cuCtxPopCurrent" @ 4000 fn cuCtxPopCurrent_v2(pctx: *mut CUcontext);
                "cuCtxSetCurrent" @ 4000 fn cuCtxSetCurrent(ctx: CUcontext);
                "cuCtxGetCurrent" @ 4000 fn cuCtxGetCurrent(pctx: *mut CUcontext);
                "cuCtxGetDevice" @ 2000 fn cuCtxGetDevice(device: *mut CUdevice);
                "cuCtxGetDevice" @ 13000 fn cuCtxGetDevice_v2(device: *mut CUdevice, ctx: CUcontext);
                "cuCtxGetFlags" @ 7000 fn cuCtxGetFlags(flags: *mut c_uint);
                "cuCtxSetFlags" @ 12010 [locates] fn cuCtxSetFlags(flags: c_uint);
                "cuCtxGetId" @ 12000 fn cuCtxGetId(ctx: CUcontext, ctx_id: *mut u64);
                "cuCtxSynchronize" @ 2000 [waits locates orders edge completion] fn cuCtxSynchronize();
                "cuCtxSynchronize" @ 13000 [waits locates orders edge completion] fn cuCtxSynchronize_v2(ctx: CUcontext);
                "cuCtxSetLimit" @ 3010 [locates] fn cuCtxSetLimit(limit: CUlimit, value: usize);
                "cuCtxGetLimit" @ 3010 fn cuCtxGetLimit(pvalue: *mut usize, limit: CUlimit);
                "cuCtxGetCacheConfig" @ 3020 fn cuCtxGetCacheConfig(pconfig: *mut CUfunc_cache);
                "cuCtxSetCacheConfig" @ 3020 [locates] fn cuCtxSetCacheConfig(config: CUfunc_cache);
                "cuCtxGetSharedMemConfig" @ 4020 fn cuCtxGetSharedMemConfig(p_config: *mut CUsharedconfig);
                "cuCtxSetSharedMemConfig" @ 4020 [locates] fn cuCtxSetSharedMemConfig(config: CUsharedconfig);
                "cuCtxGetApiVersion" @ 3020 fn cuCtxGetApiVersion(ctx: CUcontext, version: *mut c_uint);
                "cuCtxGetStreamPriorityRange" @ 5050 fn cuCtxGetStreamPriorityRange(least_priority: *mut c_int, greatest_priority: *mut c_int);
                "cuCtxResetPersistingL2Cache" @ 11000 [locates] fn cuCtxResetPersistingL2Cache();
                "cuCtxGetExecAffinity" @ 11040 fn cuCtxGetExecAffinity(p_exec_affinity: *mut CUexecAffinityParam, kind: c_uint);
                "cuCtxAttach" @ 2000 [locates] fn cuCtxAttach(pctx: *mut CUcontext, flags: c_uint);
                "cuCtxDetach" @ 2000 [locates] fn cuCtxDetach(ctx: CUcontext);
                "cuCtxEnablePeerAccess" @ 4000 [locates] fn cuCtxEnablePeerAccess(peer_context: CUcontext, flags: c_uint);
                "cuCtxDisablePeerAccess" @ 4000 [locates] fn cuCtxDisablePeerAccess(peer_context: CUcontext);
            }
            memory {
                "cuMemGetInfo" @ 2000 fn cuMemGetInfo(free: *mut c_uint, total: *mut c_uint);
                "cuMemGetInfo" @ 3020 fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize);
                "cuMemAlloc" @ 3020 [waits locates capture_unsafe] fn cuMemAlloc_v2(dptr: *mut CUdeviceptr, bytesize: usize);
                "cuMemAllocPitch" @ 3020 [waits locates capture_unsafe] fn cuMemAllocPitch_v2(dptr: *mut CUdeviceptr, p_pitch: *mut usize, width_in_bytes: usize, height: usize, element_size_bytes: c_uint);
                "cuMemFree" @ 3020 [waits locates capture_unsafe] fn cuMemFree_v2(dptr: CUdeviceptr);
                "cuMemGetAddressRange" @ 3020 fn cuMemGetAddressRange_v2(pbase: *mut CUdeviceptr, psize: *mut usize, dptr: CUdeviceptr);
                "cuMemAllocHost" @ 2000 [waits locates capture_unsafe] fn cuMemAllocHost(pp: *mut *mut c_void, bytesize: c_uint);
                "cuMemAllocHost" @ 3020 [waits locates capture_unsafe] fn cuMemAllocHost_v2(pp: *mut *mut c_void, bytesize: usize);
                "cuMemFreeHost" @ 2000 [waits locates capture_unsafe] fn cuMemFreeHost(p: *mut c_void);
                "cuMemHostAlloc" @ 2020 [waits locates capture_unsafe] fn cuMemHostAlloc(pp: *mut *mut c_void, bytesize: usize, flags: c_uint);
                "cuMemHostGetDevicePointer" @ 3020 fn cuMemHostGetDevicePointer_v2(pdptr: *mut CUdeviceptr, p: *mut c_void, flags: c_uint);
                "cuMemHostGetFlags" @ 2030 fn cuMemHostGetFlags(p_flags: *mut c_uint, p: *mut c_void);
                "cuMemAllocManaged" @ 6000 [waits locates capture_unsafe] fn cuMemAllocManaged(dptr: *mut CUdeviceptr, bytesize: usize, flags: c_uint);
                "cuMemHostRegister" @ 4000 [waits locates capture_unsafe] fn cuMemHostRegister(p: *mut c_void, bytesize: usize, flags: c_uint);
                "cuMemHostRegister" @ 6050 [waits locates capture_unsafe] fn cuMemHostRegister_v2(p: *mut c_void, bytesize: usize, flags: c_uint);
                "cuMemHostUnregister" @ 4000 [waits locates capture_unsafe] fn cuMemHostUnregister(p: *mut c_void);
                "cuIpcGetMemHandle" @ 4010 fn cuIpcGetMemHandle(p_handle: *mut CUipcMemHandle, dptr: CUdeviceptr);
                "cuIpcOpenMemHandle" @ 4010 [waits locates capture_unsafe] fn cuIpcOpenMemHandle(pdptr: *mut CUdeviceptr, handle: CUipcMemHandle, flags: c_uint);
                "cuIpcOpenMemHandle" @ 11000 [waits locates capture_unsafe] fn cuIpcOpenMemHandle_v2(pdptr: *mut CUdeviceptr, handle: CUipcMemHandle, flags: c_uint);
                "cuIpcCloseMemHandle" @ 4010 [waits locates capture_unsafe] fn cuIpcCloseMemHandle(dptr: CUdeviceptr);
            }
            texture_object {
                "cuTexObjectCreate" @ 5000 [locates] fn cuTexObjectCreate(p_tex_object: *mut CUtexObject, p_res_desc: *const CUDA_RESOURCE_DESC, p_tex_desc: *const CUDA_TEXTURE_DESC, p_res_view_desc: *const CUDA_RESOURCE_VIEW_DESC);
                "cuTexObjectDestroy" @ 5000 [locates] fn cuTexObjectDestroy(tex_object: CUtexObject);
                "cuTexObjectGetResourceDesc" @ 5000 [locates] fn cuTexObjectGetResourceDesc(p_res_desc: *mut CUDA_RESOURCE_DESC, tex_object: CUtexObject);
                "cuTexObjectGetTextureDesc" @ 5000 [locates] fn cuTexObjectGetTextureDesc(p_tex_desc: *mut CUDA_TEXTURE_DESC, tex_object: CUtexObject);
                "cuTexObjectGetResourceViewDesc" @ 5000 [locates] fn cuTexObjectGetResourceViewDesc(p_res_view_desc: *mut CUDA_RESOURCE_VIEW_DESC, tex_object: CUtexObject);
            }
            surface_object {
                "cuSurfObjectCreate" @ 5000 [locates] fn cuSurfObjectCreate(p_surf_object: *mut CUsurfObject, p_res_desc: *const CUDA_RESOURCE_DESC);
                "cuSurfObjectDestroy" @ 5000 [locates] fn cuSurfObjectDestroy(surf_object: CUsurfObject);
                "cuSurfObjectGetResourceDesc" @ 5000 [locates] fn cuSurfObjectGetResourceDesc(p_res_desc: *mut CUDA_RESOURCE_DESC, surf_object: CUsurfObject);
            }
            module_deprecated {
                "cuModuleGetTexRef" @ 2000 fn cuModuleGetTexRef(p_tex_ref: *mut CUtexref, hmod: CUmodule, name: *const c_char);
                "cuModuleGetSurfRef" @ 3000 fn cuModuleGetSurfRef(p_surf_ref: *mut CUsurfref, hmod: CUmodule, name: *const c_char);
            }
            texture_reference {
                "cuTexRefCreate" @ 2000 [locates] fn cuTexRefCreate(p_tex_ref: *mut CUtexref);
                "cuTexRefDestroy" @ 2000 [locates] fn cuTexRefDestroy(tex_ref: CUtexref);
                "cuTexRefSetArray" @ 2000 [locates] fn cuTexRefSetArray(tex_ref: CUtexref, array: CUarray, flags: c_uint);
                "cuTexRefSetMipmappedArray" @ 5000 [locates] fn cuTexRefSetMipmappedArray(tex_ref: CUtexref, mipmapped_array: CUmipmappedArray, flags: c_uint);
                "cuTexRefSetAddress" @ 3020 [locates] fn cuTexRefSetAddress_v2(byte_offset: *mut usize, tex_ref: CUtexref, dptr: CUdeviceptr, bytes: usize);
                "cuTexRefSetAddress2D" @ 3020 [locates] fn cuTexRefSetAddress2D_v2(tex_ref: CUtexref, desc: *const CUDA_ARRAY_DESCRIPTOR, dptr: CUdeviceptr, pitch: usize);
                "cuTexRefSetAddress2D" @ 4010 [locates] fn cuTexRefSetAddress2D_v3(tex_ref: CUtexref, desc: *const CUDA_ARRAY_DESCRIPTOR, dptr: CUdeviceptr, pitch: usize);
                "cuTexRefSetFormat" @ 2000 fn cuTexRefSetFormat(tex_ref: CUtexref, fmt: CUarray_format, num_packed_components: c_int);
                "cuTexRefSetAddressMode" @ 2000 fn cuTexRefSetAddressMode(tex_ref: CUtexref, dim: c_int, am: CUaddress_mode);
                "cuTexRefSetFilterMode" @ 2000 fn cuTexRefSetFilterMode(tex_ref: CUtexref, fm: CUfilter_mode);
                "cuTexRefSetMipmapFilterMode" @ 5000 fn cuTexRefSetMipmapFilterMode(tex_ref: CUtexref, fm: CUfilter_mode);
                "cuTexRefSetMipmapLevelBias" @ 5000 fn cuTexRefSetMipmapLevelBias(tex_ref: CUtexref, bias: f32);
                "cuTexRefSetMipmapLevelClamp" @ 5000 fn cuTexRefSetMipmapLevelClamp(tex_ref: CUtexref, min_mipmap_level_clamp: f32, max_mipmap_level_clamp: f32);
                "cuTexRefSetMaxAnisotropy" @ 5000 fn cuTexRefSetMaxAnisotropy(tex_ref: CUtexref, max_aniso: c_uint);
                "cuTexRefSetBorderColor" @ 8000 fn cuTexRefSetBorderColor(tex_ref: CUtexref, p_border_color: *mut f32);
                "cuTexRefSetFlags" @ 2000 fn cuTexRefSetFlags(tex_ref: CUtexref, flags: c_uint);
                "cuTexRefGetAddress" @ 3020 fn cuTexRefGetAddress_v2(pdptr: *mut CUdeviceptr, tex_ref: CUtexref);
                "cuTexRefGetArray" @ 2000 fn cuTexRefGetArray(ph_array: *mut CUarray, tex_ref: CUtexref);
                "cuTexRefGetMipmappedArray" @ 5000 fn cuTexRefGetMipmappedArray(ph_mipmapped_array: *mut CUmipmappedArray, tex_ref: CUtexref);
                "cuTexRefGetAddressMode" @ 2000 fn cuTexRefGetAddressMode(pam: *mut CUaddress_mode, tex_ref: CUtexref, dim: c_int);
                "cuTexRefGetFilterMode" @ 2000 fn cuTexRefGetFilterMode(pfm: *mut CUfilter_mode, tex_ref: CUtexref);
                "cuTexRefGetFormat" @ 2000 fn cuTexRefGetFormat(p_format: *mut CUarray_format, p_num_channels: *mut c_int, tex_ref: CUtexref);
                "cuTexRefGetMipmapFilterMode" @ 5000 fn cuTexRefGetMipmapFilterMode(pfm: *mut CUfilter_mode, tex_ref: CUtexref);
                "cuTexRefGetMipmapLevelBias" @ 5000 fn cuTexRefGetMipmapLevelBias(pbias: *mut f32, tex_ref: CUtexref);
                "cuTexRefGetMipmapLevelClamp" @ 5000 fn cuTexRefGetMipmapLevelClamp(pmin_mipmap_level_clamp: *mut f32, pmax_mipmap_level_clamp: *mut f32, tex_ref: CUtexref);
                "cuTexRefGetMaxAnisotropy" @ 5000 fn cuTexRefGetMaxAnisotropy(pmax_aniso: *mut c_int, tex_ref: CUtexref);
                "cuTexRefGetBorderColor" @ 8000 fn cuTexRefGetBorderColor(p_border_color: *mut f32, tex_ref: CUtexref);
                "cuTexRefGetFlags" @ 2000 fn cuTexRefGetFlags(p_flags: *mut c_uint, tex_ref: CUtexref);
            }
            surface_reference {
                "cuSurfRefSetArray" @ 3000 [locates] fn cuSurfRefSetArray(surf_ref: CUsurfref, array: CUarray, flags: c_uint);
                "cuSurfRefGetArray" @ 3000 fn cuSurfRefGetArray(ph_array: *mut CUarray, surf_ref: CUsurfref);
            }
            array {
                "cuArrayCreate" @ 3020 [waits locates capture_unsafe] fn cuArrayCreate_v2(p_handle: *mut CUarray, p_allocate_array: *const CUDA_ARRAY_DESCRIPTOR);
                "cuArrayGetDescriptor" @ 3020 fn cuArrayGetDescriptor_v2(p_array_descriptor: *mut CUDA_ARRAY_DESCRIPTOR, array: CUarray);
                "cuArray3DCreate" @ 3020 [waits locates capture_unsafe] fn cuArray3DCreate_v2(p_handle: *mut CUarray, p_allocate_array: *const CUDA_ARRAY3D_DESCRIPTOR);
                "cuArray3DGetDescriptor" @ 3020 fn cuArray3DGetDescriptor_v2(p_array_descriptor: *mut CUDA_ARRAY3D_DESCRIPTOR, array: CUarray);
                "cuArrayDestroy" @ 2000 [waits locates capture_unsafe] fn cuArrayDestroy(array: CUarray);
                "cuArrayGetPlane" @ 11020 fn cuArrayGetPlane(p_plane_array: *mut CUarray, array: CUarray, plane_idx: c_uint);
                "cuArrayGetSparseProperties" @ 11010 fn cuArrayGetSparseProperties(sparse_properties: *mut CUDA_ARRAY_SPARSE_PROPERTIES, array: CUarray);
                "cuArrayGetMemoryRequirements" @ 11060 fn cuArrayGetMemoryRequirements(memory_requirements: *mut CUDA_ARRAY_MEMORY_REQUIREMENTS, array: CUarray, device: CUdevice);
                "cuMipmappedArrayCreate" @ 5000 [waits locates capture_unsafe] fn cuMipmappedArrayCreate(p_handle: *mut CUmipmappedArray, p_mipmapped_array_desc: *const CUDA_ARRAY3D_DESCRIPTOR, num_mipmap_levels: c_uint);
                "cuMipmappedArrayGetLevel" @ 5000 [locates] fn cuMipmappedArrayGetLevel(p_level_array: *mut CUarray, mipmapped_array: CUmipmappedArray, level: c_uint);
                "cuMipmappedArrayDestroy" @ 5000 [waits locates capture_unsafe] fn cuMipmappedArrayDestroy(mipmapped_array: CUmipmappedArray);
                "cuMipmappedArrayGetSparseProperties" @ 11010 fn cuMipmappedArrayGetSparseProperties(sparse_properties: *mut CUDA_ARRAY_SPARSE_PROPERTIES, mipmap: CUmipmappedArray);
                "cuMipmappedArrayGetMemoryRequirements" @ 11060 fn cuMipmappedArrayGetMemoryRequirements(memory_requirements: *mut CUDA_ARRAY_MEMORY_REQUIREMENTS, mipmap: CUmipmappedArray, device: CUdevice);
            }
            transfer {
                "cuMemcpy" @ 4000 [waits locates] fn cuMemcpy(dst: CUdeviceptr, src: CUdeviceptr, byte_count: usize) per_thread cuMemcpy_ptds;
                "cuMemcpyPeer" @ 4000 [waits locates] fn cuMemcpyPeer(dst_device: CUdeviceptr, dst_context: CUcontext, src_device: CUdeviceptr, src_context: CUcontext, byte_count: usize) per_thread cuMemcpyPeer_ptds;
                "cuMemcpyHtoD" @ 3020 [waits locates] fn cuMemcpyHtoD_v2(dst_device: CUdeviceptr, src_host: *const c_void, byte_count: usize) per_thread cuMemcpyHtoD_v2_ptds;
                "cuMemcpyDtoH" @ 3020 [waits locates] fn cuMemcpyDtoH_v2(dst_host: *mut c_void, src_device: CUdeviceptr, byte_count: usize) per_thread cuMemcpyDtoH_v2_ptds;
                "cuMemcpyDtoD" @ 3020 [waits locates] fn cuMemcpyDtoD_v2(dst_device: CUdeviceptr, src_device: CUdeviceptr, byte_count: usize) per_thread cuMemcpyDtoD_v2_ptds;
                "cuMemcpy2D" @ 3020 [waits locates] fn cuMemcpy2D_v2(p_copy: *const CUDA_MEMCPY2D) per_thread cuMemcpy2D_v2_ptds;
                "cuMemcpy2DUnaligned" @ 3020 [waits locates] fn cuMemcpy2DUnaligned_v2(p_copy: *const CUDA_MEMCPY2D) per_thread cuMemcpy2DUnaligned_v2_ptds;
                "cuMemcpy3D" @ 3020 [waits locates] fn cuMemcpy3D_v2(p_copy: *const CUDA_MEMCPY3D) per_thread cuMemcpy3D_v2_ptds;
                "cuMemcpy3DPeer" @ 4000 [waits locates] fn cuMemcpy3DPeer(p_copy: *const CUDA_MEMCPY3D_PEER) per_thread cuMemcpy3DPeer_ptds;
                "cuMemcpyAsync" @ 4000 [waits locates] fn cuMemcpyAsync(dst: CUdeviceptr, src: CUdeviceptr, byte_count: usize, stream: CUstream) per_thread cuMemcpyAsync_ptsz;
                "cuMemcpyPeerAsync" @ 4000 [waits locates] fn cuMemcpyPeerAsync(dst_device: CUdeviceptr, dst_context: CUcontext, src_device: CUdeviceptr, src_context: CUcontext, byte_count: usize, stream: CUstream) per_thread cuMemcpyPeerAsync_ptsz;
                "cuMemcpyHtoDAsync" @ 3020 [waits locates] fn cuMemcpyHtoDAsync_v2(dst_device: CUdeviceptr, src_host: *const c_void, byte_count: usize, stream: CUstream) per_thread cuMemcpyHtoDAsync_v2_ptsz;
                "cuMemcpyDtoHAsync" @ 3020 [waits locates] fn cuMemcpyDtoHAsync_v2(dst_host: *mut c_void, src_device: CUdeviceptr, byte_count: usize, stream: CUstream) per_thread cuMemcpyDtoHAsync_v2_ptsz;
                "cuMemcpyDtoDAsync" @ 3020 [waits locates] fn cuMemcpyDtoDAsync_v2(dst_device: CUdeviceptr, src_device: CUdeviceptr, byte_count: usize, stream: CUstream) per_thread cuMemcpyDtoDAsync_v2_ptsz;
                "cuMemcpy2DAsync" @ 3020 [waits locates] fn cuMemcpy2DAsync_v2(p_copy: *const CUDA_MEMCPY2D, stream: CUstream) per_thread cuMemcpy2DAsync_v2_ptsz;
                "cuMemcpy3DAsync" @ 3020 [waits locates] fn cuMemcpy3DAsync_v2(p_copy: *const CUDA_MEMCPY3D, stream: CUstream) per_thread cuMemcpy3DAsync_v2_ptsz;
                "cuMemcpy3DPeerAsync" @ 4000 [waits locates] fn cuMemcpy3DPeerAsync(p_copy: *const CUDA_MEMCPY3D_PEER, stream: CUstream) per_thread cuMemcpy3DPeerAsync_ptsz;
                "cuMemcpyAtoA" @ 3020 [waits locates] fn cuMemcpyAtoA_v2(dst_array: CUarray, dst_offset: usize, src_array: CUarray, src_offset: usize, byte_count: usize) per_thread cuMemcpyAtoA_v2_ptds;
                "cuMemcpyAtoD" @ 3020 [waits locates] fn cuMemcpyAtoD_v2(dst_device: CUdeviceptr, src_array: CUarray, src_offset: usize, byte_count: usize) per_thread cuMemcpyAtoD_v2_ptds;
                "cuMemcpyDtoA" @ 3020 [waits locates] fn cuMemcpyDtoA_v2(dst_array: CUarray, dst_offset: usize, src_device: CUdeviceptr, byte_count: usize) per_thread cuMemcpyDtoA_v2_ptds;
                "cuMemcpyAtoH" @ 3020 [waits locates] fn cuMemcpyAtoH_v2(dst_host: *mut c_void, src_array: CUarray, src_offset: usize, byte_count: usize) per_thread cuMemcpyAtoH_v2_ptds;
                "cuMemcpyHtoA" @ 3020 [waits locates] fn cuMemcpyHtoA_v2(dst_array: CUarray, dst_offset: usize, src_host: *const c_void, byte_count: usize) per_thread cuMemcpyHtoA_v2_ptds;
                "cuMemcpyAtoHAsync" @ 3020 [waits locates] fn cuMemcpyAtoHAsync_v2(dst_host: *mut c_void, src_array: CUarray, src_offset: usize, byte_count: usize, stream: CUstream) per_thread cuMemcpyAtoHAsync_v2_ptsz;
                "cuMemcpyHtoAAsync" @ 3020 [waits locates] fn cuMemcpyHtoAAsync_v2(dst_array: CUarray, dst_offset: usize, src_host: *const c_void, byte_count: usize, stream: CUstream) per_thread cuMemcpyHtoAAsync_v2_ptsz;
                "cuMemsetD8" @ 3020 [waits locates] fn cuMemsetD8_v2(dst_device: CUdeviceptr, uc: u8, n: usize) per_thread cuMemsetD8_v2_ptds;
                "cuMemsetD16" @ 3020 [waits locates] fn cuMemsetD16_v2(dst_device: CUdeviceptr, us: u16, n: usize) per_thread cuMemsetD16_v2_ptds;
                "cuMemsetD32" @ 3020 [waits locates] fn cuMemsetD32_v2(dst_device: CUdeviceptr, ui: c_uint, n: usize) per_thread cuMemsetD32_v2_ptds;
                "cuMemsetD2D8" @ 3020 [waits locates] fn cuMemsetD2D8_v2(dst_device: CUdeviceptr, dst_pitch: usize, uc: u8, width: usize, height: usize) per_thread cuMemsetD2D8_v2_ptds;
                "cuMemsetD2D16" @ 3020 [waits locates] fn cuMemsetD2D16_v2(dst_device: CUdeviceptr, dst_pitch: usize, us: u16, width: usize, height: usize) per_thread cuMemsetD2D16_v2_ptds;
                "cuMemsetD2D32" @ 3020 [waits locates] fn cuMemsetD2D32_v2(dst_device: CUdeviceptr, dst_pitch: usize, ui: c_uint, width: usize, height: usize) per_thread cuMemsetD2D32_v2_ptds;
                "cuMemsetD8Async" @ 3020 [waits locates] fn cuMemsetD8Async(dst_device: CUdeviceptr, uc: u8, n: usize, stream: CUstream) per_thread cuMemsetD8Async_ptsz;
                "cuMemsetD16Async" @ 3020 [waits locates] fn cuMemsetD16Async(dst_device: CUdeviceptr, us: u16, n: usize, stream: CUstream) per_thread cuMemsetD16Async_ptsz;
                "cuMemsetD32Async" @ 3020 [waits locates] fn cuMemsetD32Async(dst_device: CUdeviceptr, ui: c_uint, n: usize, stream: CUstream) per_thread cuMemsetD32Async_ptsz;
                "cuMemsetD2D8Async" @ 3020 [waits locates] fn cuMemsetD2D8Async(dst_device: CUdeviceptr, dst_pitch: usize, uc: u8, width: usize, height: usize, stream: CUstream) per_thread cuMemsetD2D8Async_ptsz;
                "cuMemsetD2D16Async" @ 3020 [waits locates] fn cuMemsetD2D16Async(dst_device: CUdeviceptr, dst_pitch: usize, us: u16, width: usize, height: usize, stream: CUstream) per_thread cuMemsetD2D16Async_ptsz;
                "cuMemsetD2D32Async" @ 3020 [waits locates] fn cuMemsetD2D32Async(dst_device: CUdeviceptr, dst_pitch: usize, ui: c_uint, width: usize, height: usize, stream: CUstream) per_thread cuMemsetD2D32Async_ptsz;
            }
            virtual_memory {
                "cuMemAddressReserve" @ 10020 [waits locates] fn cuMemAddressReserve(ptr: *mut CUdeviceptr, size: usize, alignment: usize, addr: CUdeviceptr, flags: u64);
                "cuMemAddressFree" @ 10020 [waits locates] fn cuMemAddressFree(ptr: CUdeviceptr, size: usize);
                "cuMemCreate" @ 10020 [waits locates] fn cuMemCreate(handle: *mut CUmemGenericAllocationHandle, size: usize, prop: *const CUmemAllocationProp, flags: u64);
                "cuMemRelease" @ 10020 [waits locates] fn cuMemRelease(handle: CUmemGenericAllocationHandle);
                "cuMemMap" @ 10020 [waits locates] fn cuMemMap(ptr: CUdeviceptr, size: usize, offset: usize, handle: CUmemGenericAllocationHandle, flags: u64);
                "cuMemUnmap" @ 10020 [waits locates] fn cuMemUnmap(ptr: CUdeviceptr, size: usize);
                "cuMemSetAccess" @ 10020 [waits locates] fn cuMemSetAccess(ptr: CUdeviceptr, size: usize, desc: *const CUmemAccessDesc, count: usize);
                "cuMemGetAccess" @ 10020 fn cuMemGetAccess(flags: *mut u64, location: *const CUmemLocation, ptr: CUdeviceptr);
                "cuMemExportToShareableHandle" @ 10020 [locates] fn cuMemExportToShareableHandle(shareable_handle: *mut c_void, handle: CUmemGenericAllocationHandle, handle_type: CUmemAllocationHandleType, flags: u64);
                "cuMemImportFromShareableHandle" @ 10020 [locates] fn cuMemImportFromShareableHandle(handle: *mut CUmemGenericAllocationHandle, os_handle: *mut c_void, handle_type: CUmemAllocationHandleType);
                "cuMemGetAllocationGranularity" @ 10020 fn cuMemGetAllocationGranularity(granularity: *mut usize, prop: *const CUmemAllocationProp, option: CUmemAllocationGranularity_flags);
                "cuMemGetAllocationPropertiesFromHandle" @ 10020 fn cuMemGetAllocationPropertiesFromHandle(prop: *mut CUmemAllocationProp, handle: CUmemGenericAllocationHandle);
                "cuMemRetainAllocationHandle" @ 11000 [locates] fn cuMemRetainAllocationHandle(handle: *mut CUmemGenericAllocationHandle, addr: *mut c_void);
            }
            pool {
                "cuMemAllocAsync" @ 11020 [waits locates] fn cuMemAllocAsync(dptr: *mut CUdeviceptr, bytesize: usize, stream: CUstream) per_thread cuMemAllocAsync_ptsz;
                "cuMemFreeAsync" @ 11020 [waits locates] fn cuMemFreeAsync(dptr: CUdeviceptr, stream: CUstream) per_thread cuMemFreeAsync_ptsz;
                "cuMemAllocFromPoolAsync" @ 11020 [waits locates] fn cuMemAllocFromPoolAsync(dptr: *mut CUdeviceptr, bytesize: usize, pool: CUmemoryPool, stream: CUstream) per_thread cuMemAllocFromPoolAsync_ptsz;
                "cuMemPoolCreate" @ 11020 [waits locates] fn cuMemPoolCreate(pool: *mut CUmemoryPool, pool_props: *const CUmemPoolProps);
                "cuMemPoolDestroy" @ 11020 [waits locates] fn cuMemPoolDestroy(pool: CUmemoryPool);
                "cuMemPoolTrimTo" @ 11020 [waits locates] fn cuMemPoolTrimTo(pool: CUmemoryPool, min_bytes_to_keep: usize);
                "cuMemPoolSetAttribute" @ 11020 [waits locates] fn cuMemPoolSetAttribute(pool: CUmemoryPool, attr: CUmemPool_attribute, value: *mut c_void);
                "cuMemPoolGetAttribute" @ 11020 fn cuMemPoolGetAttribute(pool: CUmemoryPool, attr: CUmemPool_attribute, value: *mut c_void);
                "cuMemPoolSetAccess" @ 11020 [waits locates] fn cuMemPoolSetAccess(pool: CUmemoryPool, map: *const CUmemAccessDesc, count: usize);
                "cuMemPoolGetAccess" @ 11020 fn cuMemPoolGetAccess(flags: *mut CUmemAccess_flags, mem_pool: CUmemoryPool, location: *mut CUmemLocation);
                "cuMemPoolExportToShareableHandle" @ 11020 [locates] fn cuMemPoolExportToShareableHandle(handle_out: *mut c_void, pool: CUmemoryPool, handle_type: CUmemAllocationHandleType, flags: u64);
                "cuMemPoolImportFromShareableHandle" @ 11020 [locates] fn cuMemPoolImportFromShareableHandle(pool_out: *mut CUmemoryPool, handle: *mut c_void, handle_type: CUmemAllocationHandleType, flags: u64);
                "cuMemPoolExportPointer" @ 11020 [locates] fn cuMemPoolExportPointer(share_data_out: *mut CUmemPoolPtrExportData, ptr: CUdeviceptr);
                "cuMemPoolImportPointer" @ 11020 [locates] fn cuMemPoolImportPointer(ptr_out: *mut CUdeviceptr, pool: CUmemoryPool, share_data: *mut CUmemPoolPtrExportData);
            }
            pointer {
                "cuPointerGetAttribute" @ 4000 fn cuPointerGetAttribute(data: *mut c_void, attribute: CUpointer_attribute, ptr: CUdeviceptr);
                "cuPointerGetAttributes" @ 7000 fn cuPointerGetAttributes(num_attributes: c_uint, attributes: *mut CUpointer_attribute, data: *mut *mut c_void, ptr: CUdeviceptr);
                "cuPointerSetAttribute" @ 6000 fn cuPointerSetAttribute(value: *const c_void, attribute: CUpointer_attribute, ptr: CUdeviceptr);
                "cuMemRangeGetAttribute" @ 8000 fn cuMemRangeGetAttribute(data: *mut c_void, data_size: usize, attribute: CUmem_range_attribute, dev_ptr: CUdeviceptr, count: usize);
                "cuMemRangeGetAttributes" @ 8000 fn cuMemRangeGetAttributes(data: *mut *mut c_void, data_sizes: *mut usize, attributes: *mut CUmem_range_attribute, num_attributes: usize, dev_ptr: CUdeviceptr, count: usize);
                "cuMemAdvise" @ 8000 fn cuMemAdvise(dev_ptr: CUdeviceptr, count: usize, advice: CUmem_advise, device: CUdevice);
                "cuMemAdvise" @ 12020 fn cuMemAdvise_v2(dev_ptr: CUdeviceptr, count: usize, advice: CUmem_advise, location: CUmemLocation);
                "cuMemPrefetchAsync" @ 8000 [locates] fn cuMemPrefetchAsync(dev_ptr: CUdeviceptr, count: usize, dst_device: CUdevice, stream: CUstream) per_thread cuMemPrefetchAsync_ptsz;
                "cuMemPrefetchAsync" @ 12020 [locates] fn cuMemPrefetchAsync_v2(dev_ptr: CUdeviceptr, count: usize, location: CUmemLocation, flags: c_uint, stream: CUstream) per_thread cuMemPrefetchAsync_v2_ptsz;
            }
            stream {
                "cuStreamCreate" @ 2000 [waits locates] fn cuStreamCreate(stream: *mut CUstream, flags: c_uint);
                "cuStreamCreateWithPriority" @ 5050 [waits locates] fn cuStreamCreateWithPriority(stream: *mut CUstream, flags: c_uint, priority: c_int);
                "cuStreamDestroy" @ 2000 [waits locates] fn cuStreamDestroy(stream: CUstream);
                "cuStreamDestroy" @ 4000 [waits locates] fn cuStreamDestroy_v2(stream: CUstream);
                "cuStreamSynchronize" @ 2000 [waits locates orders edge completion] fn cuStreamSynchronize(stream: CUstream) per_thread cuStreamSynchronize_ptsz;
                "cuStreamQuery" @ 2000 [waits locates orders completion] fn cuStreamQuery(stream: CUstream) per_thread cuStreamQuery_ptsz;
                "cuStreamWaitEvent" @ 3020 [waits locates orders edge] fn cuStreamWaitEvent(stream: CUstream, event: CUevent, flags: c_uint) per_thread cuStreamWaitEvent_ptsz;
                "cuStreamAddCallback" @ 5000 [waits locates] fn cuStreamAddCallback(stream: CUstream, callback: CUstreamCallback, user_data: *mut c_void, flags: c_uint) per_thread cuStreamAddCallback_ptsz;
                "cuLaunchHostFunc" @ 10000 [waits locates] fn cuLaunchHostFunc(stream: CUstream, function: CUhostFn, user_data: *mut c_void) per_thread cuLaunchHostFunc_ptsz;
                "cuLaunchHostFunc" @ 13010 [waits locates] fn cuLaunchHostFunc_v2(stream: CUstream, function: CUhostFn, user_data: *mut c_void, sync_mode: c_uint) per_thread cuLaunchHostFunc_v2_ptsz;
                "cuStreamGetPriority" @ 5050 fn cuStreamGetPriority(stream: CUstream, priority: *mut c_int) per_thread cuStreamGetPriority_ptsz;
                "cuStreamGetFlags" @ 5050 fn cuStreamGetFlags(stream: CUstream, flags: *mut c_uint) per_thread cuStreamGetFlags_ptsz;
                "cuStreamGetId" @ 12000 fn cuStreamGetId(stream: CUstream, stream_id: *mut u64) per_thread cuStreamGetId_ptsz;
                "cuStreamGetCtx" @ 9020 fn cuStreamGetCtx(stream: CUstream, pctx: *mut CUcontext) per_thread cuStreamGetCtx_ptsz;
                "cuStreamGetCtx" @ 12050 fn cuStreamGetCtx_v2(stream: CUstream, pctx: *mut CUcontext, p_green_ctx: *mut CUgreenCtx) per_thread cuStreamGetCtx_v2_ptsz;
                "cuStreamGetDevice" @ 12080 fn cuStreamGetDevice(stream: CUstream, device: *mut CUdevice) per_thread cuStreamGetDevice_ptsz;
                "cuStreamAttachMemAsync" @ 6000 [waits locates] fn cuStreamAttachMemAsync(stream: CUstream, dptr: CUdeviceptr, length: usize, flags: c_uint) per_thread cuStreamAttachMemAsync_ptsz;
            }
            capture {
                "cuStreamBeginCapture" @ 10000 [locates] fn cuStreamBeginCapture(stream: CUstream) per_thread cuStreamBeginCapture_ptsz;
                "cuStreamBeginCapture" @ 10010 [locates] fn cuStreamBeginCapture_v2(stream: CUstream, mode: CUstreamCaptureMode) per_thread cuStreamBeginCapture_v2_ptsz;
                "cuStreamBeginCaptureToGraph" @ 12030 [locates] fn cuStreamBeginCaptureToGraph(stream: CUstream, graph: CUgraph, dependencies: *const CUgraphNode, dependency_data: *const CUgraphEdgeData, num_dependencies: usize, mode: CUstreamCaptureMode) per_thread cuStreamBeginCaptureToGraph_ptsz;
                "cuStreamBeginRecaptureToGraph" @ 13030 [locates] fn cuStreamBeginRecaptureToGraph(stream: CUstream, mode: CUstreamCaptureMode, graph: CUgraph, callback_func: CUgraphRecaptureCallback, user_data: *mut c_void) per_thread cuStreamBeginRecaptureToGraph_ptsz;
                "cuStreamEndCapture" @ 10000 [locates] fn cuStreamEndCapture(stream: CUstream, p_graph: *mut CUgraph) per_thread cuStreamEndCapture_ptsz;
                "cuStreamIsCapturing" @ 10000 [locates] fn cuStreamIsCapturing(stream: CUstream, capture_status: *mut CUstreamCaptureStatus) per_thread cuStreamIsCapturing_ptsz;
                "cuStreamGetCaptureInfo" @ 10010 fn cuStreamGetCaptureInfo(stream: CUstream, capture_status_out: *mut CUstreamCaptureStatus, id_out: *mut u64) per_thread cuStreamGetCaptureInfo_ptsz;
                "cuStreamGetCaptureInfo" @ 11030 fn cuStreamGetCaptureInfo_v2(stream: CUstream, capture_status_out: *mut CUstreamCaptureStatus, id_out: *mut u64, graph_out: *mut CUgraph, dependencies_out: *mut *const CUgraphNode, num_dependencies_out: *mut usize) per_thread cuStreamGetCaptureInfo_v2_ptsz;
                "cuStreamGetCaptureInfo" @ 12030 fn cuStreamGetCaptureInfo_v3(stream: CUstream, capture_status_out: *mut CUstreamCaptureStatus, id_out: *mut u64, graph_out: *mut CUgraph, dependencies_out: *mut *const CUgraphNode, edge_data_out: *mut *const CUgraphEdgeData, num_dependencies_out: *mut usize) per_thread cuStreamGetCaptureInfo_v3_ptsz;
                "cuStreamUpdateCaptureDependencies" @ 11030 [locates] fn cuStreamUpdateCaptureDependencies(stream: CUstream, dependencies: *mut CUgraphNode, num_dependencies: usize, flags: c_uint) per_thread cuStreamUpdateCaptureDependencies_ptsz;
                "cuStreamUpdateCaptureDependencies" @ 12030 [locates] fn cuStreamUpdateCaptureDependencies_v2(stream: CUstream, dependencies: *mut CUgraphNode, dependency_data: *const CUgraphEdgeData, num_dependencies: usize, flags: c_uint) per_thread cuStreamUpdateCaptureDependencies_v2_ptsz;
                "cuThreadExchangeStreamCaptureMode" @ 10010 [locates] fn cuThreadExchangeStreamCaptureMode(mode: *mut CUstreamCaptureMode);
            }
            context_events {
                "cuCtxRecordEvent" @ 12050 [waits locates orders edge] fn cuCtxRecordEvent(ctx: CUcontext, event: CUevent);
                "cuCtxWaitEvent" @ 12050 [waits locates orders edge] fn cuCtxWaitEvent(ctx: CUcontext, event: CUevent);
            }
            green_context {
                "cuDeviceGetDevResource" @ 12040 fn cuDeviceGetDevResource(device: CUdevice, resource: *mut CUdevResource, kind: CUdevResourceType);
                "cuCtxGetDevResource" @ 12040 fn cuCtxGetDevResource(ctx: CUcontext, resource: *mut CUdevResource, kind: CUdevResourceType);
                "cuGreenCtxGetDevResource" @ 12040 fn cuGreenCtxGetDevResource(ctx: CUgreenCtx, resource: *mut CUdevResource, kind: CUdevResourceType);
                "cuStreamGetDevResource" @ 13010 fn cuStreamGetDevResource(stream: CUstream, resource: *mut CUdevResource, kind: CUdevResourceType) per_thread cuStreamGetDevResource_ptsz;
                "cuDevSmResourceSplitByCount" @ 12040 fn cuDevSmResourceSplitByCount(result: *mut CUdevResource, nb_groups: *mut c_uint, input: *const CUdevResource, remainder: *mut CUdevResource, flags: c_uint, min_count: c_uint);
                "cuDevSmResourceSplit" @ 13010 fn cuDevSmResourceSplit(result: *mut CUdevResource, nb_groups: c_uint, input: *const CUdevResource, remainder: *mut CUdevResource, flags: c_uint, group_params: *mut CU_DEV_SM_RESOURCE_GROUP_PARAMS);
                "cuDevResourceGenerateDesc" @ 12040 fn cuDevResourceGenerateDesc(ph_desc: *mut CUdevResourceDesc, resources: *mut CUdevResource, nb_resources: c_uint);
                "cuGreenCtxCreate" @ 12040 [locates] fn cuGreenCtxCreate(ph_ctx: *mut CUgreenCtx, desc: CUdevResourceDesc, dev: CUdevice, flags: c_uint);
                "cuGreenCtxDestroy" @ 12040 [locates] fn cuGreenCtxDestroy(ctx: CUgreenCtx);
                "cuCtxFromGreenCtx" @ 12040 fn cuCtxFromGreenCtx(p_context: *mut CUcontext, ctx: CUgreenCtx);
                "cuGreenCtxGetId" @ 12090 fn cuGreenCtxGetId(green_ctx: CUgreenCtx, green_ctx_id: *mut u64);
                "cuGreenCtxStreamCreate" @ 12050 [waits locates] fn cuGreenCtxStreamCreate(ph_stream: *mut CUstream, green_ctx: CUgreenCtx, flags: c_uint, priority: c_int);
                "cuStreamGetGreenCtx" @ 12040 fn cuStreamGetGreenCtx(stream: CUstream, ph_ctx: *mut CUgreenCtx);
                "cuGreenCtxRecordEvent" @ 12040 [waits locates orders edge] fn cuGreenCtxRecordEvent(ctx: CUgreenCtx, event: CUevent);
                "cuGreenCtxWaitEvent" @ 12040 [waits locates orders edge] fn cuGreenCtxWaitEvent(ctx: CUgreenCtx, event: CUevent);
            }
            event {
                "cuEventCreate" @ 2000 [waits locates] fn cuEventCreate(event: *mut CUevent, flags: c_uint);
                "cuEventRecord" @ 2000 [waits locates orders edge] fn cuEventRecord(event: CUevent, stream: CUstream) per_thread cuEventRecord_ptsz;
                "cuEventRecordWithFlags" @ 11010 [waits locates orders edge] fn cuEventRecordWithFlags(event: CUevent, stream: CUstream, flags: c_uint) per_thread cuEventRecordWithFlags_ptsz;
                "cuEventQuery" @ 2000 [waits locates orders completion] fn cuEventQuery(event: CUevent);
                "cuEventSynchronize" @ 2000 [waits locates orders edge completion] fn cuEventSynchronize(event: CUevent);
                "cuEventDestroy" @ 2000 [waits locates] fn cuEventDestroy(event: CUevent);
                "cuEventDestroy" @ 4000 [waits locates] fn cuEventDestroy_v2(event: CUevent);
                "cuEventElapsedTime" @ 2000 [waits locates] fn cuEventElapsedTime(p_milliseconds: *mut f32, h_start: CUevent, h_end: CUevent);
                "cuEventElapsedTime" @ 12080 [waits locates] fn cuEventElapsedTime_v2(p_milliseconds: *mut f32, h_start: CUevent, h_end: CUevent);
                "cuIpcGetEventHandle" @ 4010 fn cuIpcGetEventHandle(p_handle: *mut CUipcEventHandle, event: CUevent);
                "cuIpcOpenEventHandle" @ 4010 [waits locates] fn cuIpcOpenEventHandle(event: *mut CUevent, handle: CUipcEventHandle);
            }
            graph {
                "cuGraphCreate" @ 10000 fn cuGraphCreate(p_graph: *mut CUgraph, flags: c_uint);
                "cuGraphDestroy" @ 10000 fn cuGraphDestroy(graph: CUgraph);
                "cuGraphClone" @ 10000 fn cuGraphClone(p_clone: *mut CUgraph, original: CUgraph);
                "cuGraphNodeFindInClone" @ 10000 fn cuGraphNodeFindInClone(p_node: *mut CUgraphNode, original: CUgraphNode, clone: CUgraph);
                "cuGraphGetId" @ 13010 fn cuGraphGetId(graph: CUgraph, graph_id: *mut c_uint);
                "cuGraphGetNodes" @ 10000 fn cuGraphGetNodes(graph: CUgraph, nodes: *mut CUgraphNode, num_nodes: *mut usize);
                "cuGraphGetRootNodes" @ 10000 fn cuGraphGetRootNodes(graph: CUgraph, nodes: *mut CUgraphNode, num_nodes: *mut usize);
                "cuGraphGetEdges" @ 10000 fn cuGraphGetEdges(graph: CUgraph, from: *mut CUgraphNode, to: *mut CUgraphNode, num_edges: *mut usize);
                "cuGraphGetEdges" @ 12030 fn cuGraphGetEdges_v2(graph: CUgraph, from: *mut CUgraphNode, to: *mut CUgraphNode, edge_data: *mut CUgraphEdgeData, num_edges: *mut usize);
                "cuGraphAddDependencies" @ 10000 fn cuGraphAddDependencies(graph: CUgraph, from: *const CUgraphNode, to: *const CUgraphNode, num_dependencies: usize);
                "cuGraphAddDependencies" @ 12030 fn cuGraphAddDependencies_v2(graph: CUgraph, from: *const CUgraphNode, to: *const CUgraphNode, edge_data: *const CUgraphEdgeData, num_dependencies: usize);
                "cuGraphRemoveDependencies" @ 10000 fn cuGraphRemoveDependencies(graph: CUgraph, from: *const CUgraphNode, to: *const CUgraphNode, num_dependencies: usize);
                "cuGraphRemoveDependencies" @ 12030 fn cuGraphRemoveDependencies_v2(graph: CUgraph, from: *const CUgraphNode, to: *const CUgraphNode, edge_data: *const CUgraphEdgeData, num_dependencies: usize);
                "cuGraphDestroyNode" @ 10000 fn cuGraphDestroyNode(node: CUgraphNode);
                "cuGraphNodeGetType" @ 10000 fn cuGraphNodeGetType(node: CUgraphNode, kind: *mut CUgraphNodeType);
                "cuGraphNodeGetContainingGraph" @ 13010 fn cuGraphNodeGetContainingGraph(node: CUgraphNode, p_graph: *mut CUgraph);
                "cuGraphNodeGetLocalId" @ 13010 fn cuGraphNodeGetLocalId(node: CUgraphNode, node_id: *mut c_uint);
                "cuGraphNodeGetToolsId" @ 13010 fn cuGraphNodeGetToolsId(node: CUgraphNode, tools_node_id: *mut u64);
                "cuGraphNodeGetDependencies" @ 10000 fn cuGraphNodeGetDependencies(node: CUgraphNode, dependencies: *mut CUgraphNode, num_dependencies: *mut usize);
                "cuGraphNodeGetDependencies" @ 12030 fn cuGraphNodeGetDependencies_v2(node: CUgraphNode, dependencies: *mut CUgraphNode, edge_data: *mut CUgraphEdgeData, num_dependencies: *mut usize);
                "cuGraphNodeGetDependentNodes" @ 10000 fn cuGraphNodeGetDependentNodes(node: CUgraphNode, dependents: *mut CUgraphNode, num_dependents: *mut usize);
                "cuGraphNodeGetDependentNodes" @ 12030 fn cuGraphNodeGetDependentNodes_v2(node: CUgraphNode, dependents: *mut CUgraphNode, edge_data: *mut CUgraphEdgeData, num_dependents: *mut usize);
                "cuGraphDebugDotPrint" @ 11030 fn cuGraphDebugDotPrint(graph: CUgraph, path: *const c_char, flags: c_uint);
                "cuUserObjectCreate" @ 11030 fn cuUserObjectCreate(object_out: *mut CUuserObject, ptr: *mut c_void, destroy: CUhostFn, initial_refcount: c_uint, flags: c_uint);
                "cuUserObjectRetain" @ 11030 fn cuUserObjectRetain(object: CUuserObject, count: c_uint);
                "cuUserObjectRelease" @ 11030 fn cuUserObjectRelease(object: CUuserObject, count: c_uint);
                "cuGraphRetainUserObject" @ 11030 fn cuGraphRetainUserObject(graph: CUgraph, object: CUuserObject, count: c_uint, flags: c_uint);
                "cuGraphReleaseUserObject" @ 11030 fn cuGraphReleaseUserObject(graph: CUgraph, object: CUuserObject, count: c_uint);
            }
            graph_node {
                "cuGraphAddNode" @ 12020 [locates] fn cuGraphAddNode(p_node: *mut CUgraphNode, graph: CUgraph, dependencies: *const CUgraphNode, num_dependencies: usize, node_params: *mut CUgraphNodeParams);
                "cuGraphAddNode" @ 12030 [locates] fn cuGraphAddNode_v2(p_node: *mut CUgraphNode, graph: CUgraph, dependencies: *const CUgraphNode, dependency_data: *const CUgraphEdgeData, num_dependencies: usize, node_params: *mut CUgraphNodeParams);
                "cuGraphAddNode" @ 13040 [locates] fn cuGraphAddNode_v3(p_node: *mut CUgraphNode, graph: CUgraph, dependencies: *const CUgraphNode, dependency_data: *const CUgraphEdgeData, num_dependencies: usize, node_params: *mut CUgraphNodeParams);
                "cuGraphConditionalHandleCreate" @ 12030 [locates] fn cuGraphConditionalHandleCreate(p_handle_out: *mut CUgraphConditionalHandle, graph: CUgraph, ctx: CUcontext, default_launch_value: c_uint, flags: c_uint);
                "cuGraphNodeSetParams" @ 12020 [locates] fn cuGraphNodeSetParams(node: CUgraphNode, node_params: *mut CUgraphNodeParams);
                "cuGraphNodeSetParams" @ 13040 [locates] fn cuGraphNodeSetParams_v2(node: CUgraphNode, node_params: *mut CUgraphNodeParams);
                "cuGraphNodeGetParams" @ 13020 fn cuGraphNodeGetParams(node: CUgraphNode, node_params: *mut CUgraphNodeParams);
                "cuGraphAddMemcpyNode" @ 10000 [locates] fn cuGraphAddMemcpyNode(p_node: *mut CUgraphNode, graph: CUgraph, dependencies: *const CUgraphNode, num_dependencies: usize, copy_params: *const CUDA_MEMCPY3D, ctx: CUcontext);
                "cuGraphMemcpyNodeGetParams" @ 10000 fn cuGraphMemcpyNodeGetParams(node: CUgraphNode, node_params: *mut CUDA_MEMCPY3D);
                "cuGraphMemcpyNodeSetParams" @ 10000 [locates] fn cuGraphMemcpyNodeSetParams(node: CUgraphNode, node_params: *const CUDA_MEMCPY3D);
                "cuGraphAddMemsetNode" @ 10000 [locates] fn cuGraphAddMemsetNode(p_node: *mut CUgraphNode, graph: CUgraph, dependencies: *const CUgraphNode, num_dependencies: usize, memset_params: *const CUDA_MEMSET_NODE_PARAMS, ctx: CUcontext);
                "cuGraphMemsetNodeGetParams" @ 10000 fn cuGraphMemsetNodeGetParams(node: CUgraphNode, node_params: *mut CUDA_MEMSET_NODE_PARAMS);
                "cuGraphMemsetNodeSetParams" @ 10000 [locates] fn cuGraphMemsetNodeSetParams(node: CUgraphNode, node_params: *const CUDA_MEMSET_NODE_PARAMS);
                "cuGraphAddHostNode" @ 10000 [locates] fn cuGraphAddHostNode(p_node: *mut CUgraphNode, graph: CUgraph, dependencies: *const CUgraphNode, num_dependencies: usize, node_params: *const CUDA_HOST_NODE_PARAMS);
                "cuGraphHostNodeGetParams" @ 10000 fn cuGraphHostNodeGetParams(node: CUgraphNode, node_params: *mut CUDA_HOST_NODE_PARAMS);
                "cuGraphHostNodeSetParams" @ 10000 [locates] fn cuGraphHostNodeSetParams(node: CUgraphNode, node_params: *const CUDA_HOST_NODE_PARAMS);
                "cuGraphAddChildGraphNode" @ 10000 [locates] fn cuGraphAddChildGraphNode(p_node: *mut CUgraphNode, graph: CUgraph, dependencies: *const CUgraphNode, num_dependencies: usize, child_graph: CUgraph);
                "cuGraphChildGraphNodeGetGraph" @ 10000 fn cuGraphChildGraphNodeGetGraph(node: CUgraphNode, p_graph: *mut CUgraph);
                "cuGraphAddEmptyNode" @ 10000 [locates] fn cuGraphAddEmptyNode(p_node: *mut CUgraphNode, graph: CUgraph, dependencies: *const CUgraphNode, num_dependencies: usize);
                "cuGraphAddEventRecordNode" @ 11010 [locates orders] fn cuGraphAddEventRecordNode(p_node: *mut CUgraphNode, graph: CUgraph, dependencies: *const CUgraphNode, num_dependencies: usize, event: CUevent);
                "cuGraphEventRecordNodeGetEvent" @ 11010 [orders] fn cuGraphEventRecordNodeGetEvent(node: CUgraphNode, event_out: *mut CUevent);
                "cuGraphEventRecordNodeSetEvent" @ 11010 [locates orders] fn cuGraphEventRecordNodeSetEvent(node: CUgraphNode, event: CUevent);
                "cuGraphAddEventWaitNode" @ 11010 [locates orders] fn cuGraphAddEventWaitNode(p_node: *mut CUgraphNode, graph: CUgraph, dependencies: *const CUgraphNode, num_dependencies: usize, event: CUevent);
                "cuGraphEventWaitNodeGetEvent" @ 11010 [orders] fn cuGraphEventWaitNodeGetEvent(node: CUgraphNode, event_out: *mut CUevent);
                "cuGraphEventWaitNodeSetEvent" @ 11010 [locates orders] fn cuGraphEventWaitNodeSetEvent(node: CUgraphNode, event: CUevent);
                "cuGraphAddBatchMemOpNode" @ 11070 [locates] fn cuGraphAddBatchMemOpNode(p_node: *mut CUgraphNode, graph: CUgraph, dependencies: *const CUgraphNode, num_dependencies: usize, node_params: *const CUDA_BATCH_MEM_OP_NODE_PARAMS);
                "cuGraphBatchMemOpNodeGetParams" @ 11070 fn cuGraphBatchMemOpNodeGetParams(node: CUgraphNode, node_params_out: *mut CUDA_BATCH_MEM_OP_NODE_PARAMS);
                "cuGraphBatchMemOpNodeSetParams" @ 11070 [locates] fn cuGraphBatchMemOpNodeSetParams(node: CUgraphNode, node_params: *const CUDA_BATCH_MEM_OP_NODE_PARAMS);
                "cuGraphExecBatchMemOpNodeSetParams" @ 11070 [waits locates] fn cuGraphExecBatchMemOpNodeSetParams(exec: CUgraphExec, node: CUgraphNode, node_params: *const CUDA_BATCH_MEM_OP_NODE_PARAMS);
                "cuGraphAddKernelNode" @ 10000 [locates] fn cuGraphAddKernelNode(p_node: *mut CUgraphNode, graph: CUgraph, dependencies: *const CUgraphNode, num_dependencies: usize, node_params: *const CUDA_KERNEL_NODE_PARAMS_v1);
                "cuGraphAddKernelNode" @ 12000 [locates] fn cuGraphAddKernelNode_v2(p_node: *mut CUgraphNode, graph: CUgraph, dependencies: *const CUgraphNode, num_dependencies: usize, node_params: *const CUDA_KERNEL_NODE_PARAMS);
                "cuGraphKernelNodeGetParams" @ 10000 fn cuGraphKernelNodeGetParams(node: CUgraphNode, node_params: *mut CUDA_KERNEL_NODE_PARAMS_v1);
                "cuGraphKernelNodeGetParams" @ 12000 fn cuGraphKernelNodeGetParams_v2(node: CUgraphNode, node_params: *mut CUDA_KERNEL_NODE_PARAMS);
                "cuGraphKernelNodeSetParams" @ 10000 [locates] fn cuGraphKernelNodeSetParams(node: CUgraphNode, node_params: *const CUDA_KERNEL_NODE_PARAMS_v1);
                "cuGraphKernelNodeSetParams" @ 12000 [locates] fn cuGraphKernelNodeSetParams_v2(node: CUgraphNode, node_params: *const CUDA_KERNEL_NODE_PARAMS);
                "cuGraphKernelNodeCopyAttributes" @ 11000 [locates] fn cuGraphKernelNodeCopyAttributes(dst: CUgraphNode, src: CUgraphNode);
                "cuGraphKernelNodeGetAttribute" @ 11000 fn cuGraphKernelNodeGetAttribute(node: CUgraphNode, attr: CUlaunchAttributeID, value_out: *mut CUlaunchAttributeValue);
                "cuGraphKernelNodeSetAttribute" @ 11000 [locates] fn cuGraphKernelNodeSetAttribute(node: CUgraphNode, attr: CUlaunchAttributeID, value: *const CUlaunchAttributeValue);
                "cuGraphExecKernelNodeSetParams" @ 10010 [locates] fn cuGraphExecKernelNodeSetParams(exec: CUgraphExec, node: CUgraphNode, node_params: *const CUDA_KERNEL_NODE_PARAMS_v1);
                "cuGraphExecKernelNodeSetParams" @ 12000 [locates] fn cuGraphExecKernelNodeSetParams_v2(exec: CUgraphExec, node: CUgraphNode, node_params: *const CUDA_KERNEL_NODE_PARAMS);
            }
            graph_memory {
                "cuGraphAddMemAllocNode" @ 11040 [locates] fn cuGraphAddMemAllocNode(p_node: *mut CUgraphNode, graph: CUgraph, dependencies: *const CUgraphNode, num_dependencies: usize, node_params: *mut CUDA_MEM_ALLOC_NODE_PARAMS);
                "cuGraphMemAllocNodeGetParams" @ 11040 fn cuGraphMemAllocNodeGetParams(node: CUgraphNode, params_out: *mut CUDA_MEM_ALLOC_NODE_PARAMS);
                "cuGraphAddMemFreeNode" @ 11040 [locates] fn cuGraphAddMemFreeNode(p_node: *mut CUgraphNode, graph: CUgraph, dependencies: *const CUgraphNode, num_dependencies: usize, dptr: CUdeviceptr);
                "cuGraphMemFreeNodeGetParams" @ 11040 fn cuGraphMemFreeNodeGetParams(node: CUgraphNode, dptr_out: *mut CUdeviceptr);
                "cuDeviceGraphMemTrim" @ 11040 [locates] fn cuDeviceGraphMemTrim(device: CUdevice);
                "cuDeviceGetGraphMemAttribute" @ 11040 fn cuDeviceGetGraphMemAttribute(device: CUdevice, attr: CUgraphMem_attribute, value: *mut c_void);
                "cuDeviceSetGraphMemAttribute" @ 11040 [locates] fn cuDeviceSetGraphMemAttribute(device: CUdevice, attr: CUgraphMem_attribute, value: *mut c_void);
            }
            graph_exec {
                "cuGraphInstantiate" @ 10000 [waits locates] fn cuGraphInstantiate(p_exec: *mut CUgraphExec, graph: CUgraph, p_error_node: *mut CUgraphNode, log_buffer: *mut c_char, buffer_size: usize);
                "cuGraphInstantiate" @ 11000 [waits locates] fn cuGraphInstantiate_v2(p_exec: *mut CUgraphExec, graph: CUgraph, p_error_node: *mut CUgraphNode, log_buffer: *mut c_char, buffer_size: usize);
                "cuGraphInstantiateWithFlags" @ 11040 [waits locates] fn cuGraphInstantiateWithFlags(p_exec: *mut CUgraphExec, graph: CUgraph, flags: u64);
                "cuGraphInstantiateWithParams" @ 12000 [waits locates] fn cuGraphInstantiateWithParams(p_exec: *mut CUgraphExec, graph: CUgraph, instantiate_params: *mut CUDA_GRAPH_INSTANTIATE_PARAMS) per_thread cuGraphInstantiateWithParams_ptsz;
                "cuGraphExecGetFlags" @ 12000 fn cuGraphExecGetFlags(exec: CUgraphExec, flags: *mut u64);
                "cuGraphExecGetId" @ 13010 fn cuGraphExecGetId(exec: CUgraphExec, graph_id: *mut c_uint);
                "cuGraphUpload" @ 11010 [waits locates] fn cuGraphUpload(exec: CUgraphExec, stream: CUstream) per_thread cuGraphUpload_ptsz;
                "cuGraphLaunch" @ 10000 [waits locates] fn cuGraphLaunch(exec: CUgraphExec, stream: CUstream) per_thread cuGraphLaunch_ptsz;
                "cuGraphExecDestroy" @ 10000 [waits locates] fn cuGraphExecDestroy(exec: CUgraphExec);
                "cuGraphExecUpdate" @ 10020 [waits locates] fn cuGraphExecUpdate(exec: CUgraphExec, graph: CUgraph, error_node_out: *mut CUgraphNode, update_result_out: *mut CUgraphExecUpdateResult);
                "cuGraphExecUpdate" @ 12000 [waits locates] fn cuGraphExecUpdate_v2(exec: CUgraphExec, graph: CUgraph, result_info: *mut CUgraphExecUpdateResultInfo);
                "cuGraphExecNodeSetParams" @ 12020 [waits locates] fn cuGraphExecNodeSetParams(exec: CUgraphExec, node: CUgraphNode, node_params: *mut CUgraphNodeParams);
                "cuGraphExecMemcpyNodeSetParams" @ 10020 [waits locates] fn cuGraphExecMemcpyNodeSetParams(exec: CUgraphExec, node: CUgraphNode, copy_params: *const CUDA_MEMCPY3D, ctx: CUcontext);
                "cuGraphExecMemsetNodeSetParams" @ 10020 [waits locates] fn cuGraphExecMemsetNodeSetParams(exec: CUgraphExec, node: CUgraphNode, memset_params: *const CUDA_MEMSET_NODE_PARAMS, ctx: CUcontext);
                "cuGraphExecHostNodeSetParams" @ 10020 [waits locates] fn cuGraphExecHostNodeSetParams(exec: CUgraphExec, node: CUgraphNode, node_params: *const CUDA_HOST_NODE_PARAMS);
                "cuGraphExecChildGraphNodeSetParams" @ 11010 [waits locates] fn cuGraphExecChildGraphNodeSetParams(exec: CUgraphExec, node: CUgraphNode, child_graph: CUgraph);
                "cuGraphExecEventRecordNodeSetEvent" @ 11010 [waits locates orders] fn cuGraphExecEventRecordNodeSetEvent(exec: CUgraphExec, node: CUgraphNode, event: CUevent);
                "cuGraphExecEventWaitNodeSetEvent" @ 11010 [waits locates orders] fn cuGraphExecEventWaitNodeSetEvent(exec: CUgraphExec, node: CUgraphNode, event: CUevent);
                "cuGraphNodeSetEnabled" @ 11060 [waits locates] fn cuGraphNodeSetEnabled(exec: CUgraphExec, node: CUgraphNode, is_enabled: c_uint);
                "cuGraphNodeGetEnabled" @ 11060 fn cuGraphNodeGetEnabled(exec: CUgraphExec, node: CUgraphNode, is_enabled: *mut c_uint);
            }
            memory_operations {
                "cuStreamWaitValue32" @ 8000 [waits locates] fn cuStreamWaitValue32(stream: CUstream, addr: CUdeviceptr, value: u32, flags: c_uint) per_thread cuStreamWaitValue32_ptsz;
                "cuStreamWaitValue32" @ 11070 [waits locates] fn cuStreamWaitValue32_v2(stream: CUstream, addr: CUdeviceptr, value: u32, flags: c_uint) per_thread cuStreamWaitValue32_v2_ptsz;
                "cuStreamWaitValue64" @ 9000 [waits locates] fn cuStreamWaitValue64(stream: CUstream, addr: CUdeviceptr, value: u64, flags: c_uint) per_thread cuStreamWaitValue64_ptsz;
                "cuStreamWaitValue64" @ 11070 [waits locates] fn cuStreamWaitValue64_v2(stream: CUstream, addr: CUdeviceptr, value: u64, flags: c_uint) per_thread cuStreamWaitValue64_v2_ptsz;
                "cuStreamWriteValue32" @ 8000 [waits locates] fn cuStreamWriteValue32(stream: CUstream, addr: CUdeviceptr, value: u32, flags: c_uint) per_thread cuStreamWriteValue32_ptsz;
                "cuStreamWriteValue32" @ 11070 [waits locates] fn cuStreamWriteValue32_v2(stream: CUstream, addr: CUdeviceptr, value: u32, flags: c_uint) per_thread cuStreamWriteValue32_v2_ptsz;
                "cuStreamWriteValue64" @ 9000 [waits locates] fn cuStreamWriteValue64(stream: CUstream, addr: CUdeviceptr, value: u64, flags: c_uint) per_thread cuStreamWriteValue64_ptsz;
                "cuStreamWriteValue64" @ 11070 [waits locates] fn cuStreamWriteValue64_v2(stream: CUstream, addr: CUdeviceptr, value: u64, flags: c_uint) per_thread cuStreamWriteValue64_v2_ptsz;
                "cuStreamBatchMemOp" @ 8000 [waits locates] fn cuStreamBatchMemOp(stream: CUstream, count: c_uint, param_array: *mut CUstreamBatchMemOpParams, flags: c_uint) per_thread cuStreamBatchMemOp_ptsz;
                "cuStreamBatchMemOp" @ 11070 [waits locates] fn cuStreamBatchMemOp_v2(stream: CUstream, count: c_uint, param_array: *mut CUstreamBatchMemOpParams, flags: c_uint) per_thread cuStreamBatchMemOp_v2_ptsz;
            }
            stream_attributes {
                "cuStreamCopyAttributes" @ 11000 [locates] fn cuStreamCopyAttributes(dst: CUstream, src: CUstream) per_thread cuStreamCopyAttributes_ptsz;
                "cuStreamGetAttribute" @ 11000 fn cuStreamGetAttribute(stream: CUstream, attr: CUlaunchAttributeID, value_out: *mut CUlaunchAttributeValue) per_thread cuStreamGetAttribute_ptsz;
                "cuStreamSetAttribute" @ 11000 [locates] fn cuStreamSetAttribute(stream: CUstream, attr: CUlaunchAttributeID, value: *const CUlaunchAttributeValue) per_thread cuStreamSetAttribute_ptsz;
            }
            memory_batches {
                "cuMemcpyBatchAsync" @ 12080 [waits locates] fn cuMemcpyBatchAsync(dsts: *mut CUdeviceptr, srcs: *mut CUdeviceptr, sizes: *mut usize, count: usize, attrs: *mut CUmemcpyAttributes, attrs_idxs: *mut usize, num_attrs: usize, fail_idx: *mut usize, stream: CUstream) per_thread cuMemcpyBatchAsync_ptsz;
                "cuMemcpyBatchAsync" @ 13000 [waits locates] fn cuMemcpyBatchAsync_v2(dsts: *mut CUdeviceptr, srcs: *mut CUdeviceptr, sizes: *mut usize, count: usize, attrs: *mut CUmemcpyAttributes, attrs_idxs: *mut usize, num_attrs: usize, stream: CUstream) per_thread cuMemcpyBatchAsync_v2_ptsz;
                "cuMemcpyWithAttributesAsync" @ 13020 [waits locates] fn cuMemcpyWithAttributesAsync(dst: CUdeviceptr, src: CUdeviceptr, size: usize, attr: *mut CUmemcpyAttributes, stream: CUstream) per_thread cuMemcpyWithAttributesAsync_ptsz;
                "cuMemPrefetchBatchAsync" @ 13000 [waits locates] fn cuMemPrefetchBatchAsync(dptrs: *mut CUdeviceptr, sizes: *mut usize, count: usize, prefetch_locs: *mut CUmemLocation, prefetch_loc_idxs: *mut usize, num_prefetch_locs: usize, flags: u64, stream: CUstream) per_thread cuMemPrefetchBatchAsync_ptsz;
                "cuMemDiscardBatchAsync" @ 13000 [locates] fn cuMemDiscardBatchAsync(dptrs: *mut CUdeviceptr, sizes: *mut usize, count: usize, flags: u64, stream: CUstream) per_thread cuMemDiscardBatchAsync_ptsz;
                "cuMemDiscardAndPrefetchBatchAsync" @ 13000 [locates] fn cuMemDiscardAndPrefetchBatchAsync(dptrs: *mut CUdeviceptr, sizes: *mut usize, count: usize, prefetch_locs: *mut CUmemLocation, prefetch_loc_idxs: *mut usize, num_prefetch_locs: usize, flags: u64, stream: CUstream) per_thread cuMemDiscardAndPrefetchBatchAsync_ptsz;
                "cuMemGetLocationInfo" @ 13040 fn cuMemGetLocationInfo(ptr: CUdeviceptr, size: usize, summary_granularity: usize, sampling_granularity: usize, location_out: *mut CUmemLocation);
            }
            box_batches {
                "cuMemcpy3DBatchAsync" @ 12080 [waits locates] fn cuMemcpy3DBatchAsync(num_ops: usize, op_list: *mut CUDA_MEMCPY3D_BATCH_OP, fail_idx: *mut usize, flags: u64, stream: CUstream) per_thread cuMemcpy3DBatchAsync_ptsz;
                "cuMemcpy3DBatchAsync" @ 13000 [waits locates] fn cuMemcpy3DBatchAsync_v2(num_ops: usize, op_list: *mut CUDA_MEMCPY3D_BATCH_OP, flags: u64, stream: CUstream) per_thread cuMemcpy3DBatchAsync_v2_ptsz;
                "cuMemcpy3DWithAttributesAsync" @ 13020 [waits locates] fn cuMemcpy3DWithAttributesAsync(op: *mut CUDA_MEMCPY3D_BATCH_OP, flags: u64, stream: CUstream) per_thread cuMemcpy3DWithAttributesAsync_ptsz;
            }
            pools_of_locations {
                "cuMemGetDefaultMemPool" @ 13000 fn cuMemGetDefaultMemPool(pool_out: *mut CUmemoryPool, location: *mut CUmemLocation, kind: CUmemAllocationType);
                "cuMemGetMemPool" @ 13000 fn cuMemGetMemPool(pool: *mut CUmemoryPool, location: *mut CUmemLocation, kind: CUmemAllocationType);
                "cuMemSetMemPool" @ 13000 fn cuMemSetMemPool(location: *mut CUmemLocation, kind: CUmemAllocationType, pool: CUmemoryPool);
            }
            module {
                "cuModuleLoad" @ 2000 [locates] fn cuModuleLoad(module: *mut CUmodule, fname: *const c_char);
                "cuModuleLoadData" @ 2000 [locates] fn cuModuleLoadData(module: *mut CUmodule, image: *const c_void);
                "cuModuleLoadDataEx" @ 2010 [locates] fn cuModuleLoadDataEx(module: *mut CUmodule, image: *const c_void, num_options: c_uint, options: *mut CUjit_option, option_values: *mut *mut c_void);
                "cuModuleLoadFatBinary" @ 2000 [locates] fn cuModuleLoadFatBinary(module: *mut CUmodule, fat_cubin: *const c_void);
                "cuModuleUnload" @ 2000 [locates capture_unsafe] fn cuModuleUnload(hmod: CUmodule);
                "cuModuleGetFunction" @ 2000 fn cuModuleGetFunction(hfunc: *mut CUfunction, hmod: CUmodule, name: *const c_char);
                "cuModuleGetFunctionCount" @ 12040 fn cuModuleGetFunctionCount(count: *mut c_uint, module: CUmodule);
                "cuModuleEnumerateFunctions" @ 12040 fn cuModuleEnumerateFunctions(functions: *mut CUfunction, num_functions: c_uint, module: CUmodule);
                "cuModuleGetGlobal" @ 3020 fn cuModuleGetGlobal_v2(dptr: *mut CUdeviceptr, bytes: *mut usize, hmod: CUmodule, name: *const c_char);
                "cuModuleGetLoadingMode" @ 11070 fn cuModuleGetLoadingMode(mode: *mut CUmoduleLoadingMode);
            }
            link {
                "cuLinkCreate" @ 5050 fn cuLinkCreate(num_options: c_uint, options: *mut CUjit_option, option_values: *mut *mut c_void, state_out: *mut CUlinkState);
                "cuLinkCreate" @ 6050 fn cuLinkCreate_v2(num_options: c_uint, options: *mut CUjit_option, option_values: *mut *mut c_void, state_out: *mut CUlinkState);
                "cuLinkAddData" @ 5050 [locates] fn cuLinkAddData(state: CUlinkState, kind: CUjitInputType, data: *mut c_void, size: usize, name: *const c_char, num_options: c_uint, options: *mut CUjit_option, option_values: *mut *mut c_void);
                "cuLinkAddData" @ 6050 [locates] fn cuLinkAddData_v2(state: CUlinkState, kind: CUjitInputType, data: *mut c_void, size: usize, name: *const c_char, num_options: c_uint, options: *mut CUjit_option, option_values: *mut *mut c_void);
                "cuLinkAddFile" @ 5050 [locates] fn cuLinkAddFile(state: CUlinkState, kind: CUjitInputType, path: *const c_char, num_options: c_uint, options: *mut CUjit_option, option_values: *mut *mut c_void);
                "cuLinkAddFile" @ 6050 [locates] fn cuLinkAddFile_v2(state: CUlinkState, kind: CUjitInputType, path: *const c_char, num_options: c_uint, options: *mut CUjit_option, option_values: *mut *mut c_void);
                "cuLinkComplete" @ 5050 [locates] fn cuLinkComplete(state: CUlinkState, cubin_out: *mut *mut c_void, size_out: *mut usize);
                "cuLinkDestroy" @ 5050 fn cuLinkDestroy(state: CUlinkState);
            }
            library {
                "cuLibraryLoadData" @ 12000 [locates] fn cuLibraryLoadData(library: *mut CUlibrary, code: *const c_void, jit_options: *mut CUjit_option, jit_options_values: *mut *mut c_void, num_jit_options: c_uint, library_options: *mut CUlibraryOption, library_option_values: *mut *mut c_void, num_library_options: c_uint);
                "cuLibraryLoadFromFile" @ 12000 [locates] fn cuLibraryLoadFromFile(library: *mut CUlibrary, file_name: *const c_char, jit_options: *mut CUjit_option, jit_options_values: *mut *mut c_void, num_jit_options: c_uint, library_options: *mut CUlibraryOption, library_option_values: *mut *mut c_void, num_library_options: c_uint);
                "cuLibraryUnload" @ 12000 [locates] fn cuLibraryUnload(library: CUlibrary);
                "cuLibraryGetKernel" @ 12000 fn cuLibraryGetKernel(p_kernel: *mut CUkernel, library: CUlibrary, name: *const c_char);
                "cuLibraryGetKernelCount" @ 12040 fn cuLibraryGetKernelCount(count: *mut c_uint, lib: CUlibrary);
                "cuLibraryEnumerateKernels" @ 12040 fn cuLibraryEnumerateKernels(kernels: *mut CUkernel, num_kernels: c_uint, lib: CUlibrary);
                "cuLibraryGetModule" @ 12000 fn cuLibraryGetModule(p_mod: *mut CUmodule, library: CUlibrary);
                "cuLibraryGetGlobal" @ 12000 fn cuLibraryGetGlobal(dptr: *mut CUdeviceptr, bytes: *mut usize, library: CUlibrary, name: *const c_char);
                "cuLibraryGetManaged" @ 12000 fn cuLibraryGetManaged(dptr: *mut CUdeviceptr, bytes: *mut usize, library: CUlibrary, name: *const c_char);
                "cuLibraryGetUnifiedFunction" @ 12000 fn cuLibraryGetUnifiedFunction(fptr: *mut *mut c_void, library: CUlibrary, symbol: *const c_char);
                "cuKernelGetFunction" @ 12000 fn cuKernelGetFunction(p_func: *mut CUfunction, kernel: CUkernel);
                "cuKernelGetAttribute" @ 12000 fn cuKernelGetAttribute(pi: *mut c_int, attrib: CUfunction_attribute, kernel: CUkernel, dev: CUdevice);
                "cuKernelSetAttribute" @ 12000 fn cuKernelSetAttribute(attrib: CUfunction_attribute, val: c_int, kernel: CUkernel, dev: CUdevice);
                "cuKernelSetCacheConfig" @ 12000 fn cuKernelSetCacheConfig(kernel: CUkernel, config: CUfunc_cache, dev: CUdevice);
                "cuKernelGetName" @ 12030 fn cuKernelGetName(name: *mut *const c_char, hfunc: CUkernel);
                "cuKernelGetLibrary" @ 12050 fn cuKernelGetLibrary(p_lib: *mut CUlibrary, kernel: CUkernel);
                "cuKernelGetParamInfo" @ 12040 fn cuKernelGetParamInfo(kernel: CUkernel, param_index: usize, param_offset: *mut usize, param_size: *mut usize);
                "cuKernelGetParamCount" @ 13020 fn cuKernelGetParamCount(kernel: CUkernel, param_count: *mut usize);
            }
            execution {
                "cuFuncGetAttribute" @ 2020 fn cuFuncGetAttribute(pi: *mut c_int, attrib: CUfunction_attribute, hfunc: CUfunction);
                "cuFuncSetAttribute" @ 9000 [waits locates] fn cuFuncSetAttribute(hfunc: CUfunction, attrib: CUfunction_attribute, value: c_int);
                "cuFuncSetCacheConfig" @ 3000 [waits locates] fn cuFuncSetCacheConfig(hfunc: CUfunction, config: CUfunc_cache);
                "cuFuncSetSharedMemConfig" @ 4020 [waits locates] fn cuFuncSetSharedMemConfig(hfunc: CUfunction, config: CUsharedconfig);
                "cuFuncGetModule" @ 11000 fn cuFuncGetModule(hmod: *mut CUmodule, hfunc: CUfunction);
                "cuFuncGetName" @ 12030 fn cuFuncGetName(name: *mut *const c_char, hfunc: CUfunction);
                "cuFuncGetParamInfo" @ 12040 fn cuFuncGetParamInfo(func: CUfunction, param_index: usize, param_offset: *mut usize, param_size: *mut usize);
                "cuFuncGetParamCount" @ 13020 fn cuFuncGetParamCount(func: CUfunction, param_count: *mut usize);
                "cuFuncIsLoaded" @ 12040 [waits locates] fn cuFuncIsLoaded(state: *mut c_uint, function: CUfunction);
                "cuFuncLoad" @ 12040 [waits locates] fn cuFuncLoad(function: CUfunction);
                "cuLaunchKernel" @ 4000 [waits locates] fn cuLaunchKernel(f: CUfunction, grid_dim_x: c_uint, grid_dim_y: c_uint, grid_dim_z: c_uint, block_dim_x: c_uint, block_dim_y: c_uint, block_dim_z: c_uint, shared_mem_bytes: c_uint, stream: CUstream, kernel_params: *mut *mut c_void, extra: *mut *mut c_void) per_thread cuLaunchKernel_ptsz;
                "cuLaunchKernelEx" @ 11060 [waits locates] fn cuLaunchKernelEx(config: *const CUlaunchConfig, f: CUfunction, kernel_params: *mut *mut c_void, extra: *mut *mut c_void) per_thread cuLaunchKernelEx_ptsz;
                "cuLaunchCooperativeKernel" @ 9000 [waits locates] fn cuLaunchCooperativeKernel(f: CUfunction, grid_dim_x: c_uint, grid_dim_y: c_uint, grid_dim_z: c_uint, block_dim_x: c_uint, block_dim_y: c_uint, block_dim_z: c_uint, shared_mem_bytes: c_uint, stream: CUstream, kernel_params: *mut *mut c_void) per_thread cuLaunchCooperativeKernel_ptsz;
                "cuOccupancyMaxActiveBlocksPerMultiprocessor" @ 6050 [waits locates] fn cuOccupancyMaxActiveBlocksPerMultiprocessor(num_blocks: *mut c_int, func: CUfunction, block_size: c_int, dynamic_smem_size: usize);
                "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags" @ 7000 [waits locates] fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(num_blocks: *mut c_int, func: CUfunction, block_size: c_int, dynamic_smem_size: usize, flags: c_uint);
                "cuOccupancyAvailableDynamicSMemPerBlock" @ 10020 [waits locates] fn cuOccupancyAvailableDynamicSMemPerBlock(dynamic_smem_size: *mut usize, func: CUfunction, num_blocks: c_int, block_size: c_int);
                "cuOccupancyMaxPotentialBlockSize" @ 6050 [waits locates] fn cuOccupancyMaxPotentialBlockSize(min_grid_size: *mut c_int, block_size: *mut c_int, func: CUfunction, block_size_to_dynamic_smem_size: CUoccupancyB2DSize, dynamic_smem_size: usize, block_size_limit: c_int);
                "cuOccupancyMaxPotentialBlockSizeWithFlags" @ 7000 [waits locates] fn cuOccupancyMaxPotentialBlockSizeWithFlags(min_grid_size: *mut c_int, block_size: *mut c_int, func: CUfunction, block_size_to_dynamic_smem_size: CUoccupancyB2DSize, dynamic_smem_size: usize, block_size_limit: c_int, flags: c_uint);
                "cuOccupancyMaxPotentialClusterSize" @ 11070 [waits locates] fn cuOccupancyMaxPotentialClusterSize(cluster_size: *mut c_int, func: CUfunction, config: *const CUlaunchConfig);
                "cuOccupancyMaxActiveClusters" @ 11070 [waits locates] fn cuOccupancyMaxActiveClusters(num_clusters: *mut c_int, func: CUfunction, config: *const CUlaunchConfig);
            }
            execution_deprecated {
                "cuFuncSetBlockShape" @ 2000 [waits locates] fn cuFuncSetBlockShape(hfunc: CUfunction, x: c_int, y: c_int, z: c_int);
                "cuFuncSetSharedSize" @ 2000 [waits locates] fn cuFuncSetSharedSize(hfunc: CUfunction, bytes: c_uint);
                "cuParamSetSize" @ 2000 [waits locates] fn cuParamSetSize(hfunc: CUfunction, numbytes: c_uint);
                "cuParamSeti" @ 2000 [waits locates] fn cuParamSeti(hfunc: CUfunction, offset: c_int, value: c_uint);
                "cuParamSetf" @ 2000 [waits locates] fn cuParamSetf(hfunc: CUfunction, offset: c_int, value: f32);
                "cuParamSetv" @ 2000 [waits locates] fn cuParamSetv(hfunc: CUfunction, offset: c_int, ptr: *mut c_void, numbytes: c_uint);
                "cuParamSetTexRef" @ 2000 fn cuParamSetTexRef(hfunc: CUfunction, texunit: c_int, tex_ref: CUtexref);
                "cuLaunch" @ 2000 [waits locates] fn cuLaunch(f: CUfunction);
                "cuLaunchGrid" @ 2000 [waits locates] fn cuLaunchGrid(f: CUfunction, grid_width: c_int, grid_height: c_int);
                "cuLaunchGridAsync" @ 2000 [waits locates] fn cuLaunchGridAsync(f: CUfunction, grid_width: c_int, grid_height: c_int, stream: CUstream);
            }
            notifications {
                "cuDeviceRegisterAsyncNotification" @ 12040 fn cuDeviceRegisterAsyncNotification(device: CUdevice, callback_func: CUasyncCallback, user_data: *mut c_void, callback: *mut CUasyncCallbackHandle);
                "cuDeviceUnregisterAsyncNotification" @ 12040 fn cuDeviceUnregisterAsyncNotification(device: CUdevice, callback: CUasyncCallbackHandle);
                "cuFlushGPUDirectRDMAWrites" @ 11030 fn cuFlushGPUDirectRDMAWrites(target: c_uint, scope: c_uint);
            }
            coredump {
                "cuCoredumpGetAttribute" @ 12010 fn cuCoredumpGetAttribute(attrib: CUcoredumpSettings, value: *mut c_void, size: *mut usize);
                "cuCoredumpGetAttributeGlobal" @ 12010 fn cuCoredumpGetAttributeGlobal(attrib: CUcoredumpSettings, value: *mut c_void, size: *mut usize);
                "cuCoredumpSetAttribute" @ 12010 fn cuCoredumpSetAttribute(attrib: CUcoredumpSettings, value: *mut c_void, size: *mut usize);
                "cuCoredumpSetAttributeGlobal" @ 12010 fn cuCoredumpSetAttributeGlobal(attrib: CUcoredumpSettings, value: *mut c_void, size: *mut usize);
            }
            logs {
                "cuLogsRegisterCallback" @ 12090 [early] fn cuLogsRegisterCallback(callback_func: CUlogsCallback, user_data: *mut c_void, callback_out: *mut CUlogsCallbackHandle);
                "cuLogsUnregisterCallback" @ 12090 [early] fn cuLogsUnregisterCallback(callback: CUlogsCallbackHandle);
                "cuLogsCurrent" @ 12090 [early] fn cuLogsCurrent(iterator_out: *mut CUlogIterator, flags: c_uint);
                "cuLogsDumpToFile" @ 12090 [early] fn cuLogsDumpToFile(iterator: *mut CUlogIterator, path_to_file: *const c_char, flags: c_uint);
                "cuLogsDumpToMemory" @ 12090 [early] fn cuLogsDumpToMemory(iterator: *mut CUlogIterator, buffer: *mut c_char, size: *mut usize, flags: c_uint);
            }
            profiler {
                "cuProfilerStart" @ 4000 fn cuProfilerStart();
                "cuProfilerStop" @ 4000 fn cuProfilerStop();
                "cuProfilerInitialize" @ 4000 fn cuProfilerInitialize(config_file: *const c_char, output_file: *const c_char, output_mode: c_uint);
            }
        }
    };
}
