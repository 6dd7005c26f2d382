//! Graphs: their nodes and edges, what a launch does and in which order, updates, and graph memory.

#[macro_use]
mod program;
use cuarray_sim::{Bounds, explore};
use program::*;
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

const NONE: *const CUgraphNode = std::ptr::null();

fn graph(program: &Program) -> CUgraph {
    let mut graph = CUgraph::NULL;
    ok!(program, cuGraphCreate(&mut graph, 0));
    graph
}

fn fill_params(dst: CUdeviceptr, value: u32, width: usize) -> CUDA_MEMSET_NODE_PARAMS {
    CUDA_MEMSET_NODE_PARAMS { dst, pitch: 0, value, elementSize: 1, width, height: 1 }
}

fn copy_params(dst: CUdeviceptr, src: CUdeviceptr, width: usize) -> CUDA_MEMCPY3D {
    // SAFETY: all-zero is a valid descriptor.
    let mut params: CUDA_MEMCPY3D = unsafe { std::mem::zeroed() };
    (params.srcMemoryType, params.dstMemoryType) = (CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_DEVICE);
    (params.srcDevice, params.dstDevice) = (src, dst);
    (params.WidthInBytes, params.Height, params.Depth) = (width, 1, 1);
    params
}

fn fill(program: &Program, graph: CUgraph, after: &[CUgraphNode], params: CUDA_MEMSET_NODE_PARAMS) -> CUgraphNode {
    let mut node = CUgraphNode::NULL;
    ok!(program, cuGraphAddMemsetNode(&mut node, graph, after.as_ptr(), after.len(), &params, program.context));
    node
}

fn copy(program: &Program, graph: CUgraph, after: &[CUgraphNode], params: CUDA_MEMCPY3D) -> CUgraphNode {
    let mut node = CUgraphNode::NULL;
    ok!(program, cuGraphAddMemcpyNode(&mut node, graph, after.as_ptr(), after.len(), &params, program.context));
    node
}

fn empty(program: &Program, graph: CUgraph, after: &[CUgraphNode]) -> CUgraphNode {
    let mut node = CUgraphNode::NULL;
    ok!(program, cuGraphAddEmptyNode(&mut node, graph, after.as_ptr(), after.len()));
    node
}

fn instantiate(program: &Program, graph: CUgraph) -> CUgraphExec {
    let mut exec = CUgraphExec::NULL;
    ok!(program, cuGraphInstantiateWithFlags(&mut exec, graph, 0));
    exec
}

/// What a stream makes of some work.
fn captured(program: &Program, work: impl FnOnce(CUstream)) -> CUgraph {
    let (stream, mut graph) = (program.stream(CU_STREAM_NON_BLOCKING), CUgraph::NULL);
    ok!(program, cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    work(stream);
    ok!(program, cuStreamEndCapture(stream, &mut graph));
    ok!(program, cuStreamDestroy_v2(stream));
    graph
}

/// All bytes of some memory, when everything is done.
fn bytes(program: &Program, address: CUdeviceptr, size: usize) -> Vec<u8> {
    ok!(program, cuCtxSynchronize());
    let mut bytes = vec![0_u8; size];
    ok!(program, cuMemcpyDtoH_v2(bytes.as_mut_ptr().cast(), address, size));
    bytes
}

#[test]
fn a_captured_graph_does_what_was_captured_at_each_launch() {
    let program = Program::new();
    let (device, host, stream) = (program.alloc(8), program.pinned(8), program.stream(0));
    let graph = captured(&program, |stream| {
        ok!(program, cuMemcpyHtoDAsync_v2(device, host.cast(), 4, stream));
        ok!(program, cuMemcpyDtoDAsync_v2(device + 4, device, 2, stream));
        ok!(program, cuMemsetD16Async(device + 6, 0x0909, 1, stream));
    });
    let exec = instantiate(&program, graph);
    ok!(program, cuGraphDestroy(graph));
    for value in [3, 4] {
        write(host, value);
        ok!(program, cuGraphLaunch(exec, stream));
        assert_ne!(program.peek(device), value, "a launch runs nothing by itself");
        let all = bytes(&program, device, 8);
        assert_eq!((all[0], all[4], &all[6..]), (value, value, &[9, 9][..]));
    }
    ok!(program, cuGraphExecDestroy(exec));
    fails!(program, INVALID_VALUE, cuGraphLaunch(exec, stream));
    assert_eq!((program.statistic("graphs"), program.statistic("graph_execs")), (0, 0));
}

#[test]
fn pageable_memory_is_read_and_written_by_the_launch() {
    let program = Program::new();
    let (device, stream) = (program.alloc(4), program.stream(0));
    let (mut source, mut target) = (vec![1_u8; 4], vec![0_u8; 4]);
    let graph = captured(&program, |stream| {
        ok!(program, cuMemcpyHtoDAsync_v2(device, source.as_ptr().cast(), 4, stream));
        ok!(program, cuMemcpyDtoHAsync_v2(target.as_mut_ptr().cast(), device, 4, stream));
    });
    let exec = instantiate(&program, graph);
    write(source.as_mut_ptr(), 5);
    ok!(program, cuGraphLaunch(exec, stream));
    ok!(program, cuStreamSynchronize(stream));
    assert_eq!(read(target.as_ptr()), 5);
}

#[test]
fn a_launch_takes_its_turn_in_the_stream() {
    let program = Program::new();
    let (device, stream) = (program.alloc(4), program.stream(0));
    let graph = graph(&program);
    // Two branches: the second runs on a lane of its own, and is between the same neighbours all the same.
    copy(&program, graph, &[], copy_params(device + 1, device, 1));
    copy(&program, graph, &[], copy_params(device + 2, device, 1));
    let exec = instantiate(&program, graph);
    program.fill(device, 5, 1, stream);
    ok!(program, cuGraphLaunch(exec, stream));
    ok!(program, cuMemcpyDtoDAsync_v2(device + 3, device + 2, 1, stream));
    program.fill(device, 6, 1, stream);
    ok!(program, cuStreamSynchronize(stream));
    assert_eq!(bytes(&program, device, 4), [6, 5, 5, 5]);
}

#[test]
fn launches_of_one_executable_graph_do_not_overlap() {
    let program = Program::new();
    let (device, streams) = (program.alloc(4), [program.stream(CU_STREAM_NON_BLOCKING), program.stream(0)]);
    let graph = graph(&program);
    // Each launch reads what the one before has written.
    let first = copy(&program, graph, &[], copy_params(device + 1, device, 1));
    fill(&program, graph, &[first], fill_params(device, 7, 1));
    let exec = instantiate(&program, graph);
    ok!(program, cuMemsetD8_v2(device, 1, 4));
    ok!(program, cuCtxSynchronize());
    ok!(program, cuGraphLaunch(exec, streams[0]));
    ok!(program, cuGraphLaunch(exec, streams[1]));
    ok!(program, cuStreamSynchronize(streams[1]));
    assert_eq!(program.peek(device + 1), 7);
}

/// The order in which host nodes are called.
struct Calls {
    next: AtomicUsize,
    at: Vec<AtomicUsize>,
}

struct Call<'a> {
    calls: &'a Calls,
    number: usize,
}

