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
