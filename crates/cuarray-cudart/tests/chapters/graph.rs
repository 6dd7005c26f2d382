use crate::driver::{ok, open};
use crate::execution::{ONE, PTX, register};
use crate::symbols::registered;
use cuarray_abi::{CUDA_CONDITIONAL_NODE_PARAMS, CUcontext, CUgraph, CUgraphExec, CUgraphNode, CUuserObject};
use cuarray_cudart::types::*;
use cuarray_cudart::v13::*;
use cuarray_cudart::{cudaError_t, v12};
use std::ffi::{CString, c_void};
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

const NULL: cudaStream_t = cudaStream_t::NULL;
const NO_NODE: cudaGraphNode_t = cudaGraphNode_t::NULL;
const INVALID: cudaError_t = cudaError_t::cudaErrorInvalidValue;

/// A graph, and memory of the device for its nodes.
struct Fixture {
    graph: cudaGraph_t,
    memory: *mut c_void,
}

impl Fixture {
    fn new() -> Fixture {
        open();
        let (mut graph, mut memory) = (CUgraph::NULL, ptr::null_mut());
        unsafe {
            ok(cudaGraphCreate(&mut graph, 0));
            ok(cudaMalloc(&mut memory, 64));
            ok(cudaMemset(memory, 0, 64));
        }
        Fixture { graph, memory }
    }

    /// Launches the graph and waits for it.
    fn run(&self) {
        let mut exec = CUgraphExec::NULL;
        unsafe {
            ok(cudaGraphInstantiate(&mut exec, self.graph, 0));
            run(exec);
            ok(cudaGraphExecDestroy(exec));
        }
    }

    fn read(&self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        unsafe { ok(cudaMemcpy(bytes.as_mut_ptr().cast(), self.memory, count, 2)) };
        bytes
    }

    /// A node that fills the first `width` bytes.
    fn fill(&self, value: u32, width: usize) -> cudaGraphNode_t {
        let mut node = NO_NODE;
        unsafe { ok(cudaGraphAddMemsetNode(&mut node, self.graph, ptr::null(), 0, &self.fill_of(value, width))) };
        node
    }

    fn fill_of(&self, value: u32, width: usize) -> cudaMemsetParams {
        cudaMemsetParams { dst: self.memory.addr() as u64, pitch: 0, value, elementSize: 1, width, height: 1 }
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        unsafe {
            ok(cudaGraphDestroy(self.graph));
            ok(cudaFree(self.memory));
        }
    }
}

fn run(exec: cudaGraphExec_t) {
    unsafe {
        ok(cudaGraphLaunch(exec, NULL));
        ok(cudaDeviceSynchronize());
    }
}

/// Parameters of a node of a kind, whose first words are given.
fn node_params<T: Copy>(kind: u32, part: T) -> cudaGraphNodeParams {
    let mut params = cudaGraphNodeParams { kind, reserved0: [0; 3], params: [0; 29], reserved2: 0 };
    assert!(size_of::<T>() <= 29 * 8);
    unsafe { params.params.as_mut_ptr().cast::<T>().write(part) };
    params
}

fn part<T: Copy>(params: &cudaGraphNodeParams) -> T {
    unsafe { params.params.as_ptr().cast::<T>().read() }
}

#[test]
fn captured_work_runs_at_each_launch() {
    let fixture = Fixture::new();
    let (mut stream, mut graph, mut exec) = (NULL, CUgraph::NULL, CUgraphExec::NULL);
    unsafe {
        ok(cudaStreamCreate(&mut stream));
        ok(cudaStreamBeginCapture(stream, 0));
        ok(cudaMemsetAsync(fixture.memory, 3, 4, stream));
        ok(cudaMemcpyAsync(fixture.memory.byte_add(4), fixture.memory, 4, 3, stream));
        ok(cudaStreamEndCapture(stream, &mut graph));
        let mut count = 0;
        ok(cudaGraphGetNodes(graph, ptr::null_mut(), &mut count));
        assert_eq!(count, 2);
        ok(cudaGraphInstantiateWithFlags(&mut exec, graph, 0));
        assert_eq!(fixture.read(8), [0; 8]);
        ok(cudaGraphUpload(exec, stream));
        for _ in 0..2 {
            ok(cudaMemset(fixture.memory, 0, 8));
            ok(cudaGraphLaunch_ptsz(exec, stream));
            ok(cudaStreamSynchronize(stream));
            assert_eq!(fixture.read(8), [3; 8]);
        }
        ok(cudaGraphExecDestroy(exec));
        ok(cudaGraphDestroy(graph));
        ok(cudaStreamDestroy(stream));
    }
}

