//! Copies of arrays in graphs and captures.

use super::findings::kinds;
use super::*;
use cuarray_sim::finding::Kind;

const EXTENTS: [usize; 3] = [4, 2, 2];

fn node_params(program: &Program, graph: CUgraph) -> CUDA_MEMCPY3D {
    let (mut node, mut count) = (CUgraphNode::NULL, 1);
    ok!(program, cuGraphGetNodes(graph, &mut node, &mut count));
    let mut params = copy(End::of_memory(0, 0), End::of_memory(0, 0), [0; 3]);
    ok!(program, cuGraphMemcpyNodeGetParams(node, &mut params));
    params
}

fn launched(program: &Program, graph: CUgraph) -> CUgraphExec {
    let mut exec = CUgraphExec::NULL;
    ok!(program, cuGraphInstantiateWithFlags(&mut exec, graph, 0));
    ok!(program, cuGraphLaunch(exec, CUstream::NULL));
    ok!(program, cuCtxSynchronize());
    exec
}

#[test]
fn captured_copy_of_an_array_becomes_a_node_that_names_it() {
    let program = Program::new();
    let (array, stream) = (bytes(&program, EXTENTS, 0), program.stream(CU_STREAM_NON_BLOCKING));
    upload(&program, array, EXTENTS, &[0; 16]);
    let memory = program.alloc(4);
    ok!(program, cuMemsetD8_v2(memory, 7, 4));
    let mut graph = CUgraph::NULL;
    ok!(program, cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    let source = End::of_memory(CU_MEMORYTYPE_DEVICE, memory);
    ok!(program, cuMemcpy3DAsync_v2(&copy(End::of_array(array, [1, 0, 1]), source, [2, 2, 1]), stream));
    ok!(program, cuStreamEndCapture(stream, &mut graph));
    let params = node_params(&program, graph);
    assert_eq!((params.dstMemoryType, params.dstArray, params.dstDevice), (CU_MEMORYTYPE_ARRAY, array, 0));
    assert_eq!((params.dstXInBytes, params.dstY, params.dstZ), (1, 0, 1));
    launched(&program, graph);
    assert_eq!(download(&program, array, EXTENTS), [0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 7, 0, 0, 7, 7, 0]);
    // The parameters that a node has describe it.
    let (mut copied, mut node) = (CUgraph::NULL, CUgraphNode::NULL);
    ok!(program, cuGraphCreate(&mut copied, 0));
    ok!(program, cuGraphAddMemcpyNode(&mut node, copied, std::ptr::null(), 0, &params, program.context));
    launched(&program, copied);
}

#[test]
fn node_copies_between_arrays_and_changes_in_place() {
    let program = Program::new();
    let [from, to, other] = [0, 1, 2].map(|_| bytes(&program, EXTENTS, 0));
    let given: Vec<u8> = (1..17).collect();
    [from, to, other].iter().for_each(|array| upload(&program, *array, EXTENTS, &given));
    let (mut graph, mut node) = (CUgraph::NULL, CUgraphNode::NULL);
    ok!(program, cuGraphCreate(&mut graph, 0));
    let params = copy(End::of_array(to, [0; 3]), End::of_array(from, [2, 1, 1]), [2, 1, 1]);
    ok!(program, cuGraphAddMemcpyNode(&mut node, graph, std::ptr::null(), 0, &params, program.context));
    let exec = launched(&program, graph);
    assert_eq!(download(&program, to, EXTENTS)[..3], [15, 16, 3]);
    let changed = CUDA_MEMCPY3D { dstArray: other, ..params };
    ok!(program, cuGraphExecMemcpyNodeSetParams(exec, node, &changed, program.context));
    ok!(program, cuGraphLaunch(exec, CUstream::NULL));
    assert_eq!(download(&program, other, EXTENTS)[..3], [15, 16, 3]);
    let outside = CUDA_MEMCPY3D { dstXInBytes: 3, ..params };
    fails!(program, INVALID_VALUE, cuGraphMemcpyNodeSetParams(node, &outside));
}

#[test]
fn launch_with_a_destroyed_array_fails_and_is_a_finding() {
    let program = Program::new();
    let [from, to] = [0, 1].map(|_| bytes(&program, EXTENTS, 0));
    upload(&program, from, EXTENTS, &[0; 16]);
    let (mut graph, mut node, mut exec) = (CUgraph::NULL, CUgraphNode::NULL, CUgraphExec::NULL);
    ok!(program, cuGraphCreate(&mut graph, 0));
    let params = copy(End::of_array(to, [0; 3]), End::of_array(from, [0; 3]), EXTENTS);
    ok!(program, cuGraphAddMemcpyNode(&mut node, graph, std::ptr::null(), 0, &params, program.context));
    ok!(program, cuGraphInstantiateWithFlags(&mut exec, graph, 0));
    ok!(program, cuArrayDestroy(to));
    assert_eq!(kinds(&program), []);
    fails!(program, INVALID_VALUE, cuGraphLaunch(exec, CUstream::NULL));
    assert_eq!(kinds(&program), [Kind::DestroyedHandle]);
    let text = program.sim.report().text(false);
    assert!(text.contains("cuGraphLaunch") && text.contains("cuArrayDestroy"), "{text}");
    // The address may be in use again, by an array that the node does not name.
    let again = bytes(&program, EXTENTS, 0);
    fails!(program, INVALID_VALUE, cuGraphLaunch(exec, CUstream::NULL));
    ok!(program, cuArrayDestroy(again));
}