unsafe extern "C" fn called(data: *mut c_void) {
    // SAFETY: the tests keep the data until the launch is over.
    let call = unsafe { &*data.cast::<Call<'_>>() };
    call.calls.at[call.number].store(1 + call.calls.next.fetch_add(1, Ordering::SeqCst), Ordering::SeqCst);
}

impl Calls {
    fn new(count: usize) -> Calls {
        Calls { next: AtomicUsize::new(0), at: (0..count).map(|_| AtomicUsize::new(0)).collect() }
    }
}

#[test]
fn every_edge_of_random_graphs_is_kept_in_every_launch() {
    let program = Program::new();
    let stream = program.stream(0);
    let mut seed = 12345_u64;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) as usize % below
    };
    for _ in 0..60 {
        let count = 1 + random(24);
        let calls = Calls::new(count);
        let data: Vec<Call<'_>> = (0..count).map(|number| Call { calls: &calls, number }).collect();
        let graph = graph(&program);
        let mut nodes: Vec<CUgraphNode> = Vec::new();
        let mut edges = Vec::new();
        for (number, call) in data.iter().enumerate() {
            let chosen: BTreeSet<usize> =
                if number == 0 { BTreeSet::new() } else { (0..random(4)).map(|_| random(number)).collect() };
            let after: Vec<CUgraphNode> = chosen.iter().map(|before| nodes[*before]).collect();
            edges.extend(chosen.into_iter().map(|before| (before, number)));
            let params =
                CUDA_HOST_NODE_PARAMS { function: Some(called), userData: (&raw const *call).cast_mut().cast() };
            let mut node = CUgraphNode::NULL;
            ok!(program, cuGraphAddHostNode(&mut node, graph, after.as_ptr(), after.len(), &params));
            nodes.push(node);
        }
        let mut number = 9;
        ok!(program, cuGraphGetEdges(graph, std::ptr::null_mut(), std::ptr::null_mut(), &mut number));
        assert_eq!(number, edges.len());
        let exec = instantiate(&program, graph);
        for launch in 1..=2 {
            ok!(program, cuGraphLaunch(exec, stream));
            ok!(program, cuStreamSynchronize(stream));
            assert_eq!(calls.next.load(Ordering::SeqCst), launch * count);
            let at = |number: usize| calls.at[number].load(Ordering::SeqCst);
            assert!(edges.iter().all(|(before, after)| at(*before) < at(*after)));
        }
        ok!(program, cuGraphExecDestroy(exec));
        ok!(program, cuGraphDestroy(graph));
    }
}

#[test]
fn branches_are_not_ordered() {
    // What one branch writes another does not see, in whichever order the two were added; with an edge it does.
    for (reader_first, edge) in [(true, false), (false, false), (false, true)] {
        let program = Program::new();
        let (device, stream, event) = (program.alloc(4), program.stream(0), program.event());
        ok!(program, cuMemsetD8_v2(device, 1, 4));
        ok!(program, cuCtxSynchronize());
        let graph = graph(&program);
        let mut node = CUgraphNode::NULL;
        let read = |after: &[CUgraphNode], node: &mut CUgraphNode| {
            let read = copy(&program, graph, after, copy_params(device + 1, device, 1));
            ok!(program, cuGraphAddEventRecordNode(node, graph, &read, 1, event));
        };
        if reader_first {
            read(&[], &mut node);
        }
        let write = fill(&program, graph, &[], fill_params(device, 7, 1));
        if !reader_first {
            read(if edge { std::slice::from_ref(&write) } else { &[] }, &mut node);
        }
        let exec = instantiate(&program, graph);
        ok!(program, cuGraphLaunch(exec, stream));
        // Only the reader's branch is forced.
        ok!(program, cuEventSynchronize(event));
        assert_eq!(program.peek(device + 1), if edge { 7 } else { 1 });
        ok!(program, cuStreamSynchronize(stream));
        assert_eq!(program.peek(device), 7);
    }
}

/// What a graph of fills of one byte leaves there, over all schedules.
fn over_all_schedules(build: impl Fn(&Program, CUgraph, CUdeviceptr)) -> BTreeSet<u8> {
    let outcomes = Mutex::new(BTreeSet::new());
    let bounds = Bounds { schedules: 10_000, deviations: None };
    let explored = explore(&Config::default(), bounds, |sim| {
        let program = Program::over(sim);
        let (graph, device, stream) = (graph(&program), program.alloc(1), program.stream(CU_STREAM_NON_BLOCKING));
        build(&program, graph, device);
        program.fill(device, 1, 1, stream);
        ok!(program, cuGraphLaunch(instantiate(&program, graph), stream));
        ok!(program, cuStreamSynchronize(stream));
        outcomes.lock().unwrap().insert(program.peek(device));
    });
    let explored = explored.unwrap();
    assert!(explored.complete && explored.failures == 0);
    outcomes.into_inner().unwrap()
}

#[test]
fn over_all_schedules_branches_come_in_every_order_and_edges_in_one() {
    let two = over_all_schedules(|program, graph, device| {
        fill(program, graph, &[], fill_params(device, 7, 1));
        fill(program, graph, &[], fill_params(device, 8, 1));
    });
    assert_eq!(two, BTreeSet::from([7, 8]));
    let chain = over_all_schedules(|program, graph, device| {
        let first = fill(program, graph, &[], fill_params(device, 7, 1));
        fill(program, graph, &[first], fill_params(device, 8, 1));
    });
    assert_eq!(chain, BTreeSet::from([8]));
    // A diamond, and one of its corners writes again.
    let diamond = over_all_schedules(|program, graph, device| {
        let top = fill(program, graph, &[], fill_params(device, 5, 1));
        let left = fill(program, graph, &[top], fill_params(device, 6, 1));
        let right = fill(program, graph, &[top], fill_params(device, 7, 1));
        empty(program, graph, &[left, right]);
        fill(program, graph, &[right], fill_params(device, 8, 1));
    });
    assert_eq!(diamond, BTreeSet::from([6, 8]));
}