#[test]
fn kernel_node_names_its_host_function() {
    let fixture = Fixture::new();
    static HOST: u8 = 0;
    let host = (&raw const HOST).cast::<c_void>();
    unsafe {
        let handle = register(PTX, host, c"write");
        let mut argument = fixture.memory;
        let mut args = [(&raw mut argument).cast::<c_void>()];
        let params = cudaKernelNodeParams {
            func: host.cast_mut(),
            gridDim: ONE,
            blockDim: ONE,
            sharedMemBytes: 0,
            kernelParams: args.as_mut_ptr(),
            extra: ptr::null_mut(),
        };
        let mut node = NO_NODE;
        ok(cudaGraphAddKernelNode(&mut node, fixture.graph, ptr::null(), 0, &params));
        let mut found = params;
        ok(cudaGraphKernelNodeGetParams(node, &mut found));
        assert_eq!((found.func.cast_const(), found.gridDim, found.blockDim), (host, ONE, ONE));
        ok(cudaGraphKernelNodeSetParams(node, &found));
        fixture.run();
        assert_eq!(fixture.read(4), [42, 0, 0, 0]);

        // An executable node is changed to write elsewhere.
        let mut exec = CUgraphExec::NULL;
        ok(cudaGraphInstantiate(&mut exec, fixture.graph, 0));
        args[0].cast::<*mut c_void>().write(fixture.memory.byte_add(8));
        ok(cudaGraphExecKernelNodeSetParams(exec, node, &params));
        run(exec);
        assert_eq!(fixture.read(12)[8], 42);
        ok(cudaGraphExecDestroy(exec));

        let unknown = cudaKernelNodeParams { func: fixture.memory, ..params };
        let error = cudaGraphAddKernelNode(&mut node, fixture.graph, ptr::null(), 0, &unknown);
        assert_eq!(error, cudaError_t::cudaErrorInvalidDeviceFunction);
        assert_eq!(cudaGetLastError(), error);
        let empty = cudaKernelNodeParams { gridDim: dim3 { x: 0, ..ONE }, ..params };
        assert_eq!(cudaGraphAddKernelNode(&mut node, fixture.graph, ptr::null(), 0, &empty), INVALID);
        assert_eq!(cudaGraphAddKernelNode(&mut node, fixture.graph, ptr::null(), 0, ptr::null()), INVALID);
        assert_eq!(cudaGraphAddKernelNode(ptr::null_mut(), fixture.graph, ptr::null(), 0, &params), INVALID);
        assert_eq!(cudaGraphKernelNodeGetParams(node, ptr::null_mut()), INVALID);
        let fill = fixture.fill(1, 1);
        assert_eq!(cudaGraphKernelNodeGetParams(fill, &mut found), INVALID, "not a kernel");
        __cudaUnregisterFatBinary(handle);
    }
}

#[test]
fn captured_kernel_of_a_library_is_shown_and_taken_back() {
    let fixture = Fixture::new();
    let (mut library, mut kernel, mut stream, mut graph) = Default::default();
    let none = ptr::null_mut;
    unsafe {
        ok(cudaLibraryLoadData(
            &mut library,
            PTX.as_ptr().cast(),
            ptr::null_mut(),
            none(),
            0,
            ptr::null_mut(),
            none(),
            0,
        ));
        ok(cudaLibraryGetKernel(&mut kernel, library, c"write".as_ptr()));
        ok(cudaStreamCreate(&mut stream));
        ok(cudaStreamBeginCapture(stream, 0));
        let mut argument = fixture.memory;
        let mut args = [(&raw mut argument).cast::<c_void>()];
        ok(cudaLaunchKernel(ptr::without_provenance(kernel.0), ONE, ONE, args.as_mut_ptr(), 0, stream));
        ok(cudaStreamEndCapture(stream, &mut graph));
        let (mut node, mut count) = (NO_NODE, 1);
        ok(cudaGraphGetNodes(graph, &mut node, &mut count));
        let mut params = cudaKernelNodeParams {
            func: none().cast(),
            gridDim: ONE,
            blockDim: ONE,
            sharedMemBytes: 0,
            kernelParams: ptr::null_mut(),
            extra: ptr::null_mut(),
        };
        ok(cudaGraphKernelNodeGetParams(node, &mut params));
        assert!(!params.func.is_null());
        ok(cudaGraphKernelNodeSetParams(node, &params));
        // The arguments belong to the node, which has replaced them.
        ok(cudaGraphKernelNodeGetParams(node, &mut params));
        ok(cudaGraphAddKernelNode(&mut node, fixture.graph, ptr::null(), 0, &params));
        fixture.run();
        assert_eq!(fixture.read(1), [42]);
        ok(cudaGraphDestroy(graph));
        ok(cudaStreamDestroy(stream));
    }
}

