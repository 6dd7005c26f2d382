//! Handles, nodes and bodies as objects: their errors, queries, updates and captures.

use super::*;
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
fn handle_needs_a_graph_known_flags_and_a_context() {
    let f = Fixture::new();
    let (mut handle, context) = (0, f.program.context);
    fails!(f.program, INVALID_VALUE, cuGraphConditionalHandleCreate(&mut handle, CUgraph(5), context, 0, 0));
    fails!(f.program, INVALID_VALUE, cuGraphConditionalHandleCreate(&mut handle, f.graph, context, 0, 2));
    fails!(f.program, INVALID_VALUE, cuGraphConditionalHandleCreate(&mut handle, f.graph, CUcontext(5), 0, 0));
    fails!(f.program, INVALID_VALUE, cuGraphConditionalHandleCreate(std::ptr::null_mut(), f.graph, context, 0, 0));
    assert_eq!(handle, 0);
}

#[test]
fn node_needs_a_handle_of_its_graph_and_a_size_of_its_type() {
    let f = Fixture::new();
    let (handle, mut node, mut other) = (f.handle(None), CUgraphNode::NULL, CUgraph::NULL);
    let wrong = [
        (0, CU_GRAPH_COND_TYPE_IF, 1),
        (handle, CU_GRAPH_COND_TYPE_IF, 0),
        (handle, CU_GRAPH_COND_TYPE_IF, 3),
        (handle, CU_GRAPH_COND_TYPE_WHILE, 2),
        (handle, CU_GRAPH_COND_TYPE_SWITCH, 0),
        (handle, 3, 1),
    ];
    for (handle, kind, size) in wrong {
        let mut params = f.params(handle, kind, size);
        fails!(f.program, INVALID_VALUE, cuGraphAddNode(&mut node, f.graph, NONE, 0, &mut params));
    }
    let mut params = f.params(handle, CU_GRAPH_COND_TYPE_IF, 1);
    ok!(f.program, cuGraphCreate(&mut other, 0));
    fails!(f.program, INVALID_VALUE, cuGraphAddNode(&mut node, other, NONE, 0, &mut params));
    fails!(f.program, INVALID_VALUE, cuGraphAddNode(&mut node, f.graph, &CUgraphNode(5), 1, &mut params));
    // A refused node leaves no bodies behind.
    assert_eq!(f.program.statistic("graphs"), 2);
    ok!(f.program, cuGraphAddNode(&mut node, f.graph, NONE, 0, &mut params));
    fails!(f.program, INVALID_VALUE, cuGraphAddNode(&mut node, f.graph, NONE, 0, &mut params));
}

#[test]
fn queries_return_the_type_and_the_bodies() {
    let f = Fixture::new();
    let handle = f.handle(None);
    let (node, own) = f.conditional(f.graph, &[], handle, CU_GRAPH_COND_TYPE_SWITCH, 3);
    let (mut kind, mut params) = (0, f.params(0, 0, 0));
    ok!(f.program, cuGraphNodeGetType(node, &mut kind));
    assert_eq!(kind, CU_GRAPH_NODE_TYPE_CONDITIONAL);
    ok!(f.program, cuGraphNodeGetParams(node, &mut params));
    assert_eq!(bodies(&params), own);
    // SAFETY: the parameters are those of a conditional node.
    let of = unsafe { params.params.as_ptr().cast::<CUDA_CONDITIONAL_NODE_PARAMS>().read() };
    assert_eq!((of.handle, of.kind, of.size, of.ctx), (handle, CU_GRAPH_COND_TYPE_SWITCH, 3, f.program.context));
    fails!(f.program, NOT_SUPPORTED, cuGraphNodeSetParams(node, &mut params));
    fails!(f.program, INVALID_VALUE, cuGraphDestroy(own[0]));
    ok!(f.program, cuGraphDestroyNode(node));
    assert_eq!(f.program.statistic("graphs"), 1);
}

unsafe extern "C" fn count_one(data: *mut c_void) {
    // SAFETY: the tests pass a counter that outlives the calls.
    unsafe { &*data.cast::<AtomicUsize>() }.fetch_add(1, Ordering::SeqCst);
}

/// Instantiates the graph of the fixture, which fails; returns the result and the node at fault.
fn refused(f: &Fixture) -> (CUgraphInstantiateResult, CUgraphNode) {
    let (mut exec, none) = (CUgraphExec::NULL, CUgraphNode::NULL);
    let mut params =
        CUDA_GRAPH_INSTANTIATE_PARAMS { flags: 0, hUploadStream: CUstream::NULL, hErrNode_out: none, result_out: 9 };
    fails!(f.program, INVALID_VALUE, cuGraphInstantiateWithParams(&mut exec, f.graph, &mut params));
    (params.result_out, params.hErrNode_out)
}