#[test]
fn an_idle_lane_is_not_taken_for_what_it_is_not_ordered_after() {
    // a -> b, c; b, c -> d; c -> e; d -> f, g. Whatever lanes they get, g does not come after e.
    let program = Program::new();
    let (device, stream, event) = (program.alloc(2), program.stream(0), program.event());
    ok!(program, cuMemsetD8_v2(device, 1, 2));
    ok!(program, cuCtxSynchronize());
    let graph = graph(&program);
    let a = empty(&program, graph, &[]);
    let b = empty(&program, graph, &[a]);
    let c = empty(&program, graph, &[a]);
    let d = empty(&program, graph, &[b, c]);
    fill(&program, graph, &[c], fill_params(device, 7, 1));
    empty(&program, graph, &[d]);
    let g = copy(&program, graph, &[d], copy_params(device + 1, device, 1));
    let mut node = CUgraphNode::NULL;
    ok!(program, cuGraphAddEventRecordNode(&mut node, graph, &g, 1, event));
    ok!(program, cuGraphLaunch(instantiate(&program, graph), stream));
    ok!(program, cuEventSynchronize(event));
    assert_eq!(program.peek(device + 1), 1);
}

#[test]
fn a_child_graph_runs_between_its_neighbours() {
    let program = Program::new();
    let (device, stream) = (program.alloc(4), program.stream(0));
    let child = graph(&program);
    copy(&program, child, &[], copy_params(device + 1, device, 1));
    copy(&program, child, &[], copy_params(device + 2, device, 1));
    let (outer, mut node) = (graph(&program), CUgraphNode::NULL);
    let first = fill(&program, outer, &[], fill_params(device, 5, 1));
    ok!(program, cuGraphAddChildGraphNode(&mut node, outer, &first, 1, child));
    copy(&program, outer, &[node], copy_params(device + 3, device + 2, 1));
    // The child was cloned: what becomes of the original does not matter.
    ok!(program, cuGraphDestroy(child));
    ok!(program, cuGraphLaunch(instantiate(&program, outer), stream));
    assert_eq!(bytes(&program, device, 4), [5; 4]);
    let (mut own, mut kind, mut count) = (CUgraph::NULL, 9, 9);
    ok!(program, cuGraphChildGraphNodeGetGraph(node, &mut own));
    ok!(program, cuGraphGetNodes(own, std::ptr::null_mut(), &mut count));
    ok!(program, cuGraphNodeGetType(node, &mut kind));
    assert_eq!((count, kind), (2, CU_GRAPH_NODE_TYPE_GRAPH));
    fails!(program, INVALID_VALUE, cuGraphDestroy(own));
    fails!(program, INVALID_VALUE, cuGraphAddChildGraphNode(&mut node, outer, NONE, 0, child));
}

#[test]
fn graphs_in_graphs_go_deep_but_not_without_end() {
    let program = Program::new();
    let (device, mut inner, mut node) = (program.alloc(1), graph(&program), CUgraphNode::NULL);
    fill(&program, inner, &[], fill_params(device, 7, 1));
    for _ in 0..99 {
        let outer = graph(&program);
        ok!(program, cuGraphAddChildGraphNode(&mut node, outer, NONE, 0, inner));
        ok!(program, cuGraphDestroy(inner));
        inner = outer;
    }
    let outer = graph(&program);
    fails!(program, NOT_SUPPORTED, cuGraphAddChildGraphNode(&mut node, outer, NONE, 0, inner));
    ok!(program, cuGraphLaunch(instantiate(&program, inner), CUstream::NULL));
    assert_eq!(bytes(&program, device, 1), [7]);
    ok!(program, cuGraphDestroy(inner));
    ok!(program, cuGraphDestroy(outer));
    assert_eq!(program.statistic("graphs"), 0);
}

#[test]
fn a_launch_in_a_capturing_stream_is_a_child_graph() {
    let program = Program::new();
    let (device, stream) = (program.alloc(4), program.stream(0));
    let inner = graph(&program);
    fill(&program, inner, &[], fill_params(device, 5, 4));
    let exec = instantiate(&program, inner);
    let outer = captured(&program, |stream| {
        ok!(program, cuGraphLaunch(exec, stream));
        ok!(program, cuMemsetD8Async(device, 6, 1, stream));
    });
    ok!(program, cuGraphExecDestroy(exec));
    ok!(program, cuGraphLaunch(instantiate(&program, outer), stream));
    assert_eq!(bytes(&program, device, 4), [6, 5, 5, 5]);
}

#[test]
fn event_nodes_tie_a_launch_to_other_streams() {
    let program = Program::new();
    let (device, stream, other) = (program.alloc(2), program.stream(0), program.stream(CU_STREAM_NON_BLOCKING));
    let (before, after) = (program.event(), program.event());
    let (graph, mut node) = (graph(&program), CUgraphNode::NULL);
    ok!(program, cuGraphAddEventWaitNode(&mut node, graph, NONE, 0, before));
    let copied = copy(&program, graph, &[node], copy_params(device + 1, device, 1));
    ok!(program, cuGraphAddEventRecordNode(&mut node, graph, &copied, 1, after));
    let exec = instantiate(&program, graph);
    for value in [3, 4] {
        program.fill(device, value, 1, other);
        ok!(program, cuEventRecord(before, other));
        ok!(program, cuGraphLaunch(exec, stream));
        ok!(program, cuEventSynchronize(after));
        assert_eq!(program.peek(device + 1), value);
    }
    let mut event = CUevent::NULL;
    ok!(program, cuGraphEventRecordNodeGetEvent(node, &mut event));
    assert_eq!(event, after);
    fails!(program, INVALID_VALUE, cuGraphEventWaitNodeGetEvent(node, &mut event));
    ok!(program, cuGraphEventRecordNodeSetEvent(node, before));
    ok!(program, cuGraphEventRecordNodeGetEvent(node, &mut event));
    assert_eq!(event, before);
    fails!(program, INVALID_HANDLE, cuGraphEventRecordNodeSetEvent(node, CUevent(5)));
}

