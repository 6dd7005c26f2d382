//! Edge data: the ports of kernel nodes, what they order, and the queries that would lose them.

use super::kernels::Kernels;
use super::*;
use std::ffi::CStr;

const fn port(from_port: u8, kind: u8) -> CUgraphEdgeData {
    CUgraphEdgeData { from_port, to_port: 0, kind, reserved: [0; 5] }
}

const FULL: CUgraphEdgeData = port(0, 0);
const PROGRAMMATIC: CUgraphEdgeData =
    port(CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC);
const ORDERED: CUgraphEdgeData = port(CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC);
const BEGUN: CUgraphEdgeData = port(CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER, 0);

fn connect(kernels: &Kernels, from: CUgraphNode, to: CUgraphNode, data: CUgraphEdgeData) {
    ok!(kernels.program, cuGraphAddDependencies_v2(kernels.graph, &from, &to, &data, 1));
}

/// The findings of `write` with an edge of these data to `second`.
fn findings_of(second: &CStr, data: CUgraphEdgeData) -> Vec<String> {
    let kernels = Kernels::new();
    let (first, second) = (kernels.node(c"write", &[]), kernels.node(second, &[]));
    connect(&kernels, first, second, data);
    kernels.launched()
}

#[test]
fn programmatic_edge_orders_only_what_follows_the_wait() {
    for data in [PROGRAMMATIC, ORDERED] {
        assert_eq!(findings_of(c"read", data), ["DataRace"], "{data:?}");
        assert_eq!(findings_of(c"late", data), [""; 0], "{data:?}");
    }
    assert_eq!(findings_of(c"read", FULL), [""; 0]);
}

#[test]
fn edge_from_the_begin_of_a_kernel_orders_nothing_of_the_kernel() {
    for second in [c"read", c"late"] {
        assert_eq!(findings_of(second, BEGUN), ["DataRace"], "{second:?}");
    }
    // A node of any kind may follow the begin; it is ordered after the work before the kernel.
    for races in [false, true] {
        let kernels = Kernels::new();
        let [one, two, three] = kernels.arrays;
        let filled = fill(&kernels.program, kernels.graph, &[], fill_params(three, 1, 4));
        let begun = kernels.blocks(c"read", 1, [one, two], &[filled]);
        let target = if races { two } else { three };
        let last = fill(&kernels.program, kernels.graph, &[], fill_params(target, 2, 4));
        connect(&kernels, begun, last, BEGUN);
        assert_eq!(kernels.launched().is_empty(), !races);
    }
}

#[test]
fn dependent_node_follows_all_of_its_full_dependencies() {
    let kernels = Kernels::new();
    let [one, two, three] = kernels.arrays;
    let filled = fill(&kernels.program, kernels.graph, &[], fill_params(one, 1, 256));
    let idle = kernels.node(c"idle", &[]);
    let read = kernels.blocks(c"read", 1, [one, three], &[filled]);
    connect(&kernels, idle, read, PROGRAMMATIC);
    // Two programmatic edges: the wait is for both kernels.
    let [first, second] = [one, two].map(|array| kernels.blocks(c"write", 1, [array, array], &[read]));
    let late = kernels.blocks(c"late", 1, [one, three], &[]);
    connect(&kernels, first, late, PROGRAMMATIC);
    connect(&kernels, second, late, PROGRAMMATIC);
    assert_eq!(kernels.launched(), [""; 0]);
    let early = kernels.blocks(c"read", 1, [two, three], &[]);
    connect(&kernels, second, early, PROGRAMMATIC);
    connect(&kernels, late, early, FULL);
    // The full dependency on `late`, which has waited for `second`, orders the read.
    assert_eq!(kernels.launched(), [""; 0]);
}

#[test]
fn two_programmatic_dependencies_race_without_a_wait() {
    let kernels = Kernels::new();
    let [one, two, three] = kernels.arrays;
    let [first, second] = [one, two].map(|array| kernels.blocks(c"write", 1, [array, array], &[]));
    let read = kernels.blocks(c"read", 1, [two, three], &[]);
    connect(&kernels, first, read, PROGRAMMATIC);
    connect(&kernels, second, read, PROGRAMMATIC);
    assert_eq!(kernels.launched(), ["DataRace"]);
}