#[test]
fn copy_nodes_copy_and_tell_their_parameters() {
    let fixture = Fixture::new();
    let (mut node, bytes) = (NO_NODE, [1_u8, 2, 3, 4]);
    let (at, none) = (fixture.memory, ptr::null());
    unsafe {
        ok(cudaGraphAddMemcpyNode1D(&mut node, fixture.graph, none, 0, at, bytes.as_ptr().cast(), 4, 1));
        let mut found = std::mem::zeroed::<cudaMemcpy3DParms>();
        ok(cudaGraphMemcpyNodeGetParams(node, &mut found));
        assert_eq!((found.kind, found.extent.width, found.dstPtr.ptr), (1, 4, at));
        assert_eq!(found.srcPtr.ptr.cast_const(), bytes.as_ptr().cast());
        found.dstPos.x = 1;
        found.extent.width = 3;
        let mut second = NO_NODE;
        ok(cudaGraphAddMemcpyNode(&mut second, fixture.graph, &node, 1, &found));
        fixture.run();
        assert_eq!(fixture.read(5), [1, 1, 2, 3, 0]);
        ok(cudaGraphMemcpyNodeSetParams(second, &found));
        ok(cudaGraphMemcpyNodeSetParams1D(second, at.byte_add(8), bytes.as_ptr().cast(), 2, 1));
        let mut exec = CUgraphExec::NULL;
        ok(cudaGraphInstantiate(&mut exec, fixture.graph, 0));
        run(exec);
        assert_eq!(fixture.read(10)[8..], [1, 2]);
        let other = [9_u8; 4];
        ok(cudaGraphExecMemcpyNodeSetParams1D(exec, node, at, other.as_ptr().cast(), 4, 1));
        run(exec);
        assert_eq!(fixture.read(4), [9; 4]);
        ok(cudaGraphExecDestroy(exec));

        let kind = cudaError_t::cudaErrorInvalidMemcpyDirection;
        assert_eq!(cudaGraphAddMemcpyNode1D(&mut node, fixture.graph, none, 0, at, at, 4, 5), kind);
        assert_eq!(cudaGraphAddMemcpyNode1D(&mut node, fixture.graph, none, 0, at, at, 0, 3), INVALID, "empty");
        assert_eq!(cudaGraphAddMemcpyNode(&mut node, fixture.graph, none, 0, ptr::null()), INVALID);
        assert_eq!(cudaGraphAddMemcpyNode1D(ptr::null_mut(), fixture.graph, none, 0, at, at, 4, 3), INVALID);
        assert_eq!(cudaGraphMemcpyNodeGetParams(node, ptr::null_mut()), INVALID);
        let symbol = cudaError_t::cudaErrorInvalidSymbol;
        assert_eq!(cudaGraphAddMemcpyNodeToSymbol(&mut node, fixture.graph, none, 0, at, at, 4, 0, 3), symbol);
        assert_eq!(cudaGraphAddMemcpyNodeFromSymbol(&mut node, fixture.graph, none, 0, at, at, 4, 0, 3), symbol);
        assert_eq!(cudaGraphAddMemcpyNodeToSymbol(&mut node, fixture.graph, none, 0, at, at, 4, 0, 2), kind);
        assert_eq!(cudaGraphMemcpyNodeSetParamsFromSymbol(second, at, at, 4, 0, 1), kind);
    }
}

#[test]
fn fill_nodes_fill_and_tell_their_parameters() {
    let fixture = Fixture::new();
    let node = fixture.fill(7, 4);
    unsafe {
        let mut found = fixture.fill_of(0, 1);
        ok(cudaGraphMemsetNodeGetParams(node, &mut found));
        assert_eq!((found.value, found.width), (7, 4));
        fixture.run();
        assert_eq!(fixture.read(5), [7, 7, 7, 7, 0]);
        ok(cudaGraphMemsetNodeSetParams(node, &fixture.fill_of(8, 2)));
        let mut exec = CUgraphExec::NULL;
        ok(cudaGraphInstantiate(&mut exec, fixture.graph, 0));
        run(exec);
        assert_eq!(fixture.read(4), [8, 8, 7, 7]);
        ok(cudaGraphExecMemsetNodeSetParams(exec, node, &fixture.fill_of(9, 2)));
        run(exec);
        assert_eq!(fixture.read(4), [9, 9, 7, 7]);
        ok(cudaGraphNodeSetEnabled(exec, node, 0));
        let mut enabled = 1;
        ok(cudaGraphNodeGetEnabled(exec, node, &mut enabled));
        assert_eq!(enabled, 0);
        ok(cudaGraphExecDestroy(exec));
        let mut other = NO_NODE;
        let odd = cudaMemsetParams { elementSize: 3, ..found };
        assert_eq!(cudaGraphAddMemsetNode(&mut other, fixture.graph, ptr::null(), 0, &odd), INVALID);
        assert_eq!(cudaGraphAddMemsetNode(&mut other, fixture.graph, ptr::null(), 0, ptr::null()), INVALID);
        assert_eq!(cudaGraphMemsetNodeGetParams(node, ptr::null_mut()), INVALID);
        assert_eq!(cudaGraphMemsetNodeSetParams(node, ptr::null()), INVALID);
        assert_eq!(cudaGraphExecMemsetNodeSetParams(exec, node, ptr::null()), INVALID);
    }
}