#[test]
fn nodes_and_edges_are_listed_as_the_manual_has_it() {
    let program = Program::new();
    let graph = graph(&program);
    let a = empty(&program, graph, &[]);
    let b = empty(&program, graph, &[a]);
    let c = empty(&program, graph, &[]);
    ok!(program, cuGraphAddDependencies(graph, [a, b].as_ptr(), [c, c].as_ptr(), 2));
    let list = |get: &dyn Fn(*mut CUgraphNode, *mut usize)| {
        let mut count = 9;
        get(std::ptr::null_mut(), &mut count);
        // Room for one more than there is.
        let (mut nodes, mut room) = (vec![CUgraphNode(9); count + 1], count + 1);
        get(nodes.as_mut_ptr(), &mut room);
        assert_eq!((room, nodes.pop()), (count, Some(CUgraphNode::NULL)));
        nodes
    };
    assert_eq!(list(&|nodes, count| ok!(program, cuGraphGetNodes(graph, nodes, count))), [a, b, c]);
    assert_eq!(list(&|nodes, count| ok!(program, cuGraphGetRootNodes(graph, nodes, count))), [a]);
    assert_eq!(list(&|nodes, count| ok!(program, cuGraphNodeGetDependencies(c, nodes, count))), [a, b]);
    assert_eq!(list(&|nodes, count| ok!(program, cuGraphNodeGetDependentNodes(a, nodes, count))), [b, c]);
    let (mut from, mut to, mut data) = ([CUgraphNode(9); 2], [CUgraphNode(9); 2], [CUgraphEdgeData::default(); 2]);
    let mut room = 2;
    ok!(program, cuGraphGetEdges_v2(graph, from.as_mut_ptr(), to.as_mut_ptr(), data.as_mut_ptr(), &mut room));
    assert_eq!((room, from, to), (2, [a, a], [b, c]));
    // Edges that are there, that lead to themselves or into another graph, and that say more than that they are there.
    fails!(program, INVALID_VALUE, cuGraphAddDependencies(graph, &a, &c, 1));
    fails!(program, INVALID_VALUE, cuGraphAddDependencies(graph, &a, &a, 1));
    fails!(program, INVALID_VALUE, cuGraphAddDependencies(self::graph(&program), &b, &c, 1));
    let port = CUgraphEdgeData { from_port: 1, ..CUgraphEdgeData::default() };
    fails!(program, NOT_SUPPORTED, cuGraphAddDependencies_v2(graph, &c, &a, &port, 1));
    ok!(program, cuGraphRemoveDependencies(graph, &a, &c, 1));
    fails!(program, INVALID_VALUE, cuGraphRemoveDependencies(graph, &a, &c, 1));
    let mut node = CUgraphNode::NULL;
    fails!(program, INVALID_VALUE, cuGraphAddEmptyNode(&mut node, graph, [a, a].as_ptr(), 2));
    fails!(program, INVALID_VALUE, cuGraphAddEmptyNode(&mut node, CUgraph(5), NONE, 0));
    ok!(program, cuGraphDestroyNode(b));
    assert_eq!(list(&|nodes, count| ok!(program, cuGraphGetRootNodes(graph, nodes, count))), [a, c]);
    let (mut kind, mut id) = (9, 9);
    fails!(program, INVALID_VALUE, cuGraphNodeGetType(b, &mut kind));
    ok!(program, cuGraphNodeGetType(a, &mut kind));
    ok!(program, cuGraphNodeGetLocalId(c, &mut id));
    assert_eq!((kind, id), (CU_GRAPH_NODE_TYPE_EMPTY, 3));
}

#[test]
fn a_cycle_is_found_at_instantiation() {
    let program = Program::new();
    let graph = graph(&program);
    let a = empty(&program, graph, &[]);
    let b = empty(&program, graph, &[a]);
    ok!(program, cuGraphAddDependencies(graph, &b, &a, 1));
    let mut exec = CUgraphExec::NULL;
    fails!(program, INVALID_VALUE, cuGraphInstantiateWithFlags(&mut exec, graph, 0));
    let mut params = CUDA_GRAPH_INSTANTIATE_PARAMS {
        flags: 0,
        hUploadStream: CUstream::NULL,
        hErrNode_out: CUgraphNode::NULL,
        result_out: 9,
    };
    fails!(program, INVALID_VALUE, cuGraphInstantiateWithParams(&mut exec, graph, &mut params));
    assert_eq!(params.result_out, CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE);
    assert!([a, b].contains(&params.hErrNode_out));
    let (mut node, mut log) = (CUgraphNode::NULL, [9; 8]);
    fails!(program, INVALID_VALUE, cuGraphInstantiate_v2(&mut exec, graph, &mut node, log.as_mut_ptr(), 8));
    assert_eq!((node, log[7]), (params.hErrNode_out, 0));
    ok!(program, cuGraphRemoveDependencies(graph, &b, &a, 1));
    params.flags = CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD;
    ok!(program, cuGraphInstantiateWithParams(&mut exec, graph, &mut params));
    assert_eq!(params.result_out, CUDA_GRAPH_INSTANTIATE_SUCCESS);
    let mut flags = 9;
    ok!(program, cuGraphExecGetFlags(exec, &mut flags));
    assert_eq!(flags, CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD);
    fails!(program, INVALID_VALUE, cuGraphInstantiateWithFlags(&mut exec, graph, 16));
    fails!(
        program,
        NOT_SUPPORTED,
        cuGraphInstantiateWithFlags(&mut exec, graph, CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH)
    );
}

#[test]
fn a_long_chain_and_a_wide_fan_are_no_trouble() {
    let program = Program::new();
    let (graph, stream, device) = (graph(&program), program.stream(0), program.alloc(1));
    let mut last = empty(&program, graph, &[]);
    for _ in 0..5_000 {
        last = empty(&program, graph, &[last]);
    }
    let fan: Vec<CUgraphNode> = (0..500).map(|_| empty(&program, graph, &[last])).collect();
    fill(&program, graph, &fan, fill_params(device, 7, 1));
    ok!(program, cuGraphLaunch(instantiate(&program, graph), stream));
    ok!(program, cuStreamSynchronize(stream));
    assert_eq!(program.peek(device), 7);
}

#[test]
fn a_clone_is_a_graph_of_its_own() {
    let program = Program::new();
    let (graph, device) = (graph(&program), program.alloc(2));
    let first = fill(&program, graph, &[], fill_params(device, 5, 1));
    let second = fill(&program, graph, &[first], fill_params(device + 1, 6, 1));
    let (mut clone, mut found) = (CUgraph::NULL, CUgraphNode::NULL);
    ok!(program, cuGraphClone(&mut clone, graph));
    ok!(program, cuGraphNodeFindInClone(&mut found, second, clone));
    assert_ne!(found, second);
    let (mut before, mut count) = ([CUgraphNode::NULL], 1);
    ok!(program, cuGraphNodeGetDependencies(found, before.as_mut_ptr(), &mut count));
    let mut copied = CUgraphNode::NULL;
    ok!(program, cuGraphNodeFindInClone(&mut copied, first, clone));
    assert_eq!(before[0], copied);
    ok!(program, cuGraphMemsetNodeSetParams(found, &fill_params(device + 1, 9, 1)));
    ok!(program, cuGraphLaunch(instantiate(&program, graph), CUstream::NULL));
    assert_eq!(bytes(&program, device, 2), [5, 6]);
    ok!(program, cuGraphDestroy(graph));
    ok!(program, cuGraphLaunch(instantiate(&program, clone), CUstream::NULL));
    assert_eq!(bytes(&program, device, 2), [5, 9]);
    ok!(program, cuGraphDestroyNode(found));
    fails!(program, INVALID_VALUE, cuGraphNodeFindInClone(&mut found, second, clone));
}