#[test]
fn devices_before_compute_capability_9_wait_for_programmatic_dependencies() {
    for (compute_capability, races) in [((8, 0), false), ((9, 0), true)] {
        let kernels = Kernels::plain(Config { compute_capability, ..Config::default() });
        let (first, second) = (kernels.node(c"write", &[]), kernels.node(c"read", &[]));
        connect(&kernels, first, second, PROGRAMMATIC);
        assert_eq!(kernels.launched().is_empty(), !races);
    }
}

#[test]
fn disabled_kernel_has_no_port() {
    let kernels = Kernels::new();
    let (first, second) = (kernels.node(c"write", &[]), kernels.node(c"read", &[]));
    connect(&kernels, first, second, PROGRAMMATIC);
    let exec = instantiate(&kernels.program, kernels.graph);
    ok!(kernels.program, cuGraphNodeSetEnabled(exec, first, 0));
    ok!(kernels.program, cuGraphLaunch(exec, CUstream::NULL));
    ok!(kernels.program, cuCtxSynchronize());
    assert_eq!(kernels.program.sim.report().findings.len(), 0);
}

#[test]
fn queries_that_would_lose_edge_data_are_refused() {
    let kernels = Kernels::new();
    let (program, graph) = (&kernels.program, kernels.graph);
    let (first, second) = (kernels.node(c"write", &[]), kernels.node(c"late", &[]));
    connect(&kernels, first, second, PROGRAMMATIC);
    let (mut from, mut to, mut data, mut count) = (CUgraphNode::NULL, CUgraphNode::NULL, FULL, 1);
    fails!(program, LOSSY_QUERY, cuGraphGetEdges(graph, &mut from, &mut to, &mut count));
    fails!(program, LOSSY_QUERY, cuGraphGetEdges_v2(graph, &mut from, &mut to, std::ptr::null_mut(), &mut count));
    fails!(program, LOSSY_QUERY, cuGraphNodeGetDependencies(second, &mut from, &mut count));
    fails!(program, LOSSY_QUERY, cuGraphNodeGetDependentNodes(first, &mut to, &mut count));
    // A query of the number loses nothing.
    let none = std::ptr::null_mut();
    ok!(program, cuGraphGetEdges(graph, none, none, &mut count));
    ok!(program, cuGraphGetEdges_v2(graph, &mut from, &mut to, &mut data, &mut count));
    assert_eq!((from, to, data, count), (first, second, PROGRAMMATIC, 1));
    ok!(program, cuGraphNodeGetDependencies_v2(second, &mut from, &mut data, &mut count));
    assert_eq!((from, data), (first, PROGRAMMATIC));
    ok!(program, cuGraphNodeGetDependentNodes_v2(first, &mut to, &mut data, &mut count));
    assert_eq!((to, data), (second, PROGRAMMATIC));
    // An edge is removed with its own data only, and a clone has them too.
    let mut clone = CUgraph::NULL;
    ok!(program, cuGraphClone(&mut clone, graph));
    fails!(program, INVALID_VALUE, cuGraphRemoveDependencies(graph, &first, &second, 1));
    ok!(program, cuGraphRemoveDependencies_v2(graph, &first, &second, &PROGRAMMATIC, 1));
    ok!(program, cuGraphNodeGetDependencies(second, &mut from, &mut count));
    assert_eq!(count, 0);
    let mut count = 1;
    ok!(program, cuGraphGetEdges_v2(clone, &mut from, &mut to, &mut data, &mut count));
    assert_eq!((data, count), (PROGRAMMATIC, 1));
}