#[test]
fn host_node_in_a_body_fails_the_instantiation_until_it_is_destroyed() {
    let f = Fixture::new();
    let handle = f.handle(Some(1));
    let (_, own) = f.conditional(f.graph, &[], handle, CU_GRAPH_COND_TYPE_IF, 1);
    let (called, event) = (AtomicUsize::new(0), f.program.event());
    let data = (&raw const called).cast_mut().cast();
    let host = CUDA_HOST_NODE_PARAMS { function: Some(count_one), userData: data };
    let added = f.kernel(own[0], &[], c"add", [f.counter(0), 1]);
    let [mut node, mut nested, mut at_fault] = [CUgraphNode::NULL; 3];
    ok!(f.program, cuGraphAddHostNode(&mut node, own[0], &added, 1, &host));
    assert_eq!(refused(&f), (CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE, node));
    let mut log = [0; 200];
    let (mut exec, place) = (CUgraphExec::NULL, log.as_mut_ptr());
    fails!(f.program, INVALID_VALUE, cuGraphInstantiate_v2(&mut exec, f.graph, &mut at_fault, place, log.len()));
    assert_eq!(at_fault, node);
    // SAFETY: the driver has written a text with its end.
    let text = unsafe { std::ffi::CStr::from_ptr(log.as_ptr()) }.to_str().unwrap();
    assert!(text.starts_with("a body of a conditional node has a host node,"), "{text}");
    ok!(f.program, cuGraphDestroyNode(node));
    fails!(f.program, NOT_SUPPORTED, cuGraphAddEventRecordNode(&mut node, own[0], NONE, 0, event));
    fails!(f.program, NOT_SUPPORTED, cuGraphAddEventWaitNode(&mut node, own[0], NONE, 0, event));
    let mut refused_child = CUgraph::NULL;
    ok!(f.program, cuGraphCreate(&mut refused_child, 0));
    ok!(f.program, cuGraphAddEventRecordNode(&mut node, refused_child, NONE, 0, event));
    fails!(f.program, NOT_SUPPORTED, cuGraphAddChildGraphNode(&mut node, own[0], NONE, 0, refused_child));
    // A refused child leaves nothing behind: the statistics count the two graphs of the program, and no bodies.
    assert_eq!(f.program.statistic("graphs"), 2);
    ok!(f.program, cuGraphDestroy(refused_child));
    // The node of a child graph is that of the clone in the body.
    let mut child = CUgraph::NULL;
    ok!(f.program, cuGraphCreate(&mut child, 0));
    ok!(f.program, cuGraphAddHostNode(&mut nested, child, NONE, 0, &host));
    ok!(f.program, cuGraphAddChildGraphNode(&mut node, own[0], NONE, 0, child));
    at_fault = refused(&f).1;
    let (mut kind, mut graph) = (0, CUgraph::NULL);
    ok!(f.program, cuGraphNodeGetType(at_fault, &mut kind));
    ok!(f.program, cuGraphChildGraphNodeGetGraph(node, &mut graph));
    assert_eq!(kind, CU_GRAPH_NODE_TYPE_HOST);
    ok!(f.program, cuGraphDestroyNode(at_fault));
    ok!(f.program, cuGraphDestroy(child));
    // A host node beside the conditional node is allowed, and is the only one that runs.
    ok!(f.program, cuGraphAddHostNode(&mut node, f.graph, NONE, 0, &host));
    f.launch(f.instantiated());
    assert_eq!(f.values::<1>(), [1]);
    assert_eq!(called.load(Ordering::SeqCst), 1);
    assert!(f.program.sim.report().findings.is_empty(), "{}", f.program.sim.report().text(false));
}

