//! Memory of another device: which kernels, copies and queries reach it, and what enables the access.

use crate::program::*;

/// Two devices. The context of the first is current.
fn two() -> (Program, CUcontext) {
    let program = Program::with(Config { devices: 2, ..Config::default() });
    let peer = program.primary(1);
    (program, peer)
}

/// Memory of the second device.
fn memory_of(program: &Program, peer: CUcontext) -> CUdeviceptr {
    ok!(program, cuCtxSetCurrent(peer));
    let memory = program.alloc(64);
    ok!(program, cuMemsetD8_v2(memory, 1, 64));
    ok!(program, cuCtxSynchronize());
    ok!(program, cuCtxSetCurrent(program.context));
    memory
}

const PTX: &std::ffi::CStr = c".version 8.0\n.target sm_80\n.address_size 64\n
    .visible .entry put(.param .u64 place)
    {
        .reg .b64 %rd<2>; .reg .b32 %r<2>;
        ld.param.u64 %rd1, [place]; mov.u32 %r1, 7;
        st.global.u32 [%rd1], %r1;
        ret;
    }
    .visible .entry get(.param .u64 place)
    {
        .reg .b64 %rd<2>; .reg .b32 %r<2>;
        ld.param.u64 %rd1, [place];
        ld.global.u32 %r1, [%rd1];
        ret;
    }";

/// Runs a kernel of the current context with one address; returns the result of the synchronization.
fn run(program: &Program, name: &std::ffi::CStr, address: CUdeviceptr) -> CUresult {
    let (mut module, mut function, mut address) = (CUmodule::NULL, CUfunction::NULL, address);
    ok!(program, cuModuleLoadData(&mut module, PTX.as_ptr().cast()));
    ok!(program, cuModuleGetFunction(&mut function, module, name.as_ptr()));
    let (mut params, none) = ([(&raw mut address).cast::<c_void>()], std::ptr::null_mut());
    ok!(program, cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, CUstream::NULL, params.as_mut_ptr(), none));
    call!(program, cuCtxSynchronize())
}

fn device_pointer(program: &Program, address: CUdeviceptr) -> Result<u64, Option<&'static str>> {
    let mut value = 0_u64;
    let data = (&raw mut value).cast();
    let result = call!(program, cuPointerGetAttribute(data, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, address));
    if result.is_success() { Ok(value) } else { Err(result.name()) }
}

fn access_flags(program: &Program, address: CUdeviceptr) -> u32 {
    let mut flags = 9_u32;
    let data = (&raw mut flags).cast();
    ok!(program, cuPointerGetAttribute(data, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, address));
    flags
}

const ILLEGAL: CUresult = CUresult::CUDA_ERROR_ILLEGAL_ADDRESS;

#[test]
fn kernel_fails_on_memory_of_a_peer_without_access() {
    for name in [c"put", c"get"] {
        let (program, peer) = two();
        let there = memory_of(&program, peer);
        assert_eq!(run(&program, name, there), ILLEGAL);
        let text = program.sim.report().text(false);
        assert!(
            text.contains("call cuCtxEnablePeerAccess (cudaDeviceEnablePeerAccess) in the context of device 0"),
            "{text}"
        );
    }
}

#[test]
fn kernel_reaches_memory_of_a_peer_after_access_is_enabled() {
    let (program, peer) = two();
    let there = memory_of(&program, peer);
    ok!(program, cuCtxEnablePeerAccess(peer, 0));
    assert_eq!(run(&program, c"put", there), CUresult::CUDA_SUCCESS);
    assert_eq!(program.peek(there), 7);
    // Memory that is allocated later is accessible too, and access has one direction.
    assert_eq!(run(&program, c"put", memory_of(&program, peer)), CUresult::CUDA_SUCCESS);
    let here = program.alloc(4);
    ok!(program, cuCtxDisablePeerAccess(peer));
    assert_eq!(device_pointer(&program, there), Err(Some("CUDA_ERROR_INVALID_VALUE")));
    ok!(program, cuCtxSetCurrent(peer));
    assert_eq!(run(&program, c"put", here), ILLEGAL);
}