#[test]
fn ports_that_nodes_do_not_have_are_refused() {
    let kernels = Kernels::new();
    let (program, graph) = (&kernels.program, kernels.graph);
    let (kernel, empty) = (kernels.node(c"write", &[]), empty(program, graph, &[]));
    let other = kernels.node(c"read", &[]);
    for (from, to, data) in [
        (empty, kernel, PROGRAMMATIC),
        (kernel, empty, PROGRAMMATIC),
        (empty, kernel, BEGUN),
        (kernel, other, port(1, 0)),
        (kernel, other, port(0, 1)),
        (kernel, other, port(3, 1)),
        (kernel, other, CUgraphEdgeData { to_port: 1, ..FULL }),
        (kernel, other, CUgraphEdgeData { reserved: [0, 0, 0, 0, 1], ..FULL }),
    ] {
        fails!(program, INVALID_VALUE, cuGraphAddDependencies_v2(graph, &from, &to, &data, 1));
    }
    let mut node = CUgraphNode::NULL;
    let mut any =
        CUgraphNodeParams { kind: CU_GRAPH_NODE_TYPE_EMPTY, reserved0: [0; 3], params: [0; 29], reserved2: 0 };
    fails!(program, INVALID_VALUE, cuGraphAddNode_v2(&mut node, graph, &kernel, &PROGRAMMATIC, 1, &mut any));
    ok!(program, cuGraphAddNode_v2(&mut node, graph, &kernel, &BEGUN, 1, &mut any));
}

#[test]
fn second_edge_between_two_nodes_is_refused_for_all_edge_data() {
    const ALL: [CUgraphEdgeData; 4] = [FULL, PROGRAMMATIC, ORDERED, BEGUN];
    for known in ALL {
        for second in ALL {
            let kernels = Kernels::new();
            let (program, graph) = (&kernels.program, kernels.graph);
            let [from, to] = [c"write", c"late"].map(|name| kernels.node(name, &[]));
            let (twice, both, data) = ([from; 2], [to; 2], [known, second]);
            let add = |count: usize| {
                call!(
                    program,
                    cuGraphAddDependencies_v2(graph, twice.as_ptr(), both.as_ptr(), data[2 - count..].as_ptr(), count)
                )
            };
            // Twice in one call, and in two calls.
            assert_eq!(add(2), CUresult::CUDA_ERROR_INVALID_VALUE);
            connect(&kernels, from, to, known);
            assert_eq!(add(1), CUresult::CUDA_ERROR_INVALID_VALUE);
            let mut node = CUgraphNode::NULL;
            let mut any =
                CUgraphNodeParams { kind: CU_GRAPH_NODE_TYPE_EMPTY, reserved0: [0; 3], params: [0; 29], reserved2: 0 };
            let data = [FULL, BEGUN];
            fails!(
                program,
                INVALID_VALUE,
                cuGraphAddNode_v2(&mut node, graph, twice.as_ptr(), data.as_ptr(), 2, &mut any)
            );
            let (mut one, mut other, mut data, mut count) = (from, to, FULL, 1);
            ok!(program, cuGraphGetEdges_v2(graph, &mut one, &mut other, &mut data, &mut count));
            assert_eq!((one, other, data, count), (from, to, known, 1));
        }
    }
}

#[test]
fn captured_node_keeps_the_strongest_of_its_edges() {
    for data in [[BEGUN, PROGRAMMATIC], [PROGRAMMATIC, BEGUN], [FULL, BEGUN], [ORDERED, FULL]] {
        for update in [false, true] {
            let kernels = Kernels::new();
            let (program, [one, two, _]) = (&kernels.program, kernels.arrays);
            let from = kernels.node(c"write", &[]);
            let (mut twice, stream) = ([from; 2], program.stream(CU_STREAM_NON_BLOCKING));
            let count = if update { 0 } else { 2 };
            let begin = [twice.as_ptr(), NONE][usize::from(update)];
            ok!(program, cuStreamBeginCaptureToGraph(stream, kernels.graph, begin, data.as_ptr(), count, 2));
            if update {
                let add = CU_STREAM_ADD_CAPTURE_DEPENDENCIES;
                let nodes = twice.as_mut_ptr();
                ok!(program, cuStreamUpdateCaptureDependencies_v2(stream, nodes, data.as_ptr(), 2, add));
            }
            program.launch_after(kernels.function(c"late"), stream, 64, false, [one, two]);
            let mut graph = CUgraph::NULL;
            ok!(program, cuStreamEndCapture(stream, &mut graph));
            let (mut first, mut second, mut found, mut count) = (from, from, BEGUN, 1);
            ok!(program, cuGraphGetEdges_v2(graph, &mut first, &mut second, &mut found, &mut count));
            let expected = if data.contains(&FULL) { FULL } else { PROGRAMMATIC };
            assert_eq!((found, count), (expected, 1));
        }
    }
}