#[test]
fn user_data_of_a_host_node_in_a_body_ends_with_the_conditional_node() {
    for kind in [CU_GRAPH_COND_TYPE_IF, CU_GRAPH_COND_TYPE_WHILE, CU_GRAPH_COND_TYPE_SWITCH] {
        let f = Fixture::new();
        let handle = f.handle(None);
        let (node, own) = f.conditional(f.graph, &[], handle, kind, 1);
        let (ended, mut object, mut added) = (AtomicUsize::new(0), CUuserObject::NULL, CUgraphNode::NULL);
        let data = (&raw const ended).cast_mut().cast();
        let host = CUDA_HOST_NODE_PARAMS { function: Some(count_one), userData: data };
        ok!(f.program, cuGraphAddHostNode(&mut added, own[0], NONE, 0, &host));
        let flags = CU_USER_OBJECT_NO_DESTRUCTOR_SYNC;
        ok!(f.program, cuUserObjectCreate(&mut object, data, Some(count_one), 1, flags));
        ok!(f.program, cuGraphRetainUserObject(own[0], object, 1, CU_GRAPH_USER_OBJECT_MOVE));
        ok!(f.program, cuGraphDestroyNode(added));
        assert_eq!(ended.load(Ordering::SeqCst), 0, "the body keeps the object");
        ok!(f.program, cuGraphAddHostNode(&mut added, own[0], NONE, 0, &host));
        ok!(f.program, cuGraphDestroyNode(node));
        assert_eq!(ended.load(Ordering::SeqCst), 1);
        fails!(f.program, INVALID_VALUE, cuGraphNodeGetType(added, &mut 0));
        fails!(f.program, INVALID_VALUE, cuUserObjectRelease(object, 1));
        assert_eq!(f.program.statistic("graphs"), 1);
    }
}

#[test]
fn host_function_captured_into_a_body_fails_the_instantiation() {
    let f = Fixture::new();
    let handle = f.handle(None);
    let (_, own) = f.conditional(f.graph, &[], handle, CU_GRAPH_COND_TYPE_WHILE, 1);
    let (stream, mut ended, called) = (f.program.stream(CU_STREAM_NON_BLOCKING), CUgraph::NULL, AtomicUsize::new(0));
    let mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    ok!(f.program, cuStreamBeginCaptureToGraph(stream, own[0], NONE, std::ptr::null(), 0, mode));
    ok!(f.program, cuLaunchHostFunc(stream, Some(count_one), (&raw const called).cast_mut().cast()));
    ok!(f.program, cuStreamEndCapture(stream, &mut ended));
    assert_eq!(refused(&f).0, CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE);
    assert_eq!(called.load(Ordering::SeqCst), 0);
}

#[test]
fn graph_with_a_conditional_node_has_one_instance_and_no_clone() {
    let f = Fixture::new();
    let handle = f.handle(None);
    f.conditional(f.graph, &[], handle, CU_GRAPH_COND_TYPE_IF, 1);
    let (mut clone, mut exec, mut node) = (CUgraph::NULL, CUgraphExec::NULL, CUgraphNode::NULL);
    fails!(f.program, NOT_SUPPORTED, cuGraphClone(&mut clone, f.graph));
    let mut outer = CUgraph::NULL;
    ok!(f.program, cuGraphCreate(&mut outer, 0));
    fails!(f.program, NOT_SUPPORTED, cuGraphAddChildGraphNode(&mut node, outer, NONE, 0, f.graph));
    let first = f.instantiated();
    fails!(f.program, INVALID_VALUE, cuGraphInstantiateWithFlags(&mut exec, f.graph, 0));
    ok!(f.program, cuGraphExecDestroy(first));
    f.instantiated();
}

#[test]
fn handle_without_a_node_fails_the_instantiation() {
    let f = Fixture::new();
    let handle = f.handle(None);
    let mut exec = CUgraphExec::NULL;
    let mut params = CUDA_GRAPH_INSTANTIATE_PARAMS {
        flags: 0,
        hUploadStream: CUstream::NULL,
        hErrNode_out: CUgraphNode::NULL,
        result_out: 9,
    };
    fails!(f.program, INVALID_VALUE, cuGraphInstantiateWithParams(&mut exec, f.graph, &mut params));
    assert_eq!(params.result_out, CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED);
    f.conditional(f.graph, &[], handle, CU_GRAPH_COND_TYPE_IF, 1);
    ok!(f.program, cuGraphInstantiateWithParams(&mut exec, f.graph, &mut params));
    assert_eq!(params.result_out, CUDA_GRAPH_INSTANTIATE_SUCCESS);
}

#[test]
fn cycle_in_a_body_fails_the_instantiation() {
    let f = Fixture::new();
    let handle = f.handle(None);
    let (_, own) = f.conditional(f.graph, &[], handle, CU_GRAPH_COND_TYPE_IF, 1);
    let one = f.kernel(own[0], &[], c"add", [f.counter(0), 1]);
    let two = f.kernel(own[0], &[one], c"add", [f.counter(0), 1]);
    ok!(f.program, cuGraphAddDependencies(own[0], &two, &one, 1));
    let mut exec = CUgraphExec::NULL;
    fails!(f.program, INVALID_VALUE, cuGraphInstantiateWithFlags(&mut exec, f.graph, 0));
}