#[test]
fn kernel_fails_after_access_is_disabled() {
    let (program, peer) = two();
    let there = memory_of(&program, peer);
    // A launch before each change must not decide what later launches reach.
    assert_eq!(run(&program, c"put", program.alloc(4)), CUresult::CUDA_SUCCESS);
    ok!(program, cuCtxEnablePeerAccess(peer, 0));
    assert_eq!(run(&program, c"get", there), CUresult::CUDA_SUCCESS);
    ok!(program, cuCtxDisablePeerAccess(peer));
    assert_eq!(run(&program, c"get", there), ILLEGAL);
}

#[test]
fn kernel_follows_the_access_of_the_pool() {
    let (program, peer) = two();
    let (pool, there) = pool_memory_of(&program, peer);
    assert_eq!(run(&program, c"put", program.alloc(4)), CUresult::CUDA_SUCCESS);
    ok!(program, cuMemPoolSetAccess(pool, &access(CU_MEM_ACCESS_FLAGS_PROT_READWRITE), 1));
    assert_eq!(run(&program, c"put", there), CUresult::CUDA_SUCCESS);
    ok!(program, cuMemPoolSetAccess(pool, &access(CU_MEM_ACCESS_FLAGS_PROT_NONE), 1));
    assert_eq!(run(&program, c"put", there), ILLEGAL);
}

#[test]
fn pinned_and_managed_memory_is_accessible_from_all_devices() {
    let (program, peer) = two();
    let pinned = program.pinned(64) as u64;
    let mut managed = 0;
    ok!(program, cuMemAllocManaged(&mut managed, 64, CU_MEM_ATTACH_GLOBAL));
    ok!(program, cuCtxSetCurrent(peer));
    for address in [pinned, managed] {
        assert_eq!(run(&program, c"put", address), CUresult::CUDA_SUCCESS);
        assert_eq!(device_pointer(&program, address), Ok(address));
    }
}

#[test]
fn copies_and_fills_reach_a_peer_without_access() {
    let (program, peer) = two();
    let (here, there, mut byte) = (program.alloc(64), memory_of(&program, peer), 0_u8);
    ok!(program, cuMemcpyDtoD_v2(here, there, 64));
    ok!(program, cuMemcpyPeer(here, program.context, there, peer, 64));
    ok!(program, cuMemcpy(there, here, 64));
    ok!(program, cuMemsetD8_v2(there + 1, 2, 1));
    ok!(program, cuMemcpyDtoH_v2((&raw mut byte).cast(), there, 1));
    assert_eq!(byte, 1);
}

/// Memory of the default pool of the second device.
fn pool_memory_of(program: &Program, peer: CUcontext) -> (CUmemoryPool, CUdeviceptr) {
    let (mut pool, mut memory) = (CUmemoryPool::NULL, 0);
    ok!(program, cuDeviceGetDefaultMemPool(&mut pool, 1));
    ok!(program, cuCtxSetCurrent(peer));
    ok!(program, cuMemAllocAsync(&mut memory, 64, CUstream::NULL));
    ok!(program, cuMemsetD8_v2(memory, 1, 64));
    ok!(program, cuCtxSynchronize());
    ok!(program, cuCtxSetCurrent(program.context));
    (pool, memory)
}

/// The access of the first device.
fn access(flags: u32) -> CUmemAccessDesc {
    CUmemAccessDesc { location: CUmemLocation { kind: CU_MEM_LOCATION_TYPE_DEVICE, id: 0 }, flags }
}

