//! Requests for what the simulated devices do not have: `CUDA_ERROR_NOT_SUPPORTED`, where the manual documents it.

use super::*;
use std::ffi::CStr;

const NONE: *const CUgraphNode = std::ptr::null();

fn graph(p: &Program) -> CUgraph {
    let mut graph = CUgraph::NULL;
    ok!(p, cuGraphCreate(&mut graph, 0));
    graph
}

fn node_of(kind: CUgraphNodeType) -> CUgraphNodeParams {
    CUgraphNodeParams { kind, reserved0: [0; 3], params: [0; 29], reserved2: 0 }
}

fn allocation_on(device: CUdevice) -> CUDA_MEM_ALLOC_NODE_PARAMS {
    // SAFETY: all-zero is a valid description.
    let mut params: CUDA_MEM_ALLOC_NODE_PARAMS = unsafe { std::mem::zeroed() };
    params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    params.poolProps.location = CUmemLocation { kind: CU_MEM_LOCATION_TYPE_DEVICE, id: device };
    params.bytesize = 64;
    params
}

/// Adds a conditional node; returns its body.
fn body_of_condition(p: &Program, graph: CUgraph, handle: u64, node: &mut CUgraphNode) -> CUgraph {
    let condition = CUDA_CONDITIONAL_NODE_PARAMS {
        handle,
        kind: CU_GRAPH_COND_TYPE_IF,
        size: 1,
        phGraph_out: std::ptr::null_mut(),
        ctx: p.context,
    };
    let mut params = node_of(CU_GRAPH_NODE_TYPE_CONDITIONAL);
    let member = params.params.as_mut_ptr().cast::<CUDA_CONDITIONAL_NODE_PARAMS>();
    // SAFETY: the member is shorter than the room for it.
    unsafe { member.write(condition) };
    ok!(p, cuGraphAddNode(node, graph, NONE, 0, &mut params));
    // SAFETY: the driver has set the list of the one body.
    unsafe { member.read().phGraph_out.read() }
}

#[test]
fn semaphore_nodes_are_refused_in_every_version() {
    let p = Program::new();
    let (graph, mut node) = (graph(&p), CUgraphNode::NULL);
    let mut params = node_of(CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL);
    let edges = std::ptr::null();
    fails!(p, NOT_SUPPORTED, cuGraphAddNode(&mut node, graph, NONE, 0, &mut params));
    fails!(p, NOT_SUPPORTED, cuGraphAddNode_v2(&mut node, graph, NONE, edges, 0, &mut params));
    fails!(p, NOT_SUPPORTED, cuGraphAddNode_v3(&mut node, graph, NONE, edges, 0, &mut params));
}

#[test]
fn nodes_do_not_become_memory_nodes() {
    let p = Program::new();
    let (graph, mut node, mut exec) = (graph(&p), CUgraphNode::NULL, CUgraphExec::NULL);
    ok!(p, cuGraphAddEmptyNode(&mut node, graph, NONE, 0));
    ok!(p, cuGraphInstantiateWithFlags(&mut exec, graph, 0));
    let mut params = node_of(CU_GRAPH_NODE_TYPE_MEM_ALLOC);
    // SAFETY: the member is shorter than the room for it.
    unsafe { params.params.as_mut_ptr().cast::<CUDA_MEM_ALLOC_NODE_PARAMS>().write(allocation_on(0)) };
    fails!(p, NOT_SUPPORTED, cuGraphNodeSetParams(node, &mut params));
    fails!(p, NOT_SUPPORTED, cuGraphNodeSetParams_v2(node, &mut params));
    fails!(p, NOT_SUPPORTED, cuGraphExecNodeSetParams(exec, node, &mut params));
}

#[test]
fn bodies_of_conditional_nodes_have_no_memory_nodes() {
    let p = Program::new();
    let (graph, mut handle, mut node) = (graph(&p), 0, CUgraphNode::NULL);
    ok!(p, cuGraphConditionalHandleCreate(&mut handle, graph, p.context, 0, 0));
    let body = body_of_condition(&p, graph, handle, &mut node);
    let word = p.alloc(64);
    let write = CUstreamMemOpValueParams {
        operation: CU_STREAM_MEM_OP_WRITE_VALUE_32,
        address: word,
        value: 1,
        flags: 0,
        alias: 0,
    };
    let mut operation = CUstreamBatchMemOpParams { value: write };
    let batch = CUDA_BATCH_MEM_OP_NODE_PARAMS { ctx: p.context, count: 1, paramArray: &raw mut operation, flags: 0 };
    let mut allocation = allocation_on(0);
    fails!(p, NOT_SUPPORTED, cuGraphAddBatchMemOpNode(&mut node, body, NONE, 0, &batch));
    fails!(p, NOT_SUPPORTED, cuGraphAddMemAllocNode(&mut node, body, NONE, 0, &mut allocation));
    ok!(p, cuGraphAddMemAllocNode(&mut node, graph, NONE, 0, &mut allocation));
    fails!(p, NOT_SUPPORTED, cuGraphAddMemFreeNode(&mut node, body, NONE, 0, allocation.dptr));
    // The refused node frees nothing, so another one may.
    ok!(p, cuGraphAddMemFreeNode(&mut node, graph, &node, 1, allocation.dptr));
}

