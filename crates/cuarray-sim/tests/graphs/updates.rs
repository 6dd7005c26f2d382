//! Changes to executable graphs.

use super::*;

#[test]
fn nodes_of_an_executable_graph_can_be_changed_and_disabled() {
    let program = Program::new();
    let (graph, device, stream) = (graph(&program), program.alloc(4), program.stream(0));
    let first = fill(&program, graph, &[], fill_params(device, 5, 1));
    let second = copy(&program, graph, &[first], copy_params(device + 1, device, 1));
    let exec = instantiate(&program, graph);
    ok!(program, cuMemsetD8_v2(device, 1, 4));
    // A pending launch is not affected.
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
fn whole_graph_update_needs_the_same_shape() {
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
    // Refused: another edge, another number of nodes, another kind, another form of parameter.
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
    // A failed update changes nothing.
    ok!(program, cuGraphLaunch(exec, CUstream::NULL));
    assert_eq!(bytes(&program, device, 3), [6, 6, 6]);
}