/// The results of copies and fills of 4 bytes at an address: of those that read, and of those that write.
fn transfers(program: &Program, stream: CUstream, there: CUdeviceptr) -> [Vec<CUresult>; 2] {
    let (p, here, mut bytes) = (program, program.alloc(64), [0_u8; 4]);
    let host = bytes.as_mut_ptr().cast::<c_void>();
    // SAFETY: all-zero is a valid descriptor.
    let mut boxed: CUDA_MEMCPY3D = unsafe { std::mem::zeroed() };
    (boxed.srcMemoryType, boxed.dstMemoryType) = (CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_DEVICE);
    (boxed.srcDevice, boxed.dstDevice) = (there, here);
    (boxed.WidthInBytes, boxed.Height, boxed.Depth) = (4, 1, 1);
    let reads = vec![
        call!(p, cuMemcpyDtoD_v2(here, there, 4)),
        call!(p, cuMemcpyDtoDAsync_v2(here, there, 4, stream)),
        call!(p, cuMemcpy(here, there, 4)),
        call!(p, cuMemcpyAsync(here, there, 4, stream)),
        call!(p, cuMemcpyDtoH_v2(host, there, 4)),
        call!(p, cuMemcpyDtoHAsync_v2(host, there, 4, stream)),
        call!(p, cuMemcpy3D_v2(&boxed)),
        call!(p, cuMemcpy3DAsync_v2(&boxed, stream)),
        call!(p, cuStreamWaitValue32_v2(stream, there, 0, CU_STREAM_WAIT_VALUE_GEQ)),
    ];
    let writes = vec![
        call!(p, cuMemcpyDtoD_v2(there, here, 4)),
        call!(p, cuMemcpyDtoDAsync_v2(there, here, 4, stream)),
        call!(p, cuMemcpyAsync(there, here, 4, stream)),
        call!(p, cuMemcpyHtoD_v2(there, host, 4)),
        call!(p, cuMemcpyHtoDAsync_v2(there, host, 4, stream)),
        call!(p, cuMemsetD8_v2(there, 0, 4)),
        call!(p, cuMemsetD8Async(there, 0, 4, stream)),
        call!(p, cuMemsetD16_v2(there, 0, 2)),
        call!(p, cuMemsetD16Async(there, 0, 2, stream)),
        call!(p, cuMemsetD32_v2(there, 0, 1)),
        call!(p, cuMemsetD32Async(there, 0, 1, stream)),
        call!(p, cuMemsetD2D8_v2(there, 4, 0, 1, 2)),
        call!(p, cuMemsetD2D8Async(there, 4, 0, 1, 2, stream)),
        call!(p, cuMemsetD2D16Async(there, 4, 0, 1, 2, stream)),
        call!(p, cuMemsetD2D32Async(there, 4, 0, 1, 2, stream)),
        call!(p, cuStreamWriteValue32_v2(stream, there, 1, 0)),
    ];
    [reads, writes]
}

/// By the tests of cuda.core, such a copy is an invalid value.
#[test]
fn copies_and_fills_of_pool_memory_of_a_peer_need_the_access_of_the_pool() {
    const SUCCESS: CUresult = CUresult::CUDA_SUCCESS;
    const REFUSED: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;
    let (program, peer) = two();
    let (pool, there) = pool_memory_of(&program, peer);
    let stream = program.stream(CU_STREAM_NON_BLOCKING);
    ok!(program, cuCtxEnablePeerAccess(peer, 0));
    for (flags, read, written) in [
        (CU_MEM_ACCESS_FLAGS_PROT_NONE, REFUSED, REFUSED),
        (CU_MEM_ACCESS_FLAGS_PROT_READ, SUCCESS, REFUSED),
        (CU_MEM_ACCESS_FLAGS_PROT_READWRITE, SUCCESS, SUCCESS),
    ] {
        ok!(program, cuMemPoolSetAccess(pool, &access(flags), 1));
        let [reads, writes] = transfers(&program, stream, there);
        assert!(reads.iter().all(|result| *result == read), "{flags} {reads:?}");
        assert!(writes.iter().all(|result| *result == written), "{flags} {writes:?}");
        ok!(program, cuCtxSynchronize());
    }
    let text = program.sim.report().text(false);
    assert!(text.contains("give device 0 access to the memory of the pool with cuMemPoolSetAccess"), "{text}");
    // The stream determines the device, not the current context.
    ok!(program, cuMemPoolSetAccess(pool, &access(CU_MEM_ACCESS_FLAGS_PROT_NONE), 1));
    ok!(program, cuCtxSetCurrent(peer));
    fails!(program, INVALID_VALUE, cuMemsetD8Async(there, 0, 4, stream));
    ok!(program, cuMemsetD8Async(there, 0, 4, program.stream(0)));
}