#[test]
fn parameters_are_given_back_as_they_were_given() {
    let program = Program::new();
    let (graph, device) = (graph(&program), program.alloc(64));
    let mut params = fill_params(device, 5, 8);
    (params.elementSize, params.height, params.pitch) = (2, 2, 32);
    let node = fill(&program, graph, &[], params);
    let mut read = fill_params(0, 0, 0);
    ok!(program, cuGraphMemsetNodeGetParams(node, &mut read));
    assert_eq!(read, params);
    let mut descriptor = copy_params(device, device, 4);
    (descriptor.srcXInBytes, descriptor.srcPitch) = (3, 16);
    let node = copy(&program, graph, &[], descriptor);
    let mut read = copy_params(0, 0, 0);
    ok!(program, cuGraphMemcpyNodeGetParams(node, &mut read));
    assert_eq!((read.srcXInBytes, read.srcPitch, read.dstDevice), (3, 16, device));
    fails!(program, INVALID_VALUE, cuGraphMemsetNodeSetParams(node, &params));
    // What a stream captured has parameters too.
    let rows = CUDA_MEMCPY2D {
        srcMemoryType: CU_MEMORYTYPE_DEVICE,
        srcDevice: device,
        srcPitch: 8,
        dstMemoryType: CU_MEMORYTYPE_DEVICE,
        dstDevice: device + 32,
        dstPitch: 16,
        WidthInBytes: 4,
        Height: 2,
        // SAFETY: all-zero is a valid descriptor.
        ..unsafe { std::mem::zeroed() }
    };
    let graph = captured(&program, |stream| ok!(program, cuMemcpy2DAsync_v2(&rows, stream)));
    let (mut node, mut count) = (CUgraphNode::NULL, 1);
    ok!(program, cuGraphGetNodes(graph, &mut node, &mut count));
    ok!(program, cuGraphMemcpyNodeGetParams(node, &mut read));
    assert_eq!((read.srcPitch, read.dstPitch, read.WidthInBytes, read.Height, read.Depth), (8, 16, 4, 2, 1));
    let mut any = CUgraphNodeParams { kind: 9, reserved0: [0; 3], params: [0; 29], reserved2: 0 };
    ok!(program, cuGraphNodeGetParams(node, &mut any));
    assert_eq!((any.kind, any.params[1]), (CU_GRAPH_NODE_TYPE_MEMCPY, program.context.0 as u64));
    ok!(program, cuGraphNodeSetParams(node, &mut any));
}

#[test]
fn wrong_parameters_are_refused() {
    let program = Program::new();
    let (graph, device, mut node) = (graph(&program), program.alloc(16), CUgraphNode::NULL);
    let context = program.context;
    for params in [
        fill_params(device, 1, 17),
        fill_params(device, 1, 0),
        fill_params(64, 1, 1),
        CUDA_MEMSET_NODE_PARAMS { elementSize: 3, ..fill_params(device, 1, 1) },
        CUDA_MEMSET_NODE_PARAMS { elementSize: 4, ..fill_params(device + 2, 1, 1) },
        CUDA_MEMSET_NODE_PARAMS { height: 0, ..fill_params(device, 1, 1) },
        CUDA_MEMSET_NODE_PARAMS { height: 2, pitch: 1, ..fill_params(device, 1, 2) },
    ] {
        fails!(program, INVALID_VALUE, cuGraphAddMemsetNode(&mut node, graph, NONE, 0, &params, context));
    }
    let params = fill_params(device, 1, 1);
    fails!(program, INVALID_CONTEXT, cuGraphAddMemsetNode(&mut node, graph, NONE, 0, &params, CUcontext(5)));
    for params in [copy_params(device, device, 17), copy_params(device, 64, 1), copy_params(device, device, 0)] {
        fails!(program, INVALID_VALUE, cuGraphAddMemcpyNode(&mut node, graph, NONE, 0, &params, context));
    }
    let host = CUDA_HOST_NODE_PARAMS { function: None, userData: std::ptr::null_mut() };
    fails!(program, INVALID_VALUE, cuGraphAddHostNode(&mut node, graph, NONE, 0, &host));
    fails!(program, INVALID_HANDLE, cuGraphAddEventWaitNode(&mut node, graph, NONE, 0, CUevent(5)));
    let mut any = CUgraphNodeParams { kind: 77, reserved0: [0; 3], params: [0; 29], reserved2: 0 };
    fails!(program, INVALID_VALUE, cuGraphAddNode(&mut node, graph, NONE, 0, &mut any));
    any.kind = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    fails!(program, NOT_SUPPORTED, cuGraphAddNode(&mut node, graph, NONE, 0, &mut any));
    (any.kind, any.reserved2) = (CU_GRAPH_NODE_TYPE_EMPTY, 1);
    fails!(program, INVALID_VALUE, cuGraphAddNode(&mut node, graph, NONE, 0, &mut any));
    any.reserved2 = 0;
    ok!(program, cuGraphAddNode_v2(&mut node, graph, NONE, std::ptr::null(), 0, &mut any));
    let mut created = CUgraph::NULL;
    fails!(program, INVALID_VALUE, cuGraphCreate(&mut created, 1));
    // Memory that went after the node was added fails the launch, and nothing of it runs.
    fill(&program, graph, &[], fill_params(device, 1, 1));
    let gone = program.alloc(8);
    fill(&program, graph, &[], fill_params(gone, 1, 1));
    let exec = instantiate(&program, graph);
    ok!(program, cuMemFree_v2(gone));
    fails!(program, INVALID_VALUE, cuGraphLaunch(exec, CUstream::NULL));
    assert_eq!(program.statistic("pending_operations"), 0);
}

#[test]
fn nodes_of_an_executable_graph_are_changed_and_switched_off() {
    let program = Program::new();
    let (graph, device, stream) = (graph(&program), program.alloc(4), program.stream(0));
    let first = fill(&program, graph, &[], fill_params(device, 5, 1));
    let second = copy(&program, graph, &[first], copy_params(device + 1, device, 1));
    let exec = instantiate(&program, graph);
    ok!(program, cuMemsetD8_v2(device, 1, 4));
    // A launch that is pending is not affected.
    ok!(program, cuGraphLaunch(exec, stream));
    ok!(program, cuGraphExecMemsetNodeSetParams(exec, first, &fill_params(device, 6, 1), program.context));
    ok!(program, cuGraphExecMemcpyNodeSetParams(exec, second, &copy_params(device + 2, device, 1), program.context));
    assert_eq!(bytes(&program, device, 4), [5, 5, 1, 1]);
    ok!(program, cuGraphLaunch(exec, stream));
    assert_eq!(bytes(&program, device, 4), [6, 5, 6, 1]);
    let mut enabled = 9;
    ok!(program, cuGraphNodeSetEnabled(exec, first, 0));
    ok!(program, cuGraphNodeGetEnabled(exec, first, &mut enabled));
    assert_eq!(enabled, 0);
    ok!(program, cuMemsetD8_v2(device, 2, 4));
    ok!(program, cuGraphLaunch(exec, stream));
    assert_eq!(bytes(&program, device, 4), [2, 2, 2, 2]);
    ok!(program, cuGraphNodeSetEnabled(exec, first, 1));
    ok!(program, cuGraphLaunch(exec, stream));
    assert_eq!(bytes(&program, device, 4), [6, 2, 6, 2]);
    let mut two_rows = fill_params(device, 6, 1);
    (two_rows.height, two_rows.pitch) = (2, 2);
    fails!(program, INVALID_VALUE, cuGraphExecMemsetNodeSetParams(exec, first, &two_rows, program.context));
    let to_the_host = CUDA_MEMCPY3D { dstMemoryType: CU_MEMORYTYPE_UNIFIED, ..copy_params(device, device, 1) };
    fails!(program, INVALID_VALUE, cuGraphExecMemcpyNodeSetParams(exec, second, &to_the_host, program.context));
    fails!(program, INVALID_VALUE, cuGraphExecMemsetNodeSetParams(exec, second, &two_rows, program.context));
    ok!(program, cuGraphDestroyNode(first));
    fails!(program, INVALID_VALUE, cuGraphNodeSetEnabled(exec, first, 0));
}

