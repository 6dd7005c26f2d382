//! Changes to executable graphs.

use super::kernels::Kernels;
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

/// The reason why an update of an executable graph to `graph` is refused, and the node at fault.
fn reason(program: &Program, exec: CUgraphExec, graph: CUgraph) -> (CUgraphExecUpdateResult, CUgraphNode) {
    let mut info = CUgraphExecUpdateResultInfo::default();
    fails!(program, GRAPH_EXEC_UPDATE_FAILURE, cuGraphExecUpdate_v2(exec, graph, &mut info));
    (info.result, info.errorNode)
}

#[test]
fn cooperation_and_priority_of_a_kernel_node_cannot_be_updated() {
    for (attribute, flags, refused) in [
        (CU_LAUNCH_ATTRIBUTE_COOPERATIVE, 0, true),
        (CU_LAUNCH_ATTRIBUTE_PRIORITY, 0, false),
        (CU_LAUNCH_ATTRIBUTE_PRIORITY, CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY, true),
    ] {
        let kernels = Kernels::new();
        let (program, node, mut exec) = (&kernels.program, kernels.node(c"idle", &[]), CUgraphExec::NULL);
        ok!(program, cuGraphInstantiateWithFlags(&mut exec, kernels.graph, flags));
        let value = CUlaunchAttributeValue { words: [1, 0, 0, 0, 0, 0, 0, 0] };
        ok!(program, cuGraphKernelNodeSetAttribute(node, attribute, &value));
        if refused {
            let expected = (CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED, node);
            assert_eq!(reason(program, exec, kernels.graph), expected, "{attribute}");
        } else {
            ok!(program, cuGraphExecUpdate_v2(exec, kernels.graph, &mut CUgraphExecUpdateResultInfo::default()));
        }
    }
}

#[test]
fn kernel_of_another_context_and_ports_cannot_be_updated() {
    let kernels = Kernels::new();
    let (program, node) = (&kernels.program, kernels.node(c"idle", &[]));
    let exec = instantiate(program, kernels.graph);
    let mut second = CUcontext::NULL;
    ok!(program, cuCtxCreate_v2(&mut second, 0, 0));
    let elsewhere = kernels.in_context(second);
    let expected = (CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE, elsewhere.node(c"idle", &[]));
    assert_eq!(reason(program, exec, elsewhere.graph), expected);
    ok!(program, cuCtxSetCurrent(program.context));
    // An edge with other data is another edge.
    let last = kernels.node(c"idle", &[node]);
    let exec = instantiate(program, kernels.graph);
    let (from_port, kind) = (CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC);
    let data = CUgraphEdgeData { from_port, kind, ..CUgraphEdgeData::default() };
    ok!(program, cuGraphRemoveDependencies(kernels.graph, &node, &last, 1));
    ok!(program, cuGraphAddDependencies_v2(kernels.graph, &node, &last, &data, 1));
    assert_eq!(reason(program, exec, kernels.graph), (CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, last));
}

#[test]
fn memory_nodes_of_other_addresses_cannot_be_updated() {
    let program = Program::new();
    let allocating = || {
        let (graph, mut node) = (graph(&program), CUgraphNode::NULL);
        // SAFETY: all-zero parameters are valid.
        let mut memory: CUDA_MEM_ALLOC_NODE_PARAMS = unsafe { std::mem::zeroed() };
        memory.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
        memory.poolProps.location = CUmemLocation { kind: CU_MEM_LOCATION_TYPE_DEVICE, id: 0 };
        memory.bytesize = 64;
        ok!(program, cuGraphAddMemAllocNode(&mut node, graph, NONE, 0, &mut memory));
        (graph, node)
    };
    let exec = instantiate(&program, allocating().0);
    let (other, node) = allocating();
    assert_eq!(reason(&program, exec, other), (CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED, node));
}

#[test]
fn kernel_node_with_a_context_other_than_that_of_its_function_is_refused_by_the_new_versions() {
    let kernels = Kernels::new();
    let (program, mut second) = (&kernels.program, CUcontext::NULL);
    ok!(program, cuCtxCreate_v2(&mut second, 0, 0));
    ok!(program, cuCtxSetCurrent(program.context));
    let (mut node, mut any) = (
        kernels.node(c"idle", &[]),
        CUgraphNodeParams { kind: CU_GRAPH_NODE_TYPE_KERNEL, reserved0: [0; 3], params: [0; 29], reserved2: 0 },
    );
    kernels.with_params(c"idle", 1, [kernels.arrays[0]; 2], |params| {
        for (ctx, fits) in [(CUcontext::NULL, true), (program.context, true), (second, false)] {
            let params = CUDA_KERNEL_NODE_PARAMS { ctx, ..params };
            // SAFETY: the union is larger than the parameters.
            unsafe { any.params.as_mut_ptr().cast::<CUDA_KERNEL_NODE_PARAMS>().write(params) };
            let none = std::ptr::null();
            if fits {
                ok!(program, cuGraphNodeSetParams_v2(node, &mut any));
                ok!(program, cuGraphAddNode_v3(&mut node, kernels.graph, NONE, none, 0, &mut any));
            } else {
                fails!(program, INVALID_CONTEXT, cuGraphNodeSetParams_v2(node, &mut any));
                fails!(program, INVALID_CONTEXT, cuGraphAddNode_v3(&mut node, kernels.graph, NONE, none, 0, &mut any));
                ok!(program, cuGraphNodeSetParams(node, &mut any));
            }
        }
    });
}