/// The programming guide recommends these copies for pool memory, as they name the contexts.
#[test]
fn copies_between_contexts_reach_pool_memory_without_access() {
    let (program, peer) = two();
    let (_, there) = pool_memory_of(&program, peer);
    let (here, stream, own) = (program.alloc(64), program.stream(0), program.context);
    ok!(program, cuMemcpyPeer(here, own, there, peer, 4));
    ok!(program, cuMemcpyPeerAsync(there, peer, here, own, 4, stream));
    // SAFETY: all-zero is a valid descriptor.
    let mut boxed: CUDA_MEMCPY3D_PEER = unsafe { std::mem::zeroed() };
    (boxed.srcMemoryType, boxed.dstMemoryType) = (CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_DEVICE);
    (boxed.srcDevice, boxed.dstDevice, boxed.srcContext, boxed.dstContext) = (there, here, peer, own);
    (boxed.WidthInBytes, boxed.Height, boxed.Depth) = (4, 1, 1);
    ok!(program, cuMemcpy3DPeer(&boxed));
    ok!(program, cuMemcpy3DPeerAsync(&boxed, stream));
    boxed.srcContext = own;
    fails!(program, INVALID_VALUE, cuMemcpy3DPeerAsync(&boxed, stream));
    let (mut graph, mut exec) = (CUgraph::NULL, CUgraphExec::NULL);
    ok!(program, cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    ok!(program, cuMemcpyPeerAsync(here, own, there, peer, 4, stream));
    ok!(program, cuStreamEndCapture(stream, &mut graph));
    ok!(program, cuGraphInstantiateWithFlags(&mut exec, graph, 0));
    ok!(program, cuGraphLaunch(exec, stream));
    ok!(program, cuStreamSynchronize(stream));
    assert_eq!(program.peek(here), 1);
}

#[test]
fn nodes_of_graphs_need_the_access_of_the_pool_when_added_and_at_each_launch() {
    let (program, peer) = two();
    let (pool, there) = pool_memory_of(&program, peer);
    let (here, stream) = (program.alloc(64), program.stream(0));
    let (mut graph, mut captured, mut node, mut exec) =
        (CUgraph::NULL, CUgraph::NULL, CUgraphNode::NULL, CUgraphExec::NULL);
    let params = CUDA_MEMSET_NODE_PARAMS { dst: there, pitch: 0, value: 7, elementSize: 1, width: 4, height: 1 };
    ok!(program, cuGraphCreate(&mut graph, 0));
    let mut add =
        |context| call!(program, cuGraphAddMemsetNode(&mut node, graph, std::ptr::null(), 0, &params, context));
    assert_eq!(add(program.context), CUresult::CUDA_ERROR_INVALID_VALUE);
    assert_eq!(add(peer), CUresult::CUDA_SUCCESS);
    let open = |flags| ok!(program, cuMemPoolSetAccess(pool, &access(flags), 1));
    ok!(program, cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    fails!(program, INVALID_VALUE, cuMemcpyAsync(here, there, 4, stream));
    fails!(program, INVALID_VALUE, cuMemsetD32Async(there, 0, 1, stream));
    open(CU_MEM_ACCESS_FLAGS_PROT_READ);
    ok!(program, cuMemcpyAsync(here, there, 4, stream));
    ok!(program, cuStreamEndCapture(stream, &mut captured));
    ok!(program, cuGraphInstantiateWithFlags(&mut exec, captured, 0));
    open(CU_MEM_ACCESS_FLAGS_PROT_NONE);
    fails!(program, INVALID_VALUE, cuGraphLaunch(exec, stream));
    open(CU_MEM_ACCESS_FLAGS_PROT_READ);
    ok!(program, cuGraphLaunch(exec, stream));
    ok!(program, cuStreamSynchronize(stream));
}

#[test]
fn device_pointer_of_a_peer_needs_access_and_a_context() {
    let (program, peer) = two();
    let (here, there) = (program.alloc(64), memory_of(&program, peer));
    assert_eq!((device_pointer(&program, here), access_flags(&program, here)), (Ok(here), 3));
    assert_eq!(device_pointer(&program, there), Err(Some("CUDA_ERROR_INVALID_VALUE")));
    assert_eq!(access_flags(&program, there), 0);
    let (mut value, mut attribute) = (9_u64, CU_POINTER_ATTRIBUTE_DEVICE_POINTER);
    let mut data = [(&raw mut value).cast::<c_void>()];
    ok!(program, cuPointerGetAttributes(1, &mut attribute, data.as_mut_ptr(), there));
    assert_eq!(value, 0);
    ok!(program, cuCtxEnablePeerAccess(peer, 0));
    assert_eq!((device_pointer(&program, there), access_flags(&program, there)), (Ok(there), 3));
    ok!(program, cuCtxSetCurrent(CUcontext::NULL));
    assert_eq!(device_pointer(&program, here), Err(Some("CUDA_ERROR_INVALID_CONTEXT")));
}

#[test]
fn pool_memory_follows_the_access_of_the_pool_and_not_of_contexts() {
    let outcomes = [
        (None, ILLEGAL, ILLEGAL),
        (Some(CU_MEM_ACCESS_FLAGS_PROT_NONE), ILLEGAL, ILLEGAL),
        (Some(CU_MEM_ACCESS_FLAGS_PROT_READ), CUresult::CUDA_SUCCESS, ILLEGAL),
        (Some(CU_MEM_ACCESS_FLAGS_PROT_READWRITE), CUresult::CUDA_SUCCESS, CUresult::CUDA_SUCCESS),
    ];
    for (flags, read, written) in outcomes {
        for (name, expected) in [(c"get", read), (c"put", written)] {
            let (program, peer) = two();
            let (pool, there) = pool_memory_of(&program, peer);
            ok!(program, cuCtxEnablePeerAccess(peer, 0));
            if let Some(flags) = flags {
                ok!(program, cuMemPoolSetAccess(pool, &access(flags), 1));
            }
            assert_eq!(run(&program, name, there), expected, "{flags:?}");
        }
    }
}

#[test]
fn graph_memory_follows_the_access_of_its_node() {
    for flags in [CU_MEM_ACCESS_FLAGS_PROT_NONE, CU_MEM_ACCESS_FLAGS_PROT_READWRITE] {
        let (program, peer) = two();
        let (mut graph, mut node, mut exec) = (CUgraph::NULL, CUgraphNode::NULL, CUgraphExec::NULL);
        let access = access(flags);
        // SAFETY: all-zero is a valid value.
        let mut params: CUDA_MEM_ALLOC_NODE_PARAMS = unsafe { std::mem::zeroed() };
        params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
        params.poolProps.location = CUmemLocation { kind: CU_MEM_LOCATION_TYPE_DEVICE, id: 1 };
        (params.accessDescs, params.accessDescCount, params.bytesize) = (&access, 1, 64);
        ok!(program, cuCtxSetCurrent(peer));
        ok!(program, cuGraphCreate(&mut graph, 0));
        ok!(program, cuGraphAddMemAllocNode(&mut node, graph, std::ptr::null(), 0, &mut params));
        ok!(program, cuGraphInstantiateWithFlags(&mut exec, graph, 0));
        ok!(program, cuGraphLaunch(exec, CUstream::NULL));
        ok!(program, cuMemsetD8_v2(params.dptr, 1, 64));
        ok!(program, cuCtxSynchronize());
        ok!(program, cuCtxSetCurrent(program.context));
        let open = flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        let filled = call!(program, cuMemsetD8_v2(params.dptr, 1, 64));
        assert_eq!(filled.is_success(), open);
        assert_eq!(run(&program, c"put", params.dptr), if open { CUresult::CUDA_SUCCESS } else { ILLEGAL });
    }
}

#[test]
fn errors_of_peer_access_are_those_of_the_manual() {
    let (program, peer) = two();
    let mut second = CUcontext::NULL;
    fails!(program, PEER_ACCESS_NOT_ENABLED, cuCtxDisablePeerAccess(peer));
    fails!(program, INVALID_VALUE, cuCtxEnablePeerAccess(peer, 1));
    fails!(program, INVALID_CONTEXT, cuCtxEnablePeerAccess(CUcontext(12345), 0));
    fails!(program, INVALID_CONTEXT, cuCtxEnablePeerAccess(program.context, 0));
    ok!(program, cuCtxEnablePeerAccess(peer, 0));
    fails!(program, PEER_ACCESS_ALREADY_ENABLED, cuCtxEnablePeerAccess(peer, 0));
    ok!(program, cuCtxCreate_v2(&mut second, 0, 0));
    fails!(program, PEER_ACCESS_UNSUPPORTED, cuCtxEnablePeerAccess(program.context, 0));
    // Access of one context is not access of another context of the same device.
    fails!(program, PEER_ACCESS_NOT_ENABLED, cuCtxDisablePeerAccess(peer));
    ok!(program, cuCtxDestroy_v2(second));
    ok!(program, cuCtxSetCurrent(CUcontext::NULL));
    fails!(program, INVALID_CONTEXT, cuCtxEnablePeerAccess(peer, 0));
    fails!(program, INVALID_CONTEXT, cuCtxDisablePeerAccess(peer));
    let mut can = 9;
    fails!(program, INVALID_DEVICE, cuDeviceCanAccessPeer(&mut can, 0, 2));
}
