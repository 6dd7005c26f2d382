//! Nodes and edges as a program sees them: lists, clones, DOT output, and parameters.

use super::*;

#[test]
fn nodes_and_edges_are_listed_as_the_manual_defines() {
    let program = Program::new();
    let graph = graph(&program);
    let a = empty(&program, graph, &[]);
    let b = empty(&program, graph, &[a]);
    let c = empty(&program, graph, &[]);
    ok!(program, cuGraphAddDependencies(graph, [a, b].as_ptr(), [c, c].as_ptr(), 2));
    let list = |get: &dyn Fn(*mut CUgraphNode, *mut usize)| {
        let mut count = 9;
        get(std::ptr::null_mut(), &mut count);
        // The array has room for one entry more than the graph has nodes.
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
    // These edges are refused: one that exists already, a loop, one into another graph, and one from a port.
    fails!(program, INVALID_VALUE, cuGraphAddDependencies(graph, &a, &c, 1));
    fails!(program, INVALID_VALUE, cuGraphAddDependencies(graph, &a, &a, 1));
    fails!(program, INVALID_VALUE, cuGraphAddDependencies(self::graph(&program), &b, &c, 1));
    let port = CUgraphEdgeData { from_port: 1, ..CUgraphEdgeData::default() };
    fails!(program, INVALID_VALUE, cuGraphAddDependencies_v2(graph, &c, &a, &port, 1));
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
    let mut ids = [0; 3];
    let other = empty(&program, self::graph(&program), &[]);
    for (id, node) in ids.iter_mut().zip([a, c, other]) {
        ok!(program, cuGraphNodeGetToolsId(node, id));
    }
    assert!(ids[0] != ids[1] && ids[0] != ids[2] && ids[1] != ids[2], "{ids:?}");
    fails!(program, INVALID_VALUE, cuGraphNodeGetToolsId(b, &mut ids[0]));
}

#[test]
fn clone_is_independent_of_its_original() {
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
fn node_parameters_are_returned_as_given() {
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
    // Captured nodes have parameters too.
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
fn invalid_parameters_are_refused() {
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
    fails!(program, INVALID_VALUE, cuGraphAddNode(&mut node, graph, NONE, 0, &mut any));
    any.kind = CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT;
    fails!(program, NOT_SUPPORTED, cuGraphAddNode(&mut node, graph, NONE, 0, &mut any));
    (any.kind, any.reserved2) = (CU_GRAPH_NODE_TYPE_EMPTY, 1);
    fails!(program, INVALID_VALUE, cuGraphAddNode(&mut node, graph, NONE, 0, &mut any));
    any.reserved2 = 0;
    ok!(program, cuGraphAddNode_v2(&mut node, graph, NONE, std::ptr::null(), 0, &mut any));
    let mut created = CUgraph::NULL;
    fails!(program, INVALID_VALUE, cuGraphCreate(&mut created, 1));
    // Memory freed after the node was added fails the whole launch.
    fill(&program, graph, &[], fill_params(device, 1, 1));
    let gone = program.alloc(8);
    fill(&program, graph, &[], fill_params(gone, 1, 1));
    let exec = instantiate(&program, graph);
    ok!(program, cuMemFree_v2(gone));
    fails!(program, INVALID_VALUE, cuGraphLaunch(exec, CUstream::NULL));
    assert_eq!(program.statistic("pending_operations"), 0);
}

#[test]
fn dot_output_shows_nodes_and_edges() {
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