#[test]
fn captured_dependent_launch_has_a_programmatic_edge() {
    let kernels = Kernels::new();
    let program = &kernels.program;
    let [one, two, _] = kernels.arrays;
    let (mut from, mut to, mut data, mut count) = ([CUgraphNode::NULL; 2], [CUgraphNode::NULL; 2], [FULL; 2], 2);
    let graph = captured(program, |stream| {
        program.launch_after(kernels.function(c"write"), stream, 64, true, [one, two]);
        program.launch_after(kernels.function(c"late"), stream, 64, true, [one, two]);
        program.launch_after(kernels.function(c"idle"), stream, 64, false, [one, two]);
    });
    ok!(program, cuGraphGetEdges_v2(graph, from.as_mut_ptr(), to.as_mut_ptr(), data.as_mut_ptr(), &mut count));
    assert_eq!((count, data), (2, [PROGRAMMATIC, FULL]));
}

#[test]
fn dependencies_of_a_capture_have_edge_data() {
    let kernels = Kernels::new();
    let (program, [one, two, _]) = (&kernels.program, kernels.arrays);
    let first = kernels.node(c"write", &[]);
    let stream = program.stream(CU_STREAM_NON_BLOCKING);
    ok!(program, cuStreamBeginCaptureToGraph(stream, kernels.graph, &first, &PROGRAMMATIC, 1, 2));
    let (mut status, mut nodes, mut data, mut count) = (0, NONE, std::ptr::null(), 0);
    let none = std::ptr::null_mut;
    fails!(
        program,
        LOSSY_QUERY,
        cuStreamGetCaptureInfo_v2(stream, &mut status, none(), none().cast(), &mut nodes, &mut count)
    );
    let graph = none().cast();
    ok!(program, cuStreamGetCaptureInfo_v3(stream, &mut status, none(), graph, &mut nodes, &mut data, &mut count));
    // SAFETY: the arrays are valid until the next call with the stream.
    let listed = unsafe { (*nodes, *data) };
    assert_eq!((listed, count), ((first, PROGRAMMATIC), 1));
    program.launch_after(kernels.function(c"late"), stream, 64, false, [one, two]);
    // An update adds or replaces dependencies with their data.
    let mut again = first;
    let set = CU_STREAM_SET_CAPTURE_DEPENDENCIES;
    let wrong = port(1, 0);
    fails!(program, INVALID_VALUE, cuStreamUpdateCaptureDependencies_v2(stream, &mut again, &wrong, 1, set));
    ok!(program, cuStreamUpdateCaptureDependencies_v2(stream, &mut again, &BEGUN, 1, set));
    let mut captured = CUgraph::NULL;
    program.launch_after(kernels.function(c"idle"), stream, 64, false, [one, two]);
    ok!(program, cuStreamEndCapture(stream, &mut captured));
    let (mut from, mut to, mut data, mut count) = ([CUgraphNode::NULL; 2], [CUgraphNode::NULL; 2], [FULL; 2], 2);
    ok!(program, cuGraphGetEdges_v2(captured, from.as_mut_ptr(), to.as_mut_ptr(), data.as_mut_ptr(), &mut count));
    assert_eq!((count, from, data), (2, [first; 2], [PROGRAMMATIC, BEGUN]));
    assert_eq!(kernels.launched(), [""; 0]);
}