#[test]
fn a_whole_graph_is_updated_if_it_has_the_same_shape() {
    let program = Program::new();
    let device = program.alloc(4);
    let shape = |value: u32, first: bool| {
        let graph = graph(&program);
        let a = fill(&program, graph, &[], fill_params(device, value, 1));
        let b = fill(&program, graph, &[], fill_params(device + 1, value, 1));
        let last = copy(&program, graph, &[if first { a } else { b }], copy_params(device + 2, device, 1));
        (graph, last)
    };
    let (original, _) = shape(5, true);
    let exec = instantiate(&program, original);
    let mut info = CUgraphExecUpdateResultInfo::default();
    ok!(program, cuGraphExecUpdate_v2(exec, shape(6, true).0, &mut info));
    ok!(program, cuGraphLaunch(exec, CUstream::NULL));
    assert_eq!(bytes(&program, device, 3), [6, 6, 6]);
    // Another edge, another number of nodes, another kind, another form of parameter.
    let (other, last) = shape(7, false);
    fails!(program, GRAPH_EXEC_UPDATE_FAILURE, cuGraphExecUpdate_v2(exec, other, &mut info));
    assert_eq!((info.result, info.errorNode), (CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, last));
    let (other, _) = shape(7, true);
    empty(&program, other, &[]);
    let (mut node, mut result) = (CUgraphNode(9), 9);
    fails!(program, GRAPH_EXEC_UPDATE_FAILURE, cuGraphExecUpdate(exec, other, &mut node, &mut result));
    assert_eq!((result, node), (CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, CUgraphNode::NULL));
    let other = graph(&program);
    let a = fill(&program, other, &[], fill_params(device, 7, 1));
    let changed = empty(&program, other, &[]);
    copy(&program, other, &[a], copy_params(device + 2, device, 1));
    fails!(program, GRAPH_EXEC_UPDATE_FAILURE, cuGraphExecUpdate_v2(exec, other, &mut info));
    assert_eq!((info.result, info.errorNode), (CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED, changed));
    let (other, last) = shape(7, true);
    let two = CUDA_MEMCPY3D { Height: 2, srcPitch: 1, dstPitch: 1, ..copy_params(device + 2, device, 1) };
    ok!(program, cuGraphMemcpyNodeSetParams(last, &two));
    fails!(program, GRAPH_EXEC_UPDATE_FAILURE, cuGraphExecUpdate_v2(exec, other, &mut info));
    assert_eq!((info.result, info.errorNode), (CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED, last));
    // Nothing of what failed has changed anything.
    ok!(program, cuGraphLaunch(exec, CUstream::NULL));
    assert_eq!(bytes(&program, device, 3), [6, 6, 6]);
}

#[test]
fn an_executable_graph_may_be_destroyed_while_a_launch_is_pending() {
    let program = Program::new();
    let (graph, device, stream) = (graph(&program), program.alloc(2), program.stream(0));
    fill(&program, graph, &[], fill_params(device, 5, 1));
    fill(&program, graph, &[], fill_params(device + 1, 6, 1));
    let exec = instantiate(&program, graph);
    ok!(program, cuGraphLaunch(exec, stream));
    ok!(program, cuGraphExecDestroy(exec));
    ok!(program, cuGraphDestroy(graph));
    fails!(program, INVALID_VALUE, cuGraphExecDestroy(exec));
    assert_eq!(program.statistic("graph_execs"), 0);
    ok!(program, cuStreamSynchronize(stream));
    assert_eq!((program.peek(device), program.peek(device + 1)), (5, 6));
}

#[test]
fn a_launch_survives_the_context_of_an_earlier_one() {
    let program = Program::new();
    let (graph, mut context) = (graph(&program), CUcontext::NULL);
    let device = program.alloc(2);
    fill(&program, graph, &[], fill_params(device, 5, 1));
    fill(&program, graph, &[], fill_params(device + 1, 6, 1));
    let exec = instantiate(&program, graph);
    ok!(program, cuCtxCreate_v2(&mut context, 0, 0));
    ok!(program, cuGraphLaunch(exec, program.stream(0)));
    ok!(program, cuCtxDestroy_v2(context));
    ok!(program, cuCtxSetCurrent(program.context));
    assert_eq!(bytes(&program, device, 2), [5, 6]);
    ok!(program, cuMemsetD8_v2(device, 0, 2));
    ok!(program, cuGraphLaunch(exec, program.stream(0)));
    assert_eq!(bytes(&program, device, 2), [5, 6]);
}

#[test]
fn under_the_eager_schedule_a_launch_is_done_when_it_returns() {
    let program = Program::with(Config { schedule: Schedule::Eager, ..Config::default() });
    let (graph, device) = (graph(&program), program.alloc(1));
    fill(&program, graph, &[], fill_params(device, 5, 1));
    ok!(program, cuGraphLaunch(instantiate(&program, graph), program.stream(0)));
    assert_eq!((program.peek(device), program.statistic("pending_operations")), (5, 0));
}

#[test]
fn a_host_node_runs_even_if_the_program_never_calls_again() {
    let program = Program::new();
    let (calls, graph, mut node) = (Calls::new(1), graph(&program), CUgraphNode::NULL);
    let call = Call { calls: &calls, number: 0 };
    let params = CUDA_HOST_NODE_PARAMS { function: Some(called), userData: (&raw const call).cast_mut().cast() };
    ok!(program, cuGraphAddHostNode(&mut node, graph, NONE, 0, &params));
    let mut read = CUDA_HOST_NODE_PARAMS { function: None, userData: std::ptr::null_mut() };
    ok!(program, cuGraphHostNodeGetParams(node, &mut read));
    assert!(read.function.is_some() && read.userData == params.userData);
    ok!(program, cuGraphLaunch(instantiate(&program, graph), program.stream(0)));
    while calls.next.load(Ordering::SeqCst) == 0 {
        std::thread::yield_now();
    }
}

