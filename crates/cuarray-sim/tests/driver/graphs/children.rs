//! Child graphs.

use super::*;

#[test]
fn child_graph_runs_between_its_neighbours() {
    let program = Program::new();
    let (device, stream) = (program.alloc(4), program.stream(0));
    let child = graph(&program);
    copy(&program, child, &[], copy_params(device + 1, device, 1));
    copy(&program, child, &[], copy_params(device + 2, device, 1));
    let (outer, mut node) = (graph(&program), CUgraphNode::NULL);
    let first = fill(&program, outer, &[], fill_params(device, 5, 1));
    ok!(program, cuGraphAddChildGraphNode(&mut node, outer, &first, 1, child));
    copy(&program, outer, &[node], copy_params(device + 3, device + 2, 1));
    // The child was cloned, so the original may be destroyed.
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
fn child_graphs_nest_up_to_a_limit() {
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
fn launch_in_a_capturing_stream_becomes_a_child_graph() {
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

/// The parameters of a child graph node.
fn params(child: CUgraph, ownership: CUgraphChildGraphNodeOwnership) -> CUgraphNodeParams {
    let (mut words, of) = ([0; 29], CUDA_CHILD_GRAPH_NODE_PARAMS { graph: child, ownership });
    // SAFETY: the union is larger than the parameters.
    unsafe { words.as_mut_ptr().cast::<CUDA_CHILD_GRAPH_NODE_PARAMS>().write(of) };
    CUgraphNodeParams { kind: CU_GRAPH_NODE_TYPE_GRAPH, reserved0: [0; 3], params: words, reserved2: 0 }
}

/// The graph and the ownership that a query of a node returns.
fn queried(program: &Program, node: CUgraphNode) -> CUDA_CHILD_GRAPH_NODE_PARAMS {
    let mut read = params(CUgraph::NULL, 0);
    ok!(program, cuGraphNodeGetParams(node, &mut read));
    // SAFETY: the union holds the parameters of a child graph node.
    unsafe { read.params.as_ptr().cast::<CUDA_CHILD_GRAPH_NODE_PARAMS>().read() }
}

#[test]
fn moved_child_graph_belongs_to_its_node() {
    const MOVE: CUgraphChildGraphNodeOwnership = CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
    let program = Program::new();
    let (outer, child, device) = (graph(&program), graph(&program), program.alloc(4));
    fill(&program, child, &[], fill_params(device, 5, 1));
    let (mut node, mut exec) = (CUgraphNode::NULL, CUgraphExec::NULL);
    ok!(program, cuGraphAddNode(&mut node, outer, NONE, 0, &mut params(child, MOVE)));
    let read = queried(&program, node);
    // By the header, a query never returns an ownership that could be used again.
    assert_eq!((read.graph, read.ownership), (child, CU_GRAPH_CHILD_GRAPH_OWNERSHIP_INVALID));
    let mut again = params(child, read.ownership);
    fails!(program, INVALID_VALUE, cuGraphAddNode(&mut node, graph(&program), NONE, 0, &mut again));
    for ownership in [CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE, MOVE] {
        let mut again = params(child, ownership);
        fails!(program, INVALID_VALUE, cuGraphAddNode(&mut node, graph(&program), NONE, 0, &mut again));
    }
    fails!(program, INVALID_VALUE, cuGraphDestroy(child));
    fails!(program, INVALID_VALUE, cuGraphInstantiateWithFlags(&mut exec, child, 0));
    let mut info = CUgraphExecUpdateResultInfo::default();
    let other = graph(&program);
    fill(&program, other, &[], fill_params(device, 6, 1));
    let updated = instantiate(&program, other);
    fails!(program, GRAPH_EXEC_UPDATE_FAILURE, cuGraphExecUpdate_v2(updated, child, &mut info));
    assert_eq!(info.result, CU_GRAPH_EXEC_UPDATE_ERROR);
    // SAFETY: all-zero parameters are valid.
    let mut memory: CUDA_MEM_ALLOC_NODE_PARAMS = unsafe { std::mem::zeroed() };
    memory.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    memory.poolProps.location = CUmemLocation { kind: CU_MEM_LOCATION_TYPE_DEVICE, id: 0 };
    memory.bytesize = 64;
    fails!(program, INVALID_VALUE, cuGraphAddMemAllocNode(&mut node, child, NONE, 0, &mut memory));
    // The node of a graph within it cannot own it.
    fails!(program, INVALID_VALUE, cuGraphAddNode(&mut node, child, NONE, 0, &mut params(outer, MOVE)));
    ok!(program, cuGraphLaunch(instantiate(&program, outer), CUstream::NULL));
    assert_eq!(bytes(&program, device, 1), [5]);
}

#[test]
fn child_graph_of_a_node_is_replaced() {
    let program = Program::new();
    let (outer, device, mut node) = (graph(&program), program.alloc(4), CUgraphNode::NULL);
    let children = [5, 6, 7].map(|value| {
        let child = graph(&program);
        fill(&program, child, &[], fill_params(device, value, 1));
        child
    });
    ok!(program, cuGraphAddChildGraphNode(&mut node, outer, NONE, 0, children[0]));
    let first = queried(&program, node).graph;
    let exec = instantiate(&program, outer);
    for (child, ownership) in [(children[1], 0), (children[2], CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE)] {
        ok!(program, cuGraphNodeSetParams(node, &mut params(child, ownership)));
        assert_eq!(queried(&program, node).graph == child, ownership != 0);
        fails!(program, INVALID_VALUE, cuGraphGetNodes(first, std::ptr::null_mut(), &mut 0));
        ok!(program, cuGraphLaunch(exec, CUstream::NULL));
        assert_eq!(bytes(&program, device, 1), [5]);
    }
    ok!(program, cuGraphLaunch(instantiate(&program, outer), CUstream::NULL));
    assert_eq!(bytes(&program, device, 1), [7]);
    let ownership = CU_GRAPH_CHILD_GRAPH_OWNERSHIP_INVALID;
    fails!(program, INVALID_VALUE, cuGraphNodeSetParams(node, &mut params(children[0], ownership)));
    let empty = empty(&program, outer, &[]);
    fails!(program, INVALID_VALUE, cuGraphNodeSetParams(empty, &mut params(children[0], 0)));
    for graph in [outer, children[0], children[1]] {
        ok!(program, cuGraphDestroy(graph));
    }
    assert_eq!(program.statistic("graphs"), 0);
}