#[test]
fn host_child_event_and_empty_nodes_are_added() {
    extern "C" fn count(counter: *mut c_void) {
        unsafe { &*counter.cast::<AtomicU32>() }.fetch_add(1, Ordering::Relaxed);
    }
    let (fixture, calls) = (Fixture::new(), AtomicU32::new(0));
    let (mut nodes, none) = ([NO_NODE; 5], ptr::null());
    unsafe {
        let mut event = cudaEvent_t::NULL;
        ok(cudaEventCreate(&mut event));
        let [host, child, record, wait, empty] = &mut nodes;
        let user_data = (&raw const calls).cast_mut().cast::<c_void>();
        let params = cudaHostNodeParams { function: Some(count), userData: user_data };
        ok(cudaGraphAddHostNode(host, fixture.graph, none, 0, &params));
        let mut found = cudaHostNodeParams { function: None, userData: ptr::null_mut() };
        ok(cudaGraphHostNodeGetParams(*host, &mut found));
        assert_eq!(found.userData, user_data);
        ok(cudaGraphHostNodeSetParams(*host, &found));
        let inner = Fixture::new();
        inner.fill(5, 4);
        ok(cudaGraphAddChildGraphNode(child, fixture.graph, host, 1, inner.graph));
        let mut of_child = CUgraph::NULL;
        ok(cudaGraphChildGraphNodeGetGraph(*child, &mut of_child));
        assert_ne!(of_child, inner.graph);
        ok(cudaGraphAddEventRecordNode(record, fixture.graph, child, 1, event));
        ok(cudaGraphAddEventWaitNode(wait, fixture.graph, record, 1, event));
        let mut of_node = cudaEvent_t::NULL;
        ok(cudaGraphEventRecordNodeGetEvent(*record, &mut of_node));
        assert_eq!(of_node, event);
        ok(cudaGraphEventWaitNodeGetEvent(*wait, &mut of_node));
        ok(cudaGraphEventWaitNodeSetEvent(*wait, of_node));
        ok(cudaGraphEventRecordNodeSetEvent(*record, of_node));
        ok(cudaGraphAddEmptyNode(empty, fixture.graph, wait, 1));
        let mut exec = CUgraphExec::NULL;
        ok(cudaGraphInstantiate(&mut exec, fixture.graph, 0));
        ok(cudaGraphExecHostNodeSetParams(exec, *host, &params));
        ok(cudaGraphExecChildGraphNodeSetParams(exec, *child, inner.graph));
        ok(cudaGraphExecEventRecordNodeSetEvent(exec, *record, event));
        ok(cudaGraphExecEventWaitNodeSetEvent(exec, *wait, event));
        run(exec);
        assert_eq!(calls.load(Ordering::Relaxed), 1);
        assert_eq!(inner.read(4), [5; 4]);
        ok(cudaEventQuery(event));
        let kinds = nodes.map(|node| {
            let mut kind = 99;
            ok(cudaGraphNodeGetType(node, &mut kind));
            kind
        });
        assert_eq!(kinds, [3, 4, 7, 6, 5]);
        ok(cudaGraphExecDestroy(exec));
        ok(cudaEventDestroy(event));
        let mut node = NO_NODE;
        assert_eq!(cudaGraphAddHostNode(&mut node, fixture.graph, none, 0, ptr::null()), INVALID);
        assert_eq!(cudaGraphAddChildGraphNode(&mut node, fixture.graph, none, 0, CUgraph(0x1230)), INVALID);
        let error = cudaGraphAddEventRecordNode(&mut node, fixture.graph, none, 0, event);
        assert_ne!(error, cudaError_t::cudaSuccess, "a destroyed event");
        assert_eq!(cudaGraphAddEmptyNode(&mut node, CUgraph(0x1230), none, 0), INVALID);
        assert_eq!(cudaGraphAddEmptyNode(ptr::null_mut(), fixture.graph, none, 0), INVALID);
    }
}

#[test]
fn edges_are_added_found_and_removed() {
    let fixture = Fixture::new();
    let (first, second) = (fixture.fill(1, 1), fixture.fill(2, 1));
    let (mut from, mut to, mut count, mut data) = (NO_NODE, NO_NODE, 1, cudaGraphEdgeData::default());
    unsafe {
        ok(cudaGraphAddDependencies(fixture.graph, &first, &second, ptr::null(), 1));
        ok(cudaGraphGetEdges(fixture.graph, &mut from, &mut to, &mut data, &mut count));
        assert_eq!((from, to, count), (first, second, 1));
        ok(v12::cudaGraphGetEdges(fixture.graph, &mut from, &mut to, &mut count));
        ok(v12::cudaGraphGetEdges_v2(fixture.graph, &mut from, &mut to, &mut data, &mut count));
        ok(cudaGraphNodeGetDependencies(second, &mut from, &mut data, &mut count));
        assert_eq!(from, first);
        ok(v12::cudaGraphNodeGetDependencies(second, &mut from, &mut count));
        ok(cudaGraphNodeGetDependentNodes(first, &mut to, &mut data, &mut count));
        assert_eq!(to, second);
        ok(v12::cudaGraphNodeGetDependentNodes(first, &mut to, &mut count));
        ok(cudaGraphGetRootNodes(fixture.graph, &mut from, &mut count));
        assert_eq!((from, count), (first, 1));
        ok(cudaGraphRemoveDependencies(fixture.graph, &first, &second, ptr::null(), 1));
        ok(v12::cudaGraphAddDependencies(fixture.graph, &second, &first, 1));
        ok(v12::cudaGraphRemoveDependencies(fixture.graph, &second, &first, 1));
        assert_eq!(cudaGraphRemoveDependencies(fixture.graph, &first, &second, ptr::null(), 1), INVALID);
        ok(cudaGraphGetEdges(fixture.graph, ptr::null_mut(), ptr::null_mut(), ptr::null_mut(), &mut count));
        assert_eq!(count, 0);
        let mut nodes = [NO_NODE; 3];
        count = 3;
        ok(cudaGraphGetNodes(fixture.graph, nodes.as_mut_ptr(), &mut count));
        assert_eq!((nodes, count), ([first, second, NO_NODE], 2));
        ok(cudaGraphDestroyNode(second));
        ok(cudaGraphGetNodes(fixture.graph, ptr::null_mut(), &mut count));
        assert_eq!(count, 1);
        assert_eq!(cudaGraphGetNodes(fixture.graph, ptr::null_mut(), ptr::null_mut()), INVALID);
        assert_eq!(cudaGraphGetNodes(CUgraph(0x1230), ptr::null_mut(), &mut count), INVALID);
        assert_eq!(cudaGraphNodeGetType(CUgraphNode(0x1230), &mut 0), INVALID);
        assert_eq!(cudaGraphDestroyNode(CUgraphNode(0x1230)), INVALID);
        assert_eq!(cudaGetLastError(), INVALID);
    }
}