fn graph_memory(program: &Program, attribute: CUgraphMem_attribute) -> u64 {
    let mut value = 9_u64;
    ok!(program, cuDeviceGetGraphMemAttribute(0, attribute, (&raw mut value).cast()));
    value
}

fn known(program: &Program, address: CUdeviceptr) -> bool {
    let mut kind = 0_u32;
    call!(program, cuPointerGetAttribute((&raw mut kind).cast(), CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address))
        .is_success()
}

#[test]
fn memory_of_a_graph_exists_from_launch_to_release() {
    let program = Program::new();
    let (stream, mut address) = (program.stream(0), 0);
    let graph = captured(&program, |stream| {
        ok!(program, cuMemAllocAsync(&mut address, 0, stream));
        assert_eq!(address, 0);
        ok!(program, cuMemAllocAsync(&mut address, 64, stream));
        program.fill(address, 7, 64, stream);
    });
    assert!(address != 0 && !known(&program, address), "reserved, and no more");
    fails!(program, INVALID_VALUE, cuMemsetD8Async(address, 1, 1, stream));
    fails!(program, INVALID_VALUE, cuMemFreeAsync(address, stream));
    let exec = instantiate(&program, graph);
    let mut second = CUgraphExec::NULL;
    fails!(program, INVALID_VALUE, cuGraphInstantiateWithFlags(&mut second, graph, 0));
    ok!(program, cuGraphLaunch(exec, stream));
    assert!(known(&program, address));
    ok!(program, cuStreamSynchronize(stream));
    assert_eq!(program.peek(address), 7);
    assert!(graph_memory(&program, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT) >= 64);
    // Not freed, so not to be allocated again.
    fails!(program, INVALID_VALUE, cuGraphLaunch(exec, stream));
    ok!(program, cuMemFreeAsync(address, stream));
    ok!(program, cuGraphLaunch(exec, stream));
    ok!(program, cuStreamSynchronize(stream));
    ok!(program, cuMemFree_v2(address));
    assert!(!known(&program, address));
    for attribute in [CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT] {
        assert!(graph_memory(&program, attribute) >= 64, "until it is trimmed");
    }
    ok!(program, cuDeviceGraphMemTrim(0));
    for attribute in [CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT] {
        assert_eq!(graph_memory(&program, attribute), 0);
    }
    assert!(graph_memory(&program, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH) >= 64);
    let mut zero = 0_u64;
    ok!(program, cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, (&raw mut zero).cast()));
    assert_eq!(graph_memory(&program, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH), 0);
    ok!(program, cuGraphDestroy(graph));
    ok!(program, cuGraphExecDestroy(exec));
    assert_eq!(program.sim.statistics().matches("\"kind\"").count(), 0);
}

#[test]
fn memory_that_a_graph_frees_itself_is_there_for_each_launch() {
    let program = Program::new();
    let (stream, device, mut address) = (program.stream(0), program.alloc(1), 0);
    let graph = captured(&program, |stream| {
        ok!(program, cuMemAllocAsync(&mut address, 64, stream));
        program.fill(address, 7, 64, stream);
        ok!(program, cuMemcpyDtoDAsync_v2(device, address, 1, stream));
        ok!(program, cuMemFreeAsync(address, stream));
        fails!(program, INVALID_VALUE, cuMemFreeAsync(address, stream));
        fails!(program, INVALID_VALUE, cuMemFreeAsync(device, stream));
    });
    let exec = instantiate(&program, graph);
    for _ in 0..3 {
        ok!(program, cuMemsetD8_v2(device, 0, 1));
        ok!(program, cuGraphLaunch(exec, stream));
        ok!(program, cuStreamSynchronize(stream));
        assert_eq!(program.peek(device), 7);
    }
    let (mut clone, mut node, mut count) = (CUgraph::NULL, CUgraphNode::NULL, 1);
    fails!(program, NOT_SUPPORTED, cuGraphClone(&mut clone, graph));
    ok!(program, cuGraphGetRootNodes(graph, &mut node, &mut count));
    fails!(program, NOT_SUPPORTED, cuGraphDestroyNode(node));
    // SAFETY: all-zero is a valid description.
    let mut params: CUDA_MEM_ALLOC_NODE_PARAMS = unsafe { std::mem::zeroed() };
    ok!(program, cuGraphMemAllocNodeGetParams(node, &mut params));
    assert_eq!((params.dptr, params.bytesize, params.poolProps.location.id), (address, 64, 0));
    let outer = self::graph(&program);
    fails!(program, NOT_SUPPORTED, cuGraphAddChildGraphNode(&mut node, outer, NONE, 0, graph));
}

#[test]
fn memory_of_one_graph_may_be_freed_by_another() {
    let program = Program::new();
    let (stream, mut address) = (program.stream(0), 0);
    let first = captured(&program, |stream| ok!(program, cuMemAllocAsync(&mut address, 64, stream)));
    let (second, mut node) = (graph(&program), CUgraphNode::NULL);
    ok!(program, cuGraphAddMemFreeNode(&mut node, second, NONE, 0, address));
    let mut read = 0;
    ok!(program, cuGraphMemFreeNodeGetParams(node, &mut read));
    assert_eq!(read, address);
    fails!(program, INVALID_VALUE, cuGraphAddMemFreeNode(&mut node, second, NONE, 0, address));
    fails!(program, INVALID_VALUE, cuGraphAddMemFreeNode(&mut node, first, NONE, 0, address));
    fails!(program, INVALID_VALUE, cuGraphAddMemFreeNode(&mut node, second, NONE, 0, address + 64));
    let (first, second) = (instantiate(&program, first), instantiate(&program, second));
    fails!(program, INVALID_VALUE, cuGraphLaunch(second, stream));
    for _ in 0..2 {
        ok!(program, cuGraphLaunch(first, stream));
        ok!(program, cuGraphLaunch(second, stream));
        assert!(!known(&program, address));
    }
    ok!(program, cuCtxSynchronize());
}