#[test]
fn graph_that_is_captured_again_gets_no_host_node() {
    unsafe extern "C" fn nothing(_: *mut c_void) {}
    let p = Program::new();
    let (graph, stream, mut node) = (graph(&p), p.stream(CU_STREAM_NON_BLOCKING), CUgraphNode::NULL);
    let (mode, none) = (CU_STREAM_CAPTURE_MODE_RELAXED, std::ptr::null_mut());
    ok!(p, cuStreamBeginRecaptureToGraph(stream, mode, graph, None, none));
    let host = CUDA_HOST_NODE_PARAMS { function: Some(nothing), userData: none };
    fails!(p, NOT_SUPPORTED, cuGraphAddHostNode(&mut node, graph, NONE, 0, &host));
    ok!(p, cuStreamEndCapture(stream, &mut { graph }));
}

#[test]
fn managed_memory_has_no_physical_handle() {
    let p = Program::new();
    // SAFETY: all-zero is a valid description.
    let mut props: CUmemAllocationProp = unsafe { std::mem::zeroed() };
    (props.kind, props.location.kind) = (CU_MEM_ALLOCATION_TYPE_MANAGED, CU_MEM_LOCATION_TYPE_DEVICE);
    let (mut handle, mut granularity) = (0, 0);
    fails!(p, NOT_SUPPORTED, cuMemCreate(&mut handle, 2 << 20, &props, 0));
    fails!(p, NOT_SUPPORTED, cuMemGetAllocationGranularity(&mut granularity, &props, 0));
}

#[test]
fn part_of_a_device_s_memory_has_no_pool() {
    let p = Program::new();
    let mut part = CUmemLocation { kind: CU_MEM_LOCATION_TYPE_DEVICE_LOCALITY_DOMAIN, id: 0 };
    let (mut pool, pinned) = (CUmemoryPool::NULL, CU_MEM_ALLOCATION_TYPE_PINNED);
    fails!(p, NOT_SUPPORTED, cuMemGetDefaultMemPool(&mut pool, &mut part, pinned));
    fails!(p, NOT_SUPPORTED, cuMemGetMemPool(&mut pool, &mut part, pinned));
    ok!(p, cuDeviceGetDefaultMemPool(&mut pool, 0));
    fails!(p, NOT_SUPPORTED, cuMemSetMemPool(&mut part, pinned, pool));
}

#[test]
fn library_with_an_instruction_that_is_not_executed_is_refused() {
    const PTX: &CStr = c".version 8.0\n.target sm_90a\n.address_size 64\n
        .visible .entry wait() { wgmma.fence.sync.aligned; ret; }";
    let p = Program::new();
    let (mut library, none) = (CUlibrary::NULL, std::ptr::null_mut());
    fails!(
        p,
        NOT_SUPPORTED,
        cuLibraryLoadData(&mut library, PTX.as_ptr().cast(), none, none.cast(), 0, none.cast(), none.cast(), 0)
    );
    let path = std::env::temp_dir().join(format!("cuarray-sim-wait-{}.ptx", std::process::id()));
    std::fs::write(&path, PTX.to_bytes()).unwrap();
    let name = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
    fails!(
        p,
        NOT_SUPPORTED,
        cuLibraryLoadFromFile(&mut library, name.as_ptr(), none, none.cast(), 0, none.cast(), none.cast(), 0)
    );
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn refused_capture_of_an_allocation_keeps_no_memory() {
    let p = Program::with(Config { memory: 64 << 20, ..Config::default() });
    let (graph, mut handle, mut node, stream) = (graph(&p), 0, CUgraphNode::NULL, p.stream(0));
    ok!(p, cuGraphConditionalHandleCreate(&mut handle, graph, p.context, 0, 0));
    let body = body_of_condition(&p, graph, handle, &mut node);
    ok!(p, cuStreamBeginCaptureToGraph(stream, body, NONE, std::ptr::null(), 0, CU_STREAM_CAPTURE_MODE_RELAXED));
    let (mut memory, mut captured) = (0, CUgraph::NULL);
    let mut pool = CUmemoryPool::NULL;
    ok!(p, cuDeviceGetDefaultMemPool(&mut pool, 0));
    fails!(p, NOT_SUPPORTED, cuMemAllocAsync(&mut memory, 40 << 20, stream));
    fails!(p, NOT_SUPPORTED, cuMemAllocFromPoolAsync(&mut memory, 40 << 20, pool, stream));
    ok!(p, cuStreamEndCapture(stream, &mut captured));
    ok!(p, cuMemAlloc_v2(&mut memory, 40 << 20));
}
