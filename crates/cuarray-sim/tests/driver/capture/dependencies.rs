//! The dependencies of the next captured node: by default, and as changed by the program.

use super::*;

#[test]
fn capture_dependencies_can_be_read_and_changed() {
    let program = Program::new();
    let (stream, device) = (program.stream(0), program.alloc(8));
    let info = |program: &Program| {
        let (mut status, mut id, mut graph, mut number) = (9, 0, CUgraph::NULL, 9);
        let (mut nodes, mut edges) = (std::ptr::null(), std::ptr::null());
        ok!(
            program,
            cuStreamGetCaptureInfo_v3(stream, &mut status, &mut id, &mut graph, &mut nodes, &mut edges, &mut number)
        );
        assert_eq!(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
        // SAFETY: the arrays belong to the driver and are read before the next call.
        let (nodes, edges) = unsafe {
            match number {
                0 => (Vec::new(), Vec::new()),
                _ => (
                    std::slice::from_raw_parts(nodes, number).to_vec(),
                    std::slice::from_raw_parts(edges, number).to_vec(),
                ),
            }
        };
        assert!(edges.iter().all(|edge| *edge == CUgraphEdgeData::default()));
        (graph, nodes)
    };
    let mut added = [CUgraphNode::NULL];
    fails!(program, ILLEGAL_STATE, cuStreamUpdateCaptureDependencies(stream, added.as_mut_ptr(), 0, 0));
    begin(&program, stream, RELAXED);
    assert!(info(&program).1.is_empty());
    program.fill(device, 1, 1, stream);
    let (graph, first) = info(&program);
    assert_eq!(first.len(), 1);
    // A node that the program adds directly becomes part of the captured graph.
    ok!(program, cuGraphAddEmptyNode(&mut added[0], graph, std::ptr::null(), 0));
    let flags = CU_STREAM_ADD_CAPTURE_DEPENDENCIES;
    ok!(program, cuStreamUpdateCaptureDependencies(stream, added.as_mut_ptr(), 1, flags));
    assert_eq!(info(&program).1, [first[0], added[0]]);
    let flags = CU_STREAM_SET_CAPTURE_DEPENDENCIES;
    ok!(program, cuStreamUpdateCaptureDependencies_v2(stream, added.as_mut_ptr(), std::ptr::null(), 1, flags));
    assert_eq!(info(&program).1, added);
    fails!(program, INVALID_VALUE, cuStreamUpdateCaptureDependencies(stream, added.as_mut_ptr(), 1, 2));
    let mut unknown = [CUgraphNode(5)];
    fails!(program, INVALID_VALUE, cuStreamUpdateCaptureDependencies(stream, unknown.as_mut_ptr(), 1, 0));
    // The capture owns the graph until it ends.
    fails!(program, INVALID_VALUE, cuGraphDestroy(graph));
    fails!(program, INVALID_VALUE, cuGraphDestroyNode(added[0]));
    let mut exec = CUgraphExec::NULL;
    fails!(program, ILLEGAL_STATE, cuGraphInstantiateWithFlags(&mut exec, graph, 0));
    assert_eq!(end(&program, stream), graph);
    ok!(program, cuGraphDestroyNode(added[0]));
    ok!(program, cuGraphDestroy(graph));
}

#[test]
fn replaced_dependencies_need_not_be_joined() {
    let fork = Fork::new(RELAXED);
    let Fork { program, origin, side, device } = &fork;
    program.fill(*device + 1, 2, 1, *side);
    let flags = CU_STREAM_SET_CAPTURE_DEPENDENCIES;
    ok!(program, cuStreamUpdateCaptureDependencies(*side, std::ptr::null_mut(), 0, flags));
    end(program, *origin);
}

#[test]
fn capture_can_continue_an_existing_graph() {
    let program = Program::new();
    let (stream, device) = (program.stream(0), program.alloc(8));
    let (mut graph, mut first) = (CUgraph::NULL, CUgraphNode::NULL);
    ok!(program, cuGraphCreate(&mut graph, 0));
    ok!(program, cuGraphAddEmptyNode(&mut first, graph, std::ptr::null(), 0));
    let stranger = CUgraphNode(5);
    let none = std::ptr::null();
    fails!(program, INVALID_VALUE, cuStreamBeginCaptureToGraph(stream, graph, &stranger, none, 1, RELAXED));
    ok!(program, cuStreamBeginCaptureToGraph(stream, graph, &first, none, 1, RELAXED));
    let other = program.stream(0);
    fails!(program, ILLEGAL_STATE, cuStreamBeginCaptureToGraph(other, graph, none.cast(), none, 0, RELAXED));
    program.fill(device, 1, 1, stream);
    assert_eq!(end(&program, stream), graph);
    assert_eq!(count(&program, graph), (2, 1));
    // A failed capture leaves the graph with the nodes captured so far.
    ok!(program, cuStreamBeginCaptureToGraph(stream, graph, none.cast(), none, 0, RELAXED));
    program.fill(device, 1, 1, stream);
    fails!(program, STREAM_CAPTURE_UNSUPPORTED, cuStreamQuery(stream));
    assert_invalidated(&program, stream);
    assert_eq!(count(&program, graph), (3, 1));
    ok!(program, cuGraphDestroy(graph));
}

#[test]
fn capture_to_an_existing_graph_ends_without_a_place_for_its_handle() {
    let program = Program::new();
    let (stream, device, none) = (program.stream(0), program.alloc(1), std::ptr::null());
    let mut graph = CUgraph::NULL;
    ok!(program, cuGraphCreate(&mut graph, 0));
    ok!(program, cuStreamBeginCaptureToGraph(stream, graph, std::ptr::null(), none, 0, RELAXED));
    program.fill(device, 1, 1, stream);
    ok!(program, cuStreamEndCapture(stream, std::ptr::null_mut()));
    assert_eq!(count(&program, graph), (1, 0));
    assert_eq!(status(&program, stream), CU_STREAM_CAPTURE_STATUS_NONE);
    ok!(program, cuStreamBeginRecaptureToGraph(stream, RELAXED, graph, None, std::ptr::null_mut()));
    program.fill(device, 1, 1, stream);
    ok!(program, cuStreamEndCapture(stream, std::ptr::null_mut()));
    ok!(program, cuGraphDestroy(graph));
}

/// For each node of a captured graph of numbered host functions, the set of all nodes before it.
fn predecessors_of_nodes(program: &Program, graph: CUgraph, count: usize) -> Vec<u64> {
    let (mut nodes, mut number) = (vec![CUgraphNode::NULL; count + 1], count + 1);
    ok!(program, cuGraphGetNodes(graph, nodes.as_mut_ptr(), &mut number));
    assert_eq!(number, count);
    let number_of = |node: CUgraphNode| {
        let mut params = CUDA_HOST_NODE_PARAMS { function: None, userData: std::ptr::null_mut() };
        ok!(program, cuGraphHostNodeGetParams(node, &mut params));
        params.userData as usize
    };
    let mut before = vec![0_u64; count];
    // Nodes are listed in capture order, so the predecessors of a node come earlier in the list.
    for node in &nodes[..count] {
        let (mut after, mut room) = ([CUgraphNode::NULL; 64], 64);
        ok!(program, cuGraphNodeGetDependencies(*node, after.as_mut_ptr(), &mut room));
        for earlier in after[..room].iter().map(|node| number_of(*node)) {
            before[number_of(*node)] |= before[earlier] | 1 << earlier;
        }
    }
    before
}

#[test]
fn random_captures_keep_exactly_the_order_of_their_streams_and_events() {
    const STREAMS: usize = 4;
    let program = Program::new();
    let streams = [(); STREAMS].map(|()| program.stream(CU_STREAM_NON_BLOCKING));
    let events = [(); 3].map(|()| program.event());
    let mut seed = 7_u64;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) as usize % below
    };
    for round in 0..200 {
        begin(&program, streams[0], GLOBAL);
        // The predecessors of each stream and event; `None` outside the capture.
        let mut predecessors: [Option<u64>; STREAMS] = [Some(0), None, None, None];
        let mut recorded: [Option<u64>; 3] = [None; 3];
        let mut expected: Vec<u64> = Vec::new();
        for _ in 0..40 {
            let (stream, event) = (random(STREAMS), random(3));
            match (random(4), predecessors[stream], recorded[event]) {
                (0 | 1, Some(before), _) => {
                    let data = expected.len() as *mut c_void;
                    ok!(program, cuLaunchHostFunc(streams[stream], Some(nothing), data));
                    predecessors[stream] = Some(before | 1 << expected.len());
                    expected.push(before);
                }
                (2, Some(before), _) => {
                    ok!(program, cuEventRecord(events[event], streams[stream]));
                    recorded[event] = Some(before);
                }
                (3, before, Some(captured)) => {
                    ok!(program, cuStreamWaitEvent(streams[stream], events[event], 0));
                    predecessors[stream] = Some(before.unwrap_or(0) | captured);
                }
                _ => {}
            }
        }
        if round % 2 == 0 {
            for stream in 1..STREAMS {
                if let Some(before) = predecessors[stream] {
                    ok!(program, cuEventRecord(events[0], streams[stream]));
                    ok!(program, cuStreamWaitEvent(streams[0], events[0], 0));
                    predecessors[0] = predecessors[0].map(|all| all | before);
                }
            }
        }
        let joined = predecessors.iter().flatten().all(|before| before & !predecessors[0].unwrap() == 0);
        let mut graph = CUgraph::NULL;
        let ended = call!(program, cuStreamEndCapture(streams[0], &mut graph));
        if joined {
            assert!(ended.is_success());
            assert_eq!(predecessors_of_nodes(&program, graph, expected.len()), expected);
            ok!(program, cuGraphDestroy(graph));
        } else {
            assert_eq!(ended, CUresult::CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
        }
        for stream in streams {
            assert_eq!(status(&program, stream), CU_STREAM_CAPTURE_STATUS_NONE);
        }
    }
}