#[test]
fn what_a_launch_left_is_freed_by_the_next_where_that_is_asked_for() {
    let program = Program::new();
    let (graph, mut node, stream) = (graph(&program), CUgraphNode::NULL, program.stream(0));
    // SAFETY: all-zero is a valid description.
    let mut params: CUDA_MEM_ALLOC_NODE_PARAMS = unsafe { std::mem::zeroed() };
    fails!(program, INVALID_VALUE, cuGraphAddMemAllocNode(&mut node, graph, NONE, 0, &mut params));
    params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    params.poolProps.location = CUmemLocation { kind: CU_MEM_LOCATION_TYPE_DEVICE, id: 0 };
    params.bytesize = 64;
    ok!(program, cuGraphAddMemAllocNode(&mut node, graph, NONE, 0, &mut params));
    fill(&program, graph, &[node], fill_params(params.dptr, 7, 64));
    let mut exec = CUgraphExec::NULL;
    ok!(program, cuGraphInstantiateWithFlags(&mut exec, graph, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
    for _ in 0..3 {
        ok!(program, cuGraphLaunch(exec, stream));
    }
    ok!(program, cuStreamSynchronize(stream));
    assert_eq!(program.peek(params.dptr), 7);
    ok!(program, cuMemFreeAsync(params.dptr, stream));
    ok!(program, cuGraphExecDestroy(exec));
    ok!(program, cuGraphDestroy(graph));
    ok!(program, cuCtxSynchronize());
    assert_eq!(program.sim.statistics().matches("\"kind\"").count(), 0);
}

#[test]
fn a_child_graph_with_memory_may_be_moved_but_not_cloned() {
    let program = Program::new();
    let (outer, device, mut address) = (graph(&program), program.alloc(1), 0);
    let child = captured(&program, |stream| {
        ok!(program, cuMemAllocAsync(&mut address, 64, stream));
        program.fill(address, 7, 64, stream);
        ok!(program, cuMemcpyDtoDAsync_v2(device, address, 1, stream));
        ok!(program, cuMemFreeAsync(address, stream));
    });
    let mut params =
        CUgraphNodeParams { kind: CU_GRAPH_NODE_TYPE_GRAPH, reserved0: [0; 3], params: [0; 29], reserved2: 0 };
    params.params[0] = child.0 as u64;
    let mut node = CUgraphNode::NULL;
    fails!(program, NOT_SUPPORTED, cuGraphAddNode(&mut node, outer, NONE, 0, &mut params));
    params.params[1] = CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE as u64;
    ok!(program, cuGraphAddNode(&mut node, outer, NONE, 0, &mut params));
    fails!(program, INVALID_VALUE, cuGraphDestroy(child));
    let exec = instantiate(&program, outer);
    ok!(program, cuGraphLaunch(exec, CUstream::NULL));
    assert_eq!(bytes(&program, device, 1), [7]);
    ok!(program, cuGraphExecDestroy(exec));
    ok!(program, cuGraphDestroy(outer));
    assert_eq!(program.sim.statistics().matches("\"kind\"").count(), 1);
}

unsafe extern "C" fn count_one(data: *mut c_void) {
    // SAFETY: the tests pass a counter that outlives the calls.
    unsafe { &*data.cast::<AtomicUsize>() }.fetch_add(1, Ordering::SeqCst);
}

#[test]
fn user_objects_live_as_long_as_graphs_need_them() {
    let program = Program::new();
    let ended = AtomicUsize::new(0);
    let data: *mut c_void = (&raw const ended).cast_mut().cast();
    let (mut object, graph) = (CUuserObject::NULL, graph(&program));
    fails!(program, INVALID_VALUE, cuUserObjectCreate(&mut object, data, Some(count_one), 1, 0));
    let flags = CU_USER_OBJECT_NO_DESTRUCTOR_SYNC;
    fails!(program, INVALID_VALUE, cuUserObjectCreate(&mut object, data, Some(count_one), 0, flags));
    ok!(program, cuUserObjectCreate(&mut object, data, Some(count_one), 1, flags));
    ok!(program, cuUserObjectRetain(object, 1));
    ok!(program, cuGraphRetainUserObject(graph, object, 1, 0));
    ok!(program, cuUserObjectRelease(object, 1));
    ok!(program, cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
    fill(&program, graph, &[], fill_params(program.alloc(1), 1, 1));
    let exec = instantiate(&program, graph);
    let mut clone = CUgraph::NULL;
    ok!(program, cuGraphClone(&mut clone, graph));
    ok!(program, cuGraphReleaseUserObject(graph, object, 1));
    fails!(program, INVALID_VALUE, cuGraphReleaseUserObject(graph, object, 2));
    ok!(program, cuGraphDestroy(graph));
    ok!(program, cuGraphDestroy(clone));
    let stream = program.stream(0);
    ok!(program, cuGraphLaunch(exec, stream));
    ok!(program, cuGraphExecDestroy(exec));
    assert_eq!(ended.load(Ordering::SeqCst), 0, "a launch is pending");
    ok!(program, cuCtxSynchronize());
    assert_eq!(ended.load(Ordering::SeqCst), 1);
    fails!(program, INVALID_VALUE, cuUserObjectRelease(object, 1));
}

#[test]
fn an_update_brings_along_what_the_graph_keeps_alive() {
    let program = Program::new();
    let (ended, device, stream) = ([AtomicUsize::new(0), AtomicUsize::new(0)], program.alloc(1), program.stream(0));
    let keeping = |which: usize| {
        let (graph, mut object) = (graph(&program), CUuserObject::NULL);
        fill(&program, graph, &[], fill_params(device, 5, 1));
        let data = (&raw const ended[which]).cast_mut().cast();
        ok!(program, cuUserObjectCreate(&mut object, data, Some(count_one), 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
        ok!(program, cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
        graph
    };
    let count = |which: usize| ended[which].load(Ordering::SeqCst);
    let (first, second) = (keeping(0), keeping(1));
    let exec = instantiate(&program, first);
    ok!(program, cuGraphDestroy(first));
    ok!(program, cuGraphLaunch(exec, stream));
    let mut info = CUgraphExecUpdateResultInfo::default();
    ok!(program, cuGraphExecUpdate_v2(exec, second, &mut info));
    assert_eq!(count(0), 0, "a launch is pending");
    ok!(program, cuStreamSynchronize(stream));
    ok!(program, cuGraphExecUpdate_v2(exec, second, &mut info));
    assert_eq!(count(0), 1);
    ok!(program, cuGraphDestroy(second));
    assert_eq!(count(1), 0);
    ok!(program, cuGraphExecDestroy(exec));
    assert_eq!(count(1), 1);
}

#[test]
fn a_graph_is_drawn_with_its_nodes_and_edges() {
    let program = Program::new();
    let (graph, device) = (graph(&program), program.alloc(4));
    let first = fill(&program, graph, &[], fill_params(device, 5, 4));
    copy(&program, graph, &[first], copy_params(device, device + 2, 2));
    let path = std::env::temp_dir().join(format!("cuarray-sim-graph-{}.dot", std::process::id()));
    let name = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
    ok!(program, cuGraphDebugDotPrint(graph, name.as_ptr(), CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES));
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    assert!(text.starts_with("digraph dot {") && text.ends_with("}\n"), "{text}");
    for part in ["MEMSET", "MEMCPY", "_node_1\" -> \"", &format!("{:#x}", first.0)] {
        assert!(text.contains(part), "{part}: {text}");
    }
    fails!(program, OPERATING_SYSTEM, cuGraphDebugDotPrint(graph, c"/no/such/directory/g.dot".as_ptr(), 0));
}