#[test]
fn clone_has_its_own_nodes_and_ids() {
    let fixture = Fixture::new();
    let node = fixture.fill(1, 1);
    unsafe {
        let (mut clone, mut found, mut of_node) = (CUgraph::NULL, NO_NODE, CUgraph::NULL);
        ok(cudaGraphClone(&mut clone, fixture.graph));
        ok(cudaGraphNodeFindInClone(&mut found, node, clone));
        assert_ne!(found, node);
        ok(cudaGraphNodeGetContainingGraph(found, &mut of_node));
        assert_eq!(of_node, clone);
        let (mut first, mut second, mut local, mut exec) = (0, 0, 0, CUgraphExec::NULL);
        ok(cudaGraphGetId(fixture.graph, &mut first));
        ok(cudaGraphGetId(clone, &mut second));
        assert_ne!(first, second);
        ok(cudaGraphNodeGetLocalId(node, &mut local));
        let mut tools = 0;
        ok(cudaGraphNodeGetToolsId(node, &mut tools));
        assert_ne!(tools, 0);
        assert_eq!(cudaGraphNodeGetToolsId(node, ptr::null_mut()), INVALID);
        assert_eq!(cudaGraphNodeGetToolsId(NO_NODE, &mut tools), INVALID);
        ok(cudaGraphInstantiate(&mut exec, clone, 0));
        ok(cudaGraphExecGetId(exec, &mut first));
        let mut flags = 9;
        ok(cudaGraphExecGetFlags(exec, &mut flags));
        assert_eq!(flags, 0);
        ok(cudaGraphExecDestroy(exec));
        ok(cudaGraphDestroy(clone));
        assert_eq!(cudaGraphClone(ptr::null_mut(), fixture.graph), INVALID);
        assert_eq!(cudaGraphNodeFindInClone(&mut found, node, fixture.graph), INVALID);
        assert_eq!(cudaGraphDestroy(clone), INVALID);
        assert_eq!(cudaGraphCreate(ptr::null_mut(), 0), INVALID);
        assert_eq!(cudaGraphCreate(&mut clone, 1), INVALID);
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a node of each kind")]
fn nodes_of_each_kind_are_added_by_one_function() {
    let fixture = Fixture::new();
    static HOST: u8 = 0;
    let host = (&raw const HOST).cast::<c_void>();
    let add = |params: &mut cudaGraphNodeParams| {
        let mut node = NO_NODE;
        unsafe {
            ok(cudaGraphAddNode(&mut node, fixture.graph, ptr::null(), ptr::null(), 0, params));
        }
        node
    };
    let get = |node| {
        let mut found = node_params(99, 0_u64);
        unsafe { ok(cudaGraphNodeGetParams(node, &mut found)) };
        found
    };
    unsafe {
        let handle = register(PTX, host, c"write");
        let mut argument = fixture.memory;
        let mut args = [(&raw mut argument).cast::<c_void>()];
        let kernel = cudaKernelNodeParamsV2 {
            func: host.cast_mut(),
            gridDim: ONE,
            blockDim: ONE,
            sharedMemBytes: 0,
            kernelParams: args.as_mut_ptr(),
            extra: ptr::null_mut(),
            ctx: CUcontext::NULL,
            functionType: 0,
        };
        let mut params = node_params(0, kernel);
        let node = add(&mut params);
        assert_eq!(part::<cudaKernelNodeParamsV2>(&params).func.cast_const(), host, "unchanged");
        let mut found = get(node);
        assert_eq!(part::<cudaKernelNodeParamsV2>(&found).func.cast_const(), host);
        assert_eq!(part::<cudaKernelNodeParamsV2>(&found).functionType, 1);
        ok(cudaGraphNodeSetParams(node, &mut found));
        let in_context = cudaKernelNodeParamsV2 { ctx: CUcontext(8), ..kernel };
        let error = cudaGraphNodeSetParams(node, &mut node_params(0, in_context));
        assert_eq!(error, cudaError_t::cudaErrorDeviceUninitialized);
        let mut ctx = CUcontext::NULL;
        ok(cudaDeviceGetExecutionCtx(&mut ctx, 0));
        ok(cudaGraphNodeSetParams(node, &mut node_params(0, cudaKernelNodeParamsV2 { ctx, ..kernel })));
        for kind in [2, 3] {
            let wrong = cudaKernelNodeParamsV2 { functionType: kind, func: ptr::null_mut(), ..kernel };
            let error = cudaGraphNodeSetParams(node, &mut node_params(0, wrong));
            assert_eq!(error, cudaError_t::cudaErrorInvalidDeviceFunction);
        }
        let wrong = cudaKernelNodeParamsV2 { functionType: 4, ..kernel };
        assert_eq!(cudaGraphNodeSetParams(node, &mut node_params(0, wrong)), INVALID);

        let mut copy = std::mem::zeroed::<cudaMemcpyNodeParams>();
        let row = |ptr| cudaPitchedPtr { ptr, pitch: 4, xsize: 4, ysize: 1 };
        copy.copyParams.srcPtr = row(fixture.memory);
        copy.copyParams.dstPtr = row(fixture.memory.byte_add(16));
        copy.copyParams.extent = cudaExtent { width: 4, height: 1, depth: 1 };
        copy.copyParams.kind = 3;
        let (mut after, mut copied) = (node_params(1, copy), NO_NODE);
        ok(v12::cudaGraphAddNode(&mut copied, fixture.graph, &node, 1, &mut after));
        let found: cudaMemcpyNodeParams = part(&get(copied));
        assert_eq!((found.copyParams.kind, found.copyParams.dstPtr.ptr), (3, fixture.memory.byte_add(16)));
        let fill = cudaMemsetParamsV2 { memset: fixture.fill_of(6, 1), ctx: CUcontext::NULL };
        let mut fill = node_params(
            2,
            cudaMemsetParamsV2 { memset: cudaMemsetParams { dst: fill.memset.dst + 32, ..fill.memset }, ..fill },
        );
        let filled = add(&mut fill);
        assert_eq!(part::<cudaMemsetParamsV2>(&get(filled)).memset.value, 6);
        let mut exec = CUgraphExec::NULL;
        ok(cudaGraphInstantiate(&mut exec, fixture.graph, 0));
        ok(cudaGraphExecNodeSetParams(exec, filled, &mut fill));
        run(exec);
        let bytes = fixture.read(33);
        assert_eq!((bytes[0], bytes[16], bytes[32]), (42, 42, 6));
        ok(cudaGraphExecDestroy(exec));

        let mut node = NO_NODE;
        let (graph, none) = (fixture.graph, ptr::null());
        assert_eq!(cudaGraphAddNode(&mut node, graph, ptr::null(), none, 0, ptr::null_mut()), INVALID);
        assert_eq!(cudaGraphAddNode(ptr::null_mut(), graph, ptr::null(), none, 0, &mut fill), INVALID);
        let error = cudaGraphAddNode(&mut node, graph, ptr::null(), none, 0, &mut node_params(77, 0_u64));
        assert_ne!(error, cudaError_t::cudaSuccess);
        assert_eq!(cudaGetLastError(), error);
        __cudaUnregisterFatBinary(handle);
    }
}

#[test]
fn memory_nodes_allocate_within_the_graph() {
    let fixture = Fixture::new();
    unsafe {
        let mut alloc = std::mem::zeroed::<cudaMemAllocNodeParams>();
        alloc.poolProps.allocType = 1;
        alloc.poolProps.location = cudaMemLocation { kind: 1, id: 0 };
        alloc.bytesize = 256;
        let (mut first, mut last, none) = (NO_NODE, NO_NODE, ptr::null());
        ok(cudaGraphAddMemAllocNode(&mut first, fixture.graph, none, 0, &mut alloc));
        assert_ne!(alloc.dptr, 0);
        let mut found = alloc;
        found.dptr = 0;
        ok(cudaGraphMemAllocNodeGetParams(first, &mut found));
        assert_eq!(found.dptr, alloc.dptr);
        let address = ptr::without_provenance_mut::<c_void>(alloc.dptr as usize);
        ok(cudaGraphAddMemFreeNode(&mut last, fixture.graph, &first, 1, address));
        let mut freed = ptr::null_mut::<c_void>();
        ok(cudaGraphMemFreeNodeGetParams(last, (&raw mut freed).cast()));
        assert_eq!(freed, address);
        fixture.run();
        let mut high = 0_u64;
        ok(cudaDeviceGetGraphMemAttribute(0, 1, (&raw mut high).cast()));
        assert!(high >= 256, "{high}");
        let mut zero = 0_u64;
        ok(cudaDeviceSetGraphMemAttribute(0, 1, (&raw mut zero).cast()));
        ok(cudaDeviceGraphMemTrim(0));
        assert_eq!(cudaDeviceGraphMemTrim(9), cudaError_t::cudaErrorInvalidDevice);
        assert_eq!(cudaDeviceGetGraphMemAttribute(0, 1, ptr::null_mut()), INVALID);
        assert_eq!(cudaDeviceSetGraphMemAttribute(0, 1, ptr::null_mut()), INVALID);
        assert_eq!(cudaGraphAddMemAllocNode(&mut first, fixture.graph, none, 0, ptr::null_mut()), INVALID);
        assert_eq!(cudaGraphAddMemFreeNode(ptr::null_mut(), fixture.graph, none, 0, address), INVALID);
        assert_eq!(cudaGraphMemFreeNodeGetParams(last, ptr::null_mut()), INVALID);
    }
}

#[test]
fn executable_graph_takes_the_parameters_of_another_graph() {
    let (fixture, other) = (Fixture::new(), Fixture::new());
    fixture.fill(1, 1);
    other.fill(2, 1);
    let mut info = cudaGraphExecUpdateResultInfo::default();
    unsafe {
        let mut exec = CUgraphExec::NULL;
        let mut params =
            cudaGraphInstantiateParams { flags: 2, hUploadStream: NULL, hErrNode_out: NO_NODE, result_out: 9 };
        ok(cudaGraphInstantiateWithParams(&mut exec, fixture.graph, &mut params));
        assert_eq!(params.result_out, 0);
        ok(cudaGraphExecUpdate(exec, other.graph, &mut info));
        assert_eq!(info.result, 0);
        run(exec);
        assert_eq!((fixture.read(1), other.read(1)), (vec![0], vec![2]));
        other.fill(3, 1);
        let error = cudaGraphExecUpdate(exec, other.graph, &mut info);
        assert_eq!(error, cudaError_t::cudaErrorGraphExecUpdateFailure);
        assert_eq!(info.result, 2, "the topology changed");
        assert_eq!(cudaGetLastError(), error);
        assert_eq!(cudaGraphExecUpdate(exec, other.graph, ptr::null_mut()), INVALID);
        assert_eq!(cudaGraphInstantiate(ptr::null_mut(), fixture.graph, 0), INVALID);
        assert_eq!(cudaGraphInstantiate(&mut exec, CUgraph(0x1230), 0), INVALID);
        assert_eq!(cudaGraphInstantiate(&mut { CUgraphExec::NULL }, fixture.graph, 1 << 40), INVALID);
        assert_eq!(cudaGraphInstantiateWithParams(&mut exec, fixture.graph, ptr::null_mut()), INVALID);
        ok(cudaGraphExecDestroy(exec));
        assert_eq!(cudaGraphLaunch(exec, NULL), INVALID);
        assert_eq!(cudaGraphLaunch(CUgraphExec::NULL, NULL), INVALID);
        assert_eq!(cudaGraphExecDestroy(exec), INVALID);
    }
}

#[test]
fn graph_keeps_a_user_object() {
    extern "C" fn destroyed(flag: *mut c_void) {
        unsafe { &*flag.cast::<AtomicU32>() }.store(1, Ordering::Relaxed);
    }
    let (flag, graph) = (AtomicU32::new(0), Fixture::new());
    unsafe {
        let (mut object, data) = (CUuserObject::NULL, (&raw const flag).cast_mut().cast::<c_void>());
        ok(cudaUserObjectCreate(&mut object, data, Some(destroyed), 1, 1));
        ok(cudaUserObjectRetain(object, 1));
        ok(cudaUserObjectRelease(object, 1));
        ok(cudaGraphRetainUserObject(graph.graph, object, 1, 1));
        assert_eq!(flag.load(Ordering::Relaxed), 0);
        ok(cudaGraphReleaseUserObject(graph.graph, object, 1));
        assert_eq!(flag.load(Ordering::Relaxed), 1);
        assert_eq!(cudaUserObjectRelease(object, 1), INVALID);
        assert_eq!(cudaUserObjectCreate(ptr::null_mut(), data, Some(destroyed), 1, 1), INVALID);
        assert_eq!(cudaUserObjectCreate(&mut object, data, None, 1, 1), INVALID);
        assert_eq!(cudaUserObjectCreate(&mut object, data, Some(destroyed), 1, 0), INVALID, "no flag");
    }
}

#[test]
fn graph_is_written_as_a_drawing() {
    let fixture = Fixture::new();
    fixture.fill(1, 1);
    let path = std::env::temp_dir().join(format!("cuarray-cudart-{}.dot", std::process::id()));
    let name = CString::new(path.clone().into_os_string().into_encoded_bytes()).unwrap();
    unsafe {
        ok(cudaGraphDebugDotPrint(fixture.graph, name.as_ptr(), 1));
        assert_eq!(cudaGraphDebugDotPrint(fixture.graph, ptr::null(), 1), INVALID);
    }
    assert!(std::fs::read_to_string(&path).unwrap().contains("digraph"));
    std::fs::remove_file(path).unwrap();
}

#[test]
fn conditional_node_runs_the_body_of_its_condition() {
    for (of_12, value, expected) in [(false, 1, [7, 0]), (false, 0, [0, 8]), (true, 1, [7, 0])] {
        let fixture = Fixture::new();
        let (mut handle, mut node) = (0, NO_NODE);
        let (graph, none, context) = (fixture.graph, ptr::null(), CUcontext::NULL);
        unsafe {
            assert_eq!(cudaGraphConditionalHandleCreate(ptr::null_mut(), graph, 0, 0), INVALID);
            assert_eq!(cudaGraphConditionalHandleCreate(&mut handle, graph, value, 2), INVALID);
            let wrong = cudaGraphConditionalHandleCreate_v2(&mut handle, graph, CUcontext(8), value, 1);
            assert_eq!(wrong, INVALID);
            if of_12 {
                ok(v12::cudaGraphConditionalHandleCreate(&mut handle, graph, value, 1));
            } else {
                ok(cudaGraphConditionalHandleCreate_v2(&mut handle, graph, context, value, 1));
            }
            let of = CUDA_CONDITIONAL_NODE_PARAMS {
                handle,
                kind: 0,
                size: 2,
                phGraph_out: ptr::null_mut(),
                ctx: CUcontext::NULL,
            };
            let mut params = node_params(13, of);
            if of_12 {
                ok(v12::cudaGraphAddNode(&mut node, graph, ptr::null(), 0, &mut params));
            } else {
                ok(cudaGraphAddNode(&mut node, graph, ptr::null(), none, 0, &mut params));
            }
            let added: CUDA_CONDITIONAL_NODE_PARAMS = part(&params);
            assert_eq!((added.size, added.ctx), (2, CUcontext::NULL));
            let mut found = node_params(99, 0_u64);
            ok(cudaGraphNodeGetParams(node, &mut found));
            assert_eq!(part::<CUDA_CONDITIONAL_NODE_PARAMS>(&found).phGraph_out, added.phGraph_out);
            for index in 0..2 {
                let body = added.phGraph_out.add(index).read();
                let fill = fixture.fill_of(7 + index as u32, 1);
                let fill = cudaMemsetParams { dst: fill.dst + index as u64, ..fill };
                ok(cudaGraphAddMemsetNode(&mut node, body, ptr::null(), 0, &fill));
            }
        }
        fixture.run();
        assert_eq!(fixture.read(2), expected);
    }
}

#[test]
fn attributes_of_kernel_nodes_are_kept_and_copied() {
    let fixture = Fixture::new();
    static HOST: u8 = 0;
    let (host, priority) = ((&raw const HOST).cast::<c_void>(), 8);
    let (mut value, given) = ([0_u64; 8], [u64::from(-2_i32 as u32), 0, 0, 0, 0, 0, 0, 0]);
    let (mut nodes, fill) = ([NO_NODE; 2], fixture.fill(1, 1));
    unsafe {
        let handle = register(PTX, host, c"write");
        let mut argument = fixture.memory;
        let mut args = [(&raw mut argument).cast::<c_void>()];
        let params = cudaKernelNodeParams {
            func: host.cast_mut(),
            gridDim: ONE,
            blockDim: ONE,
            sharedMemBytes: 0,
            kernelParams: args.as_mut_ptr(),
            extra: ptr::null_mut(),
        };
        for node in &mut nodes {
            ok(cudaGraphAddKernelNode(node, fixture.graph, ptr::null(), 0, &params));
        }
        let [first, second] = nodes;
        ok(cudaGraphKernelNodeSetAttribute(first, priority, given.as_ptr().cast()));
        ok(cudaGraphKernelNodeCopyAttributes(second, first));
        ok(cudaGraphKernelNodeGetAttribute(second, priority, value.as_mut_ptr().cast()));
        assert_eq!(value, given);
        // The function of CUDA 12 names the source first.
        ok(cudaGraphKernelNodeSetAttribute(first, priority, [0_u64; 8].as_ptr().cast()));
        ok(v12::cudaGraphKernelNodeCopyAttributes(second, first));
        ok(cudaGraphKernelNodeGetAttribute(first, priority, value.as_mut_ptr().cast()));
        assert_eq!(value, given);
        assert_eq!(cudaGraphKernelNodeCopyAttributes(first, fill), INVALID);
        assert_eq!(cudaGraphKernelNodeGetAttribute(fill, priority, value.as_mut_ptr().cast()), INVALID);
        assert_eq!(cudaGraphKernelNodeGetAttribute(first, priority, ptr::null_mut()), INVALID);
        assert_eq!(cudaGraphKernelNodeSetAttribute(first, priority, ptr::null()), INVALID);
        __cudaUnregisterFatBinary(handle);
    }
}

#[test]
fn copy_nodes_reach_variables_by_their_symbols() {
    static FUNCTION: u8 = 0;
    static TABLE: u8 = 0;
    static FACTORS: u8 = 0;
    let fixture = Fixture::new();
    let (table, at) = ((&raw const TABLE).cast::<c_void>(), fixture.memory);
    let (mut first, mut second, mut exec) = (NO_NODE, NO_NODE, CUgraphExec::NULL);
    unsafe {
        let handle = registered(&FUNCTION, &TABLE, &FACTORS);
        let (nine, eight) = ([9_u32], [8_u32]);
        let (nine, eight) = (nine.as_ptr().cast::<c_void>(), eight.as_ptr().cast::<c_void>());
        ok(cudaGraphAddMemcpyNodeToSymbol(&mut first, fixture.graph, ptr::null(), 0, table, nine, 4, 4, 1));
        ok(cudaGraphAddMemcpyNodeFromSymbol(&mut second, fixture.graph, &first, 1, at, table, 12, 0, 3));
        fixture.run();
        assert_eq!(fixture.read(12), [1, 0, 0, 0, 9, 0, 0, 0, 3, 0, 0, 0]);
        ok(cudaGraphMemcpyNodeSetParamsToSymbol(first, table, eight, 4, 8, 1));
        ok(cudaGraphMemcpyNodeSetParamsFromSymbol(second, at, table, 8, 4, 3));
        ok(cudaGraphInstantiate(&mut exec, fixture.graph, 0));
        run(exec);
        assert_eq!(fixture.read(8), [9, 0, 0, 0, 8, 0, 0, 0]);
        ok(cudaGraphExecMemcpyNodeSetParamsToSymbol(exec, first, table, eight, 4, 4, 1));
        ok(cudaGraphExecMemcpyNodeSetParamsFromSymbol(exec, second, at, table, 4, 4, 3));
        run(exec);
        assert_eq!(fixture.read(4), [8, 0, 0, 0]);
        let error = cudaGraphMemcpyNodeSetParamsToSymbol(first, table, eight, 4, 9, 1);
        assert_eq!(error, INVALID, "beyond the variable");
        ok(cudaGraphExecDestroy(exec));
        __cudaUnregisterFatBinary(handle);
    }
}