#[test]
fn capture_into_a_body_adds_its_nodes() {
    let f = Fixture::new();
    let handle = f.handle(Some(1));
    let (_, own) = f.conditional(f.graph, &[], handle, CU_GRAPH_COND_TYPE_IF, 1);
    let (stream, mut ended) = (f.program.stream(CU_STREAM_NON_BLOCKING), CUgraph::NULL);
    let begin = |mode| call!(f.program, cuStreamBeginCaptureToGraph(stream, own[0], NONE, std::ptr::null(), 0, mode));
    assert!(begin(CU_STREAM_CAPTURE_MODE_GLOBAL).is_success());
    ok!(f.program, cuMemsetD32Async(f.counter(0), 7, 1, stream));
    ok!(f.program, cuStreamEndCapture(stream, &mut ended));
    assert_eq!(ended, own[0]);
    f.launch(f.instantiated());
    assert_eq!(f.values::<1>(), [7]);
}

/// Adds a loop over `add(counter, value)` to a graph of the fixture, with a counter of rounds.
fn a_loop(f: &Fixture, graph: CUgraph, kind: CUgraphConditionalNodeType, value: u64, rounds: u64) -> CUgraphNode {
    let mut handle = 0;
    let flags = CU_GRAPH_COND_ASSIGN_DEFAULT;
    ok!(f.program, cuGraphConditionalHandleCreate(&mut handle, graph, f.program.context, 1, flags));
    let start = f.kernel(graph, &[], c"add", [f.counter(0), rounds]);
    let (_, own) = f.conditional(graph, &[start], handle, kind, 1);
    let added = f.kernel(own[0], &[], c"add", [f.counter(1), value]);
    f.kernel(own[0], &[added], c"step", [f.counter(0), handle]);
    added
}

#[test]
fn update_changes_the_kernels_of_a_body_and_its_condition() {
    let f = Fixture::new();
    a_loop(&f, f.graph, CU_GRAPH_COND_TYPE_WHILE, 1, 2);
    let (exec, mut other) = (f.instantiated(), CUgraph::NULL);
    ok!(f.program, cuGraphCreate(&mut other, 0));
    a_loop(&f, other, CU_GRAPH_COND_TYPE_WHILE, 10, 3);
    let mut info = CUgraphExecUpdateResultInfo::default();
    f.launch(exec);
    ok!(f.program, cuGraphExecUpdate_v2(exec, other, &mut info));
    f.launch(exec);
    assert_eq!(f.values::<2>(), [0, 32]);
    let mut third = CUgraph::NULL;
    ok!(f.program, cuGraphCreate(&mut third, 0));
    a_loop(&f, third, CU_GRAPH_COND_TYPE_IF, 10, 3);
    fails!(f.program, GRAPH_EXEC_UPDATE_FAILURE, cuGraphExecUpdate_v2(exec, third, &mut info));
    assert_eq!(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED);
}

#[test]
fn node_of_a_body_can_be_disabled_in_an_executable_graph() {
    let f = Fixture::new();
    let added = a_loop(&f, f.graph, CU_GRAPH_COND_TYPE_WHILE, 1, 2);
    let exec = f.instantiated();
    ok!(f.program, cuGraphNodeSetEnabled(exec, added, 0));
    f.launch(exec);
    assert_eq!(f.values::<2>(), [0, 0]);
    ok!(f.program, cuGraphNodeSetEnabled(exec, added, 1));
    f.launch(exec);
    assert_eq!(f.values::<2>(), [0, 2]);
}

#[test]
fn debug_output_shows_the_bodies() {
    let f = Fixture::new();
    a_loop(&f, f.graph, CU_GRAPH_COND_TYPE_WHILE, 1, 2);
    let path = std::env::temp_dir().join(format!("conditional-{}.dot", std::process::id()));
    let text = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
    ok!(f.program, cuGraphDebugDotPrint(f.graph, text.as_ptr(), 0));
    let dot = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(dot.contains("CONDITIONAL\\nWHILE"), "{dot}");
    assert_eq!((dot.matches("subgraph").count(), dot.matches("KERNEL").count()), (2, 3), "{dot}");
}
